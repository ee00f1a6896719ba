"""May this due occurrence start? Pure choices: claim it, settle it unrun, or let it wait.

`early` looks at one row by itself. Rules, first match wins:
1. A slot of a job that was removed is `void`; of one whose file is broken, `blocked`: other jobs never notice.
2. A slot that a person skipped is `skipped`; so is one that was closed, for the reason that its row gives.
3. A slot beyond the job's `repeat` is `void`: an undone skip may have left one.
4. A paused (or disabled) job skips its slots, and says who paused it. Manual runs of it are allowed.
5. A slot that waits for its retry was run already. Where rules 1 to 4 would end it, it ends as `ran` with the reason of
   its last run, and says why it was not tried again.

`by_hand` says whether a manual run must wait:
6. It waits while anything of its job is live, except with `overlap: allow`; while the job's group is full it waits always.

`decide` looks at all open slots of one job together, with what its policies say. First `catch_up` settles what has lost its
turn; of what kept it, only as many as `repeat` has left go on, the earlier ones, and those beyond are `void` (a slot that
waits for its retry goes on). Then, in the order in which they are due, by `overlap`:
7. With `skip`, which is the default, a slot is `skipped` while a scheduled run of its job is live: two at once is what no
   script expects. What is held already waits.
8. `allow`: each of them starts, beside whatever is live, manual runs too. What finds its group full is held.
9. All other words: one run of a job at a time. While a scheduled run is live, ...
   - `queue`: a slot is held, behind all that wait already; beyond `QUEUE_MAX` it is `skipped`.
   - `queue_one`: the newest slot is held; one that waited before it is `skipped`, since a newer one took its place.
   - `cancel_running`: the same, and the live run is asked to end. The slot starts once it has: the old run's end is
     recorded first, so that there never are two.
10. While nothing scheduled is live but a manual run is, or the group is full, nothing starts and nobody is cancelled, for
   a person means what he starts by hand. `queue`, `queue_one` and `cancel_running` hold as above. With `skip` the slot
   waits where it is, and when the way is free `catch_up` decides about all that came due meanwhile: it has been as if
   nothing had been running. (With `catch_up: skip` that would eat the slot, so the newest one is held.)
11. When the way is free ...
   - `skip`, `queue`: the oldest starts and the others are held. Several there are after a downtime with `catch_up:
     all`: they came due while nothing ran, so `overlap: skip` does not take their turn.
   - `queue_one`: the oldest starts, the newest is held, and those between are `skipped`.
   - `cancel_running`: the newest starts, the others are `skipped`: they would only be started to be ended.
12. *Held* means: the row stays planned, its `reason` says what it waits for, and the job's next slot is planned as if this
   one were used up. It is never late by `catch_up: skip`, nor skipped by `overlap: skip`; only `not_later_than` ends it.
   (Nobody looks at what waits before its way is free, or something else of its job is due: it ends then.)
13. A slot that waits for its retry gives way to another slot of its job that starts, or is held, under `skip`, `queue_one` and
   `cancel_running`: it ends as `ran` with the reason of its last run and `GAVE_WAY`, due or not. Under `queue` and
   `allow` it keeps its turn, and holds nobody up before it is due. (A retry that could only give way is not even planned,
   so that its failure is told at once: see `retry.py`.)
14. A slot that was begun and *goes on later* (`Open.later`: it waits for a person's word, or for its provider) is as good as
   a live run, but for people and groups: it takes no place, and manual runs start beside it. When it is due it goes on
   before all others of its job. Until its run has ended new slots are `skipped` with `skip`, held with `queue`, and the
   newest is held with `queue_one`; with `allow` they start. Only under `cancel_running` it gives way, as a live run would:
   it ends as `ran` with what it waited for. Rules 1 to 5 end it too when it is due, like a retry.
15. What the first one to start (else the first one to be held) stands for: all that `catch_up` let end as `missed`, and what
   those stood for whose place it took.

Invariant, tried over all combinations: each open slot gets exactly one of start, hold, stay and settled; unless `overlap`
is `allow` at most one starts, and none while a run is live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from horae.core.catchup import Open, Settled, catch_up
from horae.core.model import Job
from horae.limits import QUEUE_MAX

STILL_GOING = "the previous run was still going"
REPLACED = "a newer slot took its place"
GAVE_WAY = "its retry gave way to the next slot"
FOR_RUN = "waits for the run that is live"
FOR_TURN = "waits for its turn: a slot before it starts first"
CANCELLED = "a newer slot is due (overlap: cancel_running)"
_NEWEST_ONLY = ("queue_one", "cancel_running")


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the choice depends on."""

    trigger: str
    exception: str | None
    removed: bool
    problem: str | None
    paused: str | None
    """Who paused the job and why, in words; None when it is not paused."""
    closed: str | None = None
    """Why the slot is skipped when no person said so."""
    spent: int | None = None
    """How often the job has run, when that is as often as `repeat` allows; else None."""
    ended: str | None = None
    """Of a slot that waits for its retry: the reason of its last run."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an occurrence ends unrun, or without another run, and why."""

    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What goes on around a job's open slots."""

    scheduled: bool = False
    """Whether a scheduled run of it is live."""
    manual: bool = False
    """Whether a manual run of it is live."""
    asked: bool = False
    """Whether each live scheduled run was asked to end already."""
    room: int | None = None
    """How many more runs its group has room for; None without a group."""
    full: str = "its group is full"
    """The reason when that is none."""
    left: int | None = None
    """How many more runs `repeat` leaves for the open slots; None without one."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What becomes of each open slot of a job."""

    start: tuple[Open, ...] = ()
    hold: tuple[tuple[Open, str], ...] = ()
    """To be held from now on, and what for."""
    stay: tuple[Open, ...] = ()
    """Nothing is written of these: they wait as they did."""
    settled: tuple[Settled, ...] = ()
    cancel: str | None = None
    """Why the live scheduled runs are to be asked to end, or None."""
    missed: int = 0
    """What the first of `start`, else of `hold`, stands for besides what is in its row."""


