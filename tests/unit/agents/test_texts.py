"""What is made of texts: pages, scripts, differences, forms, and what a run takes along."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai import ModelRetry

from horae.agents.forms import Form
from horae.agents.onward import Onward, notes_of, onward_of
from horae.agents.script import awake
from horae.agents.stop import Stop
from horae.agents.tools.plain import plain
from horae.agents.tools.shut import walls_of, why_shut
from horae.agents.watching import DIFF_CHARS_MAX, difference


def test_a_page_reads_as_one_would_read_it() -> None:
    page = """<!doctype html><html><head><title>News &amp; more</title><style>p {color: red}</style></head>
    <body><script>alert("no")</script><h1>Today</h1><p>One   two<br>three</p><ul><li>a</li><li>b</li></ul>
    <p>See <a href="https://example.org/x">here</a>.</p></body></html>"""
    text = plain(page)
    assert text.startswith("News & more\n\nToday")
    assert "One two\nthree" in text
    assert "- a" in text
    assert "here (https://example.org/x)." in text
    assert "alert" not in text
    assert "color" not in text


@pytest.mark.parametrize("page", ["<p>a", "<script>x", "<title>", "</p></p>", "<body><head><p>seen</body>", "a < b"])
def test_a_broken_page_ends(page: str) -> None:
    assert isinstance(plain(page), str)


@pytest.mark.parametrize(
    ("out", "body", "wakes"),
    [
        ("a\nb\n", "a\nb\n", True),
        ('a\n{"wakeAgent": false}\n', "a\n", False),
        ('{"wakeAgent": false}', "", False),
        ('a\n{"wakeAgent": true}\n\n', "a\n", True),
        ('a\n{"wakeAgent": "false"}\n', 'a\n{"wakeAgent": "false"}\n', True),
        ("a\n[1]\n", "a\n[1]\n", True),
        ('{"wakeAgent": false}\nmore\n', '{"wakeAgent": false}\nmore\n', True),
        ("", "", True),
    ],
)
def test_the_last_line_of_a_script_may_say_whether_to_wake_the_agent(out: str, body: str, *, wakes: bool) -> None:
    assert awake(out) == (body, wakes)


def test_a_difference_is_shown_and_bounded() -> None:
    assert difference("a\nb\n", "a\nc\n").splitlines()[-2:] == ["-b", "+c"]
    long = difference("", "\n".join(f"line {n}" for n in range(5000)))
    assert len(long) < DIFF_CHARS_MAX + 50
    assert long.endswith("… (more differs)")
    assert "differs in bytes" in difference("a\n", "a\r\n")
    assert "too many lines" in difference("x\n" * 30_000, "y")


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}


def test_an_answer_is_checked_against_its_schema() -> None:
    form = Form(json.dumps(SCHEMA))
    assert form.checked({"n": 3}) == '{"n": 3}'
    with pytest.raises(ModelRetry, match=r"\$\.n: 2 is less than the minimum of 3"):
        form.checked({"n": 2})
    assert form.of_text('```json\n{"n": 4}\n```') == {"n": 4}
    with pytest.raises(ModelRetry, match="must be JSON"):
        form.of_text("four")


def test_a_form_that_is_no_object_is_wrapped_for_the_model_and_not_for_the_reader() -> None:
    form = Form('{"type": "array", "items": {"type": "string"}}')
    assert form.checked({"answer": ["a"]}) == '["a"]'
    assert form.of_text('["a"]') == {"answer": ["a"]}


@pytest.mark.parametrize("answer", ["[SILENT]", "[FAILED]\nno mail server", "  [SILENT]\n"])
def test_nothing_to_say_and_a_failure_need_no_form(answer: str) -> None:
    form = Form(json.dumps(SCHEMA))
    assert form.checked(form.of_text(answer)) == answer


@pytest.mark.parametrize("text", ["{", "[]", '{"type": "nothing"}', "7"])
def test_a_schema_that_is_none_fails_the_run(text: str) -> None:
    with pytest.raises(Stop, match="the job's `schema`"):
        Form(text)


def test_what_goes_along_comes_back() -> None:
    onward = Onward("state", "prompt", [{"kind": "note", "key": "a", "value": "1"}])
    assert onward_of(onward.dump()) == onward
    assert onward_of(None) is None
    assert onward_of("{}") is None
    assert onward_of("no json") is None


def test_notes_are_as_they_were_before_the_wait() -> None:
    told = [
        {"kind": "note", "key": "a", "value": "2"},
        {"kind": "draft", "what": "job"},
        {"kind": "note", "key": "b", "value": None},
        {"kind": "note", "key": "c", "value": "3"},
    ]
    assert notes_of({"a": "1", "b": "1"}, told) == {"a": "2", "c": "3"}


def test_P11_the_home_is_shut_to_writing_but_for_own_folders_and_secrets_to_reading() -> None:
    walls = {"home": "/h/.horae", "own": ["/h/.horae/runs/1", "/h"], "hidden": ["/h/.horae/secrets.toml", "/h/state"]}

    def shut(path: str, *, writes: bool) -> bool:
        return why_shut(path, walls, writes=writes) is not None  # pyright: ignore[reportArgumentType]

    assert shut("/h/.horae/jobs/a.md", writes=True)
    assert not shut("/h/.horae/jobs/a.md", writes=False)
    assert not shut("/h/.horae/runs/1/out.txt", writes=True)
    assert shut("/h/.horae/runs/12", writes=True)
    assert not shut("/h/notes.md", writes=True)
    assert shut("/h/.horae/secrets.toml", writes=False)
    assert shut("/h/.horae/.secrets.toml.swp", writes=False)
    assert shut("/h/state/db", writes=False)
    assert not shut("/h/other/secrets.toml", writes=False)
    assert not shut("/h/.horae/runs/1/out.txt", writes=False)


def test_the_runs_own_folder_is_open_within_a_hidden_one() -> None:
    walls: Any = {"home": "/h/.horae", "own": ["/h/.horae/state/out/1"], "hidden": ["/h/.horae/state"]}
    assert why_shut("/h/.horae/state/out/1/a", walls, writes=True) is None
    assert why_shut("/h/.horae/state/out/2/a", walls, writes=False) == "it is hidden from runs"


def test_without_walls_the_home_is_shut_all_the_same() -> None:
    task: Any = {"walls": None, "env": {"HORAE_HOME": "/h/.horae", "HORAE_OUTPUT": "/h/.horae/state/out/1"}}
    walls = walls_of(task)
    assert why_shut("/h/.horae/jobs/a.md", walls, writes=True) is not None
    assert why_shut("/h/.horae/secrets.toml", walls, writes=False) is not None
    assert why_shut("/h/.horae/state/out/1/a", walls, writes=True) is None
