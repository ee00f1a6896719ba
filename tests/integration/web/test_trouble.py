"""The dashboard where something around it is in trouble, and behind a proxy that encrypts."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.requests import Request

from horae.app import doctor
from horae.app.once import once
from horae.core.webform import LIBRARIES
from horae.errors import Conflict, Problem, Refused, Trouble
from horae.web.feed import Feed
from horae.web.given import Given
from horae.web.pages import render
from horae.wiring import House
from horae.wiring.gate import HomeGate
from tests.support.process import TestHome
from tests.support.web import served

NAME = "horae.example.org"
HTML = {"accept": "text/html"}


def test_a_home_that_cannot_be_read_is_said_to_be_and_the_next_visitor_comes_in_again(home: TestHome) -> None:
    with served(home) as at:
        config = home.path / "config.toml"
        good = config.read_text(encoding="utf-8") if config.exists() else ""
        api = at.api()
        assert api.get("/api/v1/jobs").status_code == 200
        config.write_text("timezone = = [secret\n", encoding="utf-8")
        for asked in (api.get("/api/v1/jobs"), api.get("/metrics"), api.post("/api/v1/jobs/x/pause", json={})):
            assert (asked.status_code, asked.json()["code"]) == (503, "unavailable")
            assert "horae doctor" in asked.json()["hint"]
            assert "secret" not in asked.text
        page = api.get("/jobs", headers=HTML)
        assert page.status_code == 503
        assert "horae doctor" in page.text
        for free in ("/healthz", "/sign-in", "/static/horae.css"):
            assert api.get(free).status_code == 200, free
        config.write_text(good, encoding="utf-8")
        assert api.get("/api/v1/jobs").status_code == 200
        assert "Traceback" not in (home.path / "state" / "web.log").read_text(encoding="utf-8")


def test_whoever_is_known_comes_in_while_nothing_can_be_written(home: TestHome) -> None:
    home.horae("init")
    token = home.json("tokens", "add", "reader", "--role", "read")["token"]
    gate = HomeGate(str(home.path))
    busy = sqlite3.connect(home.path / "state" / "runtime.db", timeout=1)
    busy.execute("BEGIN IMMEDIATE")
    try:
        who = gate.who(token, "rest")
    finally:
        busy.rollback()
        busy.close()
    assert who is not None
    assert who.role == "read"
    assert gate.who(token + "x", "rest") is None


def test_behind_a_proxy_that_encrypts_the_session_goes_no_other_way(home: TestHome) -> None:
    home.config(f'link = "https://{NAME}"\n')
    with served(home) as at:
        key = at.link().partition("#")[2]
        visitor = at.client(host=NAME)
        foreign = visitor.post("/sign-in", json={"key": key}, headers={"origin": f"http://{NAME}"})
        assert (foreign.status_code, foreign.json()["code"]) == (403, "foreign_origin")
        signed = visitor.post("/sign-in", json={"key": key}, headers={"origin": f"https://{NAME}"})
        assert signed.status_code == 200, signed.text
        cookie = signed.headers["set-cookie"]
        assert cookie.startswith("__Host-horae=")
        for part in ("Secure", "HttpOnly", "Path=/", "SameSite=lax"):
            assert part in cookie
        assert "Domain" not in cookie
        session = cookie.partition("=")[2].partition(";")[0]
        port = at.address.rpartition(":")[2]

        def status(host: str, name: str) -> int:
            return at.client(host=host, cookie=f"{name}={session}").get("/api/v1/jobs").status_code

        assert status(NAME, "__Host-horae") == 200
        assert status(NAME, f"horae_{port}") == 401, "one that any way carries, and any subdomain may set"
        assert status(f"127.0.0.1:{port}", "__Host-horae") == 401
        assert status(f"evil.{NAME}", "__Host-horae") == 421
        kept = at.client(host=NAME, cookie=f"__Host-horae={session}", **HTML)
        mark = kept.get("/").text.partition('name="csrf" content="')[2].partition('"')[0]
        for origin, expected in ((f"http://{NAME}", 403), ("null", 403), (f"https://{NAME}", 200)):
            ended = kept.post("/sign-out", headers={"origin": origin, "x-horae-csrf": mark})
            assert ended.status_code == expected, origin
        assert "__Host-horae=" in ended.headers["set-cookie"]
        assert "Secure" in ended.headers["set-cookie"]


def test_files_that_are_missing_are_said_to_be(home: TestHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.horae("init")
    monkeypatch.setattr(render, "STATIC", tmp_path)
    monkeypatch.setattr(doctor, "LIBRARY", os.fspath(tmp_path / "lib"))
    monkeypatch.delenv("HORAE_RUN_ID", raising=False)

    def told() -> tuple[str, list[str]]:
        gate = HomeGate(str(home.path))
        given = Given(gate, str(home.path), (), None, "UTC", "http://127.0.0.1:1")
        app = FastAPI()
        app.state.given = given
        scope = {"type": "http", "method": "GET", "path": "/sign-in", "headers": [], "query_string": b"", "app": app}
        page = render.render(Request(scope), "sign_in.html", next="/", signed_in=False)
        found = House(str(home.path)).use(doctor.doctor, gateway=None, misnamed=[])
        return bytes(page.body).decode(), [one["what"] for one in found["checks"] if one["check"] == "dashboard"]

    page, findings = told()
    assert "<code>make browser</code>" in page
    assert "?v=" not in page, "an address that may be kept for ever must be of a file that is there"
    assert len(findings) == 1
    assert "htmx.js" in findings[0]
    (tmp_path / "lib").mkdir()
    for name in LIBRARIES:
        (tmp_path / "lib" / name).write_text("x", encoding="utf-8")
    page, findings = told()
    assert "make browser" not in page
    assert "/static/lib/htmx.js?v=" in page
    assert findings == []


def test_a_key_is_free_after_a_refusal_and_taken_after_a_trouble(home: TestHome) -> None:
    home.horae("init")
    done: list[str] = []

    def asked(key: str, error: Problem | None) -> object:
        def verb(_home: object) -> dict[str, object]:
            done.append(key)
            if error is not None:
                raise error
            return {"did": "it"}

        return once({"verb": verb}, House(str(home.path)).home, scope="rest:x", key=key, verb="verb", args={})

    with pytest.raises(Refused):
        asked("refused", Refused("no", None))
    assert asked("refused", None) == {"did": "it"}
    with pytest.raises(Trouble):
        asked("lost", Trouble("the database went away while it committed", None))
    with pytest.raises(Conflict, match="nobody knows yet"):
        asked("lost", None)
    assert done == ["refused", "refused", "lost"]


def test_a_watcher_goes_on_after_a_look_that_failed() -> None:
    """A config that an editor takes away for a moment must not silence every page until the process ends."""
    looks: list[int] = []

    class Gate:
        def newest(self) -> int:
            return 0

        def changes(self, after: int, limit: int) -> list[dict[str, int]]:
            looks.append(after)
            if len(looks) == 2:
                raise FileNotFoundError("config.toml")
            if len(looks) == 3:
                raise Trouble("the store is gone for a moment", None)
            return [{"id": 1}] if len(looks) > 3 else []

    async def watch() -> object:
        feed: Any = Feed(Gate())  # pyright: ignore[reportArgumentType]  all that it asks of one
        async with feed.subscribed() as subscriber:
            return await asyncio.wait_for(subscriber.queue.get(), 10)

    assert asyncio.run(watch()) == {"id": 1}
