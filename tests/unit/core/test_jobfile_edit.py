"""Edits of a person's file: what was asked changes, and not one character besides."""

from __future__ import annotations

import pytest

from horae.core import frontmatter, jobfile
from horae.core.identity import new_job_id
from horae.core.model import ClockChange, Limits
from horae.errors import Invalid

COMMENTED = """\
---
# Anna's harbour job

id: 0c1d2e3f4a5b              # given when absent; never changes
name: 'Harbour tides'         # free text

schedule:  weekdays at 18:30  # or a cron line
timezone: "Europe/Paris"
skills:   # in this order
  - tides   # first
  # then the boats
  -   boats

deliver: [origin,   telegram:-100777:12]
limits: {wall: 20m, # long
         idle: 5m,
         usd: 0.50 }   # cheap
---

Report.
"""
BLOCK_LIMITS = """\
---
name: >-   # folded
  Harbour
  tides

limits:
    # time
    wall: 20m   # long

    # money
    usd: 0.50
skills:
- a
schedule: |
  RRULE:FREQ=DAILY

deliver: >+
  local

script: a.py
# the end
---
x"""
BRACES = '---\n{schedule: daily at 09:00, "limits":{"wall":20m}, name: x,\n # c\n enabled: true}\n---\nx\n'
EMPTIES = "---\nmodel:\nschedule:   # none yet\nname: x\n---\nx"
INDENTED = "---\n  name: x\n  schedule: daily at 09:00\n---\nx"
CORPUS = {
    "commented": COMMENTED,
    "block": BLOCK_LIMITS,
    "braces": BRACES,
    "empties": EMPTIES,
    "indented": INDENTED,
    "windows": "\ufeff" + COMMENTED.replace("\n", "\r\n"),
    "windows block": BLOCK_LIMITS.replace("\n", "\r\n"),
    "bare": "---\nschedule: daily at 09:00\n---",
    "only comments": "---\n# c\n\n# d\n---\nx",
    "nothing": "---\n---\n",
    "explicit": "---\n? name\n: x\n? schedule\n: daily at 09:00\n---\nx",
    "multi-line": "---\nname: Harbour\n  tides\nschedule: 'daily\n\n  at 9'   # c\nskills: [a,\n  # why\n  b]\n---\nx",
    "inline list": "---\nskills:\n  - a\n  -\n    b\n  - |\n    c\n  # end\nschedule: daily at 09:00\n---\nx",
    "emoji": "---\nname: 😀 é  # 😀\nschedule: daily at 09:00\n---\n😀\n",
}
CHANGES = [
    ("id", "aaaaaaaaaaaa"),
    ("name", "A: new # name"),
    ("name", "plain"),
    ("schedule", "*/5 * * * *"),
    ("timezone", "Asia/Tokyo"),
    ("repeat", 3),
    ("enabled", False),
    ("agent", True),
    ("skills", ["tides", "new one", "boats"]),
    ("skills", ["x"]),
    ("skills", []),
    ("model", "m-1"),
    ("script", "b.py"),
    ("command", ["sh", "-c", "a, b"]),
    ("deliver", ["local", "a:b"]),
    ("limits", {"wall": 1800}),
    ("limits", {"usd": 1.25, "turns": 3, "idle": None}),
    ("limits", {"wall": None, "usd": None, "idle": None}),
    ("limits", Limits(tokens=5000)),
    ("clock_change", {"gap": "skip"}),
    ("clock_change", {"gap": None, "repeat": "both"}),
    ("clock_change", ClockChange("after")),
    ("clock_change", None),
    *((key, None) for key in ("id", "name", "schedule", "skills", "deliver", "limits", "model", "enabled")),
]


def front_values(text: str) -> dict[str, object]:
    parts = frontmatter.split(text, "f")
    return {key: node.value() for key, node in frontmatter.parse(parts.front, "f").entries.items()}


def without_key_lines(text: str, key: str) -> list[str]:
    """The file's lines without those from the key's to its value's end: what an edit of that key must leave alone."""
    parts = frontmatter.split(text, "f")
    node = frontmatter.parse(parts.front, "f").entries.get(key)
    if node is None:
        return text.splitlines(keepends=True)
    first = parts.front.count("\n", 0, node.key_start)
    last = parts.front.count("\n", 0, max(node.end - 1, node.key_start)) + 1
    lines = parts.front.splitlines(keepends=True)
    return (parts.opening + "".join(lines[:first] + lines[last:]) + parts.closing + parts.body).splitlines(
        keepends=True
    )


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize(("key", "value"), CHANGES, ids=str)
def test_only_the_lines_of_that_key_change(name: str, key: str, value: object) -> None:
    text = CORPUS[name]
    after = jobfile.edit(text, {key: value})
    old, new = front_values(text), front_values(after)
    assert {k: v for k, v in old.items() if k != key} == {k: v for k, v in new.items() if k != key}
    if name != "braces":  # there several keys share a line
        rest = without_key_lines(text, key)
        inner = set(text.splitlines(keepends=True)) - set(rest)  # comments and blank lines within the value may stay
        inner |= {"\n", "\r\n"} if ">+" in text and key == "deliver" else set()
        kept = [line for line in without_key_lines(after, key) if line not in inner]
        assert kept == [line for line in rest if line not in inner]
    assert jobfile.edit(after, {key: value}) == after  # a second time there is nothing to do
    if value is None:
        assert key not in new


