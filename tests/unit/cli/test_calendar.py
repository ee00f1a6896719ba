"""`calendar`: its JSON, its two forms on a terminal and the one in a pipe, and names that want to draw on the screen."""

from __future__ import annotations

import io
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.cli import calendargrid
from horae.cli.calendar import render
from horae.cli.calendarmarks import span_words
from horae.cli.output import Output, folded
from horae.core.text import display_width
from tests.support.later import at
from tests.support.process import TestHome
from tests.unit.cli.test_shapes import has, well_formed

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
FROM = ("--from", "2099-03-23")  # a Monday; the clock of Paris goes forward on Sunday 29
NAMES = ("Plain", "日本語のジョブの長い名前です", "🎉 party 🎉", "عربي", "e\u0301toile", "x" * 150)


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], columns: int, *, colours: bool = False) -> list[str]:
    """What a terminal of that width is sent."""
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    for module in ("output", "calendar"):
        monkeypatch.setattr(f"horae.cli.{module}.screen_width", lambda: columns)
    output = Output(json=False)
    output.colours = colours
    render(answer, output)
    return screen.getvalue().splitlines()


@pytest.fixture
def jobs(home: TestHome) -> TestHome:
    """Jobs that are skipped, moved, paused, broken, dense, late by the clock, left out by it, and due together."""
    add = ("--script", "hi.sh", "--name")
    home.json("add", "every day at 02:30", *add, "Back up")
    home.json("add", "weekdays at 9am", *add, "Mail")
    home.json("add", "mondays at 09:00", *add, "Report")
    home.json("add", "*/15 * * * *", *add, "Beat")
    home.json("add", "sundays at 02:30", *add, "Probe", "--clock-change", "gap=skip")
    home.json("add", "tuesdays at 14:00", *add, "Idle", "--paused")
    home.json("skip", "mail", "2099-03-25T09:00")
    home.json("move", "report", "2099-03-30T09:00", "--to", "2099-03-31T02:30")
    return home


def runs_of(answer: dict[str, Any], day: str) -> list[tuple[str, str, list[str]]]:
    found = next(item for item in answer["days"] if item["date"] == day)
    return [(run["time"], run["job"], run["marks"]) for run in found["runs"]]


def test_the_shape(jobs: TestHome) -> None:
    answer = well_formed(jobs.json("calendar", *FROM, "--days", "10"))
    has(answer, "job", "from", "to", "today", "timezone", "tzdata", "days", "collisions", "notes", "jobs", "warnings")
    assert (answer["from"], answer["to"]) == ("2099-03-23T00:00:00+01:00", "2099-04-02T00:00:00+02:00")
    assert [day["date"] for day in answer["days"]] == [
        (date(2099, 3, 23) + timedelta(days=number)).isoformat() for number in range(10)
    ]
    for day in answer["days"]:
        has(day, "date", "clock_change", "runs", "summaries")
        for run in day["runs"]:
            has(run, "job", "job_id", "name", "slot", "slot_utc", "due", "key", "note", "time", "marks", "state")
        for item in day["summaries"]:
            has(item, "job", "job_id", "name", "count", "first", "last", "meaning", "time", "last_time", "state")
    assert runs_of(answer, "2099-03-23") == [
        ("02:30", "back-up", []), ("09:00", "mail", ["together"]), ("09:00", "report", ["together"]),
    ]  # fmt: skip
    assert answer["collisions"][0] == {"at": "2099-03-23T09:00:00+01:00", "jobs": ["mail", "report"]}
    assert runs_of(answer, "2099-03-25")[-1] == ("09:00", "mail", ["skipped"])
    assert runs_of(answer, "2099-03-24")[-1] == ("14:00", "idle", [])
    assert answer["days"][1]["runs"][-1]["note"] == "paused: will not run"


def test_a_moved_slot_stands_at_its_new_time(jobs: TestHome) -> None:
    answer = jobs.json("calendar", *FROM)
    assert "report" not in [job for _, job, _ in runs_of(answer, "2099-03-30")]
    assert runs_of(answer, "2099-03-31")[:2] == [
        ("02:30", "back-up", ["together"]), ("02:30", "report", ["moved", "together"]),
    ]  # fmt: skip
    moved = next(run for run in answer["days"][8]["runs"] if run["job"] == "report")
    assert (moved["slot"], moved["due"]) == ("2099-03-30T09:00:00+02:00", "2099-03-31T02:30:00+02:00")
    assert moved["note"] == "moved; at the same time as back-up"


