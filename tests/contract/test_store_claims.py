"""Claims, tokens and terminal states: nothing runs twice (P2), a stale owner has no effect (P3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from horae.core.model import End
from horae.core.states import RUN, sources, terminal
from horae.errors import Stale
from horae.store.claimwrites import Writes
from horae.store.owners import LEASE
from tests.support.builders import MINUTE, SECOND, a_job, addressed, an_ending, an_owner, at, us, with_token
from tests.support.stores import SqliteUnderTest as UnderTest

# ── claims


def test_P2_a_due_slot_is_claimed_once(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01")
    first, second = s.claim(owner), s.claim(owner)
    assert [claim.job_id for claim in first] == [job.id]
    assert second == []


def test_nothing_is_claimed_before_it_is_due(s: UnderTest) -> None:
    s.put()
    owner = s.sign_on()
    s.clock.time = at("08:00:59")
    assert s.claim(owner) == []
    s.clock.time = at("08:01")
    assert len(s.claim(owner)) == 1


def test_S8_two_due_jobs_never_overlap_claims(s: UnderTest) -> None:
    """Two gateways that look at the same moment share the due jobs out; neither gets what the other has."""
    jobs = [s.put(slug=f"job{n}") for n in range(6)]
    one, two = s.sign_on("g1"), s.sign_on("g2")
    s.clock.time = at("08:01")
    other = s.again()
    first = s.claim(one, 3)
    second = other.transact(lambda tx: tx.runs.claim_due(two, 10))
    assert len(first) == len(second) == 3
    assert {claim.job_id for claim in (*first, *second)} == {job.id for job in jobs}
    assert len({claim.token for claim in (*first, *second)}) == 6


@pytest.mark.parametrize("beside", [False, True])
def test_S8_what_a_look_has_read_nobody_settles_before_it_is_written(s: UnderTest, beside: bool) -> None:
    """Between reading and writing the rows are the look's own: so none is claimed that has come to its end meanwhile."""
    job, owner, other = s.put(overlap="queue"), s.sign_on(), s.again()
    if beside:  # a second open slot, which is found by way of the first
        s.do(lambda tx: tx.jobs.set_exception(job.id, at("08:03"), "move", due=at("08:01"), actor="p"))
    other.db.execute("SET lock_timeout = 1" if s.store.db.shared else "PRAGMA busy_timeout = 0")
    settle = "UPDATE occurrence SET state = 'settled', outcome = 'void' WHERE key = ?"
    keys, tried, real = [row["key"] for row in s.rows("SELECT key FROM occurrence")], list[str](), Writes.flush

    def in_between(writes: Writes) -> None:
        for key in keys if not tried else ():
            tried.append(key)
            with pytest.raises(Exception, match=r"locked|lock timeout"):
                other.db.execute(settle, (key,))
        real(writes)

    s.clock.time = at("08:01")
    with mock.patch.object(Writes, "flush", in_between):
        (claim,) = s.claim(owner, 1)  # the other row is found by way of the first, not for itself
    assert len(tried) == 1 + beside
    other.db.execute(settle, (claim.key,))
    assert [row["state"] for row in s.rows("SELECT state FROM run")] == ["claimed"]
    with pytest.raises(Exception, match="immutable"):  # not even by a look that had not kept the row
        s.damage("UPDATE occurrence SET state = 'claimed', outcome = NULL WHERE key = ?", claim.key)


def test_tokens_only_rise(s: UnderTest) -> None:
    owner = s.sign_on()
    for n in range(3):
        s.put(slug=f"job{n}")
    tokens = []
    for minute in ("08:01", "08:02", "08:03"):
        s.clock.time = at(minute)
        for claim in s.claim(owner):
            tokens.append(claim.token)
            s.carry_out(claim)
    assert len(tokens) == 9
    assert tokens == sorted(set(tokens))


def test_the_schema_itself_refuses_a_second_row_for_a_slot(s: UnderTest) -> None:
    job = s.put()
    (row,) = s.rows("SELECT * FROM occurrence WHERE job_id = ?", job.id)
    with pytest.raises(Exception, match=r"(?i)unique"):
        s.damage(
            "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, planned_at)"
            " VALUES ('another', ?, 'schedule', ?, ?, 0, 0)",
            job.id, row["slot_at"], row["due_at"],
        )  # fmt: skip


