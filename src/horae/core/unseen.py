"""Characters that nobody sees in a text, and yet whoever reads it by machine does. Pure.

`core/text.py` decides which they are: controls, bidirectional and invisible ones, apart from joiners and selectors where a
script or an emoji needs them. Here they are found in long texts, and three more uses are known to be right: the flags of
England, Scotland and Wales are written with tags, a form of one Chinese character is chosen by one selector behind it, and a
byte order mark may begin a file. Tabs and line ends are seen.

*Mild* are those that people get without knowing from a web page or a keyboard, and that hide nothing by themselves: marks of
direction and soft hyphens. All others have no honest use in what a person writes to a machine.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from horae.core.text import is_hidden

RUN_SHOWN = 3  # of unseen characters in a row that many are named one by one
MILD = "\u00ad\u061c\u200e\u200f"

_MAY_BE = (
    "\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
_CANDIDATES = re.compile(f"[{_MAY_BE}]+")
_FLAGS = {"".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f" for name in ("gbeng", "gbsct", "gbwls")}
_FLAG = "\U0001f3f4"  # what the tags of these stand behind


class Unseen(NamedTuple):
    """A character that is not seen, and where."""

    at: int
    char: str

    @property
    def words(self) -> str:
        """Its code point and its name in Unicode."""
        name = unicodedata.name(self.char, "").lower()
        return f"U+{ord(self.char):04X}" + (f" ({name})" if name else "")


def unseen(text: str) -> Iterator[Unseen]:
    """Each one in a text, in order."""
    if text.isascii() and text.isprintable():
        return
    for run in _CANDIDATES.finditer(text):
        start, end = run.span()
        for at in range(start, end):
            if is_hidden(text, at) and not _belongs(text, at, start, end):
                yield Unseen(at, text[at])


def _belongs(text: str, at: int, start: int, end: int) -> bool:
    """Whether it is one of the uses that are right. `start` and `end` are those of the unseen ones around it."""
    char = text[at]
    if char == "\ufeff":
        return at == 0
    if "\U000e0100" <= char <= "\U000e01ef":
        return end - start == 1 and start > 0 and _is_han(text[start - 1])
    if "\U000e0020" <= char <= "\U000e007f":
        return start > 0 and text[start - 1] == _FLAG and text[start:end] in _FLAGS
    return False


def _is_han(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"


def without_unseen(text: str) -> str:
    """The text as it is seen: for whoever looks for words in it."""
    found = [item.at for item in unseen(text)]
    if not found:
        return text
    ends = [*found, len(text)]
    return text[: found[0]] + "".join(text[at + 1 : end] for at, end in zip(found, ends[1:], strict=True))


def named(text: str) -> str:
    """The text with a name such as <U+202E> in place of each; of many in a row the first ones and how many more."""
    out: list[str] = []
    done, row = 0, 0
    for item in unseen(text):
        if item.at == done and row:
            row += 1
        else:
            _close(out, row)
            out.append(text[done : item.at])
            row = 1
        if row <= RUN_SHOWN:
            out.append(f"<U+{ord(item.char):04X}>")
        done = item.at + 1
    _close(out, row)
    return "".join([*out, text[done:]]) if out else text


def _close(out: list[str], row: int) -> None:
    if row > RUN_SHOWN:
        out.append(f"<and {row - RUN_SHOWN} more>")
