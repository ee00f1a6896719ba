"""Why a slot ended as it did, in sentences."""

from __future__ import annotations

from typing import Any

import pytest

from horae.core.admission import STILL_GOING
from horae.core.story import PRUNED, Around, story
from horae.core.uptime import Downtime, Uptime, downtimes
from tests.support.builders import DAY, HOUR, MINUTE, SECOND, at

DAY_OF = "2026-03-02T"


def decision(what: str, when: str, actor: str = "gateway", **detail: Any) -> dict[str, Any]:
    return {"at": f"{DAY_OF}{when}+00:00", "actor": actor, "what": what, "detail": detail}


def an_item(*decisions: dict[str, Any], **given: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "slot": f"{DAY_OF}09:00:00+00:00", "due": f"{DAY_OF}09:00:00+00:00", "trigger": "schedule", "state": "settled",
        "outcome": "ran", "reason": "exit status 0", "exception": None, "missed": 0, "span": None,
        "decisions": list(decisions),
    }  # fmt: skip
    return values | given


PLANNED = decision("planned", "08:00:00", by="0 9 * * *", zone="UTC")


def told(item: dict[str, Any], **around: Any) -> list[str]:
    return story(item, Around(now=at("15:00"), **around))


def test_the_story_of_a_late_run() -> None:
    item = an_item(
        PLANNED,
        decision("claimed", "14:00:01", attempt=1, late_s=18_001.0, missed=2),
        decision("started", "14:00:01.250000"),
        decision("completed", "14:00:03", reason="exit status 0", took_s=2.0),
        decision("delivered", "14:00:04", target="desk"),
        missed=2,
    )
    down = Downtime(at("08:50"), at("14:00"), stopped=True)
    assert told(item, source="the cron line 0 9 * * *", downs=[down]) == [
        "planned by the cron line 0 9 * * * (UTC)",
        "due 09:00",
        "the gateway was down 08:50–14:00",
        "catch-up is once",
        "started 14:00:01, 5 h 0 min late, for 2 missed slots before it too",
        "completed 14:00:03 after 2.0 s: exit status 0",
        "delivered to desk",
    ]


def test_a_run_in_time_says_nothing_about_policies() -> None:
    item = an_item(PLANNED, decision("claimed", "09:00:00", late_s=0.01), decision("started", "09:00:00.020000"))
    assert told(item) == ["planned by “0 9 * * *” (UTC)", "due 09:00", "started 09:00, on time"]


def test_what_people_decided_in_advance_is_told_with_who_and_when() -> None:
    item = an_item(
        PLANNED,
        decision("moved", "08:10:00", "ann", to="2026-03-03T10:30:00+00:00", undo={"verb": "exception"}),
        decision("exception_cleared", "08:15:00", "bob"),
        decision("skip_planned", "08:20:00", "ann"),
        decision("skipped", "09:00:00", reason="skipped by a person in advance"),
        outcome="skipped",
    )
    assert told(item)[1:] == [
        "moved to 10:30 on 2026-03-03 by ann at 08:10",
        "bob took that back at 08:15",
        "to be skipped, said ann at 08:20",
        "due 09:00",
        "skipped at 09:00: skipped by a person in advance",
    ]


def test_a_slot_that_was_taken_away_and_came_back_does_not_end_with_its_loss() -> None:
    gone = decision("unplanned", "08:10:00", reason="the job was removed")
    back = decision("planned", "08:20:00", by="0 9 * * *", zone="UTC")
    item = an_item(PLANNED, gone, back, state="planned", outcome=None, reason=None)
    assert told(item)[2:] == ["unplanned at 08:10: the job was removed", "planned again at 08:20"]


def test_a_run_by_hand() -> None:
    item = an_item(decision("ordered", "09:00:00", "ann"), decision("started", "09:00:00.300000"), trigger="manual")
    assert told(item) == ["ordered by ann at 09:00", "due 09:00", "started 09:00"]


