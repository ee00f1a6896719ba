"""Log lines. They are read off the journal, after each commit, so that they can only say what is so.

On a terminal each run is one line when it ends; the log file of the home holds the same lines and those of the gateway
itself, with dates.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TextIO

from horae.core.text import one_line
from horae.timing.durations import short_duration

FILE_BYTES = 5 * 1024 * 1024
FILES_KEPT = 3
SIGNS = {
    "completed": "✓",
    "failed": "✗",
    "blocked": "■",
    "unknown": "?",
    "cancelled": "–",
    "missed": "!",
    "skipped": "›",
}
SHOWN_CHARS = 200  # of what a program said, without what would move the cursor
MANY = 20  # of one kind in one commit, for example when a folder of jobs is read for the first time
READ = {"created", "changed", "revived", "restored"}
PLAIN = {*READ, "removed", "quarantined", "paused", "resumed", "completed_job", "void", "resolved"}
TOLD = ("reason", "says", "took_s", "late_s", "slots", "target", "evidence", "incident", "cause", "problem", "by")
INCIDENTS = ("incident_opened", "incident_ended", "acknowledged", "snoozed")

log = logging.getLogger("horae")


def set_up(home: str, *, terminal: bool, file: str = "horae.log", form: str = "text", level: str = "info") -> str:
    """Send log lines to the home's file and, when wanted, to the terminal. Returns the file's path."""
    path = os.path.join(home, "state", file)
    kept = logging.handlers.RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8")
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    kept.setFormatter(Structured() if form == "json" else plain)
    log.setLevel(level.upper())
    log.handlers = [kept]
    if terminal:
        screen = Screen(sys.stdout)
        screen.setFormatter(logging.Formatter("%(asctime)s  %(message)s", "%H:%M:%S"))
        log.addHandler(screen)
    log.propagate = False
    return path


class Structured(logging.Formatter):
    """One JSON object for each line: what a program that gathers logs can take apart without guessing."""

    def format(self, record: logging.LogRecord) -> str:
        """`at`, `level`, `event` and `message`; of a decision also what it is about."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "event": "log"}
        entry = getattr(record, "entry", None)
        if entry is not None:
            told |= {"event": entry.what, "job": getattr(record, "job", None), "entry": entry.seq}
            told |= {name: getattr(entry, name) for name in ("actor", "job_id", "key", "run_id")}
            told |= {name: value for name, value in entry.detail.items() if name in TOLD}
        told["message"] = record.getMessage()
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


class Screen(logging.StreamHandler[TextIO]):
    """The terminal, for as long as somebody reads it; the log file has the same lines."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the name is logging's
        """Say no more once nobody listens."""
        if isinstance(sys.exc_info()[1], OSError):
            log.removeHandler(self)
        else:
            super().handleError(record)


class Narrator:
    """Turns journal entries into log lines. `name_of(job id, fresh)` gives a job's slug; fresh: it may be another now."""

    def __init__(self, name_of: Callable[[str, bool], str]) -> None:
        self._name_of = name_of

    def tell(self, entries: Sequence[Any]) -> None:
        """One line for each entry that a person wants to see pass by; one for all of a kind when they are many."""
        many = {
            what
            for what, count in Counter(entry.what for entry in entries if entry.what in PLAIN).items()
            if count > MANY
        }
        for what in sorted(many):
            log.info("· %d jobs %s", sum(1 for entry in entries if entry.what == what), what.replace("_", " "))
        for entry in entries:
            line = None if entry.what in many else self.line(entry)
            if line is not None:
                trouble = entry.what in ("failed", "blocked", "unknown", "quarantined", "missed", "clock_changed")
                about = {"entry": entry, "job": self._job(entry).strip() or None}
                log.log(logging.WARNING if trouble else logging.INFO, line, extra=about)

    def line(self, entry: Any) -> str | None:
        """One entry as a line, or None when it is only of interest to `horae why`."""
        what, detail = entry.what, entry.detail
        if "target" in detail:
            return self._message(entry)
        if what in SIGNS:
            sign = SIGNS[what]
            if what in ("missed", "skipped"):
                several = f" ({detail['slots']} slots)" if detail.get("slots", 1) > 1 else ""
                return f"{sign} {self._job(entry)}{what}{several}: {detail['reason']}"
            took = f" in {short_duration(detail['took_s'])}" if detail.get("took_s") is not None else ""
            said = (detail.get("says"),) if what == "completed" else (detail.get("reason"), detail.get("says"))
            text = one_line(": ".join(filter(None, said)), SHOWN_CHARS) or "(nothing to say)"
            run = f"  [run {entry.run_id}]" if entry.run_id else ""
            return f"{sign} {self._job(entry)}{what}{took}  {text}{run}"
        if what in PLAIN:
            more = detail.get("problem") or detail.get("reason") or ""
            if what in READ:
                more = f"{detail['meaning']}; next {', '.join(detail['next']) or 'never'}"
            if what == "resolved":
                more = f"run {entry.run_id} as {detail['as']} by {entry.actor}" + (f": {more}" if more else "")
            word = {"completed_job": "completed", "void": "slot void"}.get(what, what)
            return f"· {self._job(entry)}{word}{f': {more}' if more else ''}"
        if what in INCIDENTS:
            more = detail.get("cause") or detail.get("by") or f"by {entry.actor}"
            return f"· {self._job(entry)}{what.replace('_', ' ')} {detail['incident']}: {one_line(more, SHOWN_CHARS)}"
        if what == "clock_changed":
            return clock_words(detail["stepped_s"], detail["slept_s"])
        return None

    def _message(self, entry: Any) -> str | None:
        """What became of a message, where that is not as it should be."""
        what, detail = entry.what, entry.detail
        words = {
            "failed": "refused",
            "unknown": "may have arrived",
            "expired": "given up",
            "delivery_retried": "not taken yet",
            "target_closed": "takes nothing any more",
            "target_opened": f"opened by {entry.actor}",
            "resent": f"sent anew by {entry.actor}",
        }
        if what not in words:
            return None
        reason = one_line(detail.get("reason") or "", SHOWN_CHARS)
        return f"✉ {self._job(entry)}to {detail['target']}: {words[what]}{f': {reason}' if reason else ''}"

    def _job(self, entry: Any) -> str:
        return f"{self._name_of(entry.job_id, entry.what in READ)}  " if entry.job_id else ""


def clock_words(stepped_s: float, slept_s: float) -> str:
    """What happened to the clocks."""
    parts: list[str] = []
    if stepped_s:
        parts.append(f"the clock was set {'forward' if stepped_s > 0 else 'back'} by {short_duration(abs(stepped_s))}")
    if slept_s:
        parts.append(f"the machine slept for {short_duration(slept_s)}")
    return "! " + " and ".join(parts)
