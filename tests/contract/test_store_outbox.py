"""Deliveries: written with the end of a run, sent one at a time to each address, and never twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from horae.core.delivery import Addressee, Manner, Receipt
from horae.core.model import Claim, End
from horae.errors import Conflict, Refused, Stale
from horae.ports import Hearers
from horae.store.outbox import CRASHED
from tests.support.builders import HOUR, MINUTE, SECOND, a_job, addressed, an_ending, an_owner, at
from tests.support.stores import SqliteUnderTest as UnderTest

NOBODY = Hearers(alerts=lambda job: ((), Manner()), fallback=lambda: ())


def ordered(s: UnderTest, slug: str, targets: tuple[str, ...]) -> Claim:
    """A run that a person ordered, live."""
    job = s.put(slug=slug, deliver=targets, schedule="0 0 1 1 *")
    owner = s.sign_on()
    s.clock.time = max(s.clock.time, at("08:01"))
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id=f"run-of-{slug}", actor="anna", input=None))
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    return claim


def ended(s: UnderTest, *targets: str, slug: str = "tides", message: str = "news", **ending: Any) -> Claim:
    """A run that has ended, with a message for all these."""
    claim = ordered(s, slug, targets or ("desk",))
    end = End(claim, an_ending(message=message, **ending), addressed(claim))
    assert s.do(lambda tx: tx.runs.conclude_all([end])) == [bool(message)]
    return claim


def deliveries(s: UnderTest) -> dict[str, str]:
    return {row["target"]: row["state"] for row in s.rows("SELECT target, state FROM delivery ORDER BY id")}


def row(s: UnderTest, target: str = "desk") -> dict[str, Any]:
    return s.rows("SELECT * FROM delivery WHERE target = ? ORDER BY id DESC", target)[0]


# ── written with the end


def test_U8_each_address_has_a_row_from_the_moment_the_run_ended(s: UnderTest) -> None:
    s.put(deliver=("local", "desk", "local"))
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.finish(claim, an_ending(message="news"), addressed(claim)))
    assert deliveries(s) == {"local": "pending", "desk": "pending"}
    items = [(parcel.address, item.body, item.title, item.alert) for parcel in s.take() for item in parcel.items]
    assert sorted(items) == [("desk", "news", "Tides", False), ("local", "news", "Tides", False)]
    assert s.take() == []


def test_two_names_of_one_address_are_one_delivery(s: UnderTest) -> None:
    s.put(schedule="1 8 * * *")
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    to = (Addressee("ops", "desk"), Addressee("desk", "desk"), Addressee("team", "phone"))
    s.do(lambda tx: tx.runs.finish(claim, an_ending(), to))
    assert deliveries(s) == {"ops": "pending", "team": "pending"}


def test_P5_the_slot_is_settled_whatever_becomes_of_the_message(s: UnderTest) -> None:
    claim = ended(s)
    assert (s.occurrence(claim.key)["outcome"], deliveries(s)) == ("ran", {"desk": "pending"})
    s.deliver(event="refuse", reason="no such room")
    assert (s.occurrence(claim.key)["outcome"], s.run(claim.run_id)["state"]) == ("ran", "completed")
    assert (row(s)["state"], row(s)["reason"]) == ("failed", "no such room")


def test_silence_is_written_down_and_not_sent(s: UnderTest) -> None:
    ended(s, message="", silence="the whole answer is [SILENT]")
    assert (row(s)["state"], row(s)["reason"]) == ("suppressed", "the whole answer is [SILENT]")
    assert s.take() == []


def test_whoever_the_end_itself_reaches_is_delivered_with_it(s: UnderTest) -> None:
    s.put(deliver=("local", "desk"))
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    assert s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim, "local"))) is True
    found = [(each["target"], each["state"], each["evidence"]) for each in s.rows("SELECT * FROM delivery ORDER BY id")]
    assert found == [("local", "delivered", "here"), ("desk", "pending", None)]
    assert [parcel.address for parcel in s.take()] == ["desk"]


# ── sending


def test_one_message_at_a_time_is_under_way_to_an_address(s: UnderTest) -> None:
    ended(s, slug="first")
    ended(s, "desk", "phone", slug="second")
    first = s.take()
    assert [(parcel.address, parcel.items[0].slug) for parcel in first] == [("desk", "first"), ("phone", "second")]
    s.record(first[0])
    assert [(parcel.address, parcel.items[0].slug) for parcel in s.take()] == [("desk", "second")]


def test_no_more_are_taken_than_there_is_room_for(s: UnderTest) -> None:
    ended(s, "a", "b", "c")
    assert [len(s.take(limit=limit)) for limit in (0, 2, 2)] == [0, 2, 1]


def test_P3_a_receipt_without_the_token_changes_nothing(s: UnderTest) -> None:
    ended(s)
    (parcel,) = s.take()
    before = s.everything()
    for token in (parcel.token - 1, parcel.token + 1):
        with pytest.raises(Stale):
            s.record(replace(parcel, token=token))
    assert s.everything() == before
    s.record(parcel)
    assert deliveries(s) == {"desk": "delivered"}


def test_P3_O5_whoever_was_taken_over_records_nothing(s: UnderTest) -> None:
    """The first owner stands still while it sends; the second takes over. The first one's receipt is void."""
    ended(s)
    (parcel,) = s.take()
    s.take_over(s.sign_on("g2"))
    assert deliveries(s) == {"desk": "unknown"}
    before = s.everything()
    for receipt in ("accept", "refuse", "retry", "lose"):
        with pytest.raises(Stale):
            s.record(parcel, receipt, reason="late")
    assert s.everything() == before


