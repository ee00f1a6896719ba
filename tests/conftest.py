"""What holds for every test: markers by folder, no outside network, no waiting below integration, no silent skips."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).parent
ROOT = TESTS.parent
LEVELS = ("unit", "property", "contract", "simulation", "integration", "docs", "long")
WITHOUT_WAITING = ("unit", "property", "contract", "simulation")

# `bounded` says the same thing every time, so that a red test is the change's fault. `long` looks for what is new.
_slow_machines = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("bounded", max_examples=100, derandomize=True, database=None, deadline=None)
settings.register_profile("long", max_examples=5000, deadline=None, suppress_health_check=_slow_machines)
settings.load_profile("bounded")

for number, usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(number) == signal.SIG_IGN:  # started in the background: the processes of tests would inherit it
        signal.signal(number, usual)


def _levels(path: Path) -> tuple[str, ...]:
    folders = path.relative_to(TESTS).parts[:-1] if path.is_relative_to(TESTS) else ()
    return tuple(level for level in LEVELS if level in folders)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for level in _levels(item.path):
            item.add_marker(level)
    items.sort(key=_turn)


# --- who runs what: tests that wait or take long go first, so that the many short ones fill up what is left at the end


def _turn(item: pytest.Item) -> int:
    if _shared(item.nodeid) is not None:
        return 0
    if item.get_closest_marker("integration") or item.get_closest_marker("docs"):
        return 1
    return 2 if item.path.name in ("test_style.py", "test_tidy.py") or item.get_closest_marker("simulation") else 3


@functools.cache
def _says_module(path: Path) -> bool:
    return 'scope="module"' in path.read_text(encoding="utf-8")


def _shared(nodeid: str) -> str | None:
    """What a test must not be separated from: its file, where tests share a fixture; one browser serves all of web/."""
    path = nodeid.partition("::")[0]
    if path.startswith("tests/integration/web/"):
        return "web"
    return path if _says_module(ROOT / path) else None


class _Scheduling(LoadScopeScheduling):
    """One test at a time to whichever worker is free, except what belongs together.

    Not `--dist loadgroup`: its groups are written into a test's id, which pytest 9 does not let xdist 3.8 do, so that
    each worker would set up what a file's tests share.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _shared(nodeid) or nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    config.option.loadscopereorder = False  # the order is that of `_turn`
    return _Scheduling(config, log)


# --- a skip may be convenient at home; in CI a missing server is an error


def _as_failure(report: pytest.TestReport | pytest.CollectReport):
    expected = hasattr(report, "wasxfail")
    if report.skipped and not expected and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: {reason}\nWith CI=true nothing is skipped: install what is missing."
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _as_failure((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _as_failure((yield))


# --- no test talks to the outside


def _is_outside(address: object) -> bool:
    if not isinstance(address, tuple) or not address:
        return False  # a Unix socket, or netlink
    host = address[0].decode() if isinstance(address[0], bytes) else str(address[0])
    if host in ("", "localhost"):
        return False
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return True


@pytest.fixture(autouse=True, scope="session")
def _no_outside():
    def guarded(method):
        def call(self, *args):
            if self.family in (socket.AF_INET, socket.AF_INET6) and _is_outside(args[-1]):
                self.close()  # or its warning falls on another test
                pytest.fail(f"a test wants to reach {args[-1]}: only this machine is allowed")
            return method(self, *args)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
        yield


# --- no test below integration waits for real: time is an argument, and events are awaited


def _asked_by_us(depth: int = 2) -> bool:
    """The standard library may sleep, for example in `Popen.wait(timeout=…)`; our code and our tests may not."""
    asker = Path(sys._getframe(depth).f_code.co_filename)
    return asker.is_relative_to(ROOT) and not asker.is_relative_to(ROOT / ".venv")


@pytest.fixture(autouse=True)
def _no_waiting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not set(_levels(request.path)) & set(WITHOUT_WAITING):
        return
    real_sleep, real_async_sleep = time.sleep, asyncio.sleep

    def no_sleep(seconds: float) -> None:
        if _asked_by_us():
            pytest.fail(f"time.sleep({seconds}) below integration: pass the time in, or wait for the event itself")
        real_sleep(seconds)

    def no_async_sleep(delay: float, result: object = None):
        asked_by_us = _asked_by_us()

        async def sleep() -> object:
            real_loop = type(asyncio.get_running_loop()).__module__.partition(".")[0] in ("asyncio", "uvloop")
            if delay > 0 and real_loop and asked_by_us:
                pytest.fail(f"asyncio.sleep({delay}) on a real loop below integration: use the tests' virtual loop")
            return await real_async_sleep(delay, result)

        return sleep()

    monkeypatch.setattr(time, "sleep", no_sleep)
    monkeypatch.setattr(asyncio, "sleep", no_async_sleep)
