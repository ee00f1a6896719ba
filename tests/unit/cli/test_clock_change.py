"""`clock_change` by command: said, shown, changed entry by entry, taken away, and warned about where it is idle."""

from __future__ import annotations

import pytest

from tests.support.process import TestHome

NIGHTLY = ("add", "every day at 2:30", "--script", "hi.sh", "--name", "Nightly", "--timezone", "Europe/Paris")
AT = "2026-10-24T12:00"
IDLE = "clock_change has no effect"


def line_of(home: TestHome, slug: str) -> str | None:
    lines = home.file(slug).read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line.startswith("clock_change:")), None)


def test_it_is_said_changed_and_taken_away(home: TestHome) -> None:
    made = home.json(*NIGHTLY, "--clock-change", "gap=skip, repeat=both")
    assert line_of(home, "nightly") == "clock_change: {gap: skip, repeat: both}"
    assert made["job"]["clock_change"] == {"gap": "skip", "repeat": "both"}
    assert not any(IDLE in warning for warning in made["warnings"])
    instants = [slot["slot"] for slot in home.json("next", "nightly", "--from", AT, "-n", "2")["slots"]]
    assert instants == ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]
    home.json("edit", "nightly", "--clock-change", "repeat=last")
    assert line_of(home, "nightly") == "clock_change: {gap: skip, repeat: last}"
    (slot, _) = home.json("next", "nightly", "--from", AT, "-n", "2")["slots"]
    assert slot["slot"] == "2026-10-25T02:30:00+01:00"
    changed = home.json("edit", "nightly", "--unset", "clock_change")
    assert line_of(home, "nightly") is None
    assert changed["job"]["clock_change"] == {"gap": None, "repeat": None}
    (slot, _) = home.json("next", "nightly", "--from", AT, "-n", "2")["slots"]
    assert slot["slot"] == "2026-10-25T02:30:00+02:00"
    home.json("undo")
    assert line_of(home, "nightly") == "clock_change: {gap: skip, repeat: last}"


@pytest.mark.parametrize(
    ("schedule", "asked", "policy", "words"),
    [
        ("every day at 2:30", None, ("shift", "first"), "gap shift (default), repeat first (default)"),
        ("*/20 * * * *", None, ("skip", "both"), "gap skip (default), repeat both (default)"),
        ("every day at 2:30", "repeat=both", ("shift", "both"), "gap shift (default), repeat both\n"),
        ("every day at 2:30", "gap=after,repeat=last", ("after", "last"), "gap after, repeat last\n"),
        ("every 90 minutes", None, (None, None), None),
    ],
)
def test_show_tells_what_holds(
    home: TestHome, schedule: str, asked: str | None, policy: tuple[str | None, str | None], words: str | None
) -> None:
    given = () if asked is None else ("--clock-change", asked)
    home.json("add", schedule, "--script", "hi.sh", "--name", "Nightly", "--timezone", "Europe/Paris", *given)
    found = home.json("show", "nightly")["resolved"]["clock_change"]
    assert (found["gap"], found["repeat"]) == policy
    shown = home.horae("show", "nightly").out
    assert words in shown if words else "clock change" not in shown


def test_slots_are_planned_anew_when_it_changes(home: TestHome) -> None:
    home.json(*NIGHTLY)
    (before,) = home.sql("SELECT cadence, cadence_at FROM job")
    home.json("edit", "nightly", "--clock-change", "gap=skip")
    ((cadence, since, gap, repeat),) = home.sql("SELECT cadence, cadence_at, clock_gap, clock_repeat FROM job")
    assert cadence != before[0]
    assert since > before[1]
    assert (gap, repeat) == ("skip", None)
    assert home.sql("SELECT count(*) FROM journal WHERE what = 'unplanned'") == [(1,)]


@pytest.mark.parametrize(
    ("value", "says", "hint"),
    [
        ("default", "'default' is not KEY=VALUE", "--unset clock_change"),
        ("gap", "'gap' is not KEY=VALUE", "gap=skip,repeat=both"),
        ("gap=", "is not KEY=VALUE", "gap=skip,repeat=both"),
        ("gap=later", "`clock_change.gap` must be shift, after or skip; it says later", None),
        ("gaps=skip", "there is no key `clock_change.gaps`", None),
        ("repeat=2", "must be first, both or last", None),
    ],
)
def test_what_cannot_be_is_refused_with_the_right_spelling(
    home: TestHome, value: str, says: str, hint: str | None
) -> None:
    refused = home.error(*NIGHTLY, "--clock-change", value, status=2)
    assert says in refused["message"]
    assert hint is None or hint in refused["hint"]
    assert home.jobs() == {}


def test_a_number_of_runs_is_not_taken_for_it(home: TestHome) -> None:
    assert "clock_change: {repeat: both}" in home.error(*NIGHTLY, "--repeat", "both", status=2)["hint"]


@pytest.mark.parametrize(
    ("schedule", "zone", "says"),
    [
        ("every 90 minutes", "Europe/Paris", "an interval: it counts elapsed time"),
        ("in 2h", "Europe/Paris", "single instants"),
        ("every day at 2:30", "UTC", "UTC"),
        ("every day at 2:30", "Europe/Paris", None),
    ],
)
def test_where_it_never_matters_that_is_said(home: TestHome, schedule: str, zone: str, says: str | None) -> None:
    words = ("add", schedule, "--script", "hi.sh", "--timezone", zone, "--clock-change", "gap=skip")
    warnings = [warning for warning in home.json(*words)["warnings"] if IDLE in warning]
    assert [says in warning for warning in warnings] == ([True] if says else [])
    again = home.json("edit", "hi-sh", "--name", "Other")
    assert [warning for warning in again["warnings"] if IDLE in warning] == warnings


def test_an_option_that_is_given_twice_says_both(home: TestHome) -> None:
    words = ("next", "--schedule", "every day at 9am", "--clock-change", "gap=skip", "--clock-change")
    assert "clock changes: gap skip, repeat both" in home.json(*words, "repeat=both")["meaning"]
    assert "gap is given twice" in home.error(*words, "gap=after", status=2)["message"]
    added = home.json(
        "add", "every day at 9am", "--script", "hi.sh", "--clock-change", "gap=skip", "--clock-change", "repeat=both"
    )
    assert added["job"]["clock_change"] == {"gap": "skip", "repeat": "both"}


@pytest.mark.parametrize(
    "change",
    [("--clock-change", "gap=skip"), ("--repeat", "500"), ("--timezone", "Asia/Tokyo")],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("schedule", ["every 30m", "in 30m", "every 2 weeks on monday at 9am"])
def test_what_a_schedule_counts_from_stays_as_long_as_its_text(
    home: TestHome, schedule: str, change: tuple[str, str]
) -> None:
    """A person wrote it without a beginning: an edit of something else must not move the runs."""
    home.write("grid", schedule=schedule, script="hi.sh")
    home.json("list")
    home.sql_write("UPDATE job SET anchor_at = anchor_at - 7000000")
    ((anchor,),) = home.sql("SELECT anchor_at FROM job")
    home.json("edit", "grid", *change)
    assert home.sql("SELECT anchor_at FROM job") == [(anchor,)]
    home.json("edit", "grid", "--schedule", "every 31m")
    ((later,),) = home.sql("SELECT anchor_at FROM job")
    assert later > anchor