def test_a_span_says_how_many_and_from_when_to_when() -> None:
    span = {"from": f"{DAY_OF}09:00:00+00:00", "to": f"{DAY_OF}13:59:00+00:00", "count": 300}
    missed = decision("missed", "14:00:00", reason="nothing was running to start it in time", slots=300)
    item = an_item(missed, span=span, outcome="missed", reason="nothing was running to start it in time")
    assert told(item, source="“every minute”")[:3] == [
        "a slot of “every minute” (UTC)", "300 slots were due, 09:00 to 13:59", "catch-up is once",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("around", "outcome", "expected"),
    [
        ({"catch_up": "skip", "not_later_than_s": 7200}, "missed", ["catch-up is skip", "not later than 2 hours"]),
        ({"catch_up": "all"}, "missed", ["catch-up is all"]),
        ({"overlap": "queue"}, "skipped", ["overlap is queue"]),
    ],
)
def test_the_policy_that_applied_is_named(around: dict[str, Any], outcome: str, expected: list[str]) -> None:
    item = an_item(decision(outcome, "14:00:00", reason=STILL_GOING), outcome=outcome, reason=STILL_GOING)
    policies = [line for line in told(item, **around) if line.startswith(("catch-up", "overlap", "not later"))]
    assert policies[: len(expected)] == expected


def test_attempts_are_counted_and_failures_told() -> None:
    item = an_item(
        PLANNED,
        decision("claimed", "09:00:00", attempt=1, late_s=0.0),
        decision("started", "09:00:00"),
        decision("failed", "09:00:05", reason="exit status 1", took_s=5.0),
        decision("retry_planned", "09:00:05", in_s=30.0),
        decision("claimed", "09:00:35", attempt=2, late_s=0.0),
        decision("started", "09:00:35"),
        decision("unknown", "09:01:00", reason="the gateway ended first", took_s=None),
        decision("resolved", "10:00:00", "ann", reason="resolved as completed by ann"),
        decision("failed", "10:01:00", target="desk", reason="refused", evidence=None),
    )
    assert told(item)[2:] == [
        "started 09:00, on time",
        "failed 09:00:05 after 5.0 s: exit status 1",
        "to be tried again at 09:00:35, 30.0 s later",
        "started 09:00:35 (attempt 2), on time",
        "unknown 09:01: the gateway ended first",
        "resolved by ann at 10:00: resolved as completed by ann",
        "delivery to desk failed: refused",
    ]


def test_a_retry_has_an_instant_of_its_own_and_is_no_spread() -> None:
    item = an_item(
        PLANNED,
        decision("claimed", "09:00:00.004000", attempt=1, late_s=0.004),
        decision("started", "09:00:00.010000"),
        decision("failed", "09:00:01", reason="exit status 3", took_s=0.99),
        decision("retry_planned", "09:00:01", in_s=30.0),
        decision("claimed", "09:00:31.002000", attempt=2, late_s=0.002),
        decision("started", "09:00:31.010000"),
        decision("completed", "09:00:32", reason="exit status 0", took_s=0.99),
        due=f"{DAY_OF}09:00:31+00:00",
    )
    assert told(item) == [
        "planned by “0 9 * * *” (UTC)",
        "due 09:00",
        "started 09:00, on time",
        "failed 09:00:01 after 990 ms: exit status 3",
        "to be tried again at 09:00:31, 30.0 s later",
        "started 09:00:31 (attempt 2), on time",
        "completed 09:00:32 after 990 ms: exit status 0",
    ]


def test_what_was_pruned_still_has_its_outcome_and_reason() -> None:
    assert told(an_item()) == ["due 09:00", "ran: exit status 0", PRUNED]


def test_an_open_slot_says_what_is_in_its_way() -> None:
    item = an_item(PLANNED, state="planned", outcome=None, reason="waits for the run that is live")
    assert told(item, ahead=["it will be skipped"])[2:] == ["waits for the run that is live", "it will be skipped"]
    claimed = an_item(PLANNED, decision("claimed", "09:00:00", late_s=0.0), state="claimed", outcome=None, reason=None)
    assert told(claimed, ahead=["never shown"])[2:] == ["claimed 09:00, on time"]


def test_a_spread_is_told_and_a_move_is_none() -> None:
    item = an_item(PLANNED, due=f"{DAY_OF}09:03:20+00:00")
    assert told(item)[1] == "due 09:03:20, 3 min 20 s after its slot by its spread"
    assert told({**item, "exception": "move"})[1] == "due 09:03:20"


