"""Slots that were begun and go on later: for a person's word, or for a provider; and what they mean for others of their job."""

from __future__ import annotations

import json
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from horae.app.cancel import cancel_run
from horae.core.delivery import Addressee
from horae.core.equipment import Allowance
from horae.core.model import Claim, Job, Retries, Terms
from horae.errors import Conflict, NotFound, Refused
from tests.support.agentjobs import Fleet, a_wish, a_work
from tests.support.builders import DAY, SECOND, at, us
from tests.support.stores import SqliteUnderTest as UnderTest

DESK = (Addressee("desk", "desk"),)
HOURLY = "0 * * * *"


def parked(s: UnderTest, again_s: float = 3600.0, **given: Any) -> tuple[Fleet, Job, Claim]:
    """A run that waits until 09:00 for a person's word."""
    fleet = Fleet(s)
    job = fleet.put()
    claim = fleet.begun(job)
    fleet.park(claim, again_s, **given)
    return fleet, job, claim


def words(claim: Claim, what: str = "approval") -> str:
    return f"run {claim.run_id} waits for {what}"


def on_schedule(s: UnderTest, **given: Any) -> tuple[Fleet, Job, Claim]:
    """The 09:00 of an hourly job waits for a person's word until noon."""
    fleet = Fleet(s)
    job = fleet.put(schedule=HOURLY, **given)
    fleet.at(at("09:00"))
    claim = fleet.begun()
    fleet.park(claim, 3 * 3600.0)
    return fleet, job, claim


def look(fleet: Fleet, clock: str | datetime, **terms: Any) -> list[Claim]:
    fleet.at(at(clock) if isinstance(clock, str) else clock)
    return fleet.s.do(lambda tx: tx.runs.claim_due(fleet.owner, 100, Terms(**terms)))


def outcomes(s: UnderTest, job: Job) -> dict[str, tuple[str, str | None]]:
    return {slot: (outcome or state, reason) for slot, state, outcome, reason in s.slots(job, "reason")}


# ── parked, decided, gone on


def test_a_parked_run_is_given_back_and_its_slot_is_due_when_the_question_expires(s: UnderTest) -> None:
    fleet, job, claim = parked(s)
    assert fleet.row(claim, "state", "reason", "held", "tokens") == ("released", "it waits", 0, 100)
    slot = s.occurrence(claim.key)
    assert (slot["state"], slot["later"], slot["due_at"]) == ("planned", words(claim), us(at("09:00")))
    (ask,) = fleet.asks()
    assert (ask["kind"], ask["run"], ask["body"]["toolset"]) == ("call", claim.run_id, "shell")
    assert ask["expires_at"] == "2026-03-02T09:00:00Z"
    (entry,) = s.journal("parked", "released")
    assert (entry["what"], json.loads(entry["detail"])["reason"], entry["run_id"]) == (
        "parked",
        "it waits",
        claim.run_id,
    )
    assert (s.job(job)["failing"], s.rows("SELECT * FROM incident")) == (0, [])
    (waits,) = s.reader().waiting(10)
    assert waits["what"] == "it wants to use shell ls -l, and goes on without it at 2026-03-02T09:00:00Z"
    assert f"`horae approve {ask['id']}`" in waits["hint"]


@pytest.mark.parametrize("approved", [True, False])
def test_a_word_makes_it_due_at_once_and_the_next_run_goes_on_with_it(s: UnderTest, approved: bool) -> None:
    fleet, _, claim = parked(s)
    (ask,) = fleet.asks()
    fleet.at(at("08:20"))
    assert look(fleet, "08:20") == []
    told = s.do(lambda tx: tx.agents.decide(ask["id"], approved=approved, actor="anna", reason="go"))
    assert (told["kind"], told["approved"], told["body"]["digest"], told["key"]) == ("call", approved, "d1", claim.key)
    (again,) = look(fleet, "08:20")
    assert (again.key, again.attempt, again.failures) == (claim.key, 2, 0)
    given = fleet.equip(again)
    assert given.state == '["so far"]'
    assert given.decision == {"approved": approved, "by": "anna", "reason": "go", "digest": "d1"}
    assert fleet.asks() == []
    assert s.journal("approved" if approved else "denied")[0]["actor"] == "anna"
    fleet.start(again)
    fleet.end(again)
    assert s.occurrence(claim.key)["outcome"] == "ran"
    assert s.rows("SELECT * FROM resume") == []