def test_P3_O5_not_even_where_the_second_one_sends_it_again(s: UnderTest) -> None:
    ended(s)
    (stale,) = s.take()
    two = s.sign_on("g2")
    s.do(lambda tx: tx.runs.take_over(two, {"g1"}, repeatable=lambda address: True))
    (again,) = s.take("g2")
    assert [item.delivery_id for item in again.items] == [item.delivery_id for item in stale.items]
    with pytest.raises(Stale):
        s.record(stale, "refuse", reason="late")
    s.record(again)
    assert deliveries(s) == {"desk": "delivered"}


def test_P3_what_is_not_on_its_way_has_no_receipt(s: UnderTest) -> None:
    ended(s)
    (parcel,) = s.take()
    s.record(parcel, "retry", reason="busy")
    before = s.everything()
    with pytest.raises(Stale):
        s.record(parcel)
    assert s.everything() == before


def test_a_delivery_is_recorded_once(s: UnderTest) -> None:
    ended(s)
    (parcel,) = s.take()
    s.record(parcel)
    with pytest.raises(Stale):
        s.record(parcel, "refuse")
    with pytest.raises(Exception, match="immutable"):
        s.damage("UPDATE delivery SET state = 'pending'")


def test_P4_what_was_being_sent_in_a_crash_is_unknown_and_the_rest_is_sent(s: UnderTest) -> None:
    claim = ended(s, "desk", "mail", "phone")
    desk, mail, phone = s.take()
    s.record(desk)
    s.record(phone, "retry", reason="busy")
    s.take_over(s.sign_on("g2"))
    assert deliveries(s) == {"desk": "delivered", "mail": "unknown", "phone": "pending"}
    (entry,) = [each for each in s.journal("unknown") if each["run_id"] == claim.run_id]
    assert mail.address in entry["detail"], "an unknown delivery is a decision that `why` must show"
    assert s.rows("SELECT reason FROM delivery WHERE target = 'mail'") == [{"reason": CRASHED}]
    s.clock.time += HOUR
    assert [parcel.address for parcel in s.take("g2")] == ["phone"]


def test_a_gateway_that_only_sends_is_seen_by_others(s: UnderTest) -> None:
    """Its run has ended and is settled: what it owns is the message."""
    ended(s)
    s.take()
    two = s.sign_on("g2")
    assert [holder.owner.id for holder in s.do(lambda tx: tx.runs.others(two))] == ["g1"]
    s.take_over(two)
    assert s.do(lambda tx: tx.runs.others(two)) == []


# ── tried again


