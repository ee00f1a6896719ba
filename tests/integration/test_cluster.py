"""Gateways on one database, all sound: who runs what, what people see of it, and from where they may change it."""

from __future__ import annotations

import signal
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from horae.limits import POLL_S
from horae.store.postgresdb import PostgresDb
from tests.support.kill import doomed, end
from tests.support.process import HORAE, TestHome, finish, running, start, until
from tests.support.shared import SharedHome, database, empty_database, shared_home

HOLD = 'echo "begun on $HORAE_HOME"\nwhile [ ! -e {go} ]; do sleep 0.05; done\necho done\n'
AT_ONCE_S = 0.2  # from a word on one machine to what another does about it


@dataclass
class Pair:
    """Two machines with a gateway each, and a home without one."""

    one: SharedHome
    two: SharedHome
    laptop: SharedHome
    go: Path

    def ran_on(self, run_id: str) -> str:
        """The machine of a run that has ended."""
        self.laptop.ended(run_id)
        (host,) = self.laptop.sql(
            "SELECT g.host FROM run r JOIN gateway g ON g.id = r.gateway_id WHERE r.id = ?", run_id
        )
        return str(host[0])

    def add(self, name: str, *words: str, script: str = "where.sh") -> None:
        self.laptop.json("add", "every day at 04:00", "--script", script, "--name", name, *words)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with database() as url:
        one = shared_home(folder / "one", url, host="machine-one", labels=("eu", "gpu"))
        two = shared_home(folder / "two", url, host="machine-two", labels=("us",))
        laptop = shared_home(folder / "laptop", url, host="laptop")
        go = folder / "go"
        laptop.give_scripts(where="echo $HORAE_HOME\n", hold=HOLD.format(go=go))
        with running(one), running(two):
            yield Pair(one, two, laptop, go)


# ── case 4: two gateways, one store


def test_case_4_on_a_file_the_second_gateway_is_refused_with_who_holds_the_home(home: TestHome) -> None:
    with running(home) as first:
        error = home.error("up", status=6)
        assert error["code"] == "conflict"
        assert f"pid {first.pid}" in error["message"]
        assert error["details"]["holder"]["pid"] == first.pid


def test_P2_case_4_two_gateways_start_each_slot_once_also_when_runs_outlast_the_lease(tmp_path: Path) -> None:
    shared_out(tmp_path, for_s=17, lease_s=3, takes_s=7)


@pytest.mark.long
@pytest.mark.timeout(400)
def test_P2_case_4_for_minutes_with_leases_as_they_are(tmp_path: Path) -> None:
    shared_out(tmp_path, for_s=270, lease_s=0, takes_s=80)


def shared_out(folder: Path, *, for_s: float, lease_s: float, takes_s: int) -> None:
    """Two gateways, jobs of every second, one whose runs take so long, and one that runs once."""
    lines = folder / "lines"
    with database() as url:
        homes = [shared_home(folder / name, url, host=name) for name in ("one", "two")]
        line = f'echo "$HORAE_JOB_NAME $HORAE_OCCURRENCE_KEY $HORAE_SLOT" >> {lines}\n'
        homes[0].give_scripts(line=line, long=f"{line}sleep {takes_s}\n")
        began = time.time()
        for name in ("A", "B", "C"):
            homes[0].json("add", "every 1s", "--script", "line.sh", "--name", name)
        homes[0].json("add", f"every {takes_s + 1}s", "--script", "long.sh", "--name", "Long")
        homes[1].json("add", "in 4s", "--script", "line.sh", "--name", "Once")
        gateways = [doomed(home, lease_s=lease_s) for home in homes]
        try:
            time.sleep(max(0.0, began + for_s - time.time()))
            for gateway in gateways:
                gateway.signal(signal.SIGTERM)
            assert [gateway.ends(120) for gateway in gateways] == [0, 0], [gateway.said() for gateway in gateways]
        finally:
            for gateway in gateways:
                end(gateway)
        done = counted(homes[0], lines, {"a": 1, "b": 1, "c": 1, "long": takes_s + 1, "once": 1})
        by = dict(homes[0].sql("SELECT g.host, count(*) FROM run r JOIN gateway g ON g.id = r.gateway_id GROUP BY 1"))
    assert done["once"] == 1
    assert done["long"] >= 2
    assert min(done[slug] for slug in "abc") >= for_s / 2, done
    assert min(by["one"], by["two"]) > 0, f"both have worked: {by}"


