"""An instant by the store's clock, as a gateway's own clock will show it.

Due instants and leases are the store's. A gateway waits for them by the clock of its machine, which may show another time.
If it runs ahead, a due instant would be past before the store agrees, and the gateway would look again and again; if it is
behind, everything would be late. What is known is that the store's clock was read between the question and the answer:
only as far as it lay outside of that do the clocks surely differ. Clocks that agree are therefore never corrected, however
long the answer took.
"""

from __future__ import annotations

from datetime import datetime, timedelta


def ahead(store_now: datetime, asked: datetime, answered: datetime) -> timedelta:
    """By how much our clock surely shows more than the store's, which showed `store_now` in between. Negative is less."""
    return max(asked - store_now, min(answered - store_now, timedelta()))
