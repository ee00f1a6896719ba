"""Runs by time and by what began them, their attempts and their replays, on both stores."""

from __future__ import annotations

from typing import Any

import pytest

from horae.store import runviews
from tests.support.agentjobs import Fleet, a_work
from tests.support.builders import at, us
from tests.support.stores import SqliteUnderTest as UnderTest


def every_page(s: UnderTest, limit: int = 2, **asked: Any) -> list[str]:
    reader, found, cursor = s.reader(), list[str](), None
    for _ in range(60):
        page = reader.list_runs(**({"job_id": None, "state": None} | asked), limit=limit, cursor=cursor)
        found += [run["id"] for run in page["runs"]]
        cursor = page["cursor"]
        if cursor is None:
            return found
    raise AssertionError("the pages never end")


def with_a_past(s: UnderTest) -> list[dict[str, Any]]:
    """Two jobs that run each minute for four minutes, and one order by hand in each of the last two."""
    one, _ = s.put(slug="one"), s.put(slug="two")
    owner = s.sign_on()
    for minute in range(1, 5):
        s.clock.time = at(f"08:0{minute}")
        if minute > 2:
            order = {"run_id": str(minute) * 16, "actor": "ada", "input": None}
            s.do(lambda tx, order=order: tx.jobs.order_run(one.id, **order))
        for claim in s.claim(owner):
            s.carry_out(claim)
    return s.rows(
        "SELECT r.id, r.claimed_at, r.job_id, r.state, o.trigger FROM run r JOIN occurrence o ON o.key = r.key"
        " ORDER BY r.claimed_at DESC, r.id DESC"
    )


def test_runs_of_a_stretch_of_time(s: UnderTest) -> None:
    runs = with_a_past(s)
    times = sorted({run["claimed_at"] for run in runs})
    assert len(times) == 4
    for since in (None, times[1], times[3] + 1):
        for until in (None, times[0], times[2], times[3] + 1):
            expected = [
                run["id"]
                for run in runs
                if (since is None or run["claimed_at"] >= since) and (until is None or run["claimed_at"] < until)
            ]
            assert every_page(s, since=since, until=until) == expected
            assert every_page(s, 50, since=since, until=until) == expected


@pytest.mark.parametrize("walked", [1, 2, 3, 5000])
@pytest.mark.parametrize("trigger", ["manual", "schedule"])
def test_runs_by_what_began_them_with_all_other_filters(
    s: UnderTest, monkeypatch: pytest.MonkeyPatch, trigger: str, walked: int
) -> None:
    runs = with_a_past(s)
    monkeypatch.setattr(runviews, "WALKED", walked)
    of_it = [run for run in runs if run["trigger"] == trigger]
    assert 0 < len(of_it) < len(runs)
    assert every_page(s, trigger=trigger) == [run["id"] for run in of_it]
    assert every_page(s, 50, trigger=trigger) == [run["id"] for run in of_it]
    job, since = of_it[0]["job_id"], us(at("08:04"))
    narrowed = [run["id"] for run in of_it if run["job_id"] == job and run["claimed_at"] >= since]
    assert narrowed
    assert every_page(s, trigger=trigger, job_id=job, state="completed", since=since) == narrowed
    assert every_page(s, trigger=trigger, state="failed") == []


def test_values_that_are_bound_are_values(s: UnderTest) -> None:
    with_a_past(s)
    assert every_page(s, trigger="manual' OR '1' = '1") == []


def test_attempts_of_a_slot_the_oldest_first(s: UnderTest) -> None:
    runs = with_a_past(s)
    (row,) = s.rows("SELECT * FROM run WHERE id = ?", runs[-1]["id"])
    for attempt in (2, 3):
        copy = {**row, "id": f"{attempt:x>16}", "attempt": attempt}
        marks = ", ".join("?" * len(copy))
        s.damage(f"INSERT INTO run ({', '.join(copy)}) VALUES ({marks})", *copy.values())
    told = s.reader().attempts(row["key"], 9)
    assert [(each["attempt"], each["id"]) for each in told] == [(1, row["id"]), (2, f"{2:x>16}"), (3, f"{3:x>16}")]
    assert set(told[0]) == {"id", "attempt", "state", "reason", "at"}
    assert [each["attempt"] for each in s.reader().attempts(row["key"], 2)] == [2, 3]
    assert s.reader().attempts("no such key", 9) == []


def test_replays_of_a_run_and_of_no_other(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    sent = a_work(prompt="high water?", prompt_sha256="aa")
    first, other = fleet.run(job, work=sent), fleet.run(job, work=sent)
    s.do(lambda tx: tx.agents.replay(first.run_id, new_run="a" * 16, model="large", actor="ada"))
    assert fleet.claim().run_id == "a" * 16
    reader = s.reader()
    assert [each["id"] for each in reader.replays(reader.find_run(first.run_id), 9)] == ["a" * 16]
    assert reader.replays(reader.find_run(other.run_id), 9) == []


def test_decisions_say_which_attempt_they_are_about(s: UnderTest) -> None:
    runs = with_a_past(s)
    (row,) = s.rows("SELECT key FROM run WHERE id = ?", runs[0]["id"])
    reader = s.reader()
    of = reader.occurrence_by_key(row["key"])
    assert of is not None
    decisions = reader.occurrence(of)["decisions"]
    named = {each["what"]: each["run_id"] for each in decisions}
    assert named["started"] == named["completed"] == runs[0]["id"]
    assert named.get("planned") is None
