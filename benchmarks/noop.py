"""The action of the benchmarks: nothing."""


async def noop() -> None:
    """Do nothing, at once."""
