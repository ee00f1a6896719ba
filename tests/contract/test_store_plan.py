"""The plan of a job: the next slot is a row before it is due (P1); skips, moves, edits, pauses, repeats."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from horae.core.identity import slot_key
from horae.core.model import End, Job, Owner, Retries
from horae.errors import Refused
from horae.limits import MISSED_ROWS_MAX
from tests.support.builders import DAY, HOUR, MINUTE, a_job, addressed, an_ending, at
from tests.support.stores import SqliteUnderTest as UnderTest
from tests.support.stores import hhmm

HOURLY = "0 * * * *"


def tick(s: UnderTest, owner: Any, minute: str, **ending: Any) -> list[Any]:
    """At that time: claim, and carry everything out."""
    s.clock.time = at(minute)
    claims = s.claim(owner)
    for claim in claims:
        s.carry_out(claim, **ending)
    return claims


def exception(s: UnderTest, job: Any, slot: Any, kind: str | None, due: Any = None) -> int:
    return s.do(lambda tx: tx.jobs.set_exception(job.id, slot, kind, due=due, actor="person"))


# ── P1: the next row is there before it is due


def test_P1_the_next_slot_is_a_row_after_each_verb(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    assert s.planned(job) == ["08:01"], "created"
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    assert s.planned(job) == ["08:02"], "claimed"
    s.carry_out(claim)
    assert s.planned(job) == ["08:02"], "settled"
    exception(s, job, at("08:02"), "skip")
    assert s.planned(job) == ["08:02", "08:03"], "skipped"
    exception(s, job, at("08:03"), "move", at("09:00:30"))
    assert s.planned(job) == ["08:02", "08:03", "08:04"], "moved"
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason="rest"))
    tick(s, owner, "08:04")
    assert s.planned(job) == ["08:03", "08:05"], "settled while paused"
    s.do(lambda tx: tx.jobs.resume(job.id, actor="person"))
    assert s.planned(job) == ["08:03", "08:05"], "resumed"


def test_the_cursor_is_the_ordinary_planned_row(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    for minute in ("08:01", "08:02", "08:03"):
        tick(s, owner, minute)
        assert [hhmm(s.job(job)["cursor_at"])] == s.planned(job)


def test_upsert_of_the_same_definition_changes_nothing(s: UnderTest) -> None:
    job = s.put()
    before = s.everything()
    assert s.do(lambda tx: tx.jobs.upsert(job, signature="s", meaning="m", actor="test")) == "unchanged"
    assert s.everything() == before


# ── catch-up


def test_P1_after_a_downtime_the_latest_slot_runs_once_and_the_others_are_missed(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:05:30")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (at("08:05"), 4)
    assert claim.due == at("08:05")
    assert s.slots(job) == [
        ("08:01", "settled", "missed"),
        ("08:02", "settled", "missed"),
        ("08:03", "settled", "missed"),
        ("08:04", "settled", "missed"),
        ("08:05", "claimed", None),
        ("08:06", "planned", None),
    ]
    assert len(s.journal("missed")) == 4


@pytest.mark.parametrize("passed", [MISSED_ROWS_MAX, MISSED_ROWS_MAX + 1, MISSED_ROWS_MAX + 2, 1500])
def test_P1_many_missed_slots_are_one_span_that_counts_them_all(s: UnderTest, passed: int) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:00") + passed * MINUTE
    (claim,) = s.claim(owner)
    rows = s.rows("SELECT * FROM occurrence WHERE job_id = ? AND outcome = 'missed'", job.id)
    assert sum(row["span_count"] or 1 for row in rows) == passed - 1 == claim.missed
    if passed > MISSED_ROWS_MAX + 1:
        (row,) = rows
        assert (hhmm(row["slot_at"]), row["span_to"]) == ("08:01", (row["slot_at"] + (passed - 2) * 60_000_000))
        assert [entry["detail"] for entry in s.journal("missed")] == [
            '{"reason": "nothing was running to start it in time", "slots": ' + str(passed - 1) + "}"
        ]


def test_P1_a_paused_job_skips_all_that_passed(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason="rest"))
    s.clock.time = at("08:00") + timedelta(days=2)
    assert s.claim(owner) == []
    (row,) = s.rows("SELECT * FROM occurrence WHERE job_id = ? AND state = 'settled'", job.id)
    assert (row["outcome"], row["span_count"]) == ("skipped", 2 * 24 * 60)
    assert "rest" in row["reason"]
    assert "person" in row["reason"]
    assert len(s.planned(job)) == 1


def test_catch_up_passes_over_slots_that_a_person_decided_about(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    exception(s, job, at("08:02"), "skip")
    exception(s, job, at("08:04"), "move", at("10:00:30"))
    s.clock.time = at("08:05:30")
    (claim,) = s.claim(owner)
    assert s.slots(job) == [
        ("08:01", "settled", "missed"),
        ("08:02", "settled", "skipped"),
        ("08:03", "settled", "missed"),
        ("08:04", "planned", None),
        ("08:05", "claimed", None),
        ("08:06", "planned", None),
    ]
    assert claim.missed == 2


# ── overlap, manual runs


def test_a_slot_that_comes_due_during_a_run_is_skipped(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.clock.time = at("08:02")
    assert s.claim(owner) == []
    assert s.slots(job, "reason")[1] == ("08:02", "settled", "skipped", "the previous run was still going")
    assert s.planned(job) == ["08:03"]


def test_U11_a_manual_run_uses_up_no_slot_and_postpones_none(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:00:40")
    ordered = s.do(lambda tx: tx.jobs.order_run(job.id, run_id="f" * 16, actor="person", input="hello"))
    (manual,) = s.claim(owner)
    assert (manual.run_id, manual.key, manual.trigger, manual.input) == ("f" * 16, ordered["key"], "manual", "hello")
    assert s.planned(job) == ["08:01"]
    s.do(lambda tx: tx.runs.start(manual))
    s.clock.time = at("08:01")
    assert s.claim(owner) == [], "the slot waits"
    assert s.planned(job) == ["08:01"]
    s.clock.time = at("08:01:20")
    s.do(lambda tx: tx.runs.finish(manual, an_ending(), addressed(manual)))
    s.do(lambda tx: tx.runs.settle(manual))
    (claim,) = s.claim(owner)
    assert (claim.trigger, claim.slot) == ("schedule", at("08:01"))


def test_a_manual_run_waits_for_a_scheduled_one(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="f" * 16, actor="person", input=None))
    assert s.claim(owner) == []
    s.carry_out(claim)
    assert [found.run_id for found in s.claim(owner)] == ["f" * 16]


def test_a_paused_job_can_be_run_by_hand(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None))
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="f" * 16, actor="person", input=None))
    assert [claim.trigger for claim in s.claim(owner)] == ["manual"]


# ── pausing, quarantine, removal


def test_resume_lets_slots_run_from_the_next_one_on(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None))
    tick(s, owner, "08:01")
    s.do(lambda tx: tx.jobs.resume(job.id, actor="person"))
    assert s.do(lambda tx: tx.jobs.resume(job.id, actor="person")) is None
    (claim,) = tick(s, owner, "08:02")
    assert (claim.slot, claim.missed) == (at("08:02"), 0)


def test_P9_a_broken_file_blocks_its_own_slots_only(s: UnderTest) -> None:
    bad, good, owner = s.put(slug="bad"), s.put(slug="good"), s.sign_on()
    problem = {"message": "line 3: no such key", "code": "invalid"}
    s.do(lambda tx: tx.jobs.quarantine("bad", problem, signature="s2", actor="jobs folder"))
    assert [claim.job_id for claim in tick(s, owner, "08:01")] == [good.id]
    assert s.slots(bad, "reason")[0] == ("08:01", "settled", "blocked", "the job's file is broken: line 3: no such key")
    assert s.planned(bad) == ["08:02"]
    s.put(bad)
    assert s.job(bad)["state"] == "active"
    assert {claim.job_id for claim in tick(s, owner, "08:02")} == {good.id, bad.id}


NO_DEFINITION = ["'[]'", "'null'", "'3'", "'\"x\"'", "'{}'", "'{\"id\": 1}'", "'not json'", "hex(zeroblob(9))"]
NO_INSTANT = [2**62, -(2**62), 2**63 - 1]
DAMAGE = [
    *(f"definition = {text}" for text in NO_DEFINITION),
    *(f"{name} = {value}" for name in ("anchor_at", "paused_at", "cursor_at") for value in NO_INSTANT),
    "schedule = 'when the moon is full'",
    "schedule = ''",
    "timezone = 'Mars/Phobos'",
]


@pytest.mark.parametrize("damage", [*DAMAGE, "problem = 'not json'", "problem = '[]'", "problem = '{}'"])
def test_P9_a_damaged_row_harms_only_itself(s: UnderTest, damage: str) -> None:
    bad, good, owner = s.put(slug="bad"), s.put(slug="good"), s.sign_on()
    s.damage(f"UPDATE job SET {damage} WHERE slug = 'bad'")
    assert [claim.job_id for claim in tick(s, owner, "08:01")] == [good.id]
    assert s.slots(bad)[0][:3] == ("08:01", "settled", "blocked")
    assert [claim.job_id for claim in tick(s, owner, "08:02")] == [good.id]
    assert s.job(bad)["state"] == "quarantined"
    assert s.planned(bad) == []
    s.put(bad)
    assert s.job(bad)["problem"] is None
    assert s.planned(bad) == ["08:02"]  # it came due meanwhile, and is answered as after a downtime
    paused = "paused_at" in damage
    assert {claim.job_id for claim in tick(s, owner, "08:03")} == {good.id} | (set() if paused else {bad.id})
    met = {slot[0]: slot[2] for slot in s.slots(bad)}
    assert met["08:02"] == ("skipped" if paused else "missed")
    s.do(lambda tx: tx.jobs.resume(bad.id, actor="person"))
    assert {claim.job_id for claim in tick(s, owner, "08:04")} == {good.id, bad.id}


def aside(s: UnderTest, **given: Any) -> tuple[Job, Owner]:
    """A job that was found damaged at 08:01, its first slot."""
    bad, owner = s.put(slug="bad", **given), s.sign_on()
    s.damage("UPDATE job SET definition = '{}' WHERE slug = 'bad'")
    tick(s, owner, "08:01")
    return bad, owner


def answered(s: UnderTest, job: Job) -> dict[str, str]:
    """Each slot's outcome; of a span each that it stands for."""
    found: dict[str, str] = {}
    for slot, _, outcome, count in s.slots(job, "span_count"):
        first = at(slot)
        for n in range(count or 1):
            minute = f"{first + n * MINUTE:%H:%M}"
            assert minute not in found, f"{minute} has two outcomes"
            found[minute] = outcome or "open"
    return found


