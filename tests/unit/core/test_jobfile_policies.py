"""What a job file says about its slots: understood, refused with its place, written, and part of the digests or not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from horae.core import jobfile
from horae.core.cadence import columns_of, schedule_of, slots_of, window_of
from horae.core.definition import described, from_definition
from horae.core.instants import to_us
from horae.core.model import Job, Retries
from horae.errors import Invalid
from tests.support.builders import START, a_job

HEAD = "schedule: every day at 9:00\ntimezone: Europe/Paris\nscript: a.sh\nagent: false\n"


def read(*lines: str) -> Job:
    return jobfile.read("---\n" + "\n".join(lines) + f"\n{HEAD}---\n", file="jobs/a.md", slug="a")


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("catch_up: all", "catch_up", "all"),
        ("catch_up: Skip", "catch_up", "skip"),
        ("not_later_than: 2h", "not_later_than_s", 7200),
        ("overlap: queue_one", "overlap", "queue_one"),
        ("retries: {max: 3}", "retries", Retries(3)),
        ("retries: {max: 3, backoff: 45s, ceiling: 1h, on: [start, failure]}", "retries",
         Retries(3, 45.0, 3600.0, ("failure", "start"))),
        ("retries:\n  max: 2\n  on:\n  - timeout", "retries", Retries(2, on=("timeout",))),
        ("retries: {max: 1, on: failure+timeout}", "retries", Retries(1, on=("failure", "timeout"))),
        ("retries: {}", "retries", Retries()),
        ("retries: {max: 0}", "retries", Retries(0)),
        ("spread: 5m", "spread_s", 300),
        ("spread: 0", "spread_s", 0),
        ("group: gpu", "group", "gpu"),
        ("priority: -100", "priority", -100),
        ("priority: +7", "priority", 7),
        ("starts: 2026-12-01", "starts", "2026-12-01"),
        ("ends: 2027-01-31T12:00+01:00", "ends", "2027-01-31T12:00+01:00"),
        ("exclude: [holidays, nights]", "exclude", ("holidays", "nights")),
        ("exclude: holidays, nights", "exclude", ("holidays", "nights")),
        ("runs_on: gpu", "runs_on", ("gpu",)),
        ("runs_on: [gpu, eu]", "runs_on", ("eu", "gpu")),
    ],
)  # fmt: skip
def test_what_is_understood(line: str, field: str, value: object) -> None:
    assert getattr(read(line), field) == value


REFUSALS = [
    ("catch_up: later", "catch_up", "must be skip, once or all; it says later", None),
    ("catch_up: al", "catch_up", "it says al", "Did you mean `all`?"),
    ("overlap: qeue", "overlap", "it says qeue", "Did you mean `queue`?"),
    ("not_later_than: 2", "not_later_than", "has no unit", "20m"),
    ("not_later_than: 0s", "not_later_than", "more than nothing", None),
    ("not_later_than: 400d", "not_later_than", "at most 366 days", None),
    ("retries: 3", "retries", "must be a mapping", "Write retries: {max: 3}"),
    ("retries: often", "retries", "must be a mapping", "Write retries: {max: 3, backoff: 30s}"),
    ("retries: {max: 101}", "retries.max", "from 0 to 100; it says 101", None),
    ("retries: {max: -1}", "retries.max", "from 0 to 100", None),
    ("retries: {tries: 3}", "retries.tries", "no key `retries.tries`", "max"),
    ("retries: {backoff: 30s}", "retries.max", "does not say how often", "Add max: 3."),
    ("retries: {max: 3, ceiling: 10s}", "retries.ceiling", "less than the first pause of 30s", None),
    ("retries: {max: 3, on: [fail]}", "retries.on", "it says 'fail'", "Did you mean `failure`?"),
    ("retries: {max: 3, on: [unknown]}", "retries.on", "it says 'unknown'", "Write on: [failure, timeout, start]"),
    ("retries: {max: 3, on: []}", "retries.on", "names none", "Leave it out"),
    ("retries: {max: 3, on: [start, start]}", "retries.on", "twice", None),
    ("backoff: 30s", "backoff", "no key `backoff`", "Write retries: {backoff: 30s}"),
    ("spread: 2d", "spread", "at most 1 day", None),
    ("spread: 1.5", "spread", "has no unit", None),
    ("group: GPU", "group", "must be a name", None),
    ("group: [gpu]", "group", "not a list", None),
    ("priority: 101", "priority", "from -100 to 100", "Higher goes first"),
    ("priority: high", "priority", "it says high", None),
    ("starts: soon", "starts", "must be a day such as 2026-12-24", "Write starts: 2026-12-24"),
    ("starts: 2026-02-30", "starts", "no day of the calendar", None),
    ("starts: 2026-12-24 25:00", "starts", "no date of the calendar", None),
    ("ends: 2026-12-24 noon", "ends", "cannot read", None),
    ("exclude: [Holidays]", "exclude", "'Holidays' is none", "[calendars.NAME]"),
    ("exclude: [a, a]", "exclude", "twice", None),
    ("exclude: a, a", "exclude", "twice", None),
    ("exclude: [" + ",".join(f"c{n}" for n in range(33)) + "]", "exclude", "more than 32", None),
    ("runs_on: [has space]", "runs_on", "'has space' is none", 'labels = ["gpu"]'),
    ("catchup: all", "catchup", "no key `catchup`", "Did you mean `catch_up`?"),
]


@pytest.mark.parametrize(("line", "key", "says", "hint"), REFUSALS)
def test_a_refusal_names_the_place(line: str, key: str, says: str, hint: str | None) -> None:
    with pytest.raises(Invalid) as caught:
        read(line)
    problem = caught.value
    assert says in problem.message
    assert (problem.details["line"], problem.details["key"]) == (2, key)
    assert problem.message.startswith("jobs/a.md, line 2: ")
    assert problem.details["expected"]
    assert hint is None or hint in str(problem.hint)


def test_an_end_must_not_come_before_the_start() -> None:
    with pytest.raises(Invalid) as caught:
        read("starts: 2026-12-02", "ends: 2026-12-01")
    assert (caught.value.details["line"], caught.value.details["key"]) == (3, "ends")
    assert "there would be no slot" in caught.value.message
    assert read("starts: 2026-12-01", "ends: 2026-12-01").ends == "2026-12-01", "one day is one"


WHOLE = a_job(
    starts="2026-12-01", ends="2027-01-31", exclude=("holidays",), spread_s=300, catch_up="all", not_later_than_s=7200,
    overlap="cancel_running", retries=Retries(3, 30.0, 600.0, ("failure", "timeout")), group="gpu", priority=-5,
    runs_on=("eu", "gpu"),
)  # fmt: skip


def test_what_is_composed_is_short_in_the_canonical_order_and_reads_back() -> None:
    text = jobfile.compose(WHOLE)
    assert jobfile.read(text, file="f", slug=WHOLE.slug) == WHOLE
    assert text.splitlines()[5:-3] == [
        'starts: "2026-12-01"',
        'ends: "2027-01-31"',
        "exclude: [holidays]",
        "spread: 5m",
        "catch_up: all",
        "not_later_than: 2h",
        "overlap: cancel_running",
        'retries: {max: 3, backoff: 30s, ceiling: 10m, on: [failure, timeout]}',
        "group: gpu",
        "priority: -5",
        "runs_on: [eu, gpu]",
    ]  # fmt: skip


def test_an_edit_changes_one_entry_of_the_retries_and_leaves_the_others() -> None:
    text = "---\n" + HEAD + "retries: {max: 3, backoff: 30s} # as often as the\n---\n"
    more = jobfile.edit(text, {"retries": {"max": "5", "on": "failure+start"}})
    assert "retries: {max: 5, backoff: 30s, on: [failure, start]} # as often as the\n" in more
    assert "retries: {max: 5, on: [timeout]} #" in jobfile.edit(more, {"retries": {"backoff": None, "on": ["timeout"]}})


def test_a_definition_comes_back_and_is_complete_for_those_who_look() -> None:
    again = from_definition(json.loads(json.dumps(jobfile.definition(WHOLE))))
    assert again == WHOLE
    shown = described(WHOLE)
    assert shown["retries"] == {"max": 3, "backoff_s": 30.0, "ceiling_s": 600.0, "on": ["failure", "timeout"]}
    assert (shown["spread_s"], shown["not_later_than_s"], shown["runs_on"]) == (300, 7200, ["eu", "gpu"])
    json.dumps(shown)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("catch_up", "never"), ("overlap", 1), ("retries", {"max": "3"}), ("retries", {"max": 1.5}),
        ("retries", {"on": ["unknown"]}), ("retries", {"on": "failure"}), ("retries", {"often": 3}), ("spread_s", 1.5),
        ("priority", "high"), ("exclude", "nights"), ("runs_on", [1]), ("not_later_than_s", True),
    ],
)  # fmt: skip
def test_a_damaged_definition_is_refused(key: str, value: object) -> None:
    with pytest.raises(Invalid, match=f"`{key}`"):
        from_definition({**jobfile.definition(a_job()), key: value})


# ── digests


def test_the_digests_of_jobs_that_say_nothing_are_those_of_older_versions() -> None:
    job = Job("0c1d2e3f4a5b", "tides", "Tides", "0 9 * * *", "Europe/Paris", script="tides.sh", agent=False)
    assert (jobfile.digest(job), jobfile.cadence_digest(job)) == ("23fa91766227b783", "a6caa5916bffb19a")


@pytest.mark.parametrize("given", [{"starts": "2026-12-01"}, {"ends": "2026-12-01"}, {"spread_s": 60}])
def test_when_it_runs_is_part_of_the_cadence(given: dict[str, Any]) -> None:
    assert jobfile.cadence_digest(a_job(**given)) != jobfile.cadence_digest(a_job())
    assert jobfile.cadence_digest(a_job(**given)) == jobfile.cadence_digest(a_job(**given))


@pytest.mark.parametrize(
    "given",
    [
        {"catch_up": "all"}, {"overlap": "queue"}, {"retries": Retries(3)}, {"group": "gpu"}, {"priority": 1},
        {"exclude": ("nights",)}, {"runs_on": ("gpu",)}, {"not_later_than_s": 60},
    ],
)  # fmt: skip
def test_what_becomes_of_its_slots_is_not(given: dict[str, Any]) -> None:
    assert jobfile.cadence_digest(a_job(**given)) == jobfile.cadence_digest(a_job())
    assert jobfile.digest(a_job(**given)) != jobfile.digest(a_job())


# ── the window


@pytest.mark.parametrize(
    ("text", "starts", "ends"),
    [
        ("2026-12-01", "2026-11-30T23:00:00", "2026-12-01T22:59:59"),
        ("2026-10-25", "2026-10-24T22:00:00", "2026-10-25T22:59:59"),  # 25 hours
        ("2026-12-01 09:30", "2026-12-01T08:30:00", "2026-12-01T08:30:00"),
        ("2026-12-01T09:30:00+09:00", "2026-12-01T00:30:00", "2026-12-01T00:30:00"),
        ("2026-12-01T09:30Z", "2026-12-01T09:30:00", "2026-12-01T09:30:00"),
    ],
)
def test_P12_a_day_is_whole_in_the_jobs_zone(text: str, starts: str, ends: str) -> None:
    found = window_of(a_job(timezone="Europe/Paris", starts=text, ends=text))
    assert [None if each is None else each.replace(tzinfo=None).isoformat() for each in found] == [starts, ends]
    assert window_of(a_job()) == (None, None)


def test_P12_the_row_and_the_definition_have_the_same_slots() -> None:
    job = a_job(schedule="every day at 2:30", timezone="Europe/Paris", starts="2026-03-28", ends="2026-03-30")
    anchor = datetime(2026, 1, 1, tzinfo=UTC)
    schedule = schedule_of(job, anchor)
    row: dict[str, Any] = {"schedule": job.schedule, "timezone": job.timezone, "anchor_at": to_us(anchor),
                           "clock_gap": None, "clock_repeat": None, **columns_of(job)}  # fmt: skip
    expected = [datetime(2026, 3, day, hour, 30, tzinfo=UTC) for day, hour in ((28, 1), (29, 1), (30, 0))]
    for slots in (schedule.set, slots_of(row)):
        assert [*slots.between(anchor, datetime(2027, 1, 1, tzinfo=UTC))] == expected
        assert slots.next_after(expected[-1]) is None
        assert slots.last_until(expected[0].replace(hour=0)) is None
        assert slots.contains(expected[1])
        assert not slots.contains(datetime(2026, 3, 31, 0, 30, tzinfo=UTC))
    assert schedule.meaning == "at 02:30 every day starting 28 March 2026 until 30 March 2026"


def test_P12_a_count_counts_from_the_rules_own_beginning() -> None:
    rule = "DTSTART:20260301T090000 RRULE:FREQ=DAILY;COUNT=10"
    slots = schedule_of(a_job(schedule=rule, starts="2026-03-08"), START).set
    assert [slot.day for slot in slots.between(START, datetime(2027, 1, 1, tzinfo=UTC))] == [8, 9, 10]


def test_a_window_without_a_slot_is_empty() -> None:
    for schedule in ("2026-12-24 18:00", "every 90 minutes from 2027-01-01T00:00Z", "0 9 29 2 *"):
        slots = schedule_of(a_job(schedule=schedule, starts="2026-03-05", ends="2026-03-06"), START).set
        assert slots.next_after(START) is None
        assert slots.count(START, datetime(2030, 1, 1, tzinfo=UTC)) == 0


def test_the_columns_of_a_job() -> None:
    assert columns_of(a_job()) == {"starts_at": None, "ends_at": None, "spread_s": 0, "runs_on": None,
                                   "concurrency_group": None, "priority": 0}  # fmt: skip
    assert columns_of(WHOLE) == {
        "starts_at": to_us(datetime(2026, 12, 1, tzinfo=UTC)),
        "ends_at": to_us(datetime(2027, 1, 31, 23, 59, 59, tzinfo=UTC)),
        "spread_s": 300, "runs_on": "eu gpu", "concurrency_group": "gpu", "priority": -5,
    }  # fmt: skip
