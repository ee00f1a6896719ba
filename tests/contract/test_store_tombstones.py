"""Removed jobs stay removed, whatever of them is still under way; and a person's word on a run that nobody saw end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from horae.core.states import RUN
from horae.errors import Conflict, Refused
from tests.support.builders import a_job, addressed, an_ending, at
from tests.support.stores import SqliteUnderTest as UnderTest

HOURLY = "0 * * * *"


def removed(s: UnderTest, job: Any) -> None:
    s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))


def stays_removed(s: UnderTest, job: Any, owner: Any, clock: str) -> None:
    """Nothing of it is planned, runs, or is listed."""
    s.clock.time = at(clock)
    assert s.claim(owner) == []
    assert s.job(job)["removed_at"] is not None
    assert s.job(job)["cursor_at"] is None
    assert s.rows("SELECT key FROM occurrence WHERE state <> 'settled'") == []
    assert s.reader().list_jobs(all=True, state=None, limit=10, cursor=None)["jobs"] == []
    assert s.journal("restored", "revived", "completed_job") == []


def test_O12_a_run_that_ends_after_its_job_was_removed(s: UnderTest) -> None:
    job, owner = s.put(repeat=2), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    removed(s, job)
    s.clock.time = at("08:02:30")
    s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim)))
    s.do(lambda tx: tx.runs.settle(claim))
    assert (s.run(claim.run_id)["state"], s.occurrence(claim.key)["outcome"]) == ("completed", "ran")
    stays_removed(s, job, owner, "08:05")


def test_O12_a_claim_that_is_given_back_after_its_job_was_removed(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    removed(s, job)
    s.do(lambda tx: tx.runs.release(claim, "the gateway is stopping"))
    assert s.claim(owner) == []
    assert (s.occurrence(claim.key)["outcome"], s.occurrence(claim.key)["reason"]) == ("void", "the job was removed")
    stays_removed(s, job, owner, "08:05")


@pytest.mark.parametrize("begun", [False, True])
def test_O12_a_claim_of_a_gateway_that_is_gone(s: UnderTest, begun: bool) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    if begun:
        s.do(lambda tx: tx.runs.start(claim))
    removed(s, job)
    heir = s.sign_on("g2")
    ((orphan, adopted),) = s.do(lambda tx: tx.runs.take_over(heir, {owner.id}))
    assert orphan.state == ("running" if begun else "claimed")
    if begun:
        s.do(lambda tx: tx.runs.finish(adopted, an_ending("lose"), addressed(adopted)))
        s.do(lambda tx: tx.runs.settle(adopted))
    else:
        s.do(lambda tx: tx.runs.release(adopted, "it had begun nothing"))
    s.claim(heir)
    assert s.occurrence(claim.key)["outcome"] == ("ran" if begun else "void")
    stays_removed(s, job, heir, "08:05")


def test_O12_what_was_ordered_is_void_at_once_and_never_runs_later(s: UnderTest) -> None:
    job, owner = s.put(schedule=HOURLY), s.sign_on()
    ordered = s.do(lambda tx: tx.jobs.order_run(job.id, run_id="f" * 16, actor="person", input=None))
    removed(s, job)
    row = s.occurrence(ordered["key"])
    assert (row["state"], row["outcome"], row["reason"]) == ("settled", "void", "the job was removed")
    assert [entry["run_id"] for entry in s.journal("void")] == ["f" * 16]
    stays_removed(s, job, owner, "08:05")
    assert s.do(lambda tx: tx.jobs.upsert(job, signature="t", meaning="m", actor="person")) == "restored"
    assert s.claim(owner) == [], "an order from before is none of the job that was put there again"


LATE: dict[str, Callable[[Any, Any], Any]] = {
    "order": lambda tx, job: tx.jobs.order_run(job.id, run_id="e" * 16, actor="person", input=None),
    "skip": lambda tx, job: tx.jobs.set_exception(job.id, at("08:02"), "skip", due=None, actor="person"),
    "move": lambda tx, job: tx.jobs.set_exception(job.id, at("08:02"), "move", due=at("09:00"), actor="person"),
    "undo of a skip": lambda tx, job: tx.jobs.set_exception(job.id, at("08:01"), None, due=None, actor="person"),
}


@pytest.mark.parametrize("what", LATE)
def test_O12_who_found_the_job_before_it_was_removed_is_told(s: UnderTest, what: str) -> None:
    job, owner = s.put(), s.sign_on()
    removed(s, job)
    before = s.everything()
    with pytest.raises(Refused, match="tides was removed"):
        s.do(lambda tx: LATE[what](tx, job))
    assert s.everything() == before
    stays_removed(s, job, owner, "08:05")


def test_O12_pause_and_resume_and_completion_do_not_touch_it(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    removed(s, job)
    before = s.everything()
    assert s.do(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None)) is None
    assert s.do(lambda tx: tx.jobs.resume(job.id, actor="person")) is None
    s.do(lambda tx: tx.jobs.complete(job.id, actor="person", reason="over"))
    s.do(lambda tx: tx.jobs.plan.plan_next(job.id, after=at("08:00")))
    s.do(lambda tx: tx.jobs.plan.complete_if_done(job.id))
    assert s.do(lambda tx: tx.zones.follow("", 100))[1] == 0
    assert s.everything() == before
    stays_removed(s, job, owner, "08:05")


def test_O12_a_broken_file_of_its_name_is_another_matter(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    removed(s, job)
    problem = {"code": "invalid", "message": "no schedule", "hint": None, "details": {}}
    s.do(lambda tx: tx.jobs.quarantine(job.slug, problem, signature="u", actor="jobs folder"))
    assert s.job(job)["removed_at"] is not None
    assert s.job(job)["problem"] is None
    (listed,) = s.reader().list_jobs(all=True, state=None, limit=10, cursor=None)["jobs"]
    assert (listed["state"], listed["id"] == job.id) == ("quarantined", False)
    assert s.claim(owner) == []


def test_O12_only_putting_it_there_again_brings_it_back_and_from_now_on(s: UnderTest) -> None:
    job, owner = s.put(repeat=3), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.carry_out(claim)
    removed(s, job)
    s.clock.time = at("08:30:30")
    assert s.do(lambda tx: tx.jobs.upsert(job, signature="t", meaning="m", actor="person")) == "restored"
    assert s.job(job)["removed_at"] is None
    assert s.planned(job) == ["08:31"]
    assert s.job(job)["counted"] == 1, "its counter goes on, as its definition is the same"
    assert s.rows("SELECT key FROM occurrence WHERE outcome = 'missed'") == []


# ── a person's word on a run


def unknown(s: UnderTest) -> Any:
    s.put()
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.carry_out(claim, "lose")
    return claim


@pytest.mark.parametrize(("said", "state"), [("completed", "completed"), ("failed", "failed"), ("rerun", "failed")])
def test_P4_a_resolution_is_written_once_and_journaled(s: UnderTest, said: str, state: str) -> None:
    claim = unknown(s)
    settled = s.occurrence(claim.key)
    s.clock.time = at("08:07")
    again = "e" * 16 if said == "rerun" else None
    entry = s.do(lambda tx: tx.runs.resolve(claim.run_id, said, actor="ann", reason="seen", again=again))
    run = s.run(claim.run_id)
    assert (run["state"], run["resolved_by"]) == (state, "ann")
    assert run["resolved_at"] > run["finished_at"]
    assert run["reason"].endswith(": seen")
    assert s.occurrence(claim.key) == settled, "how the slot was accounted for stays"
    (told,) = s.journal("resolved")
    assert (told["seq"], told["actor"], told["run_id"], told["key"]) == (entry, "ann", claim.run_id, claim.key)
    assert json.loads(told["detail"]) == {"as": said, "reason": "seen", "again": again}
    before = s.everything()
    for word in ("completed", "failed", "rerun"):
        with pytest.raises(Conflict, match="is not unknown any more"):
            s.do(lambda tx, word=word: tx.runs.resolve(claim.run_id, word, actor="bob", reason=None, again=None))
    assert s.everything() == before


def test_P4_the_schema_lets_an_unknown_run_go_nowhere_else(s: UnderTest) -> None:
    claim = unknown(s)
    for state in RUN:
        if state not in ("completed", "failed"):
            with pytest.raises(Exception, match="immutable"):
                s.damage("UPDATE run SET state = ? WHERE id = ?", state, claim.run_id)
    s.damage("UPDATE run SET state = 'failed' WHERE id = ?", claim.run_id)
    with pytest.raises(Exception, match="immutable"):
        s.damage("UPDATE run SET state = 'completed' WHERE id = ?", claim.run_id)


def test_P3_the_former_owner_of_a_resolved_run_has_no_effect(s: UnderTest) -> None:
    claim = unknown(s)
    s.do(lambda tx: tx.runs.resolve(claim.run_id, "completed", actor="ann", reason=None, again=None))
    before = s.everything()
    for event in ("complete", "fail", "lose"):
        with pytest.raises(Conflict):
            s.do(lambda tx, event=event: tx.runs.finish(claim, an_ending(event), addressed(claim)))
    with pytest.raises(Conflict):
        s.do(lambda tx: tx.runs.settle(claim))
    assert s.everything() == before


def test_P4_a_run_may_be_resolved_before_its_alert_was_sent(s: UnderTest) -> None:
    """Its owner delivers and settles all the same: the slot ends once, as run."""
    s.put(a_job(deliver=("desk",)))
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.finish(claim, an_ending("lose", alert=True), addressed(claim)))
    s.do(lambda tx: tx.runs.resolve(claim.run_id, "completed", actor="ann", reason=None, again=None))
    assert s.deliver() == ["desk"], "what was to be told is still told"
    s.do(lambda tx: tx.runs.settle(claim))
    assert (s.occurrence(claim.key)["outcome"], s.run(claim.run_id)["state"]) == ("ran", "completed")


def test_what_waits_does_not_name_a_resolved_run(s: UnderTest) -> None:
    claim = unknown(s)
    (item,) = s.reader().waiting(10)
    assert (item["kind"], item["run"]) == ("unknown", claim.run_id)
    assert f"horae resolve {claim.run_id}" in item["hint"]
    s.do(lambda tx: tx.runs.resolve(claim.run_id, "failed", actor="ann", reason=None, again=None))
    assert s.reader().waiting(10) == []