def minutes(first: int, last: int) -> list[str]:
    return [f"08:{minute:02}" for minute in range(first, last + 1)]


def test_P1_what_a_person_decided_about_a_slot_hides_none_before_it(s: UnderTest) -> None:
    bad, owner = s.put(slug="bad"), s.sign_on()
    exception(s, bad, at("08:20"), "skip")
    exception(s, bad, at("08:25"), "move", at("08:00:30"))
    assert len(tick(s, owner, "08:00:30")) == 1
    s.damage("UPDATE job SET definition = '{}' WHERE slug = 'bad'")
    for minute in ("08:01", "08:20", "08:30"):
        tick(s, owner, minute)
    s.put(bad)
    tick(s, owner, "08:31")
    assert list(answered(s, bad)) == minutes(1, 32)


def test_P1_what_was_not_due_when_its_job_was_found_damaged_has_its_turn(s: UnderTest) -> None:
    bad, owner = s.put(slug="bad", schedule=HOURLY), s.sign_on()
    exception(s, bad, at("10:00"), "move", at("08:10"))
    s.damage("UPDATE job SET definition = '{}' WHERE slug = 'bad'")
    assert tick(s, owner, "08:10") == []
    s.put(bad)
    assert s.planned(bad) == ["09:00"]
    assert len(tick(s, owner, "09:00")) == 1
    assert s.planned(bad) == ["11:00"], "10:00 was moved, and blocked"


