"""Gateways that are killed, or stand still past their lease, around a send: no message arrives twice, none stays open."""

from __future__ import annotations

import math
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier

from tests.support.kill import Point, doomed, end, stands
from tests.support.post import KEY, OK
from tests.support.process import Gateway, TestHome, running, until
from tests.support.receivers import HttpServer, Request
from tests.support.shared import database, shared_home

LEASE_S = 3.0
JOBS = ("one", "two", "three", "four")
OPEN = "SELECT count(*) FROM delivery WHERE state IN ('pending', 'sending')"
UNKNOWN = "SELECT j.slug FROM run r JOIN job j ON j.id = r.job_id WHERE r.state = 'unknown'"
STATES = "SELECT run_id, state FROM delivery WHERE target = 'hook' ORDER BY id"


class Watched(list[Request]):
    """What a server has got. Something happens when a request is whole, before it is answered."""

    def __init__(self, happens: Callable[[int], None] = lambda _: None) -> None:
        super().__init__()
        self.happens = happens

    def append(self, request: Request) -> None:
        super().append(request)
        self.happens(len(self))


def platform(server: HttpServer, *, repeats: bool = False) -> str:
    """As a value in config.toml."""
    return (
        f'{{hook = {{kind = "webhook", url = "{server.url}/", secret = "{{HOOK}}", allow_private = true, timeout = "1s", '
        f"safe_to_repeat = {str(repeats).lower()}}}}}"
    )


def secrets(home: TestHome) -> None:
    (home.path / "secrets.toml").write_text(f'HOOK = "{KEY}"\n')
    (home.path / "secrets.toml").chmod(0o600)


def arrived(server: HttpServer) -> Counter[str]:
    """How often the message of each run has arrived."""
    return Counter(Verifier(KEY).verify(one.body, one.headers)["data"]["run"] for one in server.got)


def seen_to(home: TestHome) -> dict[str, str]:
    """The state of each run's message, once none is open."""
    until(lambda: home.sql(OPEN) == [(0,)], "nothing is open", 30)
    return dict(home.sql(STATES))


def ready(home: TestHome, server: HttpServer, *, repeats: bool = False) -> None:
    """Jobs that come due at one instant before long, and whose results go to the server."""
    home.inside = True
    secrets(home)
    home.config(f"platforms = {platform(server, repeats=repeats)}\n")
    home.script("count.sh", 'echo "$HORAE_JOB_NAME" >> "$HORAE_HOME/ran"\necho done\n')
    due = datetime.fromtimestamp(math.ceil(time.time() + 1.5), UTC).isoformat()
    for slug in JOBS:
        home.write(slug, schedule=due, script="count.sh", deliver="[hook]")


@contextmanager
def doomed_at(home: TestHome, point: Point | None) -> Iterator[Gateway]:
    """A gateway that is hit there."""
    gateway = doomed(home, order="" if point is None else point.order)
    try:
        gateway.says("ready")
        yield gateway
    finally:
        end(gateway)


def judged(home: TestHome, server: HttpServer) -> Counter[str]:
    """How the messages ended, after the next gateway; what is confirmed has arrived once, and nothing more often."""
    with running(home):
        until(lambda: len(home.sql(STATES)) == len(JOBS), "each run has ended")
        states = seen_to(home)
    times = arrived(server)
    assert set(states.values()) <= {"delivered", "unknown"}, states
    for run_id, state in states.items():
        assert times[run_id] <= 1, "nothing arrives twice"
        assert state == "unknown" or times[run_id] == 1, "what is confirmed has arrived"
    ran = (home.path / "ran").read_text().split()
    assert len(ran) == len(set(ran)), "no job is run again for a message"
    assert set(JOBS) - set(ran) <= {slug for (slug,) in home.sql(UNKNOWN)}, "what nobody knows of need not have begun"
    return Counter(states.values())


@pytest.mark.parametrize(
    ("step", "when", "unknown", "sent"),
    [
        ("deliver", "within", 0, 4),  # nobody has taken it yet
        ("deliver", "after", 1, 3),
        ("record", "before", 1, 4),
        ("record", "within", 1, 4),
        ("record", "after", None, None),  # the next one may have been taken with it
    ],
)
def test_P5_a_kill_around_a_send_leaves_each_message_confirmed_or_unknown(
    home: TestHome, step: str, when: str, unknown: int | None, sent: int | None
) -> None:
    with HttpServer(answer=OK).running() as server:
        ready(home, server)
        with doomed_at(home, Point(step, when)) as gateway:
            assert gateway.ends() == -signal.SIGKILL
        found = judged(home, server)
        if unknown is not None:
            assert (found["unknown"], len(server.got)) == (unknown, sent)
        lost = [run_id for run_id, state in home.sql(STATES) if state == "unknown"]
        with running(home):
            for run_id in lost:
                home.json("resend", run_id)
            until(lambda: len(arrived(server)) == len(JOBS), "a person has sent the rest anew")
            until(lambda: home.sql(OPEN) == [(0,)], "it is on record")


