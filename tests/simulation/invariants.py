"""What must hold after every simulated life: reckoned from the rows, the schedule and what took effect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from sqlite3 import Row

from horae.core.model import Job
from tests.support.builders import us
from tests.support.world import PAUSE_S, World

RAN = ("completed", "failed", "cancelled", "unknown")
SECOND = 1_000_000


@dataclass(frozen=True)
class Expected:
    """A job, and its slots by an independent reckoning."""

    job: Job
    slots: Callable[[], Iterator[datetime]]

    def until(self, end: datetime) -> list[int]:
        return [us(slot) for slot in takewhile(lambda slot: slot <= end, self.slots())]


def check(world: World, expected: dict[str, Expected]) -> None:
    """All invariants, for a world whose gateways have stopped in order."""
    every_slot_has_one_outcome(world, expected)
    nothing_ran_twice(world)
    unknown_is_only_what_a_fault_hit(world)
    outcomes_tell_what_happened(world)
    deliveries_are_complete(world, expected)
    nothing_is_left_open(world)
    the_journal_tells_it_all(world)


def every_slot_has_one_outcome(world: World, expected: dict[str, Expected]) -> None:
    """P1."""
    end = world.clock.now()
    stopped = us(world.asked_to_stop)
    for job_id, what in expected.items():
        slots = what.until(end)
        rows = world.rows("SELECT * FROM occurrence WHERE job_id = ? AND trigger = 'schedule'", job_id)
        own = {row["slot_at"] for row in rows}
        covered: Counter[int] = Counter()
        for row in rows:
            if row["span_to"] is None:
                covered[row["slot_at"]] += 1
                continue
            stands_for = [
                s for s in slots if row["slot_at"] <= s <= row["span_to"] and (s == row["slot_at"] or s not in own)
            ]
            assert len(stands_for) == row["span_count"], (
                f"{what.job.slug}: a span says {row['span_count']}, not {len(stands_for)}"
            )
            covered.update(stands_for)
        due = [slot for slot in slots if slot <= stopped]
        lost = [slot for slot in due if covered[slot] == 0]
        assert not lost, f"{what.job.slug}: no row for {lost}"
        assert max(covered.values(), default=1) == 1, f"{what.job.slug}: two rows for one slot: {covered}"
        ahead = set(covered) - set(slots)
        assert all(slot > us(end) - SECOND for slot in ahead), f"{what.job.slug}: rows for what is no slot: {ahead}"
        for row in rows:
            if row["state"] == "planned" and not row["attempts"]:
                assert row["due_at"] > stopped - SECOND, f"{what.job.slug}: due at {row['due_at']} and nobody looked"


def nothing_ran_twice(world: World) -> None:
    """P2."""
    for name in ("key", "run_id"):
        starts = Counter(getattr(effect, name) for effect in world.effects)
        assert max(starts.values(), default=1) == 1, f"started twice: {starts.most_common(1)}"
    real = Counter(row["key"] for row in world.rows("SELECT key FROM run WHERE state <> 'released'"))
    assert max(real.values(), default=1) == 1, "two attempts at one occurrence that were not released"
    if not any(fault == "usurped" for _, fault, _ in world.hits):
        nothing_overlaps(world)


def nothing_overlaps(world: World) -> None:
    """Two programs of one job are never there at once, not even across the death of a gateway."""
    jobs = {row["key"]: row["job_id"] for row in world.rows("SELECT key, job_id FROM occurrence")}
    last: dict[str, datetime] = {}
    for effect in sorted(world.effects, key=lambda effect: effect.at):
        job = jobs[effect.key]
        assert job not in last or effect.at >= last[job], f"{job}: {effect.run_id} started beside another run"
        last[job] = effect.at + timedelta(seconds=effect.ends_s - effect.began_s)


def unknown_is_only_what_a_fault_hit(world: World) -> None:
    """P4."""
    lasts = {"usurped": 3 * PAUSE_S}  # the usurper may itself be paused before it looks
    hits = [(us(at), us(at) + int(lasts.get(fault, 0)) * SECOND) for _, fault, at in world.hits]
    for run in world.rows("SELECT * FROM run WHERE state = 'unknown'"):
        hit = any(run["started_at"] - SECOND <= end and begin <= run["finished_at"] for begin, end in hits)
        assert hit, "unknown without a fault"
        (later,) = world.rows("SELECT count(*) AS n FROM run WHERE key = ? AND attempt > ?", run["key"], run["attempt"])
        assert later["n"] == 0, "an unknown run was tried again"
    if not hits:
        assert not world.rows("SELECT 1 FROM delivery WHERE state = 'unknown'")


def outcomes_tell_what_happened(world: World) -> None:
    """`ran` has a run that began; what was not begun had no effect; success is never claimed for what had none."""
    effects = {effect.run_id for effect in world.effects}
    runs = world.rows("SELECT * FROM run")
    for run in runs:
        if run["state"] in ("completed", "failed"):
            assert run["id"] in effects, f"{run['state']} without having begun"
        if run["state"] in ("blocked", "released"):
            assert run["id"] not in effects, f"{run['state']}, but it had begun"
    last = {row["key"]: row for row in sorted(runs, key=lambda row: row["attempt"])}
    for row in world.rows("SELECT * FROM occurrence WHERE state = 'settled'"):
        assert row["reason"], f"{row['key']} is settled without a reason"
        if row["outcome"] == "ran":
            assert last[row["key"]]["state"] in RAN
        elif row["outcome"] != "blocked":
            assert row["key"] not in last or last[row["key"]]["state"] == "released"


def deliveries_are_complete(world: World, expected: dict[str, Expected]) -> None:
    """P5: each run that ended has a row for each target; what was confirmed was sent once."""
    for run in world.rows("SELECT * FROM run WHERE state <> 'released'"):
        rows = world.rows("SELECT * FROM delivery WHERE run_id = ?", run["id"])
        assert {row["target"] for row in rows} == set(expected[run["job_id"]].job.deliver), f"targets of {run['id']}"
    assert max(Counter((run, target) for run, target, _ in world.sent).values(), default=1) == 1, "sent twice"
    arrived = {(run, target) for run, target, _ in world.sent}
    for row in world.rows("SELECT * FROM delivery WHERE target = 'desk'"):
        if row["state"] == "delivered":
            assert (row["run_id"], "desk") in arrived
        if row["state"] == "suppressed":
            assert (row["run_id"], "desk") not in arrived


def nothing_is_left_open(world: World) -> None:
    assert not world.rows("SELECT id, state FROM run WHERE state IN ('claimed', 'running')")
    assert not world.rows("SELECT key FROM occurrence WHERE state = 'claimed'")
    assert not world.rows("SELECT id FROM delivery WHERE state IN ('pending', 'sending')")


def the_journal_tells_it_all(world: World) -> None:
    """Each transition that people ask about has exactly one entry; numbers have no gaps."""
    entries = world.rows("SELECT * FROM journal ORDER BY seq")
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    said = Counter(
        (entry["what"], entry["run_id"]) for entry in entries if not json.loads(entry["detail"]).get("target")
    )
    for run in world.rows("SELECT * FROM run"):
        wanted = ["claimed", run["state"]] + (["started"] if run["started_at"] else [])
        for what in wanted:
            assert said[what, run["id"]] == 1, f"{run['id']}: {said[what, run['id']]} entries for {what}"
    about = Counter((entry["what"], entry["key"]) for entry in entries)
    for row in world.rows("SELECT * FROM occurrence WHERE state = 'settled' AND attempts = 0"):
        assert about[row["outcome"], row["key"]] == 1, f"{row['key']}: no entry for {row['outcome']}"
    sent = Counter((entry["what"], entry["run_id"]) for entry in entries if json.loads(entry["detail"]).get("target"))
    for row in world.rows("SELECT * FROM delivery WHERE target = 'desk' AND state <> 'suppressed'"):
        assert sent[row["state"], row["run_id"]] == 1, f"delivery of {row['run_id']}: no entry for {row['state']}"


def outcomes(world: World, job: Job) -> Counter[str]:
    """How often each outcome was, spans counted."""
    found: Counter[str] = Counter()
    rows: list[Row] = world.rows("SELECT * FROM occurrence WHERE job_id = ? AND state = 'settled'", job.id)
    for row in rows:
        found[row["outcome"]] += row["span_count"] or 1
    return found
