"""Calls of hooks: each orders a run of each job of its hook, once, with what came as data for the run.

Whoever calls has been looked at before (`wiring/hookdoor.py`): what arrives here is good. In one transaction it is looked up
whether the call was taken before, whether there were too many, and the runs are ordered; so nothing can happen by halves.

A job that is paused, completed, broken, or has too many ordered runs that wait, has no run of it; that is on record as an
occurrence that was skipped, and is said to the caller. A second call with the same id is answered as the first one was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from horae.core.hookform import Hook, cause_of
from horae.core.identity import RUN_ID_CHARS
from horae.core.instants import from_us
from horae.errors import Ambiguous, NotFound
from horae.ports import Home, Tx

Json = dict[str, Any]
MINUTE = timedelta(minutes=1)
KEPT = timedelta(days=400)  # what tells calls apart
PRUNED_AT_ONCE = 100
WAITING_MAX = 100  # ordered runs of one job that wait: whoever calls so often that it cannot keep up is told so
SHOWN_CHARS = 100
NOTHING: Json = {"runs": [], "dropped": [], "wait_s": None}


def take_call(
    home: Home,
    *,
    hook: str,
    jobs: Sequence[str],
    messages: Sequence[str],
    text: str,
    form: str,
    rate: int,
) -> Json:
    """Order its runs. `again` says that it was taken before, `wait_s` that there were too many."""
    found = [_job_id(home, job) for job in jobs]
    number = home.entropy(RUN_ID_CHARS // 2).hex()
    runs = [home.entropy(RUN_ID_CHARS // 2).hex() for _ in jobs]
    call = _Call(home.actor, hook, tuple(messages), number, text, form)
    answer = home.store.transact(lambda tx: call.taken(tx, list(zip(jobs, found, runs, strict=True)), rate))
    home.wake()
    return answer


def _job_id(home: Home, job: str) -> str | None:
    reader = home.read()
    try:
        return reader.find_job(job)["id"]
    except (NotFound, Ambiguous):
        return None
    finally:
        reader.close()


class _Call:
    """One call, in the transaction that takes it."""

    def __init__(self, actor: str, hook: str, messages: tuple[str, ...], number: str, text: str, form: str) -> None:
        self._actor = actor
        self._hook = hook
        self._messages = messages
        self._number = number
        self._text = text
        self._cause = cause_of(hook, form)

    def taken(self, tx: Tx, wanted: Sequence[tuple[str, str | None, str]], rate: int) -> Json:
        """Everything that it brings about, and what is answered."""
        calls = tx.doors.hook_calls
        for message in self._messages:
            before = calls.answer(self._hook, message)
            if before is not None:
                return {**json.loads(before), "again": True}
        if calls.count(self._hook, tx.now - MINUTE) >= rate:
            return self._too_many(tx, rate)
        for message in (f"call {self._number}", *self._messages):
            if not calls.take(self._hook, message):  # another process has taken it since we looked
                kept = calls.answer(self._hook, message) or "{}"
                calls.keep(self._hook, self._messages, kept)
                return {**NOTHING, **json.loads(kept), "hook": self._hook, "again": True}
        runs: list[Json] = []
        dropped: list[Json] = []
        for name, job_id, run_id in wanted:
            self._one(tx, name, job_id, run_id, runs, dropped)
        answer = {"hook": self._hook, "runs": runs, "dropped": dropped, "again": False, "wait_s": None}
        calls.keep(self._hook, self._messages, json.dumps(answer))
        told = [each["run_id"] for each in runs]
        tx.journal.append("called", actor=self._actor, hook=self._hook, runs=told, dropped=dropped)
        calls.prune(tx.now - KEPT, PRUNED_AT_ONCE)
        return answer

    def _one(self, tx: Tx, name: str, job_id: str | None, run_id: str, runs: list[Json], dropped: list[Json]) -> None:
        job = None if job_id is None else tx.jobs.get(job_id)
        if job is None or job["removed_at"] is not None:
            dropped.append({"job": name, "reason": "there is no such job", "key": None})
            return
        calls = tx.doors.hook_calls
        reason = _idle(job, calls.waiting(job["id"]))
        if reason is None:
            made = calls.order(job["id"], run_id=run_id, actor=self._actor, input=self._text, cause=self._cause)
            runs.append({"job": job["slug"], "run_id": run_id, "key": made["key"]})
            return
        words = f"{reason}; called by hook {self._hook}"
        key = calls.drop(job, run_id=run_id, actor=self._actor, cause=self._cause, reason=words)
        dropped.append({"job": job["slug"], "reason": reason, "key": key})

    def _too_many(self, tx: Tx, rate: int) -> Json:
        """Nothing is taken. The first such call of a minute is journaled."""
        minute = f"many {tx.now:%Y-%m-%dT%H:%M}"
        if tx.doors.hook_calls.take(self._hook, minute):
            tx.journal.append(
                "call_refused", actor=self._actor, hook=self._hook, reason=f"more than {rate} in a minute"
            )
        return {"hook": self._hook, "runs": [], "dropped": [], "again": False, "wait_s": 60 - tx.now.second}


def _idle(job: Json, waiting: int) -> str | None:
    """Why a job has no run of a call; None when it has one."""
    if job["state"] == "paused":
        said = f": {job['paused_reason']}" if job["paused_reason"] else ""
        since = f" by {job['paused_by']}" if job["paused_by"] else " by its file"
        return f"paused{since}{said}"
    if job["state"] == "completed":
        return f"completed ({job['completed_reason']})"
    if job["state"] == "quarantined":
        return "its file is broken"
    return f"{waiting} ordered runs wait already" if waiting >= WAITING_MAX else None


def list_hooks(home: Home) -> Json:
    """Each hook: what it starts, where it is called, when it was called last, and what is wrong with it."""
    places, _ = home.vault().places({name for hook in home.settings.hooks.values() for name in hook.secrets})
    reader = home.read()
    try:
        called = reader.hooks_called()
        return {"hooks": [_shown(home, hook, places, called.get(hook.name)) for hook in home.settings.hooks.values()]}
    finally:
        reader.close()


def _shown(home: Home, hook: Hook, places: Any, called: int | None) -> Json:
    missing = [name for name in hook.secrets if not places.get(name)]
    problems = [f"the secret {name} has no value (`horae secrets set {name}`)" for name in missing]
    problems += [f"there is no job {job[:SHOWN_CHARS]!r}" for job in hook.jobs if _job_id(home, job) is None]
    at: datetime | None = None if called is None else from_us(called)
    return {
        "name": hook.name,
        "kind": hook.kind,
        "jobs": [*hook.jobs],
        "events": [*hook.events],
        "path": f"/hooks/{hook.name}",
        "last_call": None if at is None else at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "problems": problems,
    }