@pytest.mark.parametrize("how", ["edited", "removed", "its digest too"])
def test_P1_what_passed_while_a_job_was_set_aside_is_void_when_its_schedule_goes(s: UnderTest, how: str) -> None:
    bad, owner = aside(s)
    tick(s, owner, "08:30")
    if how == "removed":
        s.do(lambda tx: tx.jobs.remove(bad.id, actor="person", reason="gone"))
    elif how == "edited":
        s.put(a_job("bad", schedule=HOURLY))
    else:
        s.damage("UPDATE job SET cadence = 'zz' WHERE slug = 'bad'")
        s.put(bad)
    found = answered(s, bad)
    assert [found.pop(minute) for minute in minutes(1, 30)] == ["blocked", *["void"] * 29]
    assert set(found.values()) <= {"open"}


def test_P1_what_passed_in_a_pause_of_a_job_that_was_set_aside_is_skipped(s: UnderTest) -> None:
    bad, owner = aside(s, catch_up="all")
    s.do(lambda tx: tx.jobs.pause(bad.id, actor="anna", reason=None))
    tick(s, owner, "08:20")
    s.do(lambda tx: tx.jobs.resume(bad.id, actor="anna"))
    tick(s, owner, "08:30")
    s.put(bad)
    assert [claim.slot for claim in tick(s, owner, "08:30:30")] == [at("08:21")], "the first one after the pause"
    found = answered(s, bad)
    assert [found[minute] for minute in minutes(1, 20)] == ["blocked", *["skipped"] * 19]


def test_a_one_shot_that_was_found_damaged_is_completed_once_it_is_mended(s: UnderTest) -> None:
    bad, owner = aside(s, schedule="2026-03-02T08:01:00+00:00")
    tick(s, owner, "08:02")
    s.put(bad)
    assert (s.job(bad)["state"], s.slots(bad)[0][2]) == ("completed", "blocked")


def test_an_unreadable_instant_of_the_cadence_is_mended_too(s: UnderTest) -> None:
    bad, owner = aside(s)
    s.damage("UPDATE job SET cadence_at = 4611686018427387904, aside_at = 4611686018427387904 WHERE slug = 'bad'")
    s.put(bad)
    assert s.job(bad)["problem"] is None
    assert len(tick(s, owner, "08:03")) == 1


def test_P1_slots_of_a_damaged_row_are_answered_even_if_its_file_was_broken_too(s: UnderTest) -> None:
    bad, owner = s.put(slug="bad"), s.sign_on()
    s.damage("UPDATE job SET definition = '{}' WHERE slug = 'bad'")
    tick(s, owner, "08:01")
    problem = {"message": "line 3: no such key", "code": "invalid"}
    s.do(lambda tx: tx.jobs.quarantine("bad", problem, signature="s2", actor="jobs folder"))
    assert tick(s, owner, "08:30") == []
    s.put(bad)
    assert [claim.missed for claim in tick(s, owner, "08:31")] == [29]
    assert [slot for slot, *_ in s.slots(bad)] == [f"08:{minute:02}" for minute in range(1, 33)]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("schedule", [HOURLY, "every 1 hour"], ids=["the same cadence", "another"])
def test_P9_reading_the_file_of_a_damaged_row_mends_it_before_it_comes_due(
    s: UnderTest, damage: str, schedule: str
) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    s.damage(f"UPDATE job SET {damage}")
    s.put(a_job(schedule=schedule))
    assert s.planned(job) == ["09:00"]
    s.do(lambda tx: tx.jobs.resume(job.id, actor="person"))
    assert [len(tick(s, owner, minute)) for minute in ("09:00", "10:00", "11:00")] == [1, 1, 1]
    assert [state for _, _, state in s.slots(job)] == ["ran", "ran", "ran", None]


@pytest.mark.parametrize("damage", DAMAGE)
def test_P9_a_damaged_row_keeps_nobody_from_ending_its_run_or_removing_it(s: UnderTest, damage: str) -> None:
    job, owner = s.put(repeat=1), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.damage(f"UPDATE job SET {damage}")
    successor = s.sign_on("g2")
    adopted = s.adopt(claim, successor)
    s.do(lambda tx: tx.runs.finish(adopted, an_ending("lose", "unknown"), addressed(adopted)))
    s.do(lambda tx: tx.runs.settle(adopted))
    s.do(lambda tx: tx.jobs.resume(job.id, actor="person"))
    s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))
    assert s.slots(job) == [("08:01", "settled", "ran")]