@dataclass(slots=True)
class _Turns:
    """Answers as they are found."""

    start: list[Open] = field(default_factory=list[Open])
    hold: list[tuple[Open, str]] = field(default_factory=list[tuple[Open, str]])
    stay: list[Open] = field(default_factory=list[Open])
    settled: list[Settled] = field(default_factory=list[Settled])

    def wait(self, some: Sequence[Open], reason: str) -> None:
        """What is held, or waits for its retry, stays; the others are held."""
        for each in some:
            if each.held or each.ended is not None:
                self.stay.append(each)
            else:
                self.hold.append((each, reason))

    def newest(self, some: Sequence[Open], reason: str) -> None:
        """Only the newest waits."""
        self.wait(some[-1:], reason)
        self.settled += [Settled(each, "skipped", REPLACED) for each in some[:-1]]


def early(c: Candidate) -> Ended | None:
    """Rules 1 to 5: what ends a row whatever runs or has passed. None when they leave it open."""
    found = _early(c)
    if found is None or c.ended is None:
        return found
    return Ended("ran", not_again(c.ended, found.reason))


def not_again(ended: str, why: str) -> str:
    """The reason of a slot that was run, failed and will not be tried again."""
    return f"{ended}; not tried again: {why}"


def _early(c: Candidate) -> Ended | None:
    if c.removed:
        return Ended("void", "the job was removed")
    if c.problem is not None:
        return Ended("blocked", f"the job's file is broken: {c.problem}")
    if c.exception == "skip":
        return Ended("skipped", c.closed or "skipped by a person in advance")
    if c.trigger == "manual":
        return None
    if c.spent is not None and c.ended is None:
        return Ended("void", f"it has run {c.spent} times, as often as it was to")
    return None if c.paused is None else Ended("skipped", c.paused)


def by_hand(job: Job, full: str | None, *, live: bool) -> str | None:
    """What a manual run that is due waits for; None when it may start. `full` says why its group lets nothing start."""
    if live and job.overlap != "allow":
        return FOR_RUN
    return full


