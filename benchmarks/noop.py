"""The actions of the benchmarks: nothing, and a line that says when."""

import os
import time
from pathlib import Path


async def noop() -> None:
    """Do nothing, at once."""


async def mark() -> None:
    """Say when this was called."""
    at = time.time()
    with Path(os.environ["ROTA_WITNESS"]).open("a") as witness:  # noqa: ASYNC230 - it is one line
        witness.write(f"{at}\n")
