"""Who hears of a job and what is expected of it, by command: said, shown, changed, taken away and refused."""

from __future__ import annotations

import pytest

from tests.support.process import TestHome

ADD = ("add", "every day at 9:00", "--script", "hi.sh", "--name", "Tides")
KEYS = ("alerts", "origin", "urgency", "expect_by", "expect_every", "expect_output", "pause_after")
OPTIONS = (
    "--alerts", "ops", "--alerts", "local", "--urgency", "low", "--expect-by", "9:30", "--expect-every", "26h",
    "--expect-output", "3", "--pause-after", "5",
)  # fmt: skip


@pytest.fixture
def home(home: TestHome) -> TestHome:
    with (home.path / "config.toml").open("a", encoding="utf-8") as config:
        config.write('[platforms.diary]\nkind = "file"\npath = "diary.txt"\n[targets]\nops = "diary"\n')
    return home


def lines(home: TestHome) -> list[str]:
    return home.file("tides").read_text(encoding="utf-8").splitlines()


def test_it_is_said_shown_changed_and_taken_away(home: TestHome) -> None:
    made = home.json(*ADD, *OPTIONS)["job"]
    assert (made["alerts"], made["urgency"], made["expect_by"]) == (["ops", "local"], "low", "09:30")
    assert (made["expect_every_s"], made["expect_output"], made["pause_after"]) == (93_600, 3, 5)
    for line in ("alerts: [ops, local]", "urgency: low", "expect_every: 26h", "expect_output: 3", "pause_after: 5"):
        assert line in lines(home)
    shown = home.horae("show", "tides").out
    for row in (
        "alerts to     ops, local",
        "urgency       low",
        "expected      a run by 09:30, a run every 1 day 2 hours, something said once in 3 runs",
        "pauses        after 5 failures in a row",
    ):
        assert row in shown
    changed = ("--urgency", "high", "--pause-after", "0", "--expect-output", "1", "--unset", "alerts")
    home.json("edit", "tides", *changed, "--unset", "expect_every", "--unset", "expect_by")
    assert {"urgency: high", "pause_after: 0", "expect_output: 1"} <= {*lines(home)}
    assert not [line for line in lines(home) if line.startswith(("alerts", "expect_by", "expect_every"))]
    shown = home.horae("show", "tides").out
    assert "expected      something said by each run\n" in shown
    assert "pauses        never by itself\n" in shown
    home.json("undo")
    assert {"alerts: [ops, local]", "urgency: low", "expect_every: 26h"} <= {*lines(home)}


def test_the_origin_of_a_job_is_shown(home: TestHome) -> None:
    home.json(*ADD)
    home.file("tides").write_text(home.file("tides").read_text().replace("agent:", "origin: ops\nagent:"))
    assert "origin        ops\n" in home.horae("show", "tides").out


def test_a_job_that_says_nothing_shows_nothing_of_it(home: TestHome) -> None:
    made = home.json(*ADD)["job"]
    assert (made["alerts"], made["urgency"], made["pause_after"]) == ([], "normal", None)
    assert not [line for line in lines(home) if line.startswith(KEYS)]
    shown = home.horae("show", "tides").out
    assert not any(word in shown for word in ("alerts to", "origin", "urgency", "expected", "pauses"))


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        (("--alerts", "nobody"), 4, "nobody"),
        (("--urgency", "urgent"), 2, "`urgency` must be high, normal or low; it says urgent"),
        (("--urgency", ""), 2, "urgency"),
        (("--expect-by", "25:00"), 2, "`expect_by` must be a time of day such as 09:30; it says '25:00'"),
        (("--expect-by", "noon"), 2, "it says noon"),
        (("--expect-every", "10s"), 2, "`expect_every` must be from a minute to a year; it says 10s"),
        (("--expect-every", "26"), 2, "has no unit"),
        (("--expect-output", "0"), 2, "from 1 on"),
        (("--pause-after", "-1"), 2, "0 for never"),
        (("--pause-after", "never"), 2, "0 for never"),
    ],
)
def test_what_is_refused_says_why_and_leaves_nothing(
    home: TestHome, given: tuple[str, str], status: int, says: str
) -> None:
    error = home.error(*ADD, *given, status=status)
    assert says in error["message"]
    assert not home.file("tides").exists()