@pytest.mark.parametrize("text", NO_DEFINITION)
def test_P9_an_orphan_whose_definition_is_damaged_does_not_keep_the_gateway_from_starting(
    s: UnderTest, text: str
) -> None:
    bad, owner = s.put(slug="bad"), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.damage(f"UPDATE job SET definition = {text}")
    adopted = s.adopt(claim, s.sign_on("g2"))
    assert (adopted.job_id, adopted.job.name) == (bad.id, "Bad")
    s.do(lambda tx: tx.runs.finish(adopted, an_ending("lose", "unknown"), addressed(adopted)))
    s.do(lambda tx: tx.runs.settle(adopted))
    assert s.rows("SELECT target FROM delivery") == [{"target": "local"}]


def test_removal_voids_what_was_due_and_forgets_what_was_not(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01:30")
    s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))
    assert s.slots(job) == [("08:01", "settled", "void")]
    assert tick(s, owner, "08:10") == []
    assert s.slots(job) == [("08:01", "settled", "void")]


def test_a_manual_run_of_a_removed_job_is_void(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    ordered = s.do(lambda tx: tx.jobs.order_run(job.id, run_id="f" * 16, actor="person", input=None))
    s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))
    assert s.claim(owner) == []
    assert s.occurrence(ordered["key"])["outcome"] == "void"


def test_a_removed_job_comes_back_with_its_history(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    tick(s, owner, "08:01")
    s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))
    s.clock.time = at("08:05:30")
    assert s.do(lambda tx: tx.jobs.upsert(job, signature="s", meaning="m", actor="test")) == "restored"
    assert s.slots(job) == [("08:01", "settled", "ran"), ("08:06", "planned", None)]


# ── completion


def test_a_one_shot_completes_when_it_has_run(s: UnderTest) -> None:
    job, owner = s.put(schedule="2026-03-02T08:10:00+00:00"), s.sign_on()
    tick(s, owner, "08:10")
    row = s.job(job)
    assert (row["state"], row["completed_reason"]) == ("completed", "it was to run once")
    assert s.planned(job) == []
    assert tick(s, owner, "09:00") == []


def test_a_skipped_one_shot_completes_when_it_comes_due_and_can_be_undone_until_then(s: UnderTest) -> None:
    job, owner = s.put(schedule="2026-03-02T08:10:00+00:00"), s.sign_on()
    exception(s, job, at("08:10"), "skip")
    assert s.job(job)["state"] == "active"
    exception(s, job, at("08:10"), None)
    exception(s, job, at("08:10"), "skip")
    assert tick(s, owner, "08:10") == []
    assert s.slots(job) == [("08:10", "settled", "skipped")]
    assert s.job(job)["state"] == "completed"


def test_a_job_with_repeat_runs_so_many_times(s: UnderTest) -> None:
    job, owner = s.put(repeat=3), s.sign_on()
    ran = [bool(tick(s, owner, f"08:{minute:02}")) for minute in range(1, 7)]
    assert ran == [True, True, True, False, False, False]
    assert (s.job(job)["state"], s.job(job)["completed_reason"]) == ("completed", "it ran 3 of 3 times")
    assert [state for _, state, _ in s.slots(job)] == ["settled"] * 3


def test_skipped_slots_and_manual_runs_do_not_count_for_repeat(s: UnderTest) -> None:
    job, owner = s.put(repeat=2), s.sign_on()
    exception(s, job, at("08:01"), "skip")
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="f" * 16, actor="person", input=None))
    tick(s, owner, "08:00:30")
    ran = [len(tick(s, owner, f"08:{minute:02}")) for minute in range(1, 6)]
    assert ran == [0, 1, 1, 0, 0]
    assert s.job(job)["state"] == "completed"


def test_a_moved_slot_counts_for_repeat(s: UnderTest) -> None:
    """The moved slot is one of the N: no further one is planned in its place."""
    job, owner = s.put(repeat=1), s.sign_on()
    exception(s, job, at("08:01"), "move", at("08:03:30"))
    ran = [len(tick(s, owner, minute)) for minute in ("08:01", "08:02", "08:03", "08:03:30", "08:04", "08:05")]
    assert ran == [0, 0, 0, 1, 0, 0]
    assert s.job(job)["completed_reason"] == "it ran 1 of 1 times"


def test_skipping_the_run_that_repeat_was_kept_for_frees_it_for_another_slot(s: UnderTest) -> None:
    job, owner = s.put(repeat=2), s.sign_on()
    exception(s, job, at("08:02"), "move", at("08:10"))
    assert len(tick(s, owner, "08:01")) == 1
    exception(s, job, at("08:02"), "skip")
    assert [len(tick(s, owner, f"08:{minute:02}")) for minute in (2, 3, 4, 10)] == [0, 1, 0, 0]
    assert s.job(job)["completed_reason"] == "it ran 2 of 2 times"


def test_undoing_a_skip_does_not_make_a_job_run_more_often_than_it_may(s: UnderTest) -> None:
    job, owner = s.put(repeat=1), s.sign_on()
    exception(s, job, at("08:01"), "skip")
    exception(s, job, at("08:01"), None)
    ran = [len(tick(s, owner, f"08:{minute:02}")) for minute in range(1, 5)]
    assert ran == [1, 0, 0, 0]
    assert (s.job(job)["state"], s.job(job)["completed_reason"]) == ("completed", "it ran 1 of 1 times")


