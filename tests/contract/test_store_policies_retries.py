"""Retries in the store: only known failures, as often as the job says, as one occurrence; and what ends one that waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from horae.core.admission import GAVE_WAY
from horae.core.model import End, Retries
from horae.core.outcome import judge, lost
from horae.core.retry import IN_THE_WAY, retry_delay
from tests.support.builders import SECOND, a_result, addressed, at, us
from tests.support.policies import Hands
from tests.support.stores import SqliteUnderTest as UnderTest

HOURLY = "0 * * * *"
TWICE = Retries(max=2, backoff_s=60.0)


def due_of(s: UnderTest, key: str) -> Any:
    return at("00:00") + timedelta(microseconds=s.occurrence(key)["due_at"] - us(at("00:00")))


def failed_once(s: UnderTest, **given: Any) -> tuple[Hands, Any, Any]:
    """A job whose 09:00 has failed and waits for its retry."""
    hands = Hands(s)
    job = hands.put(**({"schedule": HOURLY, "retries": TWICE} | given))
    (claim,) = hands.look("09:00")
    assert hands.fail()
    return hands, job, claim


def test_a_failure_is_tried_again_as_often_as_the_job_says(s: UnderTest) -> None:
    hands, job, claim = failed_once(s)
    pauses, attempts = [], [claim]
    while (row := s.occurrence(claim.key))["state"] == "planned":
        due = due_of(s, claim.key)
        pauses.append((due - s.clock.time).total_seconds())
        assert hands.at(due - SECOND) == [], "not before its instant"
        attempts += hands.look(due)
        hands.fail()
    assert [(each.attempt, each.failures, each.key, each.slot) for each in attempts] == [
        (number, number - 1, claim.key, at("09:00")) for number in (1, 2, 3)
    ]
    expected = [retry_delay(job, judge("", a_result(exit_code=1)), number, claim.key) for number in (1, 2)]
    assert pauses == pytest.approx(expected, abs=1e-6)
    assert (row["outcome"], row["reason"]) == ("ran", "exit status 1")
    assert hands.told(job, "retry_planned") == ["retry_planned"] * 2
    states = [(run["attempt"], run["state"]) for run in s.rows("SELECT * FROM run ORDER BY attempt")]
    assert states == [(1, "failed"), (2, "failed"), (3, "failed")]
    told = [
        row["state"]
        for row in s.rows("SELECT d.state FROM delivery d JOIN run r ON r.id = d.run_id ORDER BY r.attempt")
    ]
    assert told == ["suppressed", "suppressed", "delivered"], "only the last failure is told"


def test_each_attempt_is_as_late_as_it_was(s: UnderTest) -> None:
    hands, _, claim = failed_once(s)
    retry_due = due_of(s, claim.key)
    hands.at(retry_due + 3 * SECOND)
    hands.end()
    second, first = s.reader().list_runs(job_id=None, state=None, limit=5, cursor=None)["runs"]
    assert (first["due"], first["lateness_s"]) == ("2026-03-02T09:00:00+00:00", 0)
    assert (second["attempt"], second["lateness_s"]) == (2, pytest.approx(3))
    assert second["due"] == retry_due.isoformat(timespec="milliseconds")
    assert s.reader().lateness_ms(5) == [0], "of first attempts"


def test_a_retry_that_succeeds_is_the_end(s: UnderTest) -> None:
    hands, job, claim = failed_once(s)
    hands.at("09:02")
    hands.end()
    assert hands.outcomes(job) == {"09:00": "ran", "10:00": "planned"}
    assert hands.reasons(job) == {"09:00": "exit status 0"}
    assert s.occurrence(claim.key)["attempts"] == 2


@pytest.mark.parametrize("result", [{"ended_by": "cancelled by anna", "signal": 15}, {}])
def test_what_did_not_fail_is_not_tried_again(s: UnderTest, result: Any) -> None:
    hands = Hands(s)
    hands.put(schedule=HOURLY, retries=TWICE)
    hands.look("09:00")
    assert not hands.end(**result)


def test_P4_what_nobody_saw_end_is_not_tried_again(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule=HOURLY, retries=TWICE)
    (claim,) = hands.look("09:00")
    ending = lost(job.name, "nobody saw it end")
    s.do(
        lambda tx: tx.runs.conclude_all(
            [End(claim, ending, addressed(claim, "local"), retry_s=retry_delay(job, ending, 1, claim.key))]
        )
    )
    assert hands.outcomes(job)["09:00"] == "ran"
    assert s.run(claim.run_id)["state"] == "unknown"


def test_attempts_that_were_given_back_do_not_count(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put(schedule=HOURLY, retries=Retries(max=1, backoff_s=60.0))
    s.clock.time = at("09:00")
    (claim,) = s.claim(hands.owner)
    s.do(lambda tx: tx.runs.release(claim, "the gateway is stopping"))
    (again,) = hands.look("09:00:01")
    assert (again.attempt, again.failures) == (2, 0)
    assert hands.fail(), "this is its first failure"
    (last,) = hands.look("09:03")
    assert (last.attempt, last.failures) == (3, 1)
    assert not hands.fail()


def test_a_retry_that_was_given_back_is_still_a_retry(s: UnderTest) -> None:
    """It has been run, so it cannot end as missed."""
    hands, job, claim = failed_once(s, catch_up="skip")
    s.clock.time = at("09:02")
    (again,) = s.claim(hands.owner)
    s.do(lambda tx: tx.runs.release(again, "the gateway is stopping"))
    (third,) = hands.look("09:40")
    assert (third.key, third.attempt, third.failures) == (claim.key, 3, 1)
    assert hands.outcomes(job)["09:00"] == "claimed"


def test_a_retry_knows_how_many_slots_it_stands_for(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put(schedule=HOURLY, retries=TWICE)
    (claim,) = hands.look("11:30")
    hands.fail()
    (again,) = hands.look("11:32")
    assert (claim.missed, again.missed) == (2, 2)
    assert again.due - at("11:30") <= 75 * SECOND, "its lateness counts from when the retry was due"


def test_a_manual_run_is_tried_again_too_and_gives_way_to_nothing(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule="* * * * *", retries=TWICE)
    run_id = hands.order(job)
    (first,) = hands.look("08:00:30")
    assert first.run_id == run_id
    assert hands.fail()
    assert hands.at("08:01") == ["08:01"]
    assert hands.at("08:01:50") == [], "it waits for what is live"
    hands.end()
    (again,) = hands.look("08:01:55")
    assert (again.key, again.attempt, again.run_id != run_id) == (first.key, 2, True)


# ── against the next slot


@pytest.mark.parametrize("overlap", ["skip", "queue_one", "cancel_running"])
def test_a_retry_that_could_only_give_way_is_not_planned_and_its_failure_is_told_at_once(
    s: UnderTest, overlap: Any
) -> None:
    hands = Hands(s)
    job = hands.put(overlap=overlap, retries=TWICE)
    (claim,) = hands.look("08:01")
    assert not hands.fail()
    assert hands.reasons(job) == {"08:01": f"exit status 1; not tried again: {IN_THE_WAY}"}
    assert s.run(claim.run_id)["reason"] == hands.reasons(job)["08:01"]
    assert [row["state"] for row in s.rows("SELECT state FROM delivery")] == ["delivered"]


@pytest.mark.parametrize("overlap", ["queue", "allow"])
def test_a_retry_keeps_its_turn_where_slots_do_not_take_it(s: UnderTest, overlap: Any) -> None:
    hands = Hands(s)
    job = hands.put(overlap=overlap, retries=TWICE)
    hands.look("08:01")
    assert hands.fail()
    assert hands.at("08:02") == ["08:02"]
    hands.end()
    assert hands.at("08:02:20") == ["08:01"]
    assert hands.outcomes(job)["08:02"] == "ran"


def test_a_retry_gives_way_to_a_slot_that_a_person_moved_before_it(s: UnderTest) -> None:
    hands, job, claim = failed_once(s, retries=Retries(max=2, backoff_s=1200.0, ceiling_s=3600.0))
    hands.exception(job, "10:00", "move", "09:10")
    (moved,) = hands.look("09:10")
    assert moved.slot == at("10:00")
    assert hands.outcomes(job)["09:00"] == "ran"
    assert hands.reasons(job)["09:00"] == f"exit status 1; {GAVE_WAY}"
    assert [row["outcome"] for row in s.rows("SELECT outcome FROM occurrence WHERE key = ?", claim.key)] == ["ran"]


def test_after_a_downtime_a_retry_gives_way_to_the_slot_that_passed_since(s: UnderTest) -> None:
    hands, job, _ = failed_once(s)
    (claim,) = hands.look("11:30")
    assert (claim.slot, claim.missed) == (at("11:00"), 1)
    assert hands.outcomes(job) == {"09:00": "ran", "10:00": "missed", "11:00": "claimed", "12:00": "planned"}


def test_a_retry_that_is_too_late_ends_as_run(s: UnderTest) -> None:
    hands, job, _ = failed_once(s, schedule="0 9 * * *", ends="2026-03-02", not_later_than_s=600)
    assert hands.at("10:00") == []
    assert hands.outcomes(job)["09:00"] == "ran"
    assert "its retry could not start within 10 minutes" in hands.reasons(job)["09:00"]


# ── what else ends one that waits

ENDS: dict[str, tuple[Any, str]] = {
    "pause": (lambda tx, job: tx.jobs.pause(job.id, actor="anna", reason="rest"), "paused by anna"),
    "remove": (lambda tx, job: tx.jobs.remove(job.id, actor="anna", reason="gone"), "the job was removed"),
    "skip": (
        lambda tx, job: tx.jobs.set_exception(job.id, at("09:00"), "skip", due=None, actor="anna"),
        "skipped by a person in advance",
    ),
    "break": (
        lambda tx, job: tx.jobs.quarantine(
            job.slug, {"message": "line 3", "code": "x"}, signature="", actor="jobs folder"
        ),
        "line 3",
    ),
}


@pytest.mark.parametrize("what", ENDS)
def test_what_was_run_ends_as_run_whatever_keeps_it_from_its_retry(s: UnderTest, what: str) -> None:
    hands, job, claim = failed_once(s)
    work, says = ENDS[what]
    s.do(lambda tx: work(tx, job))
    assert hands.at("09:05") == []
    row = s.occurrence(claim.key)
    assert (row["outcome"], row["reason"].startswith("exit status 1; not tried again: ")) == ("ran", True)
    assert says in row["reason"]


def test_a_manual_run_that_waits_for_its_retry_was_run_when_its_job_is_removed(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule=HOURLY, retries=TWICE)
    hands.order(job)
    (claim,) = hands.look("08:00:30")
    assert hands.fail()
    hands.order(job, 2)
    s.do(lambda tx: tx.jobs.remove(job.id, actor="anna", reason="gone"))
    row = s.occurrence(claim.key)
    assert (row["outcome"], row["reason"]) == ("ran", "exit status 1; not tried again: the job was removed")
    assert [row["outcome"] for row in s.rows("SELECT outcome FROM occurrence WHERE attempts = 0 AND run_id > ''")] == [
        "void"
    ]


def test_an_edit_of_the_schedule_ends_a_retry_as_run(s: UnderTest) -> None:
    hands, job, claim = failed_once(s)
    hands.put(schedule="30 * * * *", retries=TWICE)
    assert s.occurrence(claim.key)["outcome"] == "ran"
    assert hands.reasons(job)["09:00"] == "exit status 1; not tried again: the schedule was changed"


def test_resume_ends_a_retry_that_came_due_in_the_pause_as_run(s: UnderTest) -> None:
    hands, job, _ = failed_once(s)
    s.do(lambda tx: tx.jobs.pause(job.id, actor="anna", reason=None))
    s.clock.time = at("09:30")
    s.do(lambda tx: tx.jobs.resume(job.id, actor="anna"))
    assert hands.outcomes(job) == {"09:00": "ran", "10:00": "planned"}


@pytest.mark.parametrize("what", ["pause", "break", "remove"])
def test_a_failure_of_a_job_that_is_set_aside_meanwhile_is_told_at_once(s: UnderTest, what: str) -> None:
    hands = Hands(s)
    job = hands.put(schedule=HOURLY, retries=TWICE)
    hands.look("09:00")
    work, says = ENDS[what]
    s.do(lambda tx: work(tx, job))
    assert not hands.fail()
    assert says in hands.reasons(job)["09:00"]
    assert [row["state"] for row in s.rows("SELECT state FROM delivery")] == ["delivered"]


# ── repeat


def test_a_slot_counts_once_however_often_it_is_tried(s: UnderTest) -> None:
    hands, job, _ = failed_once(s, repeat=2)
    assert s.job(job)["counted"] == 0
    hands.at("09:02")
    hands.end()
    assert s.job(job)["counted"] == 1
    hands.at("10:00")
    hands.end()
    assert s.job(job)["completed_reason"] == "it ran 2 of 2 times"


def test_a_retry_that_is_given_up_counts_for_repeat(s: UnderTest) -> None:
    hands, job, _ = failed_once(s, repeat=1)
    hands.exception(job, "09:00", "skip")
    hands.at("09:01")
    assert (s.job(job)["counted"], s.job(job)["state"]) == (1, "completed")


def test_a_retry_that_a_pause_has_ended_counts_for_repeat(s: UnderTest) -> None:
    hands, job, _ = failed_once(s, repeat=1)
    s.do(lambda tx: tx.jobs.pause(job.id, actor="anna", reason=None))
    s.clock.time = at("09:30")
    s.do(lambda tx: tx.jobs.resume(job.id, actor="anna"))
    assert (hands.outcomes(job), s.job(job)["counted"]) == ({"09:00": "ran"}, 1)
    assert s.job(job)["state"] == "completed"


def test_a_retry_keeps_its_job_from_being_complete(s: UnderTest) -> None:
    hands, job, _ = failed_once(s, schedule="2026-03-02T09:00:00+00:00")
    assert s.job(job)["state"] == "active"
    hands.at("09:02")
    hands.end()
    assert s.job(job)["state"] == "completed"
