"""The page on agents at the door: its tools and resources are those that there are, and its client connects."""

from __future__ import annotations

import json
import re
from pathlib import Path

from horae.app.propose import GOOD_FOR, OPEN_MAX
from horae.app.usecases import USE_CASES
from horae.wiring.gate import HomeGate
from horae.wiring.mcpserver import made
from tests.support.loops import run_to_end
from tests.support.mcp import over_pipes, together
from tests.support.process import new_home

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "mcp.md").read_text(encoding="utf-8")
CLIENTS = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)]


def rows(first: str, columns: int) -> list[list[str]]:
    """The rows of the table that begins with this heading."""
    (table,) = re.findall(rf"^\| {first} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    found = [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in table.splitlines()]
    assert all(len(row) == columns for row in found), found
    return found


def test_the_tools_are_those_that_there_are(tmp_path: Path) -> None:
    server = made(HomeGate(str(tmp_path)))
    there = {name: USE_CASES[tool.use_case].role for name, tool in server.tools.items()}
    assert {name: role for name, role, _ in rows("tool", 3)} == there
    templates = run_to_end(server.list_resource_templates())
    assert [uri for uri, _ in rows("resource", 2)] == [item.uri_template for item in templates]


def test_what_takes_a_key_is_said(tmp_path: Path) -> None:
    tools = made(HomeGate(str(tmp_path))).tools
    (said,) = re.findall(r"^(.*) take an `idempotency_key`", PAGE, re.MULTILINE)
    takes = [name for name, tool in tools.items() if "idempotency_key" in tool.call.__annotations__]
    assert sorted(re.findall(r"`(\w+)`", said)) == sorted(takes)


def test_the_bounds_of_drafts_are_said() -> None:
    assert f"after {GOOD_FOR.days} days" in PAGE
    assert (OPEN_MAX, "Twenty of one client" in PAGE) == (20, True)


@together
async def test_the_client_of_the_page_connects(tmp_path: Path) -> None:
    pipes, http = (client["mcpServers"]["horae"] for client in CLIENTS)
    command, *words = pipes["args"]
    assert (pipes["command"], command, list(pipes["env"])) == ("horae", "mcp", ["HORAE_HOME"])
    async with over_pipes(new_home(tmp_path / "home"), *words, log=tmp_path / "log") as agent:
        assert "create_job" in await agent.tools()
        assert "edit_job" not in await agent.tools()
    assert http["url"].endswith(":4672/mcp")
    assert http["headers"]["Authorization"].startswith("Bearer ht_")
