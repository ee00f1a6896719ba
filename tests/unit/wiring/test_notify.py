"""What systemd is told, over a socket as it has one; and that nobody who listens is no reason to end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae.wiring.notify import Notifier
from tests.support.virtual import nap, run_virtually


@pytest.fixture(params=["path", "abstract"])
def listening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    name = f"@horae-test-{os.getpid()}-{tmp_path.name}" if request.param == "abstract" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind("\0" + name[1:] if name[0] == "@" else name)
        line.settimeout(5)
        yield line, name


def test_what_is_told_arrives(listening: tuple[socket.socket, str]) -> None:
    line, name = listening
    notifier = Notifier({"NOTIFY_SOCKET": name})
    assert notifier.ready("3 jobs\nREADY=0")
    assert line.recv(1000) == b"READY=1\nSTATUS=3 jobs READY=0", "a status is one line and can say nothing else"
    assert notifier.stopping()
    assert line.recv(1000) == b"STOPPING=1"
    assert notifier.status("next: 09:00")
    assert line.recv(1000) == b"STATUS=next: 09:00"
    assert notifier.feed()
    assert line.recv(1000) == b"WATCHDOG=1"
    assert notifier.status("ü" * 2000)
    assert line.recv(10_000).decode() == "STATUS=" + "ü" * 256
    assert not notifier.status("  ")


@pytest.mark.parametrize("name", [None, "", "@", "/", "relative", "vsock:2:1234", "/nowhere/at/all", "/" + "x" * 300])
def test_nobody_listens_and_nothing_happens(name: str | None) -> None:
    notifier = Notifier({} if name is None else {"NOTIFY_SOCKET": name})
    assert not notifier.ready("it is")
    assert not notifier.feed()


def test_a_socket_that_is_full_is_not_waited_for(listening: tuple[socket.socket, str]) -> None:
    _line, name = listening
    notifier = Notifier({"NOTIFY_SOCKET": name})
    taken = 0
    while notifier.status("x" * 500):
        taken += 1
        assert taken < 100_000
    assert taken > 0


@pytest.mark.parametrize(
    ("env", "interval"),
    [
        ({"WATCHDOG_USEC": "120000000"}, 120.0),
        ({"WATCHDOG_USEC": "120000000", "WATCHDOG_PID": "7"}, 120.0),
        ({"WATCHDOG_USEC": "120000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "²"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_only_by_whom_it_means(env: dict[str, str], interval: float | None) -> None:
    assert Notifier({"NOTIFY_SOCKET": "/x", **env}, pid=7).interval_s == interval
    assert Notifier(env, pid=7).interval_s is None, "without a socket there is nobody to be fed"


def fed(line: socket.socket) -> int:
    """How often it was fed since it was last asked."""
    count, waits = 0, line.gettimeout()
    line.setblocking(False)
    try:
        while line.recv(1000) == b"WATCHDOG=1":
            count += 1
    except BlockingIOError:
        return count
    finally:
        line.settimeout(waits)
    raise AssertionError("something else was told")


def test_it_is_fed_several_times_in_an_interval_while_all_is_well(listening: tuple[socket.socket, str]) -> None:
    line, name = listening
    notifier = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000"})
    well = True

    async def live() -> None:
        nonlocal well
        async with notifier.watched(lambda: well):
            assert fed(line) == 1, "at once: systemd counts from the start"
            await nap(60.0)
            assert 5 <= fed(line) <= 7
            well = False
            await nap(60.0)
            assert fed(line) == 0
            well = True
            await nap(60.0)
            assert fed(line) >= 5
        await nap(60.0)
        assert fed(line) == 0

    run_virtually(live())


def test_a_loop_that_is_stuck_feeds_nothing(listening: tuple[socket.socket, str]) -> None:
    line, name = listening
    notifier = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "3000"})

    async def stuck() -> None:
        async with notifier.watched(lambda: True):
            fed(line)
            line.settimeout(0.05)
            with pytest.raises(TimeoutError):
                line.recv(1000)  # blocks the loop for many intervals

    asyncio.run(stuck())


def test_an_answer_that_is_an_error_is_not_the_end_of_it(listening: tuple[socket.socket, str]) -> None:
    line, name = listening
    notifier = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000"})
    answers = iter([True, None])

    def alive() -> bool:
        if next(answers, True) is None:
            raise RuntimeError("nobody knows")
        return True

    async def live() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with notifier.watched(alive):
            await nap(60.0)
            assert fed(line) >= 5

    run_virtually(live())


def test_without_a_watchdog_nothing_is_fed(listening: tuple[socket.socket, str]) -> None:
    line, name = listening

    async def live() -> None:
        async with Notifier({"NOTIFY_SOCKET": name}).watched(lambda: True):
            await nap(600.0)

    run_virtually(live())
    assert fed(line) == 0
