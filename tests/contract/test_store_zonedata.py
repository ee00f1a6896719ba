"""Zone data of another version: planned slots follow their wall times, and what had its turn has it no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from horae.core.identity import slot_key
from horae.core.model import Job
from horae.core.spread import spread_offset_s
from horae.errors import Refused
from horae.timing.zones import version
from tests.support.builders import DAY, a_job, us
from tests.support.stores import SqliteUnderTest as UnderTest
from tests.support.zonedata import VANCOUVER_BEFORE, zone_data

AHEAD_OF_ITS_TIME = {"America/Los_Angeles": "America/Phoenix"}  # a law by which clocks do not go back in autumn
LAST_RUN = datetime(2026, 10, 31, 16, tzinfo=UTC)  # at nine in Vancouver, by either law


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class Change:
    """Everything before `upgrade` happens with the old zone data."""

    def __init__(self, folder: Path, laws: dict[str, str]) -> None:
        self._old = ExitStack()
        self._old.enter_context(zone_data(folder, "2025b", laws))

    def upgrade(self) -> None:
        self._old.close()


@pytest.fixture
def old(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Change]:
    change = Change(tmp_path, getattr(request, "param", VANCOUVER_BEFORE))
    yield change
    change.upgrade()


def nine(slug: str = "nine", **given: Any) -> Job:
    return a_job(slug, **({"schedule": "every day at 9am", "timezone": "America/Vancouver"} | given))


def follow(s: UnderTest, limit: int = 100) -> int:
    """As `app/zonedata.py` does it; returns how many jobs changed."""
    last, jobs = "", 0
    while last is not None:
        last, changed = s.do(lambda tx, after=last: tx.zones.follow(after, limit))
        jobs += changed
    s.do(lambda tx: tx.zones.record(jobs))
    return jobs


def rows(s: UnderTest, job: Job) -> list[tuple[datetime, str, str | None]]:
    """(slot, state or outcome, exception) by slot."""
    found = s.rows("SELECT * FROM occurrence WHERE job_id = ? AND trigger = 'schedule' ORDER BY slot_at", job.id)
    return [
        (datetime.fromtimestamp(row["slot_at"] / 1e6, tz=UTC), row["outcome"] or row["state"], row["exception"])
        for row in found
    ]


def planned(s: UnderTest, job: Job) -> list[datetime]:
    return [slot for slot, state, _ in rows(s, job) if state == "planned"]


def ran_at(s: UnderTest, owner: Any, *moments: str) -> list[datetime]:
    """The slots that run when the store is looked at then."""
    ran: list[datetime] = []
    for moment in moments:
        s.clock.time = utc(moment)
        for claim in s.claim(owner):
            s.carry_out(claim)
            ran.append(claim.slot)
    return ran


def begun(s: UnderTest, job: Job) -> Any:
    """The job has run on 31 October, and its slot of the 1st is planned by the law of then."""
    s.clock.time = LAST_RUN - DAY / 2
    s.put(job)
    owner = s.sign_on()
    assert ran_at(s, owner, "2026-10-31T16:00") == [LAST_RUN]
    return owner


# ── the law that changed


def test_the_slot_of_the_day_moves_to_the_instant_that_its_wall_time_has_now(s: UnderTest, old: Change) -> None:
    job = nine()
    owner = begun(s, job)
    assert planned(s, job) == [utc("2026-11-01T17:00")]
    old.upgrade()
    assert follow(s) == 1
    assert planned(s, job) == [utc("2026-11-01T16:00")]
    (row,) = [row for row in s.rows("SELECT * FROM occurrence") if row["state"] == "planned"]
    assert row["key"] == slot_key(job.id, utc("2026-11-01T16:00"))
    assert (row["due_at"], row["offset_s"]) == (row["slot_at"], -7 * 3600)
    assert s.job(job)["cursor_at"] == row["slot_at"]
    ran = ran_at(s, owner, *(f"2026-11-0{day}T{hour}:00" for day in (1, 2, 3) for hour in (15, 16, 17, 18)))
    assert ran == [utc(f"2026-11-0{day}T16:00") for day in (1, 2, 3)]


def test_a_slot_that_moves_keeps_its_spread_and_its_priority(s: UnderTest, old: Change) -> None:
    job = nine(spread_s=3600, priority=7)
    off = spread_offset_s(job.id, 3600) * 1_000_000
    assert off > 0
    s.clock.time = LAST_RUN + DAY / 2
    s.put(job)
    s.sign_on()
    s.do(lambda tx: tx.jobs.set_exception(job.id, utc("2026-11-05T17:00"), "skip", due=None, actor="person"))
    old.upgrade()
    assert follow(s) == 1
    moved = s.rows("SELECT * FROM occurrence WHERE state = 'planned' ORDER BY slot_at")
    assert [row["slot_at"] for row in moved] == [us(utc(f"2026-11-0{day}T16:00")) for day in (1, 5)]
    assert [(row["due_at"] - row["slot_at"], row["priority"]) for row in moved] == [(off, 7), (off, 7)]


def test_a_slot_whose_new_instant_has_passed_is_due(s: UnderTest, old: Change) -> None:
    job = nine()
    owner = begun(s, job)
    old.upgrade()
    s.clock.time = utc("2026-11-01T16:30")
    follow(s)
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.due, claim.missed) == (utc("2026-11-01T16:00"), utc("2026-11-01T16:00"), 0)
    s.carry_out(claim)
    assert planned(s, job) == [utc("2026-11-02T16:00")]


def test_what_ran_by_the_old_law_does_not_run_again_by_the_new(s: UnderTest, old: Change) -> None:
    job = nine()
    owner = begun(s, job)
    assert ran_at(s, owner, "2026-11-01T17:00") == [utc("2026-11-01T17:00")]
    old.upgrade()
    follow(s)
    assert planned(s, job) == [utc("2026-11-02T16:00")]


@pytest.mark.parametrize("old", [AHEAD_OF_ITS_TIME], indirect=True)
def test_a_slot_that_is_due_is_not_touched_and_does_not_run_twice(s: UnderTest, old: Change) -> None:
    """It came due at nine by a clock that was an hour ahead; at nine by the clock that is right, nothing runs."""
    job = nine(timezone="America/Los_Angeles")
    owner = begun(s, job)
    old.upgrade()
    s.clock.time = utc("2026-11-01T16:20")
    before = s.occurrence(slot_key(job.id, utc("2026-11-01T16:00")))
    assert follow(s) == 1
    assert s.occurrence(slot_key(job.id, utc("2026-11-01T16:00"))) == before
    ran = ran_at(s, owner, "2026-11-01T16:25", "2026-11-01T17:00", "2026-11-01T17:30", "2026-11-02T17:00")
    assert ran == [utc("2026-11-01T16:00"), utc("2026-11-02T17:00")]


@pytest.mark.parametrize("old", [AHEAD_OF_ITS_TIME], indirect=True)
def test_a_slot_that_was_caught_up_with_after_the_change_counts_no_wall_time_twice(s: UnderTest, old: Change) -> None:
    job = nine(timezone="America/Los_Angeles")
    owner = begun(s, job)
    old.upgrade()
    s.clock.time = utc("2026-11-01T18:00")
    follow(s)
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (utc("2026-11-01T16:00"), 0)
    s.carry_out(claim)
    assert rows(s, job)[1:] == [
        (utc("2026-11-01T16:00"), "ran", None),
        (utc("2026-11-02T17:00"), "planned", None),
    ]


def test_a_slot_that_was_moved_and_ran_early_does_not_run_again(s: UnderTest, old: Change) -> None:
    job = nine()
    owner = begun(s, job)
    s.do(lambda tx: tx.jobs.set_exception(
        job.id, utc("2026-11-03T17:00"), "move", due=utc("2026-10-31T20:00"), actor="person"))  # fmt: skip
    assert ran_at(s, owner, "2026-10-31T20:00") == [utc("2026-11-03T17:00")]
    old.upgrade()
    follow(s)
    ran = ran_at(s, owner, *(f"2026-11-0{day}T20:00" for day in range(1, 5)))
    assert ran == [utc(f"2026-11-0{day}T16:00") for day in (1, 2, 4)]


@pytest.mark.parametrize("old", [{"Australia/Adelaide": "Australia/Darwin"}], indirect=True)
@pytest.mark.parametrize("repeat", [None, 1])
def test_P1_what_the_clock_put_before_a_slot_that_is_due_is_accounted_for(
    s: UnderTest, old: Change, repeat: int | None
) -> None:
    """By the new law 11:00 is earlier than 10:30 was by the old one."""
    s.clock.time = utc("2026-11-11T12:00")
    job = s.put(nine(schedule="every day at 10:30 and 11:00 and 16:00", timezone="Australia/Adelaide", repeat=repeat))
    owner = s.sign_on()
    old.upgrade()
    s.clock.time = utc("2026-11-12T06:45")
    assert [follow(s), follow(s)] == [1, 0]
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (utc("2026-11-12T05:30"), 2)
    s.carry_out(claim)
    assert rows(s, job) == [
        (utc("2026-11-12T00:30"), "missed", None),
        (utc("2026-11-12T01:00"), "missed", None),
        (utc("2026-11-12T05:30"), "ran", None),
        *([] if repeat else [(utc("2026-11-13T00:00"), "planned", None)]),
    ]


@pytest.mark.parametrize("old", [{"Australia/Brisbane": "Australia/Lord_Howe"}], indirect=True)
def test_P2_a_slot_that_ran_early_does_not_run_again_behind_one_that_is_due(s: UnderTest, old: Change) -> None:
    job = nine(schedule="every day at 16:00 and 16:30", timezone="Australia/Brisbane")
    s.clock.time = utc("2026-03-23T12:00")
    s.put(job)
    owner = s.sign_on()
    early = utc("2026-03-24T05:00")
    s.do(lambda tx: tx.jobs.set_exception(job.id, early, "move", due=utc("2026-03-23T18:00"), actor="person"))
    assert ran_at(s, owner, "2026-03-23T18:00") == [early]
    old.upgrade()
    s.clock.time = utc("2026-03-24T08:51")
    assert [follow(s), follow(s)] == [1, 0]
    ran = ran_at(s, owner, "2026-03-24T08:51", "2026-03-24T09:00", "2026-03-25T06:00")
    assert ran == [utc("2026-03-24T05:30"), utc("2026-03-25T06:00")]


@pytest.mark.parametrize("old", [{"America/Denver": "America/Los_Angeles"}], indirect=True)
def test_asking_again_closes_nothing_that_the_plan_has_come_by(s: UnderTest, old: Change) -> None:
    """Seven o'clock ran early; where it was planned is behind half past seven now."""
    job = nine(schedule="every day at 7:00 and 7:30", timezone="America/Denver")
    s.clock.time = utc("2026-10-23T16:00")
    s.put(job)
    owner = s.sign_on()
    s.do(lambda tx: tx.jobs.set_exception(
        job.id, utc("2026-10-24T14:00"), "move", due=utc("2026-10-23T17:00"), actor="person"))  # fmt: skip
    ran_at(s, owner, "2026-10-23T17:00")
    old.upgrade()
    assert [follow(s), follow(s)] == [1, 0]
    assert planned(s, job) == [utc("2026-10-24T13:30")]


