"""What every sender does alike: secrets in, readable text out, receipts that show no secret. Pure: what it asks is handed in.

A receipt's reason is one line for a person. It is made of what others said, so it is cleaned, cut and redacted: of the
home's secrets, and of those that this platform has just used, wherever they came from and however short they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from horae.core.delivery import Message, Platform, Receipt
from horae.core.placeholders import names_in
from horae.core.redact import Redactor
from horae.core.text import one_line

REASON_CHARS_MAX = 300
TITLE_CHARS_MAX = 200
AFTER_MAX_S = 86_400.0  # a target that asks for more than a day is asked again after one
TAKEN_NOT = frozenset({408, 425, 429})  # of the answers that refuse: the same request may be taken later
UNCLEAR = frozenset({502, 504})  # a middleman that heard nothing from who may have taken it

# What draws on a terminal, turns a line round or cannot be encoded; line ends and tabs stay
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

Lookup = Callable[[Sequence[str]], tuple[dict[str, str], tuple[str, ...]]]


class Clerk:
    """Who looks up the secrets of one platform and writes its receipts."""

    def __init__(self, platform: Platform, lookup: Lookup, redact: Callable[[bytes], bytes]) -> None:
        self._repeats = platform.safe_to_repeat
        self._names = names_in(platform.options)
        self._lookup = lookup
        self._redact = redact
        self._used: Mapping[str, str] = {}

    def secrets(self) -> tuple[Mapping[str, str], str | None]:
        """The values of all names in the options, and why some are missing."""
        values, missing = self._lookup(self._names)
        self._used = values
        return values, "; ".join(missing) or None

    def accept(self, evidence: str) -> Receipt:
        return Receipt("accept", evidence=self.words(evidence))

    def refuse(self, reason: str, *, evidence: str | None = None, closes: bool = False) -> Receipt:
        return Receipt("refuse", evidence=evidence and self.words(evidence), reason=self.words(reason), closes=closes)

    def retry(self, reason: str, after_s: float | None = None) -> Receipt:
        return Receipt("retry", reason=self.words(reason), after_s=after_s if after_s is None else bounded(after_s))

    def lose(self, reason: str) -> Receipt:
        """It may have been taken. Where the target takes a repetition as one, it is sent again."""
        return Receipt("retry" if self._repeats else "lose", reason=self.words(reason))

    def answered(self, status: int, reason: str, after_s: float | None = None) -> Receipt:
        """By the status of an HTTP answer that is no success."""
        if status in UNCLEAR:
            return self.lose(reason)
        if status >= 500 or status in TAKEN_NOT:
            return self.retry(reason, after_s)
        return self.refuse(reason, closes=status == 410)

    def words(self, text: str) -> str:
        """One line that may be shown."""
        text = text[: 64 * REASON_CHARS_MAX]
        text = self._redact(text.encode("utf-8", "replace")).decode("utf-8", "replace")
        text = Redactor(self._used).text(text)
        for name, value in self._used.items():
            if len(value.strip()) >= 3:
                text = text.replace(value.strip(), f"[redacted {name}]")
        return one_line(text, REASON_CHARS_MAX)


def bounded(after_s: float) -> float:
    """A wait that a target asks for, within reason."""
    return min(max(after_s, 0.0), AFTER_MAX_S)


def readable(text: str) -> str:
    """The text without what draws, hides or cannot be encoded: such characters are shown as escapes."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNREADABLE.sub(
        lambda found: f"\\x{ord(found[0]):02x}" if found[0] < "\u0100" else f"\\u{ord(found[0]):04x}", text
    )


def title_of(message: Message) -> str:
    """The title on one line, whatever it was made of."""
    return one_line(message.title, TITLE_CHARS_MAX)


def where_whole(message: Message) -> str:
    """Where all of it can be read."""
    run = message.facts.get("run")
    return f"`horae log {one_line(run, 80)}`" if isinstance(run, str) and run else "`horae runs`"


def with_notes(body: str, notes: Sequence[str]) -> str:
    """The body, and what could not go with it."""
    return body.rstrip() + "\n\n" + "\n".join(notes) if notes else body
