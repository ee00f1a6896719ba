"""Incidents: what goes wrong again and again is told once, reminded of, ended by success; and what was expected in vain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any

import pytest

from horae.core.delivery import Addressee, Manner
from horae.core.model import Claim, End, Job
from horae.errors import NotFound, Refused
from horae.ports import Hearers
from tests.support.builders import DAY, HOUR, MINUTE, a_job, addressed, an_ending, at
from tests.support.stores import SqliteUnderTest as UnderTest

DESK, PHONE, PAGER = (Addressee(name, name) for name in ("desk", "phone", "pager"))
MANNER = Manner(remind_s=86_400.0)


def hearers(*fallback: Addressee, manner: Manner = MANNER) -> Hearers:
    return Hearers(alerts=lambda job: (to(job), manner), fallback=lambda: fallback)


def to(job: Job) -> tuple[Addressee, ...]:
    return tuple(Addressee(name, name) for name in job.alerts or job.deliver)


class Telling:
    """A job whose runs a person orders, one after another, and what is told of it."""

    def __init__(self, s: UnderTest, **job: Any) -> None:
        self.s = s
        self.job = s.put(a_job(**{"deliver": ("desk",), "schedule": "0 0 1 1 *", **job}))
        self.owner = s.sign_on()
        s.clock.time = at("08:00")
        self.count = 0
        self.manner = MANNER
        self.fallback: tuple[Addressee, ...] = ()

    def claim(self) -> Claim:
        self.count += 1
        self.s.do(lambda tx: tx.jobs.order_run(self.job.id, run_id=f"{self.count:016}", actor="anna", input=None))
        (claim,) = self.s.claim(self.owner)
        self.s.do(lambda tx: tx.runs.start(claim))
        return claim

    def end(self, event: str = "complete", reason: str = "exit status 1", **given: Any) -> Claim:
        claim = self.claim()
        alert = event != "complete"
        message = given.pop("message", f"Tides failed: {reason}" if alert else "high water at noon")
        ending = an_ending(event, message, reason=reason if alert else "exit status 0", alert=alert, **given)
        alerts = to(claim.job)
        whom = alerts if alert else addressed(claim)
        end = End(claim, ending, whom, alerts, self.manner)
        self.s.do(lambda tx: tx.runs.conclude_all([end]))
        self.s.clock.time += MINUTE
        return claim

    def fail(self, reason: str = "exit status 1", **given: Any) -> Claim:
        return self.end("fail", reason, **given)

    def told(self, event: str = "accept", **given: Any) -> list[tuple[str, str]]:
        """Send whatever is to be sent now: (address, kind) of each."""
        self.look()
        found: list[tuple[str, str]] = []
        while parcels := self.s.take():
            for parcel in parcels:
                found += [(parcel.address, item.kind) for item in parcel.items]
                self.bodies = [item.body for item in parcel.items]
                self.s.record(parcel, event, **given)
        return found

    def look(self) -> None:
        self.s.do(lambda tx: tx.notices.look(hearers(*self.fallback, manner=self.manner)))

    def incidents(self, *, all: bool = False) -> list[dict[str, Any]]:
        return self.s.reader().incidents(all=all, job_id=None, limit=100)

    @property
    def only(self) -> dict[str, Any]:
        (found,) = self.incidents()
        return found

    def states(self) -> list[tuple[str, str | None]]:
        rows = self.s.rows("SELECT * FROM delivery ORDER BY id")
        return [(row["state"], row["reason"]) for row in rows]


@pytest.fixture
def t(s: UnderTest) -> Telling:
    return Telling(s)


# ── told once


def test_the_first_failure_is_told_and_the_same_again_is_not(t: Telling) -> None:
    t.fail()
    assert t.told() == [("desk", "alert")]
    t.fail()
    t.fail()
    assert t.told() == []
    found = t.only
    assert (found["kind"], found["count"], found["state"], found["untold"]) == ("failed", 3, "open", 2)
    told = f"{at('08:01'):%Y-%m-%d %H:%M}Z"
    assert t.states()[1:] == [("suppressed", f"it belongs to incident {found['id']}, told {told}")] * 2
    assert [row["what"] for row in t.s.journal("incident_opened")] == ["incident_opened"]


def test_another_cause_is_another_incident(t: Telling) -> None:
    t.fail()
    t.fail("exit status 2")
    assert t.told() == [("desk", "alert"), ("desk", "alert")]
    assert len(t.incidents()) == 2


def test_numbers_and_ids_do_not_make_another_cause(t: Telling) -> None:
    t.fail("wall limit of 20 m: 1203.5 s")
    t.fail("wall limit of 20 m: 1207.1 s")
    assert (t.told(), t.only["count"]) == ([("desk", "alert")], 2)


def test_what_is_tried_again_is_no_failure_yet(t: Telling) -> None:
    claim = t.claim()
    end = End(claim, an_ending("fail", "no", alert=True), to(claim.job), to(claim.job), retry_s=60.0)
    t.s.do(lambda tx: tx.runs.conclude_all([end]))
    assert (t.incidents(), t.told()) == ([], [])
    assert t.s.job(t.job)["failing"] == 0


def test_a_failure_of_which_nobody_could_be_told_is_told_with_the_next_one(t: Telling) -> None:
    """A failure is never silent."""
    t.fail()
    assert t.told("refuse", reason="no such room") == [("desk", "alert")]
    t.fail()
    assert t.told() == [("desk", "alert")]
    t.fail()
    assert t.told() == []


def test_while_the_first_word_is_on_its_way_the_same_again_is_not_told(t: Telling) -> None:
    t.fail()
    (parcel,) = t.s.take()
    t.s.record(parcel, "retry", reason="busy")
    t.fail()
    assert "of which a message is on its way" in str(t.states()[-1][1])


def test_whoever_the_end_itself_reaches_has_each_failure(s: UnderTest) -> None:
    """`local` is the run's own row: it keeps everything."""
    t = Telling(s)
    for _ in range(2):
        claim = t.claim()
        here = (Addressee("local", "local", kept=addressed(claim, "desk")[0].kept), DESK)
        end = End(claim, an_ending("fail", "no", reason="exit status 1", alert=True), here, here, MANNER)
        s.do(lambda tx, e=end: tx.runs.conclude_all([e]))
        t.told()
    rows = s.rows("SELECT target, state FROM delivery ORDER BY id")
    assert [tuple(row.values()) for row in rows] == [
        ("local", "delivered"), ("desk", "delivered"), ("local", "delivered"), ("desk", "suppressed"),
    ]  # fmt: skip


