"""Values in the settings of agents: numbers of tokens, dollars, lists of words, names of what is configured elsewhere. Pure.

Errors as in `core/settingvalues.py`: they name the key in full, and show nothing that may be a secret.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import cast

from horae.core.secretname import NAMED, name_problem
from horae.core.settingvalues import KEY_CHARS_MAX, wrong
from horae.core.text import one_line

TOKENS_MAX = 10**12
USD_MAX = 10**6
WORDS_MAX, WORD_CHARS_MAX = 200, 4096
LISTED_MAX = 12  # names in a hint
HOW_TO_KEEP = "keep the value with `horae secrets set NAME`, and write only that name here"
_AMOUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([kmg]?)", re.IGNORECASE)


def tokens(key: str, value: object) -> int:
    """A number of tokens: 500000, or "500k", "2M"."""
    amount = Decimal(0)
    if isinstance(value, int) and not isinstance(value, bool):
        amount = Decimal(value)
    elif isinstance(value, str) and (found := _AMOUNT.fullmatch(value.strip())):
        amount = Decimal(found[1]) * 1000 ** " kmg".index(found[2].lower() or " ")
    if amount != amount.to_integral_value() or not 1 <= amount <= TOKENS_MAX:
        raise wrong(key, "must be a number of tokens from 1 on", 'write it as 500000, "500k" or "2M"')
    return int(amount)


def dollars(key: str, value: object) -> float:
    """An amount of money, more than none."""
    number = _number(value)
    if number is None or not 0 < number <= USD_MAX:
        raise wrong(key, f"must be US dollars, more than 0 and at most {USD_MAX:,}", "write it as 0.50, without quotes")
    return number


def price(key: str, value: object) -> float:
    """Dollars for a million tokens; what costs nothing is 0."""
    number = _number(value)
    if number is None or not 0 <= number <= USD_MAX:
        raise wrong(key, "must be US dollars for a million tokens, from 0 on", "write it as 0.15, without quotes")
    return number


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > USD_MAX or math.isnan(value):
        return None
    return float(value)


def words(key: str, value: object, expected: str, example: str) -> tuple[str, ...]:
    """A list of texts, as they are."""
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    found = tuple(item for item in items if isinstance(item, str))
    if len(found) != len(items):
        raise wrong(key, f"must be a list of {expected}", f"write {example}")
    if len(found) > WORDS_MAX:
        raise wrong(key, f"has more than {WORDS_MAX} {expected}")
    for item in found:
        if "\0" in item or len(item) > WORD_CHARS_MAX:
            raise wrong(key, f"holds a text with a NUL, or of more than {WORD_CHARS_MAX} characters")
    return found


def secret_name(key: str, value: object) -> str:
    """The name of one secret; what was pasted in its place is not shown."""
    if not isinstance(value, str):
        raise wrong(key, "must be the name of a secret", f"{HOW_TO_KEEP}, in quotes")
    if (problem := name_problem(value)) is not None:
        raise wrong(key, problem, f"{HOW_TO_KEEP}: {NAMED}" if "itself" in problem else HOW_TO_KEEP)
    return value


def secret_names(key: str, value: object) -> tuple[str, ...]:
    """Names of secrets, each once."""
    found = words(key, value, "names of secrets", f'{key.rpartition(".")[2]} = ["GITHUB_TOKEN"]')
    return tuple(dict.fromkeys(secret_name(key, name) for name in found))


def known(key: str, value: object, names: Collection[str], what: str, none: str) -> str:
    """One of the names that are there. `none` says what to do where there are none at all."""
    if not isinstance(value, str):
        raise wrong(key, f"must be the name of {what}", "write it in quotes")
    if value not in names:
        raise wrong(key, f"there is no {shown(value)}", nearest(value, names, what) if names else none)
    return value


def nearest(name: str, names: Iterable[str], what: str) -> str:
    """The hint for a name that is not there."""
    there = list(names)
    near = difflib.get_close_matches(name[:KEY_CHARS_MAX], there, 3, 0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    more = f" and {len(there) - LISTED_MAX} more" if len(there) > LISTED_MAX else ""
    return f"{what} is one of {', '.join(there[:LISTED_MAX])}{more}"


def shown(name: str) -> str:
    """A name that is not there; one that may be a secret is not shown."""
    problem = name_problem(name)
    return "such name" if problem is not None and "itself" in problem else repr(one_line(name, KEY_CHARS_MAX))
