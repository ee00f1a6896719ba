"""When a failed attempt is tried again: only for known failures, of jobs that say so.

Rules:
1. A job that says no `retries` is never tried again; neither is one whose attempt was its last: `max` retries make at most
   `max + 1` attempts.
2. Only what is *known* to have failed is tried again: the program ended by itself with another status than 0 or by a
   signal, said so itself, or used more output, memory, computing time or processes than it may (`failure`), a limit of
   its time ended it (`timeout`), or it could not be started at all (`start`). `on` says which of them; all of them when
   it is absent. An agent that reached a limit of turns, tokens or money, made no progress, or asked for what it may not
   do would do so again, and is not tried again. How a run ended that nobody saw (`unknown`) is no such knowledge, and a
   person decides. Whoever cancels a run means it. What was blocked has started nothing, and would be blocked again.
3. The first pause is `backoff` and each further one twice the one before, up to `ceiling`. To it comes up to a quarter,
   which follows from the occurrence key and the attempt: jobs that failed together are not tried again together, and the
   same attempt always waits equally long. Pauses rise until the ceiling, and never pass it.
4. A retry is the same occurrence: its key stays, and its row is due again. It does not run before its instant.
5. A retry that could only give way (`core/admission.py`, rule 13), because the next slot is due no later, is not planned:
   the attempt was the last one, and whoever waits for the result is told at once. Nobody is told of a failure that is
   tried again, so a job whose retries always came too late would fail in silence.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import sha1
from typing import get_args

from horae.core.agentoutcome import FINAL
from horae.core.model import Cause, Ending, Job
from horae.core.outcome import TIME_LIMITS
from horae.limits import BACKOFF_DEFAULT_S, CEILING_DEFAULT_S

JITTER = 0.25
IN_THE_WAY = "the next slot is due before that"
_DOUBLINGS_MAX = 40  # beyond it any pause is the ceiling


def retry_delay(job: Job, ending: Ending, attempt: int, key: str) -> float | None:
    """After how many seconds the `attempt`-th one that failed (from 1 on), and ended so, is tried again; None when it is not.

    Attempts that were given back before anything was started are not counted.
    """
    retries = job.retries
    if attempt > (retries.max or 0):
        return None
    cause = cause_of(ending)
    if cause is None or cause not in (retries.on or get_args(Cause)):
        return None
    first = BACKOFF_DEFAULT_S if retries.backoff_s is None else retries.backoff_s
    ceiling = max(first, CEILING_DEFAULT_S) if retries.ceiling_s is None else retries.ceiling_s
    pause = first * 2.0 ** min(attempt - 1, _DOUBLINGS_MAX)
    return min(ceiling, pause * (1 + JITTER * _part(key, attempt)))


def gives_way(job: Job, due: datetime, next_due: datetime | None) -> bool:
    """Whether a retry that would be due then could only give way to the slot that is due next."""
    return job.overlap not in ("queue", "allow") and next_due is not None and next_due <= due


def cause_of(ending: Ending) -> Cause | None:
    """Why an attempt is known to have failed; None when it did not, or when nobody knows."""
    if ending.event != "fail" or ending.result is None:
        return None
    if ending.result.work is not None and ending.result.work.how in FINAL:
        return None
    if ending.result.refused is not None:
        return "start"
    return "timeout" if (ending.result.ended_by or "").startswith(TIME_LIMITS) else "failure"


def _part(key: str, attempt: int) -> float:
    """From 0 up to 1, always the same for an attempt."""
    return int.from_bytes(sha1(f"retry/{key}/{attempt}".encode(), usedforsecurity=False).digest()[:6], "big") / 2**48
