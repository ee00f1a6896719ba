"""The gateway as a process: it starts, says how it is, stops, is killed, is stuck, and makes good what was left."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.process import TestHome, finish, new_home, running, start, until
from tests.support.shims import shim_of

INSIDE = True
LOG_KEYS = {
    *("run", "occurrence", "message", "stdout", "stderr", "stdout_cut_bytes", "stderr_cut_bytes", "pruned", "activity")
}


def live(home: TestHome, slug: str) -> str:
    """The id of a job's live run, once there is one whose process has been noted."""
    return until(
        lambda: next((run["id"] for run in home.runs(slug, "--state", "running") if run["pid"]), ""), "a live run"
    )


def slow(home: TestHome, name: str = "slow.sh") -> None:
    """A job that runs until its file `go` appears, and says when it began and how it ended."""
    began, go = f'"$HORAE_HOME/{name}.began"', '"$HORAE_HOME/go"'
    home.script(name, f"echo began; echo x >> {began}\nwhile [ ! -e {go} ]; do sleep 0.05; done; echo ended\n")


# ── status


def test_status_says_alive_since_when_next_due_and_how_late(home: TestHome) -> None:
    home.write("fast", schedule="every 1s", script="hi.sh")
    with running(home) as gateway:
        until(lambda: len(home.runs()) >= 2, "two runs")
        answer = home.json("status")
        assert answer["gateway"] == {
            "alive": True,
            "pid": gateway.pid,
            "since": answer["gateway"]["since"],
            "version": "0.1.0",
        }
        assert abs(datetime.fromisoformat(answer["gateway"]["since"]).timestamp() - time.time()) < 60
        assert answer["next_due"].endswith("Z")
        late = answer["lateness_ms"]
        assert 0 <= late["p50"] <= late["p99"] <= late["max"] < 2000
        assert late["count"] >= 2
        assert (answer["waiting"], answer["problems"]) == ([], [])
        until(lambda: home.json("status")["live_runs"] == [], "it rests between two runs")
        said = home.horae("status").out
        assert f"alive, pid {gateway.pid}" in said
        assert "p99" in said
    error = home.error("status", status=5)
    assert error["code"] == "unavailable"
    assert "horae up" in error["hint"]


def test_a_second_gateway_is_told_who_holds_the_home(home: TestHome) -> None:
    with running(home) as gateway:
        error = home.error("up", status=6)
        assert error["code"] == "conflict"
        assert f"pid {gateway.pid}" in error["message"]
        assert error["details"]["holder"]["pid"] == gateway.pid
        assert home.json("status")["gateway"]["pid"] == gateway.pid
    with running(home):
        pass  # and after it has gone the home is free again


def test_two_homes_live_side_by_side(home: TestHome, tmp_path: Path) -> None:
    other = new_home(tmp_path / "an other home")  # with blanks in its path
    with running(home) as first, running(other) as second:
        other.json("add", "every 1h", "--script", "hi.sh", "--name", "There")
        assert other.json("run", "there", "--wait")["run"]["state"] == "completed"
        assert home.jobs() == {}
        assert {home.json("status")["gateway"]["pid"], other.json("status")["gateway"]["pid"]} == {
            first.pid,
            second.pid,
        }


def test_a_home_with_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    folder.mkdir(parents=True)
    home = new_home(folder / "home")
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Deep")
    with running(home):
        assert home.json("status")["gateway"]["alive"]
        assert home.json("run", "deep", "--wait")["run"]["state"] == "completed"
    assert not (home.path / "state" / "gateway.sock").exists()


def test_the_machines_half_is_private(home: TestHome) -> None:
    with running(home):
        state = home.path / "state"
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        assert stat.S_IMODE((state / "gateway.sock").stat().st_mode) == 0o600


def test_what_an_earlier_gateway_left_lying_does_not_matter(home: TestHome) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(home.path / "state" / "gateway.sock"))
    (home.path / "state" / "gateway.lock").write_text('{"pid": 1, "since": "never"}')
    assert home.error("status", status=5)["code"] == "unavailable"
    assert home.json("add", "every 1h", "--script", "hi.sh")["job"]["slug"] == "hi-sh"
    with running(home) as gateway:
        assert home.json("status")["gateway"]["pid"] == gateway.pid


