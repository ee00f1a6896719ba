"""Agents that speak the Agent Client Protocol: a scripted one, its provider on the loopback, and the meter in between."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from horae.agents import acp, launch
from horae.core.activity import work_of
from tests.support.acpagent import acting, seen
from tests.support.agentrun import Ran, a_task, ran
from tests.support.modelserver import ModelServer, say, status

ALLOWED, REJECTED, CALLED_OFF = "o-allow_once", "o-reject_once", "cancelled"
ANSWERS = [["model"], ["say", ""]]


@pytest.fixture(autouse=True)
def stays_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "conceal", lambda: None)  # for good it would be, and this process runs all tests


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda asked: say("High water at six.", usage=(100, 7, 40))) as server:
        yield server


def acted(server: ModelServer | None, folder: Path, steps: list[list[Any]], **changed: Any) -> Ran:
    given = {key: changed.pop(key) for key in ("mode", "options") if key in changed}
    agent = acting(folder, steps, **given) | changed.pop("agent", {})
    return ran(a_task(server, folder, kind="acp", agent=agent, **changed))


def test_the_answer_is_what_it_says_after_its_last_call(server: ModelServer, tmp_path: Path) -> None:
    steps = [
        ["say", "I shall look."],
        ["call", "1", "read", "tides.txt", {"path": "tides.txt"}],
        ["done", "1"],
        ["model"],
    ]
    found = acted(server, tmp_path, steps, tools=["files"])
    assert (found.status, found.answer, found.errors) == (0, "High water at six.", "")
    assert [event["kind"] for event in found.events] == [
        *("prompt", "text", "tool", "result", "warning", "ask", "model", "text", "end"),
    ]
    assert found.of("tool")[0]["toolset"] == "files"
    assert found.of("result")[0] | {"at": 0} == {
        "kind": "result",
        "at": 0,
        "id": "1",
        "ok": True,
        "text": "it went well",
        "ms": 0,
    }
    assert (found.work.input, found.work.output, found.work.open_bound) == (100, 7, 0)


def test_what_it_said_before_counts_where_it_ends_with_a_call(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["model"], ["call", "1", "think", "note it"], ["done", "1"]])
    assert found.answer == "High water at six."


def test_thoughts_are_no_answer(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["model"], ["call", "1", "think", "x"], ["think", "hm"], ["say", "Six."]])
    assert found.answer == "Six."


def test_it_gets_the_prompt_a_place_a_model_and_no_key_of_the_provider(
    server: ModelServer, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    walls = {"home": str(tmp_path_factory.mktemp("home")), "own": [], "hidden": []}
    found = acted(server, tmp_path, ANSWERS, walls=walls)
    assert found.status == 0, found.errors
    [start], [session] = seen(tmp_path, "start"), seen(tmp_path, "session")
    assert "sk-very-secret" not in json.dumps(start)
    assert server.calls[0].headers["authorization"] == "Bearer sk-very-secret"
    assert start["env"]["KEY"] not in server.calls[0].text + json.dumps(server.calls[0].headers)
    assert (start["env"]["MODEL"], start["cwd"], session["cwd"]) == ("acme/small-1", *[str(tmp_path / "output")] * 2)
    assert seen(tmp_path, "choice") == [["model", "local/acme/small-1"]]
    assert "Say hello." in seen(tmp_path, "prompt")[0]
    assert seen(tmp_path, "client")[0]["terminal"] is False


def test_a_dearer_model_is_replaced_and_that_is_said_once(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["model"], ["model", "again"]])
    assert [asked.body["model"] for asked in server.calls] == ["acme/small-1"] * 2
    assert [event["text"] for event in found.of("warning")] == [
        "the agent asked for model dear-model: its calls go to the job's, acme/small-1"
    ]


# --- what it may use


@pytest.mark.parametrize(("tools", "answer"), [(["files", "shell"], ALLOWED), (["files"], REJECTED)])
def test_permission_is_given_by_the_grants_of_the_job(
    server: ModelServer, tmp_path: Path, tools: list[str], answer: str
) -> None:
    found = acted(server, tmp_path, [["ask", "1", "execute", "do it", {"what": "it"}], *ANSWERS], tools=tools)
    assert seen(tmp_path, "asked") == [answer]
    assert len(found.of("denied")) == (answer == REJECTED)
    assert found.answer == "High water at six."


def test_who_gives_up_over_a_denial_has_not_answered(tmp_path: Path) -> None:
    asked = [["ask", "1", "execute", "rm", {"command": "rm"}], ["model"]]
    with ModelServer(lambda _: say("")) as quiet:
        found = acted(quiet, tmp_path, asked, empty="silent")
    assert found.end["how"] == "denied"
    assert found.end["says"] == "1 of its calls were denied, and it ended without an answer"


def test_nothing_is_ever_allowed_for_good(server: ModelServer, tmp_path: Path) -> None:
    steps = [["ask", "1", "edit", "do it"], *ANSWERS]
    found = acted(server, tmp_path, steps, tools=["files"], options=["allow_always", "reject_always"])
    assert seen(tmp_path, "asked") == [CALLED_OFF]
    assert "not allowed for good" in found.of("warning")[0]["text"]


def test_who_goes_on_asking_for_the_same_is_stopped(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["ask", "1", "execute", "rm", {"command": "rm x"}]] * 4)
    assert (found.status, found.end["how"]) == (1, "denied")
    assert "asked 3 times for execute" in found.end["says"]
    assert seen(tmp_path, "asked") == [REJECTED, REJECTED, CALLED_OFF]
    assert seen(tmp_path, "cancel") == ["s-1"]


def test_who_asks_for_ever_more_is_stopped(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["ask", "1", "execute", "rm", {"command": f"rm {n}"}] for n in range(9)])
    assert found.end["how"] == "denied"
    assert len(seen(tmp_path, "asked")) == 5


def test_what_it_does_without_asking_and_was_not_granted_stops_it(server: ModelServer, tmp_path: Path) -> None:
    steps = [["call", "1", "execute", "rm -r x"], ["begin", "1"], ["done", "1"], ["hang"]]
    found = acted(server, tmp_path, steps, tools=["files"])
    assert found.end["how"] == "denied"
    assert "without asking, which the job was not granted: grant `shell`" in found.end["says"]


@pytest.mark.parametrize("granted", [True, False])
def test_what_it_asks_for_while_it_is_in_progress_is_no_call_without_asking(
    server: ModelServer, tmp_path: Path, granted: bool
) -> None:
    call = [["call", "1", "execute", "rm x"], ["begin", "1"], ["ask", "1", "execute", "rm x", {"command": "rm x"}]]
    steps = [*call, ["done" if granted else "fail", "1"], *ANSWERS]
    found = acted(server, tmp_path, steps, tools=["shell"] if granted else ["files"])
    assert found.answer == "High water at six."


@pytest.mark.parametrize("tools", [["shell"], ["files"]])
def test_what_it_asked_for_by_another_name_is_no_call_without_asking(
    server: ModelServer, tmp_path: Path, tools: list[str]
) -> None:
    call = [
        ["call", "tc-1", "execute", "rm x"],
        ["ask", "perm-1", "execute", "rm x", {"command": "rm x"}],
        ["done", "tc-1"],
    ]
    assert acted(server, tmp_path, [*call, *ANSWERS], tools=tools).answer == "High water at six."


def test_a_question_to_a_person_is_declined(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["question", "Which one?"], *ANSWERS])
    assert seen(tmp_path, "answered") == ["decline"]
    assert found.of("denied")[0]["why"] == "nobody is here to answer"


# --- a person's word


PARKS = [["ask", "1", "execute", "rm x", {"command": "rm x"}], *ANSWERS]


@pytest.mark.parametrize("mode", ["loads", ""])
@pytest.mark.parametrize("approved", [True, False])
def test_a_call_waits_for_a_persons_word_and_the_run_goes_on_with_it(
    server: ModelServer, tmp_path: Path, mode: str, approved: bool
) -> None:
    granted = {"tools": ["shell"], "approve": ["shell"], "mode": mode}
    first = acted(server, tmp_path, PARKS, **granted)
    assert (first.status, first.end["how"], first.end["again_s"]) == (0, "parked", 86_400)
    ask = first.end["ask"]
    assert (ask["tool"], ask["toolset"], ask["args"]) == ("execute", "shell", '{"command": "rm x"}')
    assert seen(tmp_path, "asked") == [CALLED_OFF]
    decision = {"approved": approved, "by": "ada", "reason": "It is Tuesday.", "digest": ask["digest"]}
    second = acted(server, tmp_path, PARKS, state=first.end["state"], decision=decision, **granted)
    assert second.answer == "High water at six."
    assert seen(tmp_path, "loaded") == (["s-1"] if mode else [])
    assert seen(tmp_path, "asked")[1:] == [ALLOWED if approved else REJECTED]
    told = seen(tmp_path, "prompt")[-1]
    assert ("allows it, once" in told) == approved
    assert "ada" in told
    assert "It is Tuesday." in told
    assert ("Say hello." in told) == (not mode)  # a session that goes on knows it
    assert "something said long ago" not in [event["text"] for event in second.of("text")]


def test_a_yes_is_good_for_that_call_once(server: ModelServer, tmp_path: Path) -> None:
    granted = {"tools": ["shell"], "approve": ["shell"], "mode": "loads"}
    first = acted(server, tmp_path, PARKS, **granted)
    decision = {"approved": True, "by": "ada", "reason": None, "digest": first.end["ask"]["digest"]}
    again = acted(server, tmp_path, [PARKS[0], *PARKS], state=first.end["state"], decision=decision, **granted)
    assert again.end["how"] == "parked"
    assert seen(tmp_path, "asked")[1:] == [ALLOWED, CALLED_OFF]
    other = [["ask", "1", "execute", "rm y", {"command": "rm y"}]]
    assert acted(server, tmp_path, other, state=first.end["state"], decision=decision, **granted).end["how"] == "parked"


# --- what is done for it


def test_files_of_the_folder_are_read_and_written_for_it_and_no_others(server: ModelServer, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.mkdir()
    (output / "a.txt").write_text("one\ntwo\n")
    (output / "link").symlink_to("/etc")
    steps = [
        ["read", str(output / "a.txt")],
        ["write", str(output / "new" / "b.txt"), "three"],
        ["read", "/etc/passwd"],
        ["read", str(output / "link" / "passwd")],
        ["write", str(output / ".." / "out.txt"), "no"],
        *ANSWERS,
    ]
    found = acted(server, tmp_path, steps, tools=["files"])
    assert seen(tmp_path, "read") == ["one\ntwo\n"]
    assert (output / "new" / "b.txt").read_text() == "three"
    assert len(seen(tmp_path, "error")) == 3
    assert not (tmp_path / "out.txt").exists()
    assert [event["tool"] for event in found.of("denied")] == ["fs/read_text_file", "fs/write_text_file"]
    assert seen(tmp_path, "client")[0]["fs"] == {"readTextFile": True, "writeTextFile": True}


def test_what_was_not_granted_is_not_offered_nor_done(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "a.txt").write_text("one")
    acted(server, tmp_path, [["read", str(tmp_path / "output" / "a.txt")], ["run", "true"], *ANSWERS], tools=["memory"])
    offered = seen(tmp_path, "client")[0]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert offered["terminal"] is False
    assert seen(tmp_path, "read") == []
    assert len(seen(tmp_path, "error")) == 2


def test_commands_are_run_for_it_in_the_sandbox(server: ModelServer, tmp_path: Path) -> None:
    inside = tmp_path / "output" / "made"
    steps = [["run", f"echo hi > {inside}; echo out > {tmp_path}/outside; cat {inside}"], *ANSWERS]
    acted(server, tmp_path, steps, tools=["shell"])
    if errors := seen(tmp_path, "error"):
        assert "there is no shell here" in errors[0]  # this machine has no sandbox
        return
    [[code, output]] = seen(tmp_path, "ran")
    assert (code, output.splitlines()[-1]) == (0, "hi")
    assert inside.read_text() == "hi\n"
    assert not (tmp_path / "outside").exists()


def test_a_command_against_the_scheduler_is_not_run(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["run", "systemctl --user stop horae"], *ANSWERS], tools=["shell"])
    assert seen(tmp_path, "ran") == []
    assert found.of("denied")[0]["tool"] == "terminal/create"


def test_servers_of_tools_are_handed_on_where_their_limits_can_be_kept(server: ModelServer, tmp_path: Path) -> None:
    plain = {"name": "a", "command": ["true"], "url": None, "env": {"T": "1"}, "token": None, "tools": None}
    some = plain | {"name": "b", "tools": ["x"]}
    far = plain | {"name": "c", "command": [], "url": "http://127.0.0.1:9/mcp"}
    found = acted(server, tmp_path, ANSWERS, mcp=[plain, some, far])
    assert seen(tmp_path, "session")[0]["mcp"] == ["a"]
    assert [event["text"].split()[0] for event in found.of("warning")][:2] == ["mcp:b", "mcp:c"]


# --- ends


@pytest.mark.parametrize(
    ("reason", "how", "says"),
    [
        ("max_tokens", "limit", "cut off"),
        ("max_turn_requests", "limit", "its own limit"),
        ("refusal", "failed", "refused to go on"),
        ("cancelled", "failed", "called off"),
    ],
)
def test_a_turn_that_ends_otherwise_is_no_answer(
    server: ModelServer, tmp_path: Path, reason: str, how: str, says: str
) -> None:
    found = acted(server, tmp_path, [["model"], ["stop", reason]])
    assert (found.status, found.answer, found.end["how"]) == (1, "", how)
    assert says in found.end["says"]


@pytest.mark.parametrize(
    ("mode", "steps", "says"),
    [
        (
            "gone",
            [],
            "actor: it ended during initialize: it ended with status 3; its errors end with: no module named brain",
        ),
        (
            "garbage",
            [],
            "does not speak the Agent Client Protocol: it wrote what is no message",
        ),
        ("old", [], "it speaks version 99 of the protocol, not 1"),
        ("auth", [], "it wants to be authenticated first. It offers: Log in by hand."),
        (
            "",
            [["exit", 9]],
            "it ended during session/prompt: it ended with status 9; its errors end with: out of memory",
        ),
    ],
)
def test_an_agent_that_cannot_do_its_work_fails_and_it_is_said_why(
    server: ModelServer, tmp_path: Path, mode: str, steps: list[list[Any]], says: str
) -> None:
    found = acted(server, tmp_path, steps, mode=mode)
    assert (found.status, found.end["how"]) == (1, "failed")
    assert says in found.end["says"]


def test_an_agent_that_does_not_answer_at_first_is_not_waited_for(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp, "INITIALIZE_S", 1.2)
    found = acted(server, tmp_path, [], mode="deaf")
    assert "it has not answered initialize in 1.2 s" in found.end["says"]


def test_a_program_that_is_not_there(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [], agent={"command": ["no-such-agent"]})
    assert found.end["says"] == "no-such-agent cannot be started: No such file or directory; look at its `command`"


def test_a_program_that_is_not_there_behind_walls(server: ModelServer, tmp_path: Path) -> None:
    walls = {"home": str(tmp_path / "home"), "own": [], "hidden": []}
    found = acted(server, tmp_path, [], agent={"command": ["no-such-agent"]}, walls=walls)
    assert (
        "it ended with status 127; its errors end with: no-such-agent: No such file or directory" in found.end["says"]
    )


def test_it_is_called_off_when_the_run_is_ended(server: ModelServer, tmp_path: Path) -> None:
    def end() -> None:
        while not seen(tmp_path, "hangs"):
            ready.wait(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    ready = threading.Event()
    ender = threading.Thread(target=end)
    ender.start()
    found = acted(server, tmp_path, [["say", "Half of it"], ["hang"]])
    ender.join()
    assert found.end["says"] == "it was told to stop"
    assert seen(tmp_path, "cancel") == ["s-1"]
    assert [event["text"] for event in found.of("text")] == ["Half of it"]


# --- what it uses


def test_a_limit_ends_the_run_whatever_the_agent_makes_of_it(server: ModelServer, tmp_path: Path) -> None:
    steps = [["model"], ["model"], ["model"], ["say", "All is well."]]
    found = acted(server, tmp_path, steps, allow={"turns": 2, "tokens": None, "usd": None})
    assert (found.status, found.answer, found.end["how"]) == (1, "", "limit")
    assert found.end["says"] == "turn limit of 2 reached"
    assert len(server.calls) == 2
    assert work_of(found.events).turns == 2


@pytest.mark.parametrize(("mode", "has_state"), [("loads", True), ("", False)])
def test_a_provider_that_cannot_answer_holds_the_run_whatever_the_agent_says(
    tmp_path: Path, mode: str, has_state: bool
) -> None:
    with ModelServer([status(429, "slow down", retry_after="90"), say("Six.")]) as server:
        found = acted(server, tmp_path, [["model"], ["say", "I am sorry, something went wrong."]], mode=mode)
        assert (found.status, found.answer, found.end["how"], found.end["again_s"]) == (0, "", "held", 90)
        assert found.end["says"] == "the provider of small answered 429: slow down"
        assert (found.end["state"] is not None) == has_state
        assert found.work.open_bound == 0
        again = acted(server, tmp_path, ANSWERS, mode=mode, state=found.end["state"])
        assert again.answer == "Six."
        assert ("go on with the task" in seen(tmp_path, "prompt")[-1]) == has_state


def test_a_refused_key_fails_the_run(tmp_path: Path) -> None:
    with ModelServer([status(401, "bad key")]) as server:
        found = acted(server, tmp_path, [["model"], ["say", "I am sorry."]])
    assert found.end["how"] == "failed"
    assert "answered 401: bad key; look at the provider's `key` in config.toml" in found.end["says"]


def test_an_agent_that_reaches_its_model_by_another_way_has_not_answered(server: ModelServer, tmp_path: Path) -> None:
    found = acted(server, tmp_path, [["say", "All is well."]])
    assert found.end["how"] == "failed"
    assert "no call of a model came by the meter" in found.end["says"]


def test_an_agent_without_a_meter_is_not_counted_and_that_is_said(tmp_path: Path) -> None:
    found = acted(None, tmp_path, [["say", "All is well."]], agent={"metered": False}, models=[])
    assert found.answer == "All is well."
    assert "cannot be counted" in found.of("usage")[0]["note"]
    assert seen(tmp_path, "start")[0]["env"]["BASE"] == "{base_url}"
