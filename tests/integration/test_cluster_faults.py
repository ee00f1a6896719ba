"""Gateways on one database when something of it ends: a gateway, a machine, a connection, the server itself."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import psycopg
import pytest

from horae.clock import SystemClock
from tests.support.kill import Point, doomed, end, stands
from tests.support.postgres import Cluster, own_cluster
from tests.support.process import Gateway, TestHome, finish, start, until
from tests.support.servers import server_or_skip
from tests.support.shared import SharedHome, database, shared_home

LEASE_S = 3.0
HOLD = 'echo "$HORAE_RUN_ID" >> {lines}\nwhile [ ! -e {go} ]; do sleep 0.05; done\necho done\n'
LINE = 'echo "$HORAE_RUN_ID $HORAE_OCCURRENCE_KEY" >> {lines}\n'


@dataclass
class Machines:
    """Homes on one database, each claiming to be on a machine of its own, with their gateways."""

    folder: Path
    url: str
    homes: dict[str, SharedHome] = field(default_factory=dict)
    gateways: list[Gateway] = field(default_factory=list)

    @property
    def lines(self) -> Path:
        return self.folder / "lines"

    @property
    def go(self) -> Path:
        return self.folder / "go"

    def home(self, name: str, *, host: str | None = None, **keys: str) -> SharedHome:
        home = shared_home(self.folder / name, self.url, labels=(name,), host=host or name, **keys)
        if not self.homes:
            home.give_scripts(hold=HOLD.format(lines=self.lines, go=self.go), line=LINE.format(lines=self.lines))
        self.homes[name] = home
        return home

    def up(self, home: SharedHome, how: Callable[[SharedHome], Gateway] = start) -> Gateway:
        gateway = how(home)
        self.gateways.append(gateway)
        return gateway

    def ran(self) -> Counter[str]:
        """How often each run's line is there."""
        text = self.lines.read_text(encoding="ascii") if self.lines.exists() else ""
        return Counter(line.split()[0] for line in text.splitlines())


@contextmanager
def machines(folder: Path, url: str) -> Iterator[Machines]:
    made = Machines(folder, url)
    try:
        yield made
    finally:
        made.go.touch()
        for gateway in made.gateways:
            (finish if gateway.process.stdin is None else end)(gateway)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Machines]:
    with database() as url, machines(tmp_path, url) as made:
        yield made


def held(home: SharedHome, on: str) -> str:
    """A run that goes on until it is let go, on the machine with that label; returns its id."""
    home.json("add", "every day at 04:00", "--script", "hold.sh", "--name", f"Held {on}", "--runs-on", on)
    run = home.json("run", f"held-{on}")["run_id"]
    until(lambda: [one for one in home.runs("--state", "running") if one["id"] == run and one["pid"]], "it runs")
    return str(run)


def decisions(home: SharedHome) -> list[tuple[str, str]]:
    """What was decided about gateways, in the order of the journal."""
    rows = home.sql("SELECT what, detail FROM journal WHERE what LIKE 'gateway%' ORDER BY seq")
    return [(what, detail) for what, detail in rows]


# ── a gateway ends


def test_P4_a_gateway_that_is_killed_is_made_good_by_another_on_the_same_machine_without_waiting(
    place: Machines,
) -> None:
    one, two = place.home("one", host="same"), place.home("two", host="same")
    first, _ = (place.up(home, lambda home: doomed(home, lease_s=9)) for home in (one, two))  # looked at every three
    run = held(one, "one")
    first.kill()
    began = time.monotonic()
    until(lambda: "gateway_lost" in dict(decisions(two)), "it is noticed")
    assert time.monotonic() - began < 5, "long before its lease ends"
    assert "its process is gone" in dict(decisions(two))["gateway_lost"]
    assert two.runs("held-one")[0]["state"] == "running", "its program goes on, and is waited for"
    place.go.touch()
    ended = two.ended(run)
    assert (ended["state"], ended["outcome"]) == ("completed", "ran")
    assert place.ran()[run] == 1


