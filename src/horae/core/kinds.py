"""The kinds of platforms: which options each has, and what they say about its addresses. A table, and questions to it.

The settings and the senders both read it, so that what the one accepts the other can work with. An option's value may
hold `{NAME}`, in capitals: a secret by its name (see `core/placeholders.py`). What only a library can judge, such as
whether a service exists, is left to the sender's `check`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from horae.core.delivery import LOCAL, Platform
from horae.errors import Invalid

Form = Literal["text", "texts", "list", "number", "flag", "table"]
_FORMS: dict[Form, str] = {
    "text": "text",
    "texts": "text or a list of texts",
    "list": "a list of texts that is not empty",
    "number": "a whole number above 0",
    "flag": "true or false",
    "table": 'a table of texts: { Name = "value" }',
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a kind: its form, what it is, and what it may be."""

    form: Form
    what: str
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of platform."""

    what: str
    options: Mapping[str, Option]
    alone: bool
    """Whether its settings name all that is needed. For apprise it depends on the URL: ask `alone`."""
    library: str | None = None
    """What must be installed for it, by the name it is imported under."""


KINDS: Mapping[str, Kind] = {
    LOCAL: Kind("the result stays here", {}, alone=True),
    "apprise": Kind(
        "one of the services that Apprise knows",
        {
            "url": Option(
                "text", "Apprise's URL of the service, with {chat} and {thread} where they belong", required=True
            ),
            "limit": Option("number", "the most characters of one message, where that is less than the service takes"),
        },
        alone=True,
        library="apprise",
    ),
    "mail": Kind(
        "a mail server",
        {
            "host": Option("text", "the mail server", required=True),
            "port": Option("number", "its port; 587, 465 or 25 by `security`"),
            "security": Option("text", "how the connection is protected", choices=("starttls", "tls", "none")),
            "user": Option("text", "who signs in; without it nobody does"),
            "password": Option("text", "its password, as {NAME} of a secret"),
            "from": Option("text", "the sender's address, as in `Horae <horae@example.org>`", required=True),
            "subject": Option("text", "what stands before each subject"),
            "reply_to": Option("text", "where answers go"),
        },
        alone=False,
    ),
    "webhook": Kind(
        "an HTTP server that takes signed JSON",
        {
            "url": Option("text", "where it is posted to: http or https", required=True),
            "secret": Option(
                "texts", "whsec_… and base64 of at least 24 bytes; several while one is replaced", required=True
            ),
            "allow_private": Option("flag", "whether it may be on this machine or in its network"),
            "headers": Option("table", "further headers"),
        },
        alone=True,
        library="httpx2",
    ),
    "desktop": Kind("a note on this machine's screen", {}, alone=True),
    "file": Kind(
        "an entry in a file",
        {"path": Option("text", "the file: absolute, ~/… or in the home", required=True)},
        alone=True,
    ),
    "command": Kind(
        "a program of yours",
        {
            "argv": Option("list", "the program and its arguments", required=True),
            "variables": Option("table", "further variables of its environment; a secret is given here"),
        },
        alone=True,
    ),
}


def options_problem(kind: str, options: Mapping[str, object]) -> tuple[str, str, str | None] | None:
    """The first thing that is wrong: the key it is about (`kind`, or an option), what is wrong, and a hint."""
    if kind not in KINDS:
        return "kind", f"there is no kind {kind[:60]!r}", _near(kind, list(KINDS))
    known = KINDS[kind].options
    for key in options:
        if key not in known:
            return key, f"{kind} has no option {key[:60]!r}", _near(key, list(known))
    for key, option in known.items():
        if key not in options:
            if option.required:
                return key, "is missing", f"it is {option.what}"
        elif (wrong := _value_problem(option, options[key])) is not None:
            return key, *wrong
    return _together(kind, options)


def checked(platform: Platform) -> Mapping[str, object]:
    """The options of a platform. Raises Invalid, which names the key."""
    if (wrong := options_problem(platform.kind, platform.options)) is not None:
        key, says, hint = wrong
        where = f"platforms.{platform.name}.{key}"
        raise Invalid(f"{where}: {says}", hint, key=where)
    return platform.options


def alone(kind: str, options: Mapping[str, object]) -> bool:
    """Whether the bare name of such a platform is an address."""
    if kind == "apprise":
        return "{chat}" not in str(options.get("url", ""))
    return kind in KINDS and KINDS[kind].alone


def threads(kind: str, options: Mapping[str, object]) -> bool:
    """Whether a chat may have threads there."""
    return kind == "apprise" and "{thread}" in str(options.get("url", ""))


def _value_problem(option: Option, value: object) -> tuple[str, str | None] | None:
    expected = _FORMS[option.form]
    match option.form:
        case "text":
            fits = _is_text(value)
        case "texts":
            fits = _is_text(value) or _are_texts(value)
        case "list":
            fits = _are_texts(value)
        case "number":
            fits = isinstance(value, int) and not isinstance(value, bool) and value > 0
        case "flag":
            fits = isinstance(value, bool)
        case "table":
            fits = _is_table(value)
    if not fits:
        return f"must be {expected}", f"it is {option.what}"
    if option.choices and value not in option.choices:
        near = difflib.get_close_matches(f"{value}"[:60], option.choices, 1, 0.6)
        return f"must be {_or(option.choices)}", f"did you mean {near[0]}?" if near else None
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not any(char in value for char in "\0\r\n")


def _are_texts(value: object) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(map(_is_text, cast("list[object]", value)))


def _is_table(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    table = cast("Mapping[object, object]", value)
    return all(_is_text(name) and _is_text(said) for name, said in table.items())


def _together(kind: str, options: Mapping[str, object]) -> tuple[str, str, str | None] | None:
    """What is wrong with options that are right one by one."""
    if kind == "apprise" and "{thread}" in str(options["url"]) and "{chat}" not in str(options["url"]):
        return "url", "has {thread} but no {chat}", "a thread is a part of a chat"
    if kind != "mail":
        return None
    if ("user" in options) != ("password" in options):
        missing = "password" if "user" in options else "user"
        return missing, "is missing", "who signs in needs both user and password"
    if "password" in options and options.get("security") == "none" and options["host"] not in LOOPBACK:
        return "security", "none would send the password in the clear", "use starttls or tls"
    if isinstance(port := options.get("port"), int) and port > 65535:
        return "port", "must be a number from 1 to 65535", None
    return None


def _near(key: str, names: list[str]) -> str:
    near = difflib.get_close_matches(key.lower()[:60], names, 1, 0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"it knows {', '.join(names)}" if names else "it has no options"


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
