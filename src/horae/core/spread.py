"""Spread: many jobs of one schedule need not start at the same instant.

A job that says `spread: 5m` is due up to five minutes after each of its slots, always by the same part of them, which
follows from its id. So the load of the top of the hour, or of a machine that wakes up, lies beside one another, and still
every run comes at a time that can be known in advance. The slot, and with it the occurrence key, stays what it is.
"""

from __future__ import annotations

from hashlib import sha1


def spread_offset_s(job_id: str, spread_s: int) -> int:
    """Whole seconds in [0, spread_s), the same for a job as long as its spread is."""
    if spread_s <= 1:
        return 0
    return int.from_bytes(sha1(f"spread/{job_id}".encode(), usedforsecurity=False).digest()[:8], "big") % spread_s
