"""Values of a job file that are about its agent: which one, what it may use, what it is given, what it must answer.

Readers as in `fieldvalues`. Whether a model, an agent, a toolset's server, a skill or another job is there is not known
here: that is looked at when a job is made, and before each run.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from horae.core.agent import MCP, TOOLSETS
from horae.core.fieldvalues import duration, refuse, script, shown, strings, text
from horae.core.frontmatter import Node
from horae.core.slug import NAMED, is_name
from horae.limits import CONTEXT_AGE_MAX_S, NAMES_MAX, SCHEMA_CHARS_MAX, URL_CHARS_MAX

_TRUTH = {"true": True, "false": False}
_NEARLY = {"on": "true", "yes": "true", "off": "false", "no": "false", "none": "false"}
_URL = re.compile(r"https?://([^\s/?#]+)[^\s]*", re.IGNORECASE)


def agent(file: str, key: str, node: Node) -> bool | str:
    """True, false, or the name of an agent of the settings."""
    expected = "true, false, or the name of an agent"
    value = text(file, key, node, expected)
    word = value.lower()
    if word in _TRUTH:
        if node.style is None:
            return _TRUTH[word]
        hint = f"Write {key}: {word}, without quotes."
        refuse(file, key, node, f"must be {expected}; {node.text!r} in quotes is a text", expected, hint)
    if word in _NEARLY:
        hint = f"Write {key}: {_NEARLY[word]}."
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
    if not is_name(value):
        hint = "Agents are made in config.toml, as [agents.NAME]; true is the one that is usual there."
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
    return value


def models(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Names of models, in the order in which they are tried."""
    return _names(file, key, node, "models", "Models are made in config.toml, as [models.NAME].")


def tools(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Toolsets, or none."""
    values = _listed(file, key, node, "toolsets")
    known = (*TOOLSETS, f"{MCP}NAME")
    for value in values:
        server = value.removeprefix(MCP)
        if value not in TOOLSETS and (server == value or not is_name(server)):
            hint = f"They are {', '.join(known)}; an {MCP}NAME is made in config.toml, as [mcp.NAME]."
            refuse(file, key, node, f"names {value[:60]!r}, which is no toolset", f"some of {', '.join(known)}", hint)
    return values


def jobs(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Other jobs, by id, slug or name; `self` is this one."""
    return _listed(file, key, node, "jobs")


def context_age(file: str, key: str, node: Node) -> int:
    """Whole seconds."""
    seconds = int(duration(file, key, node))
    if not 60 <= seconds <= CONTEXT_AGE_MAX_S:
        expected = "a duration from a minute to a year, such as 7 days"
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return seconds


def watch(file: str, key: str, node: Node) -> str:
    """A URL, or a script."""
    value = text(file, key, node, "a URL, or a file below scripts/")
    if "://" not in value:
        return script(file, key, node)
    found = _URL.fullmatch(value)
    if found is None or len(value) > URL_CHARS_MAX or "@" in found[1]:
        hint = "It begins with https:// or http:// and has no password in it."
        refuse(file, key, node, f"must be a URL that can be fetched; it says {shown(node)}", "a URL", hint)
    return value


def schema(file: str, key: str, node: Node) -> str:
    """A JSON schema of an object, as JSON text."""
    expected = "a JSON schema, as text"
    if node.kind != "text":
        hint = f'Write it as JSON in a block: `{key}: |` and below it, indented, {{"type": "object", …}}.'
        refuse(file, key, node, f"must be {expected}, not a mapping or a list", expected, hint)
    value = node.text.strip()
    if len(value) > SCHEMA_CHARS_MAX:
        most = SCHEMA_CHARS_MAX
        refuse(file, key, node, f"is longer than {most} characters", f"at most {most} characters")
    try:
        said: Any = json.loads(value)
    except (ValueError, RecursionError) as error:
        refuse(file, key, node, f"is not JSON: {error}", expected)
    if not isinstance(said, dict) or cast("dict[str, Any]", said).get("type") != "object":
        hint = 'It begins with {"type": "object", "properties": …}.'
        refuse(file, key, node, "must describe an object", expected, hint)
    return value


def _names(file: str, key: str, node: Node, what: str, hint: str) -> tuple[str, ...]:
    values = _listed(file, key, node, what)
    for value in values:
        if not is_name(value):
            refuse(file, key, node, f"must list names of {what} ({NAMED}); {value[:60]!r} is none", f"{what}", hint)
    return values


def _listed(file: str, key: str, node: Node, what: str) -> tuple[str, ...]:
    """A list, or one text with commas between its items."""
    if node.kind == "text":
        values = tuple(part.strip() for part in text(file, key, node, f"a list of {what}").split(","))
        if not all(values) or len(set(values)) < len(values):
            refuse(file, key, node, f"must name {what}, each once", f"a list of {what}")
    else:
        values = strings(file, key, node)
    if len(values) > NAMES_MAX:
        refuse(file, key, node, f"names more than {NAMES_MAX} {what}", f"at most {NAMES_MAX}")
    return values
