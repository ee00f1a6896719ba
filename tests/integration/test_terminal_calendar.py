"""The calendar in a real terminal: weeks whose borders line up, a list of days on a narrow screen, and no moved cursor."""

from __future__ import annotations

import re

import pytest

from horae.core.text import display_width
from tests.integration.test_terminal import ESCAPE, NAMES, terminal
from tests.support.process import TestHome, new_home

FROM = ("--from", "2099-03-23")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> TestHome:
    """A home with names of several widths, a dense job, a skip, a move and a pause. Only looked at."""
    home = new_home(tmp_path_factory.mktemp("planned") / "home")
    home.inside = True
    for hour, name in enumerate(NAMES):
        home.json("add", f"weekdays at {hour // 2 + 8}:00", "--script", "hi.sh", "--name", name)
    home.json("add", "*/5 * * * *", "--script", "hi.sh", "--name", "Dense")
    home.json("add", "every day at 02:30", "--script", "hi.sh", "--name", "Night")
    home.json("skip", "plain", "2099-03-24T08:00")
    home.json("move", "plain", "2099-03-25T08:00", "--to", "2099-03-26T02:30")
    home.json("pause", "etoile")
    home.inside = False
    return home


@pytest.mark.parametrize("columns", [100, 120, 160])
def test_the_borders_of_weeks_line_up(planned: TestHome, columns: int) -> None:
    _, sent = terminal(planned, "calendar", *FROM, columns=columns)
    rows = [ESCAPE.sub("", line).rstrip("\r") for line in sent.split("\n")]
    assert rows[0] == "23 March to 5 April 2099 in Europe/Paris"
    assert max(display_width(row) for row in rows) <= columns
    bars = {
        tuple(display_width(row[:at]) for at, char in enumerate(row) if char in "│┬┼┴")
        for row in rows
        if re.search("[│┬┼┴]", row)
    }
    assert len(bars) == 1, bars
    shown = "\n".join(rows)
    for words in ("clock +1h", "±03:30", "›08:00", "→02:30=Plain", "‖", "288×", "and Plain at the same time"):
        assert words in shown, words


@pytest.mark.parametrize("columns", [80, 40])
def test_a_narrow_screen_gets_a_list_of_days(planned: TestHome, columns: int) -> None:
    _, sent = terminal(planned, "calendar", *FROM, "--days", "7", columns=columns)
    rows = [ESCAPE.sub("", line).rstrip("\r") for line in sent.split("\n")]
    assert max(display_width(row) for row in rows) <= columns
    assert [row for row in rows if row.startswith("Sunday")] == ["Sunday 29 March 2099"]
    assert not any("│" in row for row in rows)


def test_colours_are_for_terminals_that_want_them(planned: TestHome) -> None:
    for words in (("calendar", *FROM), ("next",)):
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b" not in terminal(planned, *words, columns=120, env=env)[1], (words, env)
        assert "\x1b" not in planned.horae(*words).out
    assert ESCAPE.search(terminal(planned, "calendar", *FROM, columns=120)[1])


def test_long_remarks_of_next_go_below(planned: TestHome) -> None:
    words = ("next", "--schedule", "every day at 02:30", "--timezone", "America/New_York", "--from", "2021-03-14")
    wide, narrow = terminal(planned, *words, columns=120)[0], terminal(planned, *words, columns=60)[0]
    assert wide[1].endswith("(runs at 03:30 on 14 March: the clock skips 02:30)")
    assert narrow[1:4] == [
        "    2021-03-14T03:30:00-04:00",
        "        (runs at 03:30 on 14 March: the clock skips 02:30)",
        "    2021-03-15T02:30:00-04:00",
    ]