def test_P3_P4_a_machine_that_vanishes_is_waited_for_and_its_late_word_is_refused(place: Machines) -> None:
    one, two = (place.home(name) for name in ("one", "two"))
    first, _ = (place.up(home, lambda home: doomed(home, lease_s=LEASE_S)) for home in (one, two))
    ends, stays = held(one, "one"), None
    one.give_scripts(stay="sleep 300\n")
    one.json("add", "every day at 04:00", "--script", "stay.sh", "--name", "Stay", "--runs-on", "one")
    stays = one.json("run", "stay")["run_id"]
    until(lambda: [run for run in two.runs("stay") if run["state"] == "running" and run["pid"]], "it runs")
    ((pid,),) = two.sql("SELECT pid FROM run WHERE id = ?", stays)
    first.signal(signal.SIGSTOP)
    until(lambda: stands(first.pid), "it stands still")
    stopped = time.monotonic()
    place.go.touch()  # its program ends well, and nobody is there to see it
    unknown = two.ended(ends)
    assert LEASE_S / 2 < time.monotonic() - stopped < 3 * LEASE_S + 5, "after its lease, and not before"
    assert unknown["state"] == two.ended(stays)["state"] == "unknown"
    assert "its lease ended" in dict(decisions(two))["gateway_lost"]
    first.signal(signal.SIGCONT)
    first.says("was taken for lost")
    until(lambda: not Path(f"/proc/{pid}").exists(), "its program is ended: it must not go on beside what others do")
    run = one.json("run", "held-one", "--wait")["run"]
    assert run["state"] == "completed", "it works again, under the same name"
    assert {two.ended(run)["state"] for run in (ends, stays)} == {"unknown"}, "what it says late changes nothing"
    assert two.ended(ends)["reason"] == unknown["reason"]


def test_P1_P2_what_a_vanished_machine_had_not_begun_is_run_by_another(place: Machines) -> None:
    one, two = place.home("one"), place.home("two")
    dies = Point("start", "before").order
    first = place.up(one, lambda home: doomed(home, lease_s=LEASE_S, order=dies))
    one.json("add", "every day at 04:00", "--script", "line.sh", "--name", "Waits")
    waits = one.json("run", "waits")["run_id"]
    first.ends()
    assert [run["state"] for run in two.runs("waits")] == ["claimed"]
    place.up(two, lambda home: doomed(home, lease_s=LEASE_S))
    ended = until(lambda: two.runs("waits", "--state", "completed"), "it is run elsewhere", 4 * LEASE_S + 10)[0]
    assert (ended["attempt"], ended["key"]) == (2, two.runs("waits")[-1]["key"])
    assert [run["state"] for run in two.runs("waits")] == ["completed", "released"]
    assert place.ran()[waits] == 0
    assert place.ran()[ended["id"]] == 1


def test_runs_that_a_gateway_leaves_behind_when_it_stops_are_kept_for_it(place: Machines) -> None:
    """It had taken them over from another on its machine, so it cannot wait for them; but it can when it is back."""

    def up(home: SharedHome) -> Gateway:
        return place.up(home, lambda home: doomed(home, lease_s=2))

    one, two, far = place.home("one", host="same"), place.home("two", host="same"), place.home("far")
    first, second, _ = up(one), up(two), up(far)
    run = held(one, "one")
    first.kill()
    second.says("ready")
    owner = "SELECT g.host, g.stopped_at IS NULL FROM run r JOIN gateway g ON g.id = r.gateway_id WHERE r.id = ?"
    until(lambda: two.sql("SELECT 1 FROM gateway WHERE lost_at IS NOT NULL"), "it is taken over")
    assert second.stop() == 0
    assert two.sql(owner, run) == [("same", False)]
    time.sleep(3)  # longer than a lease
    assert two.sql(owner, run) == [("same", False)], "nobody elsewhere has taken it"
    up(two)
    until(lambda: two.sql(owner, run) == [("same", True)], "it is adopted again")
    assert two.runs("held-one")[0]["state"] == "running"
    place.go.touch()
    assert two.ended(run)["state"] == "completed"
    assert place.ran()[run] == 1