@pytest.mark.parametrize(("event", "kind"), [("fail", "failed"), ("block", "blocked"), ("lose", "unknown")])
def test_each_kind_of_trouble_is_an_incident_and_what_a_person_cancelled_is_none(
    t: Telling, event: str, kind: str
) -> None:
    if event == "block":
        t.count += 1
        t.s.do(lambda tx: tx.jobs.order_run(t.job.id, run_id=f"{t.count:016}", actor="anna", input=None))
        (claim,) = t.s.claim(t.owner)
        end = End(claim, an_ending("block", "no key", reason="no key", alert=True, result=None), (DESK,), (DESK,))
        t.s.do(lambda tx: tx.runs.conclude_all([end]))
    else:
        t.end(event)
    assert t.only["kind"] == kind
    t.end("cancel", "cancelled by anna")
    assert len(t.incidents()) == 1
    assert t.told() == [("desk", "alert"), ("desk", "alert")]


# ── ended


def test_success_ends_it_and_says_so(t: Telling) -> None:
    t.fail()
    t.fail()
    t.told()
    claim = t.end()
    assert sorted(t.told()) == [("desk", "recovery"), ("desk", "result")]
    (found,) = t.incidents(all=True)
    assert (found["state"], found["ended_by"], t.incidents()) == ("ended", f"run {claim.run_id}", [])
    text = t.s.rows("SELECT body FROM delivery WHERE kind = 'recovery'")[0]["body"]
    assert text.startswith("Tides works again. Before that it failed 2 times since 2026-03-02 08:00Z")
    t.fail()
    assert t.told() == [("desk", "alert")], "the same cause begins a new incident"


def test_the_end_of_what_nobody_was_told_is_not_told_either(t: Telling) -> None:
    t.fail()
    t.told("refuse", reason="no")
    t.end()
    assert t.told() == [("desk", "result")]


