"""What agents leave: usage, what they were sent and did, notes, drafts, what they watch; what later runs get of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from horae.core.delivery import Addressee
from horae.core.equipment import Earlier
from horae.core.model import End, Ending
from horae.core.outcome import lost
from horae.errors import Stale
from horae.store.retention import TEXT
from tests.support.agentjobs import Fleet, a_wish, a_work
from tests.support.builders import DAY, HOUR, MINUTE, a_job, a_result, at, us, with_token
from tests.support.stores import SqliteUnderTest as UnderTest

TRACE = (
    {"kind": "prompt", "at": 1772438400.5, "sha256": "aa", "chars": 11},
    {"kind": "skill", "at": 1772438401, "name": "tides", "sha256": "bb"},
    {"kind": "tool", "at": "soon", "id": "1", "tool": "web", "args": "\ud800"},
)
MUCH = a_work(
    model="large",
    turns=3,
    input=1000,
    output=50,
    usd=0.125,
    prompt="high water?",
    prompt_sha256="aa",
    skills=(("tides", "bb"),),
    notes=(("last", "noon"), ("old", None)),
    drafts=({"what": "job", "body": {"name": "Moon"}}, {"what": "message", "body": {"to": "ops"}}, {"what": "job"}),
    watched=("cc", "what the page says"),
    trace=TRACE,
)


def rows(s: UnderTest, *tables: str) -> list[int]:
    return [len(s.rows(f"SELECT * FROM {table}")) for table in tables]


LEFT = ("activity", "agent_prompt", "notepad", "watched", "ask")


def test_what_a_run_used_is_on_record(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.run(fleet.put(), work=MUCH)
    (run,) = s.reader().list_runs(job_id=None, state=None, limit=5, cursor=None)["runs"]
    said = {
        key: run[key] for key in ("model", "turns", "tokens", "tokens_in", "tokens_out", "cost_usd", "prompt_sha256")
    }
    assert said == {
        "model": "large", "turns": 3, "tokens": 1050, "tokens_in": 1000, "tokens_out": 50, "cost_usd": 0.125,
        "prompt_sha256": "aa",
    }  # fmt: skip
    assert (run["cause"], run["replay_of"], run["held"]) == (None, None, 0)
    assert s.reader().prompt(claim.run_id) == "high water?"


def test_what_it_did_is_on_record_in_order_even_where_an_event_is_odd(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.run(fleet.put(), work=MUCH)
    assert s.reader().activity(claim.run_id) == [
        {"number": 0, "at": "2026-03-02T08:00:00.500Z", "kind": "prompt", "sha256": "aa", "chars": 11},
        {"number": 1, "at": "2026-03-02T08:00:01Z", "kind": "skill", "name": "tides", "sha256": "bb"},
        {"number": 2, "at": "2026-03-02T08:00:00Z", "kind": "tool", "id": "1", "tool": "web", "args": "\ud800"},
    ]


def test_the_notepad_is_the_jobs_and_the_next_run_is_given_it(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides, moon = fleet.put("tides"), fleet.put("moon")
    fleet.run(tides, work=a_work(notes=(("old", "x"), ("kept", "y\x00\ud800"))))
    claim = fleet.run(tides, work=MUCH)
    assert [(note["key"], note["value"]) for note in s.reader().notes(tides.id)][1:] == [("last", "noon")]
    assert s.reader().notes(tides.id)[1]["run"] == claim.run_id
    assert s.reader().notes(moon.id) == []
    assert set(fleet.equip(fleet.claim(tides)).notes) == {"kept", "last"}


@pytest.mark.parametrize(
    ("event", "left"),
    [("complete", [3, 1, 1, 1, 2]), ("fail", [3, 1, 1, 0, 2]), ("cancel", [3, 1, 1, 0, 2]), ("lose", [3, 1, 0, 0, 0])],
)
def test_what_is_taken_in_depends_on_how_it_ended(s: UnderTest, event: str, left: list[int]) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    fleet.end(claim, event, work=MUCH)
    assert rows(s, *LEFT) == left


def test_what_is_watched_is_the_baseline_of_the_next_run(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    assert fleet.equip(fleet.claim(job)).baseline is None
    (claim,) = s.rows("SELECT * FROM run")
    s.do(lambda tx: tx.runs.ask_to_end(claim["id"], actor="anna", reason="enough"))
    s.do(lambda tx: tx.runs.asked_to_end(fleet.owner))
    fleet.run(job, message="", work=a_work(how="unchanged", turns=0, watched=("cc", "at first")))
    fleet.run(job, event="fail", work=a_work(watched=("dd", "then it failed")))
    assert fleet.equip(fleet.claim(job)).baseline == ("cc", "at first")
    seen = s.reader().watched(job.id)
    assert seen is not None
    assert (seen["sha256"], seen["text"]) == ("cc", "at first")


def test_P3_a_stale_owner_leaves_nothing(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    with pytest.raises(Stale):
        fleet.end(with_token(claim, claim.token + 1), work=MUCH)
    assert rows(s, *LEFT) == [0] * 5
    fleet.end(claim)
    with pytest.raises(Stale):
        fleet.end(claim, work=MUCH)
    assert rows(s, *LEFT) == [0] * 5
    assert fleet.row(claim, "tokens", "model") == (100, "small")


def test_many_ends_at_once_leave_what_each_has_left(s: UnderTest) -> None:
    fleet = Fleet(s)
    jobs = [fleet.put(slug) for slug in "abc"]
    claims = [fleet.begun(job) for job in jobs]
    ends = [
        End(claim, Ending("complete", "done", "m", alert=False, result=a_result(work=replace(MUCH, input=n))), ())
        for n, claim in enumerate(claims)
    ]
    ends.append(replace(ends[0], claim=with_token(claims[0], 0)))
    answers = s.do(lambda tx: tx.runs.conclude_all(ends))
    assert [isinstance(answer, Stale) for answer in answers] == [False, False, False, True]
    assert [fleet.row(claim, "tokens")[0] for claim in claims] == [50, 51, 52]
    assert rows(s, *LEFT) == [9, 3, 3, 3, 6]


def test_a_script_leaves_none_of_it(s: UnderTest) -> None:
    job = s.put(a_job())
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.carry_out(claim)
    run = s.run(claim.run_id)
    assert [run[name] for name in ("model", "turns", "tokens", "equipped_at", "reserved_tokens")] == [None] * 5
    assert s.job(job)["model"] is None


# ── drafts


def test_a_draft_waits_for_a_person(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.run(fleet.put(), work=MUCH)
    asks = {ask["kind"]: ask for ask in fleet.asks()}
    assert {kind: ask["body"] for kind, ask in asks.items()} == {"job": {"name": "Moon"}, "message": {"to": "ops"}}
    assert {(ask["run"], ask["slug"], ask["expires_at"]) for ask in asks.values()} == {(claim.run_id, "tides", None)}
    waiting = [one for one in s.reader().waiting(10) if one["kind"] == "approval"]
    assert {one["what"] for one in waiting} == {"it drafted a job", "it drafted a message"}
    assert any(f"`horae approve {asks['job']['id']}`" in one["hint"] for one in waiting)


# ── context


def context(fleet: Fleet, *refs: str, **wish: Any) -> list[tuple[str, str]]:
    job = fleet.put("reader", context_from=refs)
    claim = fleet.claim(job)
    given = fleet.equip(claim, a_wish(**wish))
    fleet.start(claim)
    fleet.end(claim, "fail", "no")
    return [(earlier.job, earlier.text) for earlier in given.context]


def test_context_is_the_newest_result_of_each_job_by_any_of_its_names(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides = fleet.put("tides", name="High water")
    fleet.run(tides, message="at ten")
    fleet.at(at("08:10"))
    claim = fleet.run(tides, message="at noon")
    fleet.at(at("08:20"))
    fleet.run(tides, message="")
    fleet.run(tides, event="fail", message="Tides failed", alert=True)
    fleet.begun(tides)
    expected = ("High water", "at noon")
    for ref in ("tides", "High water", tides.id):
        assert context(fleet, ref) == [expected]
    given = fleet.equip(fleet.claim(fleet.put("other", context_from=("tides",))))
    assert given.context == (Earlier("High water", claim.run_id, at("08:10"), "at noon"),)


def test_self_is_the_job_itself_and_a_script_is_a_source_like_others(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.run(fleet.put("reader", context_from=("self",)), message="what I said")
    script = s.put(a_job("disk", schedule="0 0 1 1 *"))
    s.do(lambda tx: tx.jobs.order_run(script.id, run_id="9" * 16, actor="anna", input=None))
    (claim,) = s.claim(fleet.owner)
    s.carry_out(claim, message="80 % full")
    assert context(fleet, "self", "disk") == [("Reader", "what I said"), ("Disk", "80 % full")]


def test_completed_and_removed_jobs_are_sources_and_a_live_one_wins(s: UnderTest) -> None:
    fleet = Fleet(s)
    old = fleet.put("old")
    fleet.run(old, message="of old")
    s.do(lambda tx: tx.jobs.remove(old.id, actor="anna", reason="gone"))
    assert context(fleet, "old") == [("Old", "of old")]
    new = fleet.put("old", id="abcdef012345", name="New")
    fleet.run(new, message="of new")
    assert context(fleet, "old") == [("New", "of new")]


def test_old_results_are_left_out_and_long_ones_are_cut_visibly(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.run(fleet.put("tides"), message="x" * 50)
    fleet.at(at("08:00") + HOUR)
    cut = f"{'x' * 20}\n… (cut: 50 characters in all; run {claim.run_id} has the rest)"
    assert context(fleet, "tides", context_chars=20, context_age_s=3600.0) == [("Tides", cut)]
    fleet.at(at("08:00") + HOUR + MINUTE)
    assert context(fleet, "tides", context_age_s=3600.0) == []


# ── what is kept


def test_pruning_takes_what_agents_were_sent_and_did_and_keeps_what_counts(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    claim = fleet.run(job, work=MUCH)
    for ask in fleet.asks():
        s.do(lambda tx, ask=ask: tx.agents.decide(ask["id"], approved=False, actor="anna", reason=None))
    fleet.at(at("08:00") + 40 * DAY)
    fleet.run(job, work=MUCH)
    before = s.clock.time - DAY
    s.do(lambda tx: tx.retention.prune_text(before, 100, (0, "")))
    assert rows(s, *LEFT) == [3, 1, 1, 1, 4], "of the newest run it stays"
    assert s.reader().activity(claim.run_id) == []
    assert s.reader().prompt(claim.run_id) is None
    assert fleet.row(claim, "tokens", "cost_usd", "model", "pruned") == (1050, 0.125, "large", TEXT)
    s.do(lambda tx: tx.retention.prune_runs(TEXT, before, 100, (0, "")))
    assert rows(s, "ask") == [2], "answers go with deliveries"


def test_whole_runs_lose_it_at_once(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    fleet.run(job, work=MUCH)
    fleet.at(at("08:00") + 40 * DAY)
    fleet.run(job, work=a_work())
    s.do(lambda tx: tx.retention.prune_runs(0, s.clock.time - DAY, 100, (0, "")))
    assert rows(s, "activity", "agent_prompt") == [0, 0]


def test_P3_a_finished_run_stays_as_it_ended(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put())
    ending = replace(lost("Tides", "nobody saw it"), result=a_result(work=MUCH))
    s.do(lambda tx: tx.runs.finish(claim, ending))
    before = s.run(claim.run_id)
    for event in ("complete", "fail", "park"):
        with pytest.raises(Stale):
            fleet.end(claim, event, work=a_work(how="parked", ask={"tool": "shell"}), to=(Addressee("desk", "desk"),))
    assert s.run(claim.run_id) == before
    assert rows(s, "resume", "ask", "delivery") == [0, 0, 0]


def test_instants_of_events_are_microseconds_like_all_others(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.run(fleet.put(), work=MUCH)
    found = s.rows("SELECT at FROM activity WHERE run_id = ? ORDER BY number", claim.run_id)
    assert [row["at"] for row in found] == [
        us(at("08:00")) + 500_000,
        us(at("08:00") + timedelta(seconds=1)),
        us(at("08:00")),
    ]
