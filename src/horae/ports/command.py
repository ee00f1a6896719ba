"""What a program of the system said that we asked: `systemctl`, `busctl`, `launchctl`, `bwrap`.

Such an answer is never an exception. Whoever asks decides what it means that a program is missing, hangs or refuses.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WORDS_CHARS_MAX = 400


@dataclass(frozen=True, slots=True)
class Said:
    """One answer. `code` is None when the program could not be started or did not end in time; `why` says which."""

    argv: tuple[str, ...]
    code: int | None
    out: str = ""
    err: str = ""
    why: str | None = None
    missing: bool = False

    @property
    def ok(self) -> bool:
        """Whether it did what it was asked for."""
        return self.code == 0

    @property
    def command(self) -> str:
        """The command as a person would type it."""
        return shlex.join(self.argv)

    @property
    def words(self) -> str:
        """What it said about its failure, in one line."""
        said = " ".join((self.err or self.out).split())
        if self.why is not None:
            return self.why
        return said[:WORDS_CHARS_MAX] or f"exit status {self.code}"


Ask = Callable[[Sequence[str]], Said]
"""Run a program of the system to its end, within a bound, and hand back what it said."""
