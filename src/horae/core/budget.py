"""Whether a model call may begin, and how long its answer may be. Pure.

A call is let begin when what it will read fits into what is left, with room for an answer of some use; its answer is then
bounded by what is left. What it will read is only estimated, so a cap can be passed by the error of that estimate, and by
nothing else: at most by one call (P14).

Calls that are under way count with what they may use at most; so several at a time cannot share what is left for one.
"""

from __future__ import annotations

from dataclasses import dataclass

from horae.core.agent import Price
from horae.core.equipment import Allowance

BYTES_A_TOKEN = 3  # of a request: text has some four, and whoever guesses too low passes the cap
OUTPUT_LEAST = 128  # an answer that must be shorter than this is not worth a call
OUTPUT_GUESS = 4096  # of a call without any bound: what is thought of it until its usage is known
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Used:
    """What was used, with what calls under way may use."""

    turns: int = 0
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may begin."""

    max_output: int | None
    """Tokens of its answer; None: nothing bounds them."""
    bound: int
    """Tokens that it uses at most, as far as one can tell."""
    usd: float
    """What those cost; 0.0 where there is no price."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It must not: a limit is reached."""

    words: str


def estimate(request_bytes: int) -> int:
    """Tokens that a request of so many bytes has, rather too many than too few."""
    return -(-max(0, request_bytes) // BYTES_A_TOKEN)


def cost(price: Price, input: int, output: int, cached: int = 0) -> float:
    """US dollars of a call. `input` includes what was `cached`."""
    cached = min(max(0, cached), input)
    of_cached = price.input if price.cached is None else price.cached
    return ((input - cached) * price.input + cached * of_cached + output * price.output) / MILLION


def admit(allowance: Allowance, used: Used, reads: int, wanted: int | None, price: Price | None) -> Admitted | Refused:
    """`reads` are the tokens that it will read, `wanted` those that its answer may have by itself.

    A money limit says nothing about a call without a price: who asks must have looked for it.
    """
    least = OUTPUT_LEAST if wanted is None else max(1, min(OUTPUT_LEAST, wanted))
    room = [] if wanted is None else [wanted]
    if allowance.turns is not None and used.turns >= allowance.turns:
        done = f"turn limit of {allowance.turns} reached" if allowance.turns else "turn limit reached before it went on"
        return Refused(done)
    if allowance.tokens is not None:
        left = allowance.tokens - used.tokens - reads
        if left < least:
            return Refused(
                f"token limit of {allowance.tokens} reached: {used.tokens} used "
                f"and the next call needs about {reads + least}"
            )
        room.append(left)
    if allowance.usd is not None and price is not None:
        left_usd = allowance.usd - used.usd - cost(price, reads, 0)
        if left_usd < cost(price, 0, least):
            return Refused(
                f"money limit of {_dollars(allowance.usd)} reached: {_dollars(used.usd)} used "
                f"and the next call needs about {_dollars(cost(price, reads, least))}"
            )
        if price.output > 0:
            room.append(int(left_usd * MILLION / price.output))
    most = min(room) if room else None
    writes = OUTPUT_GUESS if most is None else most
    return Admitted(most, reads + writes, cost(price, reads, writes) if price else 0.0)


def _dollars(usd: float) -> str:
    """Cents, and small sums with the digits that tell them from nothing."""
    return f"${usd:.2f}" if usd == 0 or usd >= 0.1 else f"${usd:.2g}"