def test_a_claim_says_all_that_its_run_needs(s: UnderTest) -> None:
    job, owner = s.put(timezone="Europe/Paris"), s.sign_on()
    s.clock.time = at("08:01:00.250000")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.due, claim.claimed_at) == (at("08:01"), at("08:01"), s.clock.time)
    assert (claim.job, claim.attempt, claim.trigger, claim.missed, claim.input) == (job, 1, "schedule", 0, None)
    assert (claim.timezone, claim.offset_s) == ("Europe/Paris", 3600)


def test_the_limit_bounds_a_batch_and_the_rest_comes_next(s: UnderTest) -> None:
    for n in range(5):
        s.put(slug=f"job{n}")
    owner = s.sign_on()
    s.clock.time = at("08:01")
    assert [len(s.claim(owner, 2)) for _ in range(4)] == [2, 2, 1, 0]


def test_rows_that_only_wait_do_not_keep_others_from_being_claimed(s: UnderTest) -> None:
    """Ordered runs of one busy job stand first in the queue; a small batch must still reach the job behind them."""
    busy, owner = s.put(slug="busy", schedule="0 0 1 1 *"), s.sign_on()
    for n in range(3):
        s.do(lambda tx, n=n: tx.jobs.order_run(busy.id, run_id=f"{n:016}", actor="person", input=None))
    (live,) = s.claim(owner, 1)
    other = s.put(slug="other")
    s.clock.time = at("08:01")
    assert [claim.job_id for claim in s.claim(owner, 1)] == [other.id]
    assert live.job_id == busy.id


def test_after_a_full_batch_of_unrun_slots_the_rest_is_due_at_once(s: UnderTest) -> None:
    """After a batch that settled paused slots only, the gateway must not sleep over what is due."""
    for n in range(3):
        job = s.put(slug=f"paused{n}")
        s.do(lambda tx, job=job: tx.jobs.pause(job.id, actor="person", reason=None))
    s.clock.time = at("08:00:30")
    active, owner = s.put(slug="zz-active", schedule="every 1 minute from 2026-03-02T08:00:01+00:00"), s.sign_on()
    s.clock.time = at("08:01:01")
    found, looks = [], 0
    while not found and looks < 5:
        found, next_due = s.do(lambda tx: (tx.runs.claim_due(owner, 2), tx.runs.next_due()))
        looks += 1
        if not found:
            assert next_due is not None
            assert next_due <= s.clock.time, "the gateway would sleep although something is due"
    assert [claim.job_id for claim in found] == [active.id]


# ── fences: every verb, with a wrong token and in each wrong state

Verb = Callable[[Any, Any], Any]
VERBS: dict[str, tuple[Verb, str]] = {  # the verb, and the state in which it is right
    "start": (lambda tx, c: tx.runs.start(c), "claimed"),
    "release": (lambda tx, c: tx.runs.release(c, "why"), "claimed"),
    "block": (lambda tx, c: tx.runs.finish(c, an_ending("block", "no"), addressed(c)), "claimed"),
    "complete": (lambda tx, c: tx.runs.finish(c, an_ending("complete"), addressed(c)), "running"),
    "fail": (lambda tx, c: tx.runs.finish(c, an_ending("fail"), addressed(c)), "running"),
    "cancel": (lambda tx, c: tx.runs.finish(c, an_ending("cancel"), addressed(c)), "running"),
    "lose": (lambda tx, c: tx.runs.finish(c, an_ending("lose"), addressed(c)), "running"),
    "refuse": (lambda tx, c: tx.runs.refuse(c, "no room"), "running"),
    "refuse when asked to end": (
        lambda tx, c: (tx.runs.ask_to_end(c.run_id, actor="anna", reason="enough"), tx.runs.refuse(c, "no room")),
        "running",
    ),
    "settle": (lambda tx, c: tx.runs.settle(c), "finished"),
}
STATES = ("claimed", "running", "finished", "blocked", "released", "settled")


