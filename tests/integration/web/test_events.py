"""News as they come: every change in order, to many at once; a live run; and who may not read any more reads no further."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from tests.support.loops import run_to_end
from tests.support.process import new_home, until
from tests.support.web import Served, served

API = "/api/v1"
WATCHERS = 50


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = new_home(tmp_path_factory.mktemp("events") / "home")
    home.write("tides", script="hi.sh", schedule="every 1h")
    home.script("slow.sh", "echo one; sleep 60\n")
    home.write("slow", script="slow.sh", schedule="every 1h")
    with served(home) as made:
        yield made


async def told(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, int | None, Any]]:
    """(kind, number, data) of each event."""
    found: dict[str, str] = {}
    async for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            found[name] = value
        elif found:
            yield found["event"], int(found["id"]) if "id" in found else None, json.loads(found["data"])
            found = {}


async def watch(
    client: httpx2.AsyncClient, path: str, until_seen: Any, ready: asyncio.Event | None = None, **headers: str
) -> list[tuple[str, int | None, Any]]:
    """Events until one is seen that ends the look."""
    seen: list[tuple[str, int | None, Any]] = []
    async with client.stream("GET", API + path, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for event in told(answer.aiter_lines()):
            seen.append(event)
            if ready is not None:
                ready.set()
            if until_seen(event):
                return seen
    return seen


def over(web: Served, token: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=web.address, headers={"authorization": f"Bearer {token}"}, timeout=30)


def entries(web: Served, since: int) -> list[int]:
    return [number for (number,) in web.home.sql("SELECT seq FROM journal WHERE seq > ? ORDER BY seq", since)]


def test_fifty_watchers_hear_everything_in_order(web: Served) -> None:
    token = web.token("operate", "watchers")
    api = web.client(token)

    async def all_of_them() -> list[list[tuple[str, int | None, Any]]]:
        last: list[int] = []

        def ended(event: tuple[str, int | None, Any]) -> bool:
            return bool(last) and event[1] is not None and event[1] >= last[0]

        async with over(web, token) as client:
            ready = [asyncio.Event() for _ in range(WATCHERS)]
            watching = [asyncio.create_task(watch(client, "/events", ended, one)) for one in ready]
            await asyncio.wait_for(asyncio.gather(*(one.wait() for one in ready)), 20)

            def steer() -> None:
                for number in range(5):
                    api.post(f"{API}/jobs/tides/pause", json={"reason": f"{number}"})
                    api.post(f"{API}/jobs/tides/resume")
                key = api.post(f"{API}/jobs/tides/run", json={}).json()["key"]
                until(lambda: api.get(f"{API}/occurrences/{key}").json()["occurrence"]["outcome"], "it ran")

            await asyncio.to_thread(steer)
            last.append(entries(web, 0)[-1])
            api.post(f"{API}/jobs/tides/pause", json={})  # one more, that all of them see
            api.post(f"{API}/jobs/tides/resume")
            return await asyncio.wait_for(asyncio.gather(*watching), 20)

    heard = run_to_end(all_of_them())
    for seen in heard:
        first = seen[0][2]["id"]
        numbers = [number for kind, number, _ in seen if kind == "change"]
        assert numbers == entries(web, first)[: len(numbers)]
    assert len(heard) == WATCHERS
    assert len(numbers) >= 14
    assert web.gateway.process.poll() is None


def test_who_comes_back_is_told_what_came_since(web: Served) -> None:
    token = web.token("read", "returning")
    since = entries(web, 0)[-3]

    async def again() -> list[tuple[str, int | None, Any]]:
        newest = entries(web, 0)[-1]
        async with over(web, token) as client:
            return await watch(
                client, "/events", lambda event: event[1] == newest, None, **{"last-event-id": str(since)}
            )

    seen = run_to_end(again())
    assert [number for kind, number, _ in seen if kind == "change"] == entries(web, since)
    assert web.client(token).get(f"{API}/events", headers={"last-event-id": "x"}).status_code == 422


def test_a_watcher_of_one_job_hears_of_no_other(web: Served) -> None:
    token = web.token("operate", "one-job")
    api = web.client(token)

    async def both() -> list[tuple[str, int | None, Any]]:
        ready = asyncio.Event()
        async with over(web, token) as client:
            task = asyncio.create_task(
                watch(client, "/events?job=tides", lambda event: event[2].get("what") == "resumed", ready)
            )
            await asyncio.wait_for(ready.wait(), 20)
            for job in ("slow", "tides"):
                await asyncio.to_thread(api.post, f"{API}/jobs/{job}/pause", json={})
                await asyncio.to_thread(api.post, f"{API}/jobs/{job}/resume")
            return await asyncio.wait_for(task, 20)

    seen = run_to_end(both())
    assert {data["job"] for kind, _, data in seen if kind == "change"} == {"tides"}


def test_a_live_run_is_heard_as_it_speaks(web: Served) -> None:
    token = web.token("operate", "listener")
    api = web.client(token)
    key = api.post(f"{API}/jobs/slow/run", json={}).json()["key"]
    found = until(lambda: api.get(f"{API}/occurrences/{key}").json()["log"], "it has begun")
    run = found["run"]["id"]

    async def listen() -> list[tuple[str, int | None, Any]]:
        spoken = asyncio.Event()

        def seen(event: tuple[str, int | None, Any]) -> bool:
            if event[0] == "output":
                spoken.set()
            return event[0] == "end"

        async with over(web, token) as client:
            task = asyncio.create_task(watch(client, f"/runs/{run}/live", seen))
            await asyncio.wait_for(spoken.wait(), 20)
            cancelled = await asyncio.to_thread(api.post, f"{API}/runs/{run}/cancel")
            assert cancelled.status_code == 202, cancelled.text
            return await asyncio.wait_for(task, 30)

    seen = run_to_end(listen())
    assert seen[0][0] == "output"
    assert seen[0][2]["stdout"] == "one\n"
    assert seen[-1][0] == "end"
    assert seen[-1][2]["state"] == "cancelled"
    ended = run_to_end(_whole(web, token, run))
    assert "".join(data["stdout"] for kind, _, data in ended if kind == "output").startswith("one\n")
    assert web.client(token).get(f"{API}/runs/nobody/live").status_code == 404


async def _whole(web: Served, token: str, run: str) -> list[tuple[str, int | None, Any]]:
    async with over(web, token) as client:
        return await watch(client, f"/runs/{run}/live", lambda event: event[0] == "end")


def test_a_revoked_token_reads_no_further(web: Served) -> None:
    token, busy = web.token("read", "revoked"), web.client(web.token("operate", "busy"))

    async def cut_off() -> bool:
        ready = asyncio.Event()
        async with over(web, token) as client:
            task = asyncio.create_task(watch(client, "/events", lambda _event: False, ready))
            await asyncio.wait_for(ready.wait(), 20)
            await asyncio.to_thread(web.home.json, "tokens", "revoke", "revoked")
            for _ in range(60):  # a stream that is never quiet ends all the same
                await asyncio.to_thread(busy.post, f"{API}/jobs/tides/pause", json={})
                await asyncio.to_thread(busy.post, f"{API}/jobs/tides/resume")
                done, _ = await asyncio.wait({task}, timeout=0.3)
                if done:
                    break
            await asyncio.wait_for(task, 1)
        return True

    assert run_to_end(cut_off())
    assert web.client(token).get(f"{API}/events").status_code == 401


def test_streams_do_not_keep_a_gateway_from_stopping(web: Served) -> None:
    token = web.token("read", "last")

    async def held() -> int:
        ready = asyncio.Event()
        async with over(web, token) as client:
            task = asyncio.create_task(watch(client, "/events", lambda _event: False, ready))
            await asyncio.wait_for(ready.wait(), 20)
            web.gateway.signal(15)
            status = await asyncio.to_thread(web.gateway.ends, 8)
            await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), 10)
            return status

    assert run_to_end(held()) == 0