def test_somebody_who_only_looks_at_the_lock_is_no_gateway(home: TestHome) -> None:
    (home.path / "state" / "gateway.lock").write_text("")
    with (home.path / "state" / "gateway.lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        gateway = start(home, ready=False)
        try:
            until(lambda: gateway.process.poll() is None and time.monotonic(), "it begins")
            fcntl.flock(looking, fcntl.LOCK_UN)
            gateway.says("ready")
        finally:
            finish(gateway)


# ── waking


def test_what_people_do_takes_effect_at_once(home: TestHome) -> None:
    """No tick: an order, a new job and an edited file are acted upon within moments."""
    home.write("rare", schedule="every day at 04:00", script="hi.sh")
    with running(home):
        began = time.monotonic()
        assert home.json("run", "rare", "--wait")["run"]["state"] == "completed"
        home.json("add", "in 1s", "--script", "hi.sh", "--name", "Soon")
        until(lambda: home.runs("soon"), "the new job fires", 5)
        home.write("rare", id=home.jobs()["rare"]["id"], schedule="every 1s", script="hi.sh")
        until(lambda: len(home.runs("rare")) >= 2, "the edited job fires", 5)
        assert time.monotonic() - began < 12
        lateness = [run["lateness_s"] for run in home.runs() if run["trigger"] == "schedule"]
        assert max(lateness) < 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may set the clock")
def test_a_clock_that_is_set_to_what_it_was_changes_nothing(home: TestHome) -> None:
    home.write("fast", schedule="every 1s", script="hi.sh")
    with running(home):
        until(lambda: home.runs("fast"), "it fires")
        for _ in range(5):
            time.clock_settime_ns(time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_REALTIME))
        seen = len(home.runs("fast"))
        until(lambda: len(home.runs("fast")) >= seen + 2, "it goes on firing")
        slots = [run["slot"] for run in home.runs("fast")]
        assert len(slots) == len(set(slots))
    assert home.sql("SELECT count(*) FROM journal WHERE what = 'clock_changed'") == [(0,)]


# ── stopping


def test_a_stop_waits_for_live_runs_and_gives_queued_ones_back(home: TestHome) -> None:
    slow(home)
    home.config('parallel = 1\ncommands = ["true"]\n')
    with running(home) as gateway:
        home.json("add", "every 1h", "--script", "slow.sh", "--name", "Slow")
        home.json("add", "every 1h", "--command", "true", "--name", "Queued")
        first = home.json("run", "slow")["run_id"]
        live(home, "slow")
        second = home.json("run", "queued")["run_id"]
        until(lambda: home.runs("queued"), "it is claimed")
        gateway.signal(signal.SIGTERM)
        gateway.says("waiting for")
        assert home.error("status", status=5) if gateway.process.poll() is not None else True
        (home.path / "go").touch()
        assert gateway.ends() == 0
        assert "Traceback" not in gateway.said()
    runs = {run["id"]: run for run in home.runs()}
    assert (runs[first]["state"], runs[first]["outcome"]) == ("completed", "ran")
    assert runs[second]["state"] == "released"
    assert "began\nended\n" in home.json("log", first)["stdout"]
    with running(home):
        done = until(
            lambda: [run for run in home.runs("queued") if run["state"] == "completed"], "the queued one runs after all"
        )
        assert done[0]["attempt"] == 2
        assert [run["state"] for run in home.runs("slow")] == ["completed"]


def test_a_second_stop_ends_live_runs_at_once(home: TestHome) -> None:
    slow(home)
    with running(home) as gateway:
        home.json("add", "every 1h", "--script", "slow.sh", "--name", "Slow")
        run_id = home.json("run", "slow")["run_id"]
        live(home, "slow")
        gateway.signal(signal.SIGTERM)
        gateway.says("waiting for")
        began = time.monotonic()
        gateway.signal(signal.SIGTERM)
        assert gateway.ends(10) == 0
        assert time.monotonic() - began < 4
    run = home.runs()[0]
    assert (run["id"], run["state"], run["outcome"]) == (run_id, "cancelled", "ran")
    assert "stopped" in run["reason"]
    assert [item["state"] for item in run["deliveries"]] == ["delivered"]
    assert home.json("log", run_id)["stdout"] == "began\n"