def brought_to(s: UnderTest, state: str) -> Any:
    s.put()
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    if state in ("running", "finished", "settled"):
        s.do(lambda tx: tx.runs.start(claim))
    if state in ("finished", "settled"):
        s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim)))
    if state == "settled":
        s.do(lambda tx: tx.runs.settle(claim))
    if state == "blocked":
        s.do(lambda tx: tx.runs.finish(claim, an_ending("block", "no"), addressed(claim)))
    if state == "released":
        s.do(lambda tx: tx.runs.release(claim, "why"))
    return claim


@pytest.mark.parametrize("verb", VERBS)
def test_P3_O3_a_wrong_token_changes_nothing(s: UnderTest, verb: str) -> None:
    act, right = VERBS[verb]
    claim = brought_to(s, right)
    before = s.everything()
    for token in (claim.token - 1, claim.token + 1):
        with pytest.raises(Stale):
            s.do(lambda tx, token=token: act(tx, with_token(claim, token)))
    assert s.everything() == before
    s.do(lambda tx: act(tx, claim))


@pytest.mark.parametrize(
    ("state", "asked"),
    [("claimed", False), ("claimed", True), ("running", False), ("running", True)],
)
def test_P3_O3_a_wrong_token_refuses_nothing_in_any_state(s: UnderTest, state: str, asked: bool) -> None:
    claim = brought_to(s, state)
    if asked:
        s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="enough"))
    before = s.everything()
    for token in (claim.token - 1, claim.token + 1):
        with pytest.raises(Stale):
            s.do(lambda tx, token=token: tx.runs.refuse(with_token(claim, token), "no room"))
    assert s.everything() == before
    s.do(lambda tx: tx.runs.refuse(claim, "no room"))
    assert s.run(claim.run_id)["state"] == ("cancelled" if asked else "released")


def test_O3_an_ordered_run_is_claimed_and_fenced_like_a_slot(s: UnderTest) -> None:
    job, owner = s.put(schedule="0 9 * * *"), s.sign_on()
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="m" * 16, actor="person", input=None))
    (claim,) = s.claim(owner)
    assert (claim.trigger, claim.run_id, claim.attempt) == ("manual", "m" * 16, 1)
    assert s.claim(s.sign_on("g2")) == [], "it has an owner"
    before = s.everything()
    for verb in (VERBS["start"], VERBS["release"], VERBS["block"]):
        with pytest.raises(Stale):
            s.do(lambda tx, verb=verb: verb[0](tx, with_token(claim, claim.token + 1)))
    assert s.everything() == before
    s.carry_out(claim)
    assert s.run(claim.run_id)["state"] == "completed"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verb", VERBS)
def test_P3_a_wrong_state_changes_nothing(s: UnderTest, verb: str, state: str) -> None:
    act, right = VERBS[verb]
    if state == right or state in sources(RUN, verb.split(maxsplit=1)[0]) or (verb, state) == ("settle", "blocked"):
        return
    claim = brought_to(s, state)
    before = s.everything()
    with pytest.raises(Stale):
        s.do(lambda tx: act(tx, claim))
    assert s.everything() == before


def test_P3_O3_progress_of_a_stale_owner_is_dropped(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    for token in (claim.token - 1, claim.token + 1):
        s.do(lambda tx, token=token: tx.runs.note_process(with_token(claim, token), 77, 7))
        assert s.run(claim.run_id)["pid"] is None
    s.do(lambda tx: tx.runs.note_process(claim, 77, 7))
    assert (s.run(claim.run_id)["pid"], s.run(claim.run_id)["pid_started"]) == (77, 7)


def test_P3_progress_after_the_end_is_dropped(s: UnderTest) -> None:
    claim = brought_to(s, "finished")
    s.do(lambda tx: tx.runs.note_process(claim, 77, 7))
    assert s.run(claim.run_id)["pid"] is None


def test_P3_O21_adoption_makes_the_former_owner_stale(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    second = s.sign_on("g2")
    adopted = s.adopt(claim, second)
    assert adopted.token > claim.token
    with pytest.raises(Stale):
        s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim)))
    s.do(lambda tx: tx.runs.finish(adopted, an_ending("lose", "unknown"), addressed(adopted)))
    assert s.run(claim.run_id)["state"] == "unknown"