@pytest.mark.parametrize("name", CORPUS)
def test_no_change_is_no_change(name: str) -> None:
    text = CORPUS[name]
    assert jobfile.edit(text, {}) == text
    prompt = frontmatter.plain_prompt(frontmatter.split(text, "f").body, "f")
    assert jobfile.edit(text, {"prompt": prompt}) == text


def changed_lines(text: str, changes: dict[str, object]) -> list[str]:
    after = jobfile.edit(text, changes).splitlines()
    before = text.splitlines()
    return [line for line in after if line not in before]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"name": "Port"}, ["name: 'Port'         # free text"]),
        ({"name": "it's"}, ["name: 'it''s'         # free text"]),
        ({"name": "a\u200bb"}, ['name: "a\\u200bb"         # free text']),
        ({"schedule": "daily at 09:00"}, ["schedule:  daily at 09:00  # or a cron line"]),
        ({"timezone": "UTC"}, ['timezone: "UTC"']),
        ({"skills": ["tides", "ships", "boats"]}, ["  - ships"]),
        ({"skills": ["boats"]}, []),
        ({"skills": []}, ["skills: []   # in this order"]),
        ({"deliver": ["local"]}, ["deliver: [local]"]),
        ({"limits": {"wall": 3600}}, ["limits: {wall: 1h, # long"]),
        ({"limits": {"tokens": 200_000}}, ["         idle: 5m, tokens: 200k,"]),
        ({"limits": {"usd": "2"}}, ["         usd: 2 }   # cheap"]),
        ({"enabled": False}, ["enabled: false"]),
        ({"clock_change": {"gap": "skip", "repeat": "both"}}, ["clock_change: {gap: skip, repeat: both}"]),
        ({"clock_change": ClockChange()}, []),
    ],
)
def test_how_it_looks(changes: dict[str, object], lines: list[str]) -> None:
    assert changed_lines(COMMENTED, changes) == lines


def test_comments_of_items_that_stay_stay() -> None:
    after = jobfile.edit(COMMENTED, {"skills": ["boats", "tides"]})
    assert "# then the boats\n" in after
    assert "  - tides   # first\n" in after
    assert jobfile.edit(COMMENTED, {"skills": ["tides", "new"]}).count("# then the boats") == 1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"model": "m"}, "skills:\n- a\nmodel: m\n"),
        ({"limits": {"idle": 60}}, "    wall: 20m   # long\n    idle: 1m\n\n    # money\n"),
        ({"limits": {"tokens": 5}}, "    wall: 20m   # long\n    tokens: 5\n\n    # money\n"),
        ({"limits": {"wall": None}}, "limits:\n    # time\n\n    # money\n    usd: 0.50\n"),
        ({"schedule": "daily at 09:00"}, "- a\nschedule: daily at 09:00\n\ndeliver"),
        ({"name": "X"}, "---\nname: X   # folded\n\nlimits:"),
        ({"id": "aaaaaaaaaaaa"}, "---\nid: aaaaaaaaaaaa\nname: >-"),
        ({"env": ["A"]}, "script: a.py\nenv: [A]\n# the end\n---\n"),
        ({"deliver": ["a"]}, "RRULE:FREQ=DAILY\n\ndeliver: [a]\n\nscript: a.py"),
    ],
)
def test_places_in_a_file_of_lines(changes: dict[str, object], expected: str) -> None:
    assert expected in jobfile.edit(BLOCK_LIMITS, changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"limits": {"wall": None}}, "{schedule: daily at 09:00, name: x,\n # c\n enabled: true}"),
        ({"limits": {"wall": "5m"}}, '"limits":{"wall":5m}'),
        ({"limits": {"usd": 1}}, '"limits":{"wall":20m, usd: 1}'),
        ({"enabled": None}, "name: x,\n # c\n }"),
        ({"schedule": None}, '{"limits"'),
        ({"id": "aaaaaaaaaaaa"}, "{id: aaaaaaaaaaaa, schedule"),
        ({"name": "a, b"}, 'name: "a, b",'),
    ],
)
def test_places_in_braces(changes: dict[str, object], expected: str) -> None:
    assert expected in jobfile.edit(BRACES, changes)


CLOCKED = (
    "---\nclock_change:   # at night\n  # in spring\n  gap: skip   # never mind\n\n  repeat: both\nname: x\n---\nx"
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"gap": "after"}, CLOCKED.replace("gap: skip", "gap: after")),
        ({"repeat": None}, CLOCKED.replace("  repeat: both\n", "")),
        ({"gap": "skip"}, CLOCKED),
        ({"gap": None, "repeat": None}, "---\nname: x\n---\nx"),
    ],
)
def test_one_entry_of_a_mapping_changes_and_the_others_keep_their_place(changes: object, expected: str) -> None:
    assert jobfile.edit(CLOCKED, {"clock_change": changes}) == expected