def test_a_slot_that_is_due_and_where_it_was_is_left_alone(s: UnderTest, old: Change) -> None:
    s.clock.time = LAST_RUN
    jobs = [s.put(nine("paris", timezone="Europe/Paris")), s.put(nine("interval", schedule="every 90 minutes"))]
    s.clock.time = LAST_RUN + 3 * DAY
    before = [rows(s, job) for job in jobs]
    old.upgrade()
    assert follow(s) == 0
    assert [rows(s, job) for job in jobs] == before


# ── what people decided


def test_skips_and_moves_go_along_and_a_move_keeps_when_it_is_due(s: UnderTest, old: Change) -> None:
    job = nine()
    owner = begun(s, job)
    away = utc("2026-11-05T03:00")
    for day, kind, due in ((2, "skip", None), (3, "move", away)):
        s.do(lambda tx, day=day, kind=kind, due=due: tx.jobs.set_exception(
            job.id, utc(f"2026-11-0{day}T17:00"), kind, due=due, actor="person"))  # fmt: skip
    old.upgrade()
    assert follow(s) == 1
    assert [(slot, exception) for slot, state, exception in rows(s, job) if state == "planned"] == [
        (utc("2026-11-01T16:00"), None),
        (utc("2026-11-02T16:00"), "skip"),
        (utc("2026-11-03T16:00"), "move"),
    ]
    assert s.occurrence(slot_key(job.id, utc("2026-11-03T16:00")))["due_at"] == us(away)
    assert s.occurrence(slot_key(job.id, utc("2026-11-02T16:00")))["due_at"] == us(utc("2026-11-02T16:00"))
    ran = ran_at(s, owner, *(f"2026-11-0{day}T{hour}:00" for day in range(1, 6) for hour in ("03", "16")))
    assert ran == [utc(f"2026-11-0{day}T16:00") for day in (1, 4, 3, 5)]
    assert s.occurrence(slot_key(job.id, utc("2026-11-02T16:00")))["outcome"] == "skipped"


