"""The dashboard as a process beside the gateway: it comes when somebody knocks, and is gone when the gateway is."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from pathlib import Path

import httpx2
import pytest

from tests.support.process import TestHome, running, until
from tests.support.web import Served


def serving(web: Served) -> list[int]:
    """The processes that serve this home."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"--fd" in words and os.fsencode(web.home.path) in words:
                found.append(int(path.parent.name))
    return found


def well(web: Served) -> bool:
    return httpx2.get(f"{web.address}/healthz", timeout=20).text == "ok\n"


def test_nobody_pays_for_it_who_has_no_visitor_and_a_fault_of_it_is_no_outage(web: Served) -> None:
    assert serving(web) == []
    assert well(web)
    (pid,) = serving(web)
    os.kill(pid, signal.SIGTERM)
    until(lambda: pid not in serving(web), "it is gone")
    assert well(web), "the next visitor has it started anew"
    assert serving(web) != [pid]
    assert web.gateway.process.poll() is None


def test_settings_that_were_spoilt_since_are_told_to_whoever_comes_until_they_are_mended(web: Served) -> None:
    file = Path(web.home.path, "config.toml")
    good = file.read_text() if file.exists() else ""
    file.write_text(good + '\nlink = "https://harbour-secret\n')
    for _ in range(4):  # more often than something that ends at once is started anew
        answer = httpx2.get(f"{web.address}/", timeout=20)
        assert answer.status_code == 503
        assert "`horae doctor` on the machine where Horae runs says what is wrong" in answer.text
        assert "harbour" not in answer.text, "nobody is known yet"
    assert "config.toml" in Path(web.home.path, "state", "web.log").read_text()
    assert "config.toml" in web.home.horae("doctor", status=None).out
    file.write_text(good)
    until(lambda: well(web), "what said so has ended, and the next visitor is served")


def test_it_ends_with_a_gateway_that_is_killed(web: Served) -> None:
    assert well(web)
    web.gateway.kill()
    until(lambda: not serving(web), "what serves is gone")


def test_a_stop_waits_for_no_stream(web: Served) -> None:
    with web.api("read").stream("GET", "/api/v1/events") as events:
        assert events.status_code == 200
        begun = time.monotonic()
        assert web.gateway.stop() == 0
        assert time.monotonic() - begun < 5
    assert not serving(web)


def test_a_port_that_another_program_has_costs_only_the_dashboard(home: TestHome) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(home, "--port", str(port)) as gateway:
            assert f"port {port}" in gateway.said()
            refused = home.error("open", "--print", status=5)
            assert "no dashboard is served" in refused["message"]


@pytest.mark.parametrize("words", [("--port", "70000"), ("--port", "-1"), ("--host", "not an address")])
def test_what_is_no_address_is_refused(home: TestHome, words: tuple[str, str]) -> None:
    refused = home.error("web", *words, status=2)
    assert refused["message"].startswith("the ")


def test_other_machines_are_let_in_only_where_somebody_has_a_token(home: TestHome) -> None:
    refused = home.error("web", "--host", "0.0.0.0", "--port", "0", status=4)
    assert "nobody has a token" in refused["message"]
    assert "horae tokens add" in refused["hint"]
    home.config('web = {host = "0.0.0.0", port = 0}\n')
    with running(home, "--port", "0") as gateway:
        assert "nobody has a token" in gateway.said()
        (found,) = [one for one in home.look("doctor")["checks"] if one["check"] == "dashboard"]
        assert not found["ok"]
        home.error("open", "--print", status=5)
    home.json("tokens", "add", "ci")
    with running(home, "--port", "0") as gateway:
        assert "unencrypted" in gateway.said()
        port = home.json("open", "--print")["address"].rpartition(":")[2]
        answer = httpx2.get(f"http://127.0.0.1:{port}/healthz", headers={"host": "somewhere.example"}, timeout=20)
        assert answer.status_code == 421


def test_v6_is_served_too(home: TestHome) -> None:
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    home.config('web = {host = "::1", port = 0}\n')
    with running(home, "--port", "0"):
        address = home.json("open", "--print")["address"]
        assert address.startswith("http://[::1]:")
        assert httpx2.get(f"{address}/healthz", timeout=20).text == "ok\n"
