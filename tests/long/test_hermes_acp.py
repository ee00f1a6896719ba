"""Real agents of others that speak the Agent Client Protocol: Hermes from PyPI and OpenCode from npm, before a scripted model.

They are installed when this runs, below .cache/agents: some 20 s, once.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from horae.agents import launch
from tests.support.agentrun import Ran, a_task, ran
from tests.support.modelserver import ModelServer, Step, call, fault, say, status
from tests.support.realagents import hermes, one_call, opencode, path_with_node

pytestmark = pytest.mark.timeout(600)
AGENTS = {"hermes": (hermes, "terminal"), "opencode": (opencode, "bash")}


@pytest.fixture(autouse=True)
def stays_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "conceal", lambda: None)  # for good it would be, and this process runs all tests


@pytest.fixture(params=AGENTS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def did(name: str, server: ModelServer, folder: Path, **changed: Any) -> Ran:
    env = {"PATH": path_with_node(), "HOME": str(folder)}
    shut = folder.parent / f"{folder.name}.home"  # beside it: in a folder on the way to it nothing can be made
    shut.mkdir(exist_ok=True)
    (folder / "agent").mkdir(exist_ok=True)
    walls = {"home": str(shut), "own": [], "hidden": []}
    agent = AGENTS[name][0](folder / "agent")
    return ran(a_task(server, folder, kind="acp", agent=agent, env=env, walls=walls, **changed))


def removing(name: str, folder: Path) -> tuple[Path, Any]:
    """A folder, and a model that wants to remove it."""
    doomed = folder / "output" / "doomed"
    doomed.mkdir(parents=True)
    return doomed, one_call(AGENTS[name][1], {"command": f"rm -rf {doomed}", "description": "Remove it"})


def test_it_answers_and_is_counted(name: str, tmp_path: Path) -> None:
    with ModelServer(lambda asked: say("High water at six.", usage=(100, 7))) as server:
        found = did(name, server, tmp_path)
    assert (found.status, found.answer.strip()) == (0, "High water at six.")
    assert {asked.headers["authorization"] for asked in server.asked} == {"Bearer sk-very-secret"}
    assert {asked.body["model"] for asked in server.calls} == {"acme/small-1"}
    assert found.work.input == 100 * len(server.calls)
    assert found.work.open_bound == 0
    assert "Say hello." in server.calls[-1].text


def test_what_the_job_grants_is_done(name: str, tmp_path: Path) -> None:
    doomed, model = removing(name, tmp_path)
    with ModelServer(model) as server:
        found = did(name, server, tmp_path, tools=["files", "shell"])
    assert found.answer.strip().startswith("Then:"), found.errors
    assert not doomed.exists()
    assert found.of("denied") == []


def test_what_it_does_not_grant_is_denied_and_the_agent_goes_on(name: str, tmp_path: Path) -> None:
    doomed, model = removing(name, tmp_path)
    with ModelServer(model) as server:
        found = did(name, server, tmp_path, tools=["files"])
    assert found.answer.strip().startswith("Then:"), found.errors
    assert doomed.exists()
    assert [event["why"] for event in found.of("denied")] == ["the job was not granted shell"]


def test_a_person_is_waited_for_and_the_session_goes_on(name: str, tmp_path: Path) -> None:
    doomed, model = removing(name, tmp_path)
    granted = {"tools": ["shell"], "approve": ["shell"]}
    with ModelServer(model) as server:
        first = did(name, server, tmp_path, **granted)
        assert first.end["how"] == "parked", first.errors
        assert doomed.exists()
        decision = {"approved": True, "by": "ada", "reason": None, "digest": first.end["ask"]["digest"]}

    told: list[str] = []

    def again(asked: Any) -> Step:
        """It does what it was allowed as soon as it is told, once."""
        if not asked.body.get("tools"):
            return say("A title")
        told.append(asked.text)
        if len(told) > 1 or "allows it, once" not in asked.text:
            return say("It is done.")
        return call((AGENTS[name][1], {"command": f"rm -rf {doomed}", "description": "Remove it"}))

    with ModelServer(again) as server:
        state = first.end["state"]
        found = did(name, server, tmp_path, state=state, decision=decision, **granted)
    assert found.answer.strip() == "It is done.", found.errors
    assert not doomed.exists()


def test_it_is_held_while_its_provider_cannot_answer(name: str, tmp_path: Path) -> None:
    with ModelServer(lambda asked: status(429, "slow down", retry_after="1")) as server:
        found = did(name, server, tmp_path, allow={"turns": 4, "tokens": None, "usd": None})
    assert found.end["how"] in ("held", "limit")  # who tries for ever runs into its limit of turns
    assert found.answer == ""


def test_a_limit_ends_it(name: str, tmp_path: Path) -> None:
    with ModelServer(lambda asked: say("Six.")) as server:
        found = did(name, server, tmp_path, allow={"turns": None, "tokens": 300, "usd": None})
    assert (found.end["how"], found.answer, server.calls) == ("limit", "", [])


def test_it_can_be_called_off(name: str, tmp_path: Path) -> None:
    with ModelServer(lambda asked: fault("stall")) as server:

        def end() -> None:
            if server.came.wait(60):
                os.kill(os.getpid(), signal.SIGTERM)

        ender = threading.Thread(target=end)
        ender.start()
        found = did(name, server, tmp_path)
        ender.join()
    assert found.end["says"] == "it was told to stop"
    assert found.work.open_bound > 0