def test_without_a_word_it_goes_on_with_a_no(s: UnderTest) -> None:
    fleet, _, _ = parked(s)
    (ask,) = fleet.asks()
    (again,) = look(fleet, "09:00")
    no = {"approved": False, "by": None, "reason": "nobody answered in time", "digest": "d1"}
    assert fleet.equip(again).decision == no
    assert fleet.equip(again).decision == no, "asked again"
    (told,) = fleet.asks(open=False)
    assert (told["decision"], told["id"]) == ("expired", ask["id"])
    with pytest.raises(Conflict, match="is expired since"):
        s.do(lambda tx: tx.agents.decide(ask["id"], approved=True, actor="anna", reason=None))


def test_a_question_is_decided_once_and_in_time(s: UnderTest) -> None:
    fleet, _, _ = parked(s)
    (ask,) = fleet.asks()

    def decide(ask_id: str = ask["id"], approved: bool = True) -> Any:
        return s.do(lambda tx: tx.agents.decide(ask_id, approved=approved, actor="anna", reason=None))

    with pytest.raises(NotFound):
        decide("none")
    fleet.at(at("09:00"))
    with pytest.raises(Conflict, match="could be answered until"):
        decide()
    fleet.at(at("08:30"))
    decide()
    with pytest.raises(Conflict, match="is approved since 2026-03-02 08:30Z, by anna"):
        decide(approved=False)


def test_a_word_comes_too_late_for_what_goes_on_already(s: UnderTest) -> None:
    fleet, _, _ = parked(s, again_s=1800.0)
    (ask,) = fleet.asks()
    s.damage("UPDATE ask SET expires_at = NULL")
    (_,) = look(fleet, "08:30")
    with pytest.raises(Conflict, match="of no use any more"):
        s.do(lambda tx: tx.agents.decide(ask["id"], approved=True, actor="anna", reason=None))
    assert fleet.asks() == []


