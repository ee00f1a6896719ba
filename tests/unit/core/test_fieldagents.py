"""What a job file says of its agent: each form that is read, each that is refused with its place, and what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae.core import jobfile
from horae.core.fieldforms import written
from horae.core.model import Job, Limits
from horae.errors import Invalid
from horae.limits import CONTEXT_AGE_MAX_S, NAMES_MAX, SCHEMA_CHARS_MAX, URL_CHARS_MAX

HEAD = "schedule: every day at 9:00\ntimezone: Europe/Paris\n"
SCHEMA = '{"type": "object", "properties": {"high": {"type": "string"}}}'


def read(*lines: str) -> Job:
    return jobfile.read("---\n" + "\n".join(lines) + f"\n{HEAD}---\n\nhigh water?\n", file="jobs/a.md", slug="a")


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("agent: true", "agent", True),
        ("agent: True", "agent", True),
        ("agent: hermes", "agent", "hermes"),
        ("agent: 'hermes'", "agent", "hermes"),
        ("agent: builtin", "agent", "builtin"),
        ("fallbacks: [small, large]", "fallbacks", ("small", "large")),
        ("fallbacks: small, large", "fallbacks", ("small", "large")),
        ("tools: [files, mcp:web]", "tools", ("files", "mcp:web")),
        ("tools: files, web", "tools", ("files", "web")),
        ("tools: []", "tools", ()),
        ("tools: [shell]\napprove: shell", "approve", ("shell",)),
        ("context_from: [self, Ebb and flow]", "context_from", ("self", "Ebb and flow")),
        ("context_from: self", "context_from", ("self",)),
        ("context_age: 2 days", "context_age_s", 172_800),
        ("context_age: 1m", "context_age_s", 60),
        ("watch: https://example.org/tides?a=1#b", "watch", "https://example.org/tides?a=1#b"),
        ("watch: HTTP://127.0.0.1:8080", "watch", "HTTP://127.0.0.1:8080"),
        ("watch: https://example.org?mail=a@b.org", "watch", "https://example.org?mail=a@b.org"),
        ("watch: https://example.org/@ada", "watch", "https://example.org/@ada"),
        ("watch: tides/look.sh", "watch", "tides/look.sh"),
        ("empty: silent", "empty", "silent"),
        ("after: fetch-mail", "after", "fetch-mail"),
        (f"schema: '{SCHEMA}'", "schema", SCHEMA),
        ('schema: |\n  {"type": "object"}\n', "schema", '{"type": "object"}'),
        ("limits: {turns: 5, tokens: 200k, usd: 0.50}", "limits", Limits(turns=5, tokens=200_000, usd=0.5)),
        ("limits: {tokens_day: 1M, usd_day: 2}", "limits", Limits(tokens_day=1_000_000, usd_day=2.0)),
    ],
)
def test_what_is_understood(line: str, field: str, value: object) -> None:
    assert getattr(read(line), field) == value


def test_what_is_not_said() -> None:
    job = read("name: a")
    assert (job.agent, job.tools, job.approve, job.fallbacks, job.watch, job.schema) == (True, None, (), (), None, None)
    assert (job.context_from, job.context_age_s, job.empty, job.after) == ((), None, "fail", None)


REFUSALS = [
    ('agent: "true"', "agent", "in quotes is a text", "Write agent: true, without quotes."),
    ("agent: 'False'", "agent", "in quotes is a text", "Write agent: false, without quotes."),
    ("agent: yes", "agent", "it says yes", "Write agent: true."),
    ("agent: off", "agent", "it says off", "Write agent: false."),
    ("agent: none", "agent", "it says none", "Write agent: false."),
    ("agent: hermes!", "agent", "it says hermes!", "[agents.NAME]"),
    ("agent: Her Mes", "agent", "it says Her Mes", "[agents.NAME]"),
    ("agent: [hermes]", "agent", "not a list", None),
    ("agent:", "agent", "has no value", None),
    ("fallbacks: [acme/small]", "fallbacks", "'acme/small' is none", "[models.NAME]"),
    ("fallbacks: small,,large", "fallbacks", "must name models, each once", None),
    ("fallbacks: small, small", "fallbacks", "must name models, each once", None),
    (
        "tools: [filse]",
        "tools",
        "names 'filse', which is no toolset",
        "files, web, shell, memory, jobs, messages, mcp:NAME",
    ),
    ("tools: [mcp]", "tools", "names 'mcp', which is no toolset", "[mcp.NAME]"),
    ("tools: ['mcp:']", "tools", "names 'mcp:', which is no toolset", "[mcp.NAME]"),
    ("tools: ['mcp:a b']", "tools", "which is no toolset", "[mcp.NAME]"),
    ("tools: [files, files]", "tools", "names files twice", None),
    ("approve: everything", "approve", "names 'everything', which is no toolset", None),
    (f"context_from: [{', '.join(f'j{n}' for n in range(NAMES_MAX + 1))}]", "context_from", "more than 32 jobs", None),
    ("context_age: 30s", "context_age", "from a minute to a year", None),
    (f"context_age: {CONTEXT_AGE_MAX_S + 1}s", "context_age", "from a minute to a year", None),
    ("context_age: often", "context_age", "context_age", None),
    ("watch: ftp://example.org/", "watch", "must be a URL that can be fetched", "https:// or http://"),
    ("watch: file:///etc/passwd", "watch", "must be a URL that can be fetched", None),
    ("watch: https://ada:pw@example.org/", "watch", "must be a URL that can be fetched", "no password"),
    ("watch: https:///tides", "watch", "must be a URL that can be fetched", None),
    ("watch: https://example.org/a b", "watch", "must be a URL that can be fetched", None),
    (f"watch: https://example.org/{'a' * URL_CHARS_MAX}", "watch", "must be a URL that can be fetched", None),
    ("watch: ../look.sh", "watch", "must not leave scripts/", None),
    ("watch: /bin/sh", "watch", "not a path of its own", None),
    ("empty: maybe", "empty", "must be fail or silent; it says maybe", None),
    ("schema: {type: object}", "schema", "not a mapping or a list", "in a block"),
    ("schema: 'type: object'", "schema", "is not JSON: ", None),
    ("schema: '[1]'", "schema", "must describe an object", '{"type": "object"'),
    ('schema: \'{"type": "array"}\'', "schema", "must describe an object", None),
    (f"schema: '{'[' * 9000}'", "schema", "is not JSON: ", None),
    (f"schema: '{json.dumps(['x' * SCHEMA_CHARS_MAX])}'", "schema", "is longer than 20000 characters", None),
    ("limits: {tokens_day: 0}", "limits.tokens_day", "must be a number of tokens", None),
    ("limits: {usd_day: free}", "limits.usd_day", "must be dollars", None),
]


@pytest.mark.parametrize(("line", "key", "says", "hint"), REFUSALS)
def test_a_refusal_names_the_place(line: str, key: str, says: str, hint: str | None) -> None:
    with pytest.raises(Invalid) as caught:
        read("name: a", line)
    assert caught.value.message.startswith("jobs/a.md, line 3: ")
    assert f"`{key}`" in caught.value.message
    assert says in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("agent", True, True),
        ("agent", "TRUE", True),
        ("agent", "false", False),
        ("agent", "hermes", "hermes"),
        ("tools", (), []),
        ("tools", ("files", "web"), ["files", "web"]),
        ("context_age", 172_800, "48h"),
        ("context_age", "2d", "2d"),
        ("schema", SCHEMA, SCHEMA),
    ],
)
def test_what_is_written(key: str, value: object, text: object) -> None:
    assert written(key, value) == text


def test_what_is_composed_reads_back() -> None:
    given: dict[str, Any] = {
        "agent": "hermes", "skills": ("tides",), "model": "small", "fallbacks": ("large",), "tools": (),
        "context_from": ("self",), "context_age_s": 3600, "watch": "https://example.org/", "empty": "silent",
        "after": "fetch-mail", "schema": '{\n  "type": "object"\n}', "limits": Limits(turns=3, usd_day=0.5),
        "prompt": "high water?",
    }  # fmt: skip
    job = Job("c050e2f2fdb9", "a", "A", "every day at 09:00", "Europe/Paris", **given)
    text = jobfile.compose(job)
    again = jobfile.read(text, file="jobs/a.md", slug="a")
    assert again == job
    assert jobfile.compose(again) == text
