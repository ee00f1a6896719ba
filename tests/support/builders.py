"""Values with sensible defaults: a test names only what it is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from typing import Any

from horae.core.clockwatch import Reading
from horae.core.delivery import Addressee, Receipt
from horae.core.model import Claim, Ending, Job, Owner, Result

START = datetime(2026, 3, 2, 8, 0, 0, tzinfo=UTC)  # a Monday
MINUTELY = "every 1 minute from 2026-03-02T08:00:00+00:00"
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def at(clock: str, day: int = 2) -> datetime:
    """`at("08:05")`: that time of day on the Monday that tests begin with (or another day of March 2026), in UTC."""
    return datetime.fromisoformat(f"2026-03-{day:02}T{clock}+00:00")


def us(instant: datetime) -> int:
    """Microseconds since 1970, as the store has them; reckoned apart from the store."""
    return round((instant - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1_000_000


def a_job(slug: str = "tides", **given: Any) -> Job:
    """A job that runs a script. Its id follows from the slug."""
    values: dict[str, Any] = {
        "id": sha1(slug.encode()).hexdigest()[:12],
        "name": slug.capitalize(),
        "schedule": MINUTELY,
        "timezone": "UTC",
        "agent": False,
        "script": f"{slug}.sh",
    }
    return Job(slug=slug, **(values | given))


def an_owner(name: str = "g1") -> Owner:
    return Owner(name, "host", "boot", 1000, 1)


def a_claim(**given: Any) -> Claim:
    job = given.pop("job", None) or a_job()
    values: dict[str, Any] = {
        "run_id": "aaaabbbbccccdddd",
        "token": 1,
        "key": "k" * 32,
        "job_id": job.id,
        "attempt": 1,
        "trigger": "schedule",
        "slot": START,
        "due": START,
        "claimed_at": START,
        "timezone": "UTC",
        "offset_s": 0,
        "missed": 0,
        "input": None,
        "job": job,
    }
    return Claim(**(values | given))


def addressed(claim: Claim, *kept: str) -> tuple[Addressee, ...]:
    """The targets of its job, each an address by itself; `kept` are those that the end of the run reaches."""
    here = Receipt("accept", evidence="here")
    return tuple(Addressee(name, name, kept=here if name in kept else None) for name in claim.job.deliver)


def with_token(claim: Claim, token: int) -> Claim:
    return replace(claim, token=token)


def a_result(**given: Any) -> Result:
    values: dict[str, Any] = {
        "exit_code": 0,
        "signal": None,
        "stdout": "",
        "stderr": "",
        "stdout_cut": 0,
        "stderr_cut": 0,
    }
    return Result(**(values | given))


def an_ending(event: str = "complete", message: str = "done", **given: Any) -> Ending:
    return Ending(
        event,
        given.pop("reason", "exit status 0"),
        message,
        given.pop("alert", False),
        given.pop("result", a_result()),
        given.pop("attachments", ()),
        given.pop("silence", "nothing to say"),
    )


class SetClock:
    """A clock that stands where the test put it."""

    def __init__(self, now: datetime = START) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def reading(self) -> Reading:
        return Reading(self.time.timestamp(), self.time.timestamp(), self.time.timestamp())

    def arm(self, until: datetime, wake: Any) -> None:
        raise AssertionError("nobody waits on this clock")
