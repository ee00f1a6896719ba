"""How long a gateway may trust that its runs are still its own.

A lease is written in the store's time and covers all runs of a gateway. Whoever finds it ended may take them over. So
before each outside effect the gateway looks at its own steady clock, which goes on while the machine sleeps:

    asked to renew          renewed                      trusted until
         ├── round trip ──────┤                                ┤
         ├──────────────── lease, less a margin ───────────────┤

It counts from the moment at which it *asked*, never from the answer, and gives up a margin for clocks that run apart;
so it stops trusting before anybody else may act, however long an answer took, it was suspended, or stood still.

Nor may it take somebody else's lease for ended as soon as it sees that: when the store was away for a while, or a machine
slept with several gateways on it, all leases have ended, and whoever looks first would take over what all others do. So
it judges others only after it has kept its own lease for the whole length of one: whoever lives has renewed by then.

What takes long outside, a message that is being sent, must be over before that: the lease is prolonged past its end first
(`covers`).

Failure cases: a suspended gateway wakes and finds the lease lapsed, so it renews before it begins anything (`hold`).
Its runs were taken over meanwhile: then renewing raises `Stale`, its programs are ended, and it begins anew without any.
"""

from __future__ import annotations

from horae.limits import LEASE_MARGIN_S, LEASE_S
from horae.ports import Clock

RENEW_EVERY_S = LEASE_S / 3


class Lease:
    """One gateway's own view of its lease."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._trusted_until_s = float("-inf")
        self._asked_s = float("-inf")
        self._held_since_s = float("-inf")

    def asking(self) -> float:
        """The moment to hand to `renewed` once the renewal is committed, on the steady clock."""
        return self._clock.reading().steady_s

    def renewed(self, asked_s: float, for_s: float = LEASE_S) -> None:
        """It was renewed, for so long, by a transaction that began after `asked_s`."""
        if asked_s >= self._trusted_until_s:  # it had lapsed
            self._held_since_s = asked_s
        self._asked_s = max(self._asked_s, asked_s)
        until_s = asked_s + max(for_s, LEASE_S) - LEASE_MARGIN_S
        self._trusted_until_s = max(self._trusted_until_s, until_s)

    def lost(self) -> None:
        """What it covered is somebody else's: whatever is owned from now on begins with a new one."""
        self._trusted_until_s = self._asked_s = float("-inf")

    @property
    def is_old(self) -> bool:
        """Whether it is time to renew it."""
        return self._clock.reading().steady_s >= self._asked_s + RENEW_EVERY_S

    @property
    def lapsed(self) -> bool:
        """Whether something that we own may be somebody else's by now."""
        return self._clock.reading().steady_s >= self._trusted_until_s

    def covers(self, seconds: float) -> bool:
        """Whether what takes that long from now on will be over before anybody may take it over."""
        return self._clock.reading().steady_s + seconds < self._trusted_until_s

    @property
    def judges_in_s(self) -> float:
        """After how long, at the soonest, it may take somebody else's lease for ended; 0.0 when it may now.

        In whole microseconds, as clocks show them: a wait for less would be over at once, again and again.
        """
        if self.lapsed:
            return LEASE_S
        return max(0.0, round(self._held_since_s + LEASE_S - self._clock.reading().steady_s, 6))