# ── the database ends


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A server that keeps what it has committed, whatever happens to it."""
    with server_or_skip():
        cluster = own_cluster(durable=True)
    yield cluster
    cluster.remove()


def everything_is_accounted_for(place: Machines, home: SharedHome, slugs: tuple[str, ...]) -> None:
    """One row for each slot, one line for each run that completed, none twice, nothing open or unknown."""
    ran = place.ran()
    assert set(ran.values()) <= {1}, ran.most_common(3)
    for slug in slugs:
        rows = home.sql(
            "SELECT o.slot_at, coalesce(o.span_count, 1) FROM occurrence o JOIN job j ON j.id = o.job_id"
            " WHERE j.slug = ? AND o.state = 'settled' AND o.trigger = 'schedule' ORDER BY o.slot_at",
            slug,
        )
        covered = [at + place * 1_000_000 for at, count in rows for place in range(count)]
        assert covered == [covered[0] + place * 1_000_000 for place in range(len(covered))], (
            f"{slug}: a slot has no row"
        )
    runs = dict(home.sql("SELECT id, state FROM run"))
    assert set(runs.values()) <= {"completed", "released"}, Counter(runs.values())
    assert {run for run, state in runs.items() if state == "completed"} == set(ran)


def work(home: SharedHome, slugs: tuple[str, ...]) -> None:
    for slug in slugs:
        home.json("add", "every 1s", "--script", "line.sh", "--name", slug)


def stopped_well(place: Machines) -> None:
    for gateway in place.gateways:
        gateway.signal(signal.SIGTERM)
    for gateway in place.gateways:
        assert gateway.ends() == 0, gateway.said()
        assert "Traceback" not in gateway.said(), gateway.said()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_P1_P2_gateways_outlast_a_restart_of_the_database(tmp_path: Path, server: Cluster, how: signal.Signals) -> None:
    name = f"restart{int(how)}"
    with psycopg.connect(server.url(), autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name}".encode())
    with machines(tmp_path, server.url(name)) as place:
        homes = [place.home(name) for name in ("one", "two")]
        gateways = [place.up(home) for home in homes]
        slugs = ("a", "b", "c")
        work(homes[0], slugs)
        until(lambda: len(place.ran()) >= 6, "they work")
        server.stop(how)
        error = homes[0].error("list", status=1)
        assert error["code"] == "trouble"
        assert "cannot be reached" in error["message"]
        time.sleep(1.5)
        server.start()
        before = len(place.ran())
        until(lambda: len(place.ran()) >= before + 6, "they work again")
        told = [gateway for gateway in gateways if "trying again until it can" in gateway.said()]
        assert told, "whoever was writing says so"
        for gateway in told:
            gateway.says("can be written again")  # the other one may have done all that work
        assert not [gateway.said() for gateway in gateways if "could not be told" in gateway.said()]
        assert homes[1].json("run", "a", status=None).get("error", {}).get("code") in (None, "refused")
        assert len(homes[0].gateways()) == 2, "both own what they do as before: nobody was taken for lost"
        stopped_well(place)
        everything_is_accounted_for(place, homes[0], slugs)


def test_P1_P2_connections_that_are_cut_lose_nothing(place: Machines) -> None:
    homes = [place.home(name) for name in ("one", "two")]
    for home in homes:
        place.up(home)
    slugs = ("a", "b", "c", "d")
    work(homes[0], slugs)
    until(place.ran, "they work")
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'horae'"
    )
    ended = 0
    for _ in range(25):
        ended += len(homes[0].sql(cut))
        time.sleep(0.17)
    assert ended > 20
    before = len(place.ran())
    until(lambda: len(place.ran()) >= before + 4, "they work again")
    stopped_well(place)
    everything_is_accounted_for(place, homes[0], slugs)


def test_a_gateway_cannot_begin_without_its_database_and_says_so(tmp_path: Path) -> None:
    home = shared_home(tmp_path / "home", f"postgresql://horae@/horae?host={tmp_path}")
    error = TestHome(home.path).error("up", status=1)
    assert "cannot be reached" in error["message"]
    for words in (("list",), ("add", "every 1h", "--command", "true"), ("status",)):
        assert home.error(*words, status=1)["code"] == "trouble"
    found = home.json("doctor", status=1)
    assert found["checks"][0]["check"] == "home"
    assert "cannot be reached" in found["checks"][0]["what"]


def test_whether_a_gateway_lives_is_judged_by_the_databases_clock(place: Machines) -> None:
    """For somebody whose own clock is an hour ahead nobody has vanished."""
    one, two = place.home("one"), place.home("two")
    place.up(one)
    ahead = datetime.now(UTC) + timedelta(hours=1)
    with mock.patch.object(SystemClock, "now", return_value=ahead):
        assert [gateway["alive"] for gateway in two.gateways()] == [True]
