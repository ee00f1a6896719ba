"""`{NAME}` in an option of a platform: a secret by its name, put in when something is sent. Pure.

A name is in capitals, so that `{chat}` and `{thread}` of a URL, and braces that mean something else, stay what they are.
What is put in is never looked at again: a secret that contains braces is not filled in itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

_NAME = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
_PLACE = re.compile(r"\{(chat|thread)\}")
_NO_THREAD = re.compile(r"[:/]\{thread\}|&[A-Za-z0-9_-]+=\{thread\}|(?<=\?)[A-Za-z0-9_-]+=\{thread\}&?")
_URL_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def names_in(value: object) -> tuple[str, ...]:
    """The names of secrets in a value, each once; lists and tables are looked through."""
    if isinstance(value, str):
        return tuple(dict.fromkeys(_NAME.findall(value)))
    if isinstance(value, Mapping):
        return names_in(list(cast("Mapping[object, object]", value).values()))
    if isinstance(value, list | tuple):
        return tuple(dict.fromkeys(name for part in cast("list[object]", value) for name in names_in(part)))
    return ()


def filled(text: str, secrets: Mapping[str, str], how: Callable[[str], str] = str) -> str:
    """The text with the values of secrets in it; a name without a value stays."""
    return _NAME.sub(lambda found: how(secrets[found[1]]) if found[1] in secrets else found[0], text)


def placed(url: str, chat: str | None, thread: str | None) -> str:
    """A URL with chat and thread put in, so that they end up in the one place where they were asked for.

    Without a thread, the part or the parameter that is made of nothing else is left out.
    """
    if not thread:
        url = _NO_THREAD.sub("", url)
    given = {"chat": in_url(chat or ""), "thread": in_url(thread or "")}
    return _PLACE.sub(lambda found: given[found[1]], url)


def in_url(text: str) -> str:
    """Percent-encoded, so that it has no meaning in a URL but itself."""
    return "".join(chr(byte) if byte in _URL_PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))
