"""What doors accept: the limits of each kind of value, said once."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Line = Annotated[str, Meta(min_length=1, max_length=1_000)]
Text = Annotated[str, Meta(max_length=2_000)]
Input = Annotated[str, Meta(max_length=1_048_576)]
Key = Annotated[str, Meta(min_length=1, max_length=200)]
Cursor = Annotated[str, Meta(min_length=1, max_length=200)]
Instant = Annotated[datetime, Meta(tz=True)]
PerMinute = Annotated[int, Meta(ge=1, le=6_000)]
Limit = Annotated[int, Meta(ge=1, le=1_000)]
Count = Annotated[int, Meta(ge=1, le=1_000)]
Few = Annotated[int, Meta(ge=1, le=100)]
"""How many of something that has many parts of its own."""
Sequence = Annotated[int, Meta(ge=0, le=2**53)]
Bytes = Annotated[int, Meta(ge=1, le=16_777_216)]
PriorityNumber = Annotated[int, Meta(ge=0, le=2)]
"""0 what people ask for, 1 what is scheduled, 2 what repairs: retries and backfills."""
Zone = Annotated[str, Meta(min_length=1, max_length=100)]
Duration = Annotated[str, Meta(min_length=1, max_length=40)]
"""As people write it: ``5m``, ``1h30m``."""
Version = Annotated[int, Meta(ge=1, le=2**53)]
FleetSource = Annotated[str, Meta(max_length=5_242_880)]
Words = dict[str, Any]
"""A job in the words of the fleet file."""
