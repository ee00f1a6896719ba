"""Ids of traces and spans, which follow from what they are about. Pure.

The trace of an occurrence has the number of its key, so all its attempts and deliveries are in one, and whoever knows the key
finds it. A span's id is a digest of what it is: the process that starts a run and the one that exports its spans need not
tell each other anything.
"""

from __future__ import annotations

from hashlib import sha256


def trace_id(key: str) -> str:
    """32 hexadecimal digits: a key of an occurrence is such a number already."""
    plain = key.replace("-", "").lower()
    fine = len(plain) == 32 and all(char in "0123456789abcdef" for char in plain) and plain.strip("0")
    return plain if fine else sha256(key.encode()).hexdigest()[:32]


def span_id(*words: str) -> str:
    """16 hexadecimal digits, of which not all are 0."""
    return sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:15] + "1"


def traceparent(key: str, run_id: str) -> str:
    """What a program is given, so that its own spans stand below the step `run` (W3C Trace Context)."""
    return f"00-{trace_id(key)}-{span_id('run', run_id)}-01"
