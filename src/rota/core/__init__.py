"""The pure core: values and functions that decide. No clock, no I/O, no randomness, no asyncio."""
