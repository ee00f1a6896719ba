"""When the heartbeat beats, on virtual time; what it says of its troubles, and what it never says."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from horae.core.delivery import Heartbeat as Wanted
from horae.limits import WAIT_MAX_S
from horae.wiring import heartbeat
from horae.wiring.heartbeat import LOOK_AGAIN_S, TIMEOUT_S, Heartbeat, is_well
from tests.support.builders import START, at
from tests.support.virtual import nap, run_virtually

URL = "https://ping.example.org/{PING_ID}"
SECRETS = {"PING_ID": "s3cr3t-4711"}


class HTTPError(Exception):
    pass


class ConnectError(HTTPError):
    pass


class TimeoutException(HTTPError):
    pass


class InvalidURL(Exception):
    pass


class Forbidden(Exception):
    pass


class Outside:
    """An HTTP library whose answers the test has written, one for each request; the last one goes on."""

    def __init__(self, *answers: Exception | float) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[float, str]] = []
        self.at_once = 0

    def client(self, *, allow_private: bool, timeout_s: float) -> Any:
        assert allow_private
        assert timeout_s == TIMEOUT_S
        return self._client()

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncGenerator[Any]:
        self.at_once += 1
        assert self.at_once == 1, "never more than one at a time"
        try:
            yield SimpleNamespace(stream=self._stream)
        finally:
            self.at_once -= 1

    @contextlib.asynccontextmanager
    async def _stream(self, method: str, url: str) -> AsyncGenerator[Any]:
        assert method == "GET"
        self.asked.append((asyncio.get_running_loop().time(), url))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await nap(answer)
            answer = 200
        yield SimpleNamespace(status_code=answer)

    @property
    def times(self) -> list[float]:
        return [round(when, 3) for when, _ in self.asked]


def secrets(names: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    found = {name: SECRETS[name] for name in names if name in SECRETS}
    return found, tuple(f"secret {name} has no value" for name in names if name not in SECRETS)


@pytest.fixture
def beat(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Outside, Heartbeat]]:
    """Let a heartbeat beat for so long."""

    def go(
        *answers: Exception | float, for_s: float = 150.0, url: str = URL, well: Callable[[], bool] = lambda: True
    ) -> tuple[Outside, Heartbeat]:
        outside = Outside(*(answers or (200,)))
        outward = SimpleNamespace(client=outside.client, Forbidden=Forbidden)
        http = SimpleNamespace(
            HTTPError=HTTPError, ConnectError=ConnectError, TimeoutException=TimeoutException, InvalidURL=InvalidURL
        )
        found = {"horae.outward": outward, "httpx2": http}
        monkeypatch.setattr(heartbeat, "import_module", found.__getitem__)
        made = Heartbeat(Wanted(url, 60.0), secrets)

        async def main() -> None:
            async with made.beating(well):
                await nap(for_s)

        run_virtually(main())
        return outside, made

    return go


def test_the_first_comes_at_once_and_then_one_each_time(beat: Any) -> None:
    outside, made = beat()
    assert outside.asked[0] == (0.0, "https://ping.example.org/s3cr3t-4711")
    assert outside.times == [0.0, 60.0, 120.0]
    assert made.problem is None


def test_a_slow_answer_does_not_shift_the_next_one(beat: Any) -> None:
    assert beat(7.0, 200)[0].times == [0.0, 60.0, 120.0]


def test_what_is_not_well_is_not_announced_and_what_is_well_again_is_soon(beat: Any) -> None:
    def well() -> bool:
        return not 30.0 < asyncio.get_running_loop().time() < 100.0

    outside, made = beat(for_s=170.0, well=well)
    assert outside.times[0] == 0.0
    assert 100.0 <= outside.times[1] <= 100.0 + LOOK_AGAIN_S
    assert outside.times[2] == outside.times[1] + 60.0
    assert made.problem is None, "that the gateway is not well is another's word"


def test_a_trouble_is_logged_when_it_begins_and_when_it_is_over(beat: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "horae")
    answers = (200, 500, 503, ConnectError("no"), 200, 200)
    outside, made = beat(*answers, for_s=330.0)
    assert len(outside.asked) == 6
    assert [record.getMessage() for record in caplog.records] == [
        "! the heartbeat does not arrive: the answer was 500",
        "the heartbeat arrives again",
    ]
    assert made.problem is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (404, "the answer was 404"),
        (302, "the answer was 302; redirects are not followed"),
        (TIMEOUT_S + 1, "no answer within 10 seconds"),
        (TimeoutException(""), "no answer within 10 seconds"),
        (ConnectError("s3cr3t-4711"), "no connection can be made"),
        (InvalidURL("s3cr3t-4711"), "heartbeat.url cannot be used as it is"),
        (ValueError("s3cr3t-4711"), "heartbeat.url cannot be used as it is"),
        (HTTPError("s3cr3t-4711"), "the connection broke (HTTPError)"),
        (OSError("s3cr3t-4711"), "the connection broke (OSError)"),
        (Forbidden("s3cr3t-4711"), "the connection broke (Forbidden)"),
    ],
)
def test_the_latest_trouble_is_shown_without_the_url(
    beat: Any, caplog: pytest.LogCaptureFixture, answer: Any, says: str
) -> None:
    outside, made = beat(answer)
    assert made.problem == f"the heartbeat does not arrive: {says}"
    assert len(outside.asked) == 3, "it goes on"
    assert "s3cr3t" not in caplog.text
    assert "ping.example.org" not in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.parametrize("url", ["{NOBODY}", "https://x/{NOBODY}/{PING_ID}"])
def test_a_secret_that_has_no_value_is_a_trouble(beat: Any, url: str) -> None:
    outside, made = beat(url=url)
    assert outside.asked == []
    assert made.problem == "the heartbeat does not arrive: secret NOBODY has no value"


@pytest.mark.parametrize("value", ["", "ftp://x/y", "https://", "https://x/a b", "https://x/\n", "file:///etc/passwd"])
def test_what_secrets_make_of_the_url_is_looked_at(beat: Any, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setitem(SECRETS, "WHOLE", value)
    outside, made = beat(url="{WHOLE}")
    assert outside.asked == []
    assert "no URL of http or https" in str(made.problem)


def test_a_whole_url_may_be_a_secret(beat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECRETS, "WHOLE", "http://10.0.0.1:8080/ping")
    assert beat(url="{WHOLE}")[0].asked[0][1] == "http://10.0.0.1:8080/ping"


def test_nobody_waits_for_an_answer_at_the_end(beat: Any) -> None:
    outside, made = beat(9.0, for_s=1.0)
    assert len(outside.asked) == 1
    assert made.problem is None


def test_a_fault_of_ours_is_told_and_ends_nothing_but_itself(beat: Any, caplog: pytest.LogCaptureFixture) -> None:
    outside, made = beat(AssertionError("s3cr3t"))
    assert len(outside.asked) == 1
    assert made.problem == "the heartbeat does not arrive: a fault of Horae ended it (AssertionError)"
    assert caplog.records[0].levelno == logging.ERROR


def test_without_settings_nothing_is_loaded_and_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "import_module", lambda name: pytest.fail(f"{name} is loaded"))
    made = Heartbeat(None, secrets)

    async def main() -> None:
        async with made.beating(lambda: True):
            await nap(1000)

    run_virtually(main())
    assert made.problem is None


@pytest.mark.parametrize("library", ["httpx2", "httpcore2"])
def test_a_library_that_is_missing_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, library: str
) -> None:
    monkeypatch.delitem(sys.modules, "horae.outward", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    made = Heartbeat(Wanted(URL, 60.0), secrets)

    async def main() -> None:
        async with made.beating(lambda: True):
            await nap(1000)

    run_virtually(main())
    assert made.problem is not None
    assert "is not installed: pip install 'horae[delivery]'" in made.problem
    assert library in made.problem
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("given", "well"),
    [
        ({}, True),
        ({"stopping": True}, False),
        ({"writes": False}, False),
        ({"looked_at": None}, False),
        ({"looked_at": at("07:59")}, True),
        ({"looked_at": START - timedelta(seconds=2 * WAIT_MAX_S)}, False),
        ({"looked_at": at("08:01")}, True),
    ],
)
def test_who_is_well(given: dict[str, Any], well: bool) -> None:
    values: dict[str, Any] = {"stopping": False, "writes": True, "looked_at": START, "now": START}
    assert is_well(**(values | given)) is well


def test_a_clock_that_was_set_back_is_no_reason() -> None:
    later: datetime = at("20:00")
    assert is_well(stopping=False, writes=True, looked_at=later, now=START)