def test_a_released_last_run_runs_again(s: UnderTest) -> None:
    job, owner = s.put(repeat=1), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.release(claim, "why"))
    assert s.job(job)["state"] == "active"
    assert len(tick(s, owner, "08:01:10")) == 1
    assert s.job(job)["completed_reason"] == "it ran 1 of 1 times"
    assert tick(s, owner, "08:02") == []


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize("later", [0, 1], ids=["at once", "a while later"])
def test_a_run_that_was_claimed_before_the_cadence_changed_does_not_count(
    s: UnderTest, repeat: int, later: int
) -> None:
    job, owner = s.put(schedule=HOURLY, repeat=repeat), s.sign_on()
    s.clock.time = at("09:00")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.clock.time += later * MINUTE
    s.put(a_job(schedule="30 * * * *", repeat=repeat))
    assert s.planned(job) == ["09:30"]
    s.clock.time = at("09:05")
    s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim)))
    s.do(lambda tx: tx.runs.settle(claim))
    assert (s.job(job)["state"], s.job(job)["counted"]) == ("active", 0)
    ran = [len(tick(s, owner, f"{hour}:30")) for hour in ("09", "10", "11")]
    assert ran == [1, repeat - 1, 0]
    assert s.job(job)["completed_reason"] == f"it ran {repeat} of {repeat} times"


def test_O13_a_run_that_was_released_after_the_cadence_changed_does_not_count(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY, repeat=1), s.sign_on()
    s.clock.time = at("09:00")
    (claim,) = s.claim(owner)
    s.clock.time = at("09:01")
    s.put(a_job(schedule="30 * * * *", repeat=1))
    s.do(lambda tx: tx.runs.release(claim, "why"))
    assert tick(s, owner, "09:02") == []
    assert s.slots(job, "reason")[0] == ("09:00", "settled", "void", "the schedule was changed")
    assert s.planned(job) == ["09:30"]
    assert [len(tick(s, owner, minute)) for minute in ("09:30", "10:30")] == [1, 0]


def test_O13_what_the_new_cadence_has_too_is_due_again(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    s.clock.time = at("09:00")
    (claim,) = s.claim(owner)
    s.clock.time = at("09:01")
    s.put(a_job(schedule="0,30 * * * *"))
    s.do(lambda tx: tx.runs.release(claim, "why"))
    assert [again.slot for again in tick(s, owner, "09:02")] == [at("09:00")]
    assert s.slots(job)[0] == ("09:00", "settled", "ran")


def test_O13_a_failure_is_not_tried_again_by_a_schedule_that_its_slot_is_not_of(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY, retries=Retries(max=2, backoff_s=60.0)), s.sign_on()
    s.clock.time = at("09:00")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.clock.time = at("09:01")
    s.put(a_job(schedule="30 * * * *", retries=Retries(max=2, backoff_s=60.0)))
    s.do(lambda tx: tx.runs.conclude_all([End(claim, an_ending("fail"), addressed(claim, "local"), retry_s=60.0)]))
    ended = s.slots(job, "reason")[0]
    assert ended[:3] == ("09:00", "settled", "ran")
    assert ended[3].endswith("; not tried again: the schedule was changed")
    assert [row["state"] for row in s.rows("SELECT state FROM delivery")] == ["delivered"], "it is told now"


def test_a_moved_slot_that_the_new_cadence_keeps_counts_for_it(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY, repeat=1), s.sign_on()
    exception(s, job, at("09:00"), "move", at("09:20"))
    s.clock.time = at("08:30")
    s.put(a_job(schedule="0,30 * * * *", repeat=1))
    assert [len(tick(s, owner, minute)) for minute in ("09:00", "09:20", "09:30")] == [0, 1, 0]
    assert s.job(job)["completed_reason"] == "it ran 1 of 1 times"


def test_O13_an_edit_of_anything_else_leaves_the_live_run_counted(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY, repeat=1), s.sign_on()
    s.clock.time = at("09:00")
    (claim,) = s.claim(owner)
    s.clock.time = at("09:01")
    s.put(a_job(schedule=HOURLY, repeat=1, name="Another"))
    s.carry_out(claim)
    assert s.job(job)["completed_reason"] == "it ran 1 of 1 times"


# ── edits


def test_an_edit_of_the_cadence_revives_a_completed_job(s: UnderTest) -> None:
    job, owner = s.put(schedule="2026-03-02T08:10:00+00:00"), s.sign_on()
    tick(s, owner, "08:10")
    edited = a_job(schedule=HOURLY)
    assert s.do(lambda tx: tx.jobs.upsert(edited, signature="s", meaning="m", actor="test")) == "revived"
    assert s.job(job)["state"] == "active"
    assert s.planned(job) == ["09:00"]


def test_another_edit_of_a_completed_job_leaves_it_completed(s: UnderTest) -> None:
    job, owner = s.put(schedule="2026-03-02T08:10:00+00:00"), s.sign_on()
    tick(s, owner, "08:10")
    edited = a_job(schedule=job.schedule, name="Another")
    assert s.do(lambda tx: tx.jobs.upsert(edited, signature="s", meaning="m", actor="test")) == "changed"
    assert s.job(job)["state"] == "completed"


def test_an_edit_that_does_not_touch_the_cadence_keeps_a_due_slot_due(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01:20")
    s.put(a_job(name="Another", script="new.sh"))
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.job.script) == (at("08:01"), "new.sh")
    assert s.planned(job) == ["08:02"]


def test_an_edit_of_the_cadence_voids_what_is_due_and_keeps_exceptions_that_still_fit(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    exception(s, job, at("08:02"), "skip")
    exception(s, job, at("09:00"), "skip")
    exception(s, job, at("10:00"), "move", at("10:20:00"))
    s.clock.time = at("08:01:20")
    s.put(a_job(schedule=HOURLY))
    assert s.slots(job, "exception") == [
        ("08:01", "settled", "void", None),
        ("09:00", "planned", None, "skip"),
        ("10:00", "planned", None, "move"),
        ("11:00", "planned", None, None),
    ]
    assert tick(s, owner, "09:00") == []
    assert len(tick(s, owner, "10:20")) == 1


def spans(s: UnderTest, job: Any) -> list[tuple[Any, ...]]:
    """(first, last, count, outcome) of the settled rows."""
    return [
        (slot, hhmm(to) if to else slot, count or 1, outcome)
        for slot, state, outcome, to, count in s.slots(job, "span_to", "span_count")
        if state == "settled"
    ]


@pytest.mark.parametrize("change", ["another schedule", "disabled", "another zone", "removed"])
@pytest.mark.parametrize("schedule", [HOURLY, "every 1 hour"])
def test_P1_slots_that_passed_unseen_before_an_edit_or_a_removal_are_void(
    s: UnderTest, schedule: str, change: str
) -> None:
    job = s.put(schedule=schedule)
    s.clock.time = at("13:30")
    if change == "removed":
        s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))
    else:
        edits = {
            "another schedule": a_job(schedule="30 * * * *"),
            "disabled": a_job(schedule=schedule, enabled=False),
            "another zone": a_job(schedule=schedule, timezone="Asia/Tokyo"),
        }
        s.put(edits[change])
    assert spans(s, job) == [("09:00", "13:00", 5, "void")]
    assert len(s.planned(job)) == (change != "removed")
    (entry,) = s.journal("void")
    assert '"slots": 5' in entry["detail"]


