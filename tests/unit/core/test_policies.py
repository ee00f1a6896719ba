"""Catch-up, overlap, groups and retries: each open slot of a job gets exactly one answer, whatever is combined."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, get_args

import pytest

from horae.core.admission import (
    CANCELLED,
    FOR_RUN,
    FOR_TURN,
    GAVE_WAY,
    REPLACED,
    STILL_GOING,
    Answers,
    Candidate,
    Standing,
    by_hand,
    decide,
    early,
)  # fmt: skip
from horae.core.catchup import NOT_IN_TIME, Open, backlog, catch_up, passed
from horae.core.model import CatchUp, Cause, Job, Overlap, Retries
from horae.core.outcome import blocked, judge, lost
from horae.core.retry import cause_of, gives_way, retry_delay
from horae.core.spread import spread_offset_s
from horae.limits import (
    CATCH_UP_ALL_MAX,
    CATCH_UP_GRACE_S,
    CEILING_DEFAULT_S,
    EXCLUDED_LOOK_MAX,
    MISSED_ROWS_MAX,
    QUEUE_MAX,
)  # fmt: skip
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from tests.support.builders import MINUTE, MINUTELY, SECOND, START, a_job, a_result, at

NOW = at("12:00")
RETRY_ENDED = "exit status 1"


def minutes_ago(number: float, **given: Any) -> Open:
    when = NOW - number * MINUTE
    return Open(when, when, **given)


def job(catch_up: CatchUp = "once", overlap: Overlap = "skip", **given: Any) -> Job:
    return a_job(catch_up=catch_up, overlap=overlap, **given)


def answered(answers: Answers) -> list[Open]:
    """Each open slot as often as it got an answer."""
    return [
        *answers.start,
        *(each for each, _ in answers.hold),
        *answers.stay,
        *(settled.open for settled in answers.settled),
    ]


def minutes(some: Sequence[Open]) -> list[float]:
    return [(NOW - each.slot) / MINUTE for each in some]


def outcomes(answers: Answers) -> dict[float, tuple[str, str]]:
    return {(NOW - done.open.slot) / MINUTE: (done.outcome, done.reason) for done in answers.settled}


# ── every combination

LIVE = [(scheduled, manual) for scheduled in (False, True) for manual in (False, True)]
OPENS = {
    "one": (0,), "late": (30,), "three": (0, 30, 90), "many": tuple(range(0, 200, 20)),
}  # fmt: skip
BESIDE = {
    "nothing": (),
    "held": (minutes_ago(3, held=True),),
    "several held": (minutes_ago(3, held=True), minutes_ago(45, held=True, missed=2)),
    "a retry that is due": (minutes_ago(1, ended=RETRY_ENDED),),
    "a retry to come": (minutes_ago(-5, ended=RETRY_ENDED),),
    "excluded": (minutes_ago(4, excluded="holidays: Christmas Day"),),
    "a span": (Open(NOW - 300 * MINUTE, NOW - 300 * MINUTE, NOW - 900 * MINUTE, 40),),
}


@pytest.mark.parametrize("overlap", get_args(Overlap))
@pytest.mark.parametrize("chosen", get_args(CatchUp))
def test_P1_each_slot_of_a_backlog_gets_exactly_one_answer_under_each_pair_of_policies(
    chosen: CatchUp, overlap: Overlap
) -> None:
    for (ages, beside, live, limit), room, asked in itertools.product(
        itertools.product(OPENS.values(), BESIDE.values(), LIVE, (None, 3600)), (None, 0, 1, 2), (False, True)
    ):
        due = [*map(minutes_ago, ages), *beside]
        standing = Standing(*live, asked=asked, room=room)
        found = decide(job(chosen, overlap, not_later_than_s=limit), due, standing, NOW)
        assert sorted(answered(found), key=repr) == sorted(due, key=repr)
        assert all(settled.reason for settled in found.settled)
        assert all(reason for _, reason in found.hold)
        if overlap != "allow":
            assert len(found.start) <= 1
            assert not (found.start and any(live)), "two at once"
            assert not (found.start and room == 0), "its group was full"
        else:
            assert room is None or len(found.start) <= room
        if found.cancel:
            assert overlap == "cancel_running"
            assert live[0]
            assert not asked
        for settled in found.settled:
            assert (settled.outcome == "ran") == (settled.open.ended is not None), "what ran is never called missed"
        if not due:
            assert found == Answers()


@pytest.mark.parametrize("overlap", get_args(Overlap))
@pytest.mark.parametrize("chosen", get_args(CatchUp))
def test_P2_what_is_asked_again_at_once_never_starts_a_second_one(chosen: CatchUp, overlap: Overlap) -> None:
    """The answers are carried out, and the same moment is looked at once more."""
    for ages, manual in itertools.product(OPENS.values(), (False, True)):
        the_job = job(chosen, overlap)
        first = decide(the_job, [*map(minutes_ago, ages)], Standing(manual=manual), NOW)
        left = [*(replace(each, held=True) for each, _ in first.hold), *first.stay]
        again = decide(the_job, left, Standing(bool(first.start), manual), NOW)
        if overlap != "allow":
            assert not again.start
            assert sorted(again.stay, key=repr) == sorted(left, key=repr)
        assert again.hold == ()


# ── what each pair means, after a downtime in which slots 90, 60 and 30 minutes ago passed


@pytest.mark.parametrize(
    ("chosen", "overlap", "start", "hold", "settled", "missed"),
    [
        ("skip", "skip", [], [], {90: "missed", 60: "missed", 30: "missed"}, 3),
        ("skip", "allow", [], [], {90: "missed", 60: "missed", 30: "missed"}, 3),
        ("once", "skip", [30], [], {90: "missed", 60: "missed"}, 2),
        ("once", "queue", [30], [], {90: "missed", 60: "missed"}, 2),
        ("once", "queue_one", [30], [], {90: "missed", 60: "missed"}, 2),
        ("once", "cancel_running", [30], [], {90: "missed", 60: "missed"}, 2),
        ("once", "allow", [30], [], {90: "missed", 60: "missed"}, 2),
        ("all", "skip", [90], [60, 30], {}, 0),
        ("all", "queue", [90], [60, 30], {}, 0),
        ("all", "queue_one", [90], [30], {60: "skipped"}, 0),
        ("all", "cancel_running", [30], [], {90: "skipped", 60: "skipped"}, 0),
        ("all", "allow", [90, 60, 30], [], {}, 0),
    ],
)
def test_after_a_downtime(
    chosen: CatchUp, overlap: Overlap, start: list[int], hold: list[int], settled: dict[int, str], missed: int
) -> None:
    found = decide(job(chosen, overlap), [*map(minutes_ago, (30, 90, 60))], Standing(), NOW)
    assert minutes(found.start) == start
    assert minutes([each for each, _ in found.hold]) == hold
    assert {age: outcome for age, (outcome, _) in outcomes(found).items()} == settled
    assert found.missed == missed
    assert {reason for _, reason in found.hold} <= {FOR_TURN}


@pytest.mark.parametrize(
    ("overlap", "live", "start", "hold", "settled", "cancel"),
    [
        ("skip", "schedule", [], [], {0: STILL_GOING}, None),
        ("skip", "manual", [], [], {}, None),
        ("queue", "schedule", [], [0], {}, None),
        ("queue", "manual", [], [0], {}, None),
        ("queue_one", "schedule", [], [0], {}, None),
        ("queue_one", "manual", [], [0], {}, None),
        ("cancel_running", "schedule", [], [0], {}, CANCELLED),
        ("cancel_running", "manual", [], [0], {}, None),
        ("allow", "schedule", [0], [], {}, None),
        ("allow", "manual", [0], [], {}, None),
    ],
)
def test_a_slot_that_comes_due_while_a_run_is_live(
    overlap: Overlap, live: str, start: list[int], hold: list[int], settled: dict[int, str], cancel: str | None
) -> None:
    standing = Standing(scheduled=live == "schedule", manual=live == "manual")
    found = decide(job(overlap=overlap), [minutes_ago(0)], standing, NOW)
    assert minutes(found.start) == start
    assert [(minutes([each]), reason) for each, reason in found.hold] == [([age], FOR_RUN) for age in hold]
    assert {age: reason for age, (_, reason) in outcomes(found).items()} == settled
    assert found.cancel == cancel


@pytest.mark.parametrize("overlap", ["queue_one", "cancel_running"])
def test_a_newer_slot_takes_the_place_of_one_that_waits(overlap: Overlap) -> None:
    found = decide(job(overlap=overlap), [minutes_ago(10, held=True), minutes_ago(0)], Standing(scheduled=True), NOW)
    assert [minutes([each]) for each, _ in found.hold] == [[0]]
    assert outcomes(found) == {10: ("skipped", REPLACED)}


def test_a_queue_keeps_its_order_and_does_not_grow_without_end() -> None:
    waiting = [minutes_ago(QUEUE_MAX - number, held=True) for number in range(QUEUE_MAX - 1)]
    one = decide(job(overlap="queue"), [*waiting, minutes_ago(0)], Standing(scheduled=True), NOW)
    assert minutes([each for each, _ in one.hold]) == [0]
    full = decide(job(overlap="queue"), [*waiting, minutes_ago(0.5, held=True), minutes_ago(0)], Standing(True), NOW)
    assert (full.hold, outcomes(full)) == ((), {0: ("skipped", f"{QUEUE_MAX} slots of it wait already")})
    free = decide(job(overlap="queue"), [minutes_ago(0), minutes_ago(7, held=True)], Standing(), NOW)
    assert (minutes(free.start), minutes([each for each, _ in free.hold])) == ([7], [0])


def test_what_is_held_is_not_caught_up_with() -> None:
    """It was seen in time: neither `once` nor `skip` takes its turn."""
    for chosen in get_args(CatchUp):
        held = [minutes_ago(300, held=True), minutes_ago(200, held=True)]
        found = decide(job(chosen, "queue"), held, Standing(), NOW)
        assert (minutes(found.start), minutes(found.stay)) == ([300], [200])


def test_only_not_later_than_ends_what_is_held() -> None:
    found = decide(
        job("all", "queue", not_later_than_s=3600), [minutes_ago(300, held=True), minutes_ago(60)], Standing(), NOW
    )
    assert minutes(found.start) == [60]
    assert outcomes(found) == {300: ("missed", "it could not start within 1 hour of when it was due (not_later_than)")}
    assert found.missed == 1


def test_a_slot_is_fresh_up_to_its_limit_and_not_longer() -> None:
    limit = job("once", not_later_than_s=600)
    assert decide(limit, [minutes_ago(10)], Standing(), NOW).start
    late = decide(limit, [minutes_ago(10 + 1 / 60)], Standing(), NOW)
    assert (late.start, outcomes(late)[10 + 1 / 60][0]) == ((), "missed")


def test_skip_lets_a_slot_run_that_is_late_by_less_than_a_restart() -> None:
    grace = CATCH_UP_GRACE_S / 60
    assert decide(job("skip"), [minutes_ago(grace)], Standing(), NOW).start
    late = decide(job("skip"), [minutes_ago(grace + 0.1)], Standing(), NOW)
    assert [*outcomes(late).values()] == [("missed", f"{NOT_IN_TIME}, and catch_up is skip")]
    assert decide(job("skip", not_later_than_s=3600), [minutes_ago(50)], Standing(), NOW).start


def test_skip_lets_no_manual_run_eat_a_slot() -> None:
    first = decide(job("skip"), [minutes_ago(0)], Standing(manual=True), NOW)
    assert [reason for _, reason in first.hold] == [FOR_RUN]
    later = decide(job("skip"), [minutes_ago(600, held=True)], Standing(), NOW)
    assert minutes(later.start) == [600]


def test_while_a_manual_run_is_live_nothing_is_decided_that_waiting_could_change() -> None:
    due = [minutes_ago(30), minutes_ago(0)]
    for chosen in ("once", "all"):
        found = decide(job(chosen), due, Standing(manual=True), NOW)
        assert found == Answers(stay=tuple(due))


def test_all_takes_the_latest_ones_up_to_its_limit() -> None:
    due = [minutes_ago(number) for number in range(CATCH_UP_ALL_MAX + 5)]
    found = decide(job("all"), due, Standing(), NOW)
    assert minutes(found.start) == [CATCH_UP_ALL_MAX - 1]
    assert (len(found.hold), found.missed) == (CATCH_UP_ALL_MAX - 1, 5)


def test_what_runs_stands_for_what_those_stood_for_that_it_replaces() -> None:
    found = decide(job("once"), [minutes_ago(9, missed=4), minutes_ago(1)], Standing(), NOW)
    assert (minutes(found.start), found.missed) == ([1], 5)
    replaced = decide(
        job(overlap="queue_one"), [minutes_ago(9, held=True, missed=4), minutes_ago(1)], Standing(True), NOW
    )
    assert replaced.missed == 4


def test_excluded_slots_are_skipped_and_stand_for_nothing() -> None:
    found = decide(job("once"), [minutes_ago(30), minutes_ago(0, excluded="nights: 22:00-07:00")], Standing(), NOW)
    assert (minutes(found.start), found.missed) == ([30], 0)
    assert outcomes(found) == {0: ("skipped", "nights: 22:00-07:00")}


# ── groups


@pytest.mark.parametrize("overlap", get_args(Overlap))
def test_a_full_group_lets_nothing_start_and_nothing_be_lost(overlap: Overlap) -> None:
    found = decide(job(overlap=overlap), [minutes_ago(0)], Standing(room=0, full="group gpu is full (1 of 1)"), NOW)
    assert not found.start
    assert not found.settled
    if overlap == "skip":
        assert minutes(found.stay) == [0]
    else:
        assert [reason for _, reason in found.hold] == ["group gpu is full (1 of 1)"]


def test_a_group_with_some_room_takes_as_many() -> None:
    found = decide(job("all", "allow"), [*map(minutes_ago, (30, 20, 10))], Standing(room=2), NOW)
    assert (minutes(found.start), minutes([each for each, _ in found.hold])) == ([30, 20], [10])


# ── one row by itself


def candidate(**given: Any) -> Candidate:
    values = {"trigger": "schedule", "exception": None, "removed": False, "problem": None, "paused": None}
    return Candidate(**(values | given))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"paused": "paused by me"}, "exit status 1; not tried again: paused by me"),
        ({"exception": "skip"}, "exit status 1; not tried again: skipped by a person in advance"),
        ({"removed": True}, "exit status 1; not tried again: the job was removed"),
        ({"problem": "line 3"}, "exit status 1; not tried again: the job's file is broken: line 3"),
        ({"trigger": "manual", "removed": True}, "exit status 1; not tried again: the job was removed"),
        ({"trigger": "manual", "paused": "p"}, None),
        ({"spent": 3}, None),
        ({}, None),
    ],
)
def test_what_waits_for_its_retry_was_run_and_never_ends_otherwise(given: dict[str, Any], says: str | None) -> None:
    found = early(candidate(ended=RETRY_ENDED, **given))
    assert says == (found and found.reason)
    assert found is None or found.outcome == "ran"


@pytest.mark.parametrize("overlap", get_args(Overlap))
@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("full", [None, "group gpu is full"])
def test_a_manual_run_waits_for_runs_of_its_job_and_for_its_group(
    overlap: Overlap, live: bool, full: str | None
) -> None:
    waits = FOR_RUN if live and overlap != "allow" else full
    assert by_hand(job(overlap=overlap), full, live=live) == waits


# ── repeat


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow"])
def test_only_as_many_of_a_backlog_have_a_turn_as_repeat_has_left(overlap: Overlap) -> None:
    due = [minutes_ago(number, held=number == 40) for number in (40, 30, 20, 10)]
    found = decide(job("all", overlap, repeat=5), due, Standing(left=2), NOW)
    assert minutes([*found.start, *(each for each, _ in found.hold), *found.stay]) == [40, 30]
    assert outcomes(found) == dict.fromkeys((20, 10), ("void", "it is to run 5 times, and others come first"))
    assert found.missed == 0


def test_a_retry_counts_for_repeat_and_keeps_its_turn() -> None:
    retry = minutes_ago(-5, ended=RETRY_ENDED)
    found = decide(job("all", "queue", repeat=1), [minutes_ago(3), retry], Standing(left=1), NOW)
    assert (found.start, found.stay) == ((), (retry,))
    assert [done.outcome for done in found.settled] == ["void"]


# ── retries against the next slot


@pytest.mark.parametrize("overlap", ["skip", "queue_one", "cancel_running"])
@pytest.mark.parametrize("due_in", [-1, 5])
def test_a_retry_gives_way_to_the_next_slot(overlap: Overlap, due_in: float) -> None:
    found = decide(job(overlap=overlap), [minutes_ago(0), minutes_ago(-due_in, ended=RETRY_ENDED)], Standing(), NOW)
    assert minutes(found.start) == [0]
    assert outcomes(found) == {-due_in: ("ran", f"{RETRY_ENDED}; {GAVE_WAY}")}
    assert found.missed == 0


@pytest.mark.parametrize("overlap", ["queue", "allow"])
def test_a_retry_keeps_its_turn_in_a_queue_and_beside_others(overlap: Overlap) -> None:
    later = minutes_ago(-5, ended=RETRY_ENDED)
    found = decide(job(overlap=overlap), [minutes_ago(0), later], Standing(), NOW)
    assert (minutes(found.start), found.stay, found.settled) == ([0], (later,), ())
    due = minutes_ago(1, ended=RETRY_ENDED)
    found = decide(job(overlap=overlap), [minutes_ago(0), due], Standing(), NOW)
    assert minutes(found.start) == ([1] if overlap == "queue" else [1, 0])


def test_a_retry_does_not_give_way_to_a_slot_that_has_no_turn() -> None:
    due = minutes_ago(1, ended=RETRY_ENDED)
    found = decide(job(), [minutes_ago(0, excluded="nights: 22:00-07:00"), due], Standing(), NOW)
    assert found.start == (due,)
    slow = decide(job(not_later_than_s=600), [minutes_ago(30, ended=RETRY_ENDED)], Standing(), NOW)
    assert [(done.outcome, done.reason.startswith(RETRY_ENDED)) for done in slow.settled] == [("ran", True)]


@pytest.mark.parametrize("overlap", get_args(Overlap))
def test_a_retry_that_could_only_give_way_is_known_before(overlap: Overlap) -> None:
    """Whatever `gives_way` says comes true when both are due."""
    for next_in in (-3, 0, 4, 5):
        due, following = NOW + 5 * MINUTE, NOW + next_in * MINUTE
        later = max(due, following)
        opens = [Open(due, due, ended=RETRY_ENDED), Open(following, following)]
        found = decide(job(overlap=overlap), opens, Standing(), later)
        gone = [done.open.ended for done in found.settled]
        assert gives_way(job(overlap=overlap), due, following) == (gone == [RETRY_ENDED])
    assert not gives_way(job(overlap=overlap), due, None)


# ── which slots have passed


def slots(text: str = MINUTELY) -> RecurrenceSet:
    return parse_schedule(text, "UTC", anchor=START).set


def at_cursor(slot: datetime = START, spread: timedelta = timedelta(0)) -> Open:
    return Open(slot, slot + spread)


@pytest.mark.parametrize("passed_by", [0, 1, 5, MISSED_ROWS_MAX - 1, MISSED_ROWS_MAX, MISSED_ROWS_MAX + 1, 5000])
def test_for_a_job_that_says_nothing_it_is_the_backlog(passed_by: int) -> None:
    now = START + passed_by * MINUTE + 30 * SECOND
    for spoken_for in (set[datetime](), {START + MINUTE, START + passed_by * MINUTE}):
        found = passed(job(), slots(), at_cursor(), now, spoken_for - {START})
        back = backlog(slots(), START, now, spoken_for - {START})
        assert found[-1].slot == back.latest
        assert [(each.first or each.slot, each.slot, each.count) for each in found[:-1]] == [*map(tuple, (
            (span.first, span.last, span.count) for span in back.passed))]  # fmt: skip


@pytest.mark.parametrize("chosen", get_args(CatchUp))
@pytest.mark.parametrize("passed_by", [0, 1, 50, 150, 950, 1500, 3000])
@pytest.mark.parametrize("limit", [None, 600, 3 * 3600])
def test_P1_every_passed_slot_belongs_to_exactly_one(chosen: CatchUp, passed_by: int, limit: int | None) -> None:
    now = START + passed_by * MINUTE
    excluded = lambda slot: "nights: 22:00-07:00" if slot.hour >= 22 or slot.hour < 7 else None
    for why in (None, excluded, lambda _slot: "always"):
        the_job = job(chosen, not_later_than_s=limit)
        found = passed(the_job, slots(), at_cursor(), now, {START + 7 * MINUTE}, why)
        covered = [slot for each in found for slot in slots().between((each.first or each.slot) - SECOND, each.slot)]
        covered = [slot for slot in covered if slot != START + 7 * MINUTE]
        expected = [slot for slot in slots().between(START - SECOND, now) if slot != START + 7 * MINUTE]
        assert covered == expected
        assert sum(each.count for each in found) == len(expected)
        if why is not None:
            assert all(each.excluded == why(each.slot) for each in found if each.count == 1)
        runs = [each.slot for each in catch_up(the_job, found, now).kept]
        fresh = [
            slot for slot in expected if not (why and why(slot)) and (limit is None or now - slot <= limit * SECOND)
        ]
        if chosen == "once" and passed_by < EXCLUDED_LOOK_MAX:
            assert runs == fresh[-1:]
        if chosen == "all" and why is None:
            assert runs == fresh[-CATCH_UP_ALL_MAX:]


@pytest.mark.parametrize("taken", [{1}, {1, 2}, {2}, {3}, {1, 2, 3}])
def test_a_span_does_not_end_with_a_slot_that_has_a_row_of_its_own(taken: set[int]) -> None:
    """What is left before the newest ones may be the planned slot alone."""
    spoken_for = {START + number * MINUTE for number in taken}
    now = START + (CATCH_UP_ALL_MAX + 3) * MINUTE
    found = passed(job("all"), slots(), at_cursor(), now, spoken_for)
    first = found[0]
    assert first.begin == START
    assert first.slot not in spoken_for
    assert first.count == 1 + sum(
        START < slot <= first.slot for slot in slots().between(START, now) if slot not in spoken_for
    )
    assert len({each.slot for each in found}) == len(found)


def test_an_excluded_stretch_behind_the_slot_that_runs_is_one_span_with_its_reason() -> None:
    now = START + 1000 * MINUTE  # 00:40 of the next day
    found = passed(job(), slots(), at_cursor(), now, excluded=lambda slot: "nights: 22:00-07:00" if slot.hour < 7 or slot.hour >= 22 else None)  # noqa: E501  # fmt: skip
    assert [(each.slot, each.count, each.excluded) for each in found[1:]] == [
        (at("21:59"), 1, None), (now, 161, "nights: 22:00-07:00"),
    ]  # fmt: skip


def test_with_a_spread_a_slot_has_passed_once_it_is_due() -> None:
    spread = 90 * SECOND
    found = passed(job(), slots(), at_cursor(spread=spread), START + 2 * MINUTE + 29 * SECOND)
    assert [(each.slot, each.due) for each in found] == [(START, START + spread)]
    found = passed(job(), slots(), at_cursor(spread=spread), START + 2 * MINUTE + 30 * SECOND)
    assert [(each.slot, each.due) for each in found] == [
        (START, START + spread),
        (START + MINUTE, START + MINUTE + spread),
    ]


# ── retries


def failing(**given: Any) -> Any:
    return judge("Tides", a_result(**({"exit_code": 1} | given)))


@pytest.mark.parametrize(
    ("ending", "cause"),
    [
        (failing(), "failure"),
        (failing(exit_code=None, signal=9), "failure"),
        (failing(exit_code=None, signal=15, ended_by="wall limit of 20 minutes"), "timeout"),
        (failing(exit_code=None, refused="no such file"), "start"),
        (failing(exit_code=None, signal=15, ended_by="cancelled by anna"), None),
        (failing(exit_code=None, signal=15, ended_by="the gateway stopped"), None),
        (failing(exit_code=0), None),
        (blocked("Tides", ("no such script",)), None),
        (lost("Tides", "its process is gone"), None),
    ],
)
def test_only_known_failures_are_tried_again(ending: Any, cause: Cause | None) -> None:
    assert cause_of(ending) == cause
    eager = a_job(retries=Retries(max=3))
    assert (retry_delay(eager, ending, 1, "k") is not None) == (cause is not None)
    for asked in get_args(Cause):
        choosy = a_job(retries=Retries(max=3, on=(asked,)))
        assert (retry_delay(choosy, ending, 1, "k") is not None) == (cause == asked)


def test_a_job_that_says_nothing_is_never_tried_again() -> None:
    for retries in (Retries(), Retries(max=0), Retries(backoff_s=1.0)):
        assert retry_delay(a_job(retries=retries), failing(), 1, "k") is None


def test_retries_end_with_their_number() -> None:
    three = a_job(retries=Retries(max=3))
    assert [retry_delay(three, failing(), attempt, "k") is not None for attempt in (1, 2, 3, 4)] == [True] * 3 + [False]


def test_without_a_ceiling_the_first_pause_may_be_longer_than_the_usual_one() -> None:
    slow = a_job(retries=Retries(max=5, backoff_s=3 * CEILING_DEFAULT_S))
    assert retry_delay(slow, failing(), 2, "k") == 3 * CEILING_DEFAULT_S


# ── spread


def test_a_spread_is_a_stable_part_of_itself() -> None:
    ids = [f"{number:012x}" for number in range(2000)]
    assert {spread_offset_s(each, 0) for each in ids} == {0}
    assert {spread_offset_s(each, 1) for each in ids} == {0}
    offsets = [spread_offset_s(each, 300) for each in ids]
    assert offsets == [spread_offset_s(each, 300) for each in ids]
    assert min(offsets) >= 0
    assert max(offsets) < 300
    tenths = [sum(start <= offset < start + 30 for offset in offsets) for start in range(0, 300, 30)]
    assert min(tenths) > 140, "they lie beside one another"
    assert spread_offset_s("0c1d2e3f4a5b", 300) == 65  # written down: planned rows depend on it
