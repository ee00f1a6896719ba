"""What `add`, `edit` and `show` take and tell of agents: each option is a key of the file, and none is lost on the way."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from horae.cli.agentoptions import agent_fields, agent_options, agent_rows, resolved_rows
from horae.cli.jobs import options_add
from horae.core.fieldforms import FORMS
from horae.errors import Usage
from tests.support.process import TestHome

CONFIG = """
model = "small"
[providers.home]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
[models.small]
provider = "home"
id = "acme/small-1"
input = 1
output = 2
[models.large]
provider = "home"
id = "acme/large-1"
[agents.hermes]
kind = "acp"
command = ["sh"]
"""


def parsed(*words: str) -> dict[str, Any]:
    parser = ArgumentParser()
    options_add(parser)
    return agent_fields(parser.parse_args(["every 1h", *words]))


def test_every_option_is_a_key_and_what_was_not_given_is_none() -> None:
    assert {*parsed()} <= {*FORMS}
    assert {*parsed().values()} == {None}
    names = {action.dest for action in _options()._actions} - {"help"}
    as_keys = {"use": "agent", "skill": "skills", "fallback": "fallbacks"}
    assert {as_keys.get(name, name) for name in names} == {*parsed()}


def _options() -> ArgumentParser:
    parser = ArgumentParser()
    agent_options(parser)
    return parser


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (("--use", "hermes"), "agent", "hermes"),
        (("--agent",), "agent", True),
        (("--no-agent",), "agent", False),
        (("--agent", "--use", "hermes"), "agent", "hermes"),
        (("--skill", "a", "--skill", "b"), "skills", ["a", "b"]),
        (("--fallback", "a", "--fallback", "b"), "fallbacks", ["a", "b"]),
        (("--tools", " files , web,"), "tools", ["files", "web"]),
        (("--tools", "none"), "tools", []),
        (("--tools", ""), "tools", []),
        (("--tools", "none,web"), "tools", ["none", "web"]),
        (("--approve", "shell,mcp:x"), "approve", ["shell", "mcp:x"]),
        (("--context-from", "self", "--context-from", "Ebb, and flow"), "context_from", ["self", "Ebb, and flow"]),
        (("--context-age", "2d"), "context_age", "2d"),
        (("--watch", "https://example.org/"), "watch", "https://example.org/"),
        (("--after", "ebb"), "after", "ebb"),
        (("--empty", "silent"), "empty", "silent"),
    ],
)
def test_what_is_given_is_what_stands_in_the_file(words: tuple[str, ...], key: str, value: object) -> None:
    found = parsed(*words)
    assert found[key] == value
    assert {name for name, given in found.items() if given is not None} == {key}


def test_none_and_one_at_once_is_refused() -> None:
    with pytest.raises(Usage, match="exclude each other"):
        parsed("--no-agent", "--use", "hermes")


def test_a_schema_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"type": "object"}\n', encoding="utf-8")
    assert parsed("--schema", str(tmp_path / "a.json"))["schema"] == '{"type": "object"}\n'
    (tmp_path / "b.json").write_bytes(b"\xff")
    for name, says in (("gone", "No such file"), ("b.json", "it is not UTF-8"), (".", "directory")):
        with pytest.raises(Usage, match=says):
            parsed("--schema", str(tmp_path / name))


def test_what_a_job_leaves_as_it_is_has_no_row() -> None:
    assert {words for _, words in agent_rows({})} == {None}
    assert {words for _, words in agent_rows({"agent": True, "empty": "fail", "tools": []})} == {None}
    told = dict(agent_rows({"agent": "hermes", "context_from": ["self", "ebb"], "empty": "silent", "schema": "{}"}))
    assert (told["agent"], told["context"]) == ("hermes", "self, ebb")
    assert (told["empty"], told["answer"]) == ("an empty answer is fine", "as its JSON schema says")


RESOLVED = {
    "agent": "builtin", "kind": "builtin", "model": "small", "model_from": "frozen", "provider": "home",
    "tools": ["files", "memory"], "tools_by_default": True, "turns": 50, "tokens": 1_000_000, "usd": 0.5,
}  # fmt: skip


def test_what_it_comes_to_in_words() -> None:
    assert resolved_rows({"agent": None}) == resolved_rows({}) == []
    assert resolved_rows(RESOLVED) == [
        ("works on it", "builtin"),
        ("model", "small (frozen, from home)"),
        ("tools", "files, memory (by default)"),
        ("a run may use", "50 turns, 1,000,000 tokens, $0.50"),
    ]
    bare = RESOLVED | {"model": None, "model_from": None, "tools": [], "tools_by_default": False, "usd": None}
    assert [words for _, words in resolved_rows(bare)] == ["builtin", "none", "none", "50 turns, 1,000,000 tokens"]
    command = resolved_rows(bare | {"agent": "coder", "kind": "command", "tools_by_default": True})
    assert ("tools", "those of its own") in command


# ── in a home


def lines(home: TestHome, slug: str) -> list[str]:
    return (home.path / "jobs" / f"{slug}.md").read_text().splitlines()


def test_each_option_stands_in_the_file_and_edit_changes_it(home: TestHome) -> None:
    home.config(CONFIG)
    add = ("add", "on demand", "high water?", "--name", "Tides", "--tools", "files,web", "--fallback", "large")
    home.json(*add, "--context-from", "self", "--context-age", "2 days", "--empty", "silent")
    said = lines(home, "tides")
    assert "schedule: on demand" in said
    for line in (
        "fallbacks: [large]",
        "tools: [files, web]",
        "context_from: [self]",
        "context_age: 2 days",
        "empty: silent",
    ):
        assert line in said
    home.json("edit", "tides", "--tools", "none", "--model", "large")
    assert {"tools: []", "model: large"} <= {*lines(home, "tides")}
    shown = home.json("show", "tides")
    assert (shown["resolved"]["model"], shown["resolved"]["model_from"]) == ("large", "pin")


def test_a_script_for_an_agent_that_is_named_does_not_make_it_the_whole_job(home: TestHome) -> None:
    home.config(CONFIG.replace('command = ["sh"]', 'command = ["sh"]\nenv = {U = "{base_url}", K = "{key}"}'))
    home.script("a.sh", "true")
    home.json("add", "on demand", "--name", "Named", "--script", "a.sh", "--use", "hermes")
    assert "agent: hermes" in lines(home, "named")
    home.json("add", "on demand", "--name", "Plain", "--script", "a.sh")
    assert "agent: false" in lines(home, "plain")