def test_what_was_decided_can_be_taken_back_under_its_old_slot(s: UnderTest, old: Change) -> None:
    """An undo names the slot as it was when the person decided."""
    job = nine()
    begun(s, job)
    then = utc("2026-11-02T17:00")
    s.do(lambda tx: tx.jobs.set_exception(job.id, then, "skip", due=None, actor="person"))
    old.upgrade()
    follow(s)
    s.do(lambda tx: tx.jobs.set_exception(job.id, then, None, due=None, actor="person"))
    assert rows(s, job)[1:] == [
        (utc("2026-11-01T16:00"), "planned", None),
        (utc("2026-11-02T16:00"), "planned", None),
    ]


def test_a_slot_that_is_not_planned_any_more_cannot_be_put_back(s: UnderTest) -> None:
    s.clock.time = LAST_RUN
    job = s.put(nine())
    with pytest.raises(Refused, match="not planned any more"):
        s.do(lambda tx: tx.jobs.set_exception(job.id, utc("2026-12-01T03:00"), None, due=None, actor="person"))
    assert len(rows(s, job)) == 1


# ── what does not change


def test_instants_intervals_and_other_zones_stay(s: UnderTest, old: Change) -> None:
    s.clock.time = LAST_RUN
    kept = [
        s.put(nine("once", schedule="2026-11-20T09:00:00-08:00")),
        s.put(nine("interval", schedule="every 90 minutes")),
        s.put(nine("hourly", schedule="0 * * * *")),
        s.put(nine("paris", timezone="Europe/Paris")),
        s.put(nine("spring", schedule="0 9 1 6 *")),
    ]
    naive = s.put(nine("naive", schedule="2026-11-20T09:00"))
    before = {job.slug: rows(s, job) for job in kept}
    old.upgrade()
    assert follow(s) == 1
    assert {job.slug: rows(s, job) for job in kept} == before
    assert planned(s, naive) == [utc("2026-11-20T16:00")]
    (once,) = s.rows("SELECT offset_s FROM occurrence WHERE job_id = ?", kept[0].id)
    assert once["offset_s"] == -7 * 3600, "what a clock shows at that instant is refreshed"


