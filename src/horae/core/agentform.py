"""What config.toml says about models and agents, read into values.

    model                what everybody uses who says nothing else
    [providers.NAME]     kind, base_url, key
    [models.NAME]        provider, id, input, output, cached, max_output, context
    [agents]             model, default, tools, disabled_toolsets, turns, tokens, usd; see `core/programform.py` for
    [agents.NAME]        ... agents that are programs, and for
    [mcp.NAME]           ... servers of tools
    [budget]             tokens_day, usd_day

Each name that stands here for something else must lead to it: a slip is found when the file is read, and not by a run at
night. Errors name the key in full; whoever reads the file puts its name before it. None shows what may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from horae.core.agent import (
    BUILTIN,
    DEFAULT_TOOLS,
    MCP,
    TOOLSETS,
    AgentSettings,
    DayLimits,
    McpServer,
    Model,
    NamedAgent,
    Price,
    Provider,
)
from horae.core.agentvalues import dollars, known, nearest, price, secret_name, shown, tokens, words
from horae.core.programform import RESERVED, agent_of, server_of
from horae.core.serviceurl import service_url
from horae.core.settingvalues import key_of, table, text, whole, wrong
from horae.core.slug import NAMED, is_name

TABLES = ("model", "providers", "models", "agents", "mcp", "budget")
"""The keys of config.toml that are read here."""
OF_AGENTS = ("model", "default", "tools", "disabled_toolsets", "turns", "tokens", "usd")
"""What `[agents]` says besides the agents."""
TURNS_MAX = 10_000
ID_CHARS_MAX = 200


class Kind(NamedTuple):
    """How a provider is spoken to."""

    base_url: str | None
    """Where it is if nothing is said; None: the library knows."""
    module: str
    """What must be installed to speak to it."""
    package: str
    """What installs that."""


KINDS: Mapping[str, Kind] = {
    "openai": Kind("https://api.openai.com/v1", "openai", "horae[agents]"),
    "openai-responses": Kind("https://api.openai.com/v1", "openai", "horae[agents]"),
    "anthropic": Kind("https://api.anthropic.com", "anthropic", "horae[agents]"),
    "google": Kind(None, "google", "pydantic-ai-slim[google]"),
    "groq": Kind(None, "groq", "pydantic-ai-slim[groq]"),
    "mistral": Kind(None, "mistralai", "pydantic-ai-slim[mistral]"),
    "cohere": Kind(None, "cohere", "pydantic-ai-slim[cohere]"),
    "huggingface": Kind(None, "huggingface_hub", "pydantic-ai-slim[huggingface]"),
}
NO_MODELS = 'there are no models yet: write [models.NAME] and below it provider = "…", id = "…"'


def agents_of(values: Mapping[str, Any]) -> AgentSettings:
    """What these values of config.toml say. Raises Invalid with `key`."""
    providers = {
        name: _provider(key, name, given) for key, name, given in _named("providers", values, 'kind = "openai"')
    }
    models = {
        name: _model(key, name, given, providers)
        for key, name, given in _named("models", values, 'provider = "…", id = "…"')
    }
    servers = {name: server_of(key, name, given) for key, name, given in _named("mcp", values, 'command = ["…"]')}
    own = table("agents", values.get("agents", {}), None, 'write [agents] and below it model = "…"')
    named = _agents(own)
    return AgentSettings(
        providers=providers,
        models=models,
        model=_default("model", values, models),
        fleet=_default("agents.model", own, models),
        agent=_agent("agents.default", own["default"], named) if "default" in own else BUILTIN,
        tools=_granted(own, servers),
        disabled=_toolsets("agents.disabled_toolsets", own.get("disabled_toolsets", []), servers),
        named=named,
        mcp=servers,
        day=_day(values.get("budget", {})),
        turns=whole("agents.turns", own["turns"], 1, TURNS_MAX) if "turns" in own else None,
        tokens=tokens("agents.tokens", own["tokens"]) if "tokens" in own else None,
        usd=dollars("agents.usd", own["usd"]) if "usd" in own else None,
    )


def _named(key: str, values: Mapping[str, Any], example: str) -> Iterable[tuple[str, str, object]]:
    """The tables below a key: their own keys, their names, what they say."""
    headline = f"write [{key}.NAME] and below it {example}"
    for name, given in table(key, values.get(key, {}), None, headline).items():
        own = key_of(key, name)
        if not is_name(name):
            more = "; what its provider calls it goes to `id`" if key == "models" else ""
            raise wrong(own, "is not a name", f"names are {NAMED}{more}")
        yield own, name, given


def _provider(key: str, name: str, given: object) -> Provider:
    values = table(key, given, ("kind", "base_url", "key"), f'write [{key}] and below it kind = "openai"')
    if "kind" not in values:
        raise wrong(f"{key}.kind", "is missing", f'write kind = "…", one of {", ".join(KINDS)}')
    kind = known(f"{key}.kind", values["kind"], KINDS, "a kind of provider", "")
    secret = secret_name(f"{key}.key", values["key"]) if "key" in values else None
    base_url = KINDS[kind].base_url
    if "base_url" in values:
        base_url = service_url(f"{key}.base_url", values["base_url"])
    elif secret is None:
        says = "is missing: without a base_url this is the provider's own service, and that asks for a key"
        raise wrong(f"{key}.key", says, 'write key = "NAME", and keep the key with `horae secrets set NAME`')
    return Provider(name, kind, base_url, secret)


def _model(key: str, name: str, given: object, providers: Mapping[str, Provider]) -> Model:
    fields = ("provider", "id", "input", "output", "cached", "max_output", "context")
    values = table(key, given, fields, f'write [{key}] and below it provider = "…", id = "…"')
    for needed, what in (("provider", "the name of a provider"), ("id", "what its provider calls it")):
        if needed not in values:
            raise wrong(f"{key}.{needed}", "is missing", f'write {needed} = "…": {what}')
    none = 'there are no providers yet: write [providers.NAME] and below it kind = "openai"'
    called = text(f"{key}.id", values["id"], "what its provider calls the model")
    if len(called) > ID_CHARS_MAX or not called.isprintable():
        raise wrong(f"{key}.id", f"has more than {ID_CHARS_MAX} characters, or such as cannot be seen")
    return Model(
        name,
        known(f"{key}.provider", values["provider"], providers, "a provider", none),
        called,
        _price(key, values),
        tokens(f"{key}.max_output", values["max_output"]) if "max_output" in values else None,
        tokens(f"{key}.context", values["context"]) if "context" in values else None,
    )


def _price(key: str, values: Mapping[str, Any]) -> Price | None:
    given = {word: price(f"{key}.{word}", values[word]) for word in ("input", "output", "cached") if word in values}
    if not given:
        return None
    for word in ("input", "output"):
        if word not in given:
            says = "is missing: money can be counted only where both input and output have a price"
            raise wrong(f"{key}.{word}", says, "write both, in US dollars for a million tokens, or neither")
    return Price(**given)


def _agents(own: Mapping[str, Any]) -> dict[str, NamedAgent]:
    """Those tables of `[agents]` that are agents."""
    found: dict[str, NamedAgent] = {}
    for name, given in own.items():
        key = key_of("agents", name)
        is_table = isinstance(given, Mapping)
        if name in OF_AGENTS and not is_table:
            continue
        if name in OF_AGENTS or name in RESERVED:
            raise wrong(key, f"no agent can be called {name}: that word has a meaning of its own", "take another name")
        if not is_table:
            table("agents", {name: given}, OF_AGENTS, "")  # says which key was meant
        if not is_name(name):
            raise wrong(key, "is not a name", f"names are {NAMED}")
        found[name] = agent_of(key, name, given)
    return found


def _default(key: str, values: Mapping[str, Any], models: Mapping[str, Model]) -> str | None:
    return known(key, values["model"], models, "a model", NO_MODELS) if "model" in values else None


def _agent(key: str, value: object, named: Mapping[str, NamedAgent]) -> str:
    return known(key, value, (BUILTIN, *named), "an agent", "")


def _granted(own: Mapping[str, Any], servers: Mapping[str, McpServer]) -> tuple[str, ...]:
    """What a job gets that says nothing; `mcp` alone means every server."""
    if "tools" not in own:
        return DEFAULT_TOOLS
    every = [MCP + name for name in servers]
    given = _toolsets("agents.tools", own["tools"], servers)
    return tuple(dict.fromkeys(one for name in given for one in (every if name == "mcp" else [name])))


def _toolsets(key: str, value: object, servers: Mapping[str, McpServer]) -> tuple[str, ...]:
    found = words(key, value, "toolsets", f'{key.rpartition(".")[2]} = ["files", "memory"]')
    there = (*TOOLSETS, "mcp", *(MCP + name for name in servers))
    for name in found:
        if name not in there:
            raise wrong(key, f"there is no toolset {shown(name)}", nearest(name, there, "a toolset"))
    return tuple(dict.fromkeys(found))


def _day(value: object) -> DayLimits:
    given = table("budget", value, ("tokens_day", "usd_day"), 'write [budget] and below it tokens_day = "2M"')
    return DayLimits(
        tokens("budget.tokens_day", given["tokens_day"]) if "tokens_day" in given else None,
        dollars("budget.usd_day", given["usd_day"]) if "usd_day" in given else None,
    )


def secret_names_of(agents: AgentSettings) -> tuple[str, ...]:
    """Every secret that is named here, each once."""
    found = [provider.key for provider in agents.providers.values() if provider.key is not None]
    found += [name for agent in agents.named.values() for name in agent.secrets]
    found += [name for server in agents.mcp.values() for name in server.secrets]
    return tuple(dict.fromkeys(found))