def pauses(s: UnderTest, times: int) -> list[float]:
    """How long is waited before each next try."""
    found: list[float] = []
    for _ in range(times):
        (parcel,) = s.take()
        s.record(parcel, "retry", reason="busy")
        due = s.do(lambda tx: tx.outbox.next_due())
        found.append((due - s.clock.time).total_seconds())
        s.clock.time = due
    return found


def test_what_was_surely_not_taken_is_tried_again_with_longer_pauses(s: UnderTest) -> None:
    ended(s)
    found = pauses(s, 10)
    least = [min(900.0, 5.0 * 2**n) for n in range(10)]
    assert all(low <= pause <= low * 1.25 for low, pause in zip(least, found, strict=True)), found
    assert row(s)["attempts"] == 10
    s.deliver()
    assert deliveries(s) == {"desk": "delivered"}


def test_before_its_time_nothing_is_tried_again(s: UnderTest) -> None:
    ended(s)
    s.deliver(event="retry", reason="busy")
    s.clock.time += 4 * SECOND
    assert s.take() == []


def test_a_target_that_asks_for_patience_gets_it_for_all_its_messages(s: UnderTest) -> None:
    ended(s, slug="first")
    ended(s, "desk", "phone", slug="second")
    desk, phone = s.take()
    s.record(desk, "retry", reason="too many", after_s=600.0)
    s.record(phone)
    assert s.take() == [], "the second message for the desk waits as well"
    s.clock.time += 10 * MINUTE
    assert s.deliver() == ["desk", "desk"]


def test_past_its_deadline_it_is_given_up_and_says_why(s: UnderTest) -> None:
    ended(s)
    count = 0
    while row(s)["state"] == "pending":
        s.clock.time = max(s.clock.time, s.do(lambda tx: tx.outbox.next_due()) or s.clock.time)
        s.deliver(event="retry", reason="busy")
        count += 1
        assert count < 300
    assert (row(s)["state"], row(s)["reason"]) == ("expired", f"given up after {count} tries: busy")
    assert s.clock.time - at("08:01") <= timedelta(days=1)
    assert [each["what"] for each in s.journal("expired")] == ["expired"]


def test_what_may_have_arrived_is_never_tried_again(s: UnderTest) -> None:
    ended(s)
    s.deliver(event="lose", reason="closed in the middle")
    s.clock.time += timedelta(days=3)
    assert (deliveries(s), s.take()) == ({"desk": "unknown"}, [])


def test_of_two_targets_only_the_one_that_refused_is_tried_again(s: UnderTest) -> None:
    """The regression of others: says ok, and everybody gets it twice."""
    claim = ended(s, "desk", "phone")
    desk, phone = s.take()
    s.record(desk, evidence="message 7")
    s.record(phone, "retry", reason="busy")
    s.clock.time += MINUTE
    assert s.deliver() == ["phone"]
    (run,) = s.reader().list_runs(job_id=claim.job_id, state=None, limit=9, cursor=None)["runs"]
    assert [(each["target"], each["state"], each["attempts"]) for each in run["deliveries"]] == [
        ("desk", "delivered", 1),
        ("phone", "delivered", 2),
    ]
    assert len(s.rows("SELECT id FROM run")) == 1, "the job is never run again for a message"


# ── closed addresses


def test_where_an_address_says_that_it_is_gone_nothing_is_sent_until_a_person_opens_it(s: UnderTest) -> None:
    ended(s)
    s.deliver(event="refuse", reason="410 Gone", closes=True)
    assert s.do(lambda tx: tx.outbox.closed()) == {"desk": "410 Gone"}
    ended(s, slug="later")
    assert (s.take(), row(s)["state"]) == ([], "failed")
    assert row(s)["reason"] == "nothing is sent there any more: 410 Gone"
    assert [each["address"] for each in s.reader().closed_targets()] == ["desk"]
    assert s.do(lambda tx: tx.outbox.reopen("desk", actor="anna")) is True
    assert s.do(lambda tx: tx.outbox.reopen("desk", actor="anna")) is False
    ended(s, slug="third")
    assert s.deliver() == ["desk"]
    assert [(each["what"], each["actor"]) for each in s.journal("target_closed", "target_opened")] == [
        ("target_closed", "gateway"),
        ("target_opened", "anna"),
    ]


