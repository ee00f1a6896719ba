"""What an agent's process is given: exactly the keys that it knows, and each secret only where it is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from horae.agents.task import Task
from horae.core.agent import McpServer, Model, NamedAgent, Price, Provider
from horae.core.agentfacts import AgentFacts, Reached, Served, SkillText
from horae.core.equipment import Allowance, Earlier, Given
from horae.core.model import Limits
from horae.core.preflight import Facts
from horae.engine.orders import order_for
from horae.engine.tasks import task_for
from horae.limits import AGENT_IDLE_DEFAULT_S, SCRIPT_OF_AGENT_S
from horae.ports import Settings
from tests.support.builders import START, a_claim, a_job

OF_JOB = {"DB": "hunter2-of-the-job"}
KEY, TOKEN, OF_AGENT, OF_SERVER = "sk-of-the-provider", "token-of-a-server", "swordfish-of-agent", "secret-of-server"
FACTS = AgentFacts(
    kind="acp",
    program=NamedAgent("hermes", "acp", ("hermes", "acp"), {"URL": "{base_url}"}),
    env={"URL": "{base_url}", "S": OF_AGENT},
    models=(
        Reached(
            Model("small", "home", "acme/small-1", Price(1.0, 2.0), 4096, 128_000), Provider("home", "openai"), KEY
        ),
        Reached(Model("cached", "home", "c", Price(1.0, 2.0, 0.1)), Provider("home", "openai", "http://h/v1")),
        Reached(Model("free", "home", "f"), Provider("home", "openai")),
    ),
    tools=("files", "mcp:web"),
    servers=(
        Served(McpServer("web", url="https://mcp.example.org", tools=("a",)), {}, TOKEN),
        Served(McpServer("own", ("mcp-own", "-x")), {"S": OF_SERVER}),
    ),
    skills=(SkillText("tides", "how to", "/skills/tides", "s1"),),
    script=(("/bin/sh", "/h/scripts/a.sh"), "/h/scripts"),
    watch=(("/bin/sh", "/h/scripts/w.sh"), "/h/scripts"),
    folder="/notes",
)
GIVEN = Given(
    Allowance(5, 600, 0.7),
    (Earlier("Ebb", "r0", START - timedelta(hours=1), "low at 3"),),
    {"a": "1"},
    ("w1", "the page"),
    "the state",
    {"approved": True, "by": "anna", "reason": None, "digest": "d"},
    2,
    "the prompt of then",
)
JOB = a_job(
    agent="hermes", script="a.sh", watch="w.sh", prompt="high water?", approve=("files",), secrets=("DB",),
    schema='{"type": "object"}', empty="silent", landlock=False, sandbox="net", workdir="~/notes",
    limits=Limits(script_s=7.0),
)  # fmt: skip
ENV = {"PATH": "/usr/bin", "HORAE_RUN_ID": "aaaabbbbccccdddd"}
CLAIM = a_claim(job=JOB, input="and the wind?", missed=2, claimed_at=START + timedelta(hours=1))


def task(**given: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"claim": CLAIM, "facts": FACTS, "given": GIVEN, "secrets": OF_JOB, "env": ENV, **given}
    return task_for(**values)


def differs(kind: Any, value: Any, place: str) -> Iterator[str]:
    """Where a value is not of a type, or has other keys than it says."""
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, Mapping) or value.keys() != hints.keys():
            yield f"{place}: {value!r} has not the keys {sorted(hints)}"
            return
        for key, inner in hints.items():
            yield from differs(inner, value[key], f"{place}.{key}")
    elif get_origin(kind) is UnionType:
        cases = [list(differs(inner, value, place)) for inner in get_args(kind)]
        if all(cases):
            yield from min(cases, key=len)
    elif get_origin(kind) in (list, dict):
        if not isinstance(value, get_origin(kind)):
            yield f"{place}: {value!r} is no {kind}"
            return
        inner = get_args(kind)[-1]
        for at, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from differs(inner, item, f"{place}.{at}")
    elif kind is not Any and not (isinstance(value, kind) or (kind is float and type(value) is int)):
        yield f"{place}: {value!r} is no {kind}"


BARE = {"claim": a_claim(job=a_job(agent=True, script=None)), "facts": AgentFacts(), "given": Given(), "secrets": {}}


@pytest.mark.parametrize("given", [{}, BARE], ids=["all of it", "nothing of it"])
def test_what_is_given_is_what_the_process_expects(given: dict[str, Any]) -> None:
    said = task(**given)
    assert list(differs(Task, said, "task")) == []
    assert json.loads(json.dumps(said)) == said


def test_the_comparison_finds_what_differs() -> None:
    said = task()
    assert list(differs(Task, said | {"more": 1}, "t"))
    assert list(differs(Task, {key: value for key, value in said.items() if key != "walls"}, "t"))
    assert list(differs(Task, said | {"models": [{**said["models"][0], "price": "1"}]}, "t")) == [
        "t.models.0.price: '1' is no list[float]"
    ]
    assert list(differs(Task, said | {"agent": {"name": "x"}}, "t"))
    assert list(differs(NoneType, 1, "t"))


def places_of(word: str, value: Any, place: str = "") -> set[str]:
    if isinstance(value, str):
        return {place} if word in value else set()
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    return set[str]().union(*(places_of(word, item, f"{place}.{key}") for key, item in inner))


@pytest.mark.parametrize(
    ("word", "places"),
    [
        ("hunter2-of-the-job", {".script.env.DB", ".watch_script.env.DB"}),
        (KEY, {".models.0.key"}),
        (TOKEN, {".mcp.0.token"}),
        (OF_AGENT, {".agent.env.S"}),
        (OF_SERVER, {".mcp.1.env.S"}),
    ],
)
def test_each_secret_is_only_where_it_is_needed(word: str, places: set[str]) -> None:
    assert places_of(word, task()) == places


def test_the_order_around_it_has_no_secret_at_all() -> None:
    facts = Facts(cwd="/h/scripts", secrets=OF_JOB, agent=FACTS)
    order = order_for(CLAIM, facts, Settings("/h", env={"PATH": "/usr/bin", "DB": "from-the-gateway"}), GIVEN)
    assert order.task is not None
    assert places_of("hunter2", order.task) == {".script.env.DB", ".watch_script.env.DB"}
    assert "DB" not in order.env
    assert order.task["env"] == order.env
    assert (order.argv, order.secrets) == ((), ("DB",))
    assert order.bounds.wall_s != 7.0  # that is its script's limit, and not the run's
    assert (order.bounds.idle_s, order.bounds.by_script) == (AGENT_IDLE_DEFAULT_S, False)


def test_a_run_without_an_agent_has_no_task() -> None:
    order = order_for(a_claim(job=a_job(secrets=("DB",))), Facts(("x",), "/", secrets=OF_JOB), Settings("/h"))
    assert (order.task, order.env["DB"]) == (None, "hunter2-of-the-job")
    assert order.bounds.idle_s is None


def test_what_it_is_told_and_may_use() -> None:
    said = task()
    assert (said["run"], said["job"], said["name"], said["kind"]) == (CLAIM.run_id, JOB.id, "Tides", "acp")
    assert (said["prompt"], said["extra"], said["replay"]) == ("high water?", "and the wind?", "the prompt of then")
    assert said["lateness"].startswith("This run begins 1 hour later than it was due. 2 earlier runs")
    assert said["context"] == [{"job": "Ebb", "run": "r0", "at": "2026-03-02 07:00 UTC", "text": "low at 3"}]
    assert said["skills"] == [{"name": "tides", "text": "how to", "folder": "/skills/tides", "sha256": "s1"}]
    assert (said["baseline"], said["state"], said["held"], said["notes"]) == (
        ["w1", "the page"],
        "the state",
        2,
        {"a": "1"},
    )
    assert said["decision"] == {"approved": True, "by": "anna", "reason": None, "digest": "d"}
    assert said["allow"] == {"turns": 5, "tokens": 600, "usd": 0.7}
    assert (said["tools"], said["approve"]) == (["files", "mcp:web"], ["files"])
    assert (said["schema"], said["empty"]) == ('{"type": "object"}', "silent")
    assert said["folder"] == "/notes"
    assert said["walls"] is None  # the runner knows them


def test_its_program_its_models_and_its_scripts() -> None:
    said = task()
    assert said["agent"] == {
        "name": "hermes", "command": ["hermes", "acp"], "env": {"URL": "{base_url}", "S": OF_AGENT}, "api": "openai",
        "metered": True,
    }  # fmt: skip
    assert [model["price"] for model in said["models"]] == [[1.0, 2.0, 1.0], [1.0, 2.0, 0.1], None]
    first = {"name": "small", "id": "acme/small-1", "kind": "openai", "base_url": None, "key": KEY}
    assert said["models"][0] == first | {"price": [1.0, 2.0, 1.0], "max_output": 4096, "context": 128_000}
    script = {"argv": ["/bin/sh", "/h/scripts/a.sh"], "cwd": "/h/scripts", "landlock": False, "sandbox": "net"}
    assert said["script"] == {"name": "a.sh", **script, "timeout_s": 7.0, "env": ENV | OF_JOB}
    assert said["watch_script"]["name"] == "w.sh"
    assert said["watch_url"] is None
    assert [server["tools"] for server in said["mcp"]] == [["a"], None]
    plain = task(claim=a_claim(job=a_job(agent=True)), facts=FACTS)
    assert plain["script"]["timeout_s"] == SCRIPT_OF_AGENT_S


def test_a_url_is_watched_by_its_address() -> None:
    job = a_job(agent=True, script=None, watch="https://example.org/tides")
    said = task(claim=a_claim(job=job), facts=AgentFacts())
    assert (said["watch_url"], said["watch_script"], said["agent"], said["script"]) == (job.watch, None, None, None)
    assert said["lateness"] is None


def test_what_is_given_is_a_copy() -> None:
    said = task()
    said["env"]["PATH"] = said["notes"]["a"] = said["decision"]["by"] = "changed"
    said["script"]["env"]["DB"] = said["agent"]["env"]["URL"] = "changed"
    assert ("changed" in repr((ENV, OF_JOB, GIVEN))) is False
    assert FACTS.env["URL"] == "{base_url}"
