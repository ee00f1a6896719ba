"""Text that is shown on one line: cleaned, cut and measured. Text from outside must not draw on the terminal.

Three kinds of characters are never passed on: control characters, which move the cursor or end a line; bidirectional
controls, which make a line read other than it is; and invisible ones, which make two names look alike. Joiners and
variation selectors stay where a script or an emoji needs them: between or behind characters that are not ASCII.

`clean_name` removes them, since a name is to be typed and compared. `one_line` shows them as escapes, since what a
program printed is evidence. Widths are in terminal cells.

Only unicodedata is imported, and it only for text that is not ASCII: the command line's fast path comes through here.
"""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"

_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_VISIBLE_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
# Look like nothing without being format characters: fillers, and selectors of variants that nothing draws.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"


def is_hidden(text: str, at: int) -> bool:
    """Whether the character at that place is a control, bidirectional or invisible one that does not belong there."""
    char = text[at]
    if " " <= char <= "~":
        return False
    if char in _JOINERS:
        return not (0 < at < len(text) - 1 and _joins(text[at - 1]) and _joins(text[at + 1]))
    if char in _SELECTORS:
        before, after = text[at - 1] if at else " ", text[at + 1 : at + 2]
        return before.isspace() or before in _SELECTORS or (before <= "\x7f" and after != _KEYCAP)
    if char in _BLANK or "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return True
    return unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in _VISIBLE_FORMATS


def _joins(char: str) -> bool:
    return char > "\x7f" and unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")


def clean_name(text: str) -> str:
    """A name without hidden characters, white space collapsed to single blanks. May be empty."""
    if not (text.isascii() and text.isprintable()):
        while True:  # what is removed may have stood between a joiner and its neighbour
            kept = "".join(c for i, c in enumerate(text) if c.isspace() or not is_hidden(text, i))
            if kept == text:
                break
            text = kept
    return " ".join(text.split())


def one_line(text: str, max_chars: int) -> str:
    """The text on one line of at most that many characters: white space collapsed, hidden characters as escapes."""
    if len(text) > 8 * max_chars + 4096:  # what follows cannot show; a log of megabytes is not walked through
        text = text[: 8 * max_chars + 4096] + ELLIPSIS
    text = " ".join(text.split())
    if not (text.isascii() and text.isprintable()):
        text = "".join(_escape(c) if is_hidden(text, i) else c for i, c in enumerate(text))
    if len(text) <= max_chars:
        return text
    return text[: max_chars - 1].rstrip() + ELLIPSIS if max_chars > 0 else ""


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def display_width(text: str) -> int:
    """How many terminal cells the text takes. Hidden characters count nothing; clean the text first."""
    if text.isascii():
        return len(text) if text.isprintable() else sum(" " <= c <= "~" for c in text)
    return sum(_cells(text))


def _cells(text: str) -> list[int]:
    """The cells of each character. What joins on to the one before it takes none."""
    cells: list[int] = []
    joined = False
    for char in text:
        if char == "\u200d":
            cells.append(0)
            joined = True
            continue
        if char == "\ufe0f" and cells and cells[-1] == 1:
            cells.append(1)  # asks for the emoji form of the character before it, which is wide
        elif joined or char in _BLANK[:1] or "\u1160" <= char <= "\u11ff" or "\U0001f3fb" <= char <= "\U0001f3ff":
            cells.append(0 if cells else 2)
        elif char < " " or "\x7f" <= char <= "\x9f" or unicodedata.category(char) in ("Mn", "Me", "Cf", "Zl", "Zp"):
            cells.append(0)
        else:
            cells.append(2 if unicodedata.east_asian_width(char) in "WF" else 1)
        joined = False
    return cells


def clip(text: str, width: int) -> str:
    """The text in at most that many cells; what was cut is replaced by an ellipsis."""
    if display_width(text) <= width:
        return text
    if width <= 0:
        return ""
    used = end = 0
    for at, cells in enumerate(_cells(text)):
        if used + cells > width - 1:
            break
        used += cells
        end = at + 1
    return text[:end].rstrip() + ELLIPSIS


def pad(text: str, width: int) -> str:
    """The text with blanks behind it, up to that many cells. A longer text stays as it is: `clip` it first."""
    return text + " " * (width - display_width(text))


def money_words(usd: float) -> str:
    """An amount of dollars: in cents, or with as many digits as a small one has, to a millionth."""
    if usd >= 1:
        return f"${usd:,.2f}"
    whole, _, part = f"{usd:.6f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"
