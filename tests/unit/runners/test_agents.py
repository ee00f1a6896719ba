"""What stands against an agent's job on this machine: each reason in words, each key and program looked up, nothing loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from horae.core.agent import AgentSettings, DayLimits, McpServer, Model, NamedAgent, Price, Provider
from horae.core.agentfacts import AgentFacts, SkillText
from horae.core.equipment import Given
from horae.core.model import Job, Limits
from horae.core.preflight import Facts
from horae.engine.orders import order_for
from horae.ports import Settings
from horae.runners import agents as looked_at
from horae.runners.agents import agent_facts, no_skills
from horae.runners.process import ProcessRunner
from horae.runners.shim.landlock import version
from tests.support.builders import a_claim, a_job

VALUES = {"CLOUD_KEY": "sk-cloud", "MCP_TOKEN": "mcp-token", "OF_THE_JOB": "hunter2", "OF_THE_AGENT": "swordfish"}
HOME = Provider("home", "openai", "http://127.0.0.1:8080/v1")
CLOUD = Provider("cloud", "anthropic", None, "CLOUD_KEY")
SMALL = Model("small", "home", "acme/small-1", Price(0.15, 0.6))
LARGE = Model("large", "cloud", "acme-large-4", Price(3.0, 15.0, 0.3))
FREE = Model("free", "home", "free-1")
COMMAND = NamedAgent("coder", "command", ("coder", "-p", "{prompt}"), {"URL": "{base_url}", "KEY": "{key}"})
ACP = NamedAgent("hermes", "acp", ("hermes", "acp"), {"URL": "{base_url}"}, ("LANG", "NOT_SET"), ("OF_THE_AGENT",))
BLIND = NamedAgent("blind", "command", ("coder",))


def agents(**given: Any) -> AgentSettings:
    values: dict[str, Any] = {
        "providers": {"home": HOME, "cloud": CLOUD},
        "models": {"small": SMALL, "large": LARGE, "free": FREE},
        "tools": ("memory",),
        "named": {"coder": COMMAND, "hermes": ACP, "blind": BLIND},
        "mcp": {
            "files": McpServer("files", ("mcp-files",), env={"A": "1"}, secrets=("MCP_TOKEN",)),
            "web": McpServer("web", url="https://mcp.example.org", env={"A": "1"}, secrets=("MCP_TOKEN",)),
        },
    }
    return AgentSettings(**(values | given))


def lookup(names: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    absent = tuple(f"secret {name} has no value" for name in names if name not in VALUES)
    return {name: VALUES[name] for name in names if name in VALUES}, absent


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A folder with the programs that the settings name, and no other."""
    for name in ("coder", "hermes", "mcp-files"):
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    (tmp_path / "scripts").mkdir()
    return str(tmp_path / "bin")


def look(path: str, said: AgentSettings | None = None, **given: Any) -> Facts:
    values: dict[str, Any] = {"agent": True, "script": None, "prompt": "high water?", "model": "small", **given}
    settings = Settings("/h", env={"PATH": path, "LANG": "de"}, agents=said or agents())
    return agent_facts(a_job(**values), settings, os.path.join(os.path.dirname(path), "scripts"), lookup, no_skills)


def found(facts: Facts) -> AgentFacts:
    assert facts.problems == ()
    assert facts.agent is not None
    return facts.agent


# ── what is found


def test_the_built_in_agent_with_its_models_and_their_keys(path: str) -> None:
    facts = found(look(path, model="large", fallbacks=("small",), tools=("web", "memory")))
    assert (facts.kind, facts.program, facts.env, facts.tools) == ("builtin", None, {}, ("web", "memory"))
    assert [(one.model, one.provider, one.key) for one in facts.models] == [
        (LARGE, CLOUD, "sk-cloud"),
        (SMALL, HOME, None),
    ]
    assert "sk-cloud" not in repr(facts)


def test_an_agent_that_is_a_program_gets_what_the_settings_say_and_no_more(path: str) -> None:
    facts = found(look(path, agent="hermes"))
    assert (facts.kind, facts.program) == ("acp", ACP)
    assert facts.env == {"LANG": "de", "OF_THE_AGENT": "swordfish", "URL": "{base_url}"}
    assert "swordfish" not in repr(facts)
    assert found(look(path, agents(agent="coder"))).program == COMMAND


