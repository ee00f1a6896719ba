"""What a SKILL.md says, in the forms that are in use; what is wrong is told by file and line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.skill import Needs, parse
from horae.errors import Invalid
from horae.limits import SKILL_TEXT_BYTES_MAX


def made(*lines: str, body: str = "Read the table.") -> str:
    return "\n".join(("---", *lines, "---", body, ""))


def test_a_plain_one_is_read() -> None:
    skill = parse(made("name: tides", "description: Read  tide tables."), "SKILL.md", "other")
    assert (skill.name, skill.description, skill.body) == ("tides", "Read tide tables.", "Read the table.")
    assert (skill.needs, skill.others) == (Needs(), ())
    assert parse(made("description: d"), "SKILL.md", "folder").name == "folder"
    assert parse("\ufeff---\r\ndescription: d\r\n---\r\nText\r\n", "SKILL.md", "x").body == "Text"


@pytest.mark.parametrize(
    ("lines", "needs"),
    [
        (
            ["requires: {env: [A, B], commands: [git], tools: [web, 'mcp:files'], secrets: [KEY]}"],
            Needs(("A", "B"), ("git",), ("web", "mcp:files"), ("KEY",)),
        ),
        (["requires:", "  commands:", "    - git", "    - jq", "    - git"], Needs(commands=("git", "jq"))),
        (["requires: {commands: git}"], Needs(commands=("git",))),
        (["prerequisites:", "  env_vars: [A]", "  commands: [curl]"], Needs(("A",), ("curl",))),
        (["requires: {env: [A]}", "prerequisites: {env_vars: [A, B]}"], Needs(("A", "B"))),
        (["allowed-tools: Read, Bash(git:*), WebFetch, Frobnicate"], Needs(wishes=("files", "shell", "web"))),
        (["allowed-tools: [Read, Write]"], Needs(wishes=("files",))),
        (["requires:"], Needs()),
        (["requires: {env: }"], Needs()),
    ],
)
def test_needs_are_read_in_each_form(lines: list[str], needs: Needs) -> None:
    assert parse(made("description: d", *lines), "SKILL.md", "x").needs == needs


def test_keys_of_others_are_left_alone_however_deep() -> None:
    deep = "metadata: {hermes: {tags: [a], config: {b: {c: [{d: e}]}}}}"
    skill = parse(made("description: d", "version: 1.0", deep, "license: MIT"), "SKILL.md", "x")
    assert skill.others == ("version", "metadata", "license")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("no front matter", 1, "there is no front matter"),
        ("---\nname: a\n", 1, "is not closed"),
        (made("name: a"), 1, "there is no `description`"),
        (made("description: d", "name: Two Words"), 3, "`name` is 'Two Words'"),
        (made("description: d", "name: ../../etc"), 3, "`name` is '../../etc'"),
        (made("description: d", 'name: "a\\u202eb"'), 3, "RIGHT-TO-LEFT OVERRIDE"),
        (made("description: d", "name: a", "name: b"), 4, "a second time"),
        (made("description: [a]"), 2, "`description` is no text"),
        (made(f"description: {'d' * 1025}"), 2, "more than 1024 characters"),
        (made("description: d", "requires: [git]"), 3, "`requires` is no mapping"),
        (made("description: d", "requires: {commands: ['rm -rf /']}"), 3, "holds 'rm -rf /'"),
        (made("description: d", "requires: {commands: [../x]}"), 3, "holds '../x'"),
        (made("description: d", "requires: {env: ['A=B']}"), 3, "holds 'A=B'"),
        (made("description: d", "requires: {env: [{a: b}]}"), 3, "holds 'no text'"),
        (made("description: d", f"requires: {{env: [{', '.join(f'A{n}' for n in range(40))}]}}"), 3, "more than 32"),
        (made("a: &x [1]", "b: *x"), 2, "alias or anchor"),
        (made("a: [1", "b: 2"), None, "is not YAML"),
        (made("description: d: e"), 2, "is not YAML"),
        (made("- a"), 2, "is not made of lines"),
        (made("? [a]", ": b"), 2, "a key is no word"),
        (made("description: d", "a: " + "[" * 40 + "]" * 40), 3, "too large or too deep"),
        (made("description: d", "a: [" + "1," * 3000 + "]"), 3, "too large or too deep"),
        (made("a: " + "[" * 5000), 2, "is not YAML|too deep"),
        (made("description: d", body="a\0b"), 4, "NUL"),
        ("---\n" + "a" * SKILL_TEXT_BYTES_MAX, None, "larger than 64 KiB"),
        ("---\na: \x07\n---\n", None, "not YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, line: int | None, says: str) -> None:
    with pytest.raises(Invalid, match=f"(?i)^skills/x/SKILL.md.*(?:{says.replace('(', '[(]')})") as told:
        parse(text, "skills/x/SKILL.md", "x")
    if line is not None:
        assert told.value.details["line"] == line


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    for given_text in (text, f"---\n{text}\n---\n", f"---\ndescription: d\nrequires: {text}\n---\n"):
        try:
            skill = parse(given_text, "SKILL.md", "x")
        except Invalid as error:
            assert error.message.startswith("SKILL.md")  # noqa: PT017  either is right
        else:
            assert skill.description