def test_P1_what_is_void_after_an_edit_leaves_out_slots_that_a_person_decided_about(s: UnderTest) -> None:
    job = s.put()
    exception(s, job, at("08:02"), "skip")
    exception(s, job, at("08:04"), "move", at("10:00:30"))
    exception(s, job, at("09:00"), "move", at("10:00:30"))
    s.clock.time = at("09:30:30")
    s.put(a_job(schedule=HOURLY))
    assert spans(s, job) == [
        ("08:01", "09:30", 87, "void"),
        ("08:02", "08:02", 1, "void"),
        ("08:04", "08:04", 1, "void"),
    ]
    assert s.planned(job) == ["09:00", "10:00"]


def test_P1_many_slots_that_passed_before_an_edit_are_counted(s: UnderTest) -> None:
    job = s.put()
    s.clock.time = at("08:00:30") + 3 * DAY
    s.put(a_job(schedule=HOURLY))
    (row,) = s.rows("SELECT * FROM occurrence WHERE outcome = 'void'")
    assert row["span_count"] == 3 * 24 * 60
    assert row["span_to"] == row["slot_at"] + (3 * 24 * 60 - 1) * 60_000_000
    assert s.planned(job) == ["09:00"]


# ── skips and moves


def test_a_moved_slot_keeps_its_key_and_runs_once(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("11:30"))
    key = slot_key(job.id, at("09:00"))
    seen = [(minute, claim.key, claim.slot, claim.due) for minute in ("09:00", "10:00", "11:00", "11:30", "12:00")
            for claim in tick(s, owner, minute)]  # fmt: skip
    assert [minute for minute, *_ in seen] == ["10:00", "11:00", "11:30", "12:00"]
    assert seen[2][1:] == (key, at("09:00"), at("11:30"))
    assert len({key for _, key, *_ in seen}) == 4
    assert s.occurrence(key)["outcome"] == "ran"


def test_a_slot_can_be_moved_to_an_earlier_instant(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("10:00"), "move", at("08:30"))
    (claim,) = tick(s, owner, "08:30")
    assert claim.slot == at("10:00")
    ran = [claim.slot for minute in ("09:00", "10:00", "11:00") for claim in tick(s, owner, minute)]
    assert ran == [at("09:00"), at("11:00")]


def test_a_far_slot_can_be_skipped_and_the_skip_taken_back(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    exception(s, job, at("08:03"), "skip")
    assert s.planned(job) == ["08:01", "08:03"]
    exception(s, job, at("08:03"), None)
    ran = [len(tick(s, owner, f"08:{minute:02}")) for minute in range(1, 6)]
    assert ran == [1, 1, 1, 1, 1]


def test_a_moved_slot_can_be_put_back(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("11:30"))
    exception(s, job, at("09:00"), None)
    assert [len(tick(s, owner, minute)) for minute in ("09:00", "10:00", "11:00", "11:30")] == [1, 1, 1, 0]


@pytest.mark.parametrize("kind", ["skip", "move"])
def test_what_has_run_or_runs_cannot_be_changed(s: UnderTest, kind: str) -> None:
    job, owner = s.put(), s.sign_on()
    tick(s, owner, "08:01")
    s.clock.time = at("08:02")
    s.claim(owner)
    for minute in ("08:01", "08:02"):
        with pytest.raises(Refused):
            exception(s, job, at(minute), kind, at("09:00"))


@pytest.mark.parametrize("kind", ["skip", "move"])
@pytest.mark.parametrize("slot", ["07:30", "08:30"], ids=["before the job was made", "inside a span of missed slots"])
def test_a_passed_slot_that_is_accounted_for_elsewhere_cannot_be_brought_back(
    s: UnderTest, slot: str, kind: str
) -> None:
    job, owner = s.put(schedule="* * * * *"), s.sign_on()
    s.clock.time = at("11:00:30")
    (claim,) = s.claim(owner)
    s.carry_out(claim)
    before = s.everything()
    with pytest.raises(Refused):
        exception(s, job, at(slot), kind, at("12:00:30"))
    assert s.everything() == before


def test_P1_resume_after_a_pause_that_nobody_watched_runs_nothing_of_it(s: UnderTest) -> None:
    """Paused, gateway off for an hour, resumed: the slots of that hour were skipped, whoever looks first."""
    job, owner = s.put(), s.sign_on()
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason="rest"))
    s.clock.time = at("09:00:30")
    s.do(lambda tx: tx.jobs.resume(job.id, actor="person"))
    assert s.claim(owner) == []
    row, following = s.rows("SELECT * FROM occurrence ORDER BY slot_at")
    assert (row["outcome"], hhmm(row["slot_at"]), hhmm(row["span_to"]), row["span_count"]) == (
        "skipped",
        "08:01",
        "09:00",
        60,
    )
    assert (following["state"], hhmm(following["slot_at"])) == ("planned", "09:01")
    assert [claim.missed for claim in tick(s, owner, "09:01")] == [0]