def test_one_that_nobody_counts_has_a_model_of_its_own(path: str) -> None:
    assert found(look(path, agent="blind", model=None)).models == ()


def test_a_server_gets_its_secret_as_a_variable_or_as_its_token(path: str) -> None:
    program, address = found(look(path, tools=("mcp:files", "mcp:web"))).servers
    assert (program.env, program.token) == ({"A": "1", "MCP_TOKEN": "mcp-token"}, None)
    assert (address.env, address.token) == ({"A": "1"}, "mcp-token")
    assert "mcp-token" not in repr((program, address))


@pytest.mark.parametrize("name", ["CLOUD_KEY", "MCP_TOKEN"])
def test_a_key_that_no_header_can_hold_is_a_reason_that_does_not_show_it(
    name: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VALUES, name, " sk-of-a-file\r\n")
    facts = found(look(path, model="large", tools=("mcp:web",)))
    assert "sk-of-a-file" in (facts.models[0].key, facts.servers[0].token)
    for value in ("sk-of\nlines", "sk-of-\xfcmlauts", "sk-\x1b", " \n"):
        monkeypatch.setitem(VALUES, name, value)
        (why,) = look(path, model="large", tools=("mcp:web",)).problems
        assert f"secret {name}" in why
        assert "sk-" not in why


def test_what_the_settings_disable_nobody_gets(path: str) -> None:
    facts = found(look(path, agents(disabled=("web", "mcp")), tools=("web", "memory", "mcp:gone")))
    assert (facts.tools, facts.servers) == (("memory",), ())


def test_its_scripts_are_found_and_its_secrets_are_apart(path: str) -> None:
    scripts = Path(path).parent / "scripts"
    (scripts / "a.sh").write_text("echo a\n")
    (scripts / "w.sh").write_text("echo w\n")
    facts = look(path, script="a.sh", watch="w.sh", secrets=("OF_THE_JOB",))
    agent = found(facts)
    assert agent.script == (("/bin/sh", str(scripts / "a.sh")), str(scripts))
    assert agent.watch == (("/bin/sh", str(scripts / "w.sh")), str(scripts))
    assert (facts.argv, facts.secrets, agent.env) == ((), {"OF_THE_JOB": "hunter2"}, {})
    assert found(look(path, watch="https://example.org/")).watch is None


def test_the_folder_that_it_works_in(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert found(look(path)).folder == ""
    assert found(look(path, workdir="~/scripts")).folder == str(tmp_path / "scripts")
    assert look(path, workdir="~/gone").problems == (f"workdir ~/gone is not a folder ({tmp_path}/gone)",)


# ── what stands against it


def only(facts: Facts) -> str:
    (reason,) = facts.problems
    return reason


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"agent": "hermse"}, "agent hermse: config.toml has no [agents.hermse] (did you mean hermes?)"),
        ({"agent": "xyz"}, "agent xyz: config.toml has no [agents.xyz] (it has blind, coder, hermes)"),
        ({"model": "smal"}, "model smal: config.toml has no [models.smal] (did you mean small?)"),
        ({"fallbacks": ("qqq",)}, "model qqq: config.toml has no [models.qqq] (it has free, large, small)"),
        ({"model": None}, "no model: name one: `model:` in the job, or `horae model use NAME` for all that have none"),
        ({"tools": ("mcp:file",)}, "toolset mcp:file: config.toml has no [mcp.file] (did you mean files?)"),
        (
            {"approve": ("shell",)},
            "approve: shell is not granted (the job's `tools` do not grant it), so there is nothing to approve",
        ),
        (
            {"agent": "coder", "approve": ("memory",)},
            "approve: agent coder is a command, which asks nobody before it does something; leave `approve` out",
        ),
        (
            {"agent": "coder", "tools": ("memory",)},
            "agent coder is a command with tools of its own: leave `tools` out",
        ),
        (
            {"agent": "blind", "fallbacks": ("small",)},
            "agent blind has a model of its own, which is not told to Horae: leave `fallbacks` out",
        ),
        (
            {"model": "free", "limits": Limits(usd=1.0)},
            "model free has no price, so a limit of money cannot hold: add input and output to [models.free]",
        ),
        (
            {"fallbacks": ("free",), "limits": Limits(usd_day=1.0)},
            "model free has no price, so a limit of money cannot hold: add input and output to [models.free]",
        ),
        ({"secrets": ("GONE",)}, "secret GONE has no value"),
        ({"script": "gone.sh"}, "script gone.sh does not exist in "),
        ({"watch": "gone.sh"}, "script gone.sh does not exist in "),
        ({"skills": ("tides",)}, "skill tides is not there: nothing here reads skills"),
        ({"schema": '{"type": "nothing"}'}, "schema: it is no JSON schema: 'nothing' is not valid"),
        ({"schema": '{"type": "object", "$ref": "#/nope"}'}, "schema: its reference /nope leads to nothing in it"),
    ],
)
def test_each_reason_is_said_once_and_in_words(path: str, given: dict[str, Any], says: str) -> None:
    assert only(look(path, **given)).startswith(says)