def test_a_drain_is_bounded_and_ends_what_is_live_where_the_settings_say_so(home: TestHome) -> None:
    slow(home)
    home.config('drain = "1s"\non_stop = "end"\n')
    with running(home) as gateway:
        home.json("add", "every 1h", "--script", "slow.sh", "--name", "Slow")
        home.json("run", "slow")
        live(home, "slow")
        assert gateway.stop() == 0
    run = home.runs()[0]
    assert run["state"] == "cancelled"
    assert "within 1 s" in run["reason"]


# ── killed


def test_a_kill_in_the_middle_of_a_run_is_nothing_to_it_and_it_never_runs_again(home: TestHome) -> None:
    """U11, and a one-shot that was being run does not linger as if it were still to come."""
    slow(home)
    home.write("once", schedule="in 1s", script="slow.sh")
    gateway = start(home)
    try:
        run_id = live(home, "once")
        gateway.kill()
    finally:
        finish(gateway)
    assert home.jobs()["once"]["next_slot"] is None
    with running(home):
        run = home.runs("once")[0]
        assert (run["id"], run["state"]) == (run_id, "running")  # its process is there: neither lost nor done
        adopted = [{"run": run_id, "job": "once"}]
        until(lambda: home.json("status")["live_runs"] == adopted, "the gateway adopts it")
        (home.path / "go").touch()
        run = home.ended(run_id)
        assert (run["state"], run["outcome"], run["reason"]) == ("completed", "ran", "exit status 0")
        assert [item["state"] for item in run["deliveries"]] == ["delivered"]
        home.state_of("once", "completed")
    with running(home):
        pass
    assert [run["state"] for run in home.runs("once")] == ["completed"]
    assert (home.path / "slow.sh.began").read_text() == "x\n"


def test_P4_a_kill_whose_shim_is_gone_too_is_unknown_at_once(home: TestHome) -> None:
    slow(home)
    gateway = start(home)
    try:
        home.json("add", "every 1h", "--script", "slow.sh", "--name", "Slow")
        run_id = home.json("run", "slow")["run_id"]
        live(home, "slow")
        gateway.kill()
        os.kill(shim_of(home.path, run_id), signal.SIGKILL)
    finally:
        finish(gateway)
    with running(home):
        assert home.ended(run_id)["state"] == "unknown"
        home.state_of("slow", "active")
        assert [item["kind"] for item in home.json("status")["waiting"]] == ["unknown"]
        assert "unknown" in str(home.json("doctor", status=1))
        (home.path / "go").touch()
        assert home.json("run", "slow", "--wait")["run"]["state"] == "completed"
    with running(home):
        pass
    assert [run["state"] for run in home.runs("slow")] == ["completed", "unknown"]


def test_a_kill_with_a_queue_runs_each_claim_exactly_once(home: TestHome) -> None:
    """S9: what had been claimed and not begun is due again; what had begun is not."""
    home.config('parallel = 2\ncommands = ["true"]\n')
    home.script("mark.sh", 'echo "$HORAE_JOB_NAME" >> "$HORAE_HOME/marks"\nsleep 0.1\n')
    at = datetime.fromtimestamp(int(time.time()) + 2).astimezone().isoformat()
    for number in range(20):
        home.write(f"job-{number}", name=f"job {number}", schedule=at, script="mark.sh")
    gateway = start(home)
    try:
        until(lambda: home.runs("--state", "completed"), "some have run")
        gateway.kill()
    finally:
        finish(gateway)
    with running(home):
        until(lambda: all(job["state"] == "completed" for job in home.jobs().values()), "all are done")
    marks = Counter((home.path / "marks").read_text().splitlines())
    assert set(marks.values()) == {1}
    unknown = [run["job"] for run in home.runs() if run["state"] == "unknown"]
    assert len(unknown) <= 2
    assert set(marks) | set(unknown) == {f"job {number}" for number in range(20)}
    states = Counter(run["state"] for run in home.runs())
    assert states["completed"] + states["unknown"] == 20
    assert set(states) <= {"completed", "unknown", "released"}
    outcomes = home.sql("SELECT outcome, count(*) FROM occurrence GROUP BY outcome")
    assert outcomes == [("ran", 20)]


# ── stuck


