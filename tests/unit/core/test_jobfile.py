"""Reading and composing job files: what is understood, and the sentence for everything that is not."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from horae import limits
from horae.core import jobfile
from horae.core.definition import described
from horae.core.fieldforms import ORDER
from horae.core.model import ClockChange, Job, Limits
from horae.errors import Invalid

WHOLE = """\
---
id: 0c1d2e3f4a5b              # given when absent; never changes
name: Harbour tides
schedule: weekdays at 18:30   # or a cron line
timezone: Europe/Paris
skills: [tides]
script: fetch_tides.py
deliver: [origin, telegram:-100777:12]
limits: {wall: 20m, idle: 5m, tokens: 200k, usd: 0.50, output: 512k, turns: 7}
---

Report tomorrow's tides for the harbour in two lines.

"""

TIDES = Job(
    id="0c1d2e3f4a5b",
    slug="tides",
    name="Harbour tides",
    schedule="weekdays at 18:30",
    timezone="Europe/Paris",
    prompt="Report tomorrow's tides for the harbour in two lines.",
    script="fetch_tides.py",
    skills=("tides",),
    deliver=("origin", "telegram:-100777:12"),
    limits=Limits(wall_s=1200, idle_s=300, tokens=200_000, usd=0.5, output_bytes=512 * 1024, turns=7),
)


def read(text: str, default_timezone: str = "UTC") -> Job:
    return jobfile.read(text, file="jobs/tides.md", slug="tides", default_timezone=default_timezone)


def file(*lines: str, body: str = "Do it.\n") -> str:
    """A valid file with these lines in place of, or after, the usual ones. Line 2 is the first of them."""
    given = {line.partition(":")[0] for line in lines}
    usual = [line for line in ("schedule: every 90 minutes", "timezone: Europe/Paris") if line[:8] not in
             {key[:8] for key in given}]  # fmt: skip
    return "\n".join(["---", *lines, *usual, "---", body])


def refused(text: str) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read(text)
    problem = caught.value
    assert type(problem) is Invalid
    assert {"file", "line", "key", "expected"} <= problem.details.keys()
    assert problem.details["file"] == "jobs/tides.md"
    assert problem.details["expected"]
    assert problem.message.startswith("jobs/tides.md")
    json.dumps(problem.as_json())
    if problem.details["line"] is not None:
        assert f"line {problem.details['line']}" in problem.message
    return problem


# --- what is understood


def test_a_whole_file() -> None:
    assert read(WHOLE) == TIDES


def test_line_ends_and_byte_order_mark_do_not_matter() -> None:
    assert read("\ufeff" + WHOLE.replace("\n", "\r\n")) == TIDES


def test_what_is_left_out() -> None:
    job = read(file())
    assert job == Job(id="", slug="tides", name="tides", schedule="every 90 minutes", timezone="Europe/Paris",
                      prompt="Do it.")  # fmt: skip
    assert read("---\nschedule: every 90 minutes\n---\nDo it.", default_timezone="Asia/Tokyo").timezone == "Asia/Tokyo"


def test_a_name_from_a_strange_file_name_is_cleaned() -> None:
    text = file()
    assert jobfile.read(text, file="f", slug="a\u202eb").name == "ab"
    assert jobfile.read(text, file="f", slug="x" * 250).name == "x" * limits.NAME_CHARS_MAX
    assert jobfile.read(text, file="f", slug="\u200b").name == "job"


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("schedule: 2026-12-24T18:00", "schedule", "2026-12-24T18:00"),
        ("schedule: 2026-12-24 18:00:00", "schedule", "2026-12-24 18:00:00"),
        ('schedule: "*/5 * * * *"', "schedule", "*/5 * * * *"),
        ("schedule: 0 9 * * 1-5", "schedule", "0 9 * * 1-5"),
        ("schedule: |\n  every 90 minutes\n", "schedule", "every 90 minutes"),
        ("schedule: >-\n  every 90\n  minutes", "schedule", "every 90 minutes"),
        ("name: 12", "name", "12"),
        ("name: 18:30", "name", "18:30"),
        ("name: 0o17", "name", "0o17"),
        ("name: true", "name", "true"),
        ("name: 1e3", "name", "1e3"),
        ("id: 000000000012", "id", "000000000012"),
        ("id: 123456789012", "id", "123456789012"),
        ("enabled: False", "enabled", False),
        ("agent: TRUE", "agent", True),
        ("deliver: origin, telegram:-1:2", "deliver", ("origin", "telegram:-1:2")),
        ("deliver: [local]", "deliver", ("local",)),
        ("deliver: [local, 'ops, mail:a']", "deliver", ("local", "ops", "mail:a")),
        ("skills: []", "skills", ()),
        ("skills:\n- a\n- b", "skills", ("a", "b")),
        ("command: [sh, -c, 'echo \"hi\"', '']", "command", ("sh", "-c", 'echo "hi"', "")),
        ("repeat: 3", "repeat", 3),
        ("repeat: once", "repeat", 1),
        ("repeat: Forever", "repeat", None),
        ("env: [HOME, API_KEY]", "env", ("HOME", "API_KEY")),
        ("secrets: [API_KEY]", "secrets", ("API_KEY",)),
        ("workdir: /srv/x y", "workdir", "/srv/x y"),
        ("workdir: ~/data", "workdir", "~/data"),
        ("landlock: off", "landlock", False),
        ("landlock: FALSE", "landlock", False),
        ("landlock: 'on'", "landlock", True),
        ("sandbox: Strict", "sandbox", "strict"),
        ("sandbox: net", "sandbox", "net"),
        ("sandbox: off", "sandbox", "off"),
        ("sandbox: false", "sandbox", "off"),
        ("script: sub/x y.py", "script", "sub/x y.py"),
        ("clock_change: {gap: skip, repeat: both}", "clock_change", ClockChange("skip", "both")),
        ("clock_change: {gap: After}", "clock_change", ClockChange("after")),
        ("clock_change:\n  repeat: last", "clock_change", ClockChange(repeat="last")),
        ("clock_change: {}", "clock_change", ClockChange()),
        ("limits: {}", "limits", Limits()),
        ("limits: {output: 256k}", "limits", Limits(output_bytes=256 * 1024)),
        ("limits: {output: 1 MiB}", "limits", Limits(output_bytes=1024 * 1024)),
        ("limits: {output: 1000}", "limits", Limits(output_bytes=1000)),
        ("limits: {memory: 512M}", "limits", Limits(memory_bytes=512 * 1024**2)),
        (
            "limits: {memory: 1M, cpu: 90s, processes: 1}",
            "limits",
            Limits(memory_bytes=1024**2, cpu_s=90.0, processes=1),
        ),
        ("limits: {tokens: 1.5M}", "limits", Limits(tokens=1_500_000)),
        ("limits: {tokens: 200000}", "limits", Limits(tokens=200_000)),
        ("limits: {usd: 2}", "limits", Limits(usd=2.0)),
        ("limits:\n  wall: 20m\n  script: 30s", "limits", Limits(wall_s=1200.0, script_s=30.0)),
    ],
)
def test_values_are_what_stands_there(line: str, field: str, value: object) -> None:
    assert getattr(read(file(line)), field) == value


def test_the_whole_front_matter_may_be_in_braces() -> None:
    assert read("---\n{schedule: daily at 09:00, timezone: UTC, limits: {wall: 5m}}\n---\nx").limits.wall_s == 300.0


def test_the_prompt_keeps_all_but_the_blank_lines_around_it() -> None:
    job = read(file(body="\n \n    code\n\n---\ntext  \n\n\n"))
    assert job.prompt == "    code\n\n---\ntext  "


def test_work_without_a_prompt() -> None:
    assert not read(file("script: a.py", body="")).prompt
    assert read(file("agent: false", "command: [ls]", body="a note")).prompt == "a note"


# --- the refusals: line, key, and a part of the message; and of the hint where there is one

REFUSALS = [
    # the file
    ("", 1, None, "there is no front matter", "begins with a line ---"),
    ("name: x\n", 1, None, "there is no front matter", "---"),
    ("\n---\nschedule: x\n---\n", 1, None, "there is no front matter", "---"),
    ("---", 1, None, "there is no front matter", "---"),
    ("---\nschedule: x\n", 1, None, "not closed", "---"),
    ("---\n---\nx", None, "schedule", "`schedule` is missing", "schedule: "),
    ("---\n# only a comment\n---\nx", None, "schedule", "`schedule` is missing", None),
    (file() + "x" * limits.JOB_FILE_BYTES_MAX, None, None, "larger than 256 KiB", None),
    (file() + "é" * (limits.JOB_FILE_BYTES_MAX // 2), None, None, "larger than 256 KiB", None),
    (file(body="a\n\0"), 6, None, "NUL", None),
    (file(body="a\n\ud800"), 6, "prompt", "half of a character", None),
    (file("name: a\x1bb"), 2, None, "U+001B", "escape"),
    (file("name: a\u2028b"), 2, None, "U+2028", "escape"),
    (file("name: a\rb"), 2, None, "U+000D", None),
    (file("name: a\ud800"), 2, None, "U+D800", None),
    # YAML, in plain words
    (file("schedule: */5 * * * *"), 2, "schedule", "begins with * must be in quotes", '"*/5 * * * *"'),
    (file("schedule: * * * * *"), 2, "schedule", "begins with * must be in quotes", '"* * * * *"'),
    (file("schedule: @daily"), 2, "schedule", "begins with @ must be in quotes", '"@daily"'),
    (file("name: a: b"), 2, "name", "a second `: `", "quotes"),
    (file('name: "a'), 2, "name", "a quote is opened and not closed", None),
    (file("skills: [a"), 2, "skills", "begins with [ is not closed", None),
    (file("limits: {wall: 5m"), 2, "limits", "begins with { is not closed", None),
    (file("limits:", "\twall: 5m"), 3, "wall", "a tab is used to indent", "spaces"),
    (file("name: x", "oops"), 3, None, "a line without a colon", None),
    (file('name: "a" b'), 2, "name", "something stands behind a closed value", "quotes"),
    (file('name: "\\q"'), 2, "name", "backslash", "single quotes"),
    (file("skills:", "- a", "  b: c"), 4, "b", "a second `: `", None),
    ("---\n- a\n---\n", 2, None, "not made of lines", None),
    ("---\njust text\n---\n", 2, None, "not made of lines", None),
    ("---\n--- x\n---\n", 2, None, "a second YAML document", None),
    # YAML that has no place here
    (file("name: x", "name: y"), 3, "name", "a second time; the first is on line 2", "Remove"),
    (file("limits: {wall: 5m, wall: 6m}"), 2, "limits.wall", "a second time", None),
    (file("name: &a x"), 2, "name", "`&a` is a YAML anchor", "quotes"),
    (file("name: *a"), 2, "name", "`*a` is a YAML alias", "quotes"),
    (file("*a : x"), 2, None, "alias", None),
    (file("&a name: x"), 2, None, "anchor", None),
    (file("skills: &a [b, *a]"), 2, "skills", "anchor", None),
    (file("name: !!python/object/apply:os.system [id]"), 2, "name", "tag", "quotes"),
    (file("enabled: !!bool yes"), 2, "enabled", "tag", None),
    (file("name: !x y"), 2, "name", "tag", None),
    (file("limits:", "  <<: {wall: 5m}"), 3, "limits.<<", "merge key", None),
    (file("<<: {name: x}"), 2, "<<", "merge key", None),
    (file("skills: [[a]]"), 2, "skills", "must be text, not a list", None),
    (file("skills: [[[[a]]]]"), 2, "skills", "nested too deeply", None),
    (file("limits: {wall: {a: {b: c}}}"), 2, "limits.wall.a", "nested too deeply", None),
    (file("name: " + "[" * 100_000), 2, "name", "nested too deeply", None),
    (file("? [a]\n: b"), 2, None, "a key must be one word", None),
    # keys
    (file("shedule: x"), 2, "shedule", "no key `shedule`", "Did you mean `schedule`?"),
    (file("Name: x"), 2, "Name", "no key `Name`", "Did you mean `name`?"),
    (file("color: x"), 2, "color", "no key `color`", "The keys are id, name,"),
    (file("limits: {walls: 5m}"), 2, "limits.walls", "no key `limits.walls`", "Did you mean `wall`?"),
    (file("limits:", "  # c", "  wall_s: 5"), 4, "limits.wall_s", "no key `limits.wall_s`", "`wall`"),
    (file("'': x"), 2, "", "no key", None),
    # empty values
    *((file(f"{key}:"), 2, key, "", None) for key in ORDER),
    (file("name: ~"), 2, "name", "has no value", "remove the line"),
    (file("model: null"), 2, "model", "has no value", "remove the line"),
    (file('name: ""'), 2, "name", "has no value", None),
    (file("limits: {wall: }"), 2, "limits.wall", "has no value", None),
    (file("skills: [a, ]", "skills2: x"), 3, "skills2", "no key", None),
    (file("skills: [a, '']"), 2, "skills", "has no value", None),
    # types
    (file('enabled: "false"'), 2, "enabled", "'false' in quotes is a text", "enabled: false, without quotes"),
    (file("enabled: no"), 2, "enabled", "must be true or false; it says no", "enabled: true or enabled: false"),
    (file("agent: off"), 2, "agent", "must be true, false, or the name of an agent; it says off", None),
    (file("enabled: 0"), 2, "enabled", "must be true or false; it says 0", None),
    (file("enabled: [false]"), 2, "enabled", "must be true or false, not a list", None),
    (file("name: [a]"), 2, "name", "must be a name, not a list", None),
    (file("schedule: [a]"), 2, "schedule", "must be text, not a list", None),
    (file("schedule: {every: 5m}"), 2, "schedule", "must be text, not a mapping", None),
    (file("timezone: [UTC]"), 2, "timezone", "not a list", None),
    (file("skills: tides"), 2, "skills", "must be a list", "[tides]"),
    (file("skills: {a: b}"), 2, "skills", "must be a list, not a mapping", None),
    (file("skills: [a, b, a]"), 2, "skills", "names a twice", None),
    (file("command: ls -l"), 2, "command", "must be a list", "no shell"),
    (file("command: []"), 2, "command", "at least a program", None),
    (file("command: {a: b}"), 2, "command", "a list", None),
    (file("command: [ls, [a]]"), 2, "command", "texts only", None),
    (file("command: ['', a]"), 2, "command", "empty program name", None),
    (file('command: ["a\\0b"]'), 2, "command", "NUL", None),
    (file("deliver: []"), 2, "deliver", "names no target", "[local]"),
    (file("deliver: 'a,,b'"), 2, "deliver", "names no target", None),
    (file("deliver: a, a"), 2, "deliver", "twice", None),
    (file("deliver: [a, 'b, a']"), 2, "deliver", "twice", None),
    (file("deliver: [a, 'b,']"), 2, "deliver", "names no target", None),
    (file("deliver: {a: b}"), 2, "deliver", "not a mapping", None),
    (file("repeat: 0"), 2, "repeat", "a whole number from 1 on, forever, or once", None),
    (file("repeat: -1"), 2, "repeat", "a whole number", None),
    (file("repeat: 1.5"), 2, "repeat", "a whole number", None),
    (file("repeat: twice"), 2, "repeat", "it says twice", None),
    (file("repeat: " + "9" * 5000), 2, "repeat", "a whole number", None),
    (file("repeat: ٣"), 2, "repeat", "a whole number", None),
    (file("repeat: both"), 2, "repeat", "it says both", "write clock_change: {repeat: both}"),
    (file("gap: skip"), 2, "gap", "no key `gap`", "Write clock_change: {gap: skip}"),
    (file("gap: [skip]"), 2, "gap", "no key `gap`", "Write clock_change: {gap: skip, repeat: both}"),
    (file("wall: 20m"), 2, "wall", "no key `wall`", "Write limits: {wall: 20m}"),
    (file("clock_change: skip"), 2, "clock_change", "must be a mapping", "clock_change: {gap: skip, repeat: both}"),
    (file("clock_change: {gap: later}"), 2, "clock_change.gap", "must be shift, after or skip; it says later", None),
    (file("clock_change: {repeat: 3}"), 2, "clock_change.repeat", "must be first, both or last; it says 3", None),
    (file("clock_change: {gap: }"), 2, "clock_change.gap", "has no value", None),
    (file("clock_change: {gap: [skip]}"), 2, "clock_change.gap", "not a list", None),
    (file("clock_change: {gaps: skip}"), 2, "clock_change.gaps", "no key `clock_change.gaps`", "Did you mean `gap`?"),
    (file("clock_change: {wall: 5m}"), 2, "clock_change.wall", "no key `clock_change.wall`", "gap, repeat"),
    (file("limits: 20m"), 2, "limits", "must be a mapping", "{wall: 20m"),
    (file("limits: [wall]"), 2, "limits", "must be a mapping", None),
    (file("limits: {turns: 0}"), 2, "limits.turns", "from 1 on", None),
    (file("limits: {turns: 1.5}"), 2, "limits.turns", "from 1 on", None),
    (file("limits: {tokens: lots}"), 2, "limits.tokens", "it says lots", None),
    (file("limits: {tokens: 0}"), 2, "limits.tokens", "200k", None),
    (file("limits: {tokens: 1.0001k}"), 2, "limits.tokens", "200k", None),
    (file("limits: {output: -1k}"), 2, "limits.output", "256k", None),
    (file("limits: {output: 999999999999999G}"), 2, "limits.output", "256k", None),
    (file("limits: {usd: $1}"), 2, "limits.usd", "0.50", None),
    (file("limits: {usd: 0}"), 2, "limits.usd", "0.50", None),
    (file("limits: {usd: nan}"), 2, "limits.usd", "0.50", None),
    (file("limits: {usd: 1e3}"), 2, "limits.usd", "0.50", None),
    (file("limits: {wall: soon}"), 2, "limits.wall", "soon", None),
    (file("limits: {wall: [1]}"), 2, "limits.wall", "not a list", None),
    (file("env: [A=b]"), 2, "env", "'A=b' is none", "Only names"),
    (file("env: [1A]"), 2, "env", "'1A' is none", None),
    (file("env: HOME"), 2, "env", "must be a list", "[HOME]"),
    (file("secrets: [A=b]"), 2, "secrets", "'A=b' is none", "the values stay in secrets.toml"),
    (file("secrets: [a-b]"), 2, "secrets", "'a-b' is none", None),
    (file("secrets: [A, A]"), 2, "secrets", "names A twice", None),
    (file("secrets: [" + ", ".join(f"A{i}" for i in range(33)) + "]"), 2, "secrets", "more than 32 secrets", None),
    (file("secrets: API_KEY"), 2, "secrets", "must be a list", "[API_KEY]"),
    (file("secret: [A]"), 2, "secret", "no key `secret`", "Did you mean `secrets`?"),
    (file("workdir: data"), 2, "workdir", "it says data", "where the gateway was started"),
    (file("workdir: ~root/data"), 2, "workdir", "~root/data", None),
    (file("workdir: ~"), 2, "workdir", "has no value", None),
    (file("workdir: [/srv]"), 2, "workdir", "not a list", None),
    (file("workdir: /" + "x" * 4096), 2, "workdir", "longer than 4096 characters", None),
    (file('workdir: "/a\\0b"'), 2, "workdir", "control", None),
    (file("landlock: no"), 2, "landlock", "must be on or off; it says no", "landlock: off"),
    (file("landlock: [on]"), 2, "landlock", "not a list", None),
    (file("sandbox: on"), 2, "sandbox", "must be off, net or strict; it says on", None),
    (file("sandbox: true"), 2, "sandbox", "it says true", None),
    (file("sandbox: strickt"), 2, "sandbox", "it says strickt", "Did you mean `strict`?"),
    (file("sandbox: {net: on}"), 2, "sandbox", "not a mapping", None),
    (file("limits: {memory: 512}"), 2, "limits.memory", "from 1M on, such as 512M; it says 512", None),
    (file("limits: {memory: 1023k}"), 2, "limits.memory", "from 1M on", None),
    (file("limits: {memory: lots}"), 2, "limits.memory", "it says lots", None),
    (file("limits: {cpu: 0s}"), 2, "limits.cpu", "more than nothing", "no limit"),
    (file("limits: {cpu: soon}"), 2, "limits.cpu", "soon", None),
    (file("limits: {processes: 0}"), 2, "limits.processes", "a whole number from 1 on; it says 0", None),
    (file("limits: {processes: 1.5}"), 2, "limits.processes", "from 1 on", None),
    (file("memory: 512M"), 2, "memory", "no key `memory`", "Write limits: {memory: 512M}"),
    # content
    (file("id: 0C1D2E3F4A5B"), 2, "id", "12 lower-case hex digits", "Remove the line"),
    (file("id: 0c1d2e3f4a5"), 2, "id", "12 lower-case hex digits", None),
    (file("name: " + "x" * 201), 2, "name", "longer than 200 characters", None),
    (file('name: "a\\x1bb"'), 2, "name", "control", None),
    (file('name: "a\\nb"'), 2, "name", "one line", None),
    (file("name: a\u202eb"), 2, "name", "invisible", None),
    (file("name: a\u200bb"), 2, "name", "invisible", None),
    (file("name: a\u3164b"), 2, "name", "invisible", None),
    (file("script: /etc/passwd"), 2, "script", "below scripts/", None),
    (file("script: ~/x.py"), 2, "script", "below scripts/", None),
    (file("script: C:x.py"), 2, "script", "below scripts/", None),
    (file("script: a\\b.py"), 2, "script", "below scripts/", None),
    (file("script: ../x.py"), 2, "script", "must not leave scripts/", None),
    (file("script: a/../../x.py"), 2, "script", "must not leave scripts/", None),
    (file("script: a//x.py"), 2, "script", "scripts/", None),
    (file("timezone: Europe/Pariss"), 2, "timezone", "`timezone`: ", None),
    (file("schedule: 30m"), 2, "schedule", "`schedule`: ", None),
    (file("schedule: " + "x" * 4097), 2, "schedule", "longer than 4096", None),
    # what belongs together
    (file("agent: false"), 2, "agent", "needs a `script` or a `command`", None),
    (file("script: a.py", "command: [ls]"), 3, "command", "`script` and `command` are both given", "Remove one"),
    (file(body="\n \n"), None, "prompt", "the prompt is empty", "below the second ---"),
    ("---\nschedule: daily at 09:00\n---", None, "prompt", "the prompt is empty", None),
]


@pytest.mark.parametrize(("text", "line", "key", "says", "hint"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_refusal_names_the_place(text: str, line: int | None, key: str | None, says: str, hint: str | None):
    problem = refused(text)
    assert (problem.details["line"], problem.details["key"]) == (line, key), problem.message
    assert says in problem.message
    if hint is not None:
        assert hint in str(problem.hint)


def test_one_message_in_full() -> None:
    problem = refused(file("enabled: yes"))
    assert problem.message == "jobs/tides.md, line 2: `enabled` must be true or false; it says yes"
    assert problem.hint == "Write enabled: true or enabled: false."
    assert problem.details == {"file": "jobs/tides.md", "line": 2, "key": "enabled", "expected": "true or false"}


def test_lines_count_in_the_whole_file_with_any_line_ends() -> None:
    text = file("# é 😀", "name: x", "enabled: yes").replace("\n", "\r\n")
    assert refused("\ufeff" + text).details["line"] == 4


def test_a_bad_default_zone_has_no_line() -> None:
    with pytest.raises(Invalid) as caught:
        read("---\nschedule: daily at 09:00\n---\nx", default_timezone="Nowhere")
    assert caught.value.details["line"] is None
    assert caught.value.details["key"] == "timezone"


@pytest.mark.parametrize(
    "front",
    [
        "a: " + "[" * 250_000,
        "a: " + "{" * 250_000,
        "- " * 120_000,
        "? " * 120_000,
        "a: " + "x " * 120_000,
        'a: "' + "\\n" * 120_000,
        "a: '" + "\n\n" * 60_000,
        "a: |\n" + " x\n" * 80_000,
        "skills: [" + "a," * 120_000 + "]",
        "skills:\n" + "- a\n" * 60_000,
        "".join(f"k{i}: v\n" for i in range(25_000)),
        "limits: {" + "".join(f"k{i}: v," for i in range(20_000)) + "}",
        "#" * 250_000,
        "\n" * 250_000,
        "k" * 250_000 + ": v",
        "%TAG ! tag:" + "x" * 200_000,
        "name: !" + "x" * 200_000,
        "name: &" + "x" * 200_000,
        ("a" * 100 + "\n") * 2_000,
        "env: [" + ",".join(f"A{i}" for i in range(30_000)) + "]",
        "skills: [" + ",".join(f"a{i}" for i in range(30_000)) + ", a29999]",
    ],
    ids=lambda front: repr(front[:12]),
)
@pytest.mark.timeout(30)  # a cost that grew with the square of the size would take minutes
def test_a_hostile_file_ends_in_a_job_or_in_words(front: str) -> None:
    outcome: Job | Invalid
    try:
        outcome = read(f"---\nschedule: daily at 09:00\n{front}\n---\nx")
    except Invalid as refusal:
        outcome = refusal
    if isinstance(outcome, Invalid):
        assert outcome.details["file"]
        assert outcome.message
    else:
        assert outcome.schedule == "daily at 09:00"


# --- composing


def test_compose_is_short_and_reads_back() -> None:
    text = jobfile.compose(TIDES)
    assert read(text) == TIDES
    assert text == (
        "---\nid: 0c1d2e3f4a5b\nname: Harbour tides\nschedule: weekdays at 18:30\ntimezone: Europe/Paris\n"
        "skills: [tides]\nscript: fetch_tides.py\ndeliver: [origin, telegram:-100777:12]\n"
        "limits: {wall: 20m, idle: 5m, output: 512k, turns: 7, tokens: 200k, usd: 0.5}\n---\n"
        "Report tomorrow's tides for the harbour in two lines.\n"
    )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"schedule": "*/5 * * * *"}, 'schedule: "*/5 * * * *"'),
        ({"schedule": "0 9 * * 1-5"}, "schedule: 0 9 * * 1-5"),
        ({"schedule": "2026-12-24T18:00"}, 'schedule: "2026-12-24T18:00"'),
        ({"schedule": "@daily"}, 'schedule: "@daily"'),
        ({"name": "true"}, 'name: "true"'),
        ({"name": "12"}, 'name: "12"'),
        ({"name": "18:30"}, 'name: "18:30"'),
        ({"name": "0o17"}, 'name: "0o17"'),
        ({"name": "a: b"}, 'name: "a: b"'),
        ({"name": "C# job"}, "name: C# job"),
        ({"name": "job #1"}, 'name: "job #1"'),
        ({"name": 'say "hi"'}, 'name: "say \\"hi\\""'),
        ({"name": "Ebbe & Flut: für 日本"}, 'name: "Ebbe & Flut: für 日本"'),
        ({"name": "- x"}, 'name: "- x"'),
        ({"id": "123456789012"}, 'id: "123456789012"'),
        ({"enabled": False}, "enabled: false"),
        ({"repeat": 3}, "repeat: 3"),
        ({"command": ("sh", "-c", "a, b\n"), "script": None}, 'command: [sh, "-c", "a, b\\n"]'),
        ({"clock_change": ClockChange(repeat="both")}, "clock_change: {repeat: both}"),
        ({"clock_change": ClockChange("skip", "last")}, "clock_change: {gap: skip, repeat: last}"),
        ({"limits": Limits(usd=1e-05)}, "limits: {usd: 0.00001}"),
        ({"limits": Limits(tokens=1500, output_bytes=1000)}, "limits: {output: 1000, tokens: 1500}"),
        ({"limits": Limits(wall_s=5400, idle_s=7200, script_s=61)}, "limits: {wall: 90m, idle: 2h, script: 61s}"),
        (
            {"limits": Limits(memory_bytes=3 * 1024**3, cpu_s=120, processes=40)},
            "limits: {memory: 3072M, cpu: 2m, processes: 40}",
        ),
        ({"landlock": False}, "landlock: false"),
        ({"sandbox": "net"}, "sandbox: net"),
        ({"workdir": "~/data"}, 'workdir: "~/data"'),
        ({"secrets": ("A", "B_2")}, "secrets: [A, B_2]"),
    ],
)
def test_compose_quotes_what_another_reader_would_mistake(changes: dict[str, object], line: str) -> None:
    values = {name: getattr(TIDES, name) for name in TIDES.__slots__} | changes
    job = Job(**values)  # pyright: ignore[reportArgumentType]
    text = jobfile.compose(job)
    assert line in text.split("\n")
    assert read(text) == job


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"deliver": ()}, "deliver"),
        ({"name": "a\nb"}, "name"),
        ({"name": " x "}, "name"),
        ({"limits": Limits(wall_s=0.5)}, "limits.wall"),
        ({"script": "../x"}, "script"),
        ({"workdir": "data"}, "workdir"),
        ({"sandbox": "on"}, "sandbox"),
        ({"secrets": ("A=b",)}, "secrets"),
        ({"prompt": "", "script": None}, "prompt"),
        ({"prompt": "a\0"}, None),
    ],
)
def test_compose_refuses_what_no_file_can_say(changes: dict[str, object], key: str | None) -> None:
    values = {name: getattr(TIDES, name) for name in TIDES.__slots__} | changes
    with pytest.raises(Invalid) as caught:
        jobfile.compose(Job(**values))  # pyright: ignore[reportArgumentType]
    assert caught.value.details["key"] == key


# --- the normal form


def test_the_definition_is_json_and_comes_back() -> None:
    form = json.loads(json.dumps(jobfile.definition(TIDES)))
    assert jobfile.from_definition(form) == TIDES


def test_the_definition_leaves_out_defaults() -> None:
    assert set(jobfile.definition(read(file()))) == {"id", "slug", "name", "schedule", "timezone", "prompt"}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"schedule": 5}, "schedule"),
        ({"later": 1}, "later"),
        ({"limits": {"later": 1}}, "limits"),
        ({"limits": []}, "limits"),
        ({"enabled": 1}, "enabled"),
        ({"skills": "a"}, "skills"),
        ({"skills": [1]}, "skills"),
        ({"command": [None]}, "command"),
        ({"deliver": {}}, "deliver"),
        ({"limits": {"usd": "much"}}, "limits"),
        ({"limits": {"usd": [1]}}, "limits"),
        ({"limits": {"turns": True}}, "limits"),
        ({"clock_change": {"later": "skip"}}, "clock_change"),
        ({"clock_change": {"gap": "later"}}, "clock_change"),
        ({"clock_change": {"gap": "both"}}, "clock_change"),
        ({"clock_change": {"gap": ["skip"]}}, "clock_change"),
        ({"clock_change": "skip"}, "clock_change"),
        ({"secrets": "A"}, "secrets"),
        ({"secrets": [1]}, "secrets"),
        ({"workdir": 3}, "workdir"),
        ({"landlock": "off"}, "landlock"),
        ({"sandbox": "on"}, "sandbox"),
        ({"sandbox": False}, "sandbox"),
        ({"limits": {"memory_bytes": "512M"}}, "limits"),
    ],
)
def test_a_damaged_definition_is_refused(change: dict[str, object], key: str) -> None:
    with pytest.raises(Invalid, match=key):
        jobfile.from_definition(jobfile.definition(TIDES) | change)


@pytest.mark.parametrize("record", [[], None, 3, "x", [["id", "a"]], True])
def test_a_definition_that_is_no_mapping_is_refused(record: Any) -> None:
    with pytest.raises(Invalid, match="definition"):
        jobfile.from_definition(record)


def test_a_definition_without_its_id_is_refused() -> None:
    with pytest.raises(Invalid, match="id"):
        jobfile.from_definition({})


def test_digests_are_pinned() -> None:
    """They are stored: a change of these vectors voids every planned slot of every installation."""
    assert jobfile.digest(TIDES) == "bfa6613cf9d30dd4"
    assert jobfile.cadence_digest(TIDES) == "6771c07908f81af8"


def test_the_cadence_is_schedule_zone_clock_changes_repeat_and_enabled() -> None:
    same = read(WHOLE.replace("name: Harbour", "name: Port").replace("20m", "30m").replace("Report", "Tell"))
    assert jobfile.cadence_digest(same) == jobfile.cadence_digest(TIDES)
    assert jobfile.digest(same) != jobfile.digest(TIDES)
    digests = {jobfile.cadence_digest(TIDES)}
    for line in ("repeat: 3", "enabled: false", "clock_change: {gap: skip}", "clock_change: {repeat: both}"):
        digests.add(jobfile.cadence_digest(read(WHOLE.replace("skills:", f"{line}\nskills:"))))
    assert len(digests) == 5
    assert jobfile.cadence_digest(read(WHOLE.replace("skills:", "clock_change: {}\nskills:"))) in digests


def test_the_definition_holds_what_was_said_of_clock_changes_and_no_more() -> None:
    job = read(file("clock_change: {gap: skip}"))
    assert jobfile.definition(job)["clock_change"] == {"gap": "skip"}
    assert described(job)["clock_change"] == {"gap": "skip", "repeat": None}
    assert described(TIDES)["clock_change"] == {"gap": None, "repeat": None}


def test_the_definition_of_what_a_run_finds_comes_back() -> None:
    said = read(
        file("secrets: [A, B]", "workdir: ~/data", "landlock: off", "sandbox: strict", "limits: {processes: 9}")
    )
    form = json.loads(json.dumps(jobfile.definition(said)))
    assert jobfile.from_definition(form) == said
    assert (form["secrets"], form["landlock"], form["sandbox"]) == (["A", "B"], False, "strict")
    told = described(said)
    assert (told["workdir"], told["limits"]["processes"], told["limits"]["memory_bytes"]) == ("~/data", 9, None)
    assert not {"secrets", "workdir", "landlock", "sandbox"} & jobfile.definition(TIDES).keys()


# --- slugs


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Harbour tides", "harbour-tides"),
        ("  --Été à Zürich!  ", "ete-a-zurich"),
        ("Straße nach Tromsø", "strasse-nach-tromso"),
        ("it's 5 o’clock", "its-5-oclock"),
        ("日本", "job"),
        ("", "job"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("CON", "con-job"),
        ("lpt1", "lpt1-job"),
        ("README", "readme-job"),
        ("①②ﬁ", "12fi"),
        ("x" * 100, "x" * 60),
        ("x" * 59 + " y", "x" * 59),
    ],
)
def test_slugs(name: str, slug: str) -> None:
    assert jobfile.slug_of(name) == slug


def test_a_taken_slug_gets_a_number() -> None:
    assert jobfile.unique_slug("tides", set()) == "tides"
    assert jobfile.unique_slug("tides", {"tides", "tides-2"}) == "tides-3"
    long = "x" * 60
    assert jobfile.unique_slug(long, {long}) == "x" * 58 + "-2"


def test_the_store_s_half_loads_no_yaml() -> None:
    """What only looks into the store pays for no parser: `horae list` comes through `core.definition`."""
    code = f"import sys; sys.path[:] = {sys.path!r}; import horae.core.definition; print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