def test_many_at_once_are_each_seen_to(s: UnderTest) -> None:
    t = Telling(s)
    others = [s.put(a_job(f"job{n}", deliver=("desk",), schedule="0 0 1 1 *")) for n in range(4)]
    for n, job in enumerate(others):
        s.do(lambda tx, n=n, job=job: tx.jobs.order_run(job.id, run_id=f"order{n}", actor="anna", input=None))
    claims = s.claim(t.owner)
    s.do(lambda tx: tx.runs.start_all(claims))
    ends = [
        End(
            claim,
            an_ending("fail" if n % 2 else "complete", "m", reason="exit status 1", alert=bool(n % 2)),
            (DESK,),
            (DESK,),
        )
        for n, claim in enumerate(claims)
    ]
    s.do(lambda tx: tx.runs.conclude_all(ends))
    assert sorted(found["slug"] for found in t.incidents()) == sorted(claims[n].job.slug for n in (1, 3))


# ── reminders, acknowledging


def test_it_is_told_again_after_the_interval(t: Telling) -> None:
    t.fail()
    t.told()
    assert t.s.do(lambda tx: tx.notices.next_due()) == at("08:00") + DAY
    t.s.clock.time = at("07:59", day=3)
    assert t.told() == []
    t.s.clock.time = at("08:00", day=3)
    assert t.told() == [("desk", "reminder")]
    assert "still has trouble: it failed once since" in t.bodies[0]
    assert f"`horae ack {t.only['id']}`" in t.bodies[0]
    assert t.s.do(lambda tx: tx.notices.next_due()) == at("08:00", day=4)


def test_reminders_have_an_end(t: Telling) -> None:
    t.fail()
    t.told()
    count = 0
    while (due := t.s.do(lambda tx: tx.notices.next_due())) is not None:
        t.s.clock.time = due
        count += len(t.told())
        assert count < 100
    assert count == 30


def test_no_reminder_of_what_can_not_end(t: Telling) -> None:
    t.fail()
    t.told()
    t.s.damage("UPDATE job SET completed_at = 1, completed_reason = 'done'")
    t.s.clock.time += 2 * DAY
    assert t.told() == []


def test_acknowledged_it_is_told_no_more_until_it_has_ended(t: Telling) -> None:
    t.fail()
    t.told()
    t.s.do(lambda tx: tx.incidents.acknowledge(t.only["id"], actor="anna", until=None))
    assert (t.only["state"], t.only["acked_by"]) == ("acknowledged", "anna")
    t.s.clock.time += 2 * DAY
    t.fail()
    assert t.told() == []
    assert f"it belongs to incident {t.only['id']}, acknowledged by anna" in str(t.states()[-1][1])
    t.end()
    assert ("desk", "recovery") in t.told()
    t.fail()
    assert t.told() == [("desk", "alert")]


def test_snoozed_it_is_told_again_when_that_is_over(t: Telling) -> None:
    t.fail()
    t.told()
    until = t.s.clock.time + 4 * HOUR
    t.s.do(lambda tx: tx.incidents.acknowledge(t.only["id"], actor="anna", until=until))
    assert t.only["state"] == "snoozed"
    t.fail()
    assert t.told() == []
    t.s.clock.time = until
    assert t.told() == [("desk", "reminder")]
    assert t.only["state"] == "open"


def test_what_is_over_or_unknown_cannot_be_acknowledged(t: Telling) -> None:
    t.fail()
    name = t.only["id"]
    t.end()
    with pytest.raises(Refused, match="is over since"):
        t.s.do(lambda tx: tx.incidents.acknowledge(name, actor="anna", until=None))
    with pytest.raises(NotFound):
        t.s.do(lambda tx: tx.incidents.acknowledge("nothing", actor="anna", until=None))


def test_incidents_of_a_removed_job_are_over(t: Telling) -> None:
    t.fail()
    t.s.do(lambda tx: tx.jobs.remove(t.job.id, actor="anna", reason="done"))
    assert [(found["state"], found["ended_by"]) for found in t.incidents(all=True)] == [
        ("ended", "the job was removed")
    ]


# ── paused for its failures


