"""A run whose end nobody knows, and the person who says how it ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.builders import at
from tests.support.hand import Hand, by_hand
from tests.support.process import TestHome


@pytest.fixture
def hand(home: TestHome) -> Iterator[Hand]:
    """A job whose run of 08:01 is unknown; it is 08:01:30."""
    with by_hand(home, at("08:00")) as hand:
        home.json("add", "* * * * *", "--script", "hi.sh", "--name", "Tides", "--timezone", "UTC")
        hand.carry_out(at("08:01"), "lose")
        hand.at(at("08:01:30"))
        yield hand


def the_run(hand: Hand) -> dict:
    return hand.home.runs("tides")[0]


def kinds(home: TestHome) -> list[str]:
    return [check["check"] for check in home.json("doctor", status=1)["checks"] if not check["ok"]]


@pytest.mark.parametrize("said", ["completed", "failed"])
def test_P4_a_person_says_how_an_unknown_run_ended(hand: Hand, said: str) -> None:
    home, run = hand.home, the_run(hand)
    assert (run["state"], run["outcome"], run["resolved"], run["duration_s"]) == ("unknown", "ran", None, None)
    assert "unknown" in kinds(home)
    answer = home.json("resolve", run["id"][:8], "--as", said, "--reason", "the mail is there")
    assert answer["run"]["state"] == said
    assert (answer["as"], answer["run_id"], answer["undo"]) == (said, None, None)
    after = the_run(hand)
    assert after == answer["run"]
    assert after["reason"] == f"resolved as {said} by ann: the mail is there"
    assert after["resolved"] == {"by": "ann", "at": "2026-03-02T08:01:30+00:00"}
    assert after["duration_s"] is None, "nobody knows when it ended"
    assert (after["outcome"], after["slot"]) == (run["outcome"], run["slot"]), "the slot stays accounted for as it was"
    assert not {"unknown", "failing"} & set(kinds(home))
    assert said in home.horae("runs").out
    assert f"resolved as {said} by ann: the mail is there" in home.horae("log", run["id"]).out
    assert home.json("why", "tides", run["slot"])["occurrences"][0]["decisions"][-1] == {
        "entry": home.sql("SELECT max(seq) FROM journal")[0][0],
        "at": "2026-03-02T08:01:30+00:00",
        "actor": "ann",
        "what": "resolved",
        "detail": {"as": said, "reason": "the mail is there", "again": None},
        "run_id": run["id"],
    }
    told = home.horae("why", "tides").out
    assert f"ann: resolved: as {said}, reason the mail is there" in told
    assert f"ann said at 08:01:30 that it had {said}: the mail is there" in told


def test_a_rerun_is_the_same_work_again_by_hand(hand: Hand) -> None:
    home = hand.home
    hand.at(at("08:01:40"))
    ordered = home.json("run", "tides", "--with", "the harbour")["run_id"]
    hand.carry_out(at("08:01:41"), "lose")
    answer = home.json("resolve", ordered, "--as", "rerun")
    again = answer["run_id"]
    assert again in answer["did"]
    assert f"ann had it done again at 08:01:41, as run {again}" in home.horae("why", "tides").out
    assert answer["run"]["state"] == "failed"
    assert answer["run"]["reason"] == f"resolved as failed by ann, ordered again as run {again}"
    assert home.error("log", again, status=3)["message"] == f"run {again} was ordered and has not begun"
    (claim,) = hand.carry_out(at("08:01:42"))
    assert (claim.run_id, claim.trigger, claim.input, claim.attempt) == (again, "manual", "the harbour", 1)
    assert [run["state"] for run in home.runs("tides")] == ["completed", "failed", "unknown"]
    assert [claim.trigger for claim in hand.carry_out(at("08:02"))] == ["schedule"], "no slot was used up for it"


def test_a_rerun_of_a_one_shot_needs_no_new_schedule(home: TestHome) -> None:
    """Its only run is unknown, so the job is completed; whoever looked into it may have its work done again."""
    with by_hand(home, at("08:00")) as hand:
        home.json("add", "2026-03-02T08:10", "--script", "hi.sh", "--name", "Once", "--timezone", "UTC")
        hand.carry_out(at("08:10"), "lose")
        assert home.jobs()["once"]["state"] == "completed"
        answer = home.json("resolve", home.runs("once")[0]["id"], "--as", "rerun")
        assert "stays completed" in str(answer["warnings"])
        (claim,) = hand.carry_out(at("08:11"))
        assert claim.run_id == answer["run_id"]
        assert home.jobs()["once"]["state"] == "completed"
        assert hand.carry_out(at("09:11")) == []


@pytest.mark.parametrize("said", ["completed", "failed", "rerun"])
@pytest.mark.parametrize("state", ["running", "completed", "failed"])
def test_only_what_is_unknown_is_resolved(hand: Hand, state: str, said: str) -> None:
    home = hand.home
    hand.at(at("08:02"))
    (claim,) = hand.claim()
    hand.start(claim)
    if state != "running":
        hand.end(claim, {"completed": "complete", "failed": "fail"}[state])
    before = home.sql("SELECT * FROM run ORDER BY id"), home.sql("SELECT key FROM occurrence ORDER BY key")
    error = home.error("resolve", claim.run_id, "--as", said, status=4)
    assert f"is {state}" in error["message"]
    assert error["details"]["state"] == state
    assert (home.sql("SELECT * FROM run ORDER BY id"), home.sql("SELECT key FROM occurrence ORDER BY key")) == before


def test_a_resolution_stands(hand: Hand) -> None:
    home, run = hand.home, the_run(hand)
    home.json("resolve", run["id"], "--as", "completed")
    error = home.error("resolve", run["id"], "--as", "failed", status=4)
    assert "resolved as completed by ann" in error["message"]
    entry = home.sql("SELECT max(seq) FROM journal")[0][0]
    error = home.error("undo", str(entry), status=4)
    assert "(resolved) cannot be undone" in error["message"]
    assert "horae run" in error["hint"]
    assert home.json("undo")["what"] == "added", "what is undone is what was done before it"


def test_two_people_at_once_one_word(hand: Hand) -> None:
    run = the_run(hand)
    hand.do(lambda tx: tx.runs.resolve(run["id"], "completed", actor="bob", reason=None, again=None))
    with pytest.raises(Exception, match="is not unknown any more"):
        hand.do(lambda tx: tx.runs.resolve(run["id"], "failed", actor="ann", reason=None, again=None))
    assert the_run(hand)["reason"] == "resolved as completed by bob"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("resolve",), 2, "required"),
        (("resolve", "abc"), 2, "--as"),
        (("resolve", "abc", "--as", "done"), 2, "invalid choice"),
        (("resolve", "abc", "--as", "completed"), 3, "no run has the id"),
        (("resolve", "", "--as", "completed"), 3, "no run has the id"),
    ],
)
def test_what_cannot_be_resolved(hand: Hand, words: tuple[str, ...], status: int, message: str) -> None:
    assert message in hand.home.error(*words, status=status)["message"]


def test_a_run_resolves_nothing(hand: Hand) -> None:
    run = the_run(hand)
    error = hand.home.error("resolve", run["id"], "--as", "completed", status=4, HORAE_RUN_ID="f" * 16)
    assert "not for runs" in error["message"]
    assert the_run(hand)["state"] == "unknown"


def test_what_could_not_be_started_is_not_promised(hand: Hand) -> None:
    home, run = hand.home, the_run(hand)
    text = home.file("tides").read_text()
    home.file("tides").write_text(text.replace("schedule:", "shedule:"))
    error = home.error("resolve", run["id"], "--as", "rerun", status=4)
    assert "its file is broken" in error["message"]
    assert the_run(hand)["state"] == "unknown", "nothing was written"
    home.file("tides").unlink()
    home.json("list")
    assert "removed" in home.error("resolve", run["id"], "--as", "rerun", status=4)["message"]
    assert home.json("resolve", run["id"], "--as", "failed")["run"]["state"] == "failed"


def test_a_reason_is_one_line_and_no_escape(hand: Hand) -> None:
    answer = hand.home.json(
        "resolve", the_run(hand)["id"], "--as", "failed", "--reason", "a\n\x1b[31mb\u202ec " + "x" * 999
    )
    reason = answer["run"]["reason"]
    assert "\n" not in reason
    assert "\x1b" not in reason
    assert "\u202e" not in reason
    assert len(reason) < 500