def test_O21_a_stale_claim_settles_nothing_of_the_attempt_after_it(s: UnderTest) -> None:
    claim = brought_to(s, "released")
    (again,) = s.claim(s.sign_on("g2"))
    assert (again.key, again.attempt) == (claim.key, 2)
    with pytest.raises(Stale):
        s.do(lambda tx: tx.runs.settle(claim))
    s.carry_out(again)
    assert [row["state"] for row in s.rows("SELECT state FROM run ORDER BY attempt")] == ["released", "completed"]


@pytest.mark.parametrize("verb", ["release", "refuse", "retry"])
def test_O21_a_stale_claim_gives_back_nothing_of_the_attempt_after_it(s: UnderTest, verb: str) -> None:
    """No verb leads there. If it ever came to two live attempts, the older one's slot would still be the newer one's."""
    claim = brought_to(s, "claimed" if verb == "release" else "running")
    s.damage(
        "INSERT INTO run (id, key, job_id, attempt, token, gateway_id, state, claimed_at)"
        " SELECT 'after', key, job_id, 2, token + 1, gateway_id, 'claimed', claimed_at FROM run WHERE id = ?",
        claim.run_id,
    )
    s.damage("UPDATE occurrence SET attempts = 2 WHERE key = ?", claim.key)
    before = s.occurrence(claim.key)
    acts: dict[str, Callable[[Any], Any]] = {
        "release": lambda tx: tx.runs.release(claim, "why"),
        "refuse": lambda tx: tx.runs.refuse(claim, "no room"),
        "retry": lambda tx: tx.runs.conclude_all([End(claim, an_ending("fail"), addressed(claim), retry_s=5.0)]),
    }
    s.do(acts[verb])
    assert len(s.journal("retry_planned" if verb == "retry" else "released")) == 1
    assert s.occurrence(claim.key) == before, "it is claimed, by the attempt after"
    assert s.claim(s.sign_on("g2")) == [], "and nobody begins a third one beside it"


def test_O21_a_claim_whose_slot_is_planned_already_moves_it_no_more(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    s.damage("UPDATE occurrence SET state = 'planned' WHERE key = ?", claim.key)
    before = s.occurrence(claim.key)
    s.do(lambda tx: tx.runs.conclude_all([End(claim, an_ending("fail"), addressed(claim), retry_s=5.0)]))
    assert len(s.journal("retry_planned")) == 1
    assert s.occurrence(claim.key) == before


def test_O4_what_its_machine_refused_a_process_has_not_run_and_is_due_again(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    s.do(lambda tx: tx.runs.refuse(claim, "no room"))
    run = s.run(claim.run_id)
    assert (run["state"], run["reason"], run["started_at"]) == ("released", "no room", None)
    (again,) = s.claim(s.sign_on("g2"))
    assert (again.key, again.attempt, again.failures) == (claim.key, 2, 0)
    s.carry_out(again)
    assert s.occurrence(claim.key)["outcome"] == "ran"


def test_what_was_asked_to_end_before_its_machine_refused_it_a_process_is_over(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="cancelled by anna"))
    s.do(lambda tx: tx.runs.refuse(claim, "no room"))
    run, slot = s.run(claim.run_id), s.occurrence(claim.key)
    assert (run["state"], run["reason"], run["started_at"]) == ("cancelled", "cancelled by anna", None)
    assert (slot["state"], slot["outcome"], slot["reason"]) == ("settled", "skipped", "cancelled by anna")
    assert s.claim(s.sign_on("g2")) == []


ONCE = "2026-03-02T08:01"


@pytest.mark.parametrize("began", [False, True])
def test_a_job_whose_last_slot_was_called_off_is_completed(s: UnderTest, began: bool) -> None:
    job, owner = s.put(schedule=ONCE), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    if began:
        s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="enough"))
    assert s.job(job)["completed_at"] is None
    s.do(lambda tx: tx.runs.refuse(claim, "no room") if began else tx.runs.asked_to_end(owner))
    assert (s.job(job)["completed_at"], s.job(job)["completed_reason"]) == (us(at("08:01")), "it was to run once")