def test_after_so_many_failures_in_a_row_it_is_paused_and_says_how_to_go_on(t: Telling) -> None:
    t.manner = replace(MANNER, pause_after=3)
    t.fail()
    t.told()
    t.fail()
    assert (t.told(), t.s.job(t.job)["paused_at"]) == ([], None)
    t.fail()
    assert t.told() == [("desk", "alert")], "it is told although it belongs to what is known"
    assert "It has failed 3 times in a row and is paused now" in t.bodies[0]
    assert "`horae resume tides`" in t.bodies[0]
    job = t.s.job(t.job)
    assert (job["paused_by"], job["paused_reason"]) == ("gateway", "3 failures in a row; the last one: exit status 1")


def test_a_success_in_between_begins_the_count_anew_and_so_does_going_on(t: Telling) -> None:
    t.manner = replace(MANNER, pause_after=2)
    t.fail()
    t.end()
    t.fail()
    assert t.s.job(t.job)["paused_at"] is None
    t.fail()
    assert t.s.job(t.job)["paused_at"] is not None
    t.s.do(lambda tx: tx.jobs.resume(t.job.id, actor="anna"))
    t.fail()
    assert t.s.job(t.job)["paused_at"] is None, "one more failure is not two in a row"


def test_what_a_person_paused_is_not_paused_again(t: Telling) -> None:
    t.manner = replace(MANNER, pause_after=1)
    t.s.do(lambda tx: tx.jobs.pause(t.job.id, actor="anna", reason="holiday"))
    t.fail()
    assert t.s.job(t.job)["paused_by"] == "anna"


def test_what_nobody_knows_is_no_failure_in_a_row(t: Telling) -> None:
    t.manner = replace(MANNER, pause_after=1)
    t.end("lose", "nobody saw how it ended")
    assert t.s.job(t.job)["paused_at"] is None


# ── what reached nobody


def test_the_fallback_hears_once_of_results_that_reach_nobody(t: Telling) -> None:
    t.fallback = (PHONE,)
    t.end()
    assert t.told("refuse", reason="no such room") == [("desk", "result")]
    assert t.told() == [("phone", "undelivered")]
    assert "A message for desk was not taken: no such room" in t.bodies[0]
    assert (t.only["kind"], t.only["cause"]) == ("undelivered", "desk")
    t.end()
    t.told("refuse", reason="no such room")
    assert t.told() == []
    assert t.only["count"] == 2
    t.end()
    assert t.told() == [("desk", "result")]
    assert t.incidents() == [], "a message that arrived there ends it"


def test_the_fallback_hears_of_each_alert_that_reached_nobody_with_its_words(t: Telling) -> None:
    t.fallback = (PHONE,)
    t.fail()
    t.told("lose", reason="closed in the middle")
    assert t.told() == [("phone", "undelivered")]
    assert "may not have arrived" in t.bodies[0]
    assert "Tides failed: exit status 1" in t.bodies[0]


def test_the_fallback_is_not_told_of_itself(t: Telling) -> None:
    t.fallback = (DESK, PHONE)
    t.end()
    t.told("refuse", reason="no")
    assert t.told("refuse", reason="no") == [("phone", "undelivered")]
    assert t.told() == []


def test_without_a_fallback_it_is_an_incident_all_the_same(t: Telling) -> None:
    t.end()
    t.told("refuse", reason="no")
    t.look()
    assert t.only["kind"] == "undelivered"
    waits = [item for item in t.s.reader().waiting(10) if item["kind"] == "delivery"]
    assert [(item["job"], item["what"]) for item in waits] == [("tides", "desk failed: no")]
    t.s.do(lambda tx: tx.incidents.acknowledge(t.only["id"], actor="anna", until=None))
    assert not [item for item in t.s.reader().waiting(10) if item["kind"] == "delivery"], "a person has seen it"


def test_of_a_dead_address_the_fallback_hears_once_whatever_job_it_was_for(t: Telling) -> None:
    """Each job has its incident; all end when a message arrives there."""
    s = t.s
    t.fallback = (PHONE,)
    t.end()
    t.told("refuse", reason="no such room")
    assert t.told() == [("phone", "undelivered")]
    other = s.put(a_job("other", deliver=("desk",), schedule="0 0 1 1 *"))
    s.do(lambda tx: tx.jobs.order_run(other.id, run_id="o" * 16, actor="anna", input=None))
    (claim,) = s.claim(t.owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.conclude_all([End(claim, an_ending(message="news"), (DESK,), (DESK,), MANNER)]))
    t.told("refuse", reason="no such room")
    assert t.told() == []
    assert sorted(found["slug"] for found in t.incidents()) == ["other", "tides"]
    t.end()
    t.told()
    assert t.incidents() == []


