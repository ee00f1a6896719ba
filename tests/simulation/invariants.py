"""What must hold after every simulated life: reckoned from the rows, the schedule, and what took effect outside.

Three things are allowed to happen, and nothing else is:

- A gateway that stood still *between* its last look at its lease and a message (both are one after the other, and nothing
  is waited for in between) sends that one late, when its run may be another's. No program can close that gap from its own
  side. Everything that it writes afterwards is refused all the same.
- The program of a run that was taken over from another machine (or from before a boot) cannot be seen by whoever took it
  over. It may go on beside the job's next run until its own gateway, if that is still there, learns of it.
- A run is `unknown` when a fault struck its owner before its program began, took its shim with it, or left it to somebody
  who could not see it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise, takewhile
from sqlite3 import Row

from horae.core.model import Job
from horae.engine.lease import RENEW_EVERY_S
from horae.limits import HANDOVER_S, POLL_S
from tests.simulation.invariants_agents import check_agents, is_replay
from tests.support.builders import START, us
from tests.support.outside import Effect
from tests.support.record import Record, detail_of
from tests.support.world import World

RAN = ("completed", "failed", "cancelled", "unknown")
SECOND = 1_000_000
Slots = Callable[[], Iterator[datetime]]


@dataclass(frozen=True)
class Expected:
    """A job, and its slots by an independent reckoning."""

    job: Job
    slots: Slots
    later: tuple[tuple[datetime, Slots | None], ...] = ()
    """After each of these instants it has other slots, or none because it was removed."""
    finite: bool = False
    """Whether everything of it must have come to its end."""

    def until(self, end: datetime) -> list[int]:
        parts = [(None, self.slots), *self.later, (end, None)]
        found: list[int] = []
        for (since, slots), (upto, _) in pairwise(parts):
            last = end if upto is None else min(upto, end)
            if slots is not None:
                found += [us(s) for s in takewhile(lambda s: s <= last, slots()) if since is None or s > since]  # noqa: B023
        return found


def check(world: World, expected: dict[str, Expected]) -> None:
    """All invariants, for a world whose gateways have stopped in order."""
    record = Record(world)
    every_slot_has_one_outcome(record, expected)
    nothing_ran_twice(record)
    programs_of_a_job_do_not_overlap(record, expected)
    slots_and_groups_have_their_bounds(record, expected)
    only_owners_write_and_act(record)
    runs_are_taken_over_for_a_reason(record)
    who_was_taken_over_ends_its_programs(record)
    unknown_is_only_what_a_fault_hit(record)
    outcomes_tell_what_happened(record)
    deliveries_are_complete(record, expected)
    nothing_is_left_open(record, expected)
    the_journal_tells_it_all(record)
    running_changed_no_definition(record)
    if world.agents is not None:
        check_agents(record, expected)


def every_slot_has_one_outcome(record: Record, expected: dict[str, Expected]) -> None:
    """P1."""
    world = record.world
    stopped = us(world.asked_to_stop)
    latest = max((told.entry.at for told in world.told), default=0)  # a clock may have been set back since
    end = max(world.clock.now(), START + timedelta(microseconds=latest - us(START)))
    rows_of = defaultdict(list)
    for row in record.occurrences:
        if row["trigger"] == "schedule":
            rows_of[row["job_id"]].append(row)
    for job_id, what in expected.items():
        name, rows, slots = what.job.slug, rows_of[job_id], what.until(end)
        own = {row["slot_at"] for row in rows}
        covered: Counter[int] = Counter()
        for row in rows:
            if row["span_to"] is None:
                covered[row["slot_at"]] += 1
                continue
            stands_for = [
                s for s in slots if row["slot_at"] <= s <= row["span_to"] and (s == row["slot_at"] or s not in own)
            ]
            assert len(stands_for) == row["span_count"], f"{name}: a span says {row['span_count']}: {stands_for}"
            covered.update(stands_for)
        if what.job.repeat is not None:  # it has no further slots once it has run so often
            slots = [slot for slot in slots if slot <= max(covered, default=0)]
        assert max(covered.values(), default=1) == 1, f"{name}: two rows for one slot: {covered}"
        lost = [slot for slot in slots if slot + what.job.spread_s * SECOND <= stopped and covered[slot] == 0]
        assert not lost, f"{name}: no row for {lost}"
        ahead = set(covered) - set(slots)
        assert all(slot > us(end) - SECOND for slot in ahead), f"{name}: rows for what is no slot: {ahead}"
        for row in rows:
            if row["state"] == "planned" and not row["attempts"] and what.job.overlap == "skip":
                assert row["due_at"] > stopped - SECOND, f"{name}: due at {row['due_at']} and nobody looked"


def nothing_ran_twice(record: Record) -> None:
    """P2: a run begins once; a slot is tried again only when it is known that the attempt before failed."""
    starts = Counter(effect.run_id for effect in record.world.effects)
    assert max(starts.values(), default=1) == 1, f"started twice: {starts.most_common(1)}"
    for key, attempts in record.attempts.items():
        real = [run for run in attempts if run["state"] != "released"]
        for run in real[:-1]:
            assert record.told_of(run["id"], "retry_planned"), f"{key}: tried again after {run['state']}"
            assert run["state"] == "failed", f"{key}: tried again although {run['state']}"
        assert [run["attempt"] for run in attempts] == list(range(1, len(attempts) + 1))


def programs_of_a_job_do_not_overlap(record: Record, expected: dict[str, Expected]) -> None:
    """Also not across the death of a gateway, unless whoever took the run over could not see the program."""
    last: dict[str, list[Effect]] = defaultdict(list)
    for effect in sorted(record.world.effects, key=lambda effect: effect.began_s):
        if expected[effect.job_id].job.overlap == "allow":
            continue
        here = [other for other in last[effect.job_id] if other.ends_s > effect.began_s]
        for other in here:
            sight = record.out_of_sight(other)
            excused = (
                (sight is not None and sight <= effect.began_s)
                or record.is_stale(other.run_id, other.by, other.began_s)
                or record.is_stale(effect.run_id, effect.by, effect.began_s)
            )
            assert excused, f"{effect.job_id}: {effect.run_id} started beside {other.run_id}"
        last[effect.job_id] = [*here, effect]


def slots_and_groups_have_their_bounds(record: Record, expected: dict[str, Expected]) -> None:
    """No gateway runs more than it may; no group has more live runs than its limit."""
    settings = record.world.settings
    running: dict[str, list[Effect]] = defaultdict(list)
    for effect in sorted(record.world.effects, key=lambda effect: effect.began_s):
        group = expected[effect.job_id].job.group
        bounds = {f"gateway {effect.by}": settings.parallel}
        if group is not None:
            bounds[f"group {group}"] = settings.groups.get(group, 1)
        for name, most in bounds.items():
            here = [other for other in running[name] if other.ends_s > effect.began_s]
            running[name] = [*here, effect]
            counted = [other for other in running[name] if not _excused(record, other, effect.began_s)]
            assert len(counted) <= most, f"{name}: {len(counted)} programs at once, of at most {most}"


def _excused(record: Record, effect: Effect, at_s: float) -> bool:
    """Whether nobody who decides at this time can know of the program, or its owner was stale when it began."""
    sight = record.out_of_sight(effect)
    return (sight is not None and sight <= at_s) or record.is_stale(effect.run_id, effect.by, effect.began_s)


def only_owners_write_and_act(record: Record) -> None:
    """P3: at most one live owner; from a take-over on nothing that the former one does has an effect."""
    assert not record.strangers, record.strangers
    for effect in record.world.effects:
        late = record.is_stale(effect.run_id, effect.by, effect.began_s)
        assert not late, f"{effect.by} started {effect.run_id}, which was another's by then"
        assert record.starter[effect.run_id] == effect.by, f"{effect.run_id} began before that was written"
    for sending in record.world.sendings:
        late = record.given_up(sending.run_id, sending.target, sending.at_s)
        assert not late or sending.stood_still, f"{sending.by} sent for {sending.run_id}, which was another's by then"


def runs_are_taken_over_for_a_reason(record: Record) -> None:
    """The lease rule: the owner is proven gone, or its lease has ended, and it does not trust it any more."""
    for found in record.takeovers:
        former, taker = record.life(found.of), record.life(found.by)
        over_s = former.died_s if former.dead else former.stopped_s if former.stopped else float("inf")
        if found.proven:
            assert former.host is taker.host, f"{found}: nobody can look from {taker.host.name}"
            assert over_s <= found.at_s, f"{found}: it was there"
        elif over_s < found.at_s and former.stopped:
            assert found.at_s >= over_s + HANDOVER_S, f"{found}: it was to be waited for"
        else:
            trusted_s = max((until for seq, until in former.lease.trusted if seq < found.seq), default=0.0)
            assert trusted_s <= found.at_s, f"{found}: its owner trusted its lease until {trusted_s}"
        struck = [hit.fault for hit in record.world.hits if hit.life == found.of and hit.at_s <= found.at_s]
        assert former.stopped or set(struck) - {"outage"}, f"{found}: nothing had struck it but {struck}"


def who_was_taken_over_ends_its_programs(record: Record) -> None:
    """As soon as it goes on and reaches the store: at its next look. What it begins at that very moment, a little later."""
    look_s = POLL_S if record.world.shared else RENEW_EVERY_S
    for effect in record.world.effects:
        for found in record.takeovers_of[effect.run_id]:
            former = record.life(found.of)
            if found.of != effect.by or effect.ends_s <= found.at_s:
                continue
            learns_s = max(found.at_s, effect.began_s, *(until for _, until in _struck(record, found.of, effect)))
            bound_s = learns_s + look_s + 1.0
            gone = former.over and (former.died_s if former.dead else former.stopped_s) <= bound_s
            assert gone or effect.ends_s <= bound_s, f"{effect.run_id} of {found.of} went on until {effect.ends_s}"


def _struck(record: Record, name: str, effect: Effect) -> list[tuple[float, float]]:
    return [(hit.at_s, hit.until_s) for hit in record.world.hits if hit.life == name and hit.at_s <= effect.ends_s] or [
        (0.0, 0.0)
    ]


def unknown_is_only_what_a_fault_hit(record: Record) -> None:
    """P4."""
    for run in record.runs:
        told = record.told_of(run["id"], "unknown")
        assert (told is not None) == (run["state"] == "unknown" or run["resolved_by"] is not None)
        if told is None:
            continue
        began = record.told_of(run["id"], "claimed")
        assert began is not None
        hits = record.hits_of(record.owners[run["id"]])
        hit = any(at_s <= told.at_s and began.at_s <= until_s for at_s, until_s in hits)
        assert hit, f"{run['id']} is unknown, and no fault had struck its owner"
        assert _unseen(record, run), f"{run['id']} is unknown, and its shim was there to tell"
        assert record.attempts[run["key"]][-1]["id"] == run["id"], "an unknown run was tried again"
    for run_id, rows in record.deliveries.items():
        for row in rows:
            if row["state"] == "unknown":
                assert record.hits_of([row["gateway_id"]]), f"a delivery of {run_id} is unknown without a fault"


def _unseen(record: Record, run: Row) -> bool:
    """Whether nobody could know how it ended: it never began, its shim went with it, or nobody who owned it could look."""
    effects = record.world.effects_of(run["id"])
    taken = record.takeovers_of[run["id"]]
    takers = [record.life(found.by) for found in taken]
    sights = [(taker.host.name, taker.boot) == (effect.host, effect.boot) for taker in takers for effect in effects]
    return (
        not effects
        or any(effect.broken for effect in effects)
        or not all(sights)
        or any(said in run["reason"] for said in ("fault of Horae", "resolved"))
    )


def outcomes_tell_what_happened(record: Record) -> None:
    """`ran` has a run that began; what was not begun had no effect; success is never claimed for what had none."""
    effects = {effect.run_id for effect in record.world.effects}
    for run in record.runs:
        if run["state"] in ("completed", "failed") and run["resolved_by"] is None:
            assert run["id"] in effects, f"{run['state']} without having begun"
        if (
            run["state"] == "blocked"
            or (run["state"] == "released" and run["id"] not in record.later)
            or (run["state"] == "cancelled" and run["started_at"] is None)
        ):
            assert run["id"] not in effects, f"{run['state']}, but it had begun"
    for row in record.occurrences:
        if row["state"] != "settled":
            continue
        assert row["reason"], f"{row['key']} is settled without a reason"
        states = [run["state"] for run in record.attempts[row["key"]] if run["started_at"] or run["state"] == "blocked"]
        if row["outcome"] == "ran":
            assert states, f"{row['key']} ran without a run"
            assert set(states) <= {*RAN, "released"}, f"{row['key']} ran: {states}"
        elif row["outcome"] == "blocked":
            assert states[-1:] in ([], ["blocked"]), f"{row['key']} blocked: {states}"
        else:
            assert not states, f"{row['key']} {row['outcome']}: {states}"


def deliveries_are_complete(record: Record, expected: dict[str, Expected]) -> None:
    """P5: each run that ended has a row for each target; what was confirmed was sent once."""
    arrived = Counter((run, target) for run, target, _ in record.world.sent)
    assert max(arrived.values(), default=1) == 1, f"sent twice: {arrived.most_common(1)}"
    for run in record.runs:
        mine, asks = record.deliveries[run["id"]], record.asked[run["id"]]
        rows = {row["target"]: row["state"] for row in mine if row["kind"] != "approval"}
        targets = {"local"} if is_replay(record, run) else set(expected[run["job_id"]].job.deliver)
        asked = {row["target"] for row in mine if row["kind"] == "approval"}
        assert asked == (targets if asks else set()), f"who was asked for {run['id']}: {asked}"
        if run["state"] == "released" or (run["state"] == "cancelled" and run["started_at"] is None):
            assert not rows, f"{run['id']} had nothing to tell: {rows}"
            continue
        assert set(rows) == targets, f"targets of {run['id']}: {rows}"
        state, reached = rows.get("desk"), (run["id"], "desk") in arrived
        assert state != "delivered" or reached, f"{run['id']} is said to have reached its target"
        assert state not in ("suppressed", "failed") or not reached, f"{run['id']} reached its target: {state}"
    for row in record.world.rows("SELECT * FROM delivery WHERE state = 'suppressed' AND incident_id IS NOT NULL"):
        told = record.world.rows(
            "SELECT 1 FROM delivery WHERE incident_id = ? AND state <> 'suppressed' AND id < ?",
            row["incident_id"],
            row["id"],
        )
        assert told, f"the failure of {row['run_id']} is silent"


def nothing_is_left_open(record: Record, expected: dict[str, Expected]) -> None:
    live = [(run["id"], run["state"]) for run in record.runs if run["state"] in ("claimed", "running")]
    assert not live, f"live runs without a gateway: {live}"
    assert not [row["key"] for row in record.occurrences if row["state"] == "claimed"]
    rows = [row for rows in record.deliveries.values() for row in rows if row["state"] in ("pending", "sending")]
    assert not rows, f"deliveries that nobody sees to: {[(row['run_id'], row['state']) for row in rows]}"
    now_us = us(record.world.clock.now())  # the store's: where it was set back, a retry may still be to come
    for row in record.occurrences:
        if row["job_id"] in expected and expected[row["job_id"]].finite and row["due_at"] <= now_us:
            assert row["state"] == "settled", f"{row['key']} of {row['slot_at']} never came to its end: {row['reason']}"


def the_journal_tells_it_all(record: Record) -> None:
    """Each transition that people ask about has exactly one entry; numbers have no gaps; readers were told all of it."""
    entries = record.journal
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert sorted(told.entry.seq for told in record.world.told) == list(range(1, len(entries) + 1))
    of_targets = {entry["seq"] for entry in entries if '"target"' in entry["detail"] and detail_of(entry).get("target")}
    said = Counter((entry["what"], entry["run_id"]) for entry in entries if entry["seq"] not in of_targets)
    for run in record.runs:
        ended = ["unknown" if run["resolved_by"] is not None else run["state"]]
        if run["id"] in record.later:
            ended = [record.later[run["id"]]]
        wanted = ["claimed", *ended] + (["started"] if run["started_at"] else [])
        for what in wanted:
            assert said[what, run["id"]] == 1, f"{run['id']}: {said[what, run['id']]} entries for {what}"
    about = Counter((entry["what"], entry["key"]) for entry in entries)
    for row in record.occurrences:
        if row["state"] == "settled" and row["attempts"] == 0:
            assert about[row["outcome"], row["key"]] == 1, f"{row['key']}: no entry for {row['outcome']}"
    sent = Counter((entry["what"], entry["run_id"]) for entry in entries if entry["seq"] in of_targets)
    for run_id, rows in record.deliveries.items():
        states = Counter(row["state"] for row in rows if row["target"] == "desk" and row["state"] != "suppressed")
        for state, count in states.items():
            assert sent[state, run_id] == count, f"{count} deliveries of {run_id}, {sent[state, run_id]} say {state}"


def running_changed_no_definition(record: Record) -> None:
    """P8: what is stored of a job is what a person gave last."""
    for job_id, given in record.world.given.items():
        row = record.jobs[job_id]
        stored = json.loads(row["definition"])
        assert (stored["schedule"], stored["name"]) == (given.schedule, given.name)
        assert (row["schedule"], row["timezone"], row["enabled"]) == (
            given.schedule,
            given.timezone,
            int(given.enabled),
        )


def outcomes(world: World, job: Job) -> Counter[str]:
    """How often each outcome was, spans counted."""
    found: Counter[str] = Counter()
    for row in world.rows("SELECT * FROM occurrence WHERE job_id = ? AND state = 'settled'", job.id):
        found[row["outcome"]] += row["span_count"] or 1
    return found
