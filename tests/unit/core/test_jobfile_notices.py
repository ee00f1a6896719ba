"""What a job file says about who hears of it: understood, refused with its place, written, and no part of the cadence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core import jobfile
from horae.core.definition import cadence_digest, definition, described, digest, from_definition
from horae.core.fieldforms import FIELDS
from horae.core.model import Job
from horae.errors import Invalid
from tests.support.builders import a_job

HEAD = "schedule: every day at 9:00\ntimezone: Europe/Paris\nscript: a.sh\nagent: false\n"
KEYS = ("alerts", "origin", "urgency", "expect_by", "expect_every", "expect_output", "pause_after")


def read(*lines: str) -> Job:
    return jobfile.read("---\n" + "\n".join(lines) + f"\n{HEAD}---\n", file="jobs/a.md", slug="a")


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("alerts: ops", "alerts", ("ops",)),
        ("alerts: [ops, 'telegram:-100:12']", "alerts", ("ops", "telegram:-100:12")),
        ("alerts: ops, mail", "alerts", ("ops", "mail")),
        ("origin: telegram:-100777:12", "origin", "telegram:-100777:12"),
        ("origin: 'My friends'", "origin", "My friends"),
        ("urgency: high", "urgency", "high"),
        ("urgency: LOW", "urgency", "low"),
        ("urgency: normal", "urgency", "normal"),
        ("expect_by: 09:30", "expect_by", "09:30"),
        ("expect_by: 9:05", "expect_by", "09:05"),
        ("expect_by: '00:00'", "expect_by", "00:00"),
        ("expect_by: 23:59", "expect_by", "23:59"),
        ("expect_every: 26h", "expect_every_s", 93_600),
        ("expect_every: 1m", "expect_every_s", 60),
        ("expect_every: 366d", "expect_every_s", 366 * 86_400),
        ("expect_output: 1", "expect_output", 1),
        ("expect_output: 1000", "expect_output", 1000),
        ("pause_after: 0", "pause_after", 0),
        ("pause_after: 5", "pause_after", 5),
    ],
)
def test_what_is_understood(line: str, field: str, value: object) -> None:
    assert getattr(read(line), field) == value


def test_what_is_left_out_is_not_said() -> None:
    job = read("name: A")
    assert (job.alerts, job.origin, job.urgency, job.expect_by) == ((), None, "normal", None)
    assert (job.expect_every_s, job.expect_output, job.pause_after) == (None, None, None)


REFUSALS = [
    ("alerts: []", "alerts", "", None),
    ("alerts: {to: ops}", "alerts", "", None),
    ("alert: ops", "alert", "no key `alert`", "Did you mean `alerts`?"),
    ("origin: origin", "origin", "must be one target with a place of its own; it says origin", None),
    ("origin: All", "origin", "it says All", None),
    ("origin: [a, b]", "origin", "not a list", None),
    ("origin: " + "x" * 401, "origin", "must be one target", None),
    ("urgency: urgent", "urgency", "must be high, normal or low; it says urgent", None),
    ("urgency: hihg", "urgency", "it says hihg", "Did you mean `high`?"),
    ("expect_by: 24:00", "expect_by", "must be a time of day such as 09:30; it says 24:00", None),
    ("expect_by: 9:60", "expect_by", "it says 9:60", None),
    ("expect_by: 9:5", "expect_by", "it says 9:5", None),
    ("expect_by: 09:30:00", "expect_by", "it says 09:30:00", None),
    ("expect_by: 9am", "expect_by", "it says 9am", None),
    ("expect_by: ٠٩:٣٠", "expect_by", "must be a time of day", None),
    ("expect_every: 30s", "expect_every", "must be from a minute to a year; it says 30s", None),
    ("expect_every: 367d", "expect_every", "", None),
    ("expect_every: 26", "expect_every", "has no unit", None),
    ("expect_every: daily", "expect_every", "", None),
    ("expect_output: 0", "expect_output", "a number of runs from 1 on, up to 1000; it says 0", None),
    ("expect_output: 1001", "expect_output", "up to 1000; it says 1001", None),
    ("expect_output: true", "expect_output", "it says true", None),
    ("expect_output: " + "9" * 5000, "expect_output", "must be a number of runs", None),
    ("pause_after: -1", "pause_after", "a number of failures, or 0 for never, up to 1000; it says -1", None),
    ("pause_after: never", "pause_after", "it says never", None),
    ("pause_after: 2.5", "pause_after", "it says 2.5", None),
]


@pytest.mark.parametrize(("line", "key", "says", "hint"), REFUSALS, ids=[line[:30] for line, *_ in REFUSALS])
def test_a_refusal_names_the_place(line: str, key: str, says: str, hint: str | None) -> None:
    with pytest.raises(Invalid) as caught:
        read(line)
    problem = caught.value
    assert says in problem.message
    assert (problem.details["line"], problem.details["key"]) == (2, key)
    assert problem.message.startswith("jobs/a.md, line 2: ")
    assert problem.details["expected"]
    assert hint is None or hint in str(problem.hint)


WHOLE = a_job(
    alerts=("ops", "telegram:-100:12"), origin="telegram:-100777:12", urgency="low", expect_by="09:30",
    expect_every_s=93_600, expect_output=3, pause_after=0,
)  # fmt: skip


def test_what_is_composed_stands_in_the_canonical_order_and_reads_back() -> None:
    text = jobfile.compose(WHOLE)
    assert jobfile.read(text, file="f", slug=WHOLE.slug) == WHOLE
    assert [line for line in text.splitlines() if line.split(":")[0] in KEYS] == [
        "alerts: [ops, telegram:-100:12]",
        "origin: telegram:-100777:12",
        "urgency: low",
        'expect_by: "09:30"',
        "expect_every: 26h",
        "expect_output: 3",
        "pause_after: 0",
    ]


jobs = st.builds(
    lambda **given: a_job(**given),  # noqa: PLW0108 - its own name has no types for hypothesis to read
    alerts=st.lists(st.sampled_from(["ops", "mail", "telegram:-100:12", "a b", "#room"]), unique=True).map(tuple),
    origin=st.none() | st.sampled_from(["telegram:1", "yes", "12", "a: b", "#x", "'q'", 'say "hi"']),
    urgency=st.sampled_from(["high", "normal", "low"]),
    expect_by=st.none() | st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.integers(0, 59)),
    expect_every_s=st.none() | st.integers(60, 366 * 86_400),
    expect_output=st.none() | st.integers(1, 1000),
    pause_after=st.none() | st.integers(0, 1000),
)


@given(jobs)
def test_every_job_comes_back_from_its_file_and_from_its_definition(job: Job) -> None:
    assert jobfile.read(jobfile.compose(job), file="f", slug=job.slug) == job
    assert from_definition(json.loads(json.dumps(definition(job)))) == job
    assert json.loads(json.dumps(described(job)))["expect_every_s"] == job.expect_every_s


@given(jobs, jobs)
def test_an_edit_from_any_job_to_any_other_says_what_the_other_says(one: Job, other: Job) -> None:
    wanted: dict[str, Any] = {key: getattr(other, FIELDS[key]) for key in KEYS}
    wanted = {key: None if value in ((), None) else value for key, value in wanted.items()}
    after = jobfile.read(jobfile.edit(jobfile.compose(one), wanted), file="f", slug=one.slug)
    assert {key: getattr(after, FIELDS[key]) for key in KEYS} == {key: getattr(other, FIELDS[key]) for key in KEYS}


def test_an_edit_leaves_comments_where_they_are() -> None:
    text = f"---\n{HEAD}alerts: # who\n- ops # night\n- mail\nexpect_by: '9:30' # before work\n---\n"
    after = jobfile.edit(
        text, {"alerts": ["ops", "boss"], "expect_by": "10:00", "pause_after": "3", "expect_every": "26h"}
    )
    assert "alerts: # who\n- ops # night\n- boss\n" in after
    assert "expect_by: '10:00' # before work\n" in after
    assert "expect_every: 26h\n" in after
    assert "pause_after: 3\n" in after
    assert jobfile.edit(text, {"alerts": ["ops", "mail"]}) == text


def test_a_job_that_says_nothing_of_it_has_the_digest_of_older_versions() -> None:
    job = Job("0c1d2e3f4a5b", "tides", "Tides", "0 9 * * *", "Europe/Paris", script="tides.sh", agent=False)
    assert (digest(job), cadence_digest(job)) == ("23fa91766227b783", "a6caa5916bffb19a")
    assert not {FIELDS[key] for key in KEYS} & {*definition(job)}


@pytest.mark.parametrize(
    "given",
    [
        {"alerts": ("ops",)}, {"origin": "ops"}, {"urgency": "high"}, {"expect_by": "09:30"}, {"expect_every_s": 60},
        {"expect_output": 1}, {"pause_after": 0},
    ],
)  # fmt: skip
def test_who_hears_of_it_voids_no_slot(given: dict[str, Any]) -> None:
    assert cadence_digest(a_job(**given)) == cadence_digest(a_job())
    assert digest(a_job(**given)) != digest(a_job())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("alerts", "ops"), ("alerts", [1]), ("origin", 5), ("urgency", "urgent"), ("urgency", True), ("expect_by", 930),
        ("expect_every_s", 60.5), ("expect_every_s", True), ("expect_output", "1"), ("pause_after", None),
    ],
)  # fmt: skip
def test_a_damaged_definition_is_refused(key: str, value: object) -> None:
    with pytest.raises(Invalid, match=f"`{key}`"):
        from_definition({**definition(a_job()), key: value})


def test_a_job_names_a_bounded_number_of_targets_of_bounded_length() -> None:
    many = ", ".join(f"t{n}" for n in range(33))
    for line, says in ((f"deliver: [{many}]", "more than 32 targets"), (f"alerts: [{'x' * 401}]", "400 characters")):
        with pytest.raises(Invalid, match=says):
            jobfile.read(
                f"---\nschedule: daily at 09:00\nscript: a.sh\nagent: false\n{line}\n---\n", file="a.md", slug="a"
            )