def test_a_clock_change_is_told_by_the_day_by_the_run_and_by_what_has_none(jobs: TestHome) -> None:
    answer = jobs.json("calendar", *FROM)
    sunday = answer["days"][6]
    assert sunday["clock_change"] == {
        "at": "2099-03-29T03:00:00+02:00", "before": "+01:00", "after": "+02:00", "shift": "+1h",
        "text": "the clock goes forward 1 hour: 02:00 becomes 03:00",
    }  # fmt: skip
    assert sum(day["clock_change"] is not None for day in answer["days"]) == 1
    assert runs_of(answer, "2099-03-29") == [("03:30", "back-up", ["clock"])]
    assert sunday["runs"][0]["note"] == "runs at 03:30 on 29 March: the clock skips 02:30"
    assert [(note["job"], note["text"]) for note in answer["notes"]] == [
        ("beat", "the clock skips 02:00, 02:15, 02:30 and 02:45 on 29 March: no runs"),
        ("probe", "the clock skips 02:30 on 29 March: no run"),
    ]
    assert [day["summaries"][0]["count"] for day in answer["days"][5:8]] == [96, 92, 96]


def test_a_dense_job_is_counted_and_is_no_collision(jobs: TestHome) -> None:
    answer = jobs.json("calendar", "beat", *FROM, "--days", "2")
    assert answer["job"]["slug"] == "beat"
    (item,) = answer["days"][0]["summaries"]
    assert (item["count"], item["time"], item["last_time"]) == (96, "00:00", "23:45")
    assert (item["first"], item["last"]) == ("2099-03-23T00:00:00+01:00", "2099-03-23T23:45:00+01:00")
    assert answer["collisions"] == []
    jobs.json("skip", "beat", "2099-03-23T00:00")
    jobs.json("move", "beat", "2099-03-23T23:45", "--to", "2099-03-24T00:07")
    answer = jobs.json("calendar", "beat", *FROM, "--days", "2")
    (item,) = answer["days"][0]["summaries"]
    assert (item["count"], item["time"], item["last_time"]) == (94, "00:15", "23:30")
    assert runs_of(answer, "2099-03-23") == [("00:00", "beat", ["skipped"])]
    assert runs_of(answer, "2099-03-24") == [("00:07", "beat", ["moved"])]


def test_a_year_of_minutes_is_counted_as_it_is_walked(home: TestHome) -> None:
    home.json("add", "* * * * *", "--script", "hi.sh", "--name", "Minute")
    year = home.json("calendar", "minute", "--from", "2099-01-01", "--days", "366")
    days = {day["date"]: day["summaries"][0]["count"] for day in year["days"]}
    assert days.pop("2099-03-29") == 1380
    assert days.pop("2099-10-25") == 1500
    assert set(days.values()) == {1440}
    one = home.json("calendar", "minute", "--from", "2099-03-29", "--days", "1")["days"][0]["summaries"]
    assert one == year["days"][87]["summaries"]  # walked and counted days say the same


def test_repeat_ends_the_runs(home: TestHome) -> None:
    home.json("add", "every day at 9am", "--script", "hi.sh", "--name", "Few", "--repeat", "4")
    first = home.json("next", "few", "-n", "1")["slots"][0]["slot"][:10]
    assert sum(len(day["runs"]) for day in home.json("calendar", "few")["days"]) == 4
    home.json("skip", "few", "next")  # does not use up a run
    shown = [run for day in home.json("calendar", "few")["days"] for run in day["runs"]]
    assert [run["marks"] for run in shown] == [["skipped"], [], [], [], []]
    later = (date.fromisoformat(first) + timedelta(days=3)).isoformat()
    assert sum(len(day["runs"]) for day in home.json("calendar", "few", "--from", later)["days"]) == 2
    assert home.json("next", "few", "-n", "9", "--from", later)["slots"][0]["slot"].startswith(later)
    assert len(home.json("next", "few", "-n", "9", "--from", later)["slots"]) == 2
    home.json("add", "* * * * *", "--script", "hi.sh", "--name", "Many", "--repeat", "5000")
    days = home.json("calendar", "many")["days"]  # its last one may have so few that they are listed
    assert (
        sum(item["count"] for day in days for item in day["summaries"]) + sum(len(day["runs"]) for day in days) == 5000
    )


def test_what_has_passed_is_not_shown_and_that_is_said(jobs: TestHome) -> None:
    answer = jobs.json("calendar", "--from", "2020-01-01", "--days", "3")
    assert not any(day["runs"] or day["summaries"] for day in answer["days"])
    assert "what has passed is not shown" in answer["warnings"][0]
    today = jobs.json("calendar")
    assert today["today"] == today["days"][0]["date"]
    assert today["warnings"] == []
    assert jobs.json("calendar", "--from", "tomorrow")["days"][0]["date"] == today["days"][1]["date"]
    now = datetime.now(UTC)
    assert all(datetime.fromisoformat(run["due"]) > now - timedelta(minutes=1) for run in today["days"][0]["runs"])


