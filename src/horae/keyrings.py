"""The keyring of the operating system, as a place for the secrets of one home.

The service is `horae:` and the path of the home, the user is the name of a secret. Keyrings cannot be listed, so what was put
there is noted in it too, under a user that no secret can be called.

Whoever answers is a program of other people: it may be missing, locked, wait for somebody at a screen that nobody looks at,
or raise what it likes. All of it becomes a `Trouble` with what to do; none shows a value. One question at a time, each for
`ANSWER_S` at most. What it has last said of a name is known without asking: that is what texts are searched for.

The library comes with the extra `keyring`, and is loaded only where the settings say that a keyring may be used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, cast

from horae.aside import Bounded
from horae.core.text import one_line
from horae.errors import Problem, Trouble

T = TypeVar("T")
ANSWER_S = 5.0
SAID_CHARS_MAX = 200
INSTALL = "pip install 'horae[keyring]'"
_LISTED = "(names)"
_HINT = 'look whether the keyring is there and open, or do without: keyring = "off" in config.toml'


class Ring:
    """The secrets of one home that are in a keyring."""

    def __init__(self, home: str, answer_s: float = ANSWER_S) -> None:
        self._service = f"horae:{home}"
        self._ask = Bounded(answer_s)
        self._said: dict[str, str | None] = {}
        self.version = 0
        """Goes up whenever something else is known."""

    def get(self, name: str) -> str | None:
        """The value that it has now. Raises Trouble."""
        value = self._asked(lambda ring: ring.get_password(self._service, name))
        self._learn(name, value)
        return value

    def known(self, names: Iterable[str] = ()) -> Mapping[str, str]:
        """What is known of all names that were ever asked for; of these here, what was not asked yet is asked now."""
        for name in names:
            if name not in self._said:
                try:
                    self.get(name)
                except Problem:
                    break  # a keyring that does not answer has given no value to anybody
        return {name: value for name, value in self._said.items() if value is not None}

    def put(self, name: str, value: str) -> None:
        """Keep a value. Raises Trouble, also when it is not there afterwards."""
        self._asked(lambda ring: ring.set_password(self._service, name, value), value)
        if self.get(name) != value:
            raise Trouble(f"the keyring has taken {name} and does not have it", "use secrets.toml: leave out --keyring")
        self._list({*self.names(), name})

    def remove(self, name: str) -> bool:
        """Take a value away. False when there is none. Raises Trouble."""
        if self.get(name) is None:
            return False
        self._asked(lambda ring: ring.delete_password(self._service, name))
        self._learn(name, None)
        self._list(set(self.names()) - {name})
        return True

    def names(self) -> tuple[str, ...]:
        """Those that were put there. Raises Trouble."""
        text = self._asked(lambda ring: ring.get_password(self._service, _LISTED))
        try:
            found: object = json.loads(text or "[]")
        except ValueError:
            found = []
        return tuple(
            name for name in cast("list[object]", found if isinstance(found, list) else []) if isinstance(name, str)
        )

    def _list(self, names: Iterable[str]) -> None:
        text = json.dumps(sorted(names))
        self._asked(lambda ring: ring.set_password(self._service, _LISTED, text))

    def _learn(self, name: str, value: str | None) -> None:
        if name not in self._said or self._said[name] != value:
            self._said[name] = value
            self.version += 1

    def _asked(self, question: Callable[[Any], T], hidden: str = "") -> T:
        try:
            return self._ask(lambda: question(import_module("keyring")))
        except ModuleNotFoundError as error:
            says = f"the keyring needs the library {error.name}, which is not installed"
            raise Trouble(says, f"run {INSTALL}, or do without it") from error
        except TimeoutError:
            raise Trouble("the keyring does not answer: it may wait for somebody at its screen", _HINT) from None
        except Exception as error:
            said = one_line(str(error).replace(hidden, "…") if hidden else str(error), SAID_CHARS_MAX)
            raise Trouble(f"the keyring cannot be used: {said or type(error).__name__}", _HINT) from None


@cache
def ring_of(home: str) -> Ring:
    """The one of a home: all parts of a process know what any of them has heard."""
    return Ring(home)
