"""When a message is tried again that its target surely did not take. Pure.

The pause doubles from `TRY_AGAIN_S` up to `TRY_AGAIN_MAX_S`, and is never shorter than what the target itself asks for. To it
comes up to a quarter that follows from the message, so that what failed together is not tried again together. Past the
message's deadline it is given up. What may have arrived is never tried again by itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha1

from horae.limits import TRY_AGAIN_MAX_S, TRY_AGAIN_S

_JITTER = 0.25
_DOUBLINGS_MAX = 20


def next_try(now: datetime, deadline: datetime, attempts: int, after_s: float | None, key: str) -> datetime | None:
    """When to try again after so many attempts, from 1 on; None when it is given up."""
    pause = min(TRY_AGAIN_MAX_S, TRY_AGAIN_S * 2.0 ** min(attempts - 1, _DOUBLINGS_MAX))
    pause *= (
        1 + _JITTER * int.from_bytes(sha1(f"{key}/{attempts}".encode(), usedforsecurity=False).digest()[:4]) / 2**32
    )
    pause = max(pause, after_s or 0.0)
    return now + timedelta(seconds=pause) if pause <= (deadline - now).total_seconds() else None