def counted(home: SharedHome, lines: Path, every_s: dict[str, int]) -> Counter[str]:
    """Each slot has one row, its program ran once, and that is what the record says. How many of each job ran."""
    ran = Counter(line.split()[1] for line in lines.read_text().splitlines())
    assert set(ran.values()) == {1}, f"a line for each run: {ran.most_common(3)}"
    done: Counter[str] = Counter()
    for slug, step_s in every_s.items():
        rows = home.sql(
            "SELECT o.key, o.slot_at, o.outcome, coalesce(o.span_count, 1) FROM occurrence o JOIN job j ON j.id = o.job_id"
            " WHERE j.slug = ? AND o.state = 'settled' ORDER BY o.slot_at",
            slug,
        )
        covered = [at + place * step_s * 1_000_000 for _, at, _, count in rows for place in range(count)]
        assert covered == [covered[0] + place * step_s * 1_000_000 for place in range(len(covered))], f"{slug}: no row"
        assert {row[0] for row in rows if row[2] == "ran"} == {row[0] for row in rows} & set(ran), slug
        done[slug] = sum(row[2] == "ran" for row in rows)
    states = dict(home.sql("SELECT state, count(*) FROM run GROUP BY state"))
    assert set(states) <= {"completed", "released", "cancelled"}, f"none is unknown while all live: {states}"
    return done


def test_two_gateways_of_one_home_have_places_of_their_own(tmp_path: Path) -> None:
    with database() as url:
        home = shared_home(tmp_path / "home", url, parallel="1")
        home.give_scripts(hold=HOLD.format(go=tmp_path / "go"))
        with running(home), running(home) as second:
            assert sorted(path.name for path in (home.path / "state").glob("*.sock")) == [
                "gateway-2.sock",
                "gateway.sock",
            ]
            for name in ("X", "Y", "Z"):
                home.json("add", "every day at 04:00", "--script", "hold.sh", "--name", name)
            runs = [home.json("run", slug)["run_id"] for slug in ("x", "y", "z")]
            live = until(lambda: _ids(home.runs("--state", "running"), 2), "each runs one")
            for run in live:  # whichever of the two watches it
                words = [*HORAE, "log", run, "--follow"]
                following = subprocess.Popen(words, env=home.environment(), stdout=subprocess.PIPE, text=True)
                assert following.stdout is not None
                assert "begun on" in following.stdout.readline()
                following.terminate()
                following.communicate()
            second.signal(signal.SIGTERM)
            (tmp_path / "go").touch()
            assert {home.ended(run)["state"] for run in live} == {"completed"}
            assert {home.ended(run)["outcome"] for run in runs} == {"ran"}, (
                "what the second had not begun is given back"
            )
            assert second.ends() == 0
            third = start(home)
            assert third.stop() == 0


def _ids(runs: list[dict[str, Any]], count: int) -> list[str] | None:
    return [run["id"] for run in runs] if len(runs) == count else None


# ── where work goes


def test_a_slot_does_not_wait_behind_a_long_run_while_another_gateway_is_free(tmp_path: Path) -> None:
    with database() as url:
        homes = [shared_home(tmp_path / name, url, host=name, parallel="1") for name in ("one", "two")]
        homes[0].give_scripts(hold=HOLD.format(go=tmp_path / "go"))
        with running(homes[0]), running(homes[1]):
            for name in ("X", "Y"):
                homes[0].json("add", "every day at 04:00", "--script", "hold.sh", "--name", name)
                homes[0].json("run", name)
            try:
                until(lambda: _ids(homes[0].runs("--state", "running"), 2), "each runs one", 5)
            finally:
                (tmp_path / "go").touch()


def test_labels_place_jobs(pair: Pair) -> None:
    pair.add("Anywhere")
    pair.add("Gpu", "--runs-on", "gpu")
    pair.add("Both", "--runs-on", "gpu", "--runs-on", "eu")
    pair.add("Us", "--runs-on", "us")
    for slug, host in (("gpu", "machine-one"), ("both", "machine-one"), ("us", "machine-two")):
        runs = [pair.laptop.json("run", slug)["run_id"]]
        pair.laptop.ended(runs[-1])
        runs.append(pair.laptop.json("run", slug)["run_id"])
        assert {pair.ran_on(run) for run in runs} == {host}, slug
    assert pair.ran_on(pair.laptop.json("run", "anywhere")["run_id"]).startswith("machine-")