def decide(job: Job, due: Sequence[Open], standing: Standing, now: datetime) -> Answers:
    """All open slots of a job that are due, together; and those that wait for a retry, which may be due later."""
    full = standing.room is not None and standing.room <= 0
    if job.overlap == "skip" and not standing.scheduled and (standing.manual or full) and job.catch_up != "skip":
        return Answers(stay=tuple(due))
    begun = [each for each in due if each.later]
    free = not (standing.scheduled or standing.manual or full)
    if job.overlap == "skip" and (standing.scheduled or begun):
        return _skip(due, STILL_GOING if standing.scheduled else f"{STILL_GOING}: {begun[0].ended}", now, free=free)
    found = catch_up(job, due, now)
    turns = _Turns(settled=[*found.settled])
    kept = _within_repeat(job, found.kept, standing.left, turns)
    kept = kept if job.overlap in ("queue", "allow") else _without_retries(job, kept, turns)
    ready = [each for each in kept if each.ended is None or each.due <= now]
    turns.stay += [each for each in kept if each.ended is not None and each.due > now]
    if job.overlap == "allow":
        room = len(ready) if standing.room is None else max(0, standing.room)
        turns.start += ready[:room]
        _behind(job, ready[room:], standing.full, turns)
    elif any(each.later for each in kept):
        _after_begun(job, ready, begun[0].ended if free else FOR_RUN, now, turns, free=free)
    elif standing.scheduled:
        _behind(job, ready, FOR_RUN, turns)
    elif standing.manual or full:
        _behind(job, ready, FOR_RUN if standing.manual else standing.full, turns)
    elif job.overlap == "cancel_running":
        turns.start += ready[-1:]
        turns.settled += [Settled(each, "skipped", REPLACED) for each in ready[:-1]]
    else:
        turns.start += ready[:1]
        _behind(job, ready[1:], FOR_TURN, turns)
    newer = turns.hold or any(each.held for each in turns.stay)
    ends = standing.scheduled and not standing.asked and job.overlap == "cancel_running" and newer
    return Answers(
        tuple(turns.start), tuple(turns.hold), tuple(turns.stay), tuple(turns.settled),
        CANCELLED if ends else None, _made_up(turns.settled),
    )  # fmt: skip


def _skip(due: Sequence[Open], why: str, now: datetime, *, free: bool) -> Answers:
    """Rule 7: nothing of what is new has a turn, late or not. What was begun goes on when its way is free."""
    start = _first_begun(due, now, free=free)
    stay = tuple(each for each in due if (each.held or each.ended is not None) and each not in start)
    settled = tuple(
        Settled(each, "skipped", each.excluded or why) for each in due if not each.held and each.ended is None
    )
    return Answers(start=start, stay=stay, settled=settled)


def _first_begun(some: Sequence[Open], now: datetime, *, free: bool) -> tuple[Open, ...]:
    """What was begun and is to go on now."""
    ready = sorted((each for each in some if each.later and each.due <= now), key=lambda each: each.turn)
    return tuple(ready[:1]) if free else ()


def _after_begun(job: Job, ready: Sequence[Open], why: str | None, now: datetime, turns: _Turns, *, free: bool) -> None:
    """Rule 14: what was begun goes on, and the others wait for that."""
    start = _first_begun(ready, now, free=free)
    turns.start += start
    turns.stay += [each for each in ready if each.later and each not in start]
    _behind(job, [each for each in ready if not each.later], why or FOR_RUN, turns)


def _within_repeat(job: Job, kept: Sequence[Open], left: int | None, turns: _Turns) -> Sequence[Open]:
    """Those that `repeat` has no more runs for never have a turn."""
    if left is None:
        return kept
    slots = [each for each in kept if each.ended is None]
    beyond = slots[max(0, left - (len(kept) - len(slots))) :]
    turns.settled += [
        Settled(each, "void", f"it is to run {job.repeat} times, and others come first") for each in beyond
    ]
    return [each for each in kept if each not in beyond]


def _without_retries(job: Job, kept: Sequence[Open], turns: _Turns) -> Sequence[Open]:
    """Rules 13 and 14: a retry gives way, if a slot has a turn; so does what was begun, under `cancel_running`."""
    if all(each.ended is not None for each in kept):
        return kept
    stay = [each for each in kept if each.ended is None or (each.later and job.overlap != "cancel_running")]
    turns.settled += [
        Settled(each, "ran", f"{each.ended}; {CANCELLED if each.later else GAVE_WAY}")
        for each in kept
        if each not in stay
    ]
    return stay


def _behind(job: Job, ready: Sequence[Open], reason: str, turns: _Turns) -> None:
    """These wait, as far as `overlap` lets them."""
    if job.overlap in _NEWEST_ONLY or (job.overlap == "skip" and reason != FOR_TURN):
        turns.newest(ready, reason)
        return
    waiting = sum(each.held for each in ready)
    room = max(0, QUEUE_MAX - waiting)
    fresh = [each for each in ready if not each.held and each.ended is None]
    beyond = fresh[room:]
    turns.wait([each for each in ready if each not in beyond], reason)
    turns.settled += [Settled(each, "skipped", f"{QUEUE_MAX} slots of it wait already") for each in beyond]


def _made_up(settled: Sequence[Settled]) -> int:
    missed = sum(each.open.count for each in settled if each.outcome == "missed")
    return missed + sum(each.open.missed for each in settled if each.outcome in ("missed", "skipped"))
