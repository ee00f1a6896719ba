"""Removed jobs leave a tombstone: no stale hand brings one back, only a file that a person puts there again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest import mock

import pytest

from horae.store.jobfolder import JobFolder
from tests.support.builders import at
from tests.support.hand import by_hand
from tests.support.process import TestHome


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Tides")
    return home


def reading(home: TestHome, meanwhile: Callable[[], object]) -> AbstractContextManager[object]:
    """While the job's file is being read for the first time, something else is done."""
    read, done = JobFolder.read, list[str]()

    def slow(folder: JobFolder, slug: str) -> str:
        text = read(folder, slug)
        if slug == "tides" and not done:
            done.append(slug)
            meanwhile()
        return text

    return mock.patch.object(JobFolder, "read", slow)


@pytest.mark.parametrize("text", ["changed", "broken"])
def test_O12_a_file_that_was_read_before_its_job_was_removed_brings_nothing_back(kept: TestHome, text: str) -> None:
    path = kept.file("tides")
    path.write_text(path.read_text().replace(*{"changed": ("04:00", "05:00"), "broken": ("schedule", "shedule")}[text]))
    with reading(kept, lambda: kept.json("remove", "tides")):
        assert kept.json("list", "--all")["jobs"] == []
    assert kept.jobs() == {}
    assert kept.sql("SELECT what FROM journal WHERE what = 'restored'") == []
    assert kept.sql("SELECT key FROM occurrence WHERE state <> 'settled'") == []
    assert kept.sql("SELECT count(*) FROM job WHERE removed_at IS NULL") == [(0,)]


def test_O12_a_file_that_was_put_back_while_it_was_read_is_taken_in(kept: TestHome) -> None:
    path, aside = kept.file("tides"), kept.path / "aside.md"
    text = path.read_text().replace("04:00", "05:00")
    path.write_text(text)

    def away_and_back() -> None:
        shutil.copy(path, aside)
        kept.json("remove", "tides")
        aside.rename(path)

    with reading(kept, away_and_back):
        kept.json("list")
    assert kept.jobs()["tides"]["meaning"] == "at 05:00 every day"
    assert kept.file("tides").read_text() == text


def test_O12_a_file_that_is_put_there_again_restores_its_job_with_its_history(home: TestHome) -> None:
    with by_hand(home, at("08:00")) as hand:
        home.json("add", "* * * * *", "--script", "hi.sh", "--name", "Tides", "--timezone", "UTC")
        hand.carry_out(at("08:01"))
        path, aside = home.file("tides"), home.path / "tides.md"
        job_id, run = home.jobs()["tides"]["id"], home.runs("tides")[0]["id"]
        path.rename(aside)
        assert home.jobs() == {}
        assert home.error("show", "tides", status=3)["code"] == "not_found"
        assert home.error("show", job_id, status=3)["code"] == "not_found"
        assert hand.carry_out(at("08:10")) == []
        hand.at(at("08:10:30"))
        aside.rename(path)  # the very same file: its name, its date, its place on the disk
        job = home.jobs()["tides"]
        assert (job["id"], job["state"], job["next_slot"][11:16]) == (job_id, "active", "08:11")
        assert [one["id"] for one in home.runs("tides")] == [run]
        assert home.sql("SELECT count(*) FROM journal WHERE what = 'restored'") == [(1,)]
        assert home.sql("SELECT count(*) FROM occurrence WHERE outcome = 'missed'") == [(0,)]


def test_O12_an_order_that_waits_goes_with_its_job(kept: TestHome) -> None:
    run = kept.json("run", "tides")["run_id"]
    kept.json("remove", "tides")
    assert kept.sql("SELECT outcome, reason FROM occurrence WHERE run_id = ?", run) == [("void", "the job was removed")]
    kept.json("undo")
    assert kept.jobs()["tides"]["state"] == "active"
    with by_hand(kept, at("08:00", day=31)) as hand:
        assert [claim.trigger for claim in hand.claim()] == [], "it is no order of the job that came back"


DONE_BEFORE = (
    ("pause", "tides"),
    ("skip", "tides"),
    ("move", "tides", "next", "--to", "in 2h"),
    ("edit", "tides", "--limit", "wall=1m"),
)


@pytest.mark.parametrize("words", DONE_BEFORE)
def test_O12_an_undo_of_what_was_done_before_does_not_bring_it_back(kept: TestHome, words: tuple[str, ...]) -> None:
    answer = kept.json(*words)
    entry = answer["entry"] if "entry" in answer else answer["jobs"][0]["entry"]
    kept.json("remove", "tides")
    error = kept.error("undo", str(entry), status=6 if words[0] == "edit" else 4)
    assert "removed" in error["message"] or "changed after" in error["message"]
    assert kept.jobs() == {}
    assert kept.digests() == {}
    kept.json("undo")
    assert kept.jobs()["tides"]["state"] == ("paused" if words[0] == "pause" else "active")
    kept.json("undo", str(entry))


def test_O12_all_at_once_leaves_out_what_was_removed(kept: TestHome) -> None:
    kept.json("add", "every 1h", "--script", "hi.sh", "--name", "Other")
    kept.json("pause", "--all")
    kept.json("remove", "tides")
    assert kept.json("resume", "--all")["did"] == "resumed 1 job"
    entry = kept.sql("SELECT seq FROM journal WHERE what = 'paused_all'")[0][0]
    assert kept.json("undo", str(entry))["did"] == "resumed 0 jobs"
    assert sorted(kept.jobs()) == ["other"]


LOOKS = (("show",), ("run",), ("run", "--dry"), ("resume",), ("remove",), ("next",), ("check",), ("edit", "--name=X"))


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_whoever_asks_for_a_removed_job_is_told_when_it_went_and_what_still_answers(
    kept: TestHome, words: tuple[str, ...]
) -> None:
    job_id = kept.jobs()["tides"]["id"]
    kept.json("remove", "tides")
    for name, there in (("tides", "tides"), ("Tides", "tides"), (job_id, job_id)):
        error = kept.error(words[0], name, *words[1:], status=3)
        assert error["message"] == f"no job has the id, slug or name {name!r}"
        assert error["hint"].startswith("tides was removed at 2")
        assert f"`horae why {there}` and `horae runs {there}` still answer" in error["hint"]
        assert "`horae undo` or its file put back brings it back" in error["hint"]
    assert kept.error(words[0], "nobody", *words[1:], status=3)["hint"] == "`horae list --all` shows them all"


def test_the_id_of_a_removed_job_is_named_where_another_has_its_name_now(kept: TestHome) -> None:
    job_id = kept.jobs()["tides"]["id"]
    kept.json("remove", "tides")
    kept.json("add", "every day at 05:00", "--script", "hi.sh", "--name", "Tides")
    assert f"`horae why {job_id}`" in kept.error("show", job_id[:9], status=3)["hint"]


def test_of_a_removed_job_nothing_is_promised(kept: TestHome) -> None:
    kept.json("remove", "tides")
    error = kept.error("log", "tides", status=3)
    assert error["message"] == "tides has never run"
    assert "it was removed at 2" in error["hint"]
    assert "horae next" not in error["hint"]
    error = kept.error("why", "tides", "next", status=3)
    assert error["message"].startswith("tides has no next slot: it was removed at 2")
    assert "`horae why tides`" in error["hint"]
    kept.sql_write("DELETE FROM occurrence")
    said = kept.horae("why", "tides").out
    assert "nothing: it never had a slot" in said
    assert "horae next" not in said