def test_each_loss_has_its_consequences_once(t: Telling) -> None:
    t.fallback = (PHONE,)
    t.end()
    t.told("refuse", reason="no")
    for _ in range(3):
        t.look()
    assert t.only["count"] == 1


def test_what_a_crash_lost_has_them_too(t: Telling) -> None:
    t.fallback = (PHONE,)
    t.end()
    t.s.take()
    t.s.take_over(t.s.sign_on("g2"))
    t.look()
    assert [parcel.address for parcel in t.s.take("g2")] == ["phone"]


# ── what is expected


def passes(t: Telling, when: datetime) -> list[tuple[str, str]]:
    t.s.clock.time = when
    return t.told()


def test_a_job_that_did_not_complete_in_time_is_overdue(s: UnderTest) -> None:
    t = Telling(s, expect_every_s=7200)
    assert s.do(lambda tx: tx.notices.next_due()) == at("10:00")
    t.s.clock.time = at("09:00")
    t.end()
    t.told()
    assert s.do(lambda tx: tx.notices.next_due()) == at("11:00")
    assert passes(t, at("10:59")) == []
    assert passes(t, at("11:00")) == [("desk", "overdue")]
    assert "no run completed within 2 hours; the last one did at 2026-03-02 09:00Z" in t.bodies[0]
    assert passes(t, at("13:00")) == [], "it is told once, and reminded of"
    assert t.only["count"] == 2
    t.end()
    assert ("desk", "recovery") in t.told()


def test_a_failure_is_not_what_was_expected(s: UnderTest) -> None:
    t = Telling(s, expect_every_s=7200)
    t.s.clock.time = at("09:00")
    t.fail()
    t.told()
    assert ("desk", "overdue") in passes(t, at("10:00"))


def test_a_paused_job_is_not_overdue_and_counts_anew_when_it_goes_on(s: UnderTest) -> None:
    t = Telling(s, expect_every_s=7200)
    s.do(lambda tx: tx.jobs.pause(t.job.id, actor="anna", reason=None))
    assert passes(t, at("10:00")) == []
    s.clock.time = at("11:00")
    s.do(lambda tx: tx.jobs.resume(t.job.id, actor="anna"))
    assert s.do(lambda tx: tx.notices.next_due()) == at("13:00")


def test_by_that_time_of_day_a_run_must_have_completed_on_days_of_its_schedule(s: UnderTest) -> None:
    t = Telling(s, schedule="weekdays at 09:00", expect_by="09:30")
    assert s.do(lambda tx: tx.notices.next_due()) == at("09:30")
    t.s.clock.time = at("09:00")
    assert len(s.claim(t.owner)) == 1, "it is being run, and does not come to its end"
    assert passes(t, at("09:30")) == [("desk", "overdue")]
    assert "no run had completed by 09:30 (UTC)" in t.bodies[0]
    assert s.do(lambda tx: tx.notices.next_due()) == at("09:30", day=3)


def test_on_days_without_a_slot_nothing_is_expected(s: UnderTest) -> None:
    t = Telling(s, schedule="mondays at 09:00", expect_by="09:30")
    t.s.clock.time = at("09:00")
    t.end()
    t.told()
    for day in range(2, 9):
        assert passes(t, at("09:30", day=day)) == []
    assert passes(t, at("09:30", day=9)) == [("desk", "overdue")]


def test_what_a_person_skipped_is_not_expected(s: UnderTest) -> None:
    t = Telling(s, schedule="every day at 09:00", expect_by="09:30")
    s.do(lambda tx: tx.jobs.set_exception(t.job.id, at("09:00"), "skip", due=None, actor="anna"))
    t.s.clock.time = at("09:00")
    s.claim(t.owner)
    assert passes(t, at("09:30")) == []


def test_a_slot_from_before_the_job_was_made_is_not_expected(s: UnderTest) -> None:
    s.clock.time = at("09:10")
    job = s.put(a_job(deliver=("desk",), schedule="every day at 09:00", expect_by="09:30"))
    assert s.do(lambda tx: tx.notices.next_due()) == at("09:30")
    s.clock.time = at("09:30")
    s.do(lambda tx: tx.notices.look(hearers()))
    assert (s.take(), s.reader().incidents(all=True, job_id=job.id, limit=9)) == ([], [])


