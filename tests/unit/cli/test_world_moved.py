"""Files that are renamed, copied and swapped, and changes that cannot be taken back any more: nothing is lost silently."""

from __future__ import annotations

import re

import pytest

from tests.support.process import TestHome


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Kept")
    return home


def exceptions(home: TestHome) -> list[tuple[str, int]]:
    return home.sql("SELECT exception, slot_at FROM occurrence WHERE exception IS NOT NULL ORDER BY slot_at")


def test_a_renamed_file_keeps_what_was_decided_about_its_slots(kept: TestHome) -> None:
    kept.json("skip", "kept")
    before, id_ = exceptions(kept), kept.jobs()["kept"]["id"]
    kept.file("kept").rename(kept.file("renamed"))
    assert {slug: job["id"] for slug, job in kept.jobs().items()} == {"renamed": id_}
    assert exceptions(kept) == before
    assert kept.json("undo")["what"] == "skip_planned"


def test_a_copy_is_taken_in_once_its_original_has_gone(kept: TestHome) -> None:
    text = kept.file("kept").read_text()
    kept.file("copy").write_text(text)
    assert kept.jobs()["copy"]["state"] == "quarantined"
    kept.file("kept").unlink()
    kept.jobs()
    assert {slug: job["state"] for slug, job in kept.jobs().items()} == {"copy": "active"}


def test_two_files_that_swap_their_names_stay_the_jobs_that_they_were(kept: TestHome) -> None:
    kept.json("add", "every monday at 9am", "--script", "hi.sh", "--name", "Other")
    kept.json("skip", "kept")
    before, ids = exceptions(kept), {slug: job["id"] for slug, job in kept.jobs().items()}
    kept.file("kept").rename(kept.file("aside").with_suffix(".tmp"))
    kept.file("other").rename(kept.file("kept"))
    kept.file("aside").with_suffix(".tmp").rename(kept.file("other"))
    jobs = kept.jobs()
    assert {slug: (job["id"], job["state"]) for slug, job in jobs.items()} == {
        "kept": (ids["other"], "active"),
        "other": (ids["kept"], "active"),
    }
    assert exceptions(kept) == before


def test_a_file_that_is_given_another_id_is_another_job(kept: TestHome) -> None:
    old = kept.jobs()["kept"]["id"]
    path = kept.file("kept")
    path.write_text(path.read_text().replace(old, "0123456789ab"))
    assert {slug: job["id"] for slug, job in kept.jobs().items()} == {"kept": "0123456789ab"}
    assert kept.sql("SELECT removed_at IS NOT NULL FROM job WHERE id = ?", old) == [(1,)]


def test_an_undo_that_would_break_the_file_is_refused_and_changes_nothing(home: TestHome) -> None:
    home.json("add", "in 1s", "--script", "hi.sh", "--name", "Once")
    home.json("edit", "once", "--schedule", "every day at 09:00")
    year = home.jobs()["once"]["next_slot"][:4]
    home.sql_write(
        f"UPDATE journal SET detail = replace(detail, '{year}-', '1999-') WHERE what = 'edited'"
    )  # long past
    before = home.file("once").read_bytes()
    assert "cannot be any more" in home.error("undo", status=4)["message"]
    assert home.file("once").read_bytes() == before
    assert home.jobs()["once"]["state"] == "active"


def test_an_edit_says_that_skips_go_with_the_schedule_and_its_undo_brings_them_back(kept: TestHome) -> None:
    kept.json("skip", "kept")
    before = exceptions(kept)
    edited = kept.json("edit", "kept", "--schedule", "every day at 10:00")
    assert any("1 skipped or moved slot" in warning for warning in edited["warnings"])
    assert exceptions(kept) == []
    kept.json("undo")
    assert exceptions(kept) == before


def test_a_job_that_was_made_paused_is_unmade_by_one_undo(home: TestHome) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Later", "--paused")
    assert home.jobs()["later"]["state"] == "paused"
    undone = home.json("undo")
    assert undone["what"] == "added"
    assert home.jobs() == {}
    home.json(*undone["undo"].split()[1:])
    assert list(home.jobs()) == ["later"]


def test_pausing_all_is_undone_for_those_that_it_paused(home: TestHome) -> None:
    for name in ("One", "Two", "Three"):
        home.json("add", "every 1h", "--script", "hi.sh", "--name", name)
    home.json("pause", "two", "--reason", "holiday")
    paused = home.json("pause", "--all")
    assert paused["did"] == "paused 2 jobs"
    home.json(*paused["undo"].split()[1:])
    assert {slug: job["state"] for slug, job in home.jobs().items()} == {
        "one": "active", "two": "paused", "three": "active",
    }  # fmt: skip
    assert home.jobs()["two"]["paused"]["reason"] == "holiday"
    assert home.json("undo")["what"] == "paused"  # that of `two`: the next bare undo goes further back


def test_a_slot_whose_own_time_has_passed_is_not_put_back(kept: TestHome) -> None:
    kept.json("move", "kept", "next", "--to", "in 2h")
    kept.sql_write("UPDATE journal SET detail = json_set(detail, '$.undo.slot_at', 1000000) WHERE what = 'moved'")
    error = kept.error("undo", status=4)
    assert "would run at once" in error["message"]
    assert "horae move" in error["hint"]


@pytest.mark.parametrize("name", ["~foo.md", "#x#.md", ".hidden.md", "x" * 230 + ".md"])
def test_what_cannot_be_a_job_file_is_none(kept: TestHome, name: str) -> None:
    (kept.path / "jobs" / name).write_text(kept.file("kept").read_text())
    assert list(kept.jobs()) == ["kept"]


def test_from_is_the_first_instant_that_counts(kept: TestHome) -> None:
    asked = ("next", "--schedule", "0 0 * * *", "--timezone", "UTC", "--from", "2027-03-27", "-n", "1")
    assert [slot["slot"] for slot in kept.json(*asked)["slots"]] == ["2027-03-27T00:00:00+00:00"]


def test_without_a_gateway_the_list_says_that_nothing_fires(kept: TestHome) -> None:
    assert "no gateway is running" in kept.horae("list").err


def test_the_log_of_a_job_is_that_of_its_latest_run(kept: TestHome) -> None:
    assert "has not run yet" in kept.error("log", "kept", status=3)["message"]
    assert "no run has the id" in kept.error("log", "nobody", status=3)["message"]


def test_a_file_without_an_id_is_given_its_zone_too(home: TestHome) -> None:
    home.write("bare", script="hi.sh")
    zone = home.jobs()["bare"]["timezone"]
    assert re.search(rf"^timezone: {zone}$", home.file("bare").read_text(), re.MULTILINE)


def test_nothing_of_a_run_can_be_cancelled_without_a_gateway(kept: TestHome) -> None:
    assert "no run has the id" in kept.error("cancel", "abc", status=3)["message"]


def test_why_says_what_was_decided_about_a_slot_to_come(kept: TestHome) -> None:
    kept.json("skip", "kept")
    kept.json("move", "kept", "next", "--to", "in 2h")
    said = kept.horae("why", "kept").out
    assert "planned, will be skipped" in said
    assert re.search(r"planned, moved to \d{4}-\d\d-\d\dT", said)


def test_who_did_it_is_a_name_even_where_the_environment_has_none(kept: TestHome) -> None:
    kept.horae("pause", "kept", USER="", LOGNAME="", SUDO_USER="")
    who = kept.jobs()["kept"]["paused"]["by"]
    assert who
    assert not who.startswith("uid ")