def test_a_gateway_that_hangs_is_called_stuck_within_the_time_out(home: TestHome) -> None:
    home.write("fast", schedule="every 1s", script="hi.sh")
    with running(home) as gateway:
        until(home.runs, "it fires")
        gateway.signal(signal.SIGSTOP)
        began = time.monotonic()
        error = home.error("status", status=5)
        assert time.monotonic() - began < 8
        assert "stuck" in error["message"]
        assert f"pid {gateway.pid}" in error["message"]
        assert error["details"]["gateway"]["alive"] is False
        assert home.json("list")["jobs"][0]["slug"] == "fast"  # looking needs no gateway
        gateway.signal(signal.SIGCONT)
        seen = len(home.runs("--state", "completed"))
        until(lambda: len(home.runs("--state", "completed")) > seen, "it goes on")
        assert home.json("status")["problems"] == []
        slots = [run["slot"] for run in home.runs()]
        assert len(slots) == len(set(slots))


def test_looking_works_the_same_with_and_without_a_gateway(home: TestHome) -> None:
    home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "One")
    home.json("add", "every monday at 9am", "--script", "hi.sh", "--name", "Two", "--paused")
    looks = (
        ("list",),
        ("show", "one"),
        ("next", "one"),
        ("next",),
        ("runs",),
        ("why", "one"),
        ("check",),
        ("version",),
    )
    with running(home):
        home.json("run", "one", "--wait")
        during = [home.json(*words) for words in looks]
    after = [home.json(*words) for words in looks]
    stories = [
        [item.pop("story") for found in each for item in found.get("occurrences", ())] for each in (during, after)
    ]
    assert after == during
    assert stories[0] != stories[1], "the story of a slot to come says that nothing will start it"


def test_a_home_fresh_from_git_has_no_state_and_gets_one(home: TestHome) -> None:
    home.write("kept", script="hi.sh")
    shutil.rmtree(home.path / "state")
    with running(home):
        assert home.jobs()["kept"]["state"] == "active"
        assert stat.S_IMODE((home.path / "state").stat().st_mode) == 0o700


# ── waiting for a run that was ordered


def ordered(home: TestHome, job: str, *words: str) -> subprocess.Popen[str]:
    """`horae run JOB --wait` as a process, once the order is on record."""
    process = subprocess.Popen(
        home.words(*words, "run", job, "--wait"),
        env=home.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: home.sql("SELECT 1 FROM occurrence WHERE trigger = 'manual'"), "it is ordered")
    return process


def test_who_waits_for_a_run_is_told_what_it_waits_for_and_that_it_will_not_come(home: TestHome) -> None:
    home.write("picky", schedule="2099-01-01T09:00", script="hi.sh", runs_on="[gpu]")
    with running(home):
        process = ordered(home, "picky")
        assert process.stderr is not None
        assert process.stderr.readline() == (
            "still waiting for picky: it waits for a gateway with the label: none has gpu (none that is alive has labels)\n"
        )
        home.json("remove", "picky")
        out, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (1, ""), "it is said once"
        assert out == "void  picky  it ended without a run\nreason: the job was removed\n"


def test_who_waits_for_a_run_that_is_blocked_by_damage_is_told_so(home: TestHome) -> None:
    home.write("tides", schedule="2099-01-01T09:00", script="hi.sh")
    home.jobs()
    home.sql_write("UPDATE job SET definition = '{}'")
    with running(home):
        answer = home.json("run", "tides", "--wait", status=1)
    assert answer["run"] is None
    assert answer["occurrence"]["outcome"] == "blocked"
    assert "what is stored of the job is damaged" in answer["occurrence"]["reason"]
    assert set(answer) == LOG_KEYS


def test_who_waits_for_a_run_that_is_tried_again_gets_its_last_attempt(home: TestHome) -> None:
    home.script("second.sh", 'echo "attempt $HORAE_ATTEMPT"; [ "$HORAE_ATTEMPT" -gt 1 ]\n')
    home.write("second", schedule="2099-01-01T09:00", script="second.sh", retries="{max: 1, backoff: 1s}")
    with running(home):
        answer = home.json("run", "second", "--wait")
    assert (answer["run"]["attempt"], answer["message"]) == (2, "attempt 2")
    assert set(answer) == LOG_KEYS
    assert answer["occurrence"]["outcome"] == "ran"


def test_who_waits_for_a_run_is_told_when_the_gateway_is_killed(home: TestHome) -> None:
    home.write("picky", schedule="2099-01-01T09:00", script="hi.sh", runs_on="[gpu]")
    with running(home) as gateway:
        process = ordered(home, "picky", "--json")
        gateway.kill()
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 5, out
    assert any(words in out for words in ("does not answer", "the gateway is gone", "stopped before it answered")), out
