"""Policies in the store: what becomes of slots that are late, overlap, are excluded, spread, bounded, or go first."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from horae.core.admission import CANCELLED, FOR_RUN, FOR_TURN, REPLACED, STILL_GOING
from horae.core.exclusion import Hours
from horae.core.identity import slot_key
from horae.core.model import Retries
from horae.core.spread import spread_offset_s
from horae.limits import CATCH_UP_ALL_MAX
from tests.support.builders import MINUTE, SECOND, START, at, us
from tests.support.policies import Hands, calendar
from tests.support.stores import SqliteUnderTest as UnderTest

HOURLY = "0 * * * *"

# ── overlap


def test_queue_holds_each_slot_and_runs_them_in_order(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    assert hands.at("08:01") == ["08:01"]
    for minute in ("08:02", "08:03", "08:04"):
        assert hands.at(minute) == []
    assert hands.outcomes(job) == {"08:01": "claimed"} | dict.fromkeys(("08:02", "08:03", "08:04", "08:05"), "planned")
    assert hands.reasons(job) == dict.fromkeys(("08:02", "08:03", "08:04"), FOR_RUN)
    assert hands.told(job, "held") == ["held"] * 3
    for slot in ("08:02", "08:03", "08:04"):
        hands.end()
        assert hands.at("08:04:30") == [slot]
        assert slot not in hands.reasons(job), "what runs waits for nothing"
    hands.end()
    assert hands.at("08:05") == ["08:05"]
    assert set(hands.outcomes(job).values()) == {"ran", "claimed", "planned"}
    assert all(claim["missed"] == 0 for claim in s.rows("SELECT missed FROM occurrence"))


def test_queue_one_holds_the_newest_slot_only(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue_one")
    for minute in ("08:01", "08:02", "08:03", "08:04"):
        hands.at(minute)
    assert hands.held(job) == ["08:04"]
    assert {slot: hands.reasons(job)[slot] for slot in ("08:02", "08:03")} == dict.fromkeys(
        ("08:02", "08:03"), REPLACED
    )
    assert hands.outcomes(job)["08:02"] == "skipped"
    hands.end()
    assert hands.at("08:04:10") == ["08:04"]


def test_cancel_running_asks_the_live_run_to_end_once_and_starts_after_it(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="cancel_running")
    (first,) = hands.look("08:01")
    assert hands.at("08:02") == []
    assert s.run(first.run_id)["cancel_reason"] == CANCELLED
    assert s.do(lambda tx: tx.runs.asked_to_end(hands.owner)) == [(first.run_id, CANCELLED)]
    assert hands.at("08:03") == [], "the old run has not ended yet"
    assert hands.told(job, "cancel_asked") == ["cancel_asked"]
    assert (hands.held(job), hands.outcomes(job)["08:02"]) == (["08:03"], "skipped")
    hands.end(signal=15, exit_code=None, ended_by=CANCELLED)
    assert hands.at("08:03:05") == ["08:03"]
    assert (s.run(first.run_id)["state"], hands.outcomes(job)["08:01"]) == ("cancelled", "ran")


def test_cancel_running_calls_off_what_has_not_begun(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="cancel_running")
    s.clock.time = at("08:01")
    (first,) = s.claim(hands.owner)  # it waits for its turn
    hands.at("08:02")
    assert s.do(lambda tx: tx.runs.asked_to_end(hands.owner)) == []
    assert (hands.outcomes(job)["08:01"], s.run(first.run_id)["state"]) == ("skipped", "cancelled")
    assert hands.at("08:02:01") == ["08:02"]


def test_allow_starts_beside_live_runs_of_any_kind(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="allow")
    assert hands.at("08:01") == ["08:01"]
    hands.order(job)
    assert hands.at("08:01:30") == ["by hand"]
    assert hands.at("08:02") == ["08:02"]
    assert len(hands.claims) == 3
    hands.end(hands.claims[1])
    assert hands.at("08:03") == ["08:03"]


def test_skip_is_the_default(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put()
    hands.at("08:01")
    assert hands.at("08:02") == []
    assert (hands.outcomes(job)["08:02"], hands.reasons(job)["08:02"]) == ("skipped", STILL_GOING)
    assert s.planned(job) == ["08:03"]


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_one", "cancel_running"])
def test_a_manual_run_eats_no_slot_and_is_cancelled_by_none(s: UnderTest, overlap: Any) -> None:
    hands = Hands(s)
    job = hands.put(overlap=overlap)
    run_id = hands.order(job)
    assert hands.at("08:00:50") == ["by hand"]
    assert hands.at("08:01") == []
    assert hands.waits_for(job) == {"08:01": "run"}
    assert hands.told(job, "held", "waiting") == ["waiting" if overlap == "skip" else "held"]
    assert hands.at("08:01:20") == []
    assert hands.told(job, "held", "waiting") == ["waiting" if overlap == "skip" else "held"], "once"
    assert s.run(run_id)["cancel_reason"] is None
    hands.end()
    (claim,) = hands.look("08:01:30")
    assert (claim.slot, claim.missed, claim.due) == (at("08:01"), 0, at("08:01"))


def test_while_a_manual_run_is_live_catch_up_decides_later_about_all(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put()
    hands.order(job)
    for minute in ("08:00:50", "08:01", "08:02", "08:03"):
        hands.at(minute)
    assert hands.outcomes(job) == {"08:01": "planned"}
    hands.end()
    (claim,) = hands.look("08:03:30")
    assert (claim.slot, claim.missed) == (at("08:03"), 2)
    assert hands.outcomes(job) == {"08:01": "missed", "08:02": "missed", "08:03": "claimed", "08:04": "planned"}


def test_catch_up_skip_keeps_a_slot_that_a_manual_run_is_in_the_way_of(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="skip", schedule=HOURLY)
    hands.order(job)
    hands.at("08:59")
    hands.at("09:00")
    hands.end()
    assert hands.at("09:40") == ["09:00"], "a minute's grace was over, but it was seen in time"


def test_with_catch_up_skip_a_newer_slot_takes_the_place_of_one_that_a_manual_run_holds_up(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="skip")
    hands.order(job)
    for minute in ("08:00:50", "08:01", "08:02"):
        hands.at(minute)
    assert (hands.held(job), hands.reasons(job)["08:01"]) == (["08:02"], REPLACED)
    hands.end()
    assert hands.at("08:02:10") == ["08:02"]


def test_not_later_than_ends_what_is_held(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue", not_later_than_s=150)
    for minute in ("08:01", "08:02", "08:03", "08:04"):
        hands.at(minute)
    hands.end()
    (claim,) = hands.look("08:05")
    assert (claim.slot, claim.missed) == (at("08:03"), 1)
    assert hands.outcomes(job)["08:02"] == "missed"
    assert "not_later_than" in hands.reasons(job)["08:02"]


def test_a_pause_ends_what_is_held_at_once(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    hands.at("08:01")
    hands.at("08:02")
    s.do(lambda tx: tx.jobs.pause(job.id, actor="anna", reason="rest"))
    hands.at("08:02:10")
    assert hands.outcomes(job)["08:02"] == "skipped"
    assert "anna" in hands.reasons(job)["08:02"]
    assert hands.outcomes(job)["08:01"] == "claimed"


def test_P9_a_broken_file_blocks_what_is_held_and_lets_the_run_end(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    hands.at("08:01")
    hands.at("08:02")
    problem = {"message": "line 3", "code": "invalid"}
    s.do(lambda tx: tx.jobs.quarantine(job.slug, problem, signature="x", actor="jobs folder"))
    hands.at("08:02:10")
    assert hands.outcomes(job)["08:02"] == "blocked"
    hands.end()
    assert hands.outcomes(job)["08:01"] == "ran"


def test_P9_a_damaged_definition_blocks_all_open_slots_of_its_job(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    good = hands.put("good", schedule="3 8 * * *")
    for minute in ("08:01", "08:02"):
        hands.at(minute)
    s.damage("UPDATE job SET definition = '{}' WHERE slug = 'tides'")
    assert hands.at("08:03") == ["good 08:03"]
    assert hands.at("08:03:01") == []
    assert {slot: hands.outcomes(job)[slot] for slot in ("08:02", "08:03")} == {"08:02": "blocked", "08:03": "blocked"}
    assert s.job(job)["state"] == "quarantined"
    assert s.job(good)["state"] == "active"


def test_what_is_held_can_be_skipped_and_moved_by_a_person(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    for minute in ("08:01", "08:02", "08:03"):
        hands.at(minute)
    hands.exception(job, "08:02", "skip")
    hands.exception(job, "08:03", "move", "08:10:30")
    hands.at("08:03:30")
    assert hands.outcomes(job)["08:02"] == "skipped"
    assert (hands.held(job), hands.waits_for(job)) == ([], {})
    hands.end()
    assert hands.at("08:04") == ["08:04"]
    hands.end()
    s.do(lambda tx: tx.jobs.pause(job.id, actor="anna", reason=None))
    assert s.occurrence(slot_key(job.id, at("08:03")))["due_at"] == us(at("08:10:30"))


def test_an_edit_of_the_policy_is_about_what_waits_as_well(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    for minute in ("08:01", "08:02", "08:03"):
        hands.at(minute)
    hands.put(overlap="allow")
    assert hands.at("08:03:10") == ["08:02", "08:03"]
    assert s.planned(job) == ["08:04"]


def test_an_edit_of_the_cadence_voids_what_is_held(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    for minute in ("08:01", "08:02"):
        hands.at(minute)
    hands.put(overlap="queue", schedule=HOURLY)
    assert hands.outcomes(job) == {"08:01": "claimed", "08:02": "void", "09:00": "planned"}


def test_resume_skips_what_is_held(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    for minute in ("08:01", "08:02"):
        hands.at(minute)
    s.do(lambda tx: tx.jobs.pause(job.id, actor="anna", reason=None))
    s.do(lambda tx: tx.jobs.resume(job.id, actor="anna"))
    assert hands.outcomes(job) == {"08:01": "claimed", "08:02": "skipped", "08:03": "planned"}


def test_a_removed_job_holds_nothing(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    for minute in ("08:01", "08:02"):
        hands.at(minute)
    s.do(lambda tx: tx.jobs.remove(job.id, actor="anna", reason="gone"))
    assert hands.outcomes(job) == {"08:01": "claimed", "08:02": "void"}


def test_the_last_slot_of_a_schedule_can_be_held_and_completes_the_job(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue", ends="2026-03-02T08:02:00+00:00")
    hands.at("08:01")
    assert hands.at("08:02") == []
    assert (s.job(job)["cursor_at"], s.job(job)["state"]) == (None, "active")
    hands.end()
    assert (hands.at("08:02:20"), s.job(job)["state"]) == (["08:02"], "active")
    hands.end()
    assert s.job(job)["state"] == "completed"


def test_a_gateway_without_room_answers_for_the_runs_that_it_has(s: UnderTest) -> None:
    """Else a run that is to make way for the next slot would go on for as long as all places are taken."""
    hands = Hands(s)
    hang = hands.put("hang", overlap="cancel_running")
    plain, beside, other = (
        hands.put("plain"),
        hands.put("beside", overlap="allow"),
        hands.put("other", schedule="2 8 * * *"),
    )
    assert len(hands.at("08:01")) == 3
    assert hands.at("08:02", limit=0) == []
    (run,) = (claim.run_id for claim in hands.claims if claim.job == hang)
    assert s.do(lambda tx: tx.runs.asked_to_end(hands.owner)) == [(run, CANCELLED)]
    assert (hands.held(hang), hands.outcomes(plain)["08:02"]) == (["08:02"], "skipped")
    assert (hands.outcomes(beside), hands.outcomes(other)) == (
        {"08:01": "claimed", "08:02": "planned"}, {"08:02": "planned"},
    )  # fmt: skip
    assert s.do(lambda tx: (tx.runs.claim_due(hands.owner, 0), tx.runs.next_due()))[1] == at("08:03")
    assert sorted(hands.at("08:02:10")) == ["beside 08:02", "other 08:02"]


# ── catch-up


def test_skip_runs_nothing_that_is_later_than_a_restart_takes(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="skip", schedule=HOURLY)
    assert hands.at("11:30") == []
    assert hands.outcomes(job) == dict.fromkeys(("09:00", "10:00", "11:00"), "missed") | {"12:00": "planned"}
    (claim,) = hands.look("12:00:50")
    assert (claim.slot, claim.missed) == (at("12:00"), 0), "nothing that has ended is made up for"


@pytest.mark.parametrize("policy", [{"catch_up": "skip"}, {"not_later_than_s": 60}], ids=["skip", "a limit"])
def test_one_slot_that_is_too_late_is_missed(s: UnderTest, policy: Any) -> None:
    hands = Hands(s)
    job = hands.put(schedule=HOURLY, **policy)
    assert hands.at("09:01:01") == []
    assert hands.outcomes(job) == {"09:00": "missed", "10:00": "planned"}
    assert hands.at("10:01") == ["10:00"]


def test_skip_settles_a_long_downtime_as_one_span(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="skip")
    (claim,) = hands.look(START + timedelta(days=3, seconds=20))
    rows = s.rows("SELECT * FROM occurrence WHERE outcome = 'missed'")
    assert [(row["span_count"], row["slot_at"], row["span_to"]) for row in rows] == [
        (3 * 1440 - 1, us(START + MINUTE), us(START + timedelta(days=3) - MINUTE))
    ]
    assert (claim.slot, claim.missed) == (START + timedelta(days=3), 3 * 1440 - 1)
    assert s.job(job)["cursor_at"] == us(START + timedelta(days=3) + MINUTE)


def test_all_runs_each_slot_one_after_another(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="all", schedule=HOURLY)
    assert hands.at("11:30") == ["09:00"]
    assert hands.reasons(job) == dict.fromkeys(("10:00", "11:00"), FOR_TURN)
    hands.end()
    assert hands.at("11:31") == ["10:00"]
    assert hands.at("12:00") == [], "while what was missed is made up for, overlap is overlap"
    hands.end()
    (claim,) = hands.look("12:01")
    assert (claim.slot, claim.missed, (s.clock.time - claim.due).total_seconds()) == (at("11:00"), 0, 3660.0)
    hands.end()
    assert hands.outcomes(job) == dict.fromkeys(("09:00", "10:00", "11:00"), "ran") | {
        "12:00": "skipped",
        "13:00": "planned",
    }


def test_all_with_allow_starts_them_together(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put(catch_up="all", overlap="allow", schedule=HOURLY)
    assert hands.at("11:30") == ["09:00", "10:00", "11:00"]


def test_what_allow_has_no_room_for_waits_until_there_is(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="all", overlap="allow", schedule=HOURLY)
    assert hands.at("12:30", limit=2) == ["09:00", "10:00"]
    assert (hands.held(job), hands.waits_for(job)) == (["11:00", "12:00"], {})
    assert hands.at("12:31", limit=5) == ["11:00", "12:00"]


def test_all_makes_up_for_the_latest_ones_up_to_its_limit(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put(catch_up="all")
    (claim,) = hands.look(START + (CATCH_UP_ALL_MAX + 500) * MINUTE)
    assert (claim.slot, claim.missed) == (START + 501 * MINUTE, 500)
    assert (
        len(s.rows("SELECT 1 FROM occurrence WHERE state = 'planned' AND reason IS NOT NULL")) == CATCH_UP_ALL_MAX - 1
    )


@pytest.mark.parametrize("chosen", ["skip", "once", "all"])
def test_nothing_runs_later_than_not_later_than(s: UnderTest, chosen: Any) -> None:
    hands = Hands(s)
    job = hands.put(catch_up=chosen, schedule=HOURLY, not_later_than_s=5400)
    started = hands.at("11:30")
    assert started == {"skip": ["11:00"], "once": ["11:00"], "all": ["10:00"]}[chosen]
    assert "not_later_than" in hands.reasons(job)["09:00"]
    missed = {"09:00"} if chosen == "all" else {"09:00", "10:00"}
    assert {slot for slot, outcome in hands.outcomes(job).items() if outcome == "missed"} == missed
    assert hands.claims[0].missed == len(missed)


def test_a_moved_slot_is_late_by_its_new_time(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule="0 9 * * *", not_later_than_s=600)
    hands.exception(job, "09:00", "move", "15:00")
    assert hands.at("15:09") == ["09:00"]


def test_what_was_given_back_is_not_held(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="skip", schedule=HOURLY)
    s.clock.time = at("09:00")
    (claim,) = s.claim(hands.owner)
    s.do(lambda tx: tx.runs.release(claim, "the gateway is stopping"))
    assert hands.at("09:05") == []
    assert hands.outcomes(job) == {"09:00": "missed", "10:00": "planned"}


# ── repeat


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow"])
def test_repeat_bounds_what_catch_up_makes_up_for(s: UnderTest, overlap: Any) -> None:
    hands = Hands(s)
    job = hands.put(catch_up="all", overlap=overlap, schedule=HOURLY, repeat=2)
    hands.at("14:30")
    while hands.claims:
        hands.end()
        hands.at("14:31")
    assert hands.outcomes(job) == dict.fromkeys(("09:00", "10:00"), "ran") | dict.fromkeys(
        ("11:00", "12:00", "13:00", "14:00"), "void"
    )
    assert s.job(job)["completed_reason"] == "it ran 2 of 2 times"


def test_repeat_counts_what_is_held(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue", repeat=3)
    for minute in ("08:01", "08:02", "08:03", "08:04"):
        hands.at(minute)
    assert hands.outcomes(job) == {"08:01": "claimed", "08:02": "planned", "08:03": "planned"}
    for _ in range(3):
        hands.end()
        hands.at("08:05")
    assert (set(hands.outcomes(job).values()), s.job(job)["state"]) == ({"ran"}, "completed")


# ── exclusion calendars


def test_an_excluded_slot_keeps_its_row_and_is_skipped_with_the_reason(s: UnderTest) -> None:
    hands = Hands(s, calendars=calendar("holidays", single={date(2026, 3, 2): "Market day"}))
    job = hands.put(schedule="0 */12 * * *", exclude=("holidays",))
    assert hands.at("12:00") == []
    assert (hands.outcomes(job)["12:00"], hands.reasons(job)["12:00"]) == ("skipped", "holidays: Market day")
    assert hands.at(at("00:00", day=3)) == ["00:00"]
    assert hands.claims[0].missed == 0


def test_after_a_downtime_the_latest_slot_that_is_not_excluded_runs(s: UnderTest) -> None:
    nights = calendar("nights", hours=(Hours(10 * 60, 12 * 60, "10:00-12:00"),))
    hands = Hands(s, calendars=nights)
    job = hands.put(schedule=HOURLY, exclude=("nights",))
    (claim,) = hands.look("11:30")
    assert (claim.slot, claim.missed) == (at("09:00"), 0)
    assert hands.reasons(job) == dict.fromkeys(("10:00", "11:00"), "nights: 10:00-12:00")
    assert s.planned(job) == ["12:00"]


def test_an_excluded_slot_says_so_even_when_the_previous_run_is_still_going(s: UnderTest) -> None:
    hands = Hands(s, calendars=calendar("noon", hours=(Hours(8 * 60 + 2, 8 * 60 + 3, "8:02"),)))
    job = hands.put(exclude=("noon",))
    for minute in ("08:01", "08:02", "08:03"):
        hands.at(minute)
    assert hands.reasons(job) == {"08:02": "noon: 8:02", "08:03": STILL_GOING}


def test_what_a_person_decided_is_not_excluded(s: UnderTest) -> None:
    hands = Hands(s, calendars=calendar("always", weekdays=frozenset(range(7))))
    job = hands.put(schedule=HOURLY, exclude=("always",))
    hands.exception(job, "09:00", "move", "08:30")
    assert hands.at("08:30") == ["09:00"]
    hands.end()
    hands.order(job)
    assert hands.at("08:31") == ["by hand"]
    hands.end()
    assert hands.at("10:00") == []
    assert hands.reasons(job)["10:00"] == "always: Monday"


def test_a_calendar_that_nobody_made_excludes_nothing(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put(exclude=("holidays",))
    assert hands.at("08:01") == ["08:01"]


# ── spread


def test_a_slot_is_due_by_its_spread_later_and_keeps_its_key(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule=HOURLY, spread_s=1800)
    off = spread_offset_s(job.id, 1800) * SECOND
    assert 0 * SECOND < off < 30 * MINUTE
    (row,) = s.rows("SELECT * FROM occurrence")
    assert (row["key"], row["slot_at"], row["due_at"]) == (
        slot_key(job.id, at("09:00")),
        us(at("09:00")),
        us(at("09:00") + off),
    )
    assert hands.at("09:00") == []
    (claim,) = hands.look(at("09:00") + off)
    assert (claim.slot, claim.due, claim.claimed_at - claim.due) == (at("09:00"), at("09:00") + off, 0 * SECOND)
    assert [row["due_at"] for row in s.rows("SELECT due_at FROM occurrence WHERE state = 'planned'")] == [
        us(at("10:00") + off)
    ]


def test_what_has_passed_and_is_not_due_is_still_to_come(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule="*/5 * * * *", spread_s=3600)
    off = spread_offset_s(job.id, 3600) * SECOND
    assert off > 10 * MINUTE
    (claim,) = hands.look(at("08:15") + off - SECOND)
    assert (claim.slot, claim.missed) == (at("08:10"), 1)
    assert {row["due_at"] - row["slot_at"] for row in s.rows("SELECT * FROM occurrence")} == {off / SECOND * 1e6}
    hands.end()
    assert s.planned(job) == ["08:15"]
    assert hands.at(at("08:15") + off) == ["08:15"]


def test_a_pause_of_a_spread_job_loses_no_slot(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule="*/5 * * * *", spread_s=3600)
    off = spread_offset_s(job.id, 3600) * SECOND
    s.clock.time = at("08:05") + off - SECOND
    s.do(lambda tx: tx.jobs.pause(job.id, actor="anna", reason=None))
    s.clock.time = at("08:15") + off
    s.do(lambda tx: tx.jobs.resume(job.id, actor="anna"))
    rows = s.rows("SELECT * FROM occurrence ORDER BY slot_at")
    assert [(row["outcome"], row["span_count"]) for row in rows] == [("skipped", 3), (None, None)]
    assert s.planned(job) == ["08:20"]


def test_taking_back_a_move_is_due_with_the_spread_again(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule=HOURLY, spread_s=1800)
    off = spread_offset_s(job.id, 1800) * SECOND
    hands.exception(job, "09:00", "move", "15:00")
    hands.exception(job, "09:00", None)
    assert s.occurrence(slot_key(job.id, at("09:00")))["due_at"] == us(at("09:00") + off)


def test_jobs_of_one_schedule_are_not_due_at_once(s: UnderTest) -> None:
    hands = Hands(s)
    for number in range(30):
        hands.put(f"job{number}", schedule=HOURLY, spread_s=3000)
    assert len({row["due_at"] for row in s.rows("SELECT due_at FROM occurrence")}) > 20


# ── from when to when


def test_slots_come_from_its_beginning_to_its_end(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(schedule=HOURLY, starts="2026-03-02T10:30:00+00:00", ends="2026-03-02T12:00:00+00:00")
    assert s.planned(job) == ["11:00"]
    for hour in ("11:00", "12:00"):
        assert hands.at(hour) == [hour]
        hands.end()
    assert (s.planned(job), s.job(job)["state"]) == ([], "completed")
    hands.put(schedule=HOURLY, ends="2026-03-02T14:00:00+00:00")
    assert (s.job(job)["state"], s.planned(job)) == ("active", ["13:00"])


def test_what_a_row_of_an_older_version_does_not_say_is_written_when_its_file_is_read(s: UnderTest) -> None:
    job = s.put(spread_s=60, priority=7, group="gpu", runs_on=("eu", "gpu"), ends="2026-03-05")
    said = {
        "spread_s": 60,
        "priority": 7,
        "concurrency_group": "gpu",
        "runs_on": "eu gpu",
        "ends_at": us(at("23:59:59", 5)),
    }
    assert {name: s.job(job)[name] for name in said} == said
    s.damage("UPDATE job SET spread_s = 0, priority = 0, concurrency_group = NULL, runs_on = NULL, ends_at = NULL")
    s.put(job)
    assert {name: s.job(job)[name] for name in said} == said


# ── priority


def test_what_is_due_begins_by_priority_and_then_by_time(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put("low", priority=-5, schedule="1 8 * * *")
    hands.put("late", priority=9, schedule="3 8 * * *")
    hands.put("high", priority=9, schedule="2 8 * * *")
    hands.put("plain", schedule="1 8 * * *")
    assert hands.at("08:04", limit=2) == ["high 08:02", "late 08:03"]
    assert hands.at("08:04", limit=2) == ["plain 08:01", "low 08:01"]


def test_an_edit_of_the_priority_is_about_planned_slots_and_orders_too(s: UnderTest) -> None:
    hands = Hands(s)
    plain = hands.put("plain", schedule="1 8 * * *")
    other = hands.put("other", schedule="2 8 * * *")
    before = s.planned(other)
    hands.put("other", schedule="2 8 * * *", priority=3)
    assert s.planned(other) == before, "its slots stay"
    assert hands.at("08:04", limit=1) == ["other 08:02"]
    yard = hands.put("yard", schedule="1 9 * * *", priority=50)
    hands.order(yard)
    assert hands.at("08:05", limit=1) == ["yard by hand"]
    assert hands.at("08:05", limit=1) == ["plain 08:01"]
    assert s.job(plain)["priority"] == 0
    rows = s.rows("SELECT DISTINCT priority FROM occurrence WHERE job_id = ? AND state = 'planned'", other.id)
    assert [row["priority"] for row in rows] == [3], "what is planned from now on has it too"


# ── several of them


def test_policies_that_meet(s: UnderTest) -> None:
    """A spread job with a queue, a limit and a calendar, after a downtime in which a manual run was live."""
    calendars = calendar("ten", hours=(Hours(10 * 60, 10 * 60 + 1, "ten"),))
    hands = Hands(s, calendars=calendars)
    job = hands.put(
        schedule=HOURLY, spread_s=600, overlap="queue", catch_up="all", not_later_than_s=3 * 3600, exclude=("ten",),
        retries=Retries(max=1, backoff_s=60.0),
    )  # fmt: skip
    off = spread_offset_s(job.id, 600) * SECOND
    hands.order(job)
    assert hands.at("08:30") == ["by hand"]
    assert hands.at(at("13:00") + off) == []
    assert hands.outcomes(job) == {
        "09:00": "missed", "10:00": "skipped", "11:00": "planned", "12:00": "planned", "13:00": "planned", "14:00": "planned",
    }  # fmt: skip
    assert hands.held(job) == ["11:00", "12:00", "13:00"]
    assert {
        row["due_at"] - row["slot_at"] for row in s.rows("SELECT * FROM occurrence WHERE trigger = 'schedule'")
    } == {off / SECOND * 1e6}
    hands.end()
    (claim,) = hands.look(at("13:10") + off)
    assert (claim.slot, claim.missed) == (at("11:00"), 1)
    assert hands.fail(), "with a queue a retry keeps its turn"
    assert hands.at(at("13:10") + off + SECOND) == ["12:00"], "and holds nobody up before"
    assert hands.at(at("13:20") + off) == []
    hands.end()
    assert hands.at(at("13:21") + off) == ["13:00"], "by when each is due"
    hands.end()
    assert hands.at(at("13:22") + off) == ["11:00"]
    hands.end()
    assert hands.outcomes(job)["11:00"] == "ran"