@pytest.mark.parametrize("way", ["called off", "refused when called off", "retried", "released", "outlived"])
def test_what_waits_for_a_run_begins_when_that_is_over(s: UnderTest, way: str) -> None:
    """And whoever may begin it elsewhere is told of it, if the store has others at all."""
    jobs = {slug: s.put(slug=slug, group="gpu", schedule="1 8 * * *") for slug in ("one", "two")}
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    assert s.claim(owner) == [], "the other one waits for the group"
    if way in ("refused when called off", "retried"):
        s.do(lambda tx: tx.runs.start(claim))
    if "called off" in way:
        s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="enough"))
    if way == "outlived":  # it is not due again, so only what waits is told of
        s.put(replace(jobs[claim.job.slug], schedule="0 12 * * *"))
    acts: dict[str, Callable[[Any], Any]] = {
        "called off": lambda tx: tx.runs.asked_to_end(owner),
        "refused when called off": lambda tx: tx.runs.refuse(claim, "no room"),
        "retried": lambda tx: tx.runs.conclude_all([End(claim, an_ending("fail"), addressed(claim), retry_s=90.0)]),
    }
    told = tells(s, acts.get(way, lambda tx: tx.runs.release(claim, "why")))
    assert told or not s.store.db.shared
    assert len(s.claim(owner)) == 1


@pytest.mark.parametrize("event", ["release", "refuse"])
def test_what_was_given_back_is_told_to_whoever_has_room(s: UnderTest, event: str) -> None:
    """Nothing waits for it; but it is due again, and only who has none here knows."""
    claim = brought_to(s, VERBS[event][1])
    assert tells(s, lambda tx: VERBS[event][0](tx, claim))


def tells(s: UnderTest, work: Callable[[Any], Any]) -> bool:
    """Whether gateways elsewhere are told to look again."""
    with mock.patch.object(type(s.store.db), "notify") as told:
        s.do(work)
    return told.called


# ── terminal states are written once, by the schema itself


@pytest.mark.parametrize("state", terminal(RUN))
def test_a_finished_run_is_immutable(s: UnderTest, state: str) -> None:
    verb, before = next(
        VERBS[event] for events in RUN.values() for event, to in events.items() if to == state and event in VERBS
    )
    claim = brought_to(s, before)
    s.do(lambda tx: verb(tx, claim))
    assert s.run(claim.run_id)["state"] == state
    for other in RUN:
        with pytest.raises(Exception, match="immutable"):
            s.damage("UPDATE run SET state = ? WHERE id = ?", other, claim.run_id)


def test_a_settled_occurrence_is_immutable(s: UnderTest) -> None:
    claim = brought_to(s, "settled")
    for change in ("state = 'planned', outcome = NULL", "outcome = 'missed'", "due_at = 0", "reason = ''"):
        with pytest.raises(Exception, match="immutable"):
            s.damage(f"UPDATE occurrence SET {change} WHERE key = ?", claim.key)


# ── orphans


def test_orphans_are_what_others_left_open(s: UnderTest) -> None:
    jobs = [s.put(slug=f"job{n}") for n in range(5)]
    one = s.sign_on("g1")
    s.clock.time = at("08:01")
    claims = sorted(s.claim(one), key=lambda claim: [job.id for job in jobs].index(claim.job_id))
    s.do(lambda tx: tx.runs.start(claims[1]))
    s.do(lambda tx: tx.runs.note_process(claims[1], 44, 4))
    s.do(lambda tx: tx.runs.start(claims[2]))
    s.do(lambda tx: tx.runs.finish(claims[2], an_ending(), addressed(claims[2])))
    s.carry_out(claims[3])
    s.do(lambda tx: tx.runs.release(claims[4], "why"))
    two = s.sign_on("g2")
    assert s.do(lambda tx: tx.runs.others(one)) == []
    taken = s.take_over(two)
    assert sorted((orphan.run_id, orphan.state) for orphan, _ in taken) == sorted(
        zip((claim.run_id for claim in claims[:3]), ("claimed", "running", "completed"), strict=True)
    )
    (running,) = (orphan for orphan, _ in taken if orphan.state == "running")
    assert (running.pid, running.pid_started, running.host, running.boot) == (44, 4, "host", "boot")
    tokens = {claim.run_id: claim.token for claim in claims}
    assert all(claim.token > tokens[orphan.run_id] for orphan, claim in taken)
    assert s.do(lambda tx: tx.runs.others(two)) == []


