"""The edges of a stretch of time, as people and programs give them: a day of the home's zone, or an instant."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from horae.errors import Invalid
from horae.timing.clockchange import instants_of


def edge(what: str, text: str, zone: str, *, whole: bool = False) -> datetime:
    """The instant that is meant: of a day its beginning, with `whole` its end. Without an offset it is a wall time of the zone.

    Raises Invalid, which names the field.
    """
    said = text.strip()
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        example = "write it as 2026-12-24 or 2026-12-24T18:00:00+01:00"
        raise Invalid(
            f"`{what}` is no day and no instant: {said[:60]!r}", example, field=what, value=said[:200]
        ) from None
    if not 1970 <= at.year <= 2999:
        hint = "years from 1970 to 2999 are told"
        raise Invalid(f"`{what}` is too far away", hint, field=what, value=said[:200])
    with suppress(ValueError):
        at += timedelta(days=1 if whole and date.fromisoformat(said) else 0)
    return instants_of(at, zone, "after", "last")[0] if at.tzinfo is None else at.astimezone(UTC)
