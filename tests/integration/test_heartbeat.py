"""The heartbeat over real connections: asked for while all is well, and never the end of whoever asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from horae.core.delivery import Heartbeat as Wanted
from horae.secretfile import SecretFile
from horae.wiring import heartbeat
from horae.wiring.heartbeat import Heartbeat, is_well
from tests.support.process import TestHome, new_home, running, until
from tests.support.receivers import HttpServer, certificate, closed_port, says

OFTEN_S = 0.02
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer().running() as made:
        yield made


def beat(
    url: str, enough: Callable[[Heartbeat], bool], *, well: Callable[[], bool] = lambda: True, home: str = "/nowhere"
) -> Heartbeat:
    """Let a heartbeat beat until it is enough."""
    made = Heartbeat(Wanted(url, OFTEN_S), SecretFile(home, {}).lookup)

    async def main() -> None:
        async with made.beating(well):
            await asyncio.to_thread(until, lambda: enough(made), "it has beaten enough")

    asyncio.run(main())
    return made


def test_it_is_asked_for_at_once_and_again(server: HttpServer) -> None:
    made = beat(f"{server.url}/ping", lambda _: len(server.got) >= 3)
    first = server.got[0]
    assert (first.method, first.path, first.body) == ("GET", "/ping", b"")
    assert first.headers["user-agent"].startswith("Horae/")
    assert made.problem is None


def test_an_engine_that_does_not_look_is_not_announced(server: HttpServer) -> None:
    """Beside one that does: by the time this has been heard of, that would have been, too."""
    now = datetime.now(UTC)

    def well(looked_at: datetime) -> Callable[[], bool]:
        return lambda: is_well(stopping=False, writes=True, looked_at=looked_at, now=now)

    stuck = Heartbeat(Wanted(f"{server.url}/stuck", OFTEN_S), SecretFile("/nowhere", {}).lookup)

    async def main() -> None:
        looks = Heartbeat(Wanted(f"{server.url}/looks", OFTEN_S), SecretFile("/nowhere", {}).lookup)
        async with (
            stuck.beating(well(now - timedelta(minutes=10))),
            looks.beating(well(now)),
        ):
            await asyncio.to_thread(until, lambda: len(server.got) >= 60, "it beats on while the other looks again")

    asyncio.run(main())
    assert {request.path for request in server.got} == {"/looks"}
    assert stuck.problem is None


def test_a_server_that_is_in_trouble_is_asked_on(server: HttpServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "horae")
    server.answers = [says("500 Oops", "no"), says("503 Later"), says("404 Not Found"), NO_CONTENT]
    made = beat(server.url, lambda _: len(server.got) >= 6)
    assert made.problem is None
    assert [record.getMessage() for record in caplog.records if record.name == "horae"] == [
        "! the heartbeat does not arrive: the answer was 500",
        "the heartbeat arrives again",
    ]


def test_a_server_that_does_not_answer_is_given_up(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "TIMEOUT_S", 0.2)
    server.answer, server.then = b"", "hang"
    made = beat(server.url, lambda it: len(server.got) >= 2 and it.problem is not None)
    assert made.problem is not None
    assert "no answer within" in made.problem


def test_a_body_without_end_is_not_read(server: HttpServer) -> None:
    server.answer, server.then = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "drip"
    assert beat(server.url, lambda _: len(server.got) >= 3).problem is None


def test_a_server_that_goes_away_is_no_answer(server: HttpServer) -> None:
    server.then = "early"
    made = beat(server.url, lambda it: it.problem is not None)
    assert "the connection broke" in str(made.problem)


def test_a_server_that_talks_nonsense_is_no_answer(server: HttpServer) -> None:
    server.answer = b"220 mail.example.org ESMTP\r\n"
    assert "the connection broke" in str(beat(server.url, lambda it: it.problem is not None).problem)


def test_nobody_there_is_told_and_found_when_it_comes(caplog: pytest.LogCaptureFixture) -> None:
    made = beat(f"http://127.0.0.1:{closed_port()}/x", lambda it: it.problem is not None)
    assert made.problem == "the heartbeat does not arrive: no connection can be made"
    assert "127.0.0.1" not in caplog.text


def test_a_redirect_is_not_followed(server: HttpServer) -> None:
    server.answer = says("302 Found", Location=f"{server.url}/elsewhere")
    made = beat(f"{server.url}/ping", lambda it: it.problem is not None and len(server.got) >= 2)
    assert {request.path for request in server.got} == {"/ping"}
    assert "302; redirects are not followed" in str(made.problem)


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    context, _ = certificate(tmp_path)
    with HttpServer().running(context) as server:
        made = beat(f"https://127.0.0.1:{server.port}/", lambda it: it.problem is not None)
    assert server.got == []
    assert "no connection can be made" in str(made.problem)


def test_no_proxy_of_the_environment_stands_in_between(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    assert beat(server.url, lambda _: len(server.got) >= 1).problem is None


def test_a_secret_in_the_url_is_put_in_and_never_shown(
    server: HttpServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    file = tmp_path / "secrets.toml"
    file.write_text('PING_ID = "s3cr3t-4711"\n')
    file.chmod(0o600)
    server.answers = [says("500 Oops")]
    beat(f"{server.url}/{{PING_ID}}", lambda _: len(server.got) >= 3, home=str(tmp_path))
    assert {request.path for request in server.got} == {"/s3cr3t-4711"}
    assert "s3cr3t-4711" not in caplog.text


# ── of a real gateway


@pytest.fixture
def home(tmp_path: Path) -> TestHome:
    return new_home(tmp_path / "home")


def test_a_gateway_is_heard_of_until_it_stops_and_status_shows_when_it_is_not(
    home: TestHome, server: HttpServer
) -> None:
    server.answers = [NO_CONTENT, says("500 Oops")]
    home.config(f'[heartbeat]\nurl = "{server.url}/{{PING_ID}}"\nevery = "10s"\n')
    (home.path / "secrets.toml").write_text('PING_ID = "s3cr3t-4711"\n')
    (home.path / "secrets.toml").chmod(0o600)
    with running(home) as gateway:
        until(lambda: server.got, "it is heard of")
        assert home.look("status")["problems"] == []
        gateway.says("! the heartbeat does not arrive: the answer was 500")
        assert home.look("status")["problems"] == ["the heartbeat does not arrive: the answer was 500"]
        gateway.says("the heartbeat arrives again")
        assert home.look("status")["problems"] == []
        assert gateway.stop() == 0
        said = gateway.said()
    assert len(server.got) == 3
    assert "s3cr3t" not in said


def test_a_gateway_whose_heartbeat_never_arrives_does_its_work(home: TestHome) -> None:
    home.config(f'[heartbeat]\nurl = "http://127.0.0.1:{closed_port()}/"\n')
    home.write("hi", script="hi.sh")
    with running(home) as gateway:
        gateway.says("! the heartbeat does not arrive: no connection can be made")
        assert home.json("run", "hi", "--wait")["run"]["state"] == "completed"