def test_status_and_doctor_tell_of_labels_that_nobody_has(pair: Pair, tmp_path: Path) -> None:
    pair.add("Rare", "--runs-on", "tpu")
    found = pair.laptop.json("doctor", status=1)
    (finding,) = [check for check in found["checks"] if check["check"] == "labels"]
    assert "rare would wait" in finding["what"]
    assert "none has tpu" in finding["what"]
    assert 'labels = ["tpu"]' in finding["remedy"]
    run = pair.laptop.json("run", "rare")["run_id"]
    problems = until(lambda: pair.laptop.json("status", status=None)["problems"], "status says so")
    assert problems == ["1 due slot waits for a gateway; none has tpu (those that are alive have eu, gpu, us)"]
    assert pair.laptop.horae("status", status=1).out.count("none has tpu") == 1
    third = shared_home(tmp_path / "three", pair.laptop.url, host="machine-three", labels=("tpu",))
    with running(third):
        assert pair.ran_on(run) == "machine-three"
        assert pair.laptop.json("status")["problems"] == []
        assert [
            check for check in pair.laptop.json("doctor", status=None)["checks"] if check["check"] == "labels"
        ] == []
        hosts = {gateway["host"]: gateway["labels"] for gateway in pair.laptop.gateways()}
        assert hosts == {"machine-one": ["eu", "gpu"], "machine-two": ["us"], "machine-three": ["tpu"]}
    pair.laptop.json("remove", "rare")


def test_a_gateway_that_drains_takes_nothing_new_and_lets_its_runs_end(pair: Pair, tmp_path: Path) -> None:
    third = shared_home(tmp_path / "three", pair.laptop.url, host="machine-three", labels=("third",))
    go = tmp_path / "go"
    pair.laptop.give_scripts(held=HOLD.format(go=go))
    pair.add("Held", "--runs-on", "third", script="held.sh")
    pair.add("Meanwhile")
    gateway = start(third)
    try:
        run = pair.laptop.json("run", "held")["run_id"]
        until(lambda: pair.laptop.runs("held", "--state", "running"), "it runs")
        gateway.signal(signal.SIGTERM)
        gateway.says("waiting for 1 live run")
        until(
            lambda: [one["draining"] for one in pair.laptop.gateways() if one["host"] == "machine-three"] == [True],
            "told",
        )
        for _ in range(4):
            meanwhile = pair.laptop.json("run", "meanwhile")["run_id"]
            assert pair.ran_on(meanwhile) in ("machine-one", "machine-two")
        assert gateway.process.poll() is None
        go.touch()
        assert gateway.ends() == 0, gateway.said()
        ended = pair.laptop.ended(run)
        assert (ended["state"], ended["reason"]) == ("completed", "exit status 0")
        assert "machine-three" not in {one["host"] for one in pair.laptop.gateways()}
    finally:
        finish(gateway)
    pair.laptop.json("remove", "held")


# ── words between machines


def test_a_word_on_one_machine_is_heard_on_the_others_at_once(pair: Pair) -> None:
    pair.add("Soon")
    waits: list[float] = []
    for _ in range(7):
        run = pair.laptop.json("run", "soon")["run_id"]
        pair.laptop.ended(run)
        ((ordered, claimed),) = pair.laptop.sql(
            "SELECT o.planned_at, r.claimed_at FROM run r JOIN occurrence o ON o.key = r.key WHERE r.id = ?", run
        )
        waits.append((claimed - ordered) / 1e6)
    assert statistics.median(waits) < AT_ONCE_S, waits


def test_what_nobody_was_told_is_found_by_looking(pair: Pair) -> None:
    pair.add("Untold")
    with mock.patch.object(PostgresDb, "notify"):  # of this process, which gives the order
        run = pair.laptop.json("run", "untold")["run_id"]
    began = time.monotonic()
    pair.laptop.ended(run)
    assert time.monotonic() - began < POLL_S + 3


def test_a_run_is_cancelled_from_any_machine(pair: Pair) -> None:
    pair.add("Held", script="hold.sh")
    for place in (pair.one, pair.two, pair.laptop):
        run = pair.laptop.json("run", "held")["run_id"]
        until(lambda: pair.laptop.runs("held", "--state", "running"), "it runs")
        answer = place.json("cancel", run)
        assert answer["did"] == f"asked run {run} to end"
        ended = pair.laptop.ended(run)
        assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled by ann")
        assert ended["duration_s"] < 4
    error = pair.one.error("cancel", run, status=4)
    assert "only a live one" in error["message"]


# ── the command line, from a home that has no gateway