def test_sleep_and_many_downtimes() -> None:
    downs = [Downtime(at("09:00") + n * HOUR, at("09:30") + n * HOUR, stopped=True) for n in range(5)]
    lines = told(an_item(PLANNED), downs=downs, slept=[(at("10:00"), at("10:05"))])
    assert lines[2:7] == [
        "the gateway was down 09:00–09:30", "the gateway was down 10:00–10:30", "the gateway was down 11:00–11:30",
        "and 2 more times", "the machine slept 10:00–10:05",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("down", "says"),
    [
        (Downtime(None, None, stopped=True), "no gateway has ever run"),
        (Downtime(None, at("10:00"), stopped=True), "no gateway had run before 10:00"),
        (Downtime(at("08:00"), None, stopped=True), "no gateway has run since 08:00"),
        (
            Downtime(at("08:00"), None, stopped=False),
            "the gateway was last heard of at 08:00; no gateway has run since",
        ),
        (
            Downtime(at("08:00", 1), at("10:00"), stopped=False),
            "the gateway was last heard of at 08:00 on 2026-03-01, and none began before 10:00",
        ),
    ],
)
def test_how_a_downtime_is_told(down: Downtime, says: str) -> None:
    assert told(an_item(PLANNED), downs=[down])[2] == says


# ── when no gateway ran


def test_downtimes_lie_between_gateways() -> None:
    ups = [
        Uptime(at("08:00"), at("08:50"), stopped=True),
        Uptime(at("14:00"), at("15:00"), stopped=False),
        Uptime(at("16:00"), None, stopped=False),
    ]
    first = Downtime(None, at("08:00"), stopped=True)
    second = Downtime(at("08:50"), at("14:00"), stopped=True)
    third = Downtime(at("15:00"), at("16:00"), stopped=False)
    assert downtimes(ups, at("07:00"), at("20:00")) == [first, second, third]
    assert downtimes(ups, at("09:00"), at("14:00")) == [second]
    assert downtimes(ups, at("08:10"), at("08:20")) == []
    assert downtimes(ups, at("17:00"), at("20:00")) == []
    assert downtimes(ups[:2], at("18:00"), at("20:00")) == [Downtime(at("15:00"), None, stopped=False)]
    assert downtimes([], at("18:00"), at("20:00")) == [Downtime(None, None, stopped=True)]


def test_where_several_gateways_run_one_suffices() -> None:
    ups = [
        Uptime(at("08:00"), at("12:00"), stopped=True),
        Uptime(at("09:00"), at("10:00"), stopped=False),
        Uptime(at("11:00"), at("13:00"), stopped=True),
    ]
    assert downtimes(ups, at("08:30"), at("12:30")) == []
    assert downtimes(ups, at("08:30"), at("14:00")) == [Downtime(at("13:00"), None, stopped=True)]
    assert downtimes([*ups, Uptime(at("12:00"), None, stopped=False)], at("08:30"), at("23:00")) == []


def test_a_downtime_that_ends_as_the_slot_comes_due_does_not_touch_it() -> None:
    ups = [Uptime(at("08:00"), at("08:50"), stopped=True), Uptime(at("09:00"), None, stopped=False)]
    assert downtimes(ups, at("09:00"), at("09:00") + SECOND) == []
    assert downtimes(ups, at("09:00") - SECOND, at("09:00")) != []
    assert downtimes(ups, at("08:00") - DAY, at("08:00") - MINUTE) == [Downtime(None, at("08:00"), stopped=True)]


def test_what_a_held_slot_waits_for_is_said_once() -> None:
    held = decision("held", "09:00:05", reason="waits for the run that is live")
    item = an_item(PLANNED, held, state="planned", outcome=None, reason="waits for the run that is live")
    assert told(item)[2:] == ["held at 09:00:05: waits for the run that is live"]
    assert told({**item, "reason": "waits for its group"})[-1] == "waits for its group"


def test_what_goes_on_later_is_not_called_late_for_that() -> None:
    said = told(
        an_item(
            decision("planned", "08:00", by="0 9 * * *", zone="UTC"),
            decision("claimed", "09:00:00", late_s=0.01),
            decision("started", "09:00:00"),
            decision("parked", "09:00:10", reason="it wants to use shell"),
            decision("approved", "11:00:00", actor="anna"),
            decision("claimed", "11:00:00", late_s=0.01),
            decision("started", "11:00:00"),
            decision("completed", "11:00:05", took_s=5.0, reason="exit status 0"),
            outcome="ran",
            state="settled",
            due=f"{DAY_OF}11:00:00+00:00",
        )
    )
    assert said[1:] == [
        "due 09:00",
        "started 09:00, on time",
        "parked at 09:00:10: it wants to use shell",
        "approved by anna at 11:00",
        "started 11:00 (attempt 2), on time",
        "completed 11:00:05 after 5.0 s: exit status 0",
    ]
