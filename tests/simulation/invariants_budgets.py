"""What may be spent where agents work, and is: reckoned from what each agent was given and did, cut off where it really ended.

P14, precisely. At every moment, for each day (in the home's zone, by the store's clock), job and home:

- what is counted, reservations of runs that are open and what those that ended count for, is not more than the cap;
- what providers charged for calls made that day is not more than the cap.

Both may be passed by this and nothing else: where a request held more tokens than was estimated (`Ways.low`), each run
passes its own allowance by no more than the calls that were out together when it was noticed, one where they are made one
after the other; that excess of each run may be on top of a day's cap. A run of which nobody could see the end may go on
on its machine when its day is over, as far as what was reserved for it: the next day does not know of it.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tests.support.builders import START, us
from tests.support.outside import Effect
from tests.support.record import Record
from tests.support.world import World

if TYPE_CHECKING:
    from tests.simulation.invariants import Expected

TINY = 1e-9
COUNTED = """
SELECT job_id, coalesce(sum(reserved_tokens), 0) AS tokens, coalesce(sum(reserved_usd), 0.0) AS usd FROM run
WHERE equipped_at IS NOT NULL AND (finished_at IS NULL OR finished_at >= ?) GROUP BY job_id
"""


class Amount(NamedTuple):
    """What is used, reserved or allowed."""

    tokens: float = 0
    usd: float = 0.0

    def plus(self, tokens: float, usd: float) -> Amount:
        return Amount(self.tokens + tokens, self.usd + usd)


def check_budgets(record: Record, expected: dict[str, Expected]) -> None:
    """All of them, once a life is over."""
    runs_keep_their_allowance(record)
    waiting_is_no_way_to_more(record, expected)
    reservations_end_with_what_is_known(record)
    days_keep_their_budget(record, expected)


def caps_of(world: World, expected: dict[str, Expected]) -> dict[str | None, tuple[float | None, float | None]]:
    """job id, or None for the home → what a day has at most."""
    day = world.settings.agents.day
    found: dict[str | None, tuple[float | None, float | None]] = {None: (day.tokens, day.usd)}
    for job_id, what in expected.items():
        if what.job.agent:
            found[job_id] = (what.job.limits.tokens_day, what.job.limits.usd_day)
    return found


def budgets_hold_now(world: World) -> None:
    """P14, looked at after every call of the store."""
    assert world.agents is not None
    if not tells_days(world):
        return
    counted: dict[str | None, Amount] = defaultdict(Amount)
    for row in world.rows(COUNTED, us_of(day_start(world, world.clock.now()))):
        for whose in (None, row["job_id"]):
            counted[whose] = counted[whose].plus(row["tokens"], row["usd"])
    passed = _passed(world)
    for whose, (tokens, usd) in caps_of(world, world.expected).items():
        over = passed[whose]
        _within(counted[whose], tokens, usd, over, f"counted for {whose or 'all'} at {world.clock.now()}")


def _passed(world: World) -> dict[str | None, Amount]:
    """By how much runs have passed what they were allowed, of each job and of all: nothing where estimates were right."""
    found: dict[str | None, Amount] = defaultdict(Amount)
    for effect in world.effects:
        if effect.play is not None and effect.play.low:
            over = _over(effect)
            for whose in (None, effect.job_id):
                found[whose] = found[whose].plus(*over)
    return found


def _over(effect: Effect) -> Amount:
    """By how much a run has passed what it was allowed: as far as that was noticed, and in calls whose answer nobody saw."""
    assert effect.play is not None
    allow, work, used = effect.play.task["allow"], effect.play.work(effect.lived_s), charged(effect)
    seen = {"tokens": work.tokens + work.open_bound, "usd": work.usd or 0.0}
    if work.open_bound and allow["usd"] is not None:
        seen["usd"] = max(seen["usd"], allow["usd"])  # all of it counts
    noticed = [0.0 if allow[kind] is None else max(0.0, seen[kind] - allow[kind]) for kind in seen]
    unseen = [max(0.0, amount - seen[kind]) for kind, amount in zip(seen, used, strict=True)]
    return Amount(*map(sum, zip(noticed, unseen, strict=True)))


def charged(effect: Effect) -> Amount:
    """What its provider charges for it."""
    assert effect.play is not None
    found = Amount()
    for call in effect.play.asked(effect.lived_s):
        found = found.plus(call.tokens, call.usd)
    return found


def tells_days(world: World) -> bool:
    """Whether the store's clock was never set: by one that was nobody can tell what was on which day."""
    return world.shared or not any(hit.fault == "stepped" for hit in world.hits)


