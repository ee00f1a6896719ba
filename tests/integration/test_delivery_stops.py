"""Messages that take their time: a gateway that is stopped meanwhile, and all others that must not wait for them."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from horae.limits import SEND_GRACE_S
from tests.support.post import (
    OK,
    command,
    deliveries,
    hook,
    job,
    post_home,
    run,
    said,
    states,
    through,
)
from tests.support.process import TestHome, running, until
from tests.support.receivers import HttpServer, MailServer

# One of Apprise's modules imports it, when all are loaded
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@pytest.fixture
def home(tmp_path: Path) -> TestHome:
    return post_home(tmp_path / "home")


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """Takes everything, if it is not told otherwise."""
    with HttpServer(answer=OK).running() as made:
        yield made


# ── stopping


def test_a_stop_waits_for_a_message_that_is_being_sent(home: TestHome) -> None:
    home.config(command("slow", 'touch "$HORAE_HOME/began"; while [ ! -e "$HORAE_HOME/go" ]; do sleep 0.05; done; cat'))
    job(home, "tides", "count.sh", "slow")
    with running(home) as gateway:
        run_id = run(home, "tides")
        until((home.path / "began").exists, "it is being sent")
        gateway.signal(signal.SIGTERM)
        gateway.says("stopping")
        with pytest.raises(subprocess.TimeoutExpired):
            gateway.process.wait(0.5)
        (home.path / "go").touch()
        assert gateway.ends() == 0
        assert "Traceback" not in gateway.said()
    assert states(deliveries(home, run_id)) == {"slow": "delivered"}


@pytest.mark.parametrize("kind", ["webhook", "mail", "apprise", "command"])
def test_a_stop_does_not_wait_for_a_target_that_never_answers(home: TestHome, server: HttpServer, kind: str) -> None:
    server.answer, server.then = b"", "hang"
    asleep = threading.Event()
    with MailServer(hang=asleep).running() as mail:
        platforms = {
            "webhook": hook(server, "stuck", "60s"),
            "mail": f'[platforms.stuck]\nkind = "mail"\nhost = "127.0.0.1"\nport = {mail.port}\nsecurity = "none"\n'
            'from = "horae@example.org"\nhome = "ann@example.org"\ntimeout = "60s"\n',
            "apprise": f'[platforms.stuck]\nkind = "apprise"\nurl = "json://127.0.0.1:{server.port}"\ntimeout = "60s"\n',
            "command": command("stuck", 'touch "$HORAE_HOME/began"; echo $$ > "$HORAE_HOME/pid"; exec sleep 60'),
        }
        home.config('drain = "1s"\n' + platforms[kind])
        job(home, "tides", "count.sh", "stuck")
        with running(home) as gateway:
            run_id = run(home, "tides")
            until(lambda: server.got or mail.got or (home.path / "began").exists(), "it is being sent")
            gateway.signal(signal.SIGTERM)
            began = time.monotonic()
            assert gateway.ends() == 0
            assert time.monotonic() - began < 1 + SEND_GRACE_S + 4, gateway.said()
            assert "Traceback" not in gateway.said()
        asleep.set()
        if kind == "command":
            pid = (home.path / "pid").read_text().strip()
            until(lambda: not Path(f"/proc/{pid}").exists(), "its program has ended with it")
    with running(home):
        found = through(home, run_id)["stuck"]
    assert found["state"] == "unknown"
    assert "stopped" in found["reason"] or "ended" in found["reason"]


# ── many at once


def test_two_hundred_results_arrive_in_order_and_once_each(home: TestHome, server: HttpServer) -> None:
    home.config("parallel = 16\n" + hook(server))
    at = datetime.fromtimestamp(int(time.time()) + 4, UTC).isoformat()
    for number in range(200):
        home.write(f"job-{number}", schedule=at, script="count.sh", deliver="[hook]")
    with running(home):
        until(lambda: len(server.got) >= 200, "all arrive", 60)
        until(
            lambda: home.sql("SELECT count(*) FROM delivery WHERE state = 'delivered'") == [(200,)], "all are on record"
        )
    order = [run_id for (run_id,) in home.sql("SELECT run_id FROM delivery ORDER BY id")]
    assert [said(one)["run"] for one in server.got] == order


def test_targets_that_hang_hold_up_neither_runs_nor_whoever_looks(home: TestHome, server: HttpServer) -> None:
    server.answer, server.then = b"", "hang"
    names = [f"stuck{number}" for number in range(8)]
    hanging = [command(name, 'echo x >> "$HORAE_HOME/hanging"; exec sleep 60') for name in names[:7]]
    home.config('drain = "1s"\n' + "".join(hanging) + hook(server, names[7], "60s"))
    job(home, "tides", "count.sh", *names)
    home.write("beat", schedule="every 1s", script="hi.sh", deliver="[local]")
    with running(home) as gateway:
        run(home, "tides")
        marks = home.path / "hanging"
        until(lambda: server.got and marks.exists() and marks.read_text() == "x\n" * 7, "all of them are being sent to")
        seen = {one["id"] for one in home.runs("beat")}
        new = until(
            lambda: (
                found
                if len(found := [one for one in home.runs("beat", "--state", "completed") if one["id"] not in seen]) > 3
                else None
            ),
            "other jobs go on",
        )
        assert max(one["lateness_s"] for one in new) < 0.5
        began = time.monotonic()
        assert home.json("status")["gateway"]["alive"]
        assert time.monotonic() - began < 2
        gateway.signal(signal.SIGTERM)
        began = time.monotonic()
        assert gateway.ends() == 0
        assert time.monotonic() - began < 8
