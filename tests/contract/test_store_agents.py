"""Frozen models, replays, what starts after what, jobs that were blocked; and a database from before agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from horae.core.delivery import Addressee, Manner
from horae.core.model import Claim, Job, Retries
from horae.core.outcome import blocked
from horae.errors import NotFound, Refused
from horae.limits import CAUSES_MAX
from horae.ports import Hearers
from tests.support.agentjobs import YEARLY, Fleet, a_wish, a_work, an_agents_job
from tests.support.builders import DAY, a_job, a_result, at
from tests.support.stores import SqliteUnderTest as UnderTest

SENT = a_work(prompt="high water?", prompt_sha256="aa")


def details(s: UnderTest, *whats: str) -> list[dict[str, Any]]:
    return [json.loads(row["detail"]) for row in s.journal(*whats)]


# ── models


def test_a_job_without_a_pin_is_frozen_at_what_is_usual_when_it_is_made(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put(frozen="small")
    assert fleet.claim(job).job.model == "small"
    fleet.put(frozen="large", prompt="another one")
    fleet.put(frozen="large", prompt="another one")
    assert s.job(job)["model"] == "small", "neither an edit nor the settings change it"
    assert [entry["model"] for entry in details(s, "frozen")] == ["small"]


@pytest.mark.parametrize("given", [{"agent": False, "script": "x.sh"}, {"model": "mine"}])
def test_what_needs_no_frozen_model_has_none_until_it_does(s: UnderTest, given: dict[str, Any]) -> None:
    fleet = Fleet(s)
    job = fleet.put(**given)
    assert s.job(job)["model"] is None
    assert fleet.claim(job).job.model == given.get("model")
    fleet.put(frozen="large", name="Now an agent's")
    assert s.job(job)["model"] == "large"


def test_a_job_from_before_there_were_models_is_frozen_when_its_file_is_read_again(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put(frozen=None)
    assert fleet.claim(job).job.model is None
    fleet.put(frozen="small")
    assert s.job(job)["model"] == "small"


def test_freezing_at_another_model_is_on_record_and_can_be_taken_back(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides, moon = fleet.put("tides"), fleet.put("moon", frozen="large")
    others = [fleet.put("pinned", model="mine"), fleet.put("script", agent=False, script="x.sh")]
    gone = fleet.put("gone")
    s.do(lambda tx: tx.jobs.remove(gone.id, actor="anna", reason="gone"))
    every = [job.id for job in (tides, moon, *others, gone)] + ["none"]
    assert s.do(lambda tx: tx.agents.freeze(every, "large", actor="anna")) == [tides.id]
    assert fleet.claim(tides).job.model == "large"
    told = details(s, "frozen")[-1]
    assert (told["model"], told["was"], told["undo"]) == ("large", "small", {"verb": "freeze", "model": "small"})


def test_which_job_uses_which_model_is_shown(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.put("b", model="mine")
    a = fleet.put("a", agent="hermes")
    fleet.put("c", agent=False, script="x.sh")
    found = s.reader().models_of_jobs()
    assert [(one["slug"], one["pin"], one["frozen"]) for one in found] == [("a", None, "small"), ("b", "mine", None)]
    assert found[0]["id"] == a.id


def test_whether_there_are_agents_and_which_have_no_model_is_told_without_reading_any(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.put("script", agent=False, script="x.sh", prompt='says "agent": true and "model": "x"')
    assert s.reader().has_agents() is False
    fleet.put("pinned", model="mine", prompt='says "agent": false')
    assert s.reader().has_agents() is True
    assert s.reader().unfrozen() == []
    unset = fleet.put("unset", frozen=None, prompt='says "model": "x" and "agent": false')
    assert s.reader().unfrozen() == [unset.id]
    fleet.put("frozen", frozen="small")
    assert s.reader().unfrozen() == [unset.id]
    s.do(lambda tx: tx.jobs.remove(unset.id, actor="anna", reason="gone"))
    assert s.reader().unfrozen() == []


def test_whoever_takes_a_run_over_has_the_model_too(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    assert s.adopt(claim, s.sign_on("g2")).job.model == "small"


# ── replays


def replay(fleet: Fleet, run_id: str, model: str | None = None) -> Claim:
    told = fleet.s.do(lambda tx: tx.agents.replay(run_id, new_run="f" * 16, model=model, actor="anna"))
    assert told["run_id"] == "f" * 16
    return fleet.claim()


def test_a_replay_is_given_the_same_prompt_and_reaches_nobody(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put(deliver=("desk",), alerts=("pager",), retries=Retries(max=3), context_from=("self",))
    first = fleet.run(job, work=SENT)
    claim = replay(fleet, first.run_id)
    assert claim.replay == first.run_id
    assert (claim.job.deliver, claim.job.alerts, claim.job.retries.max) == (("local",), ("local",), None)
    given = fleet.equip(claim)
    assert (given.prompt, given.context, given.baseline, given.state) == ("high water?", (), None, None)
    fleet.start(claim)
    assert s.adopt(claim, s.sign_on("g2")).replay == first.run_id
    run = s.reader().list_runs(job_id=None, state=None, limit=1, cursor=None, run_id=claim.run_id)["runs"][0]
    assert (run["replay_of"], run["cause"]) == (first.run_id, f"replay of {first.run_id}")


def test_a_replay_that_was_parked_goes_on_as_one(s: UnderTest) -> None:
    fleet = Fleet(s)
    first = fleet.run(fleet.put(), work=SENT)
    claim = replay(fleet, first.run_id)
    fleet.equip(claim)
    fleet.start(claim)
    fleet.park(claim, 60.0)
    fleet.at(at("08:01"))
    again = fleet.claim()
    given = fleet.equip(again)
    assert (again.key, again.replay, given.prompt) == (claim.key, first.run_id, "high water?")
    assert (given.state, (given.decision or {}).get("approved")) == ('["so far"]', False)


@pytest.mark.parametrize("pin", [None, "mine"])
def test_a_replay_may_use_another_model(s: UnderTest, pin: str | None) -> None:
    fleet = Fleet(s)
    first = fleet.run(fleet.put(model=pin), work=SENT)
    assert replay(fleet, first.run_id, "large").job.model == "large"


def test_a_replay_changes_nothing_of_its_job(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put(context_from=("self",))
    fleet.put("moon", after="tides")
    first = fleet.run(job, work=SENT, message="at ten")
    assert s.do(lambda tx: tx.jobs.get(job.id))["failing"] == 0
    for moon in s.claim(fleet.owner):
        s.do(lambda tx, moon=moon: tx.runs.finish(moon, blocked("Moon", ("no",))))
    claim = replay(fleet, first.run_id)
    fleet.equip(claim)
    fleet.start(claim)
    left = a_work(notes=(("k", "v"),), drafts=({"what": "job", "body": {}},), watched=("aa", "now"))
    fleet.end(claim, work=left, message="at noon")
    assert [len(s.rows(f"SELECT * FROM {table}")) for table in ("notepad", "ask", "watched")] == [0, 0, 0]
    assert s.claim(fleet.owner) == [], "nothing starts after it"
    (earlier,) = fleet.equip(fleet.claim(job)).context
    assert earlier.text == "at ten", "its result is no result of the job"


def test_how_a_replay_ends_is_no_trouble_and_no_recovery(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    first = fleet.run(job, work=SENT)
    fleet.run(job, event="fail", alert=True, reason="exit status 1")
    (before,) = s.rows("SELECT * FROM incident")
    for event in ("complete", "fail"):
        s.do(lambda tx, e=event: tx.agents.replay(first.run_id, new_run=f"{e:>16}", model=None, actor="anna"))
        claim = fleet.claim()
        fleet.start(claim)
        fleet.end(claim, event, alert=event == "fail", reason="exit status 2")
    assert s.rows("SELECT * FROM incident") == [before]
    assert s.job(job)["failing"] == 1


def test_what_has_no_prompt_cannot_be_replayed(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    without = fleet.run(job)
    first = fleet.run(job, work=SENT)
    claim = replay(fleet, first.run_id)
    with pytest.raises(NotFound):
        replay(fleet, "none")
    with pytest.raises(Refused, match="no agent was sent anything in it"):
        replay(fleet, without.run_id)
    s.damage("DELETE FROM agent_prompt")
    s.damage("UPDATE run SET pruned = 1 WHERE id = ?", first.run_id)
    with pytest.raises(Refused, match="its prompt was pruned"):
        replay(fleet, first.run_id)
    assert fleet.equip(claim).reasons == (
        f"the prompt of run {first.run_id} was pruned: it cannot be replayed any more",
    )


# ── after


def following(fleet: Fleet) -> list[Claim]:
    return fleet.s.claim(fleet.owner)


def test_the_success_of_a_job_starts_those_that_name_it(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides = fleet.put("tides", name="High water")
    for slug, ref in (("a", "tides"), ("b", "High water"), ("c", tides.id), ("d", "moon"), ("e", None)):
        fleet.put(slug, after=ref)
    claim = fleet.run(tides, message="")
    found = following(fleet)
    assert sorted(one.job.slug for one in found) == ["a", "b", "c"]
    assert {(one.trigger, one.attempt) for one in found} == {("manual", 1)}
    runs = s.reader().list_runs(job_id=None, state="claimed", limit=9, cursor=None)["runs"]
    assert {run["cause"] for run in runs} == {f"after tides (run {claim.run_id})"}
    assert {entry.get("reason") for entry in details(s, "ordered")[1:]} == {f"after tides (run {claim.run_id})"}


def test_a_script_may_come_before_and_after_too(s: UnderTest) -> None:
    fleet = Fleet(s)
    backup = s.put(a_job("backup", schedule=YEARLY))
    s.put(a_job("check", schedule=YEARLY, after="backup"))
    s.do(lambda tx: tx.jobs.order_run(backup.id, run_id="9" * 16, actor="anna", input=None))
    (claim,) = following(fleet)
    s.carry_out(claim)
    assert [one.job.slug for one in following(fleet)] == ["check"]


@pytest.mark.parametrize("event", ["fail", "cancel", "lose", "park"])
def test_only_success_starts_anything(s: UnderTest, event: str) -> None:
    fleet = Fleet(s)
    tides = fleet.put("tides")
    fleet.put("a", after="tides")
    fleet.run(tides, event=event)
    assert [one.job.slug for one in following(fleet) if one.job.slug == "a"] == []


def test_a_failed_run_that_is_only_settled_later_starts_nothing(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides = fleet.put("tides")
    fleet.put("a", after="tides")
    for event, expected in (("fail", []), ("complete", ["a"])):
        claim = fleet.claim(tides)
        s.carry_out(claim, event)
        assert [one.job.slug for one in following(fleet)] == expected


@pytest.mark.parametrize("state", ["paused", "removed", "quarantined"])
def test_a_job_that_is_not_active_is_not_started(s: UnderTest, state: str) -> None:
    fleet = Fleet(s)
    tides, after = fleet.put("tides"), fleet.put("a", after="tides")
    if state == "paused":
        s.do(lambda tx: tx.jobs.pause(after.id, actor="anna", reason=None))
    elif state == "removed":
        s.do(lambda tx: tx.jobs.remove(after.id, actor="anna", reason="gone"))
    else:
        s.do(lambda tx: tx.jobs.quarantine("a", {"message": "broken"}, signature="t", actor="jobs folder"))
    fleet.run(tides)
    assert following(fleet) == []


def test_each_success_starts_it_once(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides = fleet.put("tides")
    fleet.put("a", after="tides", overlap="allow")
    first = fleet.claim(tides)
    s.do(lambda tx: tx.runs.start(first))
    heir = s.sign_on("g2")
    adopted = s.adopt(first, heir)
    with pytest.raises(Exception, match="no longer ours"):
        fleet.end(first)
    fleet.end(adopted)
    with pytest.raises(Exception, match="no longer ours"):
        fleet.end(adopted)
    assert len(following(fleet)) == 1
    fleet.run(tides)
    assert len(following(fleet)) == 1


def rounds(fleet: Fleet) -> Iterator[list[str]]:
    """What is started, one success after another, until nothing is."""
    while claims := following(fleet):
        yield [claim.job.slug for claim in claims]
        for claim in claims:
            fleet.start(claim)
            fleet.end(claim)


def test_jobs_that_follow_each_other_do_not_run_for_ever(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.put("a", after="c")
    b = fleet.put("b", after="a")
    fleet.put("c", after="b")
    fleet.put("me", after="me")
    fleet.order(b)
    assert list(rounds(fleet)) == [["b"], ["c"], ["a"]]
    (refused,) = details(s, "after_refused")
    assert refused["reason"].endswith("not ordered, it is in that chain of causes already")
    assert len(s.rows("SELECT * FROM run")) == 3
    me: Job = fleet.put("me", after="me")
    fleet.order(me)
    assert list(rounds(fleet)) == [["me"]]


def test_a_chain_of_causes_has_an_end(s: UnderTest) -> None:
    fleet = Fleet(s)
    jobs = [fleet.put(f"j{number:02}", after=f"j{number - 1:02}") for number in range(CAUSES_MAX + 3)]
    fleet.order(jobs[0])
    assert len(list(rounds(fleet))) == CAUSES_MAX
    assert details(s, "after_refused")[0]["reason"].endswith(f"not ordered, {CAUSES_MAX} causes in a chain")


def test_an_edit_of_after_counts_from_then_on(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides = fleet.put("tides")
    fleet.put("a", after="tides")
    fleet.put("a", after=None)
    fleet.run(tides)
    assert following(fleet) == []


# ── blocked


def hearers(*to: str) -> Hearers:
    some = tuple(Addressee(name, name) for name in to)
    return Hearers(alerts=lambda _job: (some, Manner()), fallback=lambda: ())


def block(fleet: Fleet, job: Job) -> None:
    claim = fleet.claim(job)
    fleet.end(claim, "block", "Tides was blocked", reason="there is no key", alert=True, result=a_result(), to=DESK)


DESK = (Addressee("desk", "desk"),)


def test_what_blocked_a_job_is_over_when_it_is_found_ready_and_that_is_told_once(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides, moon = fleet.put("tides"), fleet.put("moon")
    block(fleet, tides)
    block(fleet, tides)
    block(fleet, moon)
    assert s.deliver() == ["desk", "desk"], "one for each"
    assert sorted(s.do(lambda tx: tx.incidents.blocked())) == sorted([tides.id, moon.id])
    assert [one["slug"] for one in s.reader().blocked()] == ["moon", "tides"]
    assert s.do(lambda tx: tx.incidents.unblock([tides.id, "none"], hearers("desk", "pager"))) == [tides.id]
    assert s.do(lambda tx: tx.incidents.unblock([tides.id], hearers("desk"))) == []
    parcels = s.take()
    assert sorted(parcel.address for parcel in parcels) == ["desk", "pager"]
    assert parcels[0].items[0].kind == "recovery"
    assert (
        parcels[0].items[0].body.startswith("Tides can run again: what was in its way is gone. It was blocked 2 times")
    )
    assert s.do(lambda tx: tx.incidents.blocked()) == [moon.id]
    assert [row["ended_by"] for row in s.rows("SELECT * FROM incident WHERE ended_at IS NOT NULL")] == [
        "what was in its way is gone"
    ]


def test_other_trouble_is_not_over_by_that_and_what_nobody_was_told_of_is_not_told(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides = fleet.put("tides")
    fleet.run(tides, event="fail", alert=True, reason="exit status 1")
    claim = fleet.claim(tides)
    s.do(lambda tx: tx.runs.finish(claim, blocked("Tides", ("there is no key",))))
    s.damage("UPDATE incident SET told_at = NULL")
    assert s.do(lambda tx: tx.incidents.unblock([tides.id], hearers("desk"))) == [tides.id]
    assert [row["kind"] for row in s.rows("SELECT kind FROM incident WHERE ended_at IS NULL")] == ["failed"]
    assert s.take() == []


def test_a_run_that_is_blocked_reserves_nothing_and_calls_nobody(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(s.put(an_agents_job()))
    fleet.equip(claim, a_wish())
    s.do(lambda tx: tx.runs.finish(claim, blocked("Tides", ("there is no key",))))
    assert fleet.row(claim, "state", "tokens", "reserved_tokens") == ("blocked", None, 0)
    fleet.at(at("08:00") + DAY)


# ── drafts that were approved


def test_an_approved_message_is_sent_like_any_other(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    fleet.run(job, work=a_work(drafts=({"what": "message", "body": {"text": "hello"}},)))
    (ask,) = fleet.asks()
    told = s.do(lambda tx: tx.agents.decide(ask["id"], approved=True, actor="anna", reason=None))
    assert (told["kind"], told["body"]) == ("message", {"text": "hello"})
    assert s.do(lambda tx: tx.outbox.say(job.id, "Tides: a message", "hello", DESK, Manner()))
    (parcel,) = s.take()
    (item,) = parcel.items
    assert (item.kind, item.title, item.body, item.alert, item.slug) == (
        "message",
        "Tides: a message",
        "hello",
        False,
        "tides",
    )


def test_what_a_job_names_that_never_was_is_a_reason_not_to_begin(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(fleet.put(context_from=("self", "nobody")))
    assert fleet.equip(claim).reasons == ("context_from: there is no job 'nobody'",)