def test_days_are_those_of_the_zone(jobs: TestHome) -> None:
    answer = well_formed(jobs.json("calendar", "mail", *FROM, "--timezone", "Pacific/Auckland", "--days", "2"))
    assert answer["from"] == "2099-03-23T00:00:00+13:00"
    assert runs_of(answer, "2099-03-23") == [("21:00", "mail", [])]
    assert answer["days"][0]["runs"][0]["slot"] == "2099-03-23T09:00:00+01:00"  # in the job's own zone
    lost = jobs.json("calendar", "--timezone", "Pacific/Apia", "--from", "2011-12-29", "--days", "4")
    assert [day["date"] for day in lost["days"]][1] == "2011-12-30"  # no such day there; it is shown, and empty
    assert lost["days"][2]["clock_change"]["shift"] == "+24h"


def test_broken_and_completed_jobs(home: TestHome) -> None:
    home.json("add", "every day at 9am", "--script", "hi.sh", "--name", "Good")
    home.json("add", "every day at 8am", "--script", "hi.sh", "--name", "Bad")
    home.file("bad").write_text(home.file("bad").read_text().replace("every day at 8am", "every blue moon"))
    home.write("never", schedule="every blue moon", script="hi.sh")
    answer = home.json("calendar", "--days", "2", *FROM)
    assert [job["state"] for job in answer["jobs"] if job["job"] == "bad"] == ["quarantined"]
    assert answer["days"][0]["runs"][0]["note"] == "quarantined: will not run"
    assert answer["warnings"] == ["not shown, since a file that has never been valid says nothing: never"]
    home.json("add", "in 1h", "--script", "hi.sh", "--name", "Once")
    home.json("skip", "once")
    assert (
        "once" not in [job["job"] for job in home.json("calendar")["jobs"]] or home.jobs()["once"]["state"] == "active"
    )
    home.sql_write("UPDATE job SET schedule = 'damaged' WHERE slug = 'good'")
    assert any("good is not shown" in text for text in home.json("calendar")["warnings"])


def test_bad_values(jobs: TestHome) -> None:
    for words in (("--days", "0"), ("--days", "367"), ("--from", "yesteryear"), ("--timezone", "Mars/Base"),
                  ("--from", "9950-01-01"), ("--from", "1900-01-01")):  # fmt: skip
        assert jobs.error("calendar", *words, status=2)["code"] == "invalid", words
    assert jobs.error("calendar", "--days", "x", status=2)["code"] == "usage"
    assert jobs.error("calendar", "nobody", status=3)["code"] == "not_found"
    assert well_formed(jobs.json("calendar", "--days", "366", "mail"))["days"][365]


# --- on a terminal


@pytest.mark.parametrize("columns", [100, 118, 120, 200, 400])
def test_weeks(monkeypatch: pytest.MonkeyPatch, jobs: TestHome, columns: int) -> None:
    lines = drawn(monkeypatch, jobs.json("calendar", *FROM), columns)
    assert lines[0] == "23 March to 5 April 2099 in Europe/Paris"
    assert max(display_width(line) for line in lines) <= columns
    assert lines.index("March 2099") < lines.index("April 2099")
    weeks = [line for line in lines if "│" in line]
    assert {line.count("│") for line in weeks} == {6}
    assert weeks[0].split("│")[0].split() == ["23", "99", "runs"]
    text = "\n".join(lines)
    for sign in ("=Mail", "›09:00", "±03:30", "→02:30", "‖14:00", "96×", "clock +1h"):
        assert sign in text, sign
    for words in ("› skipped", "= at the same time as another", "Mail: skipped", "Mail and Report at the same time",
                  "Report: moved from Mon 30 Mar 09:00", "Probe: the clock skips 02:30 on 29 March: no run"):  # fmt: skip
        assert words in text, words


@pytest.mark.parametrize("columns", [20, 40, 80, 99])
def test_a_list_of_days(monkeypatch: pytest.MonkeyPatch, jobs: TestHome, columns: int) -> None:
    lines = drawn(monkeypatch, jobs.json("calendar", *FROM), columns)
    assert "Sunday 29 March 2099" in lines
    assert not any("│" in line for line in lines)
    if columns >= 40:
        assert max(display_width(line) for line in lines) <= columns
    text = " ".join(" ".join(lines).split())
    assert "moved from Mon 30 Mar 09:00; at the same time as Back up" in text
    assert "Probe: the clock skips 02:30 on 29 March: no run" in text


def test_today_is_marked(monkeypatch: pytest.MonkeyPatch, jobs: TestHome) -> None:
    with at("2099-03-24T12:00"):  # late in the evening there is no run today any more, and so no such day in a list
        answer = jobs.json("calendar")
    wide, narrow = drawn(monkeypatch, answer, 120), drawn(monkeypatch, answer, 80)
    assert wide[0].endswith(", from now on")
    assert sum(f"[{int(answer['today'][-2:])}]" in line for line in wide) == 1
    assert sum(line.endswith("  today") for line in narrow) == 1


