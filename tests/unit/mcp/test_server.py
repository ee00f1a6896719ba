"""The server for agents over a gate of the test's own: refusals are told, faults are logged and not told, much is cut."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mcp import Client, MCPError

from horae.core.access import Who
from horae.errors import Invalid, NotFound, Problem, Refused
from horae.mcp.server import CALLER, Server, answered, problem_in, refused, shortened
from horae.wiring.mcpserver import made
from tests.support.mcp import together


class OneAnswer:
    """Answers everything with one thing, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[Who, str, dict[str, Any]]] = []

    def do(self, who: Who, name: str, /, **args: Any) -> Any:
        self.asked.append((who, name, args))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def once(self, who: Who, key: str | None, name: str, /, **args: Any) -> Any:
        return self.do(who, name, key=key, **args)


def over(answer: Any) -> Server:
    """A server over such a gate."""
    gate: Any = OneAnswer(answer)
    return made(gate)


async def called(gate: Any, tool: str, role: Any = "admin", /, **args: Any) -> Any:
    CALLER.set(Who("ann", role, "mcp"))
    async with Client(made(gate)) as client:
        return await client.call_tool(tool, args)


@pytest.mark.parametrize("error", [Refused("no", "do so"), NotFound("none", None), Invalid("wrong", "write it so")])
@together
async def test_a_refusal_is_told(error: Problem) -> None:
    found = await called(OneAnswer(error), "get_job", job="tides")
    assert found.is_error
    assert found.structured_content == {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    assert found.content[0].text == (f"{error.message} ({error.hint})" if error.hint else error.message)


@together
async def test_a_fault_is_logged_and_its_text_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "mcp"):
        found = await called(OneAnswer(KeyError("a secret path")), "get_job", job="tides")
        assert found.is_error
        assert "secret" not in found.content[0].text
        assert found.structured_content is None
        async with Client(over(KeyError("a secret path"))) as client:
            with pytest.raises(MCPError) as told:
                await client.read_resource("horae://jobs/tides")
        assert "secret" not in str(told.value)
    assert [(record.name.partition(".")[0], record.levelname) for record in caplog.records] == [("mcp", "ERROR")] * 2
    assert all("a secret path" in str(record.exc_info) or "secret" in caplog.text for record in caplog.records)


def test_a_fault_while_something_was_refused_is_a_fault() -> None:
    fault = KeyError("x")
    fault.__context__ = Refused("no", None)
    assert problem_in(fault) is None
    wrapped = RuntimeError("it")
    wrapped.__cause__ = Refused("no", None)
    assert isinstance(problem_in(wrapped), Refused)
    assert refused("refused", "no", None).is_error


@pytest.mark.parametrize(("role", "name"), [("operate", "propose"), ("admin", "add")])
@together
async def test_P11_a_role_decides_whether_it_is_a_draft(role: str, name: str) -> None:
    gate: Any = OneAnswer({"did": "it"})
    given = {"schedule": "every 1h", "fields": {"prompt": "x"}}
    found = await called(gate, "create_job", role, **given, idempotency_key="k")
    ((who, asked, args),) = gate.asked
    assert (who.name, asked, args["key"], args["schedule"]) == ("ann", name, "k", "every 1h")
    assert found.structured_content["live"] is (role == "admin")


@together
async def test_nobody_sees_nothing() -> None:
    CALLER.set(Who("ann", None, "mcp"))
    async with Client(over({})) as client:
        assert (await client.list_tools()).tools == []


def test_each_long_text_is_cut_in_its_middle() -> None:
    text = "a" * 60 + "b" * 60
    cut = shortened({"x": [text, "short", 1, None, {"y": text}]}, 100)
    (first, *same, inner) = cut["x"]
    assert same == ["short", 1, None]
    assert first == inner["y"] == "a" * 50 + "\n… 20 characters are left out …\n" + "b" * 50
    found: Any = answered({"at": 1, "text": "🌊" * 60_000})
    assert len(found.content[0].text) < 51_000
    assert found.structured_content["at"] == 1