def test_a_look_that_comes_late_still_tells(s: UnderTest) -> None:
    t = Telling(s, schedule="every day at 09:00", expect_by="09:30")
    assert passes(t, at("23:00")) == [("desk", "overdue")]


def test_an_edit_of_something_else_does_not_put_off_what_is_expected(s: UnderTest) -> None:
    t = Telling(s, expect_every_s=7200)
    t.s.clock.time = at("09:00")
    s.put(replace(t.job, name="Ebb"))
    assert s.do(lambda tx: tx.notices.next_due()) == at("10:00")
    s.put(replace(t.job, expect_every_s=3600))
    assert s.do(lambda tx: tx.notices.next_due()) == at("10:00")
    s.put(replace(t.job, expect_every_s=None))
    assert s.do(lambda tx: tx.notices.next_due()) is None


def test_what_completed_and_said_nothing_for_so_many_runs_is_told(s: UnderTest) -> None:
    t = Telling(s, expect_output=3)
    for _ in range(2):
        t.end(message="")
    assert t.told() == []
    t.end(message="")
    assert t.told() == [("desk", "quiet")]
    assert "said nothing, 3 runs in a row" in t.bodies[0]
    t.end(message="")
    assert t.told() == []
    t.end()
    assert sorted(t.told()) == [("desk", "recovery"), ("desk", "result")]
    assert t.s.job(t.job)["silent"] == 0


def test_a_job_that_was_removed_or_damaged_expects_nothing(s: UnderTest) -> None:
    t = Telling(s, expect_every_s=7200)
    s.do(lambda tx: tx.jobs.remove(t.job.id, actor="anna", reason="done"))
    other = s.put(a_job("other", expect_every_s=7200))
    s.damage("UPDATE job SET definition = '{' WHERE id = ?", other.id)
    assert passes(t, at("10:00") + timedelta(hours=3)) == []
    assert s.rows("SELECT * FROM expectation") == []


# ── pruned


def test_what_is_over_and_what_belongs_to_no_run_is_pruned(t: Telling) -> None:
    t.fail()
    t.told()
    t.s.clock.time += DAY
    t.told()
    t.end()
    t.told()
    t.s.clock.time += 400 * DAY
    place = (-1, "")
    t.s.do(lambda tx: tx.retention.prune_runs(0, t.s.clock.time - DAY, 100, place))
    assert t.incidents(all=True) == []
    assert not t.s.rows("SELECT * FROM delivery WHERE run_id IS NULL")


def test_gateways_that_fail_at_the_same_moment_open_one_incident(s: UnderTest) -> None:
    """Of one job, beside one another; and one reminder is sent, whoever looks first."""
    job = s.put(a_job(deliver=("desk",), schedule="0 0 1 1 *", overlap="allow"))
    owners = [s.sign_on(name) for name in ("g1", "g2", "g3")]
    s.clock.time = at("08:00")
    claims: list[list[Claim]] = []
    for n, owner in enumerate(owners):
        for each in range(4):
            s.do(lambda tx, i=f"run{n}{each}": tx.jobs.order_run(job.id, run_id=i, actor="anna", input=None))
        claims.append(s.claim(owner))
        s.do(lambda tx, n=n: tx.runs.start_all(claims[n]))
    stores = [s.again() for _ in owners]
    together = Barrier(len(owners))

    def work(n: int) -> None:
        together.wait()
        for claim in claims[n]:
            ending = an_ending("fail", "no", reason="exit status 1", alert=True)
            end = End(claim, ending, (DESK,), (DESK,), MANNER)
            stores[n].transact(lambda tx, e=end: tx.runs.conclude_all([e]))

    with ThreadPoolExecutor(len(owners)) as pool:
        list(pool.map(work, range(len(owners))))
    (found,) = s.reader().incidents(all=True, job_id=None, limit=9)
    assert (found["count"], s.job(job)["failing"]) == (12, 12)
    assert s.deliver() == ["desk"]
    s.clock.time += 2 * DAY

    def look(n: int) -> None:
        together.wait()
        stores[n].transact(lambda tx: tx.notices.look(hearers()))

    with ThreadPoolExecutor(len(owners)) as pool:
        list(pool.map(look, range(len(owners))))
    assert s.deliver() == ["desk"]