# ── clock steps, seen from the store


def test_P2_a_clock_that_goes_back_fires_nothing_again(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    for minute in ("08:01", "08:02", "08:03"):
        assert len(tick(s, owner, minute)) == 1
    for minute in ("07:03", "07:30", "08:01", "08:03", "08:03:59"):
        assert tick(s, owner, minute) == []
    assert len(tick(s, owner, "08:04")) == 1
    assert s.planned(job) == ["08:05"]


def test_a_clock_that_goes_forward_a_day_is_a_downtime_of_a_day(s: UnderTest) -> None:
    s.put()
    owner = s.sign_on()
    tick(s, owner, "08:01")
    s.clock.time = at("08:01") + DAY
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (at("08:01", 3), 24 * 60 - 1)


def test_next_due_is_the_earliest_row(s: UnderTest) -> None:
    s.put(slug="a", schedule=HOURLY)
    s.put(slug="b")
    assert s.do(lambda tx: tx.runs.next_due()) == at("08:01")
    s.clock.time = at("08:00") + HOUR / 2


def test_a_store_without_jobs_has_nothing_due(s: UnderTest) -> None:
    assert s.do(lambda tx: tx.runs.next_due()) is None
    assert s.claim(s.sign_on()) == []


def test_resume_of_a_one_shot_that_passed_in_the_pause_completes_it(s: UnderTest) -> None:
    job, owner = s.put(schedule="2026-03-02T08:10:00+00:00"), s.sign_on()
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None))
    s.clock.time = at("09:00")
    s.do(lambda tx: tx.jobs.resume(job.id, actor="person"))
    assert s.slots(job) == [("08:10", "settled", "skipped")]
    assert s.job(job)["state"] == "completed"
    assert s.claim(owner) == []


def test_resume_keeps_a_slot_that_was_moved_past_now(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("12:30"))
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None))
    s.clock.time = at("11:10")
    s.do(lambda tx: tx.jobs.resume(job.id, actor="person"))
    assert s.planned(job) == ["09:00", "12:00"]
    (row,) = s.rows("SELECT * FROM occurrence WHERE outcome = 'skipped'")
    assert (hhmm(row["slot_at"]), row["span_count"]) == ("10:00", 2)
    assert len(tick(s, owner, "12:00")) == len(tick(s, owner, "12:30")) == 1


# ── several slots of one job are due at once: the latest runs, the others were missed


NOTHING_RAN = "nothing was running to start it in time"


def ends(s: UnderTest, job: Any) -> list[tuple[Any, ...]]:
    assert {row["reason"] for row in s.rows("SELECT reason FROM occurrence WHERE outcome = 'missed'")} <= {NOTHING_RAN}
    return [(slot, outcome or state) for slot, state, outcome in s.slots(job)]


MISSED_THEN_RUN = [
    *((f"{hour:02}:00", "missed") for hour in range(9, 13)),
    ("13:00", "claimed"),
    ("14:00", "planned"),
]


def test_P1_a_moved_slot_and_the_latest_after_a_downtime(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("10:00"))
    s.clock.time = at("13:30")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (at("13:00"), 4)
    assert ends(s, job) == MISSED_THEN_RUN


def test_P1_a_moved_slot_counts_by_the_instant_it_is_due(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("13:20"))
    s.clock.time = at("13:30")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.due, claim.missed) == (at("09:00"), at("13:20"), 4)
    assert ends(s, job) == [
        ("09:00", "claimed"),
        *((f"{hour}:00", "missed") for hour in range(10, 14)),
        ("14:00", "planned"),
    ]


def test_P1_a_slot_moved_to_an_earlier_instant_and_the_latest_after_a_downtime(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("15:00"), "move", at("08:30"))
    s.clock.time = at("10:30")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (at("10:00"), 2)
    assert ends(s, job) == [("09:00", "missed"), ("10:00", "claimed"), ("11:00", "planned"), ("15:00", "missed")]


def test_P1_a_slot_moved_onto_the_next_one(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("10:00"))
    (claim,) = tick(s, owner, "10:00")
    assert (claim.slot, claim.missed) == (at("10:00"), 1)
    assert ends(s, job) == [("09:00", "missed"), ("10:00", "ran"), ("11:00", "planned")]


@pytest.mark.parametrize("slot", ["09:00", "11:00", "13:00"])
def test_P1_an_undone_skip_and_the_latest_after_a_downtime(s: UnderTest, slot: str) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at(slot), "skip")
    exception(s, job, at(slot), None)
    s.clock.time = at("13:30")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (at("13:00"), 4)
    assert ends(s, job) == MISSED_THEN_RUN


