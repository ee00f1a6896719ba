"""A home with believable jobs and three weeks behind them, for pages to show: `furnish` fills it, a gateway may serve it then.

What has passed is written as rows, since nobody waits three weeks for it; what is to come is planned by Horae itself. Choices
are drawn from one seed, so that pages look the same each time, but for the day.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from horae.core.identity import slot_key
from tests.support.process import TestHome

DAYS = 21
SEED = 8
CONFIG = """\
timezone = "Europe/Paris"

[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"

[models.small]
provider = "local"
id = "acme/small-1"
input = 0.15
output = 0.60

[agents]
model = "small"

[budget]
tokens_day = "1M"
usd_day = 1.20
"""


@dataclass(frozen=True)
class Kept:
    """A job, and how its runs went."""

    slug: str
    head: str
    prompt: str = ""
    every: timedelta = timedelta(days=1)
    at: timedelta = timedelta()
    takes: float = 2.0
    fails: float = 0.0
    tokens: int = 0
    last: tuple[str, ...] = ()
    """How the latest ones ended, the newest last."""


JOBS = (
    Kept(
        "harbour-tides",
        "name: Harbour tides\nschedule: weekdays at 18:30\ntimezone: Europe/Paris\ndeliver: [local]\n"
        "limits: {wall: 20m, tokens: 200k, usd: 0.50}",
        "Report tomorrow's tides for the harbour in two lines.\nSay it first if the low water comes before 8 in the morning.",
        at=timedelta(hours=17, minutes=30),
        takes=14,
        tokens=5200,
    ),
    Kept(
        "morning-briefing",
        "name: Morning briefing\nschedule: every day at 7:30\ntimezone: Europe/Paris\ntools: [web, memory]\n"
        "limits: {wall: 15m, tokens: 400k, usd: 0.80}",
        "Read the pages in my notes and tell me in five lines what changed since yesterday.",
        at=timedelta(hours=6, minutes=30),
        takes=52,
        tokens=41000,
        fails=0.05,
    ),
    Kept(
        "fetch-mail",
        "name: Fetch mail\nschedule: every 15 minutes\ntimezone: Europe/Paris\nagent: false\nscript: mail.sh",
        every=timedelta(minutes=45),
        takes=1.1,
        fails=0.01,
    ),
    Kept(
        "nightly-backup",
        "name: Nightly backup # before the disks sleep\nschedule: every day at 23:30\ntimezone: Europe/Paris\nagent: false\n"
        "script: backup.sh\nlimits: {wall: 2h}\nretries: {max: 2, backoff: 5m}",
        at=timedelta(hours=22, minutes=30),
        takes=840,
        fails=0.06,
    ),
    Kept(
        "disk-watch",
        "name: Disk watch\nschedule: every hour\ntimezone: Europe/Paris\nagent: false\nscript: disk.sh",
        every=timedelta(hours=3),
        takes=0.4,
        last=("completed", "failed", "failed", "failed"),
    ),
    Kept(
        "invoices",
        "name: Check the invoices\nschedule: on the last friday of every month at 10:00\ntimezone: Europe/Paris",
        "Compare this month's invoices with the orders and list what does not match.",
        every=timedelta(days=9),
        at=timedelta(hours=9),
        takes=95,
        tokens=88000,
    ),
    Kept(
        "certificates",
        "name: Renew certificates\nschedule: every monday at 4:00\ntimezone: UTC\nagent: false\nscript: certs.sh",
        every=timedelta(days=7),
        at=timedelta(hours=4),
        takes=8,
        last=("completed", "unknown"),
    ),
    Kept(
        "weekly-report",
        "name: Weekly report\nschedule: every friday at 16:00\ntimezone: Europe/Paris\nafter: nightly-backup",
        "Write the weekly report from the notes of the week.",
        every=timedelta(days=7),
        at=timedelta(hours=15),
        takes=130,
        tokens=120000,
    ),
    Kept(
        "reindex",
        "name: Reindex the archive\nschedule: every sunday at 3:00\ntimezone: Europe/Paris\nagent: false\nscript: reindex.sh",
        every=timedelta(days=7),
        at=timedelta(hours=2),
        takes=3100,
    ),
)
SCRIPTS = {
    "mail.sh": "echo '3 new messages'",
    "backup.sh": "echo 'copied 1,204 files'",
    "disk.sh": "echo 'disk /srv is 97 % full' >&2; exit 3",
    "certs.sh": "echo 'nothing to renew'",
    "reindex.sh": 'for n in $(seq 1 900); do echo "part $n of 900"; sleep 1; done',
    "wiki.sh": "echo moved",
}
SAYS = {
    "failed": "exit status 3: disk /srv is 97 % full",
    "completed": "exit status 0",
    "unknown": "the machine was switched off while it ran",
}
BROKEN = "---\nname: Post the digest\nschedule: every dya at 9\nagent: false\nscript: mail.sh\n---\n"


def furnish(home: TestHome, *, now: datetime | None = None) -> None:
    """Jobs, scripts and a past. The home must have been made."""
    (home.path / "config.toml").write_text(CONFIG, encoding="utf-8")
    for name, text in SCRIPTS.items():
        path = home.path / "scripts" / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
    for kept in JOBS:
        own = sha256(kept.slug.encode()).hexdigest()[:12]
        agent = "" if "agent:" in kept.head else "model: small\n"
        text = f"---\nid: {own}\n{kept.head}\n{agent}---\n{kept.prompt}\n"
        (home.path / "jobs" / f"{kept.slug}.md").write_text(text, encoding="utf-8")
    (home.path / "jobs" / "digest.md").write_text(BROKEN, encoding="utf-8")
    home.horae("doctor", status=None)  # reads the files
    home.horae("add", "in 1s", "--name", "Move the wiki", "--script", "wiki.sh")
    with sqlite3.connect(home.path / "state" / "runtime.db") as db:
        db.row_factory = sqlite3.Row
        _past(db, now or datetime.now(UTC))
    db.close()


def _past(db: sqlite3.Connection, now: datetime) -> None:
    draw = random.Random(SEED)
    for kept in JOBS:
        row = db.execute("SELECT * FROM job WHERE slug = ?", (kept.slug,)).fetchone()
        slots = list(_slots(kept, now))
        for place, slot in enumerate(slots):
            back = len(slots) - place
            state = "failed" if draw.random() < kept.fails else "completed"
            state = kept.last[-back] if back <= len(kept.last) else state
            _run(db, row["id"], kept, slot, state, draw)
    for kept in JOBS:
        if kept.slug == "disk-watch":
            own = sha256(kept.slug.encode()).hexdigest()[:12]
            _incident(db, own, now)


def _slots(kept: Kept, now: datetime) -> Iterator[datetime]:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS)
    slot = midnight + kept.at
    while slot < now - timedelta(minutes=3):
        if not ("weekdays" in kept.head and slot.weekday() > 4):
            yield slot
        slot += kept.every


def _run(db: sqlite3.Connection, job_id: str, kept: Kept, slot: datetime, state: str, draw: random.Random) -> None:
    slot_us = int(slot.timestamp() * 1_000_000)
    key, run_id = slot_key(job_id, slot), sha256(f"{job_id}{slot}".encode()).hexdigest()[:16]
    late = int(draw.lognormvariate(8.4, 0.6))
    took = int(kept.takes * 1_000_000 * draw.uniform(0.7, 1.5))
    started, ended = slot_us + late, slot_us + late + took
    occurrence: dict[str, Any] = {
        "key": key, "job_id": job_id, "trigger": "schedule", "slot_at": slot_us, "due_at": slot_us, "offset_s": 3600,
        "state": "settled", "outcome": "ran", "reason": SAYS[state], "attempts": 1, "missed": 0,
        "planned_at": slot_us - 86_400_000_000, "settled_at": ended,
    }  # fmt: skip
    tokens = int(kept.tokens * draw.uniform(0.6, 1.4)) or None
    run: dict[str, Any] = {
        "id": run_id, "key": key, "job_id": job_id, "attempt": 1, "token": 1, "gateway_id": "b3f0a1c2d4e5f607",
        "state": state, "reason": SAYS[state], "claimed_at": slot_us + late // 2, "started_at": started,
        "finished_at": ended, "exit_code": 3 if state == "failed" else 0, "due_at": slot_us,
        "wall_s": took / 1e6, "cpu_s": took / 4e6, "peak_bytes": 9_000_000, "out_bytes": 40, "survivors": 0, "proved": 1,
        "model": "small" if tokens else None, "turns": 4 if tokens else None, "tokens": tokens,
        "tokens_in": tokens and int(tokens * 0.9), "tokens_out": tokens and tokens - int(tokens * 0.9),
        "cost_usd": tokens and tokens * 0.6e-6 * 9, "equipped_at": started if tokens else None,
        "reserved_tokens": tokens, "reserved_usd": tokens and tokens * 0.6e-6 * 9,
    }  # fmt: skip
    _insert(db, "occurrence", occurrence)
    _insert(db, "run", run)
    says = (
        "Low water 06:12 (1.1 m), high water 12:25 (5.4 m).\nLow water 18:40 (1.3 m)." if tokens else "3 new messages"
    )
    output = {"run_id": run_id, "message": says, "stdout": says, "stderr": "", "stdout_cut": 0, "stderr_cut": 0}
    _insert(db, "output", output)


def _incident(db: sqlite3.Connection, job_id: str, now: datetime) -> None:
    last = db.execute(
        "SELECT id, finished_at FROM run WHERE job_id = ? ORDER BY claimed_at DESC LIMIT 1", (job_id,)
    ).fetchone()
    opened = int((now - timedelta(hours=7)).timestamp() * 1e6)
    row = {
        "id": "5d0c8a1f", "job_id": job_id, "kind": "failed", "cause": "exit status 3: disk /srv is # % full",
        "says": SAYS["failed"], "opened_at": opened, "last_at": last["finished_at"], "count": 3, "run_id": last["id"],
        "told_at": opened, "remind_at": int((now + timedelta(hours=17)).timestamp() * 1e6),
    }  # fmt: skip
    _insert(db, "incident", row)


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def propose(
    home: TestHome, *, kind: str, body: dict[str, Any], slug: str = "morning-briefing", of: str = "a1b2c3d4"
) -> None:
    """Something that waits for a person, as the latest run of a job would have asked for it."""
    with sqlite3.connect(home.path / "state" / "runtime.db") as db:
        row = db.execute(
            "SELECT r.id, r.key, r.job_id, r.finished_at FROM run r JOIN job j ON j.id = r.job_id WHERE j.slug = ?"
            " ORDER BY r.claimed_at DESC LIMIT 1",
            (slug,),
        ).fetchone()
        run, key, job, at = row
        made = {
            "id": of, "kind": kind, "job_id": job, "run_id": run, "key": key, "body": json.dumps(body), "asked_at": at,
        }  # fmt: skip
        _insert(db, "ask", made)
    db.close()