def test_rows_that_are_claimed_settled_or_due_are_not_touched(s: UnderTest, old: Change) -> None:
    claimed, due = nine("claimed"), nine("due")
    owner = begun(s, claimed)
    s.put(due)
    s.clock.time = utc("2026-11-01T17:00")
    s.claim(owner, limit=1)
    untouched = "SELECT * FROM occurrence WHERE state <> 'planned' OR due_at <= ? ORDER BY key"
    before = s.rows(untouched, us(s.clock.time))
    assert {row["state"] for row in before} == {"claimed", "planned", "settled"}
    old.upgrade()
    follow(s)
    assert s.rows(untouched, us(s.clock.time)) == before


def test_a_counted_job_keeps_its_count(s: UnderTest, old: Change) -> None:
    job = nine(repeat=2)
    owner = begun(s, job)
    old.upgrade()
    follow(s)
    assert ran_at(s, owner, "2026-11-01T16:00") == [utc("2026-11-01T16:00")]
    assert s.job(job)["completed_reason"] == "it ran 2 of 2 times"


def test_a_paused_job_follows_too(s: UnderTest, old: Change) -> None:
    job = nine()
    begun(s, job)
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None))
    old.upgrade()
    follow(s)
    assert planned(s, job) == [utc("2026-11-01T16:00")]


# ── once, in steps, each job for itself


def test_a_second_time_changes_nothing(s: UnderTest, old: Change) -> None:
    job = nine()
    begun(s, job)
    s.do(lambda tx: tx.jobs.set_exception(job.id, utc("2026-11-02T17:00"), "skip", due=None, actor="person"))
    old.upgrade()
    follow(s)
    before = s.everything()
    assert follow(s) == 0
    assert s.everything() == before


