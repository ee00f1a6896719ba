"""Which agent a job means, and what of a job cannot hold whatever a machine offers. On machines: `runners/test_agents.py`."""

from __future__ import annotations

import pytest

from horae.core.agent import AgentSettings, McpServer, Model, NamedAgent, Price, Provider
from horae.core.agentfacts import Reached, agent_of, rules, unknown_model, unspoken
from horae.core.model import Limits
from tests.support.builders import a_job

HERMES = NamedAgent("hermes", "acp", ("hermes", "acp"), {"URL": "{base_url}"})
METERED = NamedAgent("coder", "command", ("coder", "--url={base_url}"))
SETTINGS = AgentSettings(
    named={"hermes": HERMES, "coder": METERED},
    models={"small": Model("small", "p", "s", Price(1, 2)), "free": Model("free", "p", "f")},
    mcp={"files": McpServer("files", ("x",))},
    tools=("files", "memory"),
)


def test_which_agent_a_job_means() -> None:
    assert agent_of(a_job(agent=True), SETTINGS) == ("builtin", None, None)
    assert agent_of(a_job(agent="builtin"), SETTINGS) == ("builtin", None, None)
    assert agent_of(a_job(agent="hermes"), SETTINGS) == ("acp", HERMES, None)
    usual = AgentSettings(named={"hermes": HERMES}, agent="hermes")
    assert agent_of(a_job(agent=True), usual) == ("acp", HERMES, None)
    assert agent_of(a_job(agent="builtin"), usual) == ("builtin", None, None)


def test_what_names_nothing_is_told_with_what_is_near_or_there() -> None:
    assert agent_of(a_job(agent="hermse"), SETTINGS)[2] == (
        "agent hermse: config.toml has no [agents.hermse] (did you mean hermes?)"
    )
    assert (
        unknown_model("smal", SETTINGS.models) == "model smal: config.toml has no [models.smal] (did you mean small?)"
    )
    assert unknown_model("x", SETTINGS.models) == "model x: config.toml has no [models.x] (it has free, small)"
    assert unknown_model("x", {}) == "model x: config.toml has no [models.x]"


@pytest.mark.parametrize("named", [None, HERMES, METERED])
def test_a_plain_job_has_nothing_against_it(named: NamedAgent | None) -> None:
    assert list(rules(a_job(agent=True, model="small", limits=Limits(usd=1, tokens=5)), SETTINGS, named)) == []


def test_a_command_with_the_tools_of_the_settings_is_fine_and_with_its_own_is_not() -> None:
    assert not list(rules(a_job(agent="coder"), SETTINGS, METERED))
    assert not list(rules(a_job(agent="coder", tools=()), SETTINGS, METERED))
    assert len(list(rules(a_job(agent="coder", tools=("files",)), SETTINGS, METERED))) == 1


def test_what_is_approved_must_be_granted() -> None:
    assert not list(rules(a_job(approve=("files",)), SETTINGS, None))
    assert not list(rules(a_job(tools=("mcp:files",), approve=("mcp:files",)), SETTINGS, None))
    (said,) = rules(a_job(tools=("web",), approve=("files",)), SETTINGS, None)
    assert "the job's `tools` do not grant it" in said


def test_every_model_that_may_be_used_must_have_a_price_where_money_is_limited() -> None:
    job = a_job(model="free", fallbacks=("free", "small"), limits=Limits(usd=1))
    assert all("model free has no price" in said for said in rules(job, SETTINGS, None))
    assert not list(rules(a_job(model="free", limits=Limits(tokens=5)), SETTINGS, None))
    assert not list(rules(a_job(model=None, limits=Limits(usd=1)), SETTINGS, None))


@pytest.mark.parametrize(
    ("kind", "api", "fits"),
    [("openai", "openai", True), ("openai-responses", "openai", True), ("anthropic", "anthropic", True),
     ("anthropic", "openai", False), ("openai", "anthropic", False), ("groq", "openai", False)],
)  # fmt: skip
def test_a_program_and_its_provider_speak_one_language(kind: str, api: str, fits: bool) -> None:
    program = NamedAgent("hermes", "acp", ("hermes",), {"URL": "{base_url}"}, api=api)  # pyright: ignore[reportArgumentType]
    said = unspoken(program, Reached(Model("small", "p", "s"), Provider("p", kind)))
    assert (said is None) is fits
    assert fits or f"speaks {api}" in str(said)
    alone = NamedAgent("hermes", "acp", ("hermes",))
    assert unspoken(alone, Reached(Model("small", "p", "s"), Provider("p", kind))) is None  # it has a model of its own