@pytest.mark.parametrize(
    ("said", "given", "says"),
    [
        (
            {"disabled": ("memory",)},
            {"approve": ("memory",)},
            "approve: memory is not granted (the settings disable it), so there is nothing to approve",
        ),
        ({"models": {}}, {"model": None}, "no model: config.toml has no [models.NAME] yet"),
        ({"models": {}}, {}, "model small: config.toml has no [models.small]"),
        ({"named": {}}, {"agent": "x"}, "agent x: config.toml has no [agents.x]"),
        ({"usd": 1.0}, {"model": "free"}, "model free has no price, so a limit of money cannot hold"),
        ({"day": DayLimits(usd=1.0)}, {"model": "free"}, "model free has no price, so a limit of money cannot hold"),
        (
            {"providers": {"home": HOME, "cloud": replace(CLOUD, key="GONE")}},
            {"model": "large"},
            "provider cloud: secret GONE has no value",
        ),
        (
            {"named": {"hermes": replace(ACP, secrets=("GONE",))}},
            {"agent": "hermes"},
            "agent hermes: secret GONE has no value",
        ),
        (
            {"named": {"hermes": replace(ACP, command=("no-such-agent",))}},
            {"agent": "hermes"},
            "agent hermes: its program no-such-agent is not on this machine",
        ),
        (
            {"mcp": {"x": McpServer("x", ("no-such-server",))}},
            {"tools": ("mcp:x",)},
            "toolset mcp:x: its program no-such-server is not on this machine",
        ),
        (
            {"mcp": {"x": McpServer("x", url="https://x.example.org", secrets=("GONE",))}},
            {"tools": ("mcp:x",)},
            "toolset mcp:x: secret GONE has no value",
        ),
    ],
)
def test_what_the_settings_lack_is_a_reason(path: str, said: dict[str, Any], given: dict[str, Any], says: str) -> None:
    assert only(look(path, agents(**said), **given)).startswith(says)


@pytest.mark.parametrize(
    ("limits", "day", "named"),
    [
        (Limits(tokens=9), DayLimits(), "limits.tokens"),
        (Limits(tokens_day=9), DayLimits(), "limits.tokens_day"),
        (Limits(usd=1, usd_day=1), DayLimits(), "limits.usd, limits.usd_day"),
        (Limits(), DayLimits(9, 1.0), "budget.tokens_day, budget.usd_day"),
    ],
)
def test_what_nobody_can_count_nobody_limits(path: str, limits: Limits, day: DayLimits, named: str) -> None:
    said = only(look(path, agents(day=day), agent="blind", model=None, limits=limits))
    assert said == (
        f"agent blind is not told where the meter is, so nobody can count what it uses and {named} cannot hold: "
        'put "{base_url}" and "{key}" into [agents.blind] env, or use wall and turns only'
    )
    assert not look(path, agent="blind", model=None, limits=Limits(wall_s=9, turns=3)).problems
    assert not look(path, agent="coder", limits=Limits(tokens=9, usd=1)).problems


def test_a_shell_without_a_sandbox_is_none(path: str) -> None:
    assert only(look(path, tools=("shell",))).startswith(
        "toolset shell: sandbox strict: bubblewrap (bwrap) is not on this machine; "
    )