def test_it_goes_in_steps_and_a_crash_between_them_is_harmless(s: UnderTest, old: Change) -> None:
    s.clock.time = LAST_RUN
    jobs = [s.put(nine(f"nine{n}")) for n in range(5)]
    s.do(lambda tx: tx.zones.record(0))
    old.upgrade()
    last, changed = s.do(lambda tx: tx.zones.follow("", 2))
    assert changed == 2
    assert last == sorted(job.id for job in jobs)[1]
    assert [len(planned(s, job)) for job in jobs] == [1] * 5
    assert s.do(lambda tx: tx.zones.planned_with()) == "2025b", "it is not done"
    assert follow(s, limit=2) == 3
    assert {slot for job in jobs for slot in planned(s, job)} == {utc("2026-11-01T16:00")}
    assert s.do(lambda tx: tx.zones.planned_with()) == version()


def test_P9_a_damaged_job_harms_only_itself(s: UnderTest, old: Change) -> None:
    s.clock.time = LAST_RUN
    good, bad, worse = s.put(nine("good")), s.put(nine("bad")), s.put(nine("worse"))
    s.damage("UPDATE job SET schedule = 'gibberish' WHERE id = ?", bad.id)
    s.damage("UPDATE occurrence SET slot_at = 1 << 62, due_at = 1 << 62 WHERE job_id = ?", worse.id)
    old.upgrade()
    follow(s)
    assert planned(s, good) == [utc("2026-11-01T16:00")]
    assert [s.job(job)["state"] for job in (good, bad, worse)] == ["active", "quarantined", "quarantined"]
    before = s.everything()
    assert follow(s) == 0
    assert s.everything() == before


@pytest.mark.parametrize("old", [{"Pacific/Kiritimati": "Pacific/Honolulu"}], indirect=True)
def test_a_job_whose_last_slot_is_gone_is_completed(s: UnderTest, old: Change) -> None:
    """The clock is a day ahead now: the 13th is where the 12th ran."""
    job = nine(schedule="every day at 12:30 until 2026-10-13", timezone="Pacific/Kiritimati")
    s.clock.time = utc("2026-10-12T00:00")
    s.put(job)
    owner = s.sign_on()
    assert ran_at(s, owner, "2026-10-12T22:30") == [utc("2026-10-12T22:30")]
    s.do(lambda tx: tx.jobs.set_exception(job.id, utc("2026-10-13T22:30"), "skip", due=None, actor="person"))
    assert s.job(job)["cursor_at"] is None
    old.upgrade()
    follow(s)
    assert planned(s, job) == []
    assert s.job(job)["state"] == "completed"


# ── what is told


def test_the_journal_tells_the_change_and_each_slot(s: UnderTest, old: Change) -> None:
    job = nine()
    begun(s, job)
    s.put(nine("paris", timezone="Europe/Paris"))
    s.do(lambda tx: tx.zones.record(0))
    old.upgrade()
    follow(s)
    slot, house = s.journal("zone_data")
    assert (slot["job_id"], slot["key"]) == (job.id, slot_key(job.id, utc("2026-11-01T16:00")))
    assert json.loads(slot["detail"]) == {
        "was": "2026-11-01T09:00:00-08:00",
        "now": "2026-11-01T09:00:00-07:00",
        "was_key": slot_key(job.id, utc("2026-11-01T17:00")),
        "tzdata": version(),
    }
    assert json.loads(house["detail"]) == {"was": "2025b", "now": version(), "jobs": 1}
    (told,) = [item for item in s.reader().occurrences(job.id, slot_at=None, limit=9) if item["state"] == "planned"]
    assert [decision["what"] for decision in told["decisions"]] == ["zone_data"]


@pytest.mark.parametrize("limit", [1, 100])
def test_a_wall_time_whose_instant_is_taken_runs_where_it_was_planned(s: UnderTest, old: Change, limit: int) -> None:
    """At 17:00 UTC nine o'clock ran; by the new law that was ten, and ten has not run."""
    job = nine(schedule="every day at 9am and 10am")
    s.clock.time = utc("2026-11-01T12:00")
    s.put(job)
    owner = s.sign_on()
    assert ran_at(s, owner, "2026-11-01T17:00") == [utc("2026-11-01T17:00")]
    old.upgrade()
    for _ in range(2):
        assert follow(s, limit) == 0
        assert planned(s, job) == [utc("2026-11-01T18:00")]
    ran = ran_at(s, owner, "2026-11-01T18:00", "2026-11-02T16:00", "2026-11-02T17:00")
    assert ran == [utc("2026-11-01T18:00"), utc("2026-11-02T16:00"), utc("2026-11-02T17:00")]


def test_a_new_home_says_nothing(s: UnderTest) -> None:
    s.put(nine())
    assert follow(s) == 0
    assert s.journal("zone_data") == []
    assert s.reader().zone_data() == version()