def test_every_change_can_be_made_where_no_gateway_runs(pair: Pair) -> None:
    laptop = pair.laptop
    made = laptop.json("add", "every day at 05:00", "--script", "where.sh", "--name", "Tides")
    assert made["warnings"] == []
    assert laptop.json("show", "tides")["file"] == "jobs/tides.md"
    assert pair.one.json("edit", "tides", "--schedule", "every day at 06:00")["slots"][0]["slot"][11:16] == "06:00"
    assert laptop.json("pause", "tides", "--reason", "storm")["did"] == "paused tides"
    assert pair.two.jobs()["tides"]["paused"]["reason"] == "storm"
    assert pair.two.json("resume", "tides")["did"] == "resumed tides"
    slots = laptop.json("next", "tides", "-n", "2")["slots"]
    laptop.json("skip", "tides")
    assert pair.one.json("next", "tides", "-n", "1")["slots"][0]["note"] is not None
    laptop.json("undo")
    moved = datetime.fromisoformat(slots[0]["slot"]) + timedelta(hours=1)
    laptop.json("move", "tides", "next", "--to", moved.isoformat())
    assert laptop.json("why", "tides", "next")["occurrences"][0]["due"] == moved.isoformat()
    laptop.json("undo")
    assert laptop.json("run", "tides", "--dry")["problems"] == []
    answer = laptop.json("run", "tides", "--wait", "--with", "x")
    assert answer["run"]["state"] == "completed"
    assert answer["stdout"].strip() in (str(pair.one.path), str(pair.two.path))
    assert laptop.horae("log", answer["run"]["id"], "--follow").out.startswith(answer["stdout"].strip())
    assert laptop.json("runs", "tides")["runs"][0]["id"] == answer["run"]["id"]
    assert {job["slug"] for job in laptop.json("list")["jobs"]} >= {"tides"}
    assert laptop.json("check", "tides")["ok"]
    assert laptop.json("remove", "tides")["undo"]
    assert "tides" not in pair.one.jobs()
    laptop.json("undo")
    assert pair.two.jobs()["tides"]["state"] == "active"
    assert laptop.json("audit", "verify")["ok"]
    pair.one.json("remove", "tides")


def test_people_on_several_machines_at_once_lose_nothing(pair: Pair) -> None:
    words = ("add", "every 1h", "--script", "where.sh", "--name", "Same name")
    homes = [TestHome(home.path, home.env) for home in (pair.one, pair.two, pair.laptop) * 2]
    with ThreadPoolExecutor(len(homes)) as threads:
        made = [answer["job"] for answer in threads.map(lambda home: home.json(*words), homes)]
    assert len({job["slug"] for job in made}) == len(made)
    known = pair.laptop.jobs()
    assert {known[job["slug"]]["id"] for job in made} == {job["id"] for job in made}


def test_what_a_home_without_a_gateway_is_told(pair: Pair) -> None:
    assert "no gateway is running" not in pair.laptop.horae("list").err
    out = pair.laptop.horae("status").out
    assert out.startswith("gateways  2 alive, on a shared database\n")
    assert "machine-one\t" in out
    assert "machine-two\t" in out
    found = {check["check"]: check["what"] for check in pair.laptop.json("doctor", status=None)["checks"]}
    assert "on machine-one, labels eu gpu" in found["gateway"]
    pair.add("Far", script="hold.sh")
    run = pair.laptop.json("run", "far")["run_id"]
    until(lambda: pair.laptop.runs("far", "--state", "running"), "it runs")
    words = [*HORAE, "log", run, "--follow"]
    env = pair.laptop.environment()
    following = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert following.stderr is not None
    assert "no gateway of this home watches it" in following.stderr.readline()
    pair.laptop.json("cancel", run)
    out, _ = following.communicate(timeout=20)
    assert out.startswith("begun on")


def test_files_of_a_home_that_has_just_changed_over_are_told_of(tmp_path: Path) -> None:
    with database() as url:
        home = shared_home(tmp_path / "home", url)
        home.write("tides", script="hi.sh")
        with running(home) as gateway:
            assert f"job files of {home.path} (1) are not read" in gateway.said()
            assert home.jobs() == {}
            applied = home.json("apply", str(home.path), "--confirm")
            assert {step["op"] for step in applied["applied"]} == {"create"}
            assert home.json("run", "tides", "--wait")["stdout"] == "hi\n"
            assert home.json("diff", str(home.path))["same"]
        with running(home) as gateway:
            assert "are not read" not in gateway.said()


# ── a new database


def test_ten_processes_open_an_empty_database_at_once(tmp_path: Path) -> None:
    with empty_database() as url:
        home = shared_home(tmp_path / "home", url)
        gateways = [start(home, ready=False) for _ in range(5)]
        try:
            apart = TestHome(home.path, home.env)
            with ThreadPoolExecutor(5) as threads:
                found = list(threads.map(lambda _: apart.json("list"), range(5)))
            assert found == [{"jobs": [], "cursor": None}] * 5
            for gateway in gateways:
                gateway.says("ready", 60)
            assert len(home.gateways()) == 5
            assert [gateway.stop() for gateway in gateways] == [0] * 5
        finally:
            for gateway in gateways:
                finish(gateway)
        assert home.sql("SELECT count(*) FROM schema_version") == [(1,)]
