"""The strip of a page of jobs: the latest of each, the newest last, whatever else there is, and however much."""

from __future__ import annotations

from tests.support.builders import at
from tests.support.stores import SqliteUnderTest as UnderTest

MANY = 5000  # enough that reading all of them shows


def test_each_job_has_its_latest_with_what_became_of_them(s: UnderTest) -> None:
    owner = s.sign_on()
    first, second, idle = (s.put(slug=name) for name in ("one", "two", "idle"))
    for minute, event in (("08:01", "complete"), ("08:02", "fail"), ("08:03", "complete")):
        s.clock.time = at(minute)
        for claim in s.claim(owner):
            if claim.job.id == first.id:
                s.carry_out(claim, event)
            elif minute == "08:01":
                s.do(lambda tx, claim=claim: tx.runs.start(claim))
    s.do(lambda tx: tx.jobs.remove(idle.id, actor="test", reason="test"))
    strips = s.reader().strips([first.id, second.id, "000000000000"], 20)
    assert [mark["state"] for mark in strips[first.id]] == ["completed", "failed", "completed"]
    assert [mark["slot"] for mark in strips[first.id]] == sorted(mark["slot"] for mark in strips[first.id])
    runs = {row["id"] for row in s.rows("SELECT id FROM run WHERE job_id = ?", first.id)}
    assert {mark["run"] for mark in strips[first.id]} == runs
    live, *skipped = strips[second.id]
    assert live["state"] == "running"
    assert {mark["state"] for mark in skipped} == {"skipped"}, "they came due while the first was live"
    assert all(mark["reason"] for mark in skipped)
    assert strips["000000000000"] == [], "nobody's strip is empty, and there"


def test_a_strip_is_as_long_as_was_asked(s: UnderTest) -> None:
    owner = s.sign_on()
    job = s.put(slug="busy")
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.carry_out(claim)
    row = s.rows("SELECT * FROM occurrence WHERE key = ?", claim.key)[0]
    columns = ", ".join(name for name in row if name not in ("key", "slot_at"))
    s.damage(
        f"INSERT INTO occurrence (key, slot_at, {columns}) WITH RECURSIVE n (at) AS"
        f" (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < {MANY})"
        f" SELECT key || n.at, slot_at - CAST(n.at AS bigint) * 60000000, {columns} FROM n CROSS JOIN occurrence"
        f" WHERE key = '{claim.key}'"
    )
    reader = s.reader()
    strip = reader.strips([job.id], 20)[job.id]
    assert len(strip) == 20
    assert strip[-1]["run"] == claim.run_id
    assert len(reader.strips([job.id], MANY * 2)[job.id]) == MANY + 1
