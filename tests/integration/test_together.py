"""Several people and programs at once: commands side by side, a socket that anybody of this user may talk to."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.process import HORAE, TestHome, running, until

CHANGES = (
    ("add", "every day at 05:00", "--script", "hi.sh", "--name", "New"),
    ("edit", "kept", "--schedule", "every monday at 9am"),
    ("pause", "kept", "--reason", "why not"),
    ("pause", "kept"),
    ("resume", "kept"),
    ("skip", "kept"),
    ("undo",),
    ("move", "kept", "next", "--to", "2099-01-01T00:00"),
    ("remove", "new"),
    ("undo",),
)
REFUSALS = (
    ("add", "61 * * * *", "--script", "hi.sh"),
    ("add", "every 1h", "--script", "none.sh"),
    ("edit", "nobody", "--name", "x"),
    ("edit", "kept", "--timezone", "Nowhere"),
    ("skip", "kept", "2026-01-01T00:00"),
    ("undo", "12345"),
    ("run", "nobody"),
)


def plain(value: object, ids: dict[str, str]) -> dict:
    """An answer without what differs from home to home: ids, keys, numbers, and what was said about the gateway."""
    text = json.dumps(value)
    for one, other in ids.items():
        text = text.replace(one, other)
    found = json.loads(text)
    for key in ("warnings", "slots", "entry", "undone"):
        found.pop(key, None)
    for job in found.get("jobs", ()):
        job["entry"] = job["entry"] is not None
    return found | ({"undo": re.sub(r"[0-9]+", "N", found["undo"])} if found.get("undo") else {})


def story(home: TestHome) -> list[object]:
    """A fixed list of changes and refusals; what they answered."""
    kept = home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Kept")["job"]["id"]
    answers: list[object] = []
    ids = {kept: "KEPT", str(home.path): "HOME"}
    for words in (*CHANGES, *REFUSALS):
        answer = home.horae("--json", *words, status=None)
        if words[0] == "add" and answer.status == 0:
            ids[answer.json["job"]["id"]] = "NEW"
        answers.append((answer.status, plain(answer.json, ids)))
    return answers


def test_changes_answer_the_same_with_and_without_a_gateway(home: TestHome, tmp_path: Path) -> None:
    alone = story(home)
    other = TestHome(tmp_path / "other")
    other.horae("init")
    other.script("hi.sh", "echo hi\n")
    other.config((home.path / "config.toml").read_text())
    with running(other):
        assert story(other) == alone
    assert {slug: job["state"] for slug, job in other.jobs().items()} == {
        slug: job["state"] for slug, job in home.jobs().items()
    }
    text = {path.name: path.read_text().split("\n", 2)[2] for path in (home.path / "jobs").iterdir()}
    assert {path.name: path.read_text().split("\n", 2)[2] for path in (other.path / "jobs").iterdir()} == text


@pytest.mark.parametrize("gateway", [True, False])
def test_many_commands_at_once_lose_nothing(home: TestHome, gateway: bool) -> None:
    def story() -> None:
        adding = [
            subprocess.Popen(
                [*HORAE, "--json", "add", "every 1h", "--script", "hi.sh", "--name", "Same name"],
                env=home.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for _ in range(8)
        ]  # fmt: skip
        made = []
        for process in adding:
            out, err = process.communicate(timeout=60)
            assert "Traceback" not in err, err
            assert process.returncode == 0, out
            made.append(json.loads(out)["job"])
        assert {job["id"] for job in home.jobs().values()} == {job["id"] for job in made}
        assert len({job["slug"] for job in made}) == len(made)
        assert len(home.digests()) == len(made)

    if not gateway:
        story()
        return
    with running(home):
        story()


HOSTILE = (
    b"\n",
    b"hello\n",
    b"[]\n",
    b"{}\n",
    b"\xff\xfe\n",
    b'{"verb": 5, "args": []}\n',
    b'{"verb": "add", "args": {}}\n',
    b'{"verb": "nonsense", "args": {}}\n',
    b'{"verb": "__class__", "args": {}}\n',
    b'{"verb": "pause", "args": {"actor": "x", "job": 5, "reason": {}}}\n',
    b'{"verb": "edit", "args": {"actor": "x", "job": "kept", "changes": {"name": {"a": 1}}}}\n',
    b'{"verb": "add", "args": {"actor": "x", "schedule": 5, "fields": 7}}\n',
)


def talk(home: TestHome, sent: bytes) -> dict:
    """What the gateway's socket answers to these bytes."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(home.path / "state" / "gateway.sock"))
        connection.sendall(sent)
        with connection.makefile("rb") as lines:
            return json.loads(lines.readline() or b"{}")


def test_the_socket_survives_whatever_is_sent(home: TestHome) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    with running(home) as gateway:
        for sent in HOSTILE:
            assert "error" in talk(home, sent), sent
        with contextlib.suppress(ConnectionError):  # cut off is as good as refused
            assert "error" in talk(home, b"x" * 3_000_000)
        silent = [socket.socket(socket.AF_UNIX) for _ in range(50)]  # who connect and say nothing
        for connection in silent:
            connection.connect(str(home.path / "state" / "gateway.sock"))
        assert home.json("status")["problems"] == []
        assert home.json("run", "kept", "--wait")["run"]["state"] == "completed"
        began = time.monotonic()
        assert gateway.stop() == 0
        assert time.monotonic() - began < 5
        for connection in silent:
            connection.close()
    assert sorted(home.jobs()) == ["kept"]


def test_a_job_that_is_removed_while_it_runs(home: TestHome) -> None:
    home.script("hold.sh", 'while [ ! -e "$HORAE_HOME/go" ]; do sleep 0.05; done; echo done\n')
    with running(home):
        home.json("add", "every 1h", "--script", "hold.sh", "--name", "Hold")
        run_id = home.json("run", "hold")["run_id"]
        until(lambda: home.runs("--state", "running"), "it runs")
        home.json("remove", "hold")
        assert home.jobs() == {}
        (home.path / "go").touch()
        run = home.ended(run_id)
        assert (run["state"], run["outcome"]) == ("completed", "ran")
        assert home.json("log", run_id)["message"] == "done"
        home.json("undo")
        assert home.jobs()["hold"]["state"] == "active"


def test_a_new_home_with_examples_shows_work_within_ten_seconds(tmp_path: Path) -> None:
    home = TestHome(tmp_path / "fresh")
    home.horae("init", "--example")
    jobs = home.jobs()
    assert sorted(jobs) == ["heartbeat", "watchdog"]
    assert {job["state"] for job in jobs.values()} == {"active"}
    assert home.json("check")["ok"]
    with running(home) as gateway:
        said = gateway.says("heartbeat  completed", 10)
        assert "alive on" in said
        assert str(home.path) in said
        assert "horae.log" in said
    assert "heartbeat  completed" in (home.path / "state" / "horae.log").read_text()