def test_people_are_asked_where_alerts_go_without_an_incident(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    assert fleet.park(claim, message="Tides wants to use shell: ls", to=DESK), "something is to be sent"
    ((parcel),) = s.take()
    (item,) = parcel.items
    assert (item.kind, item.title, item.body, item.alert) == (
        "approval", "Tides: waits for approval", "Tides wants to use shell: ls", True,
    )  # fmt: skip
    assert s.rows("SELECT * FROM incident") == []


def test_a_held_run_goes_on_by_itself_and_tells_nobody(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    assert not fleet.park(claim, 60.0, "held", message="its provider is away", to=DESK)
    assert s.occurrence(claim.key)["later"] == words(claim, "its provider")
    assert (fleet.asks(), s.rows("SELECT * FROM delivery")) == ([], [])
    assert s.journal("held")[0]["run_id"] == claim.run_id
    (again,) = look(fleet, "08:01")
    given = fleet.equip(again)
    assert (given.state, given.decision) == ('["so far"]', None)
    fleet.start(again)
    fleet.park(again, 60.0, "held")
    (third,) = look(fleet, "08:02")
    fleet.start(third)
    fleet.park(third, 60.0)
    assert [run["held"] for run in s.rows("SELECT held FROM run ORDER BY attempt")] == [1, 2, 2], (
        "a question is no outage"
    )
    (last,) = look(fleet, "08:03")
    assert fleet.equip(last).held == 2


def test_without_a_word_about_when_it_goes_on_soon(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    fleet.park(claim, None, "held")
    assert s.occurrence(claim.key)["due_at"] == us(at("08:01"))


def test_P14_what_a_parked_run_used_counts_and_the_rest_is_free(s: UnderTest) -> None:
    fleet = Fleet(s)
    cap = Allowance(tokens=1000)
    claim = fleet.begun(fleet.put(), a_wish(Allowance(tokens=1000), home_day=cap))
    fleet.park(claim, work={"input": 300, "output": 0})
    (again,) = look(fleet, "09:00")
    assert fleet.equip(again, a_wish(Allowance(tokens=1500), home_day=cap)).allowance.tokens == 700


@pytest.mark.parametrize("how", ["parked", "held"])
def test_P14_what_goes_on_has_what_is_left_of_its_own_limits(s: UnderTest, how: str) -> None:
    fleet = Fleet(s)
    wish = a_wish(Allowance(10, 1000, 0.5))
    claim = fleet.begun(fleet.put(), wish)
    fleet.park(claim, 60.0, how, work={"turns": 4, "input": 300, "output": 0, "usd": 0.2})
    (given_back,) = look(fleet, "08:01")
    fleet.equip(given_back, wish)
    s.do(lambda tx: tx.runs.release(given_back, "the gateway is stopping"))
    (again,) = look(fleet, "08:02")
    left = fleet.equip(again, wish).allowance
    assert (left.turns, left.tokens, left.usd) == (6, 700, pytest.approx(0.3))
    assert fleet.equip(again, wish).allowance == left, "asked again"
    fleet.start(again)
    fleet.park(again, 60.0, how, work={"turns": 7, "input": 800, "output": 0, "usd": 0.4})
    (third,) = look(fleet, "08:04")
    assert fleet.equip(third, wish).allowance == Allowance(0, 1, 0.0), "nothing"
    fleet.start(third)
    fleet.end(third, "fail", "no", reason="no answer", retry_s=60.0)
    (anew,) = look(fleet, "08:06")
    assert fleet.equip(anew, wish).allowance == Allowance(10, 1000, 0.5)


def test_a_next_attempt_that_was_given_back_still_goes_on(s: UnderTest) -> None:
    fleet, _, claim = parked(s)
    (ask,) = fleet.asks()
    s.do(lambda tx: tx.agents.decide(ask["id"], approved=True, actor="anna", reason=None))
    (again,) = look(fleet, "08:20")
    fleet.equip(again)
    s.do(lambda tx: tx.runs.release(again, "the gateway is stopping"))
    (third,) = look(fleet, "08:21")
    given = fleet.equip(third)
    assert third.key == claim.key
    assert (given.state, (given.decision or {}).get("approved")) == ('["so far"]', True)


def test_a_retry_begins_anew(s: UnderTest) -> None:
    fleet, _, claim = parked(s)
    (again,) = look(fleet, "09:00")
    fleet.equip(again)
    fleet.start(again)
    fleet.end(again, "fail", "no", reason="exit status 1", retry_s=60.0)
    slot = s.occurrence(claim.key)
    assert (slot["state"], slot["later"]) == ("planned", None)
    (third,) = look(fleet, "09:01")
    assert third.failures == 1
    assert (fleet.equip(third).state, fleet.equip(third).decision) == (None, None)


def test_notes_and_drafts_are_taken_in_when_the_run_that_goes_on_has_told_them_again(s: UnderTest) -> None:
    told: dict[str, Any] = {
        "notes": (("seen", "17"),),
        "drafts": ({"what": "job", "body": {}},),
        "watched": ("aa", "x"),
    }
    fleet, job, _ = parked(s, work=told)
    assert (s.reader().notes(job.id), s.reader().watched(job.id)) == ([], None)
    assert [ask["kind"] for ask in fleet.asks()] == ["call"]
    (again,) = look(fleet, "09:00")
    fleet.equip(again)
    fleet.start(again)
    fleet.end(again, work=a_work(**told))
    assert [note["value"] for note in s.reader().notes(job.id)] == ["17"]
    assert [ask["kind"] for ask in fleet.asks()] == ["job"]


# ── what ends it without another run


@pytest.mark.parametrize("how", ["cancel", "skip"])
def test_a_person_may_end_what_waits(s: UnderTest, how: str) -> None:
    fleet, job, claim = on_schedule(s, repeat=1)
    fleet.at(at("09:10"))
    if how == "cancel":
        assert s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="cancelled by anna"))
        assert not s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="again"))
        why = "cancelled by anna"
        assert [told["decision"] for told in fleet.asks(open=False)] == ["denied"]
        assert s.journal("cancelled")[0]["actor"] == "anna"
        assert s.rows("SELECT * FROM resume") == []
    else:
        s.do(lambda tx: tx.jobs.set_exception(job.id, at("09:00"), "skip", due=None, actor="anna"))
        assert look(fleet, "09:10") == []
        why = "skipped by a person in advance"
    assert outcomes(s, job)["09:00"] == ("ran", f"{words(claim)}; not tried again: {why}")
    assert fleet.asks() == []
    assert s.job(job)["completed_at"] is not None, "it was its one run"


