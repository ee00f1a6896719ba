"""What people look at: complete pages, the right job for a name, and one bad row that breaks no list."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from horae.core.model import Owner, Retries, Used
from horae.errors import Ambiguous, Invalid, NotFound
from tests.support.builders import DAY, SECOND, a_job, a_result, addressed, an_ending, at, us
from tests.support.policies import Hands
from tests.support.stores import SqliteUnderTest as UnderTest

RUN_KEYS = {
    "id", "job_id", "job", "slug", "slot", "slot_utc", "due", "key", "trigger", "attempt", "state", "outcome", "reason",
    "claimed_at", "started_at", "finished_at", "lateness_s", "duration_s", "missed", "gateway", "host", "pid", "exit_code",
    "signal", "tokens", "cost_usd", "deliveries", "resolved", "used", "files", "attachments",
    "model", "turns", "tokens_in", "tokens_out", "prompt_sha256", "cause", "replay_of", "held",
}  # fmt: skip


def all_runs(s: UnderTest, limit: int, **asked: Any) -> list[str]:
    reader, found, cursor = s.reader(), [], None
    for _ in range(100):
        page = reader.list_runs(**({"job_id": None, "state": None} | asked), limit=limit, cursor=cursor)
        assert len(page["runs"]) <= limit
        found += [run["id"] for run in page["runs"]]
        cursor = page["cursor"]
        if cursor is None:
            return found
    raise AssertionError("the pages never end")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_U11_pages_of_runs_lose_none_and_repeat_none(s: UnderTest, limit: int) -> None:
    """A burst is claimed in one transaction, so many runs share one instant."""
    owner = s.sign_on()
    for n in range(7):
        s.put(slug=f"job{n}")
    for minute in ("08:01", "08:02", "08:03"):
        s.clock.time = at(minute)
        for claim in s.claim(owner):
            s.carry_out(claim)
    everything = {row["id"] for row in s.rows("SELECT id FROM run")}
    found = all_runs(s, limit)
    assert len(found) == len(set(found)) == 21
    assert set(found) == everything
    times = {row["id"]: row["claimed_at"] for row in s.rows("SELECT * FROM run")}
    assert [times[run] for run in found] == sorted(times.values(), reverse=True)


@pytest.mark.parametrize("cursor", ["x", "1.", "9" * 40 + "x", "-"])
def test_a_cursor_that_is_none_is_refused(s: UnderTest, cursor: str) -> None:
    with pytest.raises(Invalid):
        s.reader().list_runs(job_id=None, state=None, limit=5, cursor=cursor)


def test_runs_by_job_and_by_state(s: UnderTest) -> None:
    one, two, owner = s.put(slug="one"), s.put(slug="two"), s.sign_on()
    s.clock.time = at("08:01")
    claims = {claim.job_id: claim for claim in s.claim(owner)}
    s.carry_out(claims[one.id], "fail")
    assert all_runs(s, 5, job_id=one.id) == [claims[one.id].run_id]
    assert all_runs(s, 5, state="claimed") == [claims[two.id].run_id]
    assert all_runs(s, 5, state="failed") == [claims[one.id].run_id]


def test_the_shape_of_a_run(s: UnderTest) -> None:
    job, owner = s.put(timezone="Europe/Paris", deliver=("desk",)), s.sign_on()
    s.clock.time = at("08:01:01.500000")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.note_process(claim, 77, 7))
    s.clock.time = at("08:01:03.500000")
    used = Used(1.25, 0.5, 9_000_000, 12, 2, proved=False)
    result = a_result(used=used, files=("stdout", "files"))
    s.do(
        lambda tx: tx.runs.finish(
            claim, an_ending(message="news", result=result, attachments=("a b.png",)), addressed(claim)
        )
    )
    assert s.deliver(evidence="there") == ["desk"]
    (run,) = s.reader().list_runs(job_id=job.id, state=None, limit=5, cursor=None)["runs"]
    assert set(run) == RUN_KEYS
    assert (run["slot"], run["slot_utc"]) == ("2026-03-02T09:01:00+01:00", "2026-03-02T08:01:00Z")
    assert (run["gateway"], run["host"]) == ("g1", "host")
    assert (run["lateness_s"], run["duration_s"], run["pid"], run["state"], run["exit_code"]) == (
        1.5,
        2.0,
        77,
        "completed",
        0,
    )
    assert run["used"] == asdict(used)
    assert run["attachments"] == [f"state/output/{run['id']}/files/a b.png"]
    assert run["files"] == [f"state/output/{run['id']}/stdout", f"state/output/{run['id']}/files"]
    assert run["deliveries"] == [
        {
            "target": "desk",
            "state": "delivered",
            "reason": None,
            "evidence": "there",
            "kind": "result",
            "address": "desk",
            "attempts": 1,
            "next_try": None,
            "changed_at": "2026-03-02T08:01:03.500Z",
        }
    ]
    assert s.reader().output(claim.run_id)["message"] == "news"
    assert s.reader().output("no such run")["message"] is None


def test_why_shows_every_decision_about_a_slot(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.carry_out(claim)
    s.clock.time = at("14:00")
    (later,) = s.claim(owner)
    s.carry_out(later)
    found = s.reader().occurrences(job.id, slot_at=None, limit=10)
    assert [item["outcome"] for item in found] == [None, "ran", "missed", "ran"]
    assert [entry["what"] for entry in found[3]["decisions"]] == ["planned", "claimed", "started", "completed"]
    inside = s.reader().occurrences(job.id, slot_at=round(at("11:11").timestamp() * 1e6), limit=10)
    assert [(item["outcome"], item["span"]["count"]) for item in inside] == [("missed", 358)]


# ── lists of jobs


def listed(s: UnderTest, **asked: Any) -> list[str]:
    asked = {"all": False, "state": None, "limit": 50, "cursor": None} | asked
    return [job["slug"] for job in s.reader().list_jobs(**asked)["jobs"]]


def states(s: UnderTest) -> None:
    owner = s.sign_on()
    for slug in ("active", "paused", "broken", "gone"):
        s.put(slug=slug)
    s.put(slug="once", schedule="2026-03-02T08:00:30+00:00")
    s.put(slug="off", enabled=False)
    s.do(lambda tx: tx.jobs.pause(a_job("paused").id, actor="person", reason="rest"))
    s.do(lambda tx: tx.jobs.quarantine("broken", {"message": "line 1"}, signature="x", actor="jobs folder"))
    s.do(lambda tx: tx.jobs.remove(a_job("gone").id, actor="person", reason="gone"))
    s.clock.time = at("08:00:30")
    for claim in s.claim(owner):
        s.carry_out(claim)


def test_O22_completed_alone_lists_completed_jobs(s: UnderTest) -> None:
    states(s)
    assert listed(s) == ["active", "broken", "off", "paused"]
    assert listed(s, all=True) == ["active", "broken", "off", "once", "paused"]
    assert listed(s, state="completed") == ["once"]
    assert listed(s, state="paused") == ["off", "paused"]
    assert listed(s, state="quarantined") == ["broken"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_pages_of_jobs_are_complete(s: UnderTest, limit: int) -> None:
    states(s)
    reader, found, cursor = s.reader(), [], None
    while True:
        page = reader.list_jobs(all=True, state=None, limit=limit, cursor=cursor)
        found += [job["slug"] for job in page["jobs"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == ["active", "broken", "off", "once", "paused"]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE job SET problem = 'not json' WHERE slug = 'bad'",
        "UPDATE job SET problem = '[1]' WHERE slug = 'bad'",
        "UPDATE job SET definition = 'not json' WHERE slug = 'bad'",
        "UPDATE job SET schedule = 'never', timezone = 'Mars/Phobos' WHERE slug = 'bad'",
        "UPDATE job SET completed_at = 9999999999999999 WHERE slug = 'bad'",
    ],
)
def test_O22_a_damaged_row_breaks_no_list(s: UnderTest, damage: str) -> None:
    s.put(slug="bad")
    s.put(slug="good")
    s.damage(damage)
    assert "good" in listed(s, all=True)
    reader = s.reader()
    assert isinstance(reader.waiting(10), list)
    reader.counts()
    reader.agenda(10)
    reader.next_due()


# ── finding one


def test_find_job_by_id_slug_name_or_the_beginning_of_an_id(s: UnderTest) -> None:
    job = s.put(slug="tides", name="Harbour tides")
    s.put(slug="other")
    for text in (job.id, "tides", "Harbour tides", job.id[:5]):
        assert s.reader().find_job(text)["id"] == job.id


def test_find_job_prefers_the_nearer_tier_and_the_live_job(s: UnderTest) -> None:
    one, two = s.put(slug="one", name="two"), s.put(slug="two", name="Two")
    with pytest.raises(Ambiguous) as found:
        s.reader().find_job("two")
    candidates: Any = found.value.details["candidates"]
    assert {candidate["id"] for candidate in candidates} == {one.id, two.id}
    s.do(lambda tx: tx.jobs.remove(one.id, actor="person", reason="gone"))
    assert s.reader().find_job("two")["id"] == two.id


@pytest.mark.parametrize("text", ["", "%", "_", "%%", "____", "a%", "nothing"])
def test_find_job_takes_no_pattern_for_a_name(s: UnderTest, text: str) -> None:
    """With a single job in the home, `horae remove %` must not find it."""
    s.put(a_job("only", id="abc123abc123"))
    with pytest.raises(NotFound) as found:
        s.reader().find_job(text)
    assert type(found.value) is NotFound


@pytest.mark.parametrize("text", ["", "%", "_", "aaaa%", "a_aa"])
def test_find_run_takes_no_pattern_either(s: UnderTest, text: str) -> None:
    job, owner = s.put(), s.sign_on()
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="aaaa" * 4, actor="person", input=None))
    s.claim(owner)
    with pytest.raises(NotFound):
        s.reader().find_run(text)


def test_find_run_by_the_beginning_of_its_id(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="abcd" * 4, actor="person", input=None))
    with pytest.raises(NotFound, match="has not begun"):
        s.reader().find_run("abcd" * 4)
    s.claim(owner)
    assert s.reader().find_run("abc")["id"] == "abcd" * 4


def test_a_reader_writes_nothing_and_sees_what_is_committed(s: UnderTest) -> None:
    reader = s.reader()
    s.put(slug="new")
    assert [job["slug"] for job in reader.list_jobs(all=False, state=None, limit=5, cursor=None)["jobs"]] == ["new"]
    with pytest.raises(Exception, match=r"read-?only"):
        reader._db.execute("DELETE FROM job")


# ── what waits for a person


def carry_out_all(s: UnderTest, owner: Owner) -> None:
    for claim in s.claim(owner):
        s.carry_out(claim)


def waits(s: UnderTest, kind: str) -> list[tuple[str, str | None]]:
    return [(item["job"], item["run"]) for item in s.reader().waiting(10, us(s.clock.time)) if item["kind"] == kind]


@pytest.mark.parametrize(
    "given", [{"schedule": "2026-03-02T08:01:00+00:00"}, {"repeat": 1}], ids=["one-shot", "repeat used up"]
)
def test_a_completed_job_whose_last_run_failed_waits_for_a_week(s: UnderTest, given: dict[str, Any]) -> None:
    job, owner = s.put(**given), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.carry_out(claim, "fail")
    assert s.job(job)["completed_at"] is not None
    assert waits(s, "failing") == [("tides", claim.run_id)]
    assert s.reader().waiting(10) == [], "nobody knows how long ago that is"
    s.clock.time = at("08:01") + 7 * DAY - SECOND
    assert waits(s, "failing") == [("tides", claim.run_id)]
    s.clock.time += SECOND
    assert waits(s, "failing") == []
    s.clock.time = at("08:02")
    s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))
    assert waits(s, "failing") == []


def test_a_completed_job_whose_last_run_ended_well_waits_for_nobody(s: UnderTest) -> None:
    s.put(schedule="2026-03-02T08:01:00+00:00")
    owner = s.sign_on()
    s.clock.time = at("08:01")
    carry_out_all(s, owner)
    assert s.reader().waiting(10, us(s.clock.time)) == []


def test_an_unknown_run_of_a_removed_job_still_waits_and_can_be_resolved(s: UnderTest) -> None:
    job, owner = s.put(), s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.carry_out(claim, "lose", reason="nobody saw it end")
    s.do(lambda tx: tx.jobs.remove(job.id, actor="person", reason="gone"))
    (item,) = s.reader().waiting(10, us(s.clock.time))
    assert (item["kind"], item["job"], item["run"]) == ("unknown", "tides", claim.run_id)
    assert item["what"] == "nobody saw it end; the job was removed"
    s.do(lambda tx: tx.runs.resolve(claim.run_id, "completed", actor="ann", reason=None, again=None))
    assert s.reader().waiting(10, us(s.clock.time)) == []


def test_a_run_whose_retry_is_planned_has_not_failed_yet(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put(schedule="0 * * * *", retries=Retries(max=1, backoff_s=60.0))
    (claim,) = hands.look("09:00")
    hands.fail()
    assert s.occurrence(claim.key)["state"] == "planned"
    assert waits(s, "failing") == []
    (again,) = hands.look("09:05")
    assert waits(s, "failing") == [], "it is being tried"
    hands.fail()
    assert waits(s, "failing") == [("tides", again.run_id)]


def of_the_clock(s: UnderTest) -> list[str]:
    return [item["what"] for item in s.reader().waiting(10, us(s.clock.time)) if item["kind"] == "clock"]


def test_slots_that_had_their_turn_by_a_clock_that_was_ahead_are_counted_one_by_one(s: UnderTest) -> None:
    s.put()
    owner = s.sign_on()
    s.clock.time = at("13:00")
    carry_out_all(s, owner)
    s.clock.time = at("08:00:30")
    (what,) = of_the_clock(s)
    assert what == (
        "the clock was ahead then, or is behind now: 300 slots up to 2026-03-02T13:00:00Z had their turn"
        " and will not run again"
    )
    assert any(row["span_count"] for row in s.rows("SELECT * FROM occurrence")), "most of them are one row"
    s.clock.time = at("10:00")
    assert "300 slots" in of_the_clock(s)[0], "a span that has begun counts whole"
    s.clock.time = at("12:59:30")
    assert of_the_clock(s) == []


def test_the_clock_is_not_blamed_for_what_is_no_slot_to_come(s: UnderTest) -> None:
    """A run by hand, a claim that was given back, a change that a person made: nothing of that is lost."""
    job, owner = s.put(schedule="0 9 * * *"), s.sign_on()
    s.clock.time = at("08:30")
    s.do(lambda tx: tx.jobs.order_run(job.id, run_id="abcd" * 4, actor="person", input=None))
    carry_out_all(s, owner)
    s.clock.time = at("09:00")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.release(claim, "the gateway stops"))
    s.clock.time = at("08:00")
    assert of_the_clock(s) == []


def test_a_clock_that_is_behind_reads_no_more_than_the_newest_entries(s: UnderTest) -> None:
    """By a clock that is behind all of the journal is from the future: still only slots to come are told."""
    s.put(schedule="0 * * * *")
    owner = s.sign_on()
    for hour in range(9, 15):
        s.clock.time = at(f"{hour:02}:00")
        carry_out_all(s, owner)
    s.clock.time = at("12:30")
    assert "2 slots up to 2026-03-02T14:00:00Z" in of_the_clock(s)[0]
    s.clock.time = at("14:30")
    assert of_the_clock(s) == []


def test_the_latest_attempt_at_an_occurrence(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put(schedule="0 * * * *", retries=Retries(max=1, backoff_s=60.0))
    (claim,) = hands.look("09:00")
    assert s.reader().last_run(claim.key) == claim.run_id
    hands.fail()
    (again,) = hands.look("09:05")
    assert again.run_id != claim.run_id
    assert s.reader().last_run(claim.key) == again.run_id
    assert s.reader().last_run("none") is None
