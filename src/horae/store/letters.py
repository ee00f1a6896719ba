"""What is written down of a message: one row for each address that it is for, and what becomes of it at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from horae.core.compose import title_of
from horae.core.delivery import Addressee, Manner
from horae.core.instants import to_us
from horae.core.model import End
from horae.core.states import RUN, target

COLUMNS = (
    *("run_id", "job_id", "incident_id", "kind", "target", "address", "round", "state", "title", "body", "format"),
    *("alert", "digest", "due_at", "expires_at", "evidence", "reason", "created_at", "changed_at"),
)
PLAN = f"INSERT INTO delivery ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
TRIED_AGAIN = "it is tried again"


class Letter(NamedTuple):
    """What is to be written down for each of its addressees."""

    kind: str
    title: str
    alert: bool
    run_id: str | None = None
    job_id: str | None = None
    key: str | None = None
    incident_id: str | None = None
    body: str | None = None
    format: str = "text"
    why_not: str | None = None
    """Why it is not sent: then it is only on record."""
    known: bool = False
    """Whether that is since somebody was told of the same before."""


def rows_of(
    letter: Letter, to: Sequence[Addressee], manner: Manner, now: datetime, round: int = 0
) -> list[tuple[object, ...]]:
    """The rows of a letter, as `PLAN` takes them. `round` counts how often the same run's was begun anew."""
    rows: list[tuple[object, ...]] = []
    once: dict[str, Addressee] = {}
    for one in to:
        once.setdefault(one.address, one)
    for one in once.values():
        state, evidence, reason = _first_state(letter, one)
        due = max(now, one.hold_until or now)
        until = due + timedelta(seconds=manner.give_up_s)
        rows.append(
            (
                *(letter.run_id, letter.job_id, letter.incident_id, letter.kind, one.target, one.address, round, state),
                *(letter.title, letter.body, letter.format, int(letter.alert), int(one.digest)),
                *(to_us(due), to_us(until), evidence, reason, to_us(now), to_us(now)),
            )
        )
    return rows


def letter_of(end: End, why_not: str | None, incident: str | None) -> Letter:
    """The message of a run's end. `why_not` is why it is not told, `incident` what it is part of."""
    ending, claim = end.ending, end.claim
    kind = "alert" if ending.alert else "result"
    state = target(RUN, ending.event)
    known = why_not is not None
    if not ending.message:
        why_not, known = ending.silence, False
    elif end.retry_s is not None:
        why_not, known = TRIED_AGAIN, False
    return Letter(
        kind=kind,
        title=title_of(kind, claim.job.name, state),
        alert=ending.alert,
        run_id=claim.run_id,
        job_id=claim.job_id,
        key=claim.key,
        incident_id=incident,
        format="markdown" if claim.job.agent and not ending.alert else "text",
        why_not=why_not,
        known=known,
    )


def _first_state(letter: Letter, one: Addressee) -> tuple[str, str | None, str | None]:
    """What becomes of a message at once: state, evidence, reason.

    Nothing to say is written down as suppressed, so that silence can be told from loss. Nobody is told of a failure that
    is tried again. Whoever is reached by this very transaction has that too of which others know already.
    """
    if letter.why_not is not None and not (letter.known and one.kept is not None):
        return "suppressed", None, letter.why_not
    if one.kept is not None:
        return "delivered", one.kept.evidence, None
    held = one.hold_until
    return "pending", None, None if held is None else f"held until {held.astimezone(UTC):%Y-%m-%d %H:%M}Z"