def test_an_ordered_one_may_be_ended_too(s: UnderTest) -> None:
    fleet, _, claim = parked(s)
    assert s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="cancelled by anna"))
    assert s.occurrence(claim.key)["outcome"] == "ran"
    assert look(fleet, "09:00") == []


def test_the_command_that_cancels_knows_what_waits_from_what_is_over(s: UnderTest) -> None:
    _, _, claim = parked(s)
    home: Any = SimpleNamespace(read=s.reader, store=s.store, actor="anna", wake=lambda: None, gateway=None)
    assert cancel_run(home, run=claim.run_id[:12])["did"] == f"run {claim.run_id} does not go on"
    assert s.occurrence(claim.key)["outcome"] == "ran"
    with pytest.raises(Refused, match="is released: only a live one can be cancelled"):
        cancel_run(home, run=claim.run_id)


@pytest.mark.parametrize("what", ["paused", "removed", "changed"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_job_that_is_not_to_run_goes_on_with_nothing(s: UnderTest, what: str, when: str) -> None:
    fleet = Fleet(s)
    job = fleet.put(schedule=HOURLY)
    fleet.at(at("09:00"))
    claim = fleet.begun()

    def happens() -> None:
        fleet.at(at("09:05"))
        if what == "paused":
            s.do(lambda tx: tx.jobs.pause(job.id, actor="anna", reason=None))
        elif what == "removed":
            s.do(lambda tx: tx.jobs.remove(job.id, actor="anna", reason="gone"))
        else:
            fleet.put(schedule="30 * * * *")

    if when == "before":
        happens()
    fleet.park(claim)
    if when == "after":
        happens()
    look(fleet, "13:01")
    outcome, reason = outcomes(s, job)["09:00"]
    assert outcome == "ran"
    assert (reason or "").startswith(f"{words(claim)}; not tried again: ")
    assert fleet.asks() == []


def test_what_was_asked_to_end_while_it_parked_is_over(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="cancelled by anna"))
    fleet.park(claim, to=DESK, message="may it?")
    slot = s.occurrence(claim.key)
    assert (slot["outcome"], slot["reason"]) == ("ran", f"{words(claim)}; not tried again: cancelled by anna")
    assert (fleet.asks(open=False), s.rows("SELECT * FROM delivery")) == ([], [])


def test_what_is_over_is_forgotten_in_time(s: UnderTest) -> None:
    fleet, job, _ = on_schedule(s)
    s.do(lambda tx: tx.jobs.remove(job.id, actor="anna", reason="gone"))
    assert [len(s.rows(f"SELECT * FROM {table}")) for table in ("resume", "ask")] == [1, 1]
    fleet.at(at("09:00") + 40 * DAY)
    s.do(lambda tx: tx.retention.prune_runs(1, s.clock.time - DAY, 100, (0, "")))
    assert [len(s.rows(f"SELECT * FROM {table}")) for table in ("resume", "ask")] == [0, 0]


# ── what it means for other slots of its job


def decide(fleet: Fleet, approved: bool = True) -> None:
    (ask,) = fleet.asks()
    fleet.s.do(lambda tx: tx.agents.decide(ask["id"], approved=approved, actor="anna", reason=None))


def test_with_skip_the_next_slot_is_skipped_and_says_why(s: UnderTest) -> None:
    fleet, job, claim = on_schedule(s)
    assert look(fleet, "10:00") == []
    assert outcomes(s, job)["10:00"] == ("skipped", f"the previous run was still going: {words(claim)}")
    assert outcomes(s, job)["09:00"] == ("planned", None)
    fleet.at(at("10:10"))
    decide(fleet)
    (again,) = look(fleet, "10:10")
    assert again.key == claim.key
    fleet.start(again)
    fleet.end(again)
    (eleven,) = look(fleet, "11:00")
    assert eleven.slot == at("11:00")


def test_with_skip_it_goes_on_before_a_slot_that_is_due_at_the_same_moment(s: UnderTest) -> None:
    fleet, job, claim = on_schedule(s)
    (again,) = look(fleet, "12:00")
    assert again.key == claim.key
    found = {slot: outcome for slot, (outcome, _) in outcomes(s, job).items()}
    skipped = dict.fromkeys(("10:00", "11:00", "12:00"), "skipped")
    assert found == {"09:00": "claimed", **skipped, "13:00": "planned"}


@pytest.mark.parametrize(("overlap", "held"), [("queue", ["10:00", "11:00"]), ("queue_one", ["11:00"])])
def test_with_a_queue_the_next_slots_wait_behind_it(s: UnderTest, overlap: Any, held: list[str]) -> None:
    fleet, job, claim = on_schedule(s, overlap=overlap)
    assert look(fleet, "10:00") == []
    assert look(fleet, "11:00") == []
    waiting = [
        slot for slot, (state, reason) in outcomes(s, job).items() if state == "planned" and reason == words(claim)
    ]
    assert waiting == held
    fleet.at(at("11:10"))
    decide(fleet)
    (again,) = look(fleet, "11:10")
    assert again.key == claim.key
    fleet.start(again)
    fleet.end(again)
    (following,) = look(fleet, "11:20")
    assert f"{following.slot:%H:%M}" == held[0]


def test_with_allow_others_start_beside_it(s: UnderTest) -> None:
    fleet, _, claim = on_schedule(s, overlap="allow")
    (ten,) = look(fleet, "10:00")
    assert ten.slot == at("10:00")
    decide(fleet)
    (again,) = look(fleet, "10:01")
    assert again.key == claim.key


def test_with_cancel_running_it_gives_way_as_a_live_run_would(s: UnderTest) -> None:
    fleet, job, claim = on_schedule(s, overlap="cancel_running")
    (ten,) = look(fleet, "10:00")
    assert ten.slot == at("10:00")
    assert outcomes(s, job)["09:00"] == ("ran", f"{words(claim)}; a newer slot is due (overlap: cancel_running)")
    assert fleet.asks() == []


def test_a_manual_run_starts_beside_it_and_it_waits_for_that_one(s: UnderTest) -> None:
    fleet, job, claim = on_schedule(s)
    fleet.order(job)
    (by_hand,) = look(fleet, "09:30")
    assert by_hand.trigger == "manual"
    decide(fleet)
    assert look(fleet, "09:31") == []
    fleet.start(by_hand)
    fleet.end(by_hand)
    (again,) = look(fleet, "09:32")
    assert again.key == claim.key


def test_it_takes_no_place_of_its_group_and_waits_for_one(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.put(schedule=HOURLY, group="gpu")
    fleet.at(at("09:00"))
    claim = fleet.begun()
    fleet.park(claim, 600.0, "held")
    other = fleet.put("other", group="gpu")
    mine = fleet.claim(other)
    assert look(fleet, "09:10", groups={"gpu": 1}) == []
    fleet.start(mine)
    fleet.end(mine)
    (again,) = look(fleet, "09:11", groups={"gpu": 1})
    assert again.key == claim.key


def test_not_later_than_does_not_end_what_has_started_in_time(s: UnderTest) -> None:
    fleet, _, claim = on_schedule(s, not_later_than_s=60)
    (again,) = look(fleet, "12:30")
    assert again.key == claim.key


def test_a_retry_of_another_slot_is_no_rival_that_it_takes_the_turn_of(s: UnderTest) -> None:
    fleet, job, claim = on_schedule(s, overlap="queue", retries=Retries(max=1))
    fleet.at(at("10:00"))
    look(fleet, "10:00")
    decide(fleet, approved=False)
    (again,) = look(fleet, "10:05")
    fleet.equip(again)
    fleet.start(again)
    fleet.end(again, "fail", "no", reason="exit status 1", retry_s=60.0)
    (following,) = look(fleet, at("10:05") + 30 * SECOND)
    assert following.slot == at("10:00")
    assert again.key == claim.key
    fleet.start(following)
    fleet.end(following)
    (retried,) = look(fleet, "10:07")
    assert (retried.key, retried.failures) == (claim.key, 1)
    assert outcomes(s, job)["11:00"] == ("planned", None)


def test_while_it_waits_nothing_is_looked_at_in_vain(s: UnderTest) -> None:
    fleet, _, _ = on_schedule(s, overlap="queue")
    look(fleet, "10:00")
    before = s.everything()
    assert look(fleet, "10:01") == []
    assert {**s.everything(), "fence": []} == {**before, "fence": []}
    assert s.do(lambda tx: tx.runs.next_due()) == at("11:00")
