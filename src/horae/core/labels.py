"""Labels: what jobs ask of a gateway with `runs_on`, and what gateways have. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def offered(gateways: Iterable[Mapping[str, Any]]) -> list[frozenset[str]]:
    """The labels of each gateway that is alive."""
    return [frozenset(gateway["labels"]) for gateway in gateways if gateway["alive"]]


def unoffered(asked: Sequence[str], offered: Sequence[frozenset[str]]) -> str | None:
    """Why no gateway would take a job that asks for these, or None when one would."""
    if any(labels.issuperset(asked) for labels in offered):
        return None
    there = sorted({label for labels in offered for label in labels})
    have = f"those that are alive have {', '.join(there)}" if there else "none that is alive has labels"
    if len(asked) > 1 and set(asked) <= set(there):
        return f"none has {', '.join(asked)} together ({have})"
    return f"none has {', '.join(asked)} ({have})"
