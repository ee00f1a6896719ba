"""What secrets may be called, and what is no name but a secret itself. Pure.

Names stand in files, on command lines and in answers; values in none of them. Somebody who pastes a key where its name
belongs is told so, and whatever tells it does not show what was given: it may be the key.
"""

from __future__ import annotations

import re

from horae.core.redact import Redactor
from horae.errors import Invalid

NAMED = "letters, digits and _, not beginning with a digit, such as OPENAI_API_KEY"
NAME_CHARS_MAX = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEGUN = re.compile(
    r"(?:sk|pk|rk)[-_]|gsk_|hf_|r8_|xai-|AIza|eyJ|gh[pousr]_|github_pat_|pplx-|nvapi-|glpat-|xox[abeoprs]-"
)
_MIXED_MIN = 20  # a name of so many characters with small letters and digits in it is rather a key
_SHAPES = Redactor({})


def name_problem(name: str) -> str | None:
    """Why this is no name of a secret, in words that follow it and do not show it; None when it is one."""
    if _BEGUN.match(name) or holds_secret(name) or _is_mixed(name):
        return "looks like a secret itself, not like its name"
    if len(name) > NAME_CHARS_MAX:
        return f"has more than {NAME_CHARS_MAX} characters: that is no name of a secret"
    if not _NAME.fullmatch(name):
        return f"is no name of a secret ({NAMED})"
    return None


def refuse_name(name: str) -> None:
    """Raise Invalid for what is no name of a secret."""
    if (problem := name_problem(name)) is not None:
        raise Invalid(f"what was given as the name {problem}", "`horae secrets set NAME` asks for the value itself")


def holds_secret(text: str) -> bool:
    """Whether there is something in a text that looks like a key, or a password in a URL."""
    return _SHAPES.text(text) is not text


def _is_mixed(name: str) -> bool:
    return len(name) >= _MIXED_MIN and re.search("[a-z]", name) is not None and re.search("[0-9]", name) is not None
