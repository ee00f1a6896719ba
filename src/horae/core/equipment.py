"""What an agent's run is given besides its job: what it may use, and what earlier runs have left for it. Pure values.

It is put together by the store in one transaction, before the run starts: what the run may use is *reserved* there, so
that runs at the same time cannot spend the same money. What a run has not used is free again when it has ended; of one
whose end nobody knows the whole reservation counts as used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a run may use. None: no limit."""

    turns: int | None = None
    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What a run asks for, and what holds for a day."""

    run: Allowance
    """Its own limits."""
    job_day: Allowance
    home_day: Allowance
    since: datetime
    """When the day began, in the home's zone."""
    context_age_s: float
    context_chars: int


@dataclass(frozen=True, slots=True)
class Earlier:
    """A result of an earlier run."""

    job: str
    """The name of its job; `self` is shown by its name too."""
    run_id: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Given:
    """What it gets."""

    allowance: Allowance = field(default_factory=Allowance)
    context: tuple[Earlier, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    baseline: tuple[str, str] | None = None
    """Of what it watches: digest and text, as a run that completed has left it."""
    state: str | None = None
    """From where it goes on; None: from the beginning."""
    decision: Mapping[str, Any] | None = None
    """What a person said: `approved`, `by`, `reason`, `digest` of the call that it is about."""
    held: int = 0
    """How often its provider could not answer so far."""
    prompt: str | None = None
    """Of a replay."""
    reasons: tuple[str, ...] = ()
    """Why it must not begin: nothing was reserved then."""
