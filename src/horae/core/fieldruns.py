"""Values of a job file that say what a run finds around it and what it may touch: secrets, its folder, its walls.

Readers as in `fieldvalues`. Whether a secret has a value and a folder is there is looked at before each run, where it runs.
"""

from __future__ import annotations

from typing import cast, get_args

from horae.core.fieldvalues import one_of, refuse, shown, text, variables
from horae.core.frontmatter import Node
from horae.core.model import Sandbox
from horae.limits import NAMES_MAX, PATH_CHARS_MAX

SWITCH = {"on": True, "off": False, "true": True, "false": False}
_sandbox = one_of(get_args(Sandbox))


def secrets(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Names of secrets; never values, since files go into version control."""
    hint = "Only names: the values stay in secrets.toml, or in the gateway's environment."
    values = variables(file, key, node, hint)
    if len(values) > NAMES_MAX:
        refuse(file, key, node, f"names more than {NAMES_MAX} secrets", f"at most {NAMES_MAX}")
    return values


def workdir(file: str, key: str, node: Node) -> str:
    """A folder, absolute or below the user's own."""
    expected = "a folder such as /srv/data or ~/data"
    value = text(file, key, node, expected)
    if not value.startswith(("/", "~/")):
        hint = "Any other would depend on where the gateway was started. Leave it out for the script's folder."
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
    if len(value) > PATH_CHARS_MAX:
        refuse(file, key, node, f"is longer than {PATH_CHARS_MAX} characters", f"at most {PATH_CHARS_MAX} characters")
    return value


def switch(file: str, key: str, node: Node) -> bool:
    """On or off; true and false mean the same."""
    expected = "on or off"
    word = text(file, key, node, expected).lower()
    if word not in SWITCH:
        refuse(
            file,
            key,
            node,
            f"must be {expected}; it says {shown(node)}",
            expected,
            f"Write {key}: off, or leave it out.",
        )
    return SWITCH[word]


def sandbox(file: str, key: str, node: Node) -> Sandbox:
    """One of the words. Other YAML readers take a bare `off` for false, and may have written it so."""
    if node.kind == "text" and node.style is None and node.text.strip().lower() == "false":
        return "off"
    return cast("Sandbox", _sandbox(file, key, node))