def test_empty_values_are_filled() -> None:
    after = jobfile.edit(EMPTIES, {"model": "m", "schedule": "daily at 09:00"})
    assert after == "---\nmodel: m\nschedule: daily at 09:00   # none yet\nname: x\n---\nx"


def test_a_first_key_takes_the_file_s_line_ends() -> None:
    assert jobfile.edit("---\r\n---\r\n", {"name": "x"}) == "---\r\nname: x\r\n---\r\n"


@pytest.mark.parametrize(
    ("body", "prompt", "expected"),
    [
        ("\nReport.\n", "Tell.", "\nTell.\n"),
        ("\n \nReport.  ", "Tell.", "\n \nTell."),
        ("", "Tell.", "Tell.\n"),
        ("\n\n", "Tell.", "Tell.\n"),
        ("a\n\nb\n\n", "c\nd", "c\nd\n\n"),
        ("a\n", None, "\n"),
        ("a", "a", "a"),
    ],
)
def test_the_prompt_is_replaced_within_its_blank_lines(body: str, prompt: str | None, expected: str) -> None:
    head = "---\nschedule: daily at 09:00 # c\n---\n"
    assert jobfile.edit(head + body, {"prompt": prompt}) == head + expected
    crlf = jobfile.edit((head + body).replace("\n", "\r\n"), {"prompt": prompt})
    assert crlf == (head + expected).replace("\n", "\r\n")


def test_a_prompt_behind_a_closing_line_without_end() -> None:
    assert jobfile.edit("---\nname: x\n---", {"prompt": "Tell."}) == "---\nname: x\n---\nTell.\n"


def test_several_changes_at_once() -> None:
    after = jobfile.edit(
        COMMENTED, {"prompt": "Tell.", "limits": {"idle": None, "turns": 2}, "skills": None, "repeat": 1}
    )
    job = jobfile.read(after, file="f", slug="f")
    assert (job.prompt, job.skills, job.repeat, job.limits) == ("Tell.", (), 1, Limits(1200.0, turns=2, usd=0.5))
    for line in COMMENTED.splitlines():
        comment = line.partition("#")[2]
        assert comment in after or line.startswith(("  ", "skills"))


@pytest.mark.parametrize(
    ("text", "changes", "key", "says"),
    [
        ("no front matter", {"name": "x"}, None, "no front matter"),
        ("---\na: [\n---\n", {"name": "x"}, None, "not closed"),
        (COMMENTED, {"colour": "x"}, "colour", "no key"),
        (COMMENTED, {"limits": {"walls": 5}}, "limits.walls", "no key"),
        (COMMENTED, {"limits": {"walls": None}}, "limits.walls", "no key"),
        (COMMENTED, {"name": object()}, "name", "cannot be written"),
        (COMMENTED, {"limits": {"wall": 0.5}}, "limits.wall", "whole"),
        (COMMENTED, {"limits": 5}, "limits", "mapping"),
        (COMMENTED, {"clock_change": "skip"}, "clock_change", "mapping"),
        (COMMENTED, {"clock_change": {"wall": "5m"}}, "clock_change.wall", "no key"),
        (COMMENTED, {"clock_change": {"gap": 5}}, "clock_change.gap", "cannot be written"),
        (COMMENTED, {"skills": ["a", 1]}, "skills", "cannot be written"),
        (COMMENTED, {"prompt": 5}, "prompt", "text"),
        (COMMENTED, {"prompt": "x" * 300_000}, None, "larger than"),
        (COMMENTED, {"prompt": "x\0"}, None, "NUL"),
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, changes: dict[str, object], key: str | None, says: str) -> None:
    with pytest.raises(Invalid, match=says) as caught:
        jobfile.edit(text, changes)
    assert caught.value.details["key"] == key


def test_a_broken_value_can_be_mended() -> None:
    """An edit asks for readable front matter, not for a valid job."""
    assert jobfile.edit("---\nenabled: yes\nlimits: [5m]\n---\n", {"enabled": True, "limits": {"wall": "5m"}}) == (
        "---\nenabled: true\nlimits: {wall: 5m}\n---\n"
    )


@pytest.mark.parametrize("rest", ["3825e71072", "9825071072", "b138100101"])
def test_a_new_job_s_id_never_reads_as_a_number(rest: str) -> None:
    """Or YAML would need quotes round it: digits alone, an exponent, a zero in front."""
    ids = [new_job_id(bytes([first]) + bytes.fromhex(rest)) for first in range(256)]
    assert {len(made) for made in ids} == {12}
    for made in ids:
        assert f"id: {made}\n" in jobfile.edit("---\nname: x\n---\n", {"id": made})
