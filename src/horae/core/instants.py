"""Instants as the database and JSON keep them: whole microseconds since 1970 there, aware UTC datetimes here.

Integer arithmetic only: a float of the epoch in seconds loses microseconds in this century. Imports next to nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def to_us(instant: datetime) -> int:
    """Microseconds since 1970."""
    return (instant - EPOCH) // MICROSECOND


def readable(value: int) -> bool:
    """Whether a calendar holds that instant."""
    try:
        from_us(value)
    except (TypeError, ArithmeticError):
        return False
    return True


def from_us(value: int) -> datetime:
    """An aware instant in UTC."""
    return EPOCH + timedelta(microseconds=value)