def day_start(world: World, at: datetime) -> datetime:
    """When the day of an instant began, reckoned without the product."""
    assert world.agents is not None
    if world.agents.midnight_s is None:
        return datetime.combine(at.date(), time(), at.tzinfo)
    begins = START + timedelta(seconds=world.agents.midnight_s)
    return begins + timedelta(days=(at - begins) // timedelta(days=1))


def us_of(at: datetime) -> int:
    return us(START) + (at - START) // timedelta(microseconds=1)


def _within(amount: Amount, tokens: float | None, usd: float | None, over: Amount, what: str) -> None:
    assert tokens is None or amount.tokens <= tokens + over.tokens, f"{what}: {amount.tokens} tokens of {tokens}"
    assert usd is None or amount.usd <= usd + over.usd + TINY, f"{what}: ${amount.usd} of ${usd}"


def runs_keep_their_allowance(record: Record) -> None:
    """P14 of a run: its turns, tokens and dollars; past them only what an estimate was wrong by, in calls that were out."""
    for effect in record.world.effects:
        if effect.play is None:
            continue
        allow, calls = effect.play.task["allow"], [*effect.play.asked(effect.lived_s)]
        assert allow["turns"] is None or len(calls) <= allow["turns"], f"{effect.run_id}: {len(calls)} turns"
        most = [
            sorted(each, reverse=True)[: effect.play.together_max]
            for each in zip(*(c.excess for c in calls), strict=True)
        ]
        over = Amount(*map(sum, most))
        _within(charged(effect), allow["tokens"], allow["usd"], over, f"used by {effect.run_id}")
        assert effect.play.low or over == Amount(), f"{effect.run_id} used more than was reckoned with"


def waiting_is_no_way_to_more(record: Record, expected: dict[str, Expected]) -> None:
    """P14 of runs of which each goes on from where the one before was: together they are one."""
    effects = {effect.run_id: effect for effect in record.world.effects if effect.play is not None}
    for attempts in record.attempts.values():
        used, over, turns = Amount(), Amount(), 0
        for run in attempts:
            effect = effects.get(run["id"])
            if effect is None or effect.play is None:
                continue
            limits = expected[run["job_id"]].job.limits
            used, over = used.plus(*charged(effect)), over.plus(*_over(effect))
            turns += sum(call.tokens > 0 for call in effect.play.asked(effect.lived_s))  # not what was refused
            what = f"used until {run['id']} since its slot was begun"
            assert limits.turns is None or turns <= limits.turns, f"{what}: {turns} turns"
            _within(used, limits.tokens, limits.usd, over, what)
            if run["id"] not in record.later:
                used, over, turns = Amount(), Amount(), 0


def reservations_end_with_what_is_known(record: Record) -> None:
    """What a run counts for: what it used, once that is known; all that it had reserved, where nobody knows."""
    began = {effect.run_id: effect for effect in record.world.effects}
    for run in record.runs:
        effect, has = began.get(run["id"]), (run["reserved_tokens"], run["reserved_usd"])
        if effect is None:
            if record.told_of(run["id"], "unknown") is None:
                assert not any(has), f"{run['id']} is {run['state']}, has not begun, and counts for {has}"
            continue
        if effect.play is None:
            assert run["equipped_at"] is None
            continue
        allow, work = effect.play.task["allow"], effect.play.work(effect.lived_s)
        if record.told_of(run["id"], "unknown") is not None:
            assert has == (allow["tokens"], allow["usd"]), f"{run['id']} is unknown, had {allow}, and counts for {has}"
            continue
        usd = work.usd if work.open_bound == 0 or allow["usd"] is None else allow["usd"]
        wanted = (work.tokens + work.open_bound, usd)
        assert (has[0], round(has[1], 9)) == (wanted[0], round(wanted[1] or 0.0, 9)), (
            f"{run['id']}: {has}, not {wanted}"
        )


def days_keep_their_budget(record: Record, expected: dict[str, Expected]) -> None:
    """P14 of a day: what was charged, whoever knows of it."""
    world = record.world
    if not tells_days(world):
        return
    used: dict[tuple[datetime, str | None], Amount] = defaultdict(Amount)
    for effect in world.effects:
        if effect.play is None:
            continue
        lost = record.told_of(effect.run_id, "unknown")
        for call in effect.play.asked(effect.lived_s):
            at_s = effect.at_s(call.at_s)
            day = day_start(world, START + timedelta(seconds=at_s))
            if lost is not None and lost.at_s <= at_s and day_start(world, START + timedelta(seconds=lost.at_s)) != day:
                continue
            for whose in (None, effect.job_id):
                used[day, whose] = used[day, whose].plus(call.tokens, call.usd)
    caps, passed = caps_of(world, expected), _passed(world)
    for (day, whose), amount in used.items():
        _within(amount, *caps[whose], passed[whose], f"charged to {whose or 'all'} on the day from {day}")
