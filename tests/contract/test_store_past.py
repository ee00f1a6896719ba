"""A stretch of time, of all jobs: what began or ended in it, what waits in it, and what sums are made of."""

from __future__ import annotations

from datetime import timedelta

from tests.support.builders import at, us
from tests.support.plans import rows_touched
from tests.support.stores import PostgresUnderTest
from tests.support.stores import SqliteUnderTest as UnderTest

FAR = us(at("23:59", day=28))


def test_the_past_is_in_order_with_the_latest_run_and_without_what_is_planned(s: UnderTest) -> None:
    owner = s.sign_on()
    tides, mail = s.put(slug="tides"), s.put(slug="mail")
    for minute, event in (("08:01", "complete"), ("08:02", "fail")):
        s.clock.time = at(minute)
        for claim in s.claim(owner):
            s.carry_out(claim, event)
    found = s.reader().past(us(at("08:00")), FAR, job_id=None, limit=100)
    assert [row["due_at"] for row in found] == sorted(row["due_at"] for row in found)
    assert {(row["slug"], row["run_state"]) for row in found} == {
        ("tides", "completed"), ("tides", "failed"), ("mail", "completed"), ("mail", "failed"),
    }  # fmt: skip
    assert all(row["run_id"] and row["state"] == "settled" and row["outcome"] == "ran" for row in found)
    (only,) = s.reader().past(us(at("08:01")), us(at("08:02")), job_id=tides.id, limit=100)
    assert (only["job_id"], only["due_at"], only["timezone"]) == (tides.id, us(at("08:01")), "UTC")
    newest = s.reader().past(us(at("08:00")), FAR, job_id=mail.id, limit=1)
    assert [row["due_at"] for row in newest] == [us(at("08:02"))], "of too many the newest"


def test_a_span_of_missed_slots_is_found_from_its_end_too(s: UnderTest) -> None:
    owner = s.sign_on()
    job = s.put(slug="tides")
    s.clock.time = at("08:01")
    for claim in s.claim(owner):
        s.carry_out(claim)
    s.clock.time = at("11:30")
    s.claim(owner)
    (span,) = [row for row in s.reader().past(us(at("08:00")), FAR, job_id=job.id, limit=500) if row["span_to"]]
    assert span["outcome"] == "missed"
    assert span["span_count"] > 100
    middle = us(at("10:00"))
    assert span["due_at"] < middle < span["span_to"]
    assert [row["key"] for row in s.reader().reaching(middle, job_id=None)] == [span["key"]]
    assert [row["key"] for row in s.reader().reaching(middle, job_id=job.id)] == [span["key"]]
    assert s.reader().reaching(us(at("12:00")), job_id=None) == []
    missed = s.reader().not_run(us(at("08:00")), FAR, job_id=None, limit=10)
    assert [(row["outcome"], row["slots"]) for row in missed] == [("missed", span["span_count"])]


def test_what_is_due_and_has_not_begun_waits_and_what_is_far_ahead_does_not(s: UnderTest) -> None:
    job = s.put(slug="tides")
    asked = {"job_id": None, "limit": 10}
    assert s.reader().waiting_slots(us(at("08:00")), FAR, now=us(at("08:00")), **asked) == []
    (row,) = s.reader().waiting_slots(us(at("08:00")), FAR, now=us(at("08:05")), **asked)
    assert (row["job_id"], row["state"], row["due_at"]) == (job.id, "planned", us(at("08:01")))
    assert s.reader().waiting_slots(us(at("09:00")), FAR, now=us(at("08:05")), **asked) == []


def test_the_newest_word_about_a_slot_is_found_by_its_key(s: UnderTest) -> None:
    job = s.put(slug="tides")
    slot = at("08:03")
    first = s.do(lambda tx: tx.jobs.set_exception(job.id, slot, "move", due=slot + timedelta(hours=1), actor="ann"))
    second = s.do(lambda tx: tx.jobs.set_exception(job.id, slot, "skip", due=None, actor="ann"))
    (key,) = [row["key"] for row in s.rows("SELECT key FROM occurrence WHERE exception = 'skip'")]
    assert second > first
    assert s.reader().turns([key, "0" * 32]) == {key: second}
    assert s.reader().turns([]) == {}


def test_runs_of_a_stretch_have_what_sums_need_and_jobs_their_names(s: UnderTest) -> None:
    owner = s.sign_on()
    job = s.put(slug="tides")
    s.clock.time = at("08:01")
    for claim in s.claim(owner):
        s.carry_out(claim, "fail")
    (row,) = s.reader().ran(us(at("08:00")), FAR, job_id=job.id, limit=10)
    assert (row["state"], row["trigger"], row["attempt"], row["due_at"]) == ("failed", "schedule", 1, us(at("08:01")))
    assert row["claimed_at"] == us(at("08:01"))
    s.do(lambda tx: tx.jobs.remove(job.id, actor="test", reason="test"))
    names = s.reader().names([job.id, "000000000000"])
    assert names[job.id]["slug"] == "tides"
    assert names[job.id]["removed_at"] is not None
    assert list(names) == [job.id]


MANY = """
INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, state, outcome, planned_at, settled_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
SELECT CAST(1000000 + i AS TEXT), job_id, trigger, slot_at - i * CAST(60000000 AS BIGINT),
  due_at - i * CAST(60000000 AS BIGINT), 0, 'settled', 'skipped', planned_at, planned_at
FROM n, occurrence WHERE state = 'planned'
"""


def test_a_question_reads_little_more_than_it_answers_before_the_tables_statistics_are_made(s: UnderTest) -> None:
    s.put(slug="busy")
    s.damage(MANY)
    reader, sent = s.reader(), []
    execute = reader._db.execute
    reader._db.execute = lambda sql, args=(): sent.append((sql, args)) or execute(sql, args)
    assert len(reader.past(0, FAR, job_id=None, limit=100_000)) == 10_000
    assert len(reader.past(0, FAR, job_id=None, limit=5)) == 5
    if isinstance(s, PostgresUnderTest):
        all_of_them, newest = (rows_touched(execute, sql, args) for sql, args in sent)
        assert all_of_them < 10 * 10_000
        assert newest < 100 * 5
