"""Two words with which an answer says how it is meant. Pure.

- `[SILENT]` as the whole answer: there is nothing to say. Nothing is sent; that it was so is on record.
- `[FAILED]` alone on the first line: the work failed, whatever else says that it went well. What follows is the alert.

Both must stand exactly so, in capitals, with nothing but white space around them. Any other use, in a sentence, in quotes
or before a report, is text like all other text: a report must not get lost because somebody wrote the word. A failure is
never silent.
"""

from __future__ import annotations

SILENT, FAILED = "[SILENT]", "[FAILED]"


def is_silent(answer: str) -> bool:
    """Whether the answer says that there is nothing to say."""
    return answer.strip() == SILENT


def failure_in(answer: str) -> str | None:
    """What is said about the failure that the answer declares, perhaps nothing; None when it declares none."""
    first, _, rest = answer.strip().partition("\n")
    return rest.strip() if first.strip() == FAILED else None