# ── leases


def test_O19_an_owner_that_nobody_can_look_at_counts_as_alive_until_its_lease_ends(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    two = s.sign_on("g2")
    s.do(lambda tx: tx.runs.renew(an_owner("g1")))
    s.clock.time += LEASE - SECOND
    assert s.do(lambda tx: tx.runs.take_over(two, ())) == []
    s.clock.time += SECOND
    ((orphan, adopted),) = s.do(lambda tx: tx.runs.take_over(two, ()))
    assert (orphan.run_id, adopted.run_id) == (claim.run_id, claim.run_id)
    (entry,) = s.journal("gateway_lost")
    assert "its lease ended" in entry["detail"]


def test_a_renewed_lease_keeps_all_runs_of_a_gateway(s: UnderTest) -> None:
    for slug in ("one", "two"):
        s.put(slug=slug)
    one, two = s.sign_on("g1"), s.sign_on("g2")
    s.clock.time = at("08:01")
    assert len(s.claim(one)) == 2
    for _ in range(5):
        s.clock.time += LEASE - SECOND
        s.do(lambda tx: tx.runs.renew(one))
        assert s.do(lambda tx: tx.runs.take_over(two, ())) == []


def test_P3_whoever_was_taken_over_hears_of_it_when_it_renews(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    one, two = an_owner("g1"), s.sign_on("g2")
    s.take_over(two)
    with pytest.raises(Stale):
        s.do(lambda tx: tx.runs.renew(one))
    with pytest.raises(Stale):
        s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim)))
    s.do(lambda tx: tx.runs.sign_on(one, "test"))
    s.do(lambda tx: tx.runs.renew(one))
    assert s.do(lambda tx: tx.runs.others(one))[0].owner.id == "g2", "what was taken stays taken"


def test_runs_that_a_planned_stop_leaves_behind_are_handed_over(s: UnderTest) -> None:
    brought_to(s, "running")
    one, two = an_owner("g1"), s.sign_on("g2")
    s.do(lambda tx: tx.runs.sign_off(one, 600.0))
    s.clock.time += 10 * LEASE
    (holder,) = s.do(lambda tx: tx.runs.others(two))
    assert (holder.stopped, holder.lease_until - s.clock.time) == (True, 600 * SECOND - 10 * LEASE)
    assert s.do(lambda tx: tx.runs.take_over(two, ())) == []
    s.clock.time += 600 * SECOND - 10 * LEASE
    assert len(s.do(lambda tx: tx.runs.take_over(two, ()))) == 1


# ── in bulk


def test_P3_of_many_that_start_together_only_the_stale_ones_are_refused(s: UnderTest) -> None:
    for n in range(5):
        s.put(slug=f"job{n}")
    owner = s.sign_on()
    s.clock.time = at("08:01")
    claims = s.claim(owner)
    stale = {1, 3}
    given = [with_token(claim, claim.token + 100 * (n in stale)) for n, claim in enumerate(claims)]
    answers = s.do(lambda tx: tx.runs.start_all(given))
    assert {n for n, answer in enumerate(answers) if isinstance(answer, Stale)} == stale
    states = [s.run(claim.run_id)["state"] for claim in claims]
    assert states == ["claimed" if n in stale else "running" for n in range(5)]
    ends = [End(claim, an_ending(message=f"m{n}"), addressed(claim, "local")) for n, claim in enumerate(given)]
    answers = s.do(lambda tx: tx.runs.conclude_all(ends))
    assert [isinstance(answer, Stale) or answer for answer in answers] == [n in stale for n in range(5)]
    assert len(s.rows("SELECT * FROM occurrence WHERE state = 'settled'")) == 3
    assert len(s.journal("started")) == len(s.journal("completed")) == 3
    assert {row["message"] for row in s.rows("SELECT message FROM output")} == {"m0", "m2", "m4"}


