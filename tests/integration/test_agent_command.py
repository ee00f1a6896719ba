"""Agents that are programs without a screen."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from horae.agents import command, launch
from tests.support.agentrun import Ran, a_task, ran
from tests.support.modelserver import ModelServer, say, status

CALL = """
import json, os, sys, urllib.request
body = json.dumps({"model": "dear", "messages": [{"role": "user", "content": sys.stdin.read()}]}).encode()
head = {"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"}
try:
    with urllib.request.urlopen(urllib.request.Request(os.environ["BASE"] + "/chat/completions", body, head)) as answer:
        print(json.load(answer)["choices"][0]["message"]["content"])
except OSError as error:
    print("sorry:", error)
"""


@pytest.fixture(autouse=True)
def stays_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "conceal", lambda: None)  # for good it would be, and this process runs all tests


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda asked: say("High water at six.", usage=(100, 7))) as server:
        yield server


def metered(server: ModelServer, folder: Path, program: str = CALL, **changed: Any) -> Ran:
    agent = {
        "name": "tool",
        "command": [sys.executable, "-c", program],
        "env": {"BASE": "{base_url}", "KEY": "{key}"},
        "api": "openai",
        "metered": True,
    }
    return ran(a_task(server, folder, kind="command", agent=agent, **changed))


def plain(folder: Path, *words: str, **changed: Any) -> Ran:
    agent = {"name": "tool", "command": list(words), "env": {}, "api": "openai", "metered": False}
    return ran(a_task(None, folder, kind="command", agent=agent, models=[], **changed))


def test_the_prompt_is_its_input_and_what_it_prints_is_the_answer(server: ModelServer, tmp_path: Path) -> None:
    found = metered(server, tmp_path)
    assert (found.status, found.answer) == (0, "High water at six.\n")
    assert "Say hello." in server.calls[0].messages[0]["content"]
    assert server.calls[0].body["model"] == "acme/small-1"
    assert (found.work.input, found.work.output, found.work.open_bound) == (100, 7, 0)
    assert [event["text"] for event in found.of("text")] == ["High water at six.\n"]


def test_the_prompt_is_one_word_where_the_command_has_a_place_for_it(tmp_path: Path) -> None:
    program = "import sys; print(sys.argv[1:], repr(sys.stdin.read()))"
    found = plain(tmp_path, sys.executable, "-c", program, "--ask={prompt}", "{model}", prompt="$(id) 'a' {key}\n")
    words, rest = found.answer.rsplit("] ", 1)
    assert rest == "''\n"
    assert "$(id) 'a' {key}" in eval(words + "]")[0]
    assert eval(words + "]")[1] == "{model}"


def test_a_prompt_that_is_too_long_for_a_word_is_said(tmp_path: Path) -> None:
    found = plain(tmp_path, "echo", "{prompt}", replay="x" * 200_000)
    assert "take {prompt} out of it" in found.end["says"]
    assert plain(tmp_path, "cat", replay="x" * 200_000).answer == "x" * 200_000


def test_the_providers_key_is_nowhere_in_its_world(server: ModelServer, tmp_path: Path) -> None:
    look = "import json, os, sys; json.dump([dict(os.environ), sys.argv, os.getcwd()], open('world', 'w'));"
    metered(server, tmp_path, look + CALL)
    world = json.loads((tmp_path / "output" / "world").read_text())
    assert "sk-very-secret" not in json.dumps(world)
    assert world[0]["KEY"].startswith("horae-")
    assert server.calls[0].headers["authorization"] == "Bearer sk-very-secret"
    assert world[2] == str(tmp_path / "output")


def test_it_fails_by_its_status_with_the_end_of_its_errors(tmp_path: Path) -> None:
    found = plain(tmp_path, "/bin/sh", "-c", "echo half; seq 5000 >&2; echo no such model >&2; exit 4")
    assert (found.status, found.answer, found.end["how"]) == (1, "", "failed")
    assert found.end["says"].startswith("tool ended with status 4; its errors end with: ")
    assert found.end["says"].endswith("no such model")
    assert len(found.end["says"]) < 2200


def test_it_fails_by_a_signal(tmp_path: Path) -> None:
    assert plain(tmp_path, "/bin/sh", "-c", "kill -9 $$").end["says"] == "tool was ended by signal 9, without a word"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    assert "no-such-tool cannot be started: No such file" in plain(tmp_path, "no-such-tool").end["says"]


def test_an_answer_is_bounded(tmp_path: Path) -> None:
    found = plain(tmp_path, "yes")
    assert found.end["says"] == f"its answer has more than {command.ANSWER_BYTES_MAX} bytes"


def test_who_does_not_read_its_prompt_may_do_so(tmp_path: Path) -> None:
    assert plain(tmp_path, "echo", "hi", replay="x" * 500_000).answer == "hi\n"


def test_its_output_in_other_hands_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LAST_WORDS_S", 0.2)
    pid = tmp_path / "pid"
    found = plain(tmp_path, "/bin/sh", "-c", f"echo hi; sleep 60 & echo $! > {pid}")
    os.kill(int(pid.read_text()), signal.SIGKILL)
    assert found.answer == "hi\n"


def test_it_is_ended_when_the_run_is(tmp_path: Path) -> None:
    ready = tmp_path / "output" / "ready"

    def end() -> None:
        while not ready.exists():
            waited.wait(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    waited = threading.Event()
    ender = threading.Thread(target=end)
    ender.start()
    found = plain(tmp_path, "/bin/sh", "-c", "touch ready; exec sleep 60")
    ender.join()
    assert found.end["says"] == "it was told to stop"


def test_a_limit_ends_it_whatever_it_prints(server: ModelServer, tmp_path: Path) -> None:
    found = metered(
        server, tmp_path, CALL + "import time; time.sleep(30)", allow={"turns": 0, "tokens": None, "usd": None}
    )
    assert (found.status, found.answer, found.end["how"]) == (1, "", "limit")
    assert server.calls == []


def test_a_provider_that_cannot_answer_holds_it(tmp_path: Path) -> None:
    with ModelServer([status(503, "down")]) as server:
        found = metered(server, tmp_path)
    assert (found.status, found.answer, found.end["how"], found.end["again_s"]) == (0, "", "held", 60.0)


def test_one_that_reaches_its_model_by_another_way_has_not_answered(server: ModelServer, tmp_path: Path) -> None:
    assert "no call of a model came by the meter" in metered(server, tmp_path, "print('hi')").end["says"]


def test_where_there_are_no_walls_this_process_cannot_be_looked_into() -> None:
    """In a child: it holds for good. What is not dumpable has files in /proc that belong to the administrator alone."""
    launch_of = ctypes.CDLL(None)
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        _CONCEAL()
        os.write(writes, bytes([launch_of.prctl(3, 0, 0, 0, 0)]))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reads, 1) == b"\0"
    assert launch_of.prctl(3, 0, 0, 0, 0) == 1
    os.close(reads)
    os.close(writes)


_CONCEAL = launch.conceal


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{a}", "1"),
        ("x{a}y{b}z{a}", "x1y{a}z1"),
        ("{", "{"),
        ("{}", "{}"),
        ("{{a}}", "{1}"),
        ('{"k": "{a}"}', '{"k": "1"}'),
        ("{c}", "{c}"),
        ("a}{a", "a}{a"),
    ],
)
def test_words_are_filled_in_once(text: str, filled: str) -> None:
    assert launch.filled(text, {"a": "1", "b": "{a}"}) == filled
