"""The gateway's heartbeat to the outside: a URL that is asked for as long as the gateway is well.

Somebody else counts these requests and raises the alarm when they stop coming: of a machine that is gone no program on it
can tell. So what is not well is not announced: an engine whose loop does not look at what is due, a store that cannot be
written, and a gateway that starts nothing more since it stops.

One request at a time, the first as soon as the engine has looked, then one every so often. An answer of 2xx is a success,
and all else is a trouble of this connection: it is logged when it begins and when it is over, shown by `problem`, and
ends nothing. The URL is the owner's own word: it may lead to a private address. It may hold secrets, so it is never shown.

The library comes with the extra `delivery`, and is loaded only where a heartbeat is configured.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from importlib import import_module
from typing import Any

from horae.core.delivery import Heartbeat as Wanted
from horae.core.placeholders import filled, names_in
from horae.limits import WAIT_MAX_S
from horae.ports import Settings
from horae.secretfile import SecretFile
from horae.timing.durations import duration_words

TIMEOUT_S = 10.0
LOOK_AGAIN_S = 0.5  # while it is not well, so that it is heard of soon when it is
INSTALL = "pip install 'horae[delivery]'"
_URL = re.compile(r"(?i:https?)://[^\s/?#]\S*")

Lookup = Callable[[Sequence[str]], tuple[dict[str, str], tuple[str, ...]]]
"""The values of secrets by their names, and the reasons why some have none."""

log = logging.getLogger("horae")


def is_well(*, stopping: bool, writes: bool, looked_at: datetime | None, now: datetime) -> bool:
    """Whether others may be told so: the engine's loop looks, what it decides can be written, and it starts runs."""
    if stopping or not writes or looked_at is None:
        return False
    return (now - looked_at).total_seconds() < 2 * WAIT_MAX_S


class Heartbeat:
    """The heartbeat of one gateway; one that nobody has configured does nothing."""

    def __init__(self, wanted: Wanted | None, secrets: Lookup) -> None:
        self._wanted = wanted
        self._secrets = secrets
        self._problem: str | None = None

    @property
    def problem(self) -> str | None:
        """Why nobody outside hears of this gateway, as a sentence; None when all is well, or nothing is wanted."""
        return None if self._problem is None else f"the heartbeat does not arrive: {self._problem}"

    @asynccontextmanager
    async def beating(self, well: Callable[[], bool]) -> AsyncGenerator[None]:
        """For as long as this is entered, ask for the URL while `well()` says so."""
        if self._wanted is None:
            yield
            return
        try:
            outward, http = import_module("horae.outward"), import_module("httpx2")
        except ModuleNotFoundError as error:
            self._trouble(f"it needs the library {error.name}, which is not installed: {INSTALL}")
            yield
            return
        task = asyncio.get_running_loop().create_task(self._go_on(self._wanted, well, outward, http))
        task.add_done_callback(self._over)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _go_on(self, wanted: Wanted, well: Callable[[], bool], outward: Any, http: Any) -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            if well():
                self._tell(await self._ask(wanted.url, outward, http))
                await _pause(begun + wanted.every_s - loop.time())
            else:
                await _pause(LOOK_AGAIN_S)

    async def _ask(self, template: str, outward: Any, http: Any) -> str | None:
        """Ask once. Returns what is wrong, without a word of the URL."""
        values, missing = self._secrets(names_in(template))
        if missing:
            return "; ".join(missing)
        url = filled(template, values)
        if not url.isprintable() or not _URL.fullmatch(url):
            return "with its secrets put in, heartbeat.url is no URL of http or https"
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                outward.client(allow_private=True, timeout_s=TIMEOUT_S) as client,
                client.stream("GET", url) as answer,  # its body says nothing to us
            ):
                return _about(int(answer.status_code))
        except (TimeoutError, http.TimeoutException):
            return f"no answer within {duration_words(round(TIMEOUT_S))}"
        except (http.HTTPError, http.InvalidURL, outward.Forbidden, OSError, ValueError) as error:
            return _broken(error, http)

    def _tell(self, problem: str | None) -> None:
        if problem is not None:
            self._trouble(problem)
        elif self._problem is not None:
            self._problem = None
            log.info("the heartbeat arrives again")

    def _trouble(self, problem: str) -> None:
        begins = self._problem is None
        self._problem = problem
        if begins:
            log.warning("! %s", self.problem)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Ended with its gateway, or by a fault of ours: then nobody is told any more that all is well."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._problem = f"a fault of Horae ended it ({type(error).__name__})"
            log.error("%s", self.problem, exc_info=error)


def heartbeat_of(settings: Settings) -> Heartbeat:
    """That of a home. `secrets.toml` is read anew when it has changed."""
    return Heartbeat(settings.heartbeat, SecretFile.of(settings).lookup)


async def _pause(seconds: float) -> None:
    """Wait so long; cancelling is how it is ended sooner."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    timer = loop.call_later(max(0.0, seconds), _wake, over)
    try:
        await over
    finally:
        timer.cancel()


def _wake(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


def _about(status: int) -> str | None:
    if 200 <= status < 300:
        return None
    more = "; redirects are not followed" if 300 <= status < 400 else ""
    return f"the answer was {status}{more}"


def _broken(error: Exception, http: Any) -> str:
    """In words of our own: those of libraries may hold parts of the URL."""
    if isinstance(error, http.ConnectError):
        return "no connection can be made"
    if isinstance(error, http.InvalidURL | ValueError):
        return "heartbeat.url cannot be used as it is"
    return f"the connection broke ({type(error).__name__})"
