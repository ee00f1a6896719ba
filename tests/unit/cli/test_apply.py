"""`apply` and `diff`: a folder of job files beside a home. What is shown is what is done, and only once."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from horae.store.jobfolder import JobFolder
from tests.support.builders import at
from tests.support.hand import by_hand
from tests.support.process import Answer, TestHome, without_id

ID, OTHER = "0c1d2e3f4a5b", "aaaaaaaaaaaa"
SHAPE = {"op", "origin", "target", "reason", "effect", "held"}


class Team:
    """A folder of job files that somebody hands in. It must never be written to."""

    def __init__(self, home: TestHome, path: Path) -> None:
        self.home, self.path = home, path
        (path / "jobs").mkdir(parents=True)
        (path / "scripts").mkdir()

    def job(self, slug: str, **keys: object) -> Path:
        given = {"schedule": "every day at 09:00", "agent": "false", "script": "hi.sh", **keys}
        path = self.path / "jobs" / f"{slug}.md"
        path.write_text("---\n" + "".join(f"{key}: {value}\n" for key, value in given.items() if value) + "---\n")
        return path

    def digests(self) -> dict[str, str]:
        return {
            str(path): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mtime_ns}"
            for path in sorted(self.path.rglob("*"))
            if path.is_file()
        }

    def ask(self, *words: str, status: int = 0) -> dict:
        """One of the two commands with the folder; whatever it answers, the folder is as it was."""
        before = self.digests()
        answer = self.home.json(words[0], str(self.path), *words[1:], status=status)
        assert self.digests() == before
        return answer

    def said(self, *words: str, status: int = 0) -> Answer:
        return self.home.horae(words[0], str(self.path), *words[1:], status=status)


@pytest.fixture
def team(home: TestHome, tmp_path: Path) -> Team:
    return Team(home, tmp_path / "team")


def ops(items: list[dict]) -> list[tuple[str, str]]:
    return [(item["op"], item["target"]) for item in items]


def home_of(home: TestHome) -> tuple:
    return (
        home.digests(),
        home.sql("SELECT * FROM job"),
        home.sql("SELECT * FROM occurrence"),
        home.sql("SELECT * FROM journal"),
    )


# ── what is shown and what is done


def test_a_plan_is_shown_and_only_confirm_carries_it_out(team: Team) -> None:
    home = team.home
    home.json("list")
    team.job("tides", name="Tides")
    (team.path / "scripts" / "new.sh").write_text("echo new\n")
    before = home_of(home)
    shown = team.ask("apply")
    assert home_of(home) == before, "a dry run writes nothing"
    assert ops(shown["plan"]) == [("create", "scripts/new.sh"), ("create", "jobs/tides.md")]
    assert (shown["applied"], shown["held"], shown["refused"]) == ([], [], [])
    for item in shown["plan"]:
        assert set(item) >= SHAPE
        assert item["held"] is False
        assert item["origin"].startswith(str(team.path))
    job = shown["plan"][1]
    assert job["effect"].startswith("runs at 09:00 every day (Europe/Paris); next ")
    assert len(job["after"]["slots"]) == 3
    assert job["before"] is None
    done = team.ask("apply", "--confirm")
    assert ops(done["applied"]) == ops(shown["plan"])
    assert home.jobs()["tides"]["meaning"] == "at 09:00 every day"
    assert (home.path / "scripts" / "new.sh").read_text() == "echo new\n"


def test_the_homes_copy_gets_an_id_and_a_zone_and_nothing_else(team: Team) -> None:
    home = team.home
    head = "# of the harbour\nname: Tides  # free\nschedule: every day at 09:00\nagent: false\nscript: hi.sh\n"
    text = f"---\n{head}---\n<!-- kept -->\n"
    (team.path / "jobs" / "tides.md").write_text(text)
    team.ask("apply", "--confirm")
    job_id = home.jobs()["tides"]["id"]
    copy = home.file("tides").read_text()
    assert job_id in copy
    assert without_id(copy).replace("timezone: Europe/Paris\n", "") == text
    assert home.sql("SELECT actor FROM journal WHERE what = 'created'") == [("ann",)]


def test_applying_twice_does_nothing_the_second_time(team: Team) -> None:
    home = team.home
    team.job("tides")
    team.job("zoned", timezone="Asia/Tokyo", id=ID)
    team.job("once", schedule="in 2h")
    team.job("counted", schedule="every 90 minutes", repeat="3")
    (team.path / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    (team.path / "scripts" / "run.sh").chmod(0o755)
    assert len(team.ask("apply", "--confirm")["applied"]) == 5
    before = home_of(home)
    again = team.ask("apply", "--confirm")
    assert (again["plan"], again["applied"], again["held"], again["refused"]) == ([], [], [], [])
    assert "nothing that differs" in again["did"]
    assert home_of(home) == before
    home.config('timezone = "Asia/Tokyo"\n')
    assert team.ask("apply")["plan"] == [], "a zone that was once given stays"
    assert team.ask("diff") == {**team.ask("diff"), "same": True, "plan": []}


def test_what_changes_in_the_schedule_is_told_with_the_runs_before_and_after(team: Team) -> None:
    home = team.home
    with by_hand(home, at("08:00")):
        team.job("tides", timezone="UTC")
        team.ask("apply", "--confirm")
        home.json("skip", "tides", "2026-03-03T09:00")
        home.json("move", "tides", "2026-03-04T09:00", "--to", "2026-03-04T10:00")
        team.job("tides", timezone="UTC", schedule="0 9,12 3 * *")
        (item,) = team.ask("diff", status=1)["plan"]
        assert item["op"] == "change"
        assert "instead of at 09:00 every day (UTC)" in item["effect"]
        assert item["effect"].endswith("1 skipped or moved slot(s) still apply; 1 skipped or moved slot(s) become void")
        assert [slot["due"][:16] for slot in item["before"]["slots"]] == [
            "2026-03-02T09:00",
            "2026-03-03T09:00",
            "2026-03-04T10:00",
        ]
        assert [(slot["slot"][:16], slot["note"]) for slot in item["after"]["slots"]] == [
            ("2026-03-03T09:00", "skipped"),
            ("2026-03-03T12:00", None),
            ("2026-04-03T09:00", None),
        ]
        assert [entry["kind"] for entry in item["exceptions"]["kept"]] == ["skip"]
        assert [entry["to"] for entry in item["exceptions"]["void"]] == ["2026-03-04T10:00:00+00:00"]
        assert "-schedule: every day at 09:00\n+schedule: 0 9,12 3 * *" in item["diff"]
        said = team.said("diff", status=1).out
        for words in (
            "next runs now:",
            "next runs then:",
            "-schedule: every day at 09:00",
            "still applies: 2026-03-03T09:00",
        ):
            assert words in said
        team.ask("apply", "--confirm")
        slots = home.json("next", "tides")["slots"]
        assert [(slot["slot"], slot["key"]) for slot in slots[:3]] == [
            (slot["slot"], slot["key"]) for slot in item["after"]["slots"]
        ], "what was shown is what is there"


def test_a_change_of_anything_else_changes_no_slot(team: Team) -> None:
    home = team.home
    team.job("tides")
    team.ask("apply", "--confirm")
    home.json("skip", "tides")
    path = team.job("tides", deliver="[local]", limits="{wall: 5m}")
    before = home.sql("SELECT key, exception FROM occurrence")
    (item,) = team.ask("apply", "--confirm")["applied"]
    assert item["effect"] == "no slot changes; limits differs"
    assert (item["exceptions"], item["before"]) == (None, item["after"])
    assert home.sql("SELECT key, exception FROM occurrence") == before
    path.write_text(path.read_text().replace("---\n", "---\n# a word\n", 1))
    (item,) = team.ask("apply", "--confirm")["applied"]
    assert item["effect"] == "no slot changes; only its comments or its layout differ"
    assert "# a word" in home.file("tides").read_text()


def test_the_exit_status_tells_whether_they_differ(team: Team) -> None:
    team.job("tides")
    assert team.ask("diff", status=1)["same"] is False
    team.ask("apply", status=0)
    team.ask("apply", "--confirm", status=0)
    assert team.said("diff").out == f"nothing differs from {team.path}\n"
    team.home.json("edit", "tides", "--limit", "wall=5m")
    (item,) = team.ask("diff", status=1)["plan"]
    assert "-limits:" in item["diff"]


def test_a_flat_folder_and_a_name_as_it_was_typed(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = team.path / "flat"
    flat.mkdir()
    team.job("tides").rename(flat / "tides.md")
    monkeypatch.chdir(team.path)
    (item,) = team.home.json("apply", "flat/", "--confirm")["applied"]
    assert item["origin"] == "flat/tides.md"
    assert (
        "horae apply flat --confirm" in team.home.horae("apply", "flat").out
        or team.home.json("apply", "flat")["plan"] == []
    )


# ── which job a file stands for


def test_a_job_is_found_by_its_id_and_renamed(team: Team) -> None:
    home = team.home
    home.write("ebb", id=ID, script="hi.sh", schedule="every day at 09:00", timezone="Europe/Paris")
    run = home.json("run", "ebb")["run_id"]
    home.json("skip", "ebb")
    before = home.sql("SELECT key, exception FROM occurrence ORDER BY key")
    team.job("tides", id=ID, timezone="Europe/Paris")
    (item,) = team.ask("apply")["plan"]
    assert (item["op"], item["reason"]) == ("rename", "its job is jobs/ebb.md here")
    team.ask("apply", "--confirm")
    assert {slug: job["id"] for slug, job in home.jobs().items()} == {"tides": ID}
    assert list(home.digests()) == ["tides.md"]
    assert home.sql("SELECT key, exception FROM occurrence ORDER BY key") == before, "its slots and orders stay"
    assert home.sql("SELECT run_id FROM occurrence WHERE run_id IS NOT NULL") == [(run,)]
    assert home.sql("SELECT what FROM journal WHERE what IN ('removed', 'restored')") == []
    assert team.ask("diff")["same"]


def test_jobs_exchange_their_names(team: Team) -> None:
    home = team.home
    home.write("one", id=ID, script="hi.sh", schedule="every day at 09:00", timezone="Europe/Paris")
    home.write("two", id=OTHER, script="hi.sh", schedule="every day at 10:00", timezone="Europe/Paris")
    home.json("list")
    team.job("one", id=OTHER, schedule="every day at 10:00", timezone="Europe/Paris")
    team.job("two", id=ID, schedule="every day at 09:00", timezone="Europe/Paris")
    assert [item["op"] for item in team.ask("apply", "--confirm")["applied"]] == ["rename", "rename"]
    assert {slug: job["id"] for slug, job in home.jobs().items()} == {"one": OTHER, "two": ID}
    assert home.jobs()["one"]["meaning"] == "at 10:00 every day"
    assert home.sql("SELECT what FROM journal WHERE what IN ('removed', 'restored', 'quarantined')") == []


def test_a_job_is_found_by_its_name_and_keeps_its_id(team: Team) -> None:
    home = team.home
    home.write("tides", id=ID, script="hi.sh", schedule="every day at 09:00", timezone="Europe/Paris")
    home.json("list")
    team.job("tides", id=OTHER, schedule="every day at 10:00")
    (item,) = team.ask("apply", "--confirm")["applied"]
    assert item["reason"] == f"the job of that name differs; it keeps its id {ID}"
    assert home.jobs()["tides"]["id"] == ID
    assert f"id: {ID}\n" in home.file("tides").read_text()
    assert team.ask("diff")["same"]


def test_a_name_that_another_job_has_is_refused(team: Team) -> None:
    home = team.home
    home.write("ebb", id=ID, script="hi.sh")
    home.write("tides", id=OTHER, script="hi.sh")
    home.json("list")
    team.job("tides", id=ID)
    answer = team.ask("apply", "--confirm", status=1)
    (refused,) = answer["refused"]
    assert "jobs/tides.md is another job here (id aaaaaaaaaaaa)" in refused["reason"]
    assert refused["error"]["details"]["line"] == 5
    assert {slug: job["id"] for slug, job in home.jobs().items()} == {"ebb": ID, "tides": OTHER}


def test_a_name_whose_job_is_refused_stays_taken(team: Team) -> None:
    home = team.home
    home.write("flow", id=ID, script="hi.sh", schedule="every day at 09:00", timezone="Europe/Paris")
    home.json("list")
    team.job("ebb", id=ID, schedule="2020-01-01T00:00")
    team.job("flow", id=OTHER, timezone="Europe/Paris")
    answer = team.ask("apply", "--confirm", status=1)
    assert sorted(item["target"] for item in answer["refused"]) == ["jobs/ebb.md", "jobs/flow.md"]
    assert {slug: job["id"] for slug, job in home.jobs().items()} == {"flow": ID}


def test_names_are_handed_on_from_job_to_job(team: Team) -> None:
    home = team.home
    ids = {"a": ID, "b": OTHER, "c": "cccccccccccc"}
    for slug, job_id in ids.items():
        home.write(slug, id=job_id, script="hi.sh", schedule="every day at 09:00", timezone="Europe/Paris")
    home.json("list")
    for slug, job_id in zip(("b", "c", "d"), ids.values(), strict=True):
        team.job(slug, id=job_id, timezone="Europe/Paris")
    assert len(team.ask("apply", "--confirm")["applied"]) == 3
    assert {slug: job["id"] for slug, job in home.jobs().items()} == dict(zip("bcd", ids.values(), strict=True))
    assert home.sql("SELECT what FROM journal WHERE what IN ('removed', 'restored', 'quarantined')") == []
    assert team.ask("diff")["same"]


def test_a_file_that_is_the_same_and_broken_is_refused_too(team: Team) -> None:
    team.home.write("once", schedule="2020-01-01T00:00", script="hi.sh", id=ID, timezone="Europe/Paris")
    assert team.home.jobs()["once"]["state"] == "quarantined"
    (team.path / "jobs" / "once.md").write_text(team.home.file("once").read_text())
    (refused,) = team.ask("diff", status=1)["refused"]
    assert "is in the past" in refused["reason"]


def test_O12_a_removed_job_is_restored_by_a_file_that_a_person_applies(team: Team) -> None:
    home = team.home
    home.write("tides", id=ID, script="hi.sh", schedule="every day at 09:00")
    home.json("list")
    home.json("remove", "tides")
    team.job("tides", id=ID)
    (item,) = team.ask("apply", "--confirm")["applied"]
    assert (item["op"], item["reason"]) == ("restore", "its job was removed here")
    assert home.jobs()["tides"]["id"] == ID
    assert home.sql("SELECT count(*) FROM journal WHERE what = 'restored'") == [(1,)]


def test_O14_a_completed_job_is_revived_by_a_new_schedule_alone(team: Team) -> None:
    home = team.home
    with by_hand(home, at("08:00")) as hand:
        team.job("once", schedule="2026-03-02T08:10", timezone="UTC")
        team.ask("apply", "--confirm")
        hand.carry_out(at("08:10"))
        assert team.ask("diff")["same"], "that it has run is no difference"
        team.job("once", schedule="2026-03-02T08:10", timezone="UTC", limits="{wall: 5m}")
        (item,) = team.ask("apply", "--confirm")["applied"]
        assert item["effect"] == "it stays completed; limits differs"
        team.job("once", schedule="2026-03-02T08:10", timezone="UTC", repeat="3")
        (refused,) = team.ask("apply", "--confirm", status=1)["refused"]
        assert refused["reason"].endswith("a new schedule is needed")
        assert home.jobs()["once"]["state"] == "completed"
        team.job("once", schedule="0 12 * * *", timezone="UTC")
        (item,) = team.ask("apply", "--confirm")["applied"]
        assert item["effect"].startswith("is revived: runs at 12:00 every day (UTC)")
        assert home.jobs()["once"]["state"] == "active"


# ── what is refused and what is held


def test_an_invalid_file_is_refused_with_line_and_key_and_harms_no_other(team: Team) -> None:
    home = team.home
    team.job("good")
    bad = {
        "blue": ("every blue moon", "schedule", 2),
        "past": ("2020-01-01T00:00", "schedule", 2),
        "never": ("0 0 31 2 *", "schedule", 2),
    }
    for slug, (schedule, _, _) in bad.items():
        team.job(slug, schedule=schedule)
    team.job("key", shedule="x")
    (team.path / "jobs" / "none.md").write_text("just words\n")
    (team.path / "jobs" / "latin.md").write_bytes(b"---\nschedule: \xe9\n---\n")
    (team.path / "scripts" / "program").write_bytes(b"\x7fELF\xff")
    answer = team.ask("apply", "--confirm", status=1)
    assert ops(answer["applied"]) == [("create", "jobs/good.md")]
    refused = {item["target"]: item for item in answer["refused"]}
    assert set(refused) == {f"jobs/{slug}.md" for slug in (*bad, "key", "none", "latin")} | {"scripts/program"}
    for slug, (_, key, line) in bad.items():
        item = refused[f"jobs/{slug}.md"]
        origin = f"{team.path}/jobs/{slug}.md"
        assert {"file": origin, "line": line, "key": key}.items() <= item["error"]["details"].items(), item
        assert item["reason"].startswith(f"{origin}, line {line}: "), item
        assert set(item) >= SHAPE
    assert refused["jobs/key.md"]["error"]["details"]["key"] == "shedule"
    assert list(home.jobs()) == ["good"]
    said = team.said("apply", status=1).out
    assert f"refused {team.path}/jobs/blue.md, line 2: `schedule`" in said


def test_a_plan_promises_no_new_name_that_cannot_be(team: Team) -> None:
    team.job("Harbour Tides")
    team.job("fine")
    shown = team.ask("apply", status=1)
    assert ops(shown["plan"]) == [("create", "jobs/fine.md")]
    assert [item["target"] for item in shown["refused"]] == ["jobs/Harbour Tides.md"]
    assert "cannot be the name" in shown["refused"][0]["error"]["message"]
    assert [item["target"] for item in team.ask("apply", "--confirm", status=1)["applied"]] == ["jobs/fine.md"]


def test_a_script_that_is_refused_does_not_come_along(team: Team) -> None:
    (team.path / "scripts" / "out.sh").symlink_to("/etc/passwd")
    team.job("leads", script="out.sh")
    shown = team.ask("apply", status=1)
    assert [item["target"] for item in shown["refused"]] == ["scripts/out.sh"]
    (step,) = shown["plan"]
    assert any("out.sh" in warning for warning in step["warnings"])


@pytest.mark.parametrize("name", [b"b\xff.md", b"b\n.md", b"b" * 230 + b".md"])
def test_nothing_is_removed_for_a_file_whose_name_cannot_be_one(team: Team, name: bytes) -> None:
    team.job("a")
    team.job("b")
    team.ask("apply", "--confirm")
    os.rename(team.path / "jobs" / "b.md", os.fsencode(team.path / "jobs") + b"/" + name)
    shown = team.ask("apply", "--prune", status=1)
    assert [(item["target"], item["held"]) for item in shown["plan"]] == [("jobs/b.md", True)]
    (refused,) = shown["refused"]
    assert "its name is not one" in refused["error"]["message"]


def test_an_empty_name_is_no_folder(team: Team) -> None:
    assert "DIR is empty" in team.home.error("apply", "", status=2)["message"]


def test_what_is_refused_is_named_where_it_was_handed_in(team: Team) -> None:
    (team.path / "jobs" / "bin.md").write_bytes(b"---\nname: a\n\xff\n---\n")
    (refused,) = team.ask("apply", status=1)["refused"]
    assert refused["error"]["message"].startswith(f"{team.path}/jobs/bin.md, line 3: ")
    assert "has nothing that differs" not in team.said("apply", status=1).out


def test_a_script_is_named_on_one_line(team: Team) -> None:
    (team.path / "scripts" / "a\nb\x1b[2J.sh").write_text("true\n")
    team.job("fine")
    said = team.said("apply").out
    assert "create scripts/a b\\x1b[2J.sh: " in said
    assert "\x1b" not in said


def test_two_files_with_one_id(team: Team) -> None:
    team.job("a", id=ID)
    team.job("b", id=ID)
    answer = team.ask("apply", "--confirm", status=1)
    assert ops(answer["applied"]) == [("create", "jobs/a.md")]
    (refused,) = answer["refused"]
    assert f"id {ID} is that of {team.path}/jobs/a.md too" in refused["reason"]


def test_only_prune_removes_and_says_which_jobs_are_only_here(team: Team) -> None:
    home = team.home
    for slug in ("mine", "tides"):
        home.write(slug, script="hi.sh", schedule="every day at 09:00", timezone="Europe/Paris")
    home.json("list")
    team.job("tides", timezone="Europe/Paris")
    answer = team.ask("apply", "--confirm")
    assert (answer["plan"], answer["only_here"]) == ([], ["mine"])
    assert sorted(home.jobs()) == ["mine", "tides"]
    assert team.ask("diff")["same"], "without --prune it is no difference"
    assert "only here: mine" in team.said("diff").err
    assert ops(team.ask("diff", "--prune", status=1)["plan"]) == [("remove", "jobs/mine.md")]
    (item,) = team.ask("apply", "--prune", "--confirm")["applied"]
    assert (item["op"], item["origin"], item["target"]) == ("remove", None, "jobs/mine.md")
    assert sorted(home.jobs()) == ["tides"]
    home.json(*item["undo"].split()[1:])
    assert sorted(home.jobs()) == ["mine", "tides"]


def test_many_removals_at_once_are_held_until_they_are_forced(team: Team) -> None:
    home = team.home
    for number in range(10):
        home.write(f"job-{number}", script="hi.sh", schedule="every day at 09:00")
    home.json("list")
    team.job("tides")
    answer = team.ask("apply", "--prune", "--confirm", status=1)
    assert ops(answer["applied"]) == [("create", "jobs/tides.md")], "the rest is done"
    assert len(answer["held"]) == 10
    assert all(item["held"] and "--force" in item["reason"] for item in answer["held"])
    assert len(home.jobs()) == 11
    assert "held jobs/job-0.md: " in team.said("apply", "--prune", status=1).out
    assert len(team.ask("apply", "--prune", "--force", "--confirm")["applied"]) == 10
    assert list(home.jobs()) == ["tides"]


def test_nothing_is_removed_while_a_file_cannot_be_read(team: Team) -> None:
    """The broken file may be that very job under another name."""
    home = team.home
    home.write("mine", id=ID, script="hi.sh", schedule="every day at 09:00")
    home.json("list")
    team.job("renamed", id=ID, schedule="every blue moon")
    answer = team.ask("apply", "--prune", "--force", "--confirm", status=1)
    (held,) = answer["held"]
    assert "held until every file" in held["reason"]
    assert list(home.jobs()) == ["mine"]


def test_a_name_is_free_once_its_job_is_pruned(team: Team) -> None:
    home = team.home
    home.write("ebb", id=ID, script="hi.sh")
    home.write("tides", id=OTHER, script="hi.sh")
    home.json("list")
    team.job("tides", id=ID)
    assert sorted(ops(team.ask("apply", "--prune", "--confirm")["applied"])) == [
        ("remove", "jobs/tides.md"),
        ("rename", "jobs/tides.md"),
    ]
    assert {slug: job["id"] for slug, job in home.jobs().items()} == {"tides": ID}


def test_a_file_that_is_changed_meanwhile_is_refused_and_not_overwritten(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = team.home
    for slug in ("one", "two"):
        team.job(slug)
    team.ask("apply", "--confirm")
    for slug in ("one", "two"):
        team.job(slug, schedule="every day at 10:00")
    write = JobFolder.write

    def slow(folder: JobFolder, slug: str, text: str, *, expect: str | None) -> None:
        if slug == "one":
            home.file("one").write_text("---\n# mine\n---\n")
        write(folder, slug, text, expect=expect)

    monkeypatch.setattr(JobFolder, "write", slow)
    answer = team.ask("apply", "--confirm", status=1)
    assert ops(answer["applied"]) == [("change", "jobs/two.md")]
    (refused,) = answer["refused"]
    assert refused["error"]["code"] == "conflict"
    assert home.file("one").read_text() == "---\n# mine\n---\n"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("apply",), 2, "required: DIR"),
        (("diff",), 2, "required: DIR"),
        (("apply", "nowhere"), 3, "there is no folder"),
        (("apply", "{team}"), 3, "holds no job files"),
        (("apply", "{team}", "--prune", "--confirm"), 3, "holds no job files"),
        (("apply", "{team}", "--force"), 2, "--force goes with --prune"),
        (("apply", "{home}"), 4, "is this home's own folder"),
        (("diff", "{home}/jobs"), 4, "is this home's own folder"),
    ],
)
def test_what_is_no_folder_to_apply(team: Team, words: tuple[str, ...], status: int, message: str) -> None:
    team.home.write("mine", script="hi.sh")
    team.home.json("list")
    given = [word.format(team=team.path, home=team.home.path) for word in words]
    assert message in team.home.error(*given, status=status)["message"]
    assert list(team.home.jobs()) == ["mine"]


def test_a_run_may_look_and_not_apply(team: Team) -> None:
    team.job("tides")
    words, run = ("apply", str(team.path)), "f" * 16
    assert len(team.home.json(*words, HORAE_RUN_ID=run)["plan"]) == 1
    assert team.home.error(*words, "--confirm", status=4, HORAE_RUN_ID=run)["code"] == "refused"
    assert team.home.jobs() == {}


# ── undone, and damaged


def test_each_change_is_undone_by_itself(team: Team) -> None:
    home = team.home
    team.job("one")
    team.job("two")
    answer = team.ask("apply", "--confirm")
    assert answer["undo"] is None
    assert "each job's change is undone by itself" in str(answer["warnings"])
    before = home.digests()
    team.job("one", schedule="0 10 * * *")
    done = team.ask("apply", "--confirm")
    home.json(*done["undo"].split()[1:])
    assert home.digests() == before
    home.json(*answer["applied"][1]["undo"].split()[1:])
    assert list(home.jobs()) == ["one"]


def test_a_file_that_was_never_valid_here_is_mended(team: Team) -> None:
    home = team.home
    home.write("tides", shedule="x")
    assert home.jobs()["tides"]["state"] == "quarantined"
    team.job("tides")
    (item,) = team.ask("apply", "--confirm")["applied"]
    assert item["op"] == "change"
    assert home.jobs()["tides"]["state"] == "active"
    assert team.ask("diff")["same"]


def test_a_job_whose_record_is_damaged_is_mended_too(team: Team) -> None:
    home = team.home
    team.job("tides")
    team.ask("apply", "--confirm")
    for damage in ("definition = '{'", "definition = 'null'", "anchor_at = 9000000000000000000"):
        home.sql_write(f"UPDATE job SET {damage}")
        team.job("tides", limits="{wall: 5m}", schedule="every day at 10:00")
        answer = json.loads(home.horae("--json", "apply", str(team.path), status=None).out)
        assert answer.get("plan") or answer.get("refused"), answer
    os.utime(home.file("tides"))
    team.ask("apply", "--confirm")
    assert home.jobs()["tides"]["state"] == "active"
