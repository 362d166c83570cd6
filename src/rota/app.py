"""The composition root: the only place that makes clocks, and names concretes."""

from __future__ import annotations

from datetime import UTC, datetime


def system_now() -> datetime:
    """The instant that the machine's clock shows."""
    return datetime.now(UTC)  # noqa: TID251 - the one clock


def machine_zone() -> str:
    """The IANA zone of this machine, UTC where it has none."""
    # Reads files in /etc, so it is imported only where a zone is not given.
    import tzlocal  # noqa: PLC0415

    try:
        return tzlocal.get_localzone_name() or "UTC"
    except (LookupError, ValueError):
        return "UTC"
