"""A run that waits for a person or for its provider, and goes on from where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.agentrun import Ran, a_model, a_task, ran
from tests.support.modelserver import ModelServer, Step, call, say, status

NOTE = ("remember", {"key": "a", "value": "1"})
PAGE = ("write_file", {"path": "a.txt", "text": "hi"})


def run(script: list[Step], at: Path, /, **changed: Any) -> tuple[Ran, ModelServer]:
    with ModelServer(script) as server:
        return ran(a_task(server, at, **{"models": [a_model(server)]} | changed)), server


def yes(parked: Ran, **changed: Any) -> dict[str, Any]:
    return {"approved": True, "by": "ada", "reason": None, "digest": parked.end["ask"]["digest"]} | changed


GRANTS: dict[str, Any] = {"tools": ["files", "memory"], "approve": ["files"]}


def test_a_call_of_what_a_person_is_asked_about_is_not_carried_out(tmp_path: Path) -> None:
    found, server = run([call(NOTE, PAGE)], tmp_path, **GRANTS)
    assert (found.status, found.end["how"], found.end["again_s"]) == (0, "parked", 86_400)
    ask = found.end["ask"]
    assert (ask["tool"], ask["toolset"]) == ("write_file", "files")
    assert json.loads(ask["args"]) == PAGE[1]
    assert found.end["says"].startswith("it wants to call write_file")
    assert not (tmp_path / "output/a.txt").exists()
    assert [event["tool"] for event in found.of("tool")] == ["remember"]
    assert len(server.calls) == 1


def test_a_yes_carries_it_out_without_asking_again_and_once(tmp_path: Path) -> None:
    parked, first = run([call(NOTE, PAGE)], tmp_path, prompt="Do it well.", **GRANTS)
    found, server = run(
        [call(PAGE)], tmp_path, state=parked.end["state"], decision=yes(parked), prompt="Do it well.", **GRANTS
    )
    assert (tmp_path / "output/a.txt").read_text() == "hi"
    assert [event["tool"] for event in found.of("tool")] == ["write_file"]
    assert server.calls[0].messages[0] == first.calls[0].messages[0]
    assert found.end["how"] == "parked"  # the same call again needs another yes
    assert found.of("prompt")[0]["text"] == parked.of("prompt")[0]["text"]
    assert found.work.notes == (("a", "1"),)  # told again: the run that was parked has left nothing


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        ({"approved": False, "by": "ada", "reason": "not today", "digest": "x"}, "a person said no: not today"),
        ({"approved": False, "by": None, "reason": "24 h are over", "digest": "x"}, "nobody has allowed it in time"),
        ({"approved": True, "by": "ada", "reason": None, "digest": "of another call"}, "a no"),
        (None, "a no"),
    ],
)
def test_all_else_is_a_no_and_the_run_goes_on(decision: Any, says: str, tmp_path: Path) -> None:
    parked, _ = run([call(PAGE)], tmp_path, **GRANTS)
    found, server = run([say("then not")], tmp_path, state=parked.end["state"], decision=decision, **GRANTS)
    assert found.answer == "then not"
    assert says in server.calls[0].text
    assert not (tmp_path / "output/a.txt").exists()


def test_a_yes_is_for_the_very_call_that_was_shown(tmp_path: Path) -> None:
    parked, _ = run([call(PAGE)], tmp_path, **GRANTS)
    changed = parked.end["state"].replace("a.txt", "b.txt")
    found, server = run([say("never")], tmp_path, state=changed, decision=yes(parked), **GRANTS)
    assert found.end["how"] == "parked"
    assert "b.txt" in found.end["ask"]["args"]
    assert not (tmp_path / "output/b.txt").exists()
    assert server.calls == []


def test_a_call_that_is_too_long_to_be_shown_is_denied_and_not_asked_about(tmp_path: Path) -> None:
    long = ("write_file", {"path": "a.txt", "text": "x" * 16_000})
    found, server = run([call(long), say("then not")], tmp_path, **GRANTS)
    assert (found.answer, len(found.of("denied"))) == ("then not", 1)
    assert "make it shorter" in server.calls[1].text
    half = ("write_file", {"path": "a.txt", "text": "x" * 9_000})
    several, _ = run([call(half, half)], tmp_path, **GRANTS)
    assert several.end["how"] == "denied"
    assert not (tmp_path / "output/a.txt").exists()


@pytest.mark.parametrize(("pages", "keeps"), [(16, True), (36, False)])
def test_much_that_was_said_is_kept_whole_or_it_is_told_that_it_is_not(pages: int, keeps: bool, tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    for number in range(pages):
        (tmp_path / f"output/{number}.txt").write_text(f"page {number}\n" + "word " * 5900)
    steps: list[Step] = [call(("read_file", {"path": f"{number}.txt"})) for number in range(pages)]
    grants: dict[str, Any] = {
        "tools": ["files", "memory"],
        "approve": ["memory"],
        "allow": {"turns": 99, "tokens": None, "usd": None},
    }
    parked, _ = run([*steps, call(NOTE)], tmp_path, **grants)
    assert parked.end["how"] == "parked"
    assert (parked.end["state"] is not None) == keeps
    assert bool([event for event in parked.of("warning") if "begins anew" in event["text"]]) != keeps
    if keeps:
        found, server = run([say("done")], tmp_path, state=parked.end["state"], decision=yes(parked), **grants)
        assert found.answer == "done"
        assert f"page {pages - 1}" in server.calls[0].text


def test_one_that_begins_anew_has_its_yes(tmp_path: Path) -> None:
    parked, _ = run([call(PAGE)], tmp_path, **GRANTS)
    found, _ = run([call(PAGE), say("done")], tmp_path, state=None, decision=yes(parked), **GRANTS)
    assert found.answer == "done"
    assert (tmp_path / "output/a.txt").exists()


def test_a_yes_is_used_up_by_its_call_though_the_run_is_held_after_it(tmp_path: Path) -> None:
    parked, _ = run([call(PAGE)], tmp_path, **GRANTS)
    held, _ = run([status(500)], tmp_path, state=parked.end["state"], decision=yes(parked), **GRANTS)
    assert held.end["how"] == "held"
    (tmp_path / "output/a.txt").unlink()
    found, _ = run([call(PAGE)], tmp_path, state=held.end["state"], decision=yes(parked), **GRANTS)
    assert found.end["how"] == "parked"
    assert not (tmp_path / "output/a.txt").exists()


def test_several_calls_are_one_question(tmp_path: Path) -> None:
    other = ("write_file", {"path": "b.txt", "text": "ho"})
    parked, _ = run([call(PAGE, other)], tmp_path, **GRANTS)
    assert parked.end["ask"]["args"].count("\n") == 1
    found, _ = run([say("done")], tmp_path, state=parked.end["state"], decision=yes(parked), **GRANTS)
    assert found.answer == "done"
    assert (tmp_path / "output/a.txt").exists()
    assert (tmp_path / "output/b.txt").exists()


def test_what_was_held_goes_on_with_the_same_request(tmp_path: Path) -> None:
    script = [call(NOTE), status(429, "slow", retry_after="5")]
    held, first = run(script, tmp_path, tools=["memory"], prompt="Häh?")
    assert held.end["how"] == "held"
    found, second = run([say("done")], tmp_path, state=held.end["state"], tools=["memory"], prompt="changed")
    assert found.answer == "done"
    assert second.calls[0].messages == first.calls[1].messages
    assert found.work.notes == (("a", "1"),)
    assert len(second.calls) == 1


def test_notes_of_before_are_there_after(tmp_path: Path) -> None:
    held, _ = run([call(NOTE), status(500)], tmp_path, tools=["memory"])
    found, _ = run([call(("recall", {"key": "a"})), say("done")], tmp_path, state=held.end["state"], tools=["memory"])
    assert "1" in found.of("result")[0]["text"]


def test_script_and_source_are_not_run_again(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = {
        "name": "a.sh", "argv": ["/bin/sh", "-c", f"echo x >> {seen}; cat {seen}"], "cwd": str(tmp_path),
        "env": {"PATH": "/bin:/usr/bin"}, "landlock": False, "sandbox": "off", "timeout_s": 10.0,
    }  # fmt: skip
    held, _ = run([status(500)], tmp_path, script=program, watch_script=program, baseline=["other", "old"])
    assert seen.read_text() == "x\nx\n"
    found, _ = run([say("done")], tmp_path, state=held.end["state"], script=program, watch_script=program)
    assert found.answer == "done"
    assert seen.read_text() == "x\nx\n"
    assert found.work.watched == held.work.watched
    assert found.work.watched is not None


@pytest.mark.parametrize("state", ["", "{}", "no json", '{"agent": "{}", "prompt": "p", "told": []}'])
def test_a_state_that_is_none_of_ours_begins_anew(state: str, tmp_path: Path) -> None:
    found, _ = run([say("done")], tmp_path, state=state)
    assert found.answer == "done"
