"""Agents' jobs through the whole of Horae: real gateways, shims and processes, and a provider on the loopback."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.modelserver import Asked, ModelServer, Step, call, say, status
from tests.support.process import TestHome, new_home, running, start, until

INSIDE = True
KEY = "a-key-of-a-provider-1234567890"


def config(server: ModelServer, more: str = "") -> str:
    """The settings of a home whose models are at that server."""
    return f"""model = "small"
{more}
[providers.local]
kind = "openai"
base_url = "{server.base_url}"
key = "LOCAL_KEY"

[models.small]
provider = "local"
id = "acme/small-1"
input = 1.0
output = 2.0
max_output = 500

[models.large]
provider = "local"
id = "acme/large-1"
input = 10.0
output = 20.0
"""


def prepared(home: TestHome, server: ModelServer, more: str = "") -> TestHome:
    home.config(config(server, more))
    secrets = home.path / "secrets.toml"
    secrets.write_text(f'LOCAL_KEY = "{KEY}"\n')
    secrets.chmod(0o600)
    return home


def job(home: TestHome, slug: str, prompt: str, **keys: object) -> None:
    lines = "".join(f"{key}: {value}\n" for key, value in {"schedule": "on demand", **keys}.items())
    home.file(slug).write_text(f"---\n{lines}---\n{prompt}\n", encoding="utf-8")


def done(home: TestHome, slug: str, *words: str) -> dict[str, Any]:
    """Run it and wait; the whole log."""
    return home.json("run", slug, "--wait", *words, status=None)


@dataclass
class Office:
    """One gateway for tests that look at nothing but their own jobs: what agents need takes seconds to load."""

    home: TestHome
    server: ModelServer

    def asks(self, script: Sequence[Step] | Callable[[Asked], Step]) -> tuple[TestHome, ModelServer]:
        """Its home, and its provider, which answers by this script from now on and has not been asked anything."""
        self.server.begin(script)
        return self.home, self.server


@contextmanager
def an_office(folder: Path) -> Iterator[Office]:
    with ModelServer([]) as server:
        home = prepared(new_home(folder / "home"), server)
        home.inside = INSIDE
        with running(home):
            yield Office(home, server)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with an_office(tmp_path_factory.mktemp("office")) as made:
        yield made


def test_an_agent_answers_and_what_it_used_is_on_record(office: Office) -> None:
    home, server = office.asks([say("High water at six.", usage=(120, 7, 0))])
    job(home, "answered", "Report the tides.")
    until(lambda: "answered" in home.jobs(), "the job is known")
    log = done(home, "answered")
    run = log["run"]
    assert (run["state"], run["outcome"]) == ("completed", "ran"), run
    assert log["message"] == "High water at six."
    assert (run["model"], run["turns"], run["tokens"], run["tokens_in"], run["tokens_out"]) == ("small", 1, 127, 120, 7)
    assert run["cost_usd"] == (120 * 1.0 + 7 * 2.0) / 1e6
    (asked,) = server.calls
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["model"] == "acme/small-1"
    assert "Report the tides." in asked.text
    assert KEY not in json.dumps(log)
    assert KEY.encode() not in (home.path / "state" / "runtime.db").read_bytes()
    kinds = [event["kind"] for event in log["activity"]]
    assert kinds[0] == "prompt"
    assert kinds[-1] == "end"
    assert "model" in kinds


def test_P6_nothing_is_asked_for_a_job_that_cannot_run(home: TestHome) -> None:
    with ModelServer([say("never")]) as server:
        prepared(home, server)
        (home.path / "secrets.toml").write_text("")
        with running(home):
            job(home, "tides", "Report the tides.")
            until(lambda: "tides" in home.jobs(), "the job is known")
            log = done(home, "tides")
            assert (log["run"]["state"], log["run"]["outcome"]) == ("blocked", "blocked")
            assert "LOCAL_KEY" in log["run"]["reason"]
            done(home, "tides")
            (incident,) = home.json("incidents")["incidents"]
            assert incident["kind"] == "blocked"
            assert incident["count"] == 2
        assert server.asked == []
        check = home.json("check", "tides", status=1)
        assert any("LOCAL_KEY" in str(item) for item in check["checks"])


def test_what_blocked_a_job_is_over_when_its_cause_is(home: TestHome) -> None:
    with ModelServer([say("well")]) as server:
        prepared(home, server)
        (home.path / "secrets.toml").write_text("")
        with running(home):
            job(home, "tides", "Report the tides.")
            until(lambda: "tides" in home.jobs(), "the job is known")
            assert done(home, "tides")["run"]["state"] == "blocked"
            secrets = home.path / "secrets.toml"
            secrets.write_text(f'LOCAL_KEY = "{KEY}"\n')
            until(lambda: not home.json("incidents")["incidents"], "the incident ends", 40)
        assert server.calls == []


def test_a_killed_gateway_leaves_the_agent_and_the_next_one_has_its_answer(home: TestHome) -> None:
    def script(asked: Any) -> Step:
        if len(server.calls) == 1:
            return call(("remember", {"key": "seen", "value": "yes"}))
        assert server.ending.wait(0) is False
        gate.wait_for()
        return say("After the kill.")

    class Gate:
        def __init__(self, path: Path) -> None:
            self.path = path

        def wait_for(self) -> None:
            until(self.path.exists, "the test opens the gate", 30)

    gate = Gate(home.path.parent / "gate")
    with ModelServer(script) as server:
        prepared(home, server)
        first = start(home)
        job(home, "tides", "Report the tides.")
        until(lambda: "tides" in home.jobs(), "the job is known")
        run_id = home.json("run", "tides")["run_id"]
        until(lambda: len(server.calls) == 2, "the second call")
        first.kill()
        gate.path.write_text("")
        with running(home):
            run = home.ended(run_id)
        assert run["state"] == "completed", run
        assert home.json("log", run_id)["message"] == "After the kill."
        assert home.sql("SELECT key, value FROM notepad") == [("seen", "yes")]
        assert run["tokens"] == 30


def test_cancel_ends_an_agent_in_the_middle_of_a_call(office: Office) -> None:
    home, server = office.asks([Step(fault="silent")])
    job(home, "cancelled", "Report the tides.")
    until(lambda: "cancelled" in home.jobs(), "the job is known")
    run_id = home.json("run", "cancelled")["run_id"]
    until(lambda: server.calls, "the call")
    home.json("cancel", run_id)
    run = home.ended(run_id)
    assert run["state"] == "cancelled"


def test_P14_a_token_limit_stops_it_at_the_next_call(office: Office) -> None:
    steps = [call(("remember", {"key": str(n), "value": str(n)}), usage=(400, 20, 0)) for n in range(20)]
    home, server = office.asks(steps)
    job(home, "limited", "Report the tides.", limits="{tokens: 5k}")
    until(lambda: "limited" in home.jobs(), "the job is known")
    log = done(home, "limited")
    assert log["run"]["state"] == "failed", log["run"]
    assert "token limit of 5" in log["run"]["reason"]
    assert 0 < log["run"]["tokens"] <= 5000 + 420
    assert len(server.calls) < 20


def test_a_provider_that_is_busy_holds_the_run_and_no_attempt_is_burnt(office: Office) -> None:
    steps = [call(("remember", {"key": "a", "value": "b"})), status(429, retry_after="1"), say("Now it can.")]
    home, server = office.asks(steps)
    job(home, "busy", "Report the tides.")
    until(lambda: "busy" in home.jobs(), "the job is known")
    log = done(home, "busy")
    runs = home.runs("busy")
    assert log["run"]["state"] == "completed"
    assert log["message"] == "Now it can."
    assert [run["state"] for run in runs] == ["completed", "released"]
    assert "429" in runs[1]["reason"] or "rate" in runs[1]["reason"], runs[1]["reason"]
    assert len(server.calls) == 3  # it went on from where it was: the first call was not made again


def test_a_shell_call_waits_for_a_persons_word(home: TestHome) -> None:
    steps = [call(("run", {"command": "echo from the shell"})), say("It said: from the shell")]
    with ModelServer(steps) as server, running(prepared(home, server)):
        job(home, "tides", "Report the tides.", tools="[shell]", approve="[shell]")
        until(lambda: "tides" in home.jobs(), "the job is known")
        run_id = home.json("run", "tides")["run_id"]
        until(lambda: home.json("status", status=None)["waiting"], "somebody is asked")
        (waits,) = home.json("status", status=None)["waiting"]
        assert "shell" in json.dumps(waits)
        assert len(server.calls) == 1
        assert home.json("incidents")["incidents"] == []  # a question is no trouble
        home.json("approve", run_id)
        run = until(lambda: next((r for r in home.runs("tides") if r["state"] == "completed"), None), "it goes on")
    assert home.json("log", run["id"])["message"] == "It said: from the shell"
    assert "from the shell" in server.calls[1].text


def test_a_denied_call_is_told_to_the_agent_which_goes_on(office: Office) -> None:
    steps = [call(("run", {"command": "echo no"})), say("I was not allowed.")]
    home, server = office.asks(steps)
    job(home, "denied", "Report the tides.", tools="[shell]", approve="[shell]")
    until(lambda: "denied" in home.jobs(), "the job is known")
    run_id = home.json("run", "denied")["run_id"]
    until(
        lambda: [item for item in home.json("status", status=None)["waiting"] if item["job"] == "denied"],
        "somebody is asked",
    )
    home.json("deny", run_id, "--reason", "not today")
    until(lambda: any(r["state"] == "completed" for r in home.runs("denied")), "it goes on")
    assert "not today" in server.calls[1].text


def test_runs_of_one_job_start_another(office: Office) -> None:
    home, server = office.asks([say("Six o'clock."), say("Seen: six.")])
    job(home, "chained", "Report the tides.")
    job(home, "chained-digest", "Sum up.", after="chained", context_from="[chained]")
    until(lambda: {"chained", "chained-digest"} <= home.jobs().keys(), "both jobs are known")
    done(home, "chained")
    (run,) = until(lambda: [r for r in home.runs("chained-digest") if r["state"] == "completed"], "the other one runs")
    assert "Six o'clock." in server.calls[1].text
    assert "chained" in (run["cause"] or "")


def test_a_replay_is_given_the_same_prompt_and_reaches_nobody(office: Office) -> None:
    steps = [say("First.", usage=(100, 10, 0)), say("Second.", usage=(100, 20, 0))]
    home, server = office.asks(steps)
    home.script("data.sh", "date +%N\n")
    job(home, "replayed", "Report the tides.", script="data.sh", deliver="local")
    until(lambda: "replayed" in home.jobs(), "the job is known")
    first = done(home, "replayed")["run"]
    answer = home.json("replay", "replayed", "--model", "large", "--wait")
    assert server.calls[1].body["model"] == "acme/large-1"
    assert server.calls[0].messages == server.calls[1].messages
    assert "-First." in answer["diff"]
    assert "+Second." in answer["diff"]
    assert answer["before"]["id"] == first["id"]
    assert answer["after"]["cost_usd"] > answer["before"]["cost_usd"]


def test_what_is_watched_calls_the_agent_only_when_it_changes(office: Office) -> None:
    home, server = office.asks([say("It changed.")])
    source = home.path.parent / "source"
    source.write_text("one\n")
    home.script("look.sh", f"cat {source}\n")
    job(home, "watched", "Tell what changed.", watch="look.sh")
    until(lambda: "watched" in home.jobs(), "the job is known")
    states = [done(home, "watched")["run"]["state"], done(home, "watched")["run"]["state"]]
    assert states == ["completed", "completed"]
    assert server.calls == []
    source.write_text("two\n")
    log = done(home, "watched")
    assert log["message"] == "It changed."
    assert "+two" in server.calls[0].text
    source.unlink()
    assert done(home, "watched")["run"]["state"] == "failed"
    source.write_text("two\n")
    assert done(home, "watched")["run"]["state"] == "completed"
    assert len(server.calls) == 1


def test_P7_nothing_of_an_agents_run_is_left(office: Office) -> None:
    steps = [call(("run", {"command": "setsid sleep 300 & echo started"})), say("Done.")]
    home, _ = office.asks(steps)
    job(home, "marked", "Report the tides.", tools="[shell]")
    until(lambda: "marked" in home.jobs(), "the job is known")
    log = done(home, "marked")
    run_id = log["run"]["id"]
    assert log["run"]["used"]["proved"] is True
    marked = [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_of(pid, run_id)]
    assert marked == []


def _is_of(pid: str, run_id: str) -> bool:
    try:
        return f"HORAE_RUN_ID={run_id}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_a_killed_agent_process_is_a_failure_that_says_so(office: Office) -> None:
    home, server = office.asks([Step(fault="silent")])
    job(home, "killed", "Report the tides.")
    until(lambda: "killed" in home.jobs(), "the job is known")
    run_id = home.json("run", "killed")["run_id"]
    until(lambda: server.calls, "the call")
    (pid,) = until(lambda: [run["pid"] for run in home.runs("killed") if run["pid"]], "the process is noted")
    os.kill(pid, signal.SIGKILL)
    run = home.ended(run_id)
    assert run["state"] == "failed"
    assert "signal 9" in run["reason"]


def test_show_prompt_is_what_is_sent(home: TestHome) -> None:
    with ModelServer([say("Fine.")]) as server:
        prepared(home, server)
        job(home, "tides", "Report the tides.\n\nIn two lines.")
        shown = home.json("show", "tides", "--prompt")["prompt"]
        with running(home):
            run = done(home, "tides")["run"]
    assert server.calls[0].messages[-1]["content"] == shown["prompt"]
    assert run["prompt_sha256"] == shown["sha256"]


def test_what_a_run_proposes_is_done_when_a_person_says_so(home: TestHome) -> None:
    steps = [
        call(
            ("draft_job", {"name": "Evening tides", "schedule": "every day at 18:00", "prompt": "Report them."}),
            ("draft_message", {"target": "log", "text": "High water at six."}),
        ),
        say("Proposed."),
    ]
    with ModelServer(steps) as server:
        prepared(home, server, f'[platforms.log]\nkind = "file"\npath = "{home.path.parent}/said.txt"\n')
        with running(home):
            job(home, "tides", "Report the tides.", tools="[jobs, messages]")
            until(lambda: "tides" in home.jobs(), "the job is known")
            assert done(home, "tides")["run"]["state"] == "completed"
            asks = {ask["kind"]: ask["id"] for ask in home.json("waiting")["asks"]}
            assert set(home.jobs()) == {"tides"}
            assert not (home.path.parent / "said.txt").exists()
            made = home.json("approve", asks["job"])
            assert made["job"]["slug"] == "evening-tides"
            assert made["job"]["model"] is None
            assert home.json("show", "evening-tides")["resolved"]["tools"] == ["files", "memory"]
            home.json("approve", asks["message"])
            until((home.path.parent / "said.txt").exists, "the message arrives")
            assert "High water at six." in (home.path.parent / "said.txt").read_text()
            assert home.json("waiting")["asks"] == []
            for verb in ("deny", "approve"):
                assert home.error(verb, asks["job"], status=6)["code"] == "conflict"
            assert set(home.jobs()) == {"tides", "evening-tides"}


def test_U5_a_model_is_frozen_and_moved_by_a_command_alone(home: TestHome) -> None:
    with ModelServer([say("one"), say("two"), say("three")]) as server:
        prepared(home, server)
        with running(home):
            job(home, "tides", "Report the tides.")
            job(home, "pinned", "Report the tides.", model="small")
            until(lambda: len(home.jobs()) == 2, "both jobs are known")
            done(home, "tides")
        text = (home.path / "config.toml").read_text()
        (home.path / "config.toml").write_text(text.replace('model = "small"', 'model = "large"', 1))
        with running(home):
            done(home, "tides")
            assert "tides" in home.json("model", "use", "large", "--all")["plan"][0]["target"]
            home.json("model", "use", "large", "--all", "--confirm")
            done(home, "tides")
            assert home.json("show", "pinned")["resolved"]["model"] == "small"
            home.json("undo")
            assert home.json("show", "tides")["resolved"]["model"] == "small"
    assert [one.body["model"] for one in server.calls] == ["acme/small-1", "acme/small-1", "acme/large-1"]
