"""How late things were: a few percentiles, without a library, for `status` and the log."""

from __future__ import annotations

from math import ceil


def summary(values_ms: list[float]) -> dict[str, float | int | None]:
    """p50, p99 and max in milliseconds, and how many there are (nearest rank)."""
    if not values_ms:
        return {"p50": None, "p99": None, "max": None, "count": 0}
    ordered = sorted(values_ms)

    def rank(share: float) -> float:
        return round(ordered[max(0, ceil(round(share * len(ordered), 6)) - 1)], 3)

    return {"p50": rank(0.50), "p99": rank(0.99), "max": round(ordered[-1], 3), "count": len(ordered)}