# ── held, and sent together


def held(s: UnderTest, slug: str, until: datetime, *, digest: bool = True, message: str = "news") -> Claim:
    claim = ordered(s, slug, ("desk",))
    to = (Addressee("desk", "desk", hold_until=until, digest=digest),)
    s.do(lambda tx: tx.runs.conclude_all([End(claim, an_ending(message=message), to)]))
    return claim


def test_what_is_held_goes_out_in_one_message_when_its_time_comes(s: UnderTest) -> None:
    for n in range(3):
        held(s, f"job{n}", at("09:00"), message=f"news {n}")
    assert (s.take(), s.do(lambda tx: tx.outbox.next_due())) == ([], at("09:00"))
    assert row(s)["reason"] == "held until 2026-03-02 09:00Z"
    s.clock.time = at("09:00")
    (parcel,) = s.take()
    assert [item.body for item in parcel.items] == ["news 0", "news 1", "news 2"]
    s.record(parcel, evidence="one message")
    assert {(each["state"], each["evidence"]) for each in s.rows("SELECT * FROM delivery")} == {
        ("delivered", "one message")
    }
    assert len(s.journal("delivered")) == 3, "each run has its own word of it"


def test_a_digest_that_is_tried_again_is_the_same_message(s: UnderTest) -> None:
    """Its id stays, so whoever takes a repeat for the same must not miss what came later."""
    held(s, "a", at("09:00"))
    held(s, "b", at("09:00"))
    s.clock.time = at("09:00")
    (first,) = s.take()
    held(s, "c", at("09:00"))
    s.record(first, "retry", reason="busy")
    s.clock.time = at("09:10")
    parcels = [s.take()[0]]
    s.record(parcels[0])
    parcels += s.take()
    assert [[item.slug for item in parcel.items] for parcel in parcels] == [["c"], ["a", "b"]], "as they are due"


def test_what_is_held_but_no_digest_goes_out_by_itself(s: UnderTest) -> None:
    held(s, "a", at("09:00"), digest=False)
    held(s, "b", at("09:00"), digest=False)
    s.clock.time = at("09:00")
    assert [len(parcel.items) for parcel in s.take()] == [1]


def test_time_that_it_was_held_does_not_count_against_its_deadline(s: UnderTest) -> None:
    held(s, "a", at("08:01", day=9))
    s.clock.time = at("08:01", day=9)
    s.deliver(event="retry", reason="busy")
    assert deliveries(s) == {"desk": "pending"}


# ── sent anew by people


def resend(s: UnderTest, claim: Claim, target: str | None = None) -> list[str]:
    return s.do(lambda tx: tx.outbox.resend(claim.run_id, target, Manner(), actor="anna"))


@pytest.mark.parametrize("event", ["refuse", "lose"])
def test_what_reached_nobody_is_sent_anew_by_hand(s: UnderTest, event: str) -> None:
    claim = ended(s, "desk", "phone")
    desk, phone = s.take()
    s.record(desk, event, reason="no")
    s.record(phone)
    assert resend(s, claim) == ["desk"]
    assert s.deliver() == ["desk"]
    (run,) = s.reader().list_runs(job_id=None, state=None, limit=1, cursor=None)["runs"]
    assert {each["target"]: each["state"] for each in run["deliveries"]} == {"desk": "delivered", "phone": "delivered"}
    assert len(s.rows("SELECT * FROM delivery")) == 3, "what became of the first try stays on record"
    assert [(each["actor"], each["run_id"]) for each in s.journal("resent")] == [("anna", claim.run_id)]


def test_P5_what_has_arrived_is_never_sent_again(s: UnderTest) -> None:
    claim = ended(s)
    s.deliver(evidence="message 7")
    for target in (None, "desk"):
        with pytest.raises(Refused, match="desk has it already: message 7"):
            resend(s, claim, target)
    assert s.take() == []


@pytest.mark.parametrize(("how", "says"), [("pending", "is pending"), ("sending", "is sending")])
def test_what_is_being_seen_to_is_not_sent_anew(s: UnderTest, how: str, says: str) -> None:
    claim = ended(s)
    if how == "sending":
        s.take()
    with pytest.raises(Refused, match=says):
        resend(s, claim)


