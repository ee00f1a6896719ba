"""What the log says of journal entries: one line for what a person wants to see, one for a crowd, none for the rest."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from horae.log import MANY, Narrator, clock_words
from horae.store.journal import Entry

RESOLVED: dict[str, Any] = {"as": "failed"}
READING = {"meaning": "every hour", "next": ["2026-12-01T09:00:00+01:00"]}


HOSTILE = "✗ tides  failed in 2.0 s  exit status 3: no\\x1b[2J"


def entry(what: str, seq: int = 1, **detail: Any) -> Entry:
    return Entry(seq, 0, "gateway", what, "0c1d2e3f4a5b", "k" * 32, "r1", detail)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("horae"), "propagate", True)
    caplog.set_level(logging.INFO, "horae")
    return caplog


def tell(*entries: Entry) -> None:
    Narrator(lambda _job_id, _fresh: "tides").tell(entries)


@pytest.mark.parametrize(
    ("told", "line", "level"),
    [
        (entry("completed", took_s=0.012, says="low", reason="exit status 0"), "✓ tides  completed in 12 ms  low", "INFO"),
        (entry("failed", took_s=2.0, says="no\x1b[2J", reason="exit status 3"), HOSTILE, "WARNING"),
        (entry("missed", reason="nothing was running", slots=40), "! tides  missed (40 slots): nothing was running", "WARNING"),
        (entry("changed", **READING), "· tides  changed: every hour; next 2026-12-01T09:00:00+01:00", "INFO"),
        (entry("resolved", reason="seen", **RESOLVED), "· tides  resolved: run r1 as failed by gateway: seen", "INFO"),
        (entry("quarantined", problem="line 2: no"), "· tides  quarantined: line 2: no", "WARNING"),
    ],
)  # fmt: skip
def test_a_line(said: pytest.LogCaptureFixture, told: Entry, line: str, level: str) -> None:
    tell(told)
    ((_, number, text),) = said.record_tuples
    assert text.startswith(line)
    assert logging.getLevelName(number) == level


def test_what_only_why_needs_is_not_said(said: pytest.LogCaptureFixture) -> None:
    tell(entry("planned"), entry("claimed"), entry("started"), entry("delivered"))
    assert said.records == []


def test_a_folder_that_is_read_for_the_first_time_is_one_line(said: pytest.LogCaptureFixture) -> None:
    crowd = [entry("created", seq, **READING) for seq in range(MANY + 1)]
    tell(*crowd, entry("failed", took_s=1.0, says="", reason="exit status 1"))
    assert [record.message.split("  ")[0] for record in said.records] == [f"· {MANY + 1} jobs created", "✗ tides"]


def test_a_few_are_named_one_by_one(said: pytest.LogCaptureFixture) -> None:
    tell(*(entry("created", seq, **READING) for seq in range(MANY)))
    assert len(said.records) == MANY


def test_what_happened_to_the_clocks() -> None:
    assert clock_words(-3600.0, 0.0) == "! the clock was set back by 1 h 0 min"
    assert clock_words(90.0, 7200.0) == "! the clock was set forward by 1 min 30 s and the machine slept for 2 h 0 min"
