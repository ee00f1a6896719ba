"""The agent that is built in, with a provider that says what the test wrote down."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from horae.agents import providers
from tests.support.agentrun import Ran, a_model, a_task, ran
from tests.support.modelserver import ModelServer, Step, call, fault, say, status


def run(
    script: list[Step], folder: Path, *, model: dict[str, Any] | None = None, **changed: Any
) -> tuple[Ran, ModelServer]:
    with ModelServer(script) as server:
        found = ran(a_task(server, folder, **{"models": [a_model(server, **(model or {}))]} | changed))
    return found, server


KINDS = {"openai": "max_tokens", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_and_its_usage(kind: str, tmp_path: Path) -> None:
    with ModelServer([call(("recall", {}), usage=(50, 10)), say("Hello there.", usage=(100, 20, 40))]) as server:
        address = server.address if kind == "anthropic" else server.base_url
        models = [a_model(server, kind=kind, base_url=address)]
        found = ran(a_task(server, tmp_path, models=models, tools=["memory"]))
    assert (found.status, found.answer, found.errors) == (0, "Hello there.", "")
    assert found.end["how"] == "done"
    assert "".join(event["text"] for event in found.of("text")) == "Hello there."
    assert [event["tool"] for event in found.of("tool")] == ["recall"]
    first, last = found.of("model")
    assert (first["input"], first["output"], first["cached"]) == (50, 10, 0)
    assert (last["input"], last["output"], last["cached"]) == (100, 20, 40)
    assert last["usd"] == pytest.approx((60 * 1.0 + 40 * 0.5 + 20 * 2.0) / 1e6)
    asked = server.calls[0]
    assert asked.body["stream"] is True
    assert "sk-very-secret" in (asked.headers.get("authorization") or asked.headers["x-api-key"])
    assert asked.body[KINDS[kind]] == 1000


def test_the_prompt_is_told_exactly_as_it_was_sent(tmp_path: Path) -> None:
    found, server = run([say("ok")], tmp_path, prompt="Say häh?", extra="Be brief.", lateness="It is late.")
    prompt = found.of("prompt")[0]
    sent = server.calls[0].messages[-1]["content"]
    assert prompt["text"] == sent
    assert prompt["chars"] == len(sent)
    assert sent.index("Say häh?") < sent.index("Be brief.") < sent.index("It is late.")


def test_tools_are_called_and_told(tmp_path: Path) -> None:
    script = [
        call(("write_file", {"path": "a/b.txt", "text": "hi"}), text="I write."),
        call(("read_file", {"path": "a/b.txt"})),
        say("done"),
    ]
    found, server = run(script, tmp_path, tools=["files"])
    assert found.answer == "done"
    assert (tmp_path / "output/a/b.txt").read_text() == "hi"
    assert [(event["tool"], event["toolset"]) for event in found.of("tool")] == [
        ("write_file", "files"),
        ("read_file", "files"),
    ]
    assert [event["ok"] for event in found.of("result")] == [True, True]
    assert found.of("result")[1]["text"] == "hi"
    assert [event["turn"] for event in found.of("model")] == [1, 2, 3]
    assert '"hi"' in server.calls[2].text


def test_no_grant_no_tools(tmp_path: Path) -> None:
    _, server = run([say("ok")], tmp_path)
    assert server.calls[0].tools == []


def test_a_call_of_what_was_not_granted_is_denied_and_who_goes_on_is_stopped(tmp_path: Path) -> None:
    found, server = run([call(("run", {"command": "ls"}))] * 9, tmp_path, tools=["files"])
    assert found.status == 1
    assert found.end["how"] == "denied"
    assert "it asked 3 times for run" in found.errors
    assert [event["why"] for event in found.of("denied")] == ["the job does not grant shell"] * 3
    assert len(server.calls) == 3
    assert "Unknown tool name: 'run'" in server.calls[1].text


def test_five_denials_of_different_calls_are_enough(tmp_path: Path) -> None:
    found, server = run([call(("run", {"command": f"ls {n}"})) for n in range(9)], tmp_path)
    assert found.end["how"] == "denied"
    assert len(server.calls) == 5


def test_a_model_that_repeats_itself_is_stopped(tmp_path: Path) -> None:
    found, server = run([call(("list_files", {}))] * 20, tmp_path, tools=["files"])
    assert found.end["how"] == "loop"
    assert "the model answered the same 5 times in a row: list_files({})" in found.end["says"]
    assert len(server.calls) == 6  # the first answer stood before any result


@pytest.mark.parametrize(
    ("allow", "says", "calls"),
    [
        ({"turns": 2}, "turn limit of 2 reached", 2),
        ({"tokens": 3000}, "token limit of 3000 reached", 2),
        ({"usd": 0.003}, "money limit of $0.003 reached", 2),
    ],
)
def test_P14_a_limit_stops_it_before_the_next_call(
    allow: dict[str, Any], says: str, calls: int, tmp_path: Path
) -> None:
    script = [call(("remember", {"key": f"k{n}", "value": "v"}), usage=(900, 200)) for n in range(20)]
    found, server = run(script, tmp_path, tools=["memory"], allow={"turns": None, "tokens": None, "usd": None} | allow)
    assert found.end["how"] == "limit"
    assert says in found.end["says"]
    assert len(server.calls) == calls


def test_P14_the_answer_may_be_as_long_as_what_is_left(tmp_path: Path) -> None:
    found, server = run([say("x", stop="length")], tmp_path, allow={"turns": None, "tokens": 900, "usd": None})
    most = server.calls[0].body["max_tokens"]
    assert most < 900
    assert found.of("ask")[0]["bound"] <= 900
    assert found.end["how"] == "limit"
    assert f"cut after {most} tokens" in found.end["says"]


def test_an_answer_cut_at_the_models_own_bound_is_told(tmp_path: Path) -> None:
    found, _ = run([say("half", stop="length")], tmp_path)
    assert found.answer == "half"
    assert "cut at its greatest length" in found.of("warning")[0]["text"]


def test_usage_that_is_not_reported_is_said(tmp_path: Path) -> None:
    found, _ = run([say("ok", usage=None)], tmp_path)
    assert "does not report its usage" in found.of("usage")[0]["note"]
    assert found.of("model")[0]["output"] == 1000


def test_a_key_that_is_refused_fails_and_is_not_shown(tmp_path: Path) -> None:
    found, server = run([status(401, "no such key sk-very-secret")], tmp_path)
    assert found.end["how"] == "failed"
    assert "the provider refused the key of model small (status 401)" in found.end["says"]
    assert "sk-very-secret" not in json.dumps(found.events) + found.errors
    assert len(server.calls) == 1
    assert found.work.tokens == 0
    assert found.work.open_bound == 0


def test_a_rate_limit_holds_the_run_as_long_as_the_provider_says(tmp_path: Path) -> None:
    found, server = run([status(429, "slow down", retry_after="77")], tmp_path)
    assert (found.status, found.end["how"], found.end["again_s"]) == (0, "held", 77.0)
    assert "slow down" in found.end["says"]
    assert len(server.calls) == 1  # the library repeats nothing


def test_an_outage_of_a_day_is_a_failure(tmp_path: Path) -> None:
    found, _ = run([status(503, "busy")], tmp_path, held=28)
    assert found.end["how"] == "failed"
    assert found.end["says"].startswith("given up after 28 waits: ")


@pytest.mark.parametrize(("held", "again"), [(0, 60.0), (1, 300.0), (4, 3600.0), (27, 3600.0)])
def test_an_outage_is_waited_out_on_a_ladder(held: int, again: float, tmp_path: Path) -> None:
    found, _ = run([status(503, "busy")], tmp_path, held=held)
    assert (found.end["how"], found.end["again_s"]) == ("held", again)


def test_a_provider_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        found = ran(a_task(None, tmp_path, models=[a_model(None, base_url=address)]))
    assert found.end["how"] == "held"
    assert "refused" in found.end["says"]
    assert found.work.open_bound == 0


@pytest.mark.parametrize("name", ["stall", "silent"])
def test_silence_is_bounded(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "TIMEOUT", httpx2.Timeout(0.3))
    found, _ = run([fault(name)], tmp_path)
    assert found.end["how"] == "held"
    assert "nothing came for too long" in found.end["says"]
    assert found.work.open_bound > 1000


@pytest.mark.parametrize(
    ("step", "how", "says"),
    [
        (fault("garbage"), "failed", "the answer of small cannot be read"),
        (fault("nothing"), "failed", "the answer of small cannot be used"),
        (fault("cut"), "held", "the provider of small did not answer: peer closed connection"),
        (status(400, "what is this"), "failed", "the provider of small answered 400: what is this"),
        (status(404, "no such model"), "failed", "the provider of small answered 404: no such model"),
        (status(402, "pay first"), "failed", "the account has nothing left: pay first"),
    ],
)
def test_what_is_no_answer(step: Step, how: str, says: str, tmp_path: Path) -> None:
    found, server = run([step], tmp_path)
    assert found.end["how"] == how
    assert says in found.end["says"]
    assert len(server.calls) == 1
    assert "Traceback" not in found.errors


def test_another_model_is_asked_only_if_the_job_lists_it_and_the_trouble_passes(tmp_path: Path) -> None:
    with ModelServer(
        [call(("remember", {"key": "a", "value": "b"})), status(500, "down"), say("by the other")]
    ) as server:
        models = [a_model(server), a_model(server, "large", id="acme/large", price=None)]
        found = ran(a_task(server, tmp_path, models=models, tools=["memory"]))
    assert found.answer == "by the other"
    assert [one.body["model"] for one in server.calls] == ["acme/small-1", "acme/small-1", "acme/large"]
    assert "answered 500: down; it goes on with large" in found.of("warning")[0]["text"]
    assert server.calls[1].messages == server.calls[2].messages
    assert len(found.of("note")) == 1
    with ModelServer([status(401, "no")]) as server:
        found = ran(a_task(server, tmp_path, models=[a_model(server), a_model(server, "large")]))
    assert found.end["how"] == "failed"
    assert len(server.calls) == 1


@pytest.mark.parametrize(("empty", "how", "status_"), [("fail", "failed", 1), ("silent", "done", 0)])
def test_an_empty_answer(empty: str, how: str, status_: int, tmp_path: Path) -> None:
    found, server = run([say("  \n")], tmp_path, empty=empty)
    assert (found.end["how"], found.status, found.answer) == (how, status_, "")
    assert len(server.calls) == 1
    assert empty == "silent" or found.end["says"] == "the agent gave an empty answer"


SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]})


def test_an_answer_of_a_form_by_the_output_tool_and_by_text(tmp_path: Path) -> None:
    found, server = run([call(("final_result", {"n": 5}))], tmp_path, schema=SCHEMA)
    assert json.loads(found.answer) == {"n": 5}
    assert server.calls[0].tools == ["final_result"]
    found, _ = run([say('{"n": 7}')], tmp_path, schema=SCHEMA)
    assert json.loads(found.answer) == {"n": 7}


def test_an_answer_that_does_not_fit_is_asked_for_again_and_then_fails(tmp_path: Path) -> None:
    found, server = run([call(("final_result", {"n": 1})), call(("final_result", {"n": 4}))], tmp_path, schema=SCHEMA)
    assert json.loads(found.answer) == {"n": 4}
    assert "minimum of 3" in server.calls[1].text
    found, _ = run([say(f"no json {n}") for n in range(9)], tmp_path, schema=SCHEMA)
    assert found.end["how"] == "failed"
    assert "cannot be used" in found.end["says"]


def test_a_kind_of_provider_whose_package_is_missing_is_said(tmp_path: Path) -> None:
    found = ran(a_task(None, tmp_path, models=[a_model(None, kind="mistral")]))
    assert "providers of kind mistral need a package that is not installed" in found.end["says"]
    found = ran(a_task(None, tmp_path, models=[a_model(None, kind="nobody")]))
    assert found.end["how"] == "failed"
    assert "nobody" in found.end["says"]


def test_a_fault_of_ours_is_one_line_without_keys(tmp_path: Path) -> None:
    task = a_task(None, tmp_path, models=[a_model(None, price="sk-very-secret")])
    found = ran(task)
    assert found.status == 1
    assert found.end["how"] == "failed"
    assert "sk-very-secret" not in json.dumps(found.events) + found.errors
    assert found.errors.count("\n") == 1


LOOK = """
import os, threading
from horae.agents import work
kinds = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
bad = [kind for kind in kinds if kind.startswith(("socket:", "anon_inode:"))]
print(threading.active_count(), bad)
"""


def test_loading_it_starts_no_thread_and_leaves_nothing_open() -> None:
    said = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "1 []"