def killed_by(server: HttpServer, home: TestHome, nth: int) -> None:
    """The gateway is killed when that request is there and has no answer."""
    with doomed_at(home, None) as gateway:
        server.got = Watched(lambda count: os.kill(gateway.pid, signal.SIGKILL) if count == nth else None)
        assert gateway.ends() == -signal.SIGKILL


def test_P5_a_kill_while_a_message_is_on_the_wire_makes_it_unknown(home: TestHome) -> None:
    with HttpServer(answer=OK).running() as server:
        ready(home, server)
        killed_by(server, home, 2)
        assert judged(home, server) == {"delivered": 3, "unknown": 1}
        second = Verifier(KEY).verify(server.got[1].body, server.got[1].headers)["data"]["run"]
        assert dict(home.sql(STATES))[second] == "unknown"
        reason = next(one for run in home.runs() for one in run["deliveries"] if one["state"] == "unknown")["reason"]
        assert "the gateway ended while it was being sent" in reason


def test_where_a_repetition_does_no_harm_it_is_sent_again_under_the_same_id(home: TestHome) -> None:
    with HttpServer(answer=OK).running() as server:
        ready(home, server, repeats=True)
        killed_by(server, home, 2)
        with running(home):
            until(lambda: len(home.sql(STATES)) == len(JOBS), "each run has ended")
            assert set(seen_to(home).values()) == {"delivered"}
        assert sorted(arrived(server).values()) == [1, 1, 1, 2]
        assert len({one.headers["webhook-id"] for one in server.got}) == 4


# ── gateways that share a store


@pytest.mark.parametrize("repeats", [False, True], ids=["once", "repeatable"])
def test_P3_P5_a_gateway_that_stood_still_before_a_send_does_not_send(tmp_path: Path, repeats: bool) -> None:
    with ExitStack() as stack:
        url, server = stack.enter_context(database()), stack.enter_context(HttpServer(answer=OK).running())
        one, two = (
            shared_home(tmp_path / name, url, host=name, platforms=platform(server, repeats=repeats))
            for name in ("one", "two")
        )
        for home in (one, two):
            secrets(home)
        one.give_scripts(hi="echo hi\n")
        one.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Tides", "--deliver", "hook")

        def up(home: TestHome, order: str = "") -> Gateway:
            gateway = doomed(home, lease_s=LEASE_S, order=order)
            stack.callback(end, gateway)
            gateway.says("ready")
            return gateway

        first = up(one, Point("deliver", "after", "SIGSTOP").order)
        run_id = one.json("run", "tides")["run_id"]
        until(lambda: stands(first.pid), "it stands still")
        assert dict(two.sql(STATES)) == {run_id: "sending"}
        assert not server.got
        up(two)
        until(
            lambda: dict(two.sql(STATES))[run_id] in ("unknown", "delivered"), "the other sees to it", 4 * LEASE_S + 10
        )
        expected = {run_id: "delivered" if repeats else "unknown"}
        assert dict(two.sql(STATES)) == expected
        first.signal(signal.SIGCONT)
        first.says("was taken for lost")
        assert one.json("run", "tides", "--wait")["run"]["state"] == "completed", "it works again"
        states = seen_to(one)
        assert states.pop(run_id) == expected[run_id], "what it says late changes nothing"
        assert list(states.values()) == ["delivered"]
        assert arrived(server)[run_id] == int(repeats)


def test_P3_P5_a_gateway_that_stood_still_in_a_send_has_no_say_in_what_became_of_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        url, server = stack.enter_context(database()), stack.enter_context(HttpServer(answer=OK).running())
        one, two = (shared_home(tmp_path / name, url, host=name, platforms=platform(server)) for name in ("one", "two"))
        for home in (one, two):
            secrets(home)
        one.give_scripts(hi="echo hi\n")
        one.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Tides", "--deliver", "hook")
        first = doomed(one, lease_s=LEASE_S)
        stack.callback(end, first)
        server.got = Watched(lambda _: first.signal(signal.SIGSTOP))
        run_id = one.json("run", "tides")["run_id"]
        until(lambda: server.got and stands(first.pid), "it stands still")
        server.got.happens = lambda _: None
        second = doomed(two, lease_s=LEASE_S)
        stack.callback(end, second)
        until(lambda: dict(two.sql(STATES))[run_id] == "unknown", "nobody knows", 4 * LEASE_S + 15)
        first.signal(signal.SIGCONT)
        first.says("was taken for lost")
        assert one.json("run", "tides", "--wait")["run"]["state"] == "completed"
        assert seen_to(one)[run_id] == "unknown", "what it says late changes nothing"
        assert arrived(server)[run_id] == 1
