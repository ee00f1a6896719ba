"""`[agents.NAME]` and `[mcp.NAME]` of config.toml: programs that are agents, and servers of tools. Pure.

A program is a list of words, never a line for a shell. What is put into its words and variables stands in braces, and only
a slip of such a name is refused: other braces are the program's own business. Secrets are named, not written: a text that
looks like a key is refused, and not shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast, get_args

from horae.core.agent import BUILTIN, AgentKind, McpServer, NamedAgent
from horae.core.agentvalues import HOW_TO_KEEP, known, secret_names, words
from horae.core.secretname import holds_secret
from horae.core.serviceurl import service_url
from horae.core.settingvalues import key_of, table, wrong

RESERVED = (BUILTIN, "true", "false", "yes", "no", "on", "off", "none", "null")
"""What `agent:` of a job understands in another way."""
PUT_IN = ("model", "base_url", "key", "prompt")
VARIABLES_MAX, VALUE_CHARS_MAX = 100, 4096
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_SPELT = {name.replace("_", ""): name for name in PUT_IN}
_BRACES = re.compile(r"\{([A-Za-z_ -]{2,20})\}")


def agent_of(key: str, name: str, given: object) -> NamedAgent:
    """One agent that is a program. Raises Invalid with `key`."""
    headline = f'write [{key}] and below it kind = "acp", command = ["…"]'
    values = table(key, given, ("kind", "command", "env", "pass_env", "secrets", "api"), headline)
    for needed, example in (("kind", '"acp" or "command"'), ("command", '["hermes", "acp"]')):
        if needed not in values:
            raise wrong(f"{key}.{needed}", "is missing", f"write {needed} = {example}")
    kind = _kind(f"{key}.kind", values["kind"])
    command = _command(f"{key}.command", values["command"])
    env = _variables(f"{key}.env", values.get("env", {}))
    pass_env = words(f"{key}.pass_env", values.get("pass_env", []), "names of variables", 'pass_env = ["LANG"]')
    for variable in pass_env:
        _variable(f"{key}.pass_env", variable)
    secrets = secret_names(f"{key}.secrets", values.get("secrets", []))
    _each_once(f"{key}.env", env, secrets)
    for where, texts in ((f"{key}.command", command), (f"{key}.env", tuple(env.values()))):
        for said in texts:
            _look_at_braces(where, said)
            if "{prompt}" in said and (kind == "acp" or where.endswith(".env")):
                says = "holds {prompt}, which goes only into words of a command agent"
                raise wrong(where, says, "leave it out: an agent that speaks ACP is told the prompt")
    api = known(f"{key}.api", values.get("api", "openai"), ("openai", "anthropic"), "what it speaks", "")
    return NamedAgent(name, kind, command, env, pass_env, secrets, "anthropic" if api == "anthropic" else "openai")


def server_of(key: str, name: str, given: object) -> McpServer:
    """One server of tools. Raises Invalid with `key`."""
    headline = f'write [{key}] and below it command = ["…"] or url = "…"'
    values = table(key, given, ("command", "url", "env", "secrets", "tools"), headline)
    if ("command" in values) == ("url" in values):
        says = "has both a command and a url" if "url" in values else "has no command and no url"
        raise wrong(key, says, 'write command = ["…"] for a program, or url = "…" for a server that runs')
    env = _variables(f"{key}.env", values.get("env", {}))
    secrets = secret_names(f"{key}.secrets", values.get("secrets", []))
    _each_once(f"{key}.env", env, secrets)
    tools = (
        words(f"{key}.tools", values["tools"], "names of tools", 'tools = ["search"]') if "tools" in values else None
    )
    if "command" in values:
        return McpServer(name, _command(f"{key}.command", values["command"]), None, env, secrets, tools)
    url = service_url(f"{key}.url", values["url"], query=True)
    if holds_secret(url):
        raise wrong(f"{key}.url", "holds what looks like a key", HOW_TO_KEEP)
    if env:
        raise wrong(f"{key}.env", "is for programs: a server with a url has its own variables", "leave it out")
    if len(secrets) > 1:
        raise wrong(f"{key}.secrets", "names more than one: a server with a url gets one bearer token", "leave one")
    return McpServer(name, (), url, {}, secrets, tools)


def _kind(key: str, value: object) -> AgentKind:
    if value == BUILTIN:
        raise wrong(key, "is builtin, which is always there and needs no table", 'write kind = "acp" or "command"')
    kinds = [kind for kind in get_args(AgentKind) if kind != BUILTIN]
    return cast("AgentKind", known(key, value, kinds, "a kind of agent", ""))


def _command(key: str, value: object) -> tuple[str, ...]:
    found = words(key, value, "words", 'command = ["hermes", "acp"]: the program and each argument for itself')
    if not found or not found[0].strip():
        raise wrong(key, "names no program", 'write command = ["hermes", "acp"]')
    if any(map(holds_secret, found)):
        raise wrong(key, "holds what looks like a key: everybody on this machine could see it", _KEEP)
    return found


def _variables(key: str, value: object) -> Mapping[str, str]:
    given = table(key, value, None, f'write {key.rpartition(".")[2]} = {{NAME = "value"}}')
    if len(given) > VARIABLES_MAX:
        raise wrong(key, f"has more than {VARIABLES_MAX} variables")
    found: dict[str, str] = {}
    for name, said in given.items():
        _variable(key_of(key, name), name)
        if not isinstance(said, str) or "\0" in said or len(said) > VALUE_CHARS_MAX:
            raise wrong(
                key_of(key, name), f"must be text of at most {VALUE_CHARS_MAX} characters", "write it in quotes"
            )
        if holds_secret(said):
            raise wrong(key_of(key, name), "holds what looks like a key", _KEEP)
        found[name] = said
    return found


def _variable(key: str, name: str) -> None:
    if not _VARIABLE.fullmatch(name):
        raise wrong(key, "is no name of an environment variable", "letters, digits and _, not beginning with a digit")
    if name.upper().startswith("HORAE_"):
        raise wrong(key, "begins with HORAE_: such variables tell a run what it is", "take another name")


def _each_once(key: str, env: Mapping[str, str], secrets: tuple[str, ...]) -> None:
    for name in secrets:
        if name in env:
            raise wrong(key_of(key, name), "is also named in secrets: only one of them can count", "take out one")


def _look_at_braces(key: str, said: str) -> None:
    """A name in braces that is one of ours but for how it is written: it would go to the program as it stands."""
    for name in _BRACES.findall(said):
        meant = _SPELT.get(re.sub("[ _-]", "", name).lower())
        if meant is not None and name != meant:
            raise wrong(key, f"holds {{{name}}}, which nothing is put in for", f"did you mean {{{meant}}}?")


_KEEP = "keep it with `horae secrets set NAME`, and name it in `secrets`: it becomes a variable of that name"