def test_a_run_that_is_tried_again_goes_back_into_the_plan_and_tells_nobody(s: UnderTest) -> None:
    s.put(deliver=("desk",), schedule="1 8 * * *")
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    end = End(claim, an_ending("fail", "no route", alert=True), addressed(claim), retry_s=90.0)
    assert s.do(lambda tx: tx.runs.conclude_all([end])) == [False]
    row = s.occurrence(claim.key)
    assert (row["state"], row["due_at"]) == ("planned", us(at("08:02:30")))
    assert [row["state"] for row in s.rows("SELECT state FROM delivery")] == ["suppressed"]
    s.clock.time = at("08:02:30")
    second = next(each for each in s.claim(owner) if each.key == claim.key)
    assert (second.attempt, second.slot) == (2, claim.slot)


def test_a_run_that_waits_for_its_turn_is_called_off_at_once(s: UnderTest) -> None:
    s.put()
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    assert s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="cancelled by anna"))
    assert not s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="again"))
    assert s.do(lambda tx: tx.runs.asked_to_end(owner)) == []
    assert s.run(claim.run_id)["state"] == "cancelled"
    assert (s.occurrence(claim.key)["outcome"], s.occurrence(claim.key)["reason"]) == ("skipped", "cancelled by anna")
    with pytest.raises(Stale):
        s.do(lambda tx: tx.runs.start(claim))


def test_a_run_that_goes_on_is_named_to_its_owner_only(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="enough"))
    assert s.do(lambda tx: tx.runs.asked_to_end(an_owner("g1"))) == [(claim.run_id, "enough")]
    assert s.do(lambda tx: tx.runs.asked_to_end(an_owner("g2"))) == []


def test_U11_an_adopted_claim_is_the_same_occurrence(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    s.clock.time += MINUTE
    second = s.sign_on("g2")
    adopted = s.adopt(claim, second)
    for name in ("run_id", "key", "job_id", "attempt", "trigger", "slot", "due", "claimed_at", "missed", "job"):
        assert getattr(adopted, name) == getattr(claim, name)


# ── transactions


def test_nothing_is_written_when_the_work_raises(s: UnderTest) -> None:
    owner = s.sign_on()
    s.put()
    s.clock.time = at("08:01")
    before = s.everything()

    def work(tx: Any) -> None:
        tx.runs.claim_due(owner, 10)
        tx.jobs.upsert(a_job("other"), signature="s", meaning="m", actor="test")
        tx.journal.append("said", actor="test")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        s.do(work)
    assert s.everything() == before


def test_journal_numbers_rise_without_gaps_over_all_writers(s: UnderTest) -> None:
    owner = s.sign_on()
    s.put()
    other = s.again()
    for minute in range(1, 6):
        s.clock.time = at(f"08:{minute:02}")
        for claim in s.claim(owner):
            s.carry_out(claim)
        other.transact(lambda tx: tx.journal.append("said", actor="test"))
        with pytest.raises(RuntimeError):
            other.transact(_raise)
    rows = s.journal()
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    if not s.store.db.shared:  # elsewhere a number that was given to somebody who failed is missing
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert not s.journal("lost")


def _raise(tx: Any) -> None:
    tx.journal.append("lost", actor="test")
    raise RuntimeError


def test_every_verb_of_a_run_journals_in_its_transaction(s: UnderTest) -> None:
    claim = brought_to(s, "finished")
    assert s.deliver(evidence="there") == ["local"]
    s.do(lambda tx: tx.runs.settle(claim))
    whats = [row["what"] for row in s.journal() if row["key"] == claim.key]
    assert whats == ["planned", "claimed", "started", "completed", "delivered"]