def test_P1_a_released_claim_and_the_latest_after_a_downtime(s: UnderTest) -> None:
    """The released run stood for a missed slot; the one that runs in its place stands for that one too."""
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    s.clock.time = at("10:00")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.release(claim, "the gateway is stopping"))
    s.clock.time = at("13:30")
    (claim,) = s.claim(s.sign_on("g2"))
    assert (claim.slot, claim.missed) == (at("13:00"), 4)
    assert ends(s, job) == MISSED_THEN_RUN
    s.carry_out(claim)
    assert len(tick(s, owner, "14:00")) == 1


def test_P4_what_a_person_skipped_is_no_rival(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("10:10"))
    exception(s, job, at("11:00"), "skip")
    s.clock.time = at("11:30")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.due, claim.missed) == (at("09:00"), at("10:10"), 1)
    assert ends(s, job) == [("09:00", "claimed"), ("10:00", "missed"), ("11:00", "skipped"), ("12:00", "planned")]


def test_P4_slots_that_come_due_during_a_run_are_skipped_and_not_missed(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("10:00"), "move", at("11:10"))
    s.clock.time = at("09:00")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.clock.time = at("12:30")
    assert s.claim(owner) == []
    assert {row["reason"] for row in s.rows("SELECT reason FROM occurrence WHERE state = 'settled'")} == {
        "the previous run was still going"
    }
    assert [outcome for _, outcome in ends(s, job)] == ["claimed", "skipped", "skipped", "skipped", "planned"]


@pytest.mark.parametrize("missed", [2 * MISSED_ROWS_MAX, 3])
def test_P1_a_long_downtime_with_a_moved_slot_counts_all_of_it(s: UnderTest, missed: int) -> None:
    job, owner = s.put(), s.sign_on()
    exception(s, job, at("08:01"), "move", at("08:02:30"))
    s.clock.time = at("08:01:10") + missed * MINUTE
    (claim,) = s.claim(owner)
    assert claim.missed == missed
    rows = s.rows("SELECT span_count FROM occurrence WHERE job_id = ? AND outcome = 'missed'", job.id)
    assert sum(row["span_count"] or 1 for row in rows) == missed


def test_a_manual_run_is_no_rival_of_slots(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    exception(s, job, at("09:00"), "move", at("09:30"))
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="f" * 16, actor="person", input=None))
    s.clock.time = at("10:30")
    (manual,) = s.claim(owner)
    assert manual.trigger == "manual"
    s.carry_out(manual)
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (at("10:00"), 1)


def test_P1_rivals_of_a_counted_job_are_missed_and_one_runs(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY, repeat=2), s.sign_on()
    exception(s, job, at("09:00"), "move", at("09:30"))
    assert len(tick(s, owner, "13:30")) == 1
    assert s.job(job)["state"] == "active"
    assert [len(tick(s, owner, minute)) for minute in ("14:00", "15:00")] == [1, 0]
    assert s.job(job)["completed_reason"] == "it ran 2 of 2 times"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_P1_rivals_run_once_whatever_the_batch(s: UnderTest, limit: int) -> None:
    jobs, owner = [s.put(slug=slug, schedule=HOURLY) for slug in ("a", "b", "c")], s.sign_on()
    for job in jobs:
        exception(s, job, at("09:00"), "move", at("09:30"))
    s.clock.time = at("12:30")
    claims = [claim for _ in range(4) for claim in s.claim(owner, limit)]
    assert sorted((claim.slot, claim.missed) for claim in claims) == [(at("12:00"), 3)] * 3
    for job in jobs:
        assert [outcome for _, outcome in ends(s, job)] == ["missed"] * 3 + ["claimed", "planned"]


def test_P9_rivals_of_a_damaged_job_are_blocked_together(s: UnderTest) -> None:
    bad, good, owner = s.put(slug="bad", schedule=HOURLY), s.put(slug="good", schedule=HOURLY), s.sign_on()
    for job in (bad, good):
        exception(s, job, at("09:00"), "move", at("09:30"))
    s.damage("UPDATE job SET schedule = '' WHERE slug = 'bad'")
    assert [claim.job_id for claim in tick(s, owner, "10:30")] == [good.id]
    assert ends(s, bad) == [("09:00", "blocked"), ("10:00", "blocked")]


def test_only_slots_are_skipped_and_moved(s: UnderTest) -> None:
    job = s.put(schedule=HOURLY)
    for kind, due in (("skip", None), ("move", at("12:00"))):
        with pytest.raises(Refused, match="is not a slot of tides"):
            exception(s, job, at("10:30"), kind, due)
    assert s.planned(job) == ["09:00"]


@pytest.mark.parametrize("schedule", ["2026-03-02T08:01", "every minute until 2026-03-02T08:01"])
def test_a_counted_job_without_further_slots_is_completed_when_its_run_did_not_count(
    s: UnderTest, schedule: str
) -> None:
    job, owner = s.put(schedule=schedule, repeat=1), s.sign_on()
    s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None))
    s.clock.time = at("08:02")
    assert s.claim(owner) == []
    assert s.job(job)["state"] == "completed"
    assert s.job(job)["completed_reason"] in {"it was to run once", "the schedule has no further slot"}


def test_the_journal_holds_the_beginning_of_a_long_schedule_with_each_slot(s: UnderTest) -> None:
    dates = ",".join(f"20260303T{hour:02}{minute:02}00Z" for hour in range(10) for minute in range(20))
    s.put(schedule=f"RDATE:{dates}")
    (planned,) = s.journal("planned")
    by = json.loads(planned["detail"])["by"]
    assert by.startswith("RDATE:20260303T000000Z,")
    assert by.endswith("…")
    assert len(by) == 200
