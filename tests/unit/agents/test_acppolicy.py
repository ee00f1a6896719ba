"""What an ACP agent may use."""

from __future__ import annotations

from typing import Any, cast

import pytest

from horae.agents.acppolicy import Policy, option, told
from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import Tell

ALL = ["files", "shell", "web", "memory", "jobs", "messages"]


class Silent:
    def event(self, kind: str, **values: Any) -> bool:
        return True


def policy(tools: list[str], approve: tuple[str, ...] = (), decision: dict[str, Any] | None = None) -> Policy:
    task = {"tools": tools, "approve": list(approve), "decision": decision}
    return Policy(cast("Task", task), cast("Tell", Silent()))


@pytest.mark.parametrize(
    ("kind", "toolset"),
    [
        ("read", "files"),
        ("search", "files"),
        ("edit", "files"),
        ("delete", "files"),
        ("move", "files"),
        ("execute", "shell"),
        ("fetch", "web"),
    ],
)
def test_a_kind_needs_its_toolset_and_no_other(kind: str, toolset: str) -> None:
    others = [name for name in ALL if name != toolset]
    assert policy([toolset]).asked("1", kind, "it", {"a": 1})
    assert not policy(others).asked("1", kind, "it", {"a": 1})


@pytest.mark.parametrize("kind", ["other", "switch_mode", "something new"])
def test_what_belongs_to_no_toolset_is_denied(kind: str) -> None:
    assert not policy(ALL).asked("1", kind, "it", {"a": 1})


def test_thinking_is_free() -> None:
    assert policy([]).asked("1", "think", "it", None)


def test_approval_alone_grants_nothing() -> None:
    assert not policy(["files"], ("shell",)).asked("1", "execute", "it", {"a": 1})


def test_what_needs_a_word_is_neither_offered_nor_done_without_asking() -> None:
    one = policy(["shell"], ("shell",))
    assert not one.offers("shell")
    with pytest.raises(Stop, match="needs a person's word"):
        one.called("1", "execute", "rm")


@pytest.mark.parametrize("kind", ["read", "search", "think", "other"])
def test_what_has_no_effect_may_be_done_without_asking(kind: str) -> None:
    policy([]).called("1", kind, "it")


def test_one_answer_covers_one_call_of_another_name() -> None:
    one = policy(["files"])
    one.asked("perm-1", "execute", "rm", {"command": "rm"})
    one.called("tc-1", "execute", "rm")
    one.called("tc-1", "execute", "rm")
    with pytest.raises(Stop, match="without asking"):
        one.called("tc-2", "execute", "rm")


def test_a_call_without_arguments_is_known_by_its_title() -> None:
    digests: list[str] = []
    for title in ("rm x", "rm y", "rm x"):
        with pytest.raises(Stop) as stop:
            policy(["shell"], ("shell",)).asked("1", "execute", title, None)
        assert stop.value.ask is not None
        digests.append(stop.value.ask["digest"])
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize(
    ("kinds", "allow", "chosen"),
    [
        (["allow_always", "allow_once", "reject_once"], True, "1"),
        (["allow_always", "reject_once"], True, None),
        (["allow_once", "reject_always", "reject_once"], False, "2"),
        (["allow_once", "reject_always"], False, "1"),
        (["allow_once"], False, None),
        (["allow_once", "allow_once"], True, "0"),
    ],
)
def test_an_option_is_taken_for_once(kinds: list[str], allow: bool, chosen: str | None) -> None:
    assert option([(str(n), kind) for n, kind in enumerate(kinds)], allow=allow) == chosen


def test_nothing_is_told_where_nobody_decided() -> None:
    assert told(None, {"tool": "execute", "args": "rm"}) == ""