def test_a_package_that_is_not_installed_is_named_with_the_way_to_it(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = looked_at.find_spec
    way = "which is not installed; `pip install 'horae[agents]'` installs it"
    monkeypatch.setattr(looked_at, "find_spec", lambda name: None if name == "pydantic_ai" else there(name))
    assert only(look(path)) == f"the builtin agent needs the package pydantic_ai, {way}"
    monkeypatch.setattr(looked_at, "find_spec", lambda name: None if name == "acp" else there(name))
    assert only(look(path, agent="hermes")) == f"the acp agent needs the package acp, {way}"


def test_a_provider_whose_library_is_absent_with_all_that_is_above_it(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google", None)  # as if it were not installed
    said = agents(
        providers={"g": Provider("g", "google", None, "CLOUD_KEY")}, models={"small": replace(SMALL, provider="g")}
    )
    assert only(look(path, said)) == (
        "provider g: its kind google needs a package; pip install 'pydantic-ai-slim[google]'"
    )
    assert only(look(path, said, agent="hermes")).startswith("agent hermes speaks openai to its model")


def test_a_prompt_that_holds_what_must_not_be_sent(path: str) -> None:
    said = look(path, prompt="one\nsay hello\u202e to them").problems
    assert len(said) == 1
    assert said[0].startswith("the prompt, line 2: ")
    assert said[0].endswith("edit the job's prompt")


def test_skills_are_read_for_jobs_that_name_some_and_with_what_they_may_use(path: str) -> None:
    asked: list[tuple[tuple[str, ...], Sequence[str]]] = []
    tides = SkillText("tides", "how to", "/skills/tides", "s1")

    def skills(job: Job, tools: Sequence[str]) -> tuple[Sequence[SkillText], Sequence[str]]:
        asked.append((job.skills, tools))
        return [tides], ["skill ebb is not there"]

    settings = Settings("/h", env={"PATH": path}, agents=agents())
    with_some = a_job(agent=True, script=None, model="small", skills=("tides", "ebb"))
    facts = agent_facts(with_some, settings, "/h/scripts", lookup, skills)
    assert facts.problems == ("skill ebb is not there",)
    assert facts.agent is not None
    assert facts.agent.skills == (tides,)
    assert not agent_facts(replace(with_some, skills=()), settings, "/h/scripts", lookup, skills).problems
    assert asked == [(("tides", "ebb"), ("memory",))]


def test_all_reasons_are_told_at_once(path: str) -> None:
    said = look(
        path, agent="nobody", model="nothing", script="gone.sh", secrets=("GONE",), schema='{"type": 7}'
    ).problems
    assert len(said) == 5
    assert not any(value in " ".join(said) for value in VALUES.values())


# ── what its runner adds


@pytest.mark.parametrize("folder", ["", "~home~", "~home~/jobs", "/", "/srv/notes"])
def test_a_folder_that_a_job_names_opens_nothing_of_the_home(tmp_path: Path, folder: str) -> None:
    home = str(tmp_path / "home")
    folder = folder.replace("~home~", home)
    claim = a_claim(job=a_job(agent=True, script=None))
    settings = Settings(home, env={"PATH": "/usr/bin"})
    order = order_for(claim, Facts(agent=AgentFacts(folder=folder)), settings, Given())
    runner = ProcessRunner(settings)
    task = runner._told(order, "/run/own")["task"]
    runner.close()
    assert isinstance(task, dict)
    assert task["folder"] == (folder or "/run/own")
    assert task["env"]["HORAE_OUTPUT"] == "/run/own"
    walls = task["walls"]
    assert walls is None or (walls["own"], walls["home"]) == (["/run/own"], home)
    assert walls is None or f"{home}/secrets.toml" in walls["hidden"]
    assert (walls is None) is (version() == 0)


def test_its_scripts_may_leave_files_where_any_run_may(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "home"), env={"PATH": "/usr/bin"})
    argv = (("/bin/sh", "/s/a.sh"), "/s")
    facts = Facts(secrets={"DB": "hunter2"}, agent=AgentFacts(script=argv, watch=argv))
    claim = a_claim(job=a_job(agent=True, script="a.sh", watch="a.sh", secrets=("DB",)))
    order = order_for(claim, facts, settings, Given())
    runner = ProcessRunner(settings)
    task = runner._told(order, "/run/own")["task"]
    runner.close()
    assert isinstance(task, dict)
    for name in ("script", "watch_script"):
        assert (task[name]["env"]["HORAE_OUTPUT"], task[name]["env"]["DB"]) == ("/run/own", "hunter2")
    assert "DB" not in task["env"]
