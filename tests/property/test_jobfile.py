"""Laws of job files: what is composed reads back, an edit touches one key, and nothing but Invalid ever comes out."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core import frontmatter, jobfile
from horae.core.agent import TOOLSETS
from horae.core.fieldforms import FIELDS, ORDER
from horae.core.model import CatchUp, Cause, ClockChange, Job, Limits, Overlap, Retries, Sandbox
from horae.core.text import clean_name, clip, display_width, one_line
from horae.errors import Invalid

VALID = """\
---
id: 0c1d2e3f4a5b   # given
name: "Harbour: tides"
schedule: weekdays at 18:30
timezone: Europe/Paris
skills:
  - tides
  # and
  - boats
deliver: [origin, telegram:-100777:12]
command: [sh, -c, 'echo "hi"']
limits: {wall: 20m, # long
  usd: 0.50}
repeat: 3
enabled: true
---

Report tomorrow's tides.
"""

# Drawn from what YAML trips over, and from everything else
texts = st.text(
    st.one_of(st.sampled_from(" :#-[]{},&*!|>'\"%@`~\\/.0123456789yno"), st.characters(exclude_categories=["Cs"]))
)
line = texts.map(clean_name).map(lambda text: text[:200].strip()).filter(bool)
names = line.filter(lambda text: clean_name(text) == text)
words = st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=12)
prompts = texts.map(lambda text: frontmatter.plain_prompt(text.replace("\0", ""), "f"))
counts = st.integers(1, 10**12)
allowances = st.builds(
    Limits,
    wall_s=st.none() | st.integers(1, 10**7).map(float),
    idle_s=st.none() | st.integers(1, 10**7).map(float),
    script_s=st.none() | st.integers(1, 10**7).map(float),
    output_bytes=st.none() | counts,
    memory_bytes=st.none() | st.integers(1024**2, 10**12),
    cpu_s=st.none() | st.integers(1, 10**7).map(float),
    processes=st.none() | counts,
    turns=st.none() | counts,
    tokens=st.none() | counts,
    usd=st.none() | st.decimals("0.000001", 10**6, places=6).map(float),
)
arguments = texts.filter(lambda text: "\0" not in text)
schedules = st.sampled_from(["weekdays at 18:30", "0 9 * * 1-5", "*/5 * * * *", "@daily", "2026-12-24T18:00:00+01:00"])
labels = st.from_regex("[a-z0-9][a-z0-9_-]{0,12}", fullmatch=True)
retries = st.just(Retries()) | st.builds(
    Retries,
    max=st.integers(0, 100),
    backoff_s=st.none() | st.integers(1, 600).map(float),
    ceiling_s=st.none() | st.integers(600, 10**6).map(float),
    on=st.none()
    | st.sets(st.sampled_from(get_args(Cause)), min_size=1).map(
        lambda some: tuple(cause for cause in get_args(Cause) if cause in some)
    ),
)
jobs = st.builds(
    Job,
    starts=st.sampled_from([None, "2026-12-01", "2026-12-24 18:00", "2026-12-01T09:00:00+09:00"]),
    ends=st.sampled_from([None, "2027-01-31", "2027-01-31T23:59:59"]),
    exclude=st.lists(labels, max_size=3, unique=True).map(tuple),
    spread_s=st.integers(0, 86400),
    catch_up=st.sampled_from(get_args(CatchUp)),
    not_later_than_s=st.none() | st.integers(1, 10**6),
    overlap=st.sampled_from(get_args(Overlap)),
    retries=retries,
    group=st.none() | labels,
    priority=st.integers(-100, 100),
    runs_on=st.lists(labels, max_size=3, unique=True).map(sorted).map(tuple),
    id=st.from_regex("[0-9a-f]{12}", fullmatch=True) | st.just(""),
    slug=st.just("job"),
    name=names,
    schedule=schedules,
    timezone=st.sampled_from(["Europe/Paris", "UTC", "America/New_York"]),
    prompt=prompts.filter(bool),
    agent=st.booleans() | st.sampled_from(["hermes", "a-b"]),
    tools=st.none() | st.lists(st.sampled_from([*TOOLSETS, "mcp:files"]), unique=True).map(tuple),
    approve=st.lists(st.sampled_from(["shell", "mcp:files"]), unique=True).map(tuple),
    fallbacks=st.lists(st.sampled_from(["small", "large"]), unique=True).map(tuple),
    after=st.none() | st.just("harbour-tides"),
    context_from=st.lists(st.sampled_from(["self", "harbour-tides"]), unique=True).map(tuple),
    context_age_s=st.none() | st.integers(60, 10**6),
    watch=st.none() | st.sampled_from(["https://example.org/feed?a=b#c", "look.py"]),
    empty=st.sampled_from(["fail", "silent"]),
    schema=st.none() | st.just('{"type": "object", "properties": {"a-b": {"type": "string"}}}'),
    script=st.none(),
    command=st.tuples(words, arguments, arguments),
    deliver=st.lists(words, min_size=1, max_size=4, unique=True).map(tuple),
    skills=st.lists(line.filter(lambda text: text not in ("~", "null")), max_size=4, unique=True).map(tuple),
    model=st.none() | line,
    repeat=st.none() | counts,
    limits=allowances,
    clock_change=st.builds(
        ClockChange,
        gap=st.sampled_from([None, "shift", "after", "skip"]),
        repeat=st.sampled_from([None, "first", "both", "last"]),
    ),
    enabled=st.booleans(),
    secrets=st.lists(st.from_regex("[A-Z_][A-Z0-9_]{0,9}", fullmatch=True), max_size=3, unique=True).map(tuple),
    workdir=st.none() | st.tuples(st.sampled_from(["/", "~/"]), line).map("".join),
    landlock=st.booleans(),
    sandbox=st.sampled_from(get_args(Sandbox)),
    env=st.lists(st.from_regex("[A-Z_][A-Z0-9_]{0,9}", fullmatch=True), max_size=3, unique=True).map(tuple),
)


def front_values(text: str) -> dict[str, object]:
    front = frontmatter.split(text, "f").front
    return {key: node.value() for key, node in frontmatter.parse(front, "f").entries.items()}


@given(jobs)
def test_what_is_composed_reads_back(job: Job) -> None:
    assert jobfile.read(jobfile.compose(job), file="f", slug=job.slug) == job


@given(jobs)
def test_a_definition_comes_back_from_json(job: Job) -> None:
    form = json.loads(json.dumps(jobfile.definition(job)))
    again = jobfile.from_definition(form)
    assert again == job
    assert jobfile.digest(again) == jobfile.digest(job)


@given(
    jobs,
    jobs,
    st.sampled_from(
        [key for key in ORDER if key not in ("id", "timezone", "agent", "script", "retries", "starts", "ends")]
    ),
)
def test_an_edit_changes_what_was_asked_and_nothing_else(before: Job, after: Job, key: str) -> None:
    text = jobfile.compose(before)
    edited = jobfile.edit(text, {key: getattr(after, FIELDS[key])})
    old, new = front_values(text), front_values(edited)
    assert {k: v for k, v in old.items() if k != key} == {k: v for k, v in new.items() if k != key}
    assert getattr(jobfile.read(edited, file="f", slug="job"), FIELDS[key]) == getattr(after, FIELDS[key])
    untouched = [row for row in text.split("\n") if not row.startswith(f"{key}:")]
    assert [row for row in edited.split("\n") if not row.startswith(f"{key}:")] == untouched


@given(prompts, prompts)
def test_a_prompt_can_be_replaced_by_any_other(before: str, after: str) -> None:
    head = "---\nschedule: daily at 09:00\ncommand: [ls]\n---\n"
    for newline in ("\n", "\r\n"):
        text = (head + before + "\n").replace("\n", newline)
        edited = jobfile.edit(text, {"prompt": after})
        assert jobfile.read(edited, file="f", slug="job").prompt == after
        assert edited.startswith(head.replace("\n", newline))


def refusal(call: Callable[[], object]) -> Invalid | None:
    try:
        call()
    except Invalid as problem:
        return problem
    return None


def only_invalid(text: str) -> None:
    changes = {"name": "x", "limits": {"wall": "5m", "usd": None}, "skills": ["a", "b"]}
    for problem in (
        refusal(lambda: jobfile.read(text, file="f.md", slug="f")),
        refusal(lambda: jobfile.edit(text, changes)),
    ):
        if problem is not None:
            assert problem.message
            assert {"file", "line", "key", "expected"} <= problem.details.keys()
            json.dumps(problem.as_json())


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    only_invalid(text)
    only_invalid(f"---\n{text}\n---\n{text}")


SNAGS = [
    "- ",
    ": ",
    "  ",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "&a",
    "*a",
    "!!x",
    "? ",
    "name",
    "limits:",
    "#",
    "\t",
    "<<: ",
    ">+\n",
    "---\n",
    "\r\n",
    "schedule: daily at 09:00\n",
]
odd = st.text(string.printable + "\u2028é😀\ufeff\x85", max_size=12)


@given(st.lists(odd | st.sampled_from(["\n", "|", *SNAGS]), max_size=20))
def test_yaml_like_text_is_read_or_refused(pieces: list[str]) -> None:
    only_invalid(f"---\n{''.join(pieces)}\n---\nx")


@given(st.data())
def test_a_mutilated_file_is_read_or_refused(data: st.DataObject) -> None:
    text = VALID
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = min(len(text), at + data.draw(st.integers(0, 8)))
        text = text[:at] + data.draw(st.text(max_size=6) | st.sampled_from(list("\n:#-[]{}&*!|>'\"\t\r"))) + text[end:]
    only_invalid(text)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_cut_anywhere_is_read_or_refused(newline: str) -> None:
    text = VALID.replace("\n", newline)
    for end in range(len(text)):
        only_invalid(text[:end])
        only_invalid(text[:end] + newline + "---" + newline)


@given(st.text())
def test_slugs_are_safe_and_stable(name: str) -> None:
    slug = jobfile.slug_of(name)
    assert slug
    assert len(slug) <= 64
    assert set(slug) <= set(string.ascii_lowercase + string.digits + "-")
    assert slug.strip("-") == slug
    assert jobfile.slug_of(slug) == slug
    assert jobfile.unique_slug(slug, {slug, f"{slug}-2"}) not in {slug, f"{slug}-2"}


@given(st.text(), st.integers(0, 40))
def test_text_on_a_line_is_one_line_and_fits(text: str, width: int) -> None:
    name, shown = clean_name(text), one_line(text, width)
    assert clean_name(name) == name
    assert len(shown) <= width
    assert not any(c in shown + name for c in "\n\r\x1b\u202e\u200b")
    assert display_width(clip(name, width)) <= width
