"""Columns of instants as people and JSON see them; the numbers themselves are those of `core/instants.py`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from horae.core.instants import from_us


def maybe(value: int | None) -> datetime | None:
    """The same for what may be absent."""
    return None if value is None else from_us(value)


def local(value: int | None, offset_s: int | None) -> str | None:
    """RFC 3339 at an offset from UTC. Whole seconds are written as such, others to the millisecond."""
    if value is None:
        return None
    zone = timezone(timedelta(seconds=offset_s or 0))
    return from_us(value).astimezone(zone).isoformat(timespec="milliseconds" if value % 1_000_000 else "seconds")


def zulu(value: int | None) -> str | None:
    """RFC 3339 in UTC, ending in `Z`."""
    text = local(value, 0)
    return None if text is None else text.removesuffix("+00:00") + "Z"
