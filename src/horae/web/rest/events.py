"""Streams: every change as it is journaled, and what a live run prints and does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from starlette.requests import Request

from horae.core.access import Who
from horae.errors import Invalid
from horae.web.caller import Caller, GateOf
from horae.web.feed import Feed
from horae.web.streams import BEAT, Pulse, closes_within, event, stream

Json = dict[str, Any]
router = APIRouter(tags=["events"])
REPLAY_MAX = 5000  # entries that are told to one who comes back; then it is told to look anew
PAGE = 1000
LOOK_EVERY_S = 0.2
ENDED = ("completed", "failed", "cancelled", "unknown", "blocked", "released")


@router.get("/events", response_class=StreamingResponse, operation_id="events")
async def events(
    request: Request,
    job: Annotated[str | None, Query(description="only of this job: its id or slug", max_length=200)] = None,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> StreamingResponse:
    """Every change, as it is journaled, as server-sent events.

    `id` is the number of the entry; who comes back with `Last-Event-ID` is told what came since. `event: change` has
    `{id, at, actor, what, job_id, job, key, run_id}`. `event: reset` says that too much came since: look anew.
    """
    if last_event_id is not None and not (
        last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19
    ):
        raise Invalid(f"Last-Event-ID {last_event_id!r} is no number", "leave it out, or give the last one that came")
    since = None if last_event_id is None else int(last_event_id)
    return stream(_changes(request, request.app.state.feed, job, since))


async def _changes(request: Request, feed: Feed, job: str | None, since: int | None) -> AsyncGenerator[bytes]:
    async with feed.subscribed() as subscriber:
        told = await feed.newest() if since is None else since
        yield event("hello", {"id": told})
        replayed = 0
        sent: set[int] = set()
        while since is not None:
            entries = await feed.since(told, PAGE)
            for entry in entries:
                sent.add(entry["id"])
                told = entry["id"]
                if _fits(entry, job):
                    yield event("change", entry, entry["id"])
            replayed += len(entries)
            if len(entries) < PAGE:
                break
            if replayed >= REPLAY_MAX:
                told = await feed.newest()
                yield event("reset", {"id": told}, told)
                break
        pulse = Pulse(request)
        while True:
            if subscriber.lost:
                yield event("reset", {"id": told}, told)
                return
            try:
                entry = await asyncio.wait_for(subscriber.queue.get(), pulse.left_s)
            except TimeoutError:
                entry = {}
            if entry is None:  # the process stops
                return
            if pulse.left_s <= 0:
                if not await pulse.goes_on():
                    return
                yield BEAT
            if entry and entry["id"] not in sent:
                told = max(told, entry["id"])
                if _fits(entry, job):
                    yield event("change", entry, entry["id"])


def _fits(entry: Json, job: str | None) -> bool:
    return job is None or job in (entry["job_id"], entry["job"])


@router.get("/runs/{run}/live", response_class=StreamingResponse, operation_id="live")
async def live(request: Request, who: Caller, gate: GateOf, run: str) -> StreamingResponse:
    """What a run prints and does, as it comes, as server-sent events; from its beginning, until it ends.

    `event: output` has what was added to `stdout` and `stderr`, with `restart` true where what came before is to be
    forgotten; `event: activity` one thing that an agent did; `event: end` the run.
    """
    log = await anyio.to_thread.run_sync(lambda: gate.do(who, "log", run=run))
    return stream(_output(request, gate, who, log))


async def _output(request: Request, gate: GateOf, who: Who, log: Json) -> AsyncGenerator[bytes]:
    run_id = log["run"]["id"]
    shown = {"stdout": "", "stderr": ""}
    events = 0
    pulse = Pulse(request)
    while True:
        ended = log["run"]["state"] in ENDED
        found: Json | None = log if ended else await anyio.to_thread.run_sync(gate.live, run_id)
        added: Json = {}
        for name, before in shown.items():
            text = str((found or {}).get(name) or "")
            if text.startswith(before):
                added |= {name: text[len(before) :]} if len(text) > len(before) else {}
            elif text:
                added |= {name: text, "restart": True}
            shown[name] = text or before
        if added:
            yield event("output", {"stdout": "", "stderr": "", "restart": False, **added})
        told = list((found or {}).get("activity" if ended else "events") or ())
        for item in told[events:]:
            yield event("activity", item)
        events = max(events, len(told))
        if ended:
            yield event("end", log["run"])
            return
        if pulse.left_s <= 0:
            if not await pulse.goes_on():
                return
            yield BEAT
        if await closes_within(request, LOOK_EVERY_S):
            return
        log = await anyio.to_thread.run_sync(lambda: gate.do(who, "log", run=run_id))