def test_colours_differ_and_are_not_needed(monkeypatch: pytest.MonkeyPatch, jobs: TestHome) -> None:
    answer = jobs.json("calendar", *FROM)
    painted = drawn(monkeypatch, answer, 120, colours=True)
    assert len({code for line in painted for code in ESCAPE.findall(line)}) > 6
    assert [ESCAPE.sub("", line).rstrip() for line in painted] == [
        line.rstrip() for line in drawn(monkeypatch, answer, 120)
    ]


def test_a_full_cell_counts_what_it_does_not_show(monkeypatch: pytest.MonkeyPatch, home: TestHome) -> None:
    for number in range(12):
        home.json("add", f"every day at {number + 1}:00", "--script", "hi.sh", "--name", f"n{number:02}")
    lines = drawn(monkeypatch, home.json("calendar", *FROM, "--days", "1"), 120)
    cells = [line.split("│")[0].strip() for line in lines if "│" in line]
    assert cells == ["23     12 runs", *(f"{hour:02}:00 n{hour - 1:02}" for hour in range(1, 7)), "+6 more"]
    assert len(cells) == calendargrid.LINES_MAX


@pytest.mark.parametrize("columns", [40, 80, 100, 130])
def test_names_of_all_widths(monkeypatch: pytest.MonkeyPatch, home: TestHome, columns: int) -> None:
    for name in NAMES:
        home.json("add", "every day at 9am", "--script", "hi.sh", "--name", name)
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Dense")
    answer = home.json("calendar", *FROM, "--days", "3")
    answer["jobs"][0]["name"] = answer["days"][0]["runs"][0]["name"] = "\x1b[2Jcleared\r"  # had it come that far
    lines = drawn(monkeypatch, answer, columns)
    assert all(line.isprintable() for line in lines)
    assert max(display_width(line) for line in lines) <= columns
    if columns >= 100:
        for line in lines:
            bars = [display_width(line[:at]) for at, char in enumerate(line) if char == "│"]
            width = (min(columns, 10_000) - 6) // 7
            assert bars in ([], [(number + 1) * (width + 1) - 1 for number in range(6)]), line


def test_in_a_pipe_there_are_tabs(jobs: TestHome) -> None:
    lines = [line.split("\t") for line in jobs.horae("calendar", *FROM, "--days", "7").out.splitlines()]
    assert {len(line) for line in lines} == {4}
    assert ["2099-03-25", "09:00", "mail", "skipped"] in lines
    assert ["2099-03-29", "03:00", "", "the clock goes forward 1 hour: 02:00 becomes 03:00"] in lines
    assert ["2099-03-23", "00:00-23:45", "beat", f"96 runs: {jobs.jobs()['beat']['meaning']}"] in lines


def test_nothing_planned(monkeypatch: pytest.MonkeyPatch, home: TestHome) -> None:
    for columns in (80, 120):
        assert "nothing is planned on these days: `horae add` makes a job" in drawn(
            monkeypatch, home.json("calendar"), columns
        )
    assert home.horae("calendar").out == "" or "clock" in home.horae("calendar").out


def test_the_number_of_a_day_and_its_runs_stand_apart(monkeypatch: pytest.MonkeyPatch, home: TestHome) -> None:
    home.json("add", "* * * * *", "--script", "hi.sh", "--name", "Minutes")
    home.json("add", "*/5 * * * *", "--script", "hi.sh", "--name", "Fives")
    for columns in (100, 110, 120):
        heads = [line for line in drawn(monkeypatch, home.json("calendar", *FROM), columns) if "1728" in line]
        assert heads
        for cell in (cell for line in heads for cell in line.split("│")):
            assert re.fullmatch(r"(?: *| *\d{1,2} +[0-9]{4}(?: runs|×)? *)", cell), cell


def test_one_empty_day(monkeypatch: pytest.MonkeyPatch, home: TestHome) -> None:
    lines = drawn(monkeypatch, home.json("calendar", "--days", "1"), 120)
    assert "nothing is planned on this day: `horae add` makes a job" in lines


def test_spans_in_words() -> None:
    assert span_words("2099-03-23", "2099-03-23") == "Monday 23 March 2099"
    assert span_words("2099-03-23", "2099-03-24") == "23 to 24 March 2099"
    assert span_words("2099-03-23", "2099-04-24") == "23 March to 24 April 2099"
    assert span_words("2099-12-23", "2100-01-02") == "23 December 2099 to 2 January 2100"


@given(st.text("ab 日🎉", max_size=80), st.integers(4, 40))
def test_folding_keeps_the_words_and_the_width(text: str, width: int) -> None:
    lines = folded(text, width)
    assert all(display_width(line) <= width for line in lines)
    if all(display_width(word) <= width for word in text.split()):
        assert " ".join(lines).split() == text.split()
