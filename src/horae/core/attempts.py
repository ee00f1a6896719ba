"""How many wrong secrets are looked at: so many at once, then one every few seconds, by address and in all. Pure.

Secrets cannot be guessed; this bounds the work that guessing makes, and what it writes. A right secret is never refused for
the sake of wrong ones that came before it, so nobody can lock an owner out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

AT_ONCE, EVERY_S = 10, 6.0  # for one address: somebody who mistypes has more than enough
ALL_AT_ONCE, ALL_EVERY_S = 100, 0.5  # for all of them together
ADDRESSES_MAX = 1000  # that are remembered


@dataclass(slots=True)
class Bucket:
    """What is left, as of when."""

    left: float
    at: float

    def take(self, now: float, most: int, every_s: float) -> float:
        """0 and one less, or how many seconds to wait."""
        self.left = min(float(most), self.left + max(0.0, now - self.at) / every_s)
        self.at = now
        if self.left >= 1.0:
            self.left -= 1.0
            return 0.0
        return (1.0 - self.left) * every_s


@dataclass(slots=True)
class Attempts:
    """Wrong secrets lately. Times are seconds of any steady clock."""

    _by: dict[str, Bucket] = field(default_factory=dict[str, Bucket])
    _all: Bucket = field(default_factory=lambda: Bucket(ALL_AT_ONCE, 0.0))

    def wrong(self, address: str, now: float) -> float:
        """A wrong one came from there: 0 when it is answered like any, else how many seconds to wait."""
        bucket = self._by.pop(address, None) or Bucket(AT_ONCE, now)
        self._by[address] = bucket  # the one that came last is the last to be forgotten
        if len(self._by) > ADDRESSES_MAX:
            del self._by[next(iter(self._by))]
        wait_s = bucket.take(now, AT_ONCE, EVERY_S)
        return wait_s or self._all.take(now, ALL_AT_ONCE, ALL_EVERY_S)
