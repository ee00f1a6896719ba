"""`next`: what it says beside the slots, of a job, of a schedule that no job has, and of the home."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.process import TestHome
from tests.unit.cli.test_shapes import has, well_formed

NEW_YORK = ("--timezone", "America/New_York")
DAILY = ("--schedule", "every day at 02:30", *NEW_YORK, "--from", "2021-03-13", "-n", "3")
FROM = ("--from", "2099-03-28")  # a Saturday; the clock of Paris goes forward on Sunday


def notes_of(answer: dict[str, Any]) -> list[str | None]:
    return [slot["note"] for slot in answer["slots"]]


@pytest.fixture
def jobs(home: TestHome) -> TestHome:
    add = ("--script", "hi.sh", "--name")
    home.json("add", "every day at 02:30", *add, "Daily")
    home.json("add", "sundays at 03:30", *add, "Weekly")
    home.json("add", "sundays at 02:30", *add, "Probe", "--clock-change", "gap=skip")
    return home


def test_a_shifted_run_says_so(home: TestHome) -> None:
    answer = well_formed(home.json("next", *DAILY))
    assert notes_of(answer) == [None, "runs at 03:30 on 14 March: the clock skips 02:30", None]
    assert answer["notes"] == []
    line = home.horae("next", *DAILY).out.splitlines()[2]
    assert line == "    2021-03-14T03:30:00-04:00  (runs at 03:30 on 14 March: the clock skips 02:30)"


def test_what_has_no_slot_is_told_between_the_slots(home: TestHome) -> None:
    words = (*DAILY, "--clock-change", "gap=skip")
    answer = well_formed(home.json("next", *words))
    assert answer["notes"] == [{"at": "2021-03-14T03:00:00-04:00", "text": "the clock skips 02:30 on 14 March: no run"}]
    assert notes_of(answer) == [None] * 3
    shown = [line.split() for line in home.horae("next", *words).out.splitlines()]
    assert [line[0] for line in shown[1:4]] == ["2021-03-13T02:30:00-05:00", "–", "2021-03-15T02:30:00-04:00"]
    beyond = home.json("next", *DAILY[:-1], "1", "--clock-change", "gap=skip")
    assert beyond["notes"] == []  # behind the last slot that is shown


def test_a_policy_of_its_own(home: TestHome) -> None:
    fall = ("--schedule", "30 1 * * *", *NEW_YORK, "--from", "2021-11-07", "-n", "2")
    assert notes_of(home.json("next", *fall)) == ["01:30 comes twice on 7 November: this is the first", None]
    both = home.json("next", *fall, "--clock-change", "gap=skip,repeat=both")
    assert [slot["slot"][-6:] for slot in both["slots"]] == ["-04:00", "-05:00"]
    assert home.json("next", *fall, "--clock-change", "repeat=last")["slots"][0]["slot"].endswith("-05:00")


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("gap=jump", "invalid", "gap must be shift, after or skip, not 'jump'"),
        ("hole=skip", "invalid", "has no 'hole'"),
        ("gap", "usage", "is not KEY=VALUE"),
    ],
)
def test_a_bad_policy(home: TestHome, said: str, code: str, words: str) -> None:
    error = home.error("next", *DAILY, "--clock-change", said, status=2)
    assert error["code"] == code
    assert words in error["message"]


def test_a_policy_is_for_a_schedule(jobs: TestHome) -> None:
    assert jobs.error("next", "daily", "--clock-change", "gap=skip", status=2)["code"] == "usage"
    assert jobs.error("next", "--clock-change", "gap=skip", status=2)["code"] == "usage"


def test_a_calendar_rule_starts_where_the_preview_does(home: TestHome) -> None:
    answer = home.json("next", "--schedule", "RRULE:FREQ=DAILY;INTERVAL=2", "--from", "2026-10-20T07:00", "-n", "2")
    assert [slot["slot"] for slot in answer["slots"]] == ["2026-10-20T07:00:00+02:00", "2026-10-22T07:00:00+02:00"]


def test_of_a_job_decisions_and_the_clock(jobs: TestHome) -> None:
    jobs.json("skip", "daily", "2099-03-28T02:30")
    jobs.json("move", "daily", "2099-03-31T02:30", "--to", "2099-03-30T02:30")
    answer = well_formed(jobs.json("next", "daily", *FROM, "-n", "4"))
    has(answer, "job", "schedule", "meaning", "timezone", "tzdata", "slots", "notes")
    assert notes_of(answer) == [
        "skipped",
        "runs at 03:30 on 29 March: the clock skips 02:30",
        "at the same time as its slot of 2099-03-31T02:30:00+02:00",
        "moved; at the same time as its slot of 2099-03-30T02:30:00+02:00",
    ]
    text = jobs.horae("next", "daily", *FROM, "-n", "4").out
    assert "2099-03-31T02:30:00+02:00 → 2099-03-30T02:30:00+02:00  (moved; at the same time" in text
    assert notes_of(jobs.json("next", "daily", "--from", "2099-03-31", "-n", "1")) == [None]  # moved to the day before
    probe = jobs.json("next", "probe", *FROM, "-n", "1")
    assert [note["text"] for note in probe["notes"]] == ["the clock skips 02:30 on 29 March: no run"]


def test_of_the_home_from_another_day(jobs: TestHome) -> None:
    answer = well_formed(jobs.json("next", "--from", "2099-03-29"))
    assert [(slot["job"], slot["slot"][:16], slot["note"]) for slot in answer["slots"]] == [
        ("daily", "2099-03-29T03:30",
         "runs at 03:30 on 29 March: the clock skips 02:30; at the same time as weekly"),
        ("weekly", "2099-03-29T03:30", "at the same time as daily"),
        ("probe", "2099-04-05T02:30", None),
    ]  # fmt: skip
    assert [(note["job"], note["text"]) for note in answer["notes"]] == [
        ("probe", "the clock skips 02:30 on 29 March: no run")
    ]
    text = jobs.horae("next", "--from", "2099-03-29").out.splitlines()
    assert text[0].split("  ")[-1] == "probe: the clock skips 02:30 on 29 March: no run"
    assert len(jobs.json("next", "--from", "2099-03-29", "-n", "1")["slots"]) == 1
    past = [slot["slot"] for slot in jobs.json("next", "--from", "2020-01-01")["slots"]]
    assert past == [slot["slot"] for slot in jobs.json("next")["slots"]]


def test_of_the_home_as_planned(home: TestHome) -> None:
    for name in ("Tides", "Report", "Beat", "More", "Most"):
        home.json("add", "2099-03-29T09:00", "--script", "hi.sh", "--name", name)
    home.json("add", "2099-03-29T02:30+02:00", "--script", "hi.sh", "--name", "First")
    home.json("skip", "most", "2099-03-29T09:00")
    answer = home.json("next", "-n", "9")
    notes = {slot["job"]: slot["note"] for slot in answer["slots"]}
    assert notes["first"] is None
    assert notes["tides"] == "at the same time as beat, more and report"
    assert list(notes) == ["first", "beat", "more", "most", "report", "tides"]
    assert notes["most"] == "skipped"
    assert home.json("next", "-n", "2")["slots"][1]["note"].startswith("at the same time as")  # with those not shown
    home.json("add", "2099-03-29T09:00", "--script", "hi.sh", "--name", "Another")
    assert {slot["job"]: slot["note"] for slot in home.json("next", "-n", "9")["slots"]}["tides"] == (
        "at the same time as another, beat, more and 1 more"
    )


def test_one_damaged_job_does_not_spoil_the_home(jobs: TestHome) -> None:
    jobs.sql_write("UPDATE job SET schedule = 'damaged' WHERE slug = 'daily'")
    assert [slot["job"] for slot in jobs.json("next", *FROM)["slots"]] == ["weekly", "probe"]
    assert len(jobs.json("next")["slots"]) == 3


def test_a_zone_is_for_a_schedule(jobs: TestHome) -> None:
    for words in (("--timezone", "Foo"), ("daily", "--timezone", "UTC")):
        assert jobs.error("next", *words, status=2)["message"] == "--timezone goes with --schedule"


def test_an_empty_zone_is_no_zone(home: TestHome) -> None:
    for words in (("next", "--schedule", "@daily"), ("calendar",)):
        assert home.error(*words, "--timezone", "", status=2)["message"] == "unknown time zone ''"


def test_a_preview_begins_at_a_day_in_words_too(home: TestHome) -> None:
    def first(start: str) -> str:
        answer = home.json("next", "--schedule", "0 0 * * *", "--timezone", "UTC", "--from", start, "-n", "1")
        return str(answer["slots"][0]["slot"])

    assert first("24 december 2099") == first("2099-12-24") == "2099-12-24T00:00:00+00:00"
    assert first("tomorrow") == first("now")
    for start in ("friday", "9am", "yesteryear"):
        refusal = home.error("next", "--schedule", "0 0 * * *", "--from", start, status=2)
        assert refusal["message"].startswith(f"--from '{start}' is not one instant")
        assert "`tomorrow at 9am`" in refusal["hint"]
    twice = home.error("next", "--schedule", "@daily", "--from", "every day at 9am", status=2)["message"]
    assert twice.count("not one instant") == 1


def test_what_finds_no_place_among_so_many_is_told(jobs: TestHome) -> None:
    shown = jobs.json("next", "-n", "2")
    assert shown["warnings"] == ["3 jobs are active: `-n 3` shows the next slot of each"]
    assert jobs.json("next", "-n", "3")["warnings"] == []


def test_an_empty_home_says_how_it_is_filled(home: TestHome) -> None:
    assert "`horae add` makes one" in home.horae("next").out


def test_a_slot_that_was_moved_is_promised_a_run_however_far_ahead(home: TestHome) -> None:
    home.json("add", "every day at 9am", "--script", "hi.sh", "--name", "few", "--repeat", "2")
    slots = [slot["slot"] for slot in home.json("next", "--schedule", "every day at 9am", "-n", "6")["slots"]]
    later = slots[4].replace("T09:", "T10:")
    home.json("move", "few", slots[4], "--to", later)
    assert [slot["due"] for slot in home.json("next", "few")["slots"]] == [slots[0], later]
    assert [slot["due"] for slot in home.json("next", "few", "--from", slots[1])["slots"]] == [later]
    shown = [run for day in home.json("calendar", "few")["days"] for run in day["runs"]]
    assert [(run["due"], run["marks"]) for run in shown] == [(slots[0], []), (later, ["moved"])]
    home.json("skip", "few", slots[0])
    shown = [run["due"] for day in home.json("calendar", "few")["days"] for run in day["runs"]]
    assert shown == [slot["due"] for slot in home.json("next", "few")["slots"]] == [slots[0], slots[1], later]
    home.json("move", "few", slots[2], "--to", slots[2].replace("T09:", "T11:"))
    dues = [slot["due"] for slot in home.json("next", "few")["slots"]]
    assert dues == [slots[0], slots[1], slots[2].replace("T09:", "T11:")], (
        "of more promises than runs the first are kept"
    )


def test_a_slot_that_ran_before_its_time_is_not_ahead_any_more(home: TestHome) -> None:
    home.json("add", "every day at 9am", "--script", "hi.sh", "--name", "early", "--repeat", "3")
    slots = [slot["slot"] for slot in home.json("next", "early")["slots"]]
    home.json("move", "early", slots[1], "--to", "in 5m")
    home.sql_write(
        "UPDATE occurrence SET state = 'settled', outcome = 'ran', settled_at = due_at WHERE exception = 'move'"
    )
    home.sql_write("UPDATE job SET counted = 1")
    assert [slot["slot"] for slot in home.json("next", "early")["slots"]] == [slots[0], slots[2]]
    assert [slot["slot"] for slot in home.json("show", "early")["slots"]] == [slots[0], slots[2]]
    shown = [run["slot"] for day in home.json("calendar", "early")["days"] for run in day["runs"]]
    assert shown == [slots[0], slots[2]]
