"""Agents at the door: what each role sees and does, over HTTP, with the official client. One home for all of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.mcp import Agent, over_http, over_pipes, together
from tests.support.modelserver import ModelServer, say
from tests.support.process import TestHome, new_home, until
from tests.support.web import Served, served

CONFIG = """model = "small"

[providers.local]
kind = "openai"
base_url = "{url}"

[models.small]
provider = "local"
id = "acme/small-1"
max_output = 500
"""
LONG = 120_000
LOOKS = {
    *("check", "get_calendar", "get_job", "get_run", "get_status", "get_why", "list_asks", "list_choices"),
    *("list_incidents", "list_jobs", "list_runs", "preview_schedule", "run_doctor"),
}
STEERS = {
    *("acknowledge_incident", "cancel_run", "create_job", "move_slot", "pause_job", "replay_run", "resend_run"),
    *("resume_job", "run_job", "skip_slot", "undo"),
}
OWNS = {"edit_job", "remove_job"}
SEES = {"read": LOOKS, "operate": LOOKS | STEERS, "admin": LOOKS | STEERS | OWNS}
ROLES = tuple(SEES)
DRAFT = {"schedule": "every day at 6am", "fields": {"name": "Tides", "prompt": "Report the tides."}}


@dataclass
class Door:
    """A home that is served, and a token of each role."""

    served: Served
    tokens: dict[str, str] = field(default_factory=dict)

    def agent(self, role: str, mode: Any = "auto") -> AbstractAsyncContextManager[Agent]:
        return over_http(self.served.address, self.tokens[role], mode=mode)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = new_home(tmp_path_factory.mktemp("mcp") / "home")
    home.inside = True
    home.script("long.sh", f"#!/bin/sh\nhead -c {LONG} /dev/zero | tr '\\0' x\n")
    with ModelServer(lambda _: say("High water at six.")) as server:
        home.config(CONFIG.format(url=server.base_url))
        home.horae("add", "every 1h", "--script", "hi.sh", "--name", "hi")
        with served(home) as made:
            yield Door(made, {role: made.token(role) for role in ROLES})
    log = home.path / "state" / "web.log"
    assert log.read_text(encoding="utf-8") == "", "whatever agents send is no fault"


def journal(at: Door, what: str) -> list[tuple[Any, ...]]:
    return at.served.home.sql("SELECT actor, detail FROM journal WHERE what = ? ORDER BY seq", what)


# ── who sees what


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("role", ROLES)
@together
async def test_each_role_sees_its_own_tools(at: Door, role: str, mode: str) -> None:
    async with at.agent(role, mode) as agent:
        found = (await agent.client.list_tools()).tools
        assert {tool.name for tool in found} == SEES[role]
        for tool in found:
            assert len(tool.description or "") > 20, tool.name
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (tool.name in LOOKS)
            assert tool.annotations.open_world_hint is False
        ends = {tool.name for tool in found if tool.annotations and tool.annotations.destructive_hint}
        assert ends == {"cancel_run", *OWNS} & SEES[role]
        assert "data" in (agent.client.instructions or "")
        assert (await agent.ask("get_status"))["gateway"]["alive"] is True


@together
async def test_what_one_does_not_see_one_cannot_do(at: Door) -> None:
    async with at.agent("read") as agent:
        for tool, args in (("pause_job", {"job": "hi"}), ("create_job", DRAFT), ("run_job", {"job": "hi"})):
            error = await agent.refused(tool, **args)
            assert (error["code"], "operate is needed" in error["message"]) == ("refused", True)
    async with at.agent("operate") as agent:
        for tool, args in (("remove_job", {"job": "hi"}), ("edit_job", {"job": "hi", "changes": {"name": "x"}})):
            error = await agent.refused(tool, **args)
            assert "admin is needed" in error["message"]
            assert "horae tokens add" in error["hint"]
    job = at.served.home.jobs()["hi"]
    assert (job["state"], job["name"]) == ("active", "hi")


@pytest.mark.parametrize("role", ROLES)
@together
async def test_P11_no_agent_of_any_role_can_approve(at: Door, role: str) -> None:
    async with at.agent("operate") as proposer:
        made = (await proposer.ask("create_job", **DRAFT))["ask"]["id"]
    async with at.agent(role) as agent:
        tools = await agent.tools()
        assert not [name for name in tools if "approve" in name or "deny" in name or "resolve" in name]
        for tool in ("approve", "approve_job", "deny", "resolve", "decide"):
            assert (await agent.refused(tool, ask=made))["code"] == "not_found"
        (ask,) = [item for item in (await agent.ask("list_asks"))["asks"] if item["id"] == made]
        assert ask["decision"] is None
    answer = at.served.client(at.tokens[role]).post(f"/api/v1/asks/{made}/approve", json={})
    assert answer.status_code in {403, 409}, answer.text
    said = answer.json()["detail"]
    assert "only a person" in said or "operate is needed" in said
    at.served.home.horae("deny", made)


# ── drafts


@together
async def test_P11_a_draft_is_no_job_until_a_person_says_so(at: Door) -> None:
    home = at.served.home
    before = home.digests()
    async with at.agent("operate") as agent:
        seen = await agent.ask(
            "preview_schedule", schedule="every day at 6am", timezone="Europe/Paris", fields=DRAFT["fields"]
        )
        assert (seen["problems"], len(seen["slots"]), seen["timezone"]) == ([], 5, "Europe/Paris")
        fields = {**DRAFT["fields"], "timezone": "Europe/Paris"}
        made = await agent.ask(
            "create_job", schedule="every day at 6am", fields=fields, reason="nobody watches the sea"
        )
        assert (made["live"], made["undo"]) == (False, None)
        assert "waits for a person" in made["note"]
        ask = made["ask"]["id"]
        listed = (await agent.ask("list_jobs", all=True))["jobs"]
        assert "Tides" not in [job["name"] for job in listed]
        assert (await agent.refused("run_job", job="Tides"))["code"] == "not_found"
        (waits,) = [item for item in (await agent.ask("list_asks"))["asks"] if item["id"] == ask]
        assert waits["asked_by"] == "token test-operate (mcp)"
    assert home.digests() == before
    assert journal(at, "proposed")[-1][0] == "token test-operate (mcp)"
    shown = home.horae("waiting").out
    assert "token test-operate (mcp)" in next(line for line in shown.splitlines() if ask in line)
    (waiting,) = [item for item in home.look("status")["waiting"] if item["kind"] == "approval"]
    assert (waiting["job"], ask in waiting["hint"]) == ("Tides", True)
    answer = home.json("approve", ask)
    assert answer["did"] == f"approved {ask}: added Tides as tides (jobs/tides.md)"
    text = home.file("tides").read_text(encoding="utf-8")
    for line in ("name: Tides", "timezone: Europe/Paris", "Report the tides."):
        assert line in text
    assert home.error("approve", ask, status=6)["code"] == "conflict"
    async with at.agent("operate") as agent:
        ran = await agent.ask("run_job", job="Tides")
        log = await agent.ended(ran["run_id"])
        assert (log["run"]["outcome"], log["message"]) == ("ran", "High water at six.")
        assert "High water at six." in await agent.read(f"horae://runs/{ran['run_id']}")


@together
async def test_a_draft_that_is_denied_makes_nothing(at: Door) -> None:
    home = at.served.home
    async with at.agent("operate") as agent:
        ask = (await agent.ask("create_job", **DRAFT))["ask"]["id"]
        before = home.digests()
        said = home.horae("deny", ask, "--reason", "we have one").out
        assert f"denied {ask} of token test-operate (mcp)" in said
        (decided,) = [item for item in (await agent.ask("list_asks", all=True))["asks"] if item["id"] == ask]
        assert (decided["decision"], decided["reason"]) == ("denied", "we have one")
    assert home.digests() == before
    assert home.error("approve", ask, status=6)["code"] == "conflict"


HOSTILE_DRAFTS = [
    ({"prompt": "x" * 300_000}, "every day at 6am", "invalid"),
    ({"prompt": "Run `systemctl stop horae` and be done."}, "every day at 6am", "refused"),
    ({"prompt": "x"}, "every full moon", "invalid"),
    ({"prompt": "x", "timezone": "Mars/Olympus"}, "every day at 6am", "invalid"),
    ({"prompt": "x", "script": "hi.sh"}, "every day at 6am", "invalid"),
    ({"prompt": "x", "tools": ["shell"]}, "every day at 6am", "invalid"),
    ({"prompt": "x", "secrets": ["KEY"]}, "every day at 6am", "invalid"),
    ({"prompt": "x", "id": "0123456789ab"}, "every day at 6am", "invalid"),
    ({"prompt": ["x"]}, "every day at 6am", "invalid"),
    ({"prompt": {"x": 1}}, "every day at 6am", "invalid"),
    ({"prompt": " \n"}, "every day at 6am", "invalid"),
    ({"prompt": "a\0b"}, "every day at 6am", "invalid"),
    ({"prompt": "x", "name": "n" * 5000}, "every day at 6am", "invalid"),
    ({"prompt": "x", "name": "a\0b"}, "every day at 6am", "invalid"),
    ({}, "every day at 6am", "invalid"),
]


@together
async def test_P11_a_draft_is_checked_like_a_job(at: Door) -> None:
    home = at.served.home
    async with at.agent("operate") as agent:
        before = len(home.look("waiting")["asks"])
        for fields, schedule, code in HOSTILE_DRAFTS:
            error = await agent.refused("create_job", schedule=schedule, fields=fields)
            assert error["code"] == code, (str(fields)[:80], error)
            assert len(error["message"]) < 2000
        assert len(home.look("waiting")["asks"]) == before


@together
async def test_one_proposer_cannot_bury_what_waits(at: Door) -> None:
    home = at.served.home
    token = at.served.token("operate", "eager")
    async with over_http(at.served.address, token) as agent:
        made = [(await agent.ask("create_job", **DRAFT))["ask"]["id"] for _ in range(20)]
        error = await agent.refused("create_job", **DRAFT)
        assert error["code"] == "refused"
        assert "20 drafts of token eager (mcp)" in error["message"]
        home.horae("deny", made[0])
        made.append((await agent.ask("create_job", **DRAFT))["ask"]["id"])
    home.sql_write("UPDATE ask SET expires_at = asked_at WHERE asked_by = 'token eager (mcp)' AND decided_at IS NULL")
    assert not {ask["id"] for ask in home.look("waiting")["asks"]} & set(made)
    assert not [item for item in home.look("status")["waiting"] if "eager" in item["what"]]
    before = home.digests()
    error = home.error("approve", made[-1], status=6)
    assert "could be answered until" in error["message"]
    assert home.digests() == before


# ── work


@together
async def test_an_admins_agent_makes_edits_runs_and_removes(at: Door) -> None:
    home = at.served.home
    async with at.agent("admin") as agent:
        fields = {"name": "Long", "script": "long.sh", "agent": False}
        made = await agent.ask("create_job", schedule="every 2h", fields=fields, idempotency_key="make-long")
        assert (made["live"], made["job"]["slug"]) == (True, "long")
        again = await agent.ask("create_job", schedule="every 2h", fields=fields, idempotency_key="make-long")
        assert again == made
        assert "long-2" not in home.jobs()
        error = await agent.refused("create_job", schedule="every 3h", fields=fields, idempotency_key="make-long")
        assert error["code"] in ("invalid", "conflict")
        assert "name: Long" in await agent.read("horae://jobs/long")
        await agent.ask("edit_job", job="long", changes={"schedule": "every 3h", "timezone": "Asia/Tokyo"})
        shown = await agent.ask("get_job", job="long")
        assert "3 hours" in str(shown)
        ran = await agent.ask("run_job", job="long", idempotency_key="run-long")
        assert (await agent.ask("run_job", job="long", idempotency_key="run-long"))["run_id"] == ran["run_id"]
        log = await agent.ended(ran["run_id"])
        assert log["run"]["outcome"] == "ran"
        assert len(log["stdout"]) < 60_000
        assert "characters are left out" in log["stdout"]
        assert await agent.read(f"horae://runs/{ran['run_id']}/stdout") == "x" * LONG
        assert ran["run_id"] in [run["id"] for run in (await agent.ask("list_runs", job="long"))["runs"]]
        among = {"job": "long", "trigger": "manual", "since": "2020-01-01"}
        assert [run["id"] for run in (await agent.ask("list_runs", **among))["runs"]] == [ran["run_id"]]
        assert (await agent.ask("list_runs", **among | {"trigger": "schedule"}))["runs"] == []
        assert (await agent.ask("list_runs", **among, until="2020-01-01"))["runs"] == []
        removed = await agent.ask("remove_job", job="long")
        assert "long" not in home.jobs()
        await agent.ask("undo", entry=removed["entry"])
        assert "long" in home.jobs()
    actors = {actor for what in ("added", "edited", "removed", "undone") for actor, _ in journal(at, what)}
    assert "token test-admin (mcp)" in actors


@together
async def test_slots_are_skipped_moved_and_explained(at: Door) -> None:
    home = at.served.home
    home.horae("add", "every day at 6am", "--script", "hi.sh", "--name", "steered")
    async with at.agent("operate") as agent:
        skipped = await agent.ask("skip_slot", job="steered")
        story = await agent.ask("get_why", job="steered")
        assert "token test-operate (mcp)" in str(story)
        assert "skip" in str(story)
        days = await agent.ask("get_calendar", days=2, job="steered")
        assert days["days"]
        await agent.ask("undo", entry=skipped["entry"])
        moved = await agent.ask("move_slot", job="steered", slot="next", to="in 2h")
        assert moved["entry"] > skipped["entry"]
        await agent.ask("undo", entry=moved["entry"])
        assert (await agent.refused("undo", entry=moved["entry"]))["code"] == "refused"
        await agent.ask("pause_job", job="steered", reason="a storm")
        assert (await agent.ask("get_job", job="steered"))["state"]["state"] == "paused"
        await agent.ask("resume_job", job="steered")
        for tool in ("list_choices", "list_incidents", "check", "run_doctor"):
            assert await agent.ask(tool)
    assert home.jobs()["steered"]["state"] == "active"


@together
async def test_O14_completed_jobs_are_listed_explained_and_revived_by_agents(at: Door) -> None:
    home = at.served.home
    home.horae("add", "in 1s", "--script", "hi.sh", "--name", "once")
    home.state_of("once", "completed")
    async with at.agent("admin") as agent:
        assert "once" not in [job["slug"] for job in (await agent.ask("list_jobs"))["jobs"]]
        (job,) = [job for job in (await agent.ask("list_jobs", all=True))["jobs"] if job["slug"] == "once"]
        assert job["state"] == "completed"
        assert job["completed_reason"]
        for tool in ("pause_job", "resume_job", "run_job"):
            error = await agent.refused(tool, job="once")
            assert error["code"] == "refused", error
            assert "completed" in error["message"], error
            assert error["hint"], error
        changed = await agent.ask("edit_job", job="once", changes={"schedule": "every 1h"})
        assert changed["revived"] is True
    assert home.jobs()["once"]["state"] == "active"


# ── what is not taken


HOSTILE_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_jobs", {"limit": "many"}),
    ("list_jobs", {"limit": 0}),
    ("list_jobs", {"limit": 10**30}),
    ("list_jobs", {"state": "asleep"}),
    ("get_job", {}),
    ("get_job", {"job": None}),
    ("get_job", {"job": ["hi"]}),
    ("get_job", {"job": ""}),
    ("get_job", {"job": "../hi"}),
    ("get_job", {"job": "hi\0"}),
    ("get_job", {"job": "x" * 100_000}),
    ("get_job", {"job": "' OR 1=1 --"}),
    ("get_run", {"run": "../../secrets.toml"}),
    ("get_run", {"run": "r\0"}),
    ("get_why", {"job": "hi", "slot": "\0"}),
    ("get_why", {"job": "hi", "limit": -1}),
    ("get_calendar", {"start": "the day after", "days": 3}),
    ("get_calendar", {"days": 10**9}),
    ("run_job", {"job": "hi", "input": "x" * 200_000}),
    ("skip_slot", {"job": "hi", "slot": "x" * 99}),
    ("move_slot", {"job": "hi", "slot": "next", "to": "\0"}),
    ("undo", {"entry": 2**60}),
    ("undo", {"entry": 2**52}),
    ("undo", {"entry": "1; DROP TABLE job"}),
    ("cancel_run", {"run": "nothing"}),
    ("replay_run", {"run": "nothing", "model": "\0"}),
    ("resend_run", {"run": "nothing"}),
    ("acknowledge_incident", {"incident": "nothing", "snooze_s": 10**12}),
    ("edit_job", {"job": "hi", "changes": {"id": "0123456789ab"}}),
    ("edit_job", {"job": "hi", "changes": {"no such": 1}}),
    ("edit_job", {"job": "hi", "changes": {"prompt": "\0"}}),
    ("edit_job", {"job": "hi", "changes": {"script": "../../evil.sh"}}),
    ("edit_job", {"job": "hi", "changes": {"schedule": ["x"]}}),
    ("edit_job", {"job": "hi", "changes": {}}),
    ("edit_job", {"job": "hi", "changes": "all"}),
    ("create_job", {"schedule": "every 1h", "fields": {"name": "evil", "command": ["sh", "-c", "\0"]}}),
    ("create_job", {"schedule": "every 1h", "fields": {"deep": {"a": {"b": {"c": [[[[1]]]]}}}}}),
    ("create_job", {"schedule": "every 1h", "fields": []}),
    ("create_job", {"schedule": "\0", "fields": {"prompt": "x"}}),
    ("run_job", {"job": "hi", "idempotency_key": "a\nb"}),
    ("remove_job", {"job": "nobody"}),
    ("no_such_tool", {}),
    ("__class__", {}),
    ("x" * 10_000, {}),
]
CODES = ("invalid", "not_found", "refused", "conflict", "ambiguous")
URIS = (
    *("horae://jobs/nobody", "horae://jobs/..%2Fconfig.toml", "horae://jobs/%00", "horae://jobs/../../etc/passwd"),
    *("horae://runs/nothing", "horae://runs/nothing/stdout", "horae://runs/..%2F..%2Fsecrets.toml/stdout"),
    *("horae://secrets/KEY", "file:///etc/passwd", "horae://", "nothing", "horae://jobs/" + "x" * 20_000),
)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@together
async def test_whatever_agents_send_is_answered_with_a_refusal(at: Door, mode: str) -> None:
    home = at.served.home
    before = home.digests()
    async with at.agent("admin", mode) as agent:
        troubles: list[str] = []
        for tool, args in HOSTILE_CALLS:
            found: Any = await agent.client.call_tool(tool, args)
            error = (found.structured_content or {}).get("error") or {}
            said = found.content[0].text
            sound = error.get("code") in CODES and len(said) < 4000 and "Traceback" not in said
            if not found.is_error or not sound:
                troubles.append(
                    f"{tool} {str(args)[:100]}: {found.is_error} {error.get('code')} {len(said)} {said[:300]}"
                )
        assert not troubles, "\n".join(troubles)
        for uri in URIS:
            said = await agent.unread(uri)
            assert "secrets.toml is" not in said
            assert len(said) < 25_000
        templates = (await agent.client.list_resource_templates()).resource_templates
        assert {item.uri_template for item in templates} == {
            "horae://jobs/{job}", "horae://runs/{run}", "horae://runs/{run}/stdout",
        }  # fmt: skip
        assert "no job" in await agent.unread("horae://jobs/nobody")
    assert home.digests() == before


@together
async def test_agents_of_several_roles_at_once_are_never_mixed(at: Door) -> None:
    rounds = 20
    keys = {role: at.served.token(role, f"mix-{role}") for role in ROLES}
    at.served.home.horae("add", "on demand", "--script", "hi.sh", "--name", "mixed")

    async def reader(agent: Agent) -> None:
        for _ in range(rounds):
            assert await agent.tools() == SEES["read"]
            assert "mix-read has read" in (await agent.refused("pause_job", job="mixed"))["message"].replace(
                "token ", ""
            )

    async def steerer(agent: Agent, number: int) -> None:
        for turn in range(rounds):
            assert (await agent.refused("remove_job", job="mixed"))["message"].endswith("token mix-operate has operate")
            await agent.ask("pause_job", job="mixed", reason=f"steerer {number} {turn}")

    async def owner(agent: Agent) -> None:
        for turn in range(rounds):
            assert await agent.tools() == SEES["admin"]
            await agent.ask("edit_job", job="mixed", changes={"name": f"mixed {turn}"})

    async with (
        over_http(at.served.address, keys["read"]) as first,
        over_http(at.served.address, keys["operate"]) as second,
        over_http(at.served.address, keys["operate"], mode="legacy") as third,
        over_http(at.served.address, keys["admin"]) as fourth,
    ):
        await asyncio.gather(reader(first), steerer(second, 2), steerer(third, 3), owner(fourth))
    query = "SELECT DISTINCT what, actor FROM journal WHERE job_id = ? AND actor LIKE 'token mix%'"
    did = at.served.home.sql(query, at.served.home.jobs()["mixed"]["id"])
    assert {actor for what, actor in did if what == "paused"} == {"token mix-operate (mcp)"}
    assert {actor for what, actor in did if what in ("edited", "changed", "updated")} == {"token mix-admin (mcp)"}
    assert not [actor for _, actor in did if "mix-read" in actor]


# ── agents that start `horae mcp`


@together
async def test_an_agent_that_starts_the_program_proposes_in_the_name_of_its_owner(at: Door, tmp_path: Path) -> None:
    home, log = at.served.home, tmp_path / "log"
    async with over_pipes(home, log=log) as agent:
        assert await agent.tools() == SEES["operate"]
        made = await agent.ask("create_job", **DRAFT, idempotency_key="tides")
        assert (await agent.ask("create_job", **DRAFT, idempotency_key="tides")) == made
        assert made["live"] is False
        (ask,) = [item for item in (await agent.ask("list_asks"))["asks"] if item["id"] == made["ask"]["id"]]
        assert ask["asked_by"] == "ann (mcp)"
        assert (await agent.refused("remove_job", job="hi"))["code"] == "refused"
        assert (await agent.refused("approve", ask=ask["id"]))["code"] == "not_found"
        ran = await agent.ask("run_job", job="hi")
        assert (await agent.ended(ran["run_id"]))["stdout"] == "hi\n"
        assert "script: hi.sh" in await agent.read("horae://jobs/hi")
        assert "no job" in await agent.unread("horae://jobs/nobody")
        assert (await agent.refused("get_job", job="nobody"))["code"] == "not_found"
        assert (await agent.refused("list_jobs", limit="many"))["code"] == "invalid"
    assert log.read_text(encoding="utf-8") == "", "nothing went wrong, and nothing is printed beside"
    home.horae("deny", ask["id"])


@pytest.mark.parametrize("role", ["read", "admin"])
@together
async def test_a_role_is_given_to_the_program(at: Door, tmp_path: Path, role: str) -> None:
    async with over_pipes(at.served.home, "--role", role, log=tmp_path / "log", mode="legacy") as agent:
        assert await agent.tools() == SEES[role]
        if role == "read":
            assert "operate is needed" in (await agent.refused("pause_job", job="hi"))["message"]
        else:
            assert (await agent.ask("edit_job", job="hi", changes={"urgency": "low"}))["job"]["urgency"] == "low"
    if role == "admin":
        assert journal(at, "edited")[-1][0] == "ann (mcp)"


@together
async def test_P11_what_a_run_starts_may_look_and_change_nothing(at: Door, tmp_path: Path) -> None:
    home = at.served.home
    before, asks = home.digests(), len(home.look("waiting")["asks"])
    async with over_pipes(home, "--role", "admin", log=tmp_path / "log", HORAE_RUN_ID="0123456789ab") as agent:
        assert await agent.ask("list_jobs")
        for tool, args in (
            ("create_job", DRAFT), ("edit_job", {"job": "hi", "changes": {"name": "x"}}), ("remove_job", {"job": "hi"}),
            ("pause_job", {"job": "hi"}), ("run_job", {"job": "hi"}), ("run_job", {"job": "hi", "idempotency_key": "k"}),
        ):  # fmt: skip
            error = await agent.refused(tool, **args)
            assert error["code"] == "refused"
            assert "not for runs" in error["message"]
    async with over_pipes(home, log=tmp_path / "log", HORAE_RUN_ID="0123456789ab") as agent:
        assert "not for runs" in (await agent.refused("create_job", **DRAFT))["message"]
    assert (home.digests(), len(home.look("waiting")["asks"])) == (before, asks)


@together
async def test_agents_work_where_no_gateway_runs(home: TestHome, tmp_path: Path) -> None:
    home.horae("add", "every 1h", "--script", "hi.sh", "--name", "hi")
    async with over_pipes(home, log=tmp_path / "log") as agent:
        assert (await agent.ask("get_status"))["gateway"]["alive"] is False
        await agent.ask("pause_job", job="hi", reason="a storm")
    assert home.jobs()["hi"]["state"] == "paused"


def test_the_program_ends_with_its_client_and_serves_no_home_that_is_none(home: TestHome, tmp_path: Path) -> None:
    assert home.horae("mcp", stdin="").out == ""
    noise = home.horae("mcp", stdin='{\n[]\nnull\n{"jsonrpc": "2.0", "id": 1, "method": "x\0"}\n' + "[" * 5000 + "\n")
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in noise.out.splitlines())
    nowhere = home.horae("--home", str(tmp_path / "none"), "mcp", status=None, stdin="\n")
    assert nowhere.status == 3
    assert "there is no home" in nowhere.err


# ── the door


INIT = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
TAKES = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def knock(at: Door, token: str | None = None, **headers: str) -> httpx2.Response:
    return at.served.client(token).post("/mcp", json=INIT, headers={**TAKES, **headers})


def test_only_a_token_opens_the_door(at: Door) -> None:
    assert knock(at).status_code == 401
    wrong = knock(at, "ht_" + "x" * 43)
    assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, 'Bearer realm="horae"')
    assert knock(at, authorization="Basic YTpi").status_code == 401
    host = knock(at, at.tokens["read"], host="evil.example")
    assert (host.status_code, host.json()["code"]) == (421, "wrong_host")
    gone = at.served.token("read", "gone")
    assert knock(at, gone).status_code != 401
    at.served.home.horae("tokens", "revoke", "gone")
    assert until(lambda: knock(at, gone).status_code == 401, "a token that is revoked opens nothing")


def test_a_session_of_the_dashboard_is_no_key_for_agents(at: Door) -> None:
    visitor = at.served.client()
    key = at.served.link().partition("#")[2]
    assert visitor.post("/sign-in", json={"key": key}, headers={"origin": at.served.address}).status_code == 200
    page = visitor.get("/", headers={"accept": "text/html"})
    mark = page.text.partition('name="csrf" content="')[2].partition('"')[0]
    ours = {"origin": at.served.address, "x-horae-csrf": mark}
    assert visitor.post("/mcp", json=INIT, headers={**TAKES, **ours}).status_code == 401
    session = next(iter(visitor.cookies.values()))
    assert knock(at, session).status_code == 401


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"[" * 5000, b"1" * 5000]
)
def test_what_is_no_message_is_refused(at: Door, body: bytes) -> None:
    found = at.served.client(at.tokens["admin"]).post("/mcp", content=body, headers=TAKES)
    assert 400 <= found.status_code < 500, (found.status_code, found.text)
    assert "Traceback" not in found.text


@pytest.mark.parametrize("path", ["/mcp/x", "/mcpx", "/MCP", "/mcp/%2e%2e/metrics"])
def test_there_is_nothing_beside_it(at: Door, path: str) -> None:
    found = at.served.client(at.tokens["read"]).post(path, json=INIT, headers=TAKES)
    assert found.status_code == 404, found.text
