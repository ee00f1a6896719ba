"""The journal beside a real gateway: it is checked while it grows, survives a kill whole, and tells of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.postgres import take_database
from tests.support.process import TestHome, new_home, running, start, until
from tests.support.servers import server_or_skip

INSIDE = True
HEARD = re.compile("the gateway was last heard of at .*, and none began before ")


def decided(home: TestHome) -> list[dict[str, Any]]:
    return home.json("why", "busy", "--limit", "100")["occurrences"]


def test_a_journal_is_checked_and_exported_while_it_is_written(home: TestHome) -> None:
    for number in range(5):
        home.write(f"busy{number}", schedule="every 1s", script="hi.sh")
    with running(home):
        until(lambda: len(home.runs()) > 5, "runs have ended")
        counts: list[int] = []
        while len(counts) < 3 or counts[-1] == counts[0]:
            answer = home.json("audit", "verify")
            assert answer["ok"] is True, answer
            counts.append(answer["entries"])
            home.json("audit", "export", "--output", str(home.path / "e.json"))
            assert home.json("audit", "verify", "--export", str(home.path / "e.json"))["ok"] is True
        home.json("pause", "--all")
        assert home.json("prune")["pruned"] == {"output": 0, "runs": 0, "journal": 0}
    home.horae("pause", "busy1")  # without the gateway the same chain goes on
    answer = home.json("audit", "verify", "--against", str(home.path / "e.json"))
    assert answer["ok"] is True
    assert [chain["chain"] for chain in answer["chains"]] == ["home"]


def test_after_a_kill_the_journal_is_whole_and_why_tells_of_the_time_between(home: TestHome) -> None:
    home.write("busy", schedule="every 1s", script="hi.sh")
    gateway = start(home)
    until(lambda: len(home.runs()) > 2, "runs have ended")
    gateway.kill()
    killed = time.monotonic()
    assert home.json("audit", "verify")["ok"] is True
    until(lambda: time.monotonic() > killed + 2.5, "two slots have passed")
    with running(home):
        until(  # what came due between was missed, run late, or skipped for a run that the first one left behind
            lambda: any(HEARD.match(line) for item in decided(home) for line in item["story"]),
            "somebody tells of the time without a gateway",
        )
        assert home.json("audit", "verify")["ok"] is True
        home.json("pause", "busy")
    whats = [what for (what,) in home.sql("SELECT what FROM journal WHERE actor = 'gateway'")]
    assert whats.count("gateway_started") == 2
    (detail,) = home.sql("SELECT detail FROM journal WHERE what = 'gateway_stopped'")[0]
    assert json.loads(detail)["pid"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TestHome]:
    """A home whose store is a database that others share."""
    with server_or_skip():
        database = take_database()
    home = new_home(tmp_path / "home")
    home.config(f'store = "{database.url}"\ntimezone = "Europe/Paris"\ncommands = ["true"]\n')
    home.inside = INSIDE
    yield home
    database.give_back()


def test_on_a_shared_database_each_gateway_has_a_chain_and_people_have_one(cluster: TestHome) -> None:
    cluster.horae("add", "every 1s", "--command", "true", "--name", "Busy")
    for _ in range(2):
        with running(cluster):
            count = len(cluster.runs())
            until(lambda n=count: len(cluster.runs("busy", "--state", "completed")) > n, "runs have ended")
            assert cluster.json("audit", "verify")["ok"] is True
    cluster.horae("pause", "busy")
    answer = cluster.json("audit", "verify")
    assert answer["ok"] is True, answer
    names = [chain["chain"] for chain in answer["chains"]]
    assert len(names) == 3
    assert "people" in names
    cluster.json("audit", "export", "--output", str(cluster.path / "e.json"))
    exported = cluster.json("audit", "verify", "--export", str(cluster.path / "e.json"))
    assert (exported["ok"], exported["entries"]) == (True, answer["entries"])
    assert cluster.json("prune")["pruned"] == {"output": 0, "runs": 0, "journal": 0}
    (item, *_) = [each for each in cluster.json("why", "busy")["occurrences"] if each["outcome"] == "ran"]
    assert any(line.startswith("started ") for line in item["story"])