def test_what_was_suppressed_is_sent_only_by_name_and_only_if_it_says_something(s: UnderTest) -> None:
    silent = ended(s, message="", slug="silent")
    for target in (None, "desk"):
        with pytest.raises(Refused, match="nothing was to be sent to desk"):
            resend(s, silent, target)
    known = ended(s, slug="known")
    s.damage("DROP TRIGGER delivery_terminal")
    s.damage("UPDATE delivery SET state = 'suppressed', reason = 'known' WHERE run_id = ?", known.run_id)
    with pytest.raises(Refused, match="nothing was to be sent to desk: known"):
        resend(s, known)
    assert resend(s, known, "desk") == ["desk"]
    assert s.deliver() == ["desk"]


def test_an_unknown_target_is_named(s: UnderTest) -> None:
    with pytest.raises(Refused, match="no such delivery"):
        resend(s, ended(s), "phone")


def test_two_people_send_it_anew_once(s: UnderTest) -> None:
    claim = ended(s)
    s.deliver(event="refuse", reason="no")
    assert resend(s, claim) == ["desk"]
    with pytest.raises((Conflict, Refused)):
        resend(s, claim)
    assert s.deliver() == ["desk"]


def test_what_was_pruned_cannot_be_sent_anew(s: UnderTest) -> None:
    claim = ended(s)
    s.deliver(event="refuse", reason="no")
    s.damage("UPDATE output SET message = ''")
    resend(s, claim)
    assert (s.take(), row(s)["state"]) == ([], "expired")
    assert "pruned" in row(s)["reason"]


# ── two gateways at once


def test_two_gateways_never_send_to_one_address_at_once(s: UnderTest) -> None:
    ended(s, slug="first")
    ended(s, slug="second")
    other = s.again()
    mine = s.take("g1")
    theirs = other.transact(lambda tx: tx.outbox.take_due(an_owner("g2"), 9))
    assert ([parcel.address for parcel in mine], theirs) == (["desk"], [])


VERBS: dict[str, Callable[[Any, Claim, Any], Any]] = {
    "record": lambda tx, claim, parcel: tx.notices.record(parcel, Receipt("accept")),
    "retry": lambda tx, claim, parcel: tx.notices.record(parcel, Receipt("retry", reason="busy")),
    "close": lambda tx, claim, parcel: tx.notices.record(parcel, Receipt("refuse", reason="gone", closes=True)),
    "look": lambda tx, claim, parcel: tx.notices.look(NOBODY),
}


@pytest.mark.parametrize("verb", VERBS)
def test_P3_each_verb_is_all_or_nothing(s: UnderTest, verb: str) -> None:
    """A transaction that fails behind a verb leaves nothing of it."""
    claim = ended(s)
    (parcel,) = s.take()
    if verb == "look":
        s.record(parcel, "refuse", reason="no")
    before = s.everything()

    def work(tx: Any) -> None:
        VERBS[verb](tx, claim, parcel)
        raise KeyError

    with pytest.raises(KeyError):
        s.do(work)
    assert s.everything() == before


def test_the_message_of_a_job_that_was_removed_is_sent_all_the_same(s: UnderTest) -> None:
    claim = ended(s)
    s.do(lambda tx: tx.jobs.remove(claim.job_id, actor="anna", reason="done"))
    assert s.deliver() == ["desk"]


def test_an_agents_answer_is_markdown_and_what_programs_print_is_text(s: UnderTest) -> None:
    for slug, given in (("agent", {"agent": True, "script": None, "prompt": "Report."}), ("script", {})):
        s.put(a_job(slug, schedule="1 8 * * *", deliver=(slug,), **given))
    owner = s.sign_on()
    s.clock.time = at("08:01")
    for claim in s.claim(owner):
        s.do(lambda tx, c=claim: tx.runs.start(c))
        s.do(lambda tx, c=claim: tx.runs.conclude_all([End(c, an_ending(), addressed(c))]))
    assert {parcel.address: parcel.items[0].format for parcel in s.take()} == {"agent": "markdown", "script": "text"}
