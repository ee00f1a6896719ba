"""The policies of a job by command: said, shown, changed entry by entry, taken away, warned about and refused."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from horae.core.spread import spread_offset_s
from tests.support.process import TestHome

CONFIG = """
[groups]
gpu = 2
[calendars.holidays]
dates = ["12-25"]
[calendars.nights]
hours = ["22:00-07:00"]
"""
ADD = ("add", "every day at 9:00", "--script", "hi.sh", "--name", "Tides")
OPTIONS = (
    "--starts", "2026-12-01", "--ends", "2099-12-31", "--spread", "5m", "--catch-up", "all", "--not-later-than", "2h",
    "--overlap", "queue", "--group", "gpu", "--priority", "-5", "--exclude", "nights", "--exclude", "holidays",
    "--retries", "3,backoff=45s,on=failure+timeout",
)  # fmt: skip


@pytest.fixture
def home(home: TestHome) -> TestHome:
    with (home.path / "config.toml").open("a", encoding="utf-8") as config:
        config.write(CONFIG)
    return home


def lines(home: TestHome) -> list[str]:
    return home.file("tides").read_text(encoding="utf-8").splitlines()


def test_they_are_said_shown_changed_and_taken_away(home: TestHome) -> None:
    made = home.json(*ADD, *OPTIONS)["job"]
    assert made["retries"] == {"max": 3, "backoff_s": 45.0, "ceiling_s": None, "on": ["failure", "timeout"]}
    assert (made["spread_s"], made["not_later_than_s"], made["priority"]) == (300, 7200, -5)
    assert made["exclude"] == ["nights", "holidays"]
    for line in ("catch_up: all", "spread: 5m", "not_later_than: 2h", "exclude: [nights, holidays]", "group: gpu"):
        assert line in lines(home)
    shown = home.horae("show", "tides").out
    for words in (
        "from          2026-12-01", "until         2099-12-31", "excluded      nights, holidays",
        "spread        up to 5 minutes after the slot", "catch-up      all, at most 2 hours late", "overlap       queue",
        "retries       3, first after 45 seconds, on failure and timeout", "group         gpu", "priority      -5",
    ):  # fmt: skip
        assert words in shown
    home.json("edit", "tides", "--retries", "5,ceiling=1h", "--overlap", "allow")
    assert "retries: {max: 5, backoff: 45s, ceiling: 1h, on: [failure, timeout]}" in lines(home)
    home.json("edit", "tides", "--unset", "retries", "--unset", "exclude")
    assert not [line for line in lines(home) if line.startswith(("retries", "exclude"))]
    home.json("undo")
    assert "exclude: [nights, holidays]" in lines(home)


def test_a_job_that_says_nothing_shows_nothing_of_it(home: TestHome) -> None:
    made = home.json(*ADD)["job"]
    assert (made["catch_up"], made["overlap"], made["priority"], made["spread_s"]) == ("once", "skip", 0, 0)
    assert not [
        line for line in lines(home) if line.startswith(("catch_up", "overlap", "priority", "spread", "retries"))
    ]
    shown = home.horae("show", "tides").out
    assert not any(word in shown for word in ("catch-up", "overlap", "retries", "priority", "spread", "excluded"))


def test_the_meaning_says_from_when_to_when(home: TestHome) -> None:
    made = home.json(*ADD, "--timezone", "Europe/Paris", "--starts", "2098-12-01", "--ends", "2099-01-31")
    assert made["meaning"] == "at 09:00 every day starting 1 December 2098 until 31 January 2099"


@pytest.mark.parametrize(
    ("given", "status", "says", "hint"),
    [
        (("--exclude", "nihgts"), 4, "config.toml has no [calendars.nihgts] (did you mean nights?)", None),
        (("--exclude", "Nights"), 2, "'Nights' is none", "[calendars.NAME]"),
        (("--overlap", "qeue"), 2, "it says qeue", "Did you mean `queue`?"),
        (("--catch-up", "never"), 2, "must be skip, once or all", None),
        (("--priority", "1000"), 2, "from -100 to 100", None),
        (("--ends", "2020-01-01"), 2, "no slot left between now and 2020-01-01", "move `ends`"),
        (
            ("--retries", "5,backoff=0s"),
            2,
            "`retries.backoff` must be more than nothing",
            "Leave it out for 30 seconds",
        ),
        (("--retries", "5,ceiling=0s"), 2, "`retries.ceiling` must be more", "Leave it out for 10 minutes"),
        (("--limit", "wall=0s"), 2, "`limits.wall` must be more than nothing", "Leave it out for 1 hour"),
        (("--limit", "wall=" + "7" * 5000), 2, "`limits.wall`: '777", "write it with units"),
        (("--spread", "7" * 5000), 2, "`spread`: '777", "write it with units"),
        (("--starts", "2026-02-30"), 2, "no day of the calendar", None),
        (("--retries", "many"), 2, "`retries.max` must be a whole number", None),
        (("--retries", "3,often"), 2, "'often' is not KEY=VALUE", "--unset retries"),
        (("--retries", "3,max=4"), 2, "comes twice", None),
        (("--retries", "backoff=30s"), 2, "does not say how often", "Add max: 3."),
        (("--retries", "3,tries=4"), 2, "no key `retries.tries`", None),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    home: TestHome, given: tuple[str, ...], status: int, says: str, hint: str | None
) -> None:
    done = home.horae(*ADD, *given, "--json", status=status)
    assert says in done.out
    assert hint is None or hint in done.out
    assert len(done.out) < 1000
    assert not home.file("tides").exists()


@pytest.mark.parametrize(
    ("schedule", "given", "key", "says", "hint"),
    [
        ("in 5m", ("--starts", "2099-01-01"), "starts", "has no slot from 2099-01-01 on (once", "move `starts`"),
        ("in 5m", ("--starts", "2099-01-01", "--ends", "2099-12-31"), "starts", "from 2099-01-01 on (", "move `starts`"),
        ("2098-01-01 10:00", ("--ends", "2097-01-01"), "ends", "left between now and 2097-01-01 (once", "move `ends`"),
        ("every day at 9:00 until 2098-01-01", ("--starts", "2099-01-01"), "starts", "from 2099-01-01 on", "move `starts`"),
        ("2020-01-01 10:00", ("--starts", "2099-01-01"), "schedule", "is in the past (once", "still to come"),
    ],
)  # fmt: skip
def test_of_starts_ends_and_the_schedule_the_one_that_leaves_no_slot_is_named(
    home: TestHome, schedule: str, given: tuple[str, ...], key: str, says: str, hint: str
) -> None:
    error = home.error("add", schedule, "--script", "hi.sh", *given, status=2)
    assert says in error["message"]
    assert hint in error["hint"]
    assert error["details"]["key"] == key
    assert "never" not in error["message"]


def test_odd_pairs_are_warned_about(home: TestHome) -> None:
    made = home.json("add", "every 1 minute", "--script", "hi.sh", "--name", "Tides", "--spread", "5m", "--group", "cpu",
                     "--runs-on", "gpu")  # fmt: skip
    told = " ".join(made["warnings"])
    assert "spread of 5 minutes is longer than the 1 minute between its slots" in told
    assert "no limit for group cpu" in told
    assert "does not have the label gpu" in told


def test_previews_tell_what_is_excluded_and_when_a_slot_is_due(home: TestHome) -> None:
    home.json("add", "every day at 9:00 and 23:00", "--script", "hi.sh", "--name", "Tides", "--exclude", "nights",
              "--exclude", "holidays", "--timezone", "Europe/Paris", "--spread", "5m")  # fmt: skip
    slots = home.json("next", "tides", "--from", "2098-12-24", "-n", "4")["slots"]
    assert [slot["note"] for slot in slots] == [
        None, "excluded by nights: 22:00-07:00", "excluded by holidays: 12-25", "excluded by nights: 22:00-07:00",
    ]  # fmt: skip
    job_id = home.json("show", "tides")["job"]["id"]
    expected = datetime.fromisoformat("2098-12-24T09:00+01:00") + timedelta(seconds=spread_offset_s(job_id, 300))
    assert datetime.fromisoformat(slots[0]["due"]) == expected
    assert any(slot["note"] for slot in home.json("show", "tides")["slots"])


def test_options_that_contradict_one_another_are_refused(home: TestHome) -> None:
    home.json(*ADD)
    before = lines(home)
    assert "contradict" in home.error("edit", "tides", "--retries", "3", "--unset", "retries", status=2)["message"]
    assert "not allowed with" in home.error("edit", "tides", "--enable", "--disable", status=2)["message"]
    assert "--editor" in home.error("edit", "tides", "--priority", "3", "--editor", status=2)["message"]
    for words in (("add", "every 1h", "--script", "hi.sh"), ("edit", "tides")):
        assert "--timezone has no value" in home.error(*words, "--timezone", " ", status=2)["message"]
    assert lines(home) == before


UNREAD = """
[calendars.public]
file = "public.ics"
"""
GALA = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Gala\nDTSTART;TZID=Gotham:20270101T000000\nEND:VEVENT\nEND:VCALENDAR\n"


def test_P9_a_calendar_that_cannot_be_read_harms_only_the_jobs_that_name_it(home: TestHome) -> None:
    home.json(*ADD, "--exclude", "holidays")
    (home.path / "public.ics").write_text(GALA.replace("Gotham", "Europe/Paris"), encoding="utf-8")
    with (home.path / "config.toml").open("a", encoding="utf-8") as config:
        config.write(UNREAD)
    home.json("add", "every day at 9:00", "--script", "hi.sh", "--name", "Open", "--exclude", "public")
    (home.path / "public.ics").write_text(GALA, encoding="utf-8")
    says = "public.ics: its event 'Gala': unknown time zone 'Gotham'"
    refused = home.error("add", "every 1h", "--script", "hi.sh", "--exclude", "public", status=4)
    assert refused["message"] == f"exclusion calendar public could not be read: {says}"
    for look in ("doctor", "check"):
        told = [item for item in home.json(look, status=1)["checks"] if not item["ok"]]
        (calendar,) = [item for item in told if item["check"] == "calendars"]
        assert calendar["what"] == f"public: {says}"
        assert "start the gateway anew" in calendar["remedy"]
        (job,) = [item["what"] for item in told if item["check"] == "jobs"]
        assert job == f"open: exclusion calendar public could not be read: {says}"
    assert home.json("check", "tides")["ok"]
    assert "ready" in home.horae("check", "tides").out
    (job,) = [item for item in told if item["check"] == "jobs"]
    assert job["remedy"] == calendar["remedy"], "the file of the job is fine"


def test_slots_that_a_calendar_blocks_which_cannot_be_read_are_announced(home: TestHome) -> None:
    (home.path / "public.ics").write_text(GALA.replace("Gotham", "Europe/Paris"), encoding="utf-8")
    with (home.path / "config.toml").open("a", encoding="utf-8") as config:
        config.write(UNREAD)
    home.json("add", "every day at 9:00", "--script", "hi.sh", "--name", "Open", "--exclude", "public")
    home.json("add", "every day at 9:00", "--script", "hi.sh", "--name", "Closed", "--exclude", "holidays")
    looks = (("next", "open"), ("next",), ("next", "--from", "tomorrow"), ("calendar", "open"), ("calendar",))
    assert [warning for look in looks for warning in home.json(*look)["warnings"]] == []
    (home.path / "public.ics").write_text(GALA, encoding="utf-8")
    says = "exclusion calendar public could not be read: public.ics: its event 'Gala': unknown time zone 'Gotham'"
    for look in looks:
        assert home.json(*look)["warnings"] == [f"open: what is not excluded will be blocked: {says}"]
    assert says in home.horae("next", "open").err
    assert home.json("next", "closed")["warnings"] == []
    (item,) = home.json("why", "open", "next")["occurrences"]
    assert item["story"][-1] == f"it will be blocked: {says}"
    home.json("move", "open", "next", "--to", "in 2h")
    (item,) = home.json("why", "open", "next")["occurrences"]
    assert item["story"][-1] == f"it will be blocked: {says}", "a moved slot too"
    home.json("skip", "open", "next")
    (item,) = home.json("why", "open", item["key"])["occurrences"]
    assert "blocked" not in " ".join(item["story"])
    (item,) = home.json("why", "closed", "next")["occurrences"]
    assert "blocked" not in " ".join(item["story"])
