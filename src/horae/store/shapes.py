"""Rows as the JSON that every face prints: jobs, runs, and the candidates for a name. Imports next to nothing."""

from __future__ import annotations

import json

from horae.errors import Ambiguous
from horae.store.attention import told
from horae.store.rows import local, zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from horae.ports import Record

    Json = dict[str, Any]


def run_json(row: Record, deliveries: list[Json]) -> Json:
    """One run as `runs` shows it. Its lateness counts from when this attempt was due."""
    offset = row["offset_s"]
    started, finished = row["started_at"], row["finished_at"]
    return {
        "id": row["id"],
        "job_id": row["job_id"],
        "job": row["job"],
        "slug": row["slug"],
        "slot": local(row["slot_at"], offset),
        "slot_utc": zulu(row["slot_at"]),
        "due": local(row["due_at"], offset),
        "key": row["key"],
        "trigger": row["trigger"],
        "attempt": row["attempt"],
        "state": row["state"],
        "outcome": row["outcome"],
        "reason": row["reason"],
        "resolved": None
        if row["resolved_by"] is None
        else {"by": row["resolved_by"], "at": local(row["resolved_at"], offset)},
        "claimed_at": local(row["claimed_at"], offset),
        "started_at": local(started, offset),
        "finished_at": local(finished, offset),
        "lateness_s": None if started is None else max(0, started - row["due_at"]) / 1e6,
        "duration_s": None
        if started is None or finished is None or row["state"] == "unknown" or row["resolved_by"] is not None
        else max(0, finished - started) / 1e6,
        "missed": row["missed"],
        "gateway": row["gateway_id"],
        "host": (row["host"] or "").split("/")[0] or None,
        "pid": row["pid"],
        "exit_code": row["exit_code"],
        "signal": row["signal"],
        "used": _used(row),
        "files": [f"state/output/{row['id']}/{name}" for name in (row["files"] or "").split()],
        "attachments": [f"state/output/{row['id']}/files/{name}" for name in json.loads(row["attachments"] or "[]")],
        "model": row["model"],
        "turns": row["turns"],
        "tokens": row["tokens"],
        "tokens_in": row["tokens_in"],
        "tokens_out": row["tokens_out"],
        "cost_usd": row["cost_usd"],
        "prompt_sha256": row["prompt_sha256"],
        "cause": row["cause"],
        "replay_of": row["replay_of"],
        "held": row["held"],
        "deliveries": deliveries,
    }


def _used(row: Record) -> Json | None:
    """What a run used; None of one that has not ended, or that nobody saw end."""
    if row["wall_s"] is None:
        return None
    numbers = {name: row[name] for name in ("wall_s", "cpu_s", "peak_bytes", "out_bytes", "survivors")}
    return {**numbers, "proved": bool(row["proved"])}


def ambiguous(text: str, rows: Sequence[Record]) -> Ambiguous:
    """Which jobs a name could mean, each with its state."""
    candidates = [
        {**{key: row[key] for key in ("id", "name", "slug")}, "state": "removed" if row["removed_at"] else row["state"]}
        for row in rows
    ]
    listed = ", ".join(f"{each['id']} ({each['slug']}, {each['state']})" for each in candidates)
    return Ambiguous(f"{text!r} could be any of: {listed}", "use the id or the slug", candidates=candidates)


def job_json(row: Record) -> Json:
    """One job as `list` shows it. A job that does not run has no next slot."""
    active = row["state"] == "active"
    next_at = row["next_at"] if active else None
    return {
        "id": row["id"],
        "slug": row["slug"],
        "name": row["name"],
        "state": row["state"],
        "schedule": row["schedule"],
        "meaning": row["meaning"],
        "timezone": row["timezone"],
        "next_slot": local(next_at, row["next_offset"]),
        "next_slot_utc": zulu(next_at),
        "last_outcome": row["last_outcome"],
        "last_run_state": row["last_run_state"],
        "last_slot": local(row["last_at"], row["last_offset"]),
        "completed_reason": row["completed_reason"],
        "paused": _paused(row),
        "problem": told(row["problem"]) if row["problem"] else None,
    }


def _paused(row: Record) -> Json | None:
    if row["paused_at"] is not None:
        return {"by": row["paused_by"], "since": zulu(row["paused_at"]), "reason": row["paused_reason"]}
    return None if row["enabled"] else {"by": "its file", "since": None, "reason": "enabled: false"}
