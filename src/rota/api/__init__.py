"""The HTTP door: translates requests into operations and their answers back, and decides nothing itself."""
