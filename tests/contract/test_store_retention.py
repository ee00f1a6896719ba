"""What pruning takes away, what it leaves for ever, and what it must not touch; on every store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from horae.core.chain import Walk, check_marker
from horae.core.delivery import Receipt
from horae.core.model import Job
from horae.errors import Problem
from horae.store.journalreader import JournalReader
from tests.support.builders import DAY, MINUTE, addressed, an_ending, at, us
from tests.support.chains import PlainKey
from tests.support.stores import SqliteUnderTest as UnderTest

START = (-1, "")
KEY = PlainKey()
HOURLY = "every 1h from 2026-03-02T08:00:00+00:00"


def run_once(s: UnderTest, owner: Any, when: datetime, event: str = "complete", **ending: Any) -> list[Any]:
    """Whatever is due then is claimed, carried out and delivered."""
    s.clock.time = when
    claims = s.claim(owner)
    for claim in claims:
        s.carry_out(claim, event, **ending)
        deliver(s, claim, Receipt("accept"))
    return claims


def deliver(s: UnderTest, claim: Any, receipt: Receipt) -> None:
    s.deliver(event=receipt.event, reason=receipt.reason)


def texts(s: UnderTest, before: datetime, limit: int = 100, **how: Any) -> int:
    return _all(s, lambda tx, place: tx.retention.prune_text(before, limit, place, **how))


def runs(s: UnderTest, before: datetime, limit: int = 100, **how: Any) -> int:
    return sum(
        _all(s, lambda tx, place, n=stage: tx.retention.prune_runs(n, before, limit, place, **how)) for stage in (0, 1)
    )


def entries(s: UnderTest, before: datetime, limit: int = 100, **how: Any) -> int:
    def step(chain: str) -> Callable[[Any, Any], Any]:
        return lambda tx, place: tx.retention.prune_chain(chain, before, limit, max(0, place[0]), lambda: KEY, **how)

    return sum(_all(s, step(chain)) for chain in s.do(lambda tx: tx.retention.chains()))


def all_that_may_go(s: UnderTest, before: datetime) -> None:
    texts(s, before)
    runs(s, before)
    entries(s, before)


def _all(s: UnderTest, step: Callable[[Any, Any], Any]) -> int:
    count, place = 0, START
    while place is not None:
        done = s.do(lambda tx, at=place: step(tx, at))
        count, place = count + done.gone, done.place
    return count


def walks(s: UnderTest) -> list[Walk]:
    """All chains, after a look that they have no flaw and that their markers are genuine."""
    reader = JournalReader(s.store.db, shared=s.store.db.shared)
    found: list[Walk] = []
    for chain in reader.chains():
        walk = Walk(chain, lambda number, c=chain: reader.marker_from(c, number))
        for link in reader.links(chain, 0, 100_000):
            walk.take(link)
        walk.end(reader.head(chain))
        assert walk.findings == []
        assert [check_marker(each, {KEY.public}, KEY.genuine) for each in reader.markers(chain)] in (
            [],
            [None] * len(reader.markers(chain)),
        )
        found.append(walk)
    return found


def a_year_of(s: UnderTest, job: Job | None = None, count: int = 5) -> tuple[Job, Any, list[Any]]:
    """A job that ran on so many days a year ago, and once now."""
    owner = s.sign_on()
    job = job or s.put(schedule="every day at 08:00")
    claims = [claim for day in range(count) for claim in run_once(s, owner, at("08:00", 3) + day * DAY, message="news")]
    s.clock.time = at("08:00") + 365 * DAY
    run_once(s, owner, s.clock.time, message="today's")
    return job, owner, claims


NOW = at("08:00") + 365 * DAY
OLD = NOW - 90 * DAY


def test_text_goes_and_its_row_says_when(s: UnderTest) -> None:
    _, _, claims = a_year_of(s)
    before = s.everything()
    assert texts(s, OLD, dry=True) == 5
    assert s.everything() == before, "a dry run changes nothing"
    assert texts(s, OLD) == 5
    for claim in claims:
        (row,) = s.rows("SELECT * FROM output WHERE run_id = ?", claim.run_id)
        assert (row["message"], row["stdout"], row["stderr"], row["pruned_at"]) == ("", "", "", us(NOW))
        assert s.run(claim.run_id)["state"] == "completed"
    kept = s.rows("SELECT message FROM output WHERE pruned_at IS NULL")
    assert [row["message"] for row in kept] == ["today's"]
    assert texts(s, OLD) == 0, "what was pruned is not looked at again"


def test_what_is_left_of_a_run_is_its_row_and_its_slot(s: UnderTest) -> None:
    """P2: the once-only promise does not end with retention."""
    _, _, claims = a_year_of(s)
    occurrences = s.rows("SELECT * FROM occurrence ORDER BY key")
    rows = s.rows("SELECT id, key, state, reason, exit_code, started_at, finished_at FROM run ORDER BY id")
    texts(s, OLD)
    assert runs(s, OLD, dry=True) == 5
    assert runs(s, OLD) == 5
    assert s.rows("SELECT * FROM occurrence ORDER BY key") == occurrences
    assert s.rows("SELECT id, key, state, reason, exit_code, started_at, finished_at FROM run ORDER BY id") == rows
    old = {claim.run_id for claim in claims}
    for table in ("output", "delivery"):
        assert not {row["run_id"] for row in s.rows(f"SELECT run_id FROM {table}")} & old
        assert s.rows(f"SELECT * FROM {table}")
    assert runs(s, OLD) == 0


def test_P2_a_slot_whose_run_was_pruned_is_never_claimed_again(s: UnderTest) -> None:
    """Neither by the plan, nor by a person who moves or takes something back, nor by writing the row anew."""
    job, owner, claims = a_year_of(s)
    all_that_may_go(s, OLD)
    key = claims[0].key
    with pytest.raises(Problem, match=r"unique|UNIQUE"):
        s.do(
            lambda tx: s.store.db.execute(
                "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, planned_at)"
                " VALUES (?, ?, 'schedule', ?, ?, 0, 0)",
                (key, job.id, us(claims[0].slot), us(claims[0].slot)),
            )
        )
    s.do(lambda tx: tx.jobs.upsert(job, signature="again", meaning="m", actor="test"))
    s.do(lambda tx: tx.jobs.pause(job.id, actor="ann", reason=None))
    s.do(lambda tx: tx.jobs.resume(job.id, actor="ann"))
    s.clock.time = NOW + 3 * DAY
    again = [claim.key for claim in s.claim(owner)]
    assert again
    assert not set(again) & {claim.key for claim in claims}
    assert s.occurrence(key)["outcome"] == "ran"


def test_runs_may_go_before_their_text_does(s: UnderTest) -> None:
    a_year_of(s)
    assert runs(s, OLD) == 5
    assert texts(s, OLD) == 0


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_it_goes_in_small_steps(s: UnderTest, limit: int) -> None:
    a_year_of(s)
    first = s.do(lambda tx: tx.retention.prune_text(OLD, limit, START))
    assert first.gone == limit
    assert first.place is not None
    assert limit + texts(s, OLD, limit) == 5
    assert runs(s, OLD, limit) == 5
    count = len(s.journal())
    assert entries(s, OLD, limit) == count - len(s.journal()) > 0
    walks(s)


# ── the journal


def test_what_was_pruned_of_the_journal_is_named_by_a_marker(s: UnderTest) -> None:
    a_year_of(s)
    whole = len(s.journal())
    assert entries(s, OLD, dry=True) > 0
    assert len(s.journal()) == whole
    gone = entries(s, OLD)
    assert gone == whole - len(s.journal()) > 0
    (walk,) = walks(s)
    assert (walk.pruned, walk.entries) == (gone, whole - gone)
    (marker,) = s.rows("SELECT * FROM journal_marker")
    assert (marker["number"], marker["count"], marker["at"], marker["signer"]) == (gone, gone, us(NOW), KEY.public)
    assert entries(s, OLD) == 0


def test_holes_that_touch_become_one(s: UnderTest) -> None:
    """What was kept in between goes when nobody needs it any more."""
    owner = s.sign_on()
    s.put(slug="kept", schedule=HOURLY)
    s.put(slug="other", schedule=HOURLY)
    claims = run_once(s, owner, at("09:00"))
    (lost,) = [claim for claim in run_once_but_lost(s, owner, at("10:00")) if claim.job.slug == "kept"]
    run_once(s, owner, at("11:00"))
    run_once(s, owner, NOW)
    assert entries(s, OLD) > 0
    holes = s.rows("SELECT * FROM journal_marker ORDER BY number")
    assert len(holes) > 1
    walks(s)
    assert {row["key"] for row in s.journal("claimed")} >= {lost.key}
    assert claims[0].key not in {row["key"] for row in s.journal()}
    s.do(lambda tx: tx.runs.resolve(lost.run_id, "failed", actor="ann", reason=None, again=None))
    assert entries(s, OLD) > 0
    assert len(s.rows("SELECT * FROM journal_marker")) < len(holes)
    walks(s)
    assert lost.key not in {row["key"] for row in s.journal("claimed")}


def run_once_but_lost(s: UnderTest, owner: Any, when: datetime) -> list[Any]:
    return run_once(s, owner, when, "lose", reason="nobody saw how it ended")


def test_a_clock_that_was_set_back_stops_the_pruning_of_what_is_newer(s: UnderTest) -> None:
    for when in (at("08:00"), NOW, at("09:00"), NOW):
        s.clock.time = when
        s.do(lambda tx: tx.journal.append("said", actor="test"))
    assert entries(s, OLD) == 1
    assert [row["at"] for row in s.journal()] == [us(NOW), us(at("09:00")), us(NOW)]
    walks(s)


def test_what_is_from_before_there_were_chains_goes_without_a_marker(s: UnderTest) -> None:
    insert = "INSERT INTO journal (seq, at, actor, what, detail) VALUES (?, ?, 'test', 'old', '{}')"
    for seq in range(-5, 0):
        s.damage(insert, seq, us(at("08:00")))
    s.clock.time = NOW
    s.do(lambda tx: tx.journal.append("said", actor="test"))
    assert s.do(lambda tx: tx.retention.prune_unchained(OLD, 2, -10)).gone == 2
    assert _all(s, lambda tx, place: tx.retention.prune_unchained(OLD, 2, -10 if place[0] == -1 else place[0])) == 3
    assert [row["what"] for row in s.journal()] == ["said"]
    assert s.do(lambda tx: tx.retention.prune_unchained(NOW + DAY, 100, -10)).gone == 0, "what has a chain is not its"
    assert s.rows("SELECT * FROM journal_marker") == []


# ── what somebody may still need


def untouched(s: UnderTest, run_id: str, key: str) -> None:
    """Everything of one run is there after all that can go has gone."""

    def of_run() -> list[Any]:
        tables = [s.rows(f"SELECT * FROM {table} WHERE run_id = ?", run_id) for table in ("output", "delivery")]
        return [*tables, s.rows("SELECT * FROM journal WHERE key = ? ORDER BY seq", key)]

    before = of_run()
    assert before[2], "there is something to keep"
    all_that_may_go(s, NOW)
    assert of_run() == before
    assert s.run(run_id)["pruned"] == 0
    walks(s)


def test_P4_a_run_whose_end_is_unknown_keeps_everything_until_somebody_says(s: UnderTest) -> None:
    owner = s.sign_on()
    s.put(schedule="every day at 08:00")
    (claim,) = run_once_but_lost(s, owner, at("08:00", 3))
    run_once(s, owner, at("08:00", 4))
    s.clock.time = NOW
    untouched(s, claim.run_id, claim.key)
    s.do(lambda tx: tx.runs.resolve(claim.run_id, "completed", actor="ann", reason=None, again=None))
    assert texts(s, NOW) == 1


@pytest.mark.parametrize("receipt", [None, Receipt("refuse", reason="closed"), Receipt("lose", reason="gone")])
def test_P5_a_delivery_that_has_not_arrived_keeps_everything(s: UnderTest, receipt: Receipt | None) -> None:
    owner = s.sign_on()
    s.put(schedule="every day at 08:00", deliver=("desk",))
    s.clock.time = at("08:00", 3)
    (claim,) = s.claim(owner)
    s.carry_out(claim)
    if receipt is not None:
        deliver(s, claim, receipt)
    s.damage("UPDATE delivery SET due_at = ? WHERE state = 'pending'", us(at("08:00", 30)))
    (other,) = run_once(s, owner, at("08:00", 4))
    run_once(s, owner, at("08:00", 5))
    s.clock.time = NOW
    untouched(s, claim.run_id, claim.key)
    assert s.run(other.run_id)["pruned"] == 2


def test_the_newest_run_of_a_job_keeps_everything_until_the_job_is_removed(s: UnderTest) -> None:
    owner = s.sign_on()
    job = s.put(schedule="2026-03-03T08:00:00+00:00")
    (claim,) = run_once(s, owner, at("08:00", 3))
    s.clock.time = NOW
    untouched(s, claim.run_id, claim.key)
    s.do(lambda tx: tx.jobs.remove(job.id, actor="ann", reason="not needed"))
    assert (texts(s, NOW), runs(s, NOW)) == (1, 1)
    assert entries(s, NOW) > 0
    assert s.occurrence(claim.key)["outcome"] == "ran"


def test_an_open_slot_keeps_what_was_decided_about_it(s: UnderTest) -> None:
    s.put(schedule="2027-03-03T08:00:00+00:00")
    s.put(slug="other")
    (key,) = [row["key"] for row in s.journal("planned")][:1]
    s.clock.time = NOW
    assert entries(s, NOW) > 0
    assert [row["what"] for row in s.rows("SELECT what FROM journal WHERE key = ?", key)] == ["planned"]
    walks(s)


def test_a_run_that_is_live_keeps_everything(s: UnderTest) -> None:
    owner = s.sign_on()
    s.put(schedule="every day at 08:00")
    s.clock.time = at("08:00", 3)
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.clock.time = NOW
    untouched(s, claim.run_id, claim.key)


def test_a_finished_run_that_is_not_settled_keeps_everything(s: UnderTest) -> None:
    owner = s.sign_on()
    job = s.put(schedule="every day at 08:00")
    s.clock.time = at("08:00", 3)
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim, "local")))
    s.do(lambda tx: tx.jobs.remove(job.id, actor="ann", reason="not needed"))
    s.clock.time = NOW
    untouched(s, claim.run_id, claim.key)
    s.do(lambda tx: tx.runs.settle(claim))
    assert texts(s, NOW) == 1


def test_a_claim_that_was_given_back_is_not_the_newest_run(s: UnderTest) -> None:
    owner = s.sign_on()
    s.put(schedule="every day at 08:00")
    (claim,) = run_once(s, owner, at("08:00", 3))
    s.clock.time = at("08:00", 4)
    (given_back,) = s.claim(owner)
    s.do(lambda tx: tx.runs.release(given_back, "the gateway is stopping"))
    s.clock.time = NOW
    untouched(s, claim.run_id, claim.key)


def test_a_minute_job_of_a_year_is_pruned_but_for_its_last_run(s: UnderTest) -> None:
    owner = s.sign_on()
    s.put()
    claims = [claim for n in range(20) for claim in run_once(s, owner, at("08:00") + n * MINUTE)]
    s.clock.time = NOW
    assert texts(s, NOW, limit=7) == len(claims) - 1
    assert runs(s, NOW, limit=7) == len(claims) - 1
    assert len(s.rows("SELECT * FROM run")) == len(claims)
