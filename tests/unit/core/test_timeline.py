"""The six steps of a run: each state as it is on record, and nothing that the record does not say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.timeline import timeline

DUE, CLAIMED, STARTED, FINISHED = (f"2026-03-02T08:00:0{second}+01:00" for second in (0, 1, 3, 8))
STEPS = ["planned", "claimed", "looked at", "run", "settled", "delivered"]
STATES = ("claimed", "running", "completed", "failed", "cancelled", "unknown", "blocked", "released")
PLANNED = {"at": "2026-03-01T08:00:00+01:00", "actor": "gateway", "what": "planned", "detail": {"by": "0 8 * * *"}}


def a_run(state: str = "completed", **more: Any) -> dict[str, Any]:
    begun = state not in ("claimed", "blocked", "released")
    over = state not in ("claimed", "running")
    made: dict[str, Any] = {
        "id": "r1", "state": state, "trigger": "schedule", "cause": None, "attempt": 1, "missed": 0, "host": "here",
        "due": DUE, "claimed_at": CLAIMED, "started_at": STARTED if begun else None,
        "finished_at": FINISHED if over else None, "reason": "said so" if over else None, "resolved": None, "held": None,
        "outcome": {"completed": "ran", "failed": "ran", "cancelled": "ran", "unknown": "ran", "blocked": "blocked"}.get(state),
        "deliveries": [],
    }  # fmt: skip
    return {**made, **more}


def steps(run: dict[str, Any], decisions: Any = (PLANNED,)) -> dict[str, dict[str, Any]]:
    told = timeline(run, list(decisions))
    assert [step["name"] for step in told] == STEPS
    return {step["name"]: step for step in told}


def standings(run: dict[str, Any]) -> list[str]:
    return [step["standing"] for step in steps(run).values()]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("claimed", ["done", "done", "now", "ahead", "ahead", "ahead"]),
        ("running", ["done", "done", "done", "now", "ahead", "ahead"]),
        ("completed", ["done", "done", "done", "done", "done", "left out"]),
        ("failed", ["done", "done", "done", "failed", "done", "left out"]),
        ("cancelled", ["done", "done", "done", "failed", "done", "left out"]),
        ("unknown", ["done", "done", "done", "unknown", "done", "left out"]),
        ("blocked", ["done", "done", "failed", "left out", "done", "left out"]),
        ("released", ["done", "done", "left out", "left out", "left out", "left out"]),
    ],
)
def test_each_state_of_a_run(state: str, expected: list[str]) -> None:
    assert standings(a_run(state)) == expected


def test_instants_and_lengths_are_those_on_record() -> None:
    told = steps(a_run())
    assert (told["planned"]["at"], told["claimed"]["at"], told["run"]["at"]) == (PLANNED["at"], CLAIMED, STARTED)
    assert (told["claimed"]["took_s"], told["looked at"]["took_s"], told["run"]["took_s"]) == (1.0, 2.0, 5.0)


def test_of_what_nobody_saw_no_length_is_told() -> None:
    told = steps(a_run("unknown", reason="its shim was gone"))
    assert told["run"]["took_s"] is None
    assert "its shim was gone" in told["run"]["says"]


def test_a_run_of_which_nobody_knows_whether_it_began_is_not_said_not_to_have_begun() -> None:
    told = steps(a_run("unknown", started_at=None))
    assert (told["looked at"]["standing"], told["run"]["standing"]) == ("unknown", "unknown")
    assert "was not started" not in told["run"]["says"]


def test_a_retry_is_ahead_and_an_earlier_attempt_does_not_settle_its_slot() -> None:
    retry = {"at": FINISHED, "actor": "gateway", "what": "retry_planned", "detail": {"in_s": 60}, "run_id": "r1"}
    waits = steps(a_run("failed", outcome=None), [PLANNED, retry])["settled"]
    assert (waits["standing"], waits["says"]) == ("ahead", "it is tried again, 1 min 0 s later")
    later = "2026-03-02T08:01:09+01:00"
    done = {"at": later, "actor": "gateway", "what": "completed", "detail": {"took_s": 1.0, "reason": "exit status 0"}}
    first = steps(a_run("failed", outcome="ran"), [PLANNED, retry, done])["settled"]
    assert first["at"] in (None, later)  # never the end of an attempt that settled nothing
    assert "attempt 2" in steps(a_run(attempt=2))["claimed"]["says"]
    assert "tried again" in first["says"]
    after = {**retry, "at": PLANNED["at"], "run_id": "r0"}
    second = steps(a_run(attempt=2), [PLANNED, after])
    assert "attempt 2, 1 min 0 s after the one before it failed" in second["claimed"]["says"]
    assert second["settled"]["says"] == "its slot counts as ran"


def a_decision(what: str, at: str = FINISHED, run: str = "r1") -> dict[str, Any]:
    return {"at": at, "actor": "gateway", "what": what, "detail": {"reason": "said so"}, "run_id": run}


@pytest.mark.parametrize(("what", "words"), [("parked", "it waits for a person"), ("held", "it goes on later")])
def test_what_was_put_off_says_so_and_goes_on_in_another_run(what: str, words: str) -> None:
    waits = steps(a_run("released", started_at=STARTED), [PLANNED, a_decision(what)])
    assert waits["run"]["says"] == f"{words}: said so"
    assert waits["settled"]["standing"] == "ahead"
    over = steps(a_run("released", started_at=STARTED, outcome="ran"), [PLANNED, a_decision(what)])
    assert over["settled"]["standing"] == "left out"
    other = steps(a_run(attempt=2), [PLANNED, a_decision(what, PLANNED["at"], "r0")])
    assert "goes on where the one before it stopped" in other["claimed"]["says"]


def test_a_run_that_was_taken_over_or_given_back_says_so() -> None:
    assert "took it over" in steps(a_run(), [PLANNED, a_decision("adopted")])["claimed"]["says"]
    assert "took it over" not in steps(a_run(), [PLANNED, a_decision("adopted", run="r2")])["claimed"]["says"]
    back = steps(a_run(attempt=2), [PLANNED, a_decision("released", PLANNED["at"], "r0")])
    assert "after the one before it was given back" in back["claimed"]["says"]


def test_a_catch_up_says_for_how_many_it_stands() -> None:
    assert "3 missed" in steps(a_run(missed=3))["claimed"]["says"]


def test_what_is_not_on_record_any_more_has_no_instant() -> None:
    assert steps(a_run(), [])["planned"]["at"] is None
    ordered = {**PLANNED, "what": "ordered", "actor": "ann"}
    assert "ann" in steps(a_run(trigger="manual"), [ordered])["planned"]["says"]


@pytest.mark.parametrize(
    ("states", "standing"),
    [
        (["delivered"], "done"), (["suppressed"], "done"), (["pending"], "now"), (["delivered", "sending"], "now"),
        (["failed", "delivered"], "failed"), (["expired"], "failed"), (["delivered", "unknown"], "unknown"),
        (["unknown", "failed"], "unknown"),
    ],
)  # fmt: skip
def test_messages_are_told_by_the_worst_that_became_of_one(states: list[str], standing: str) -> None:
    told = steps(a_run(deliveries=[{"state": state} for state in states]))["delivered"]
    assert told["standing"] == standing
    assert all(state in told["says"] for state in states)


MAYBE = st.sampled_from((None, DUE, CLAIMED, STARTED, FINISHED))


@given(
    state=st.sampled_from(STATES),
    started=MAYBE,
    finished=MAYBE,
    outcome=st.sampled_from((None, "ran", "blocked", "void")),
    deliveries=st.lists(
        st.sampled_from(("pending", "sending", "delivered", "failed", "unknown", "expired")), max_size=3
    ),
    planned=st.booleans(),
)
def test_it_never_claims_what_the_record_does_not_say(
    state: str, started: str | None, finished: str | None, outcome: str | None, deliveries: list[str], planned: bool
) -> None:
    sent = [{"state": each} for each in deliveries]
    run = a_run(state, started_at=started, finished_at=finished, outcome=outcome, deliveries=sent)
    decisions = [PLANNED] if planned else []
    told = steps(run, decisions)
    known = {DUE, CLAIMED, started, finished, None} | {each["at"] for each in decisions}
    assert {step["at"] for step in told.values()} <= known
    if state != "completed":
        assert told["run"]["standing"] != "done"
    if state == "unknown":
        assert told["run"]["standing"] == "unknown"
        assert told["run"]["took_s"] is None
    if outcome is None:
        assert told["settled"]["standing"] != "done"
    if set(deliveries) - {"delivered"} or not deliveries:
        assert told["delivered"]["standing"] != "done"
    for step in told.values():
        if step["took_s"] is not None and step["standing"] == "done":
            datetime.fromisoformat(step["at"])
