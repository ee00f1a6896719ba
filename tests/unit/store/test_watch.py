"""The watch of the folder of job files: from when on nothing is missed. What it tells is tried in integration/test_edits."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

import pytest
from watchfiles._rust_notify import RustNotify

from horae.store import watch

PATIENCE_S = 20


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Begins to watch only when it is let; says when it is about to."""
    about, let = threading.Event(), threading.Event()

    def late(*args, **kwargs) -> RustNotify:
        about.set()
        assert let.wait(PATIENCE_S)
        return RustNotify(*args, **kwargs)

    monkeypatch.setattr(watch, "RustNotify", late)
    return about, let


def test_it_has_begun_when_start_returns(tmp_path: Path, gate) -> None:
    about, let = gate
    told: queue.Queue[list[str] | None] = queue.Queue()
    folder = watch.FolderWatch(str(tmp_path), told.put)
    starting = threading.Thread(target=folder.start)
    starting.start()
    assert about.wait(PATIENCE_S)
    starting.join(0.05)
    assert starting.is_alive()
    let.set()
    starting.join(PATIENCE_S)
    (tmp_path / "tides.md").write_text("x")
    assert told.get(timeout=PATIENCE_S) == ["tides"]
    folder.close()


def test_what_changed_until_it_watches_again_is_looked_for(tmp_path: Path, gate) -> None:
    about, let = gate
    let.set()
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    told: queue.Queue[list[str] | None] = queue.Queue()
    folder = watch.FolderWatch(str(jobs), told.put)
    folder.start()
    let.clear()
    about.clear()
    jobs.rename(tmp_path / "away")
    jobs.mkdir()
    assert about.wait(PATIENCE_S)
    assert told.empty()  # nobody looks before it would see what comes next
    let.set()
    assert told.get(timeout=PATIENCE_S) is None
    folder.close()


def test_a_folder_that_cannot_be_watched_does_not_hold_anybody_up(tmp_path: Path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(watch, "POLL_S", 0.01)
    told: queue.Queue[list[str] | None] = queue.Queue()
    folder = watch.FolderWatch(str(tmp_path / "nowhere"), told.put)
    folder.start()
    assert told.get(timeout=PATIENCE_S) is None
    folder.close()
    assert "cannot be watched" in caplog.text
