"""How many runs ended lately: what a gateway can begin before long, if the next ones are like the last."""

from __future__ import annotations

from horae.ports import Clock


class Pace:
    """Ends of the last second, by the steady clock, in two buckets."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second: int = 0
        self._now = 0
        self._before = 0

    def ended(self) -> None:
        """A run has ended."""
        self._turn()
        self._now += 1

    @property
    def lately(self) -> int:
        """How many ended in this second or the one before, whichever were more."""
        self._turn()
        return max(self._now, self._before)

    def _turn(self) -> None:
        second = int(self._clock.reading().steady_s)
        if second != self._second:
            self._before = self._now if second == self._second + 1 else 0
            self._now, self._second = 0, second
