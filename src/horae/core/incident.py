"""Incidents: what goes wrong again and again is told once. Pure.

An incident belongs to one job and one *cause*. It opens with the first failure of that cause, is told once, again after
each reminder interval, and ends when the job works again, which is told too if its trouble was. Rules:

1. The cause is the reason of the run and the line by which its trouble is recognised, without what differs from one
   time to the next: numbers, hexadecimal ids, instants, places in memory. How the program ended is kept exactly.
2. What belongs to an open incident is not told again, unless nobody has been told yet and nothing is on its way.
3. Acknowledged or snoozed, an incident is not told again: until it has ended, or the snooze is over. A new cause is a
   new incident, and a job that is paused for its failures says so whatever was acknowledged.
4. A failure is never silent: it is told, or it belongs to an incident of which somebody was.

Kinds: `failed`, `blocked`, `unknown` (of runs), `overdue` (nothing completed in time), `quiet` (nothing said for long),
`undelivered` (a message reached nobody). A run that completes ends all of its job but the last two: saying something ends
`quiet`, and a message that arrives at the same address ends `undelivered`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from horae.core.model import Ending
from horae.core.outcome import gist
from horae.core.text import one_line
from horae.limits import INCIDENT_CHARS_MAX, REMINDERS_MAX
from horae.timing.durations import duration_words

KINDS = {"fail": "failed", "block": "blocked", "lose": "unknown"}
"""By the event that ended a run. What a person has cancelled is no incident."""

OF_RUNS = ("failed", "blocked", "unknown")
ENDED_BY_SUCCESS = (*OF_RUNS, "overdue")

_VARIES = re.compile(
    r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?<![0-9a-z])(?=[0-9a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,}(?![0-9a-z])|[0-9]+(?:[.:,\-/][0-9]+)*",
    re.IGNORECASE,
)
_LOOKED_AT_CHARS = 5 * INCIDENT_CHARS_MAX  # of a text, before what varies is taken out of it and the rest is cut


@dataclass(frozen=True, slots=True)
class Incident:
    """One, as it stands."""

    id: str
    kind: str
    cause: str
    says: str
    """The same in the words of the last one."""
    opened_at: datetime
    last_at: datetime
    count: int
    told_at: datetime | None
    """When somebody was told of it, for certain."""
    reminders: int
    acked_by: str | None
    snoozed_until: datetime | None
    on_its_way: bool = False
    """Whether a message about it is still to be sent."""

    def hushed(self, now: datetime) -> str | None:
        """Why it is not told again, as far as people have decided."""
        if self.snoozed_until is not None:
            by = f"snoozed by {self.acked_by} until {self.snoozed_until:%Y-%m-%d %H:%M}Z"
            return by if now < self.snoozed_until else None
        return f"acknowledged by {self.acked_by}" if self.acked_by is not None else None


def kind_of(ending: Ending) -> str | None:
    """The kind of incident that an ending is part of; None when it is none."""
    return KINDS.get(ending.event)


def cause_of(ending: Ending) -> str:
    """What failures are grouped by."""
    reason = ending.reason.split(";", 1)[0]
    told = _without_what_varies(gist(ending))
    if ending.event != "fail" or not reason.startswith(("exit status", "ended by signal")):
        reason = _without_what_varies(reason)
    return one_line(f"{reason}: {told}" if told and told not in reason else reason, INCIDENT_CHARS_MAX)


def words_of(ending: Ending) -> str:
    """The cause in the words of one failure, for people."""
    reason, told = ending.reason.split(";", 1)[0], one_line(gist(ending), INCIDENT_CHARS_MAX)
    return one_line(f"{reason}: {told}" if told and told not in reason else reason, INCIDENT_CHARS_MAX)


def _without_what_varies(text: str) -> str:
    return one_line(_VARIES.sub("#", one_line(text, _LOOKED_AT_CHARS)), INCIDENT_CHARS_MAX)


def why_untold(incident: Incident | None, now: datetime) -> str | None:
    """Why the alert of one more failure is not sent; None when it is. `incident` is the open one that it belongs to."""
    if incident is None:
        return None
    hushed = incident.hushed(now)
    if hushed is not None:
        return f"it belongs to incident {incident.id}, {hushed}"
    if incident.snoozed_until is not None:
        return None  # the snooze is over, and it still fails
    if incident.told_at is not None:
        return f"it belongs to incident {incident.id}, told {incident.told_at:%Y-%m-%d %H:%M}Z"
    if incident.on_its_way:
        return f"it belongs to incident {incident.id}, of which a message is on its way"
    return None


def may_remind(incident: Incident, now: datetime) -> bool:
    """Whether a reminder is to be sent that has come due."""
    return incident.reminders < REMINDERS_MAX and incident.hushed(now) is None


def since_words(incident: Incident, now: datetime) -> str:
    """How long and how often, in words."""
    for_s = max(1, round((now - incident.opened_at).total_seconds()))
    times = "once" if incident.count == 1 else f"{incident.count} times"
    return f"{times} since {incident.opened_at:%Y-%m-%d %H:%M}Z ({duration_words(for_s)} ago)"


WORDS = {
    "failed": "failed",
    "blocked": "was blocked",
    "unknown": "ended and nobody can say how",
    "overdue": "was overdue",
    "quiet": "said nothing",
    "undelivered": "could not be delivered",
}


def reminder(name: str, incident: Incident, now: datetime) -> str:
    """The text of a reminder."""
    return (
        f"{name} still has trouble: it {WORDS[incident.kind]} {since_words(incident, now)}, last at "
        f"{incident.last_at:%Y-%m-%d %H:%M}Z.\n\n{incident.says}\n\n`horae ack {incident.id}` ends these reminders."
    )


def recovery(name: str, ended: Sequence[Incident], now: datetime) -> str:
    """The text that says that a job works again."""
    lines = [f"{WORDS[each.kind]} {since_words(each, now)}: {each.says}" for each in ended]
    return f"{name} works again. Before that it " + "; it ".join(lines)


def unblocked(name: str, ended: Sequence[Incident], now: datetime) -> str:
    """The text that says that nothing keeps a job from running any more."""
    lines = [f"{WORDS[each.kind]} {since_words(each, now)}: {each.says}" for each in ended]
    return f"{name} can run again: what was in its way is gone. It " + "; it ".join(lines)


def paused_note(slug: str, failures: int) -> str:
    """What is added to the alert of the failure that was one too many."""
    return (
        f"It has failed {failures} times in a row and is paused now: none of its slots will run. When the cause is mended, "
        f"`horae resume {slug}` lets it run again; `horae run {slug}` tries it once."
    )


def paused_reason(failures: int, says: str) -> str:
    """The reason of that pause."""
    return f"{failures} failures in a row; the last one: {says}"
