"""SIGKILL in a burst, restart, and count what the record says against what happened.

Each round has a home of its own: n one-shots due at one instant, each a script that appends one line to a file and then
sleeps 5 ms. The gateway is killed once a random share of the lines is there, a little later at random; in every other
round all that it had started is killed too. It is started again, and when everything is settled (or the wait is over)
each job falls into one of the kinds below. With `--store postgres` two gateways share a database, one of them is killed,
and the other goes on meanwhile. (Where exactly a gateway dies is chosen by `tests/integration/test_kills.py`.)

- right: one line, and the record says that it completed
- unknown: the record says that its end is not known, which is so: it was running when its watcher died
- lost: no line, and no record that says that it may not have run
- doubled: more than one line
- stuck: not settled at the end
- false: recorded as completed, without a line

Only the first two are right. `unknown_ran` and `unknown_not` split the second by whether the line is there.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import sys
import time

import psycopg
from common import end_tree, record, run_part, sleep_until, tree, until
from house import SETTLED, House, iso
from peers.postgres import cluster

SLOTS = "SELECT o.key, j.name, o.state FROM job j LEFT JOIN occurrence o ON o.job_id = j.id"
RUNS = "SELECT key, state FROM run"


class Shared(House):
    """A home whose store is a database that another shares."""

    def __init__(self, name, url):
        super().__init__(name)
        self.url = url
        self.fleet = self.path / "fleet"

    @property
    def env(self):
        return {**super().env, "HORAE_STORE": self.url}

    def __enter__(self):
        super().__enter__()
        for folder in ("jobs", "scripts"):
            (self.fleet / folder).mkdir(parents=True)
        self.jobs, self.scripts = self.fleet / "jobs", self.fleet / "scripts"
        return self

    def ask(self, sql, *values):
        with psycopg.connect(self.url, autocommit=True) as link:
            return link.execute(sql).fetchall()

    def wait_settled(self, count, timeout, poll=0.05):
        until(lambda: self.ask(SETTLED)[0][0] >= count, f"{count} occurrences are settled", timeout, poll)
        return time.time()


@contextlib.contextmanager
def houses(store, number):
    """The home whose gateway is killed, and one beside it where the store is shared."""
    if store == "sqlite":
        with House("kill") as house:
            yield house, None
        return
    server = f"postgresql://{os.environ['BENCH_PG']}"
    name = f"kill_{os.getpid()}_{number}_{time.time_ns() % 10**6}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name}")
        try:
            with Shared("kill", f"{server}/{name}") as house, Shared("beside", f"{server}/{name}") as other:
                yield house, other
        finally:
            link.execute(f"DROP DATABASE {name} WITH (FORCE)")


def lines(house):
    """How often each job's line is there."""
    if not house.runs.exists():
        return collections.Counter()
    return collections.Counter(house.runs.read_text(encoding="utf-8").split())


def round_of(number, count, settle_s, store):
    """One round; the counts."""
    with houses(store, number) as (house, other):
        (house.scripts / "line.sh").write_text(
            f'echo "$HORAE_JOB_NAME" >> {house.runs}\nsleep 0.005\n', encoding="utf-8"
        )
        due = int(time.time() + (1.5 + count / 300 if other is None else 6 + count / 50)) + 1
        for i in range(count):
            house.job(i, iso(due), "script: line.sh")
        if other is not None:
            house.run("apply", str(house.fleet), "--confirm")
            other.up()
        house.up()
        if time.time() > due - 0.1:
            raise RuntimeError("the gateway was ready too late; give it more time")
        sleep_until(due)
        share = random.randrange(int(count * 0.9))
        until(lambda: lines(house).total() >= share, "a share of the burst has run", 30, poll=0.001)
        time.sleep(random.uniform(0, 0.02))
        everything = number % 2 == 1
        started = tree(house.pid)[1:] if everything else []
        house.kill()
        for pid in started:
            end_tree(pid)
        before = lines(house).total()
        restart = house.up()
        back = time.time()
        try:
            settled = house.wait_settled(count, timeout=settle_s) - back
        except TimeoutError:
            settled = None
        counted = judge(house)
        house.down()
        if other is not None:
            other.down()
        return {
            "n": count,
            "store": store,
            "killed": "all" if everything else "gateway",
            "lines_before": before,
            "restart_s": restart,
            "settled_s": settled,
            **counted,
        }


def judge(house):
    """Each job's line count against its record."""
    ran, out, states = lines(house), collections.Counter(), collections.defaultdict(list)
    for key, state in house.ask(RUNS):
        states[key].append(state)
    for key, name, state in house.ask(SLOTS):
        there, runs = ran[name], states[key]
        if there > 1:
            out["doubled"] += 1
        if state != "settled":
            out["stuck"] += 1
        elif "completed" in runs:
            out["right" if there else "false"] += 1
        elif "unknown" in runs:
            out["unknown_ran" if there else "unknown_not"] += 1
        elif not there:
            out["lost"] += 1
        else:
            out["other"] += 1
    kinds = ("right", "unknown_ran", "unknown_not", "lost", "doubled", "stuck", "false", "other")
    return {kind: out[kind] for kind in kinds}


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--n", type=int, default=200)
    ask.add_argument("--rounds", type=int, default=20)
    ask.add_argument("--settle", type=float, default=30)
    ask.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    options = ask.parse_args()
    if options.store == "sqlite":
        rounds(options)
        return
    with cluster() as server:
        if server is None:
            print("PostgreSQL is not installed", file=sys.stderr)
            return
        rounds(options)


def rounds(options):
    """So many that worked; a busy machine may need more than one try for one."""
    done = 0
    for _ in range(options.rounds * 2):
        try:
            record("kill", "round", **round_of(done, options.n, options.settle, options.store))
            done += 1
        except (RuntimeError, TimeoutError) as error:
            record("kill", "not done", n=options.n, store=options.store, error=str(error))
        if done == options.rounds:
            break


if __name__ == "__main__":
    run_part(main)
