"""Horae and what people would pick instead, on the same work in the same run, in interleaved rounds.

- `burst`: n jobs due at one instant. Lateness is from the due instant to the job's own line; `recorded` is until the
  peer's history shows all n complete (where it keeps none: its store and the lines).
- `script`: the same, and each job also runs `/bin/true`: the fair comparison for programs.
- `idle`: n stored jobs, none due: CPU and memory over a window, one list, one create.
- `cli`: a list of 100 and `--help`, as whole processes.

What is not the same work: Horae and Hermes run a bash script for each job; the others call a Python function in their
own process, as `horae-engine` does (see `peer_horae.py`). The order of the peers changes from round to round.
Each step runs in that peer's own interpreter, as a process with a bound.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import common
from common import HERE, WORK, percentile, record
from install import PEERS
from postgres import cluster

# label: (environment under PEERS, None for ours; adapter; variables)
TABLE = {
    "horae": (None, "peer_horae", {}),
    "horae-engine": (None, "peer_horae", {"BENCH_MODE": "engine"}),
    "apscheduler": ("apscheduler", "peer_apscheduler", {}),
    "huey": ("huey", "peer_huey", {}),
    "dbos-sqlite": ("dbos", "peer_dbos", {}),
    "dbos-pg": ("dbos", "peer_dbos", {"BENCH_DB": "pg"}),
    "procrastinate": ("procrastinate", "peer_procrastinate", {"BENCH_DB": "pg"}),
    "hermes": ("hermes", "peer_hermes", {}),
}


class Peer:
    """One run of one peer, in a folder of its own. As a context it ends the server and removes the folder."""

    def __init__(self, label, job="noop", postmaster=None):
        environment, self.adapter, extra = TABLE[label]
        self.label, self.postmaster = label, postmaster if "BENCH_DB" in extra else None
        self.python = str(PEERS / environment / "bin" / "python") if environment else sys.executable
        self.dir = str(WORK / f"{label}-{random.randrange(10**9)}")
        path = f"{HERE}{os.pathsep}{HERE / 'peers'}"
        self.env = common.clean_env(**extra, BENCH_DIR=self.dir, BENCH_JOB=job, PYTHONPATH=path)
        self.server = None

    def __enter__(self):
        os.makedirs(self.dir)
        self.call("init", optional=True)
        return self

    def __exit__(self, *_):
        if self.server:
            common.end_tree(self.server.pid)
            self.server.wait()
        if self.postmaster:
            self.call("clean", optional=True)
        shutil.rmtree(self.dir, ignore_errors=True)

    def argv(self, command, **args):
        words = [f"{key}={value}" for key, value in args.items()]
        return [self.python, str(HERE / "peers" / f"{self.adapter}.py"), command, *words]

    def call(self, command, timeout=300, optional=False, **args):
        """One step; what it printed."""
        done = subprocess.run(
            self.argv(command, **args),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.dir,
            check=False,
        )
        if done.returncode and not (optional and "KeyError" in done.stderr):
            raise RuntimeError(f"{self.label} {command}: {done.stderr[-600:]}")
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}

    def start(self, **args):
        """Its server, until it says that it is ready."""
        with open(f"{self.dir}/serve.log", "wb") as log:
            self.server = subprocess.Popen(
                self.argv("serve", **args), env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir
            )
        common.until(self._ready, f"{self.label} is ready", 120)

    def _ready(self):
        if self.server.poll() is not None:
            raise RuntimeError(f"{self.label}: {Path(self.dir, 'serve.log').read_text(encoding='utf-8')[-600:]}")
        return os.path.exists(f"{self.dir}/ready")

    def cpu(self):
        """Seconds of the server with its children, and of PostgreSQL."""
        return common.cpu_seconds(self.server.pid), common.cpu_seconds(self.postmaster) if self.postmaster else 0


def burst(label, n, job, timeout, postmaster):
    """n jobs due at one instant."""
    common.calm()
    with Peer(label, job, postmaster) as peer:
        lead = 5.0 + n / 250 + (4 if label == "hermes" else 0)
        due = float(int(time.time() + lead) + 1)
        peer.call("fill", n=n, due=due)
        peer.start(**({"due": due} if label == "hermes" else {}))
        if time.time() > due - 0.5:
            raise RuntimeError(f"ready {time.time() - due + 0.5:.1f} s too late")
        waiter = subprocess.Popen(
            peer.argv("wait", n=n, timeout=timeout + due - time.time()),
            env=peer.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=peer.dir,
        )  # fmt: skip
        common.sleep_until(due - 0.05)
        before = peer.cpu()
        out, _ = waiter.communicate(timeout=timeout + 60)
        got = json.loads(out.strip().splitlines()[-1])
        after = peer.cpu()
        late = [at - due for _, at in common.stamps(peer.dir)]
        took, ran = got["at"] - due, max(1, len(late))
        record(
            "peers", "script" if job == "true" else "burst", peer=label, n=n,
            started=len(late), recorded=got["count"],
            p50_ms=_ms(percentile(late, 50)), p99_ms=_ms(percentile(late, 99)), max_ms=_ms(max(late, default=None)),
            recorded_s=took, per_s=got["count"] / took,
            cpu_ms_each=(after[0] - before[0]) / ran * 1e3, pg_cpu_ms_each=(after[1] - before[1]) / ran * 1e3,
            pss_mib=common.memory_mib(peer.server.pid),
        )  # fmt: skip


def _ms(seconds):
    return None if seconds is None else seconds * 1e3


def idle(label, n, window, postmaster):
    """n stored jobs, none due."""
    with Peer(label, postmaster=postmaster) as peer:
        peer.call("fill", n=n, due=int(time.time()) + 10**7, timeout=600)
        if label == "hermes":  # its ticker works once a minute: one tick is its CPU a minute
            tick = peer.call("tick", timeout=300)
            extra = {"cpu_percent": tick["cpu"] / 60 * 100, "pg_cpu_percent": 0, "memory_mib": tick["peak_mib"]}
        else:
            peer.start()
            time.sleep(4 + n / 5000)
            before, start = peer.cpu(), time.monotonic()
            time.sleep(window)
            after, took = peer.cpu(), time.monotonic() - start
            share, pg = ((b - a) / took * 100 for a, b in zip(before, after, strict=True))
            extra = {"cpu_percent": share, "pg_cpu_percent": pg, "memory_mib": common.memory_mib(peer.server.pid)}
        for what in ("list", "create"):
            extra[f"{what}_ms"] = _ms(peer.call(what, timeout=300)["seconds"])
        record("peers", "idle", peer=label, n=n, **extra)


def commands():
    """label: (the peer whose store holds 100 jobs or None, {command: argv}). `{dir}` is the run's folder."""

    def program(environment, name):
        return str(PEERS / environment / "bin" / name)

    horae = [str(Path(sys.executable).parent / "horae"), "--home", "{dir}/home"]
    hermes = program("hermes", "hermes")
    dbos = [program("dbos", "dbos"), "workflow", "list", "--sys-db-url", "sqlite:///{dir}/dbos.db", "--limit", "100"]
    listed = [program("procrastinate", "procrastinate"), "--app", "peer_procrastinate.app", "shell", "list_jobs"]
    return {
        "horae": {"list of 100": [*horae, "list"], "--help": [*horae, "--help"]},
        "hermes": {"list of 100": [hermes, "cron", "list"], "--help": [hermes, "--help"]},
        "dbos-sqlite": {"list of 100": dbos, "--help": [program("dbos", "dbos"), "--help"]},
        "procrastinate": {"list of 100": listed, "--help": [listed[0], "--help"]},
        "huey": {"--help": [program("huey", "huey_consumer"), "--help"]},
    }


def cli(labels, rounds, postmaster):
    """Whole processes, interleaved with a bare Python of the peer's own environment."""
    for label in (label for label in labels if label in commands()):
        with Peer(label, postmaster=postmaster) as peer:
            peer.call("fill", n=100, due=int(time.time()) + 10**7)
            env = {**peer.env, "HERMES_HOME": f"{peer.dir}/home"}
            if label != "procrastinate":
                del env["PYTHONPATH"]
            argvs = {"python -c pass": [peer.python, "-c", "pass"]}
            argvs |= {name: [word.format(dir=peer.dir) for word in argv] for name, argv in commands()[label].items()}
            took = {name: [] for name in argvs}
            for number in range(rounds + 1):
                for name, argv in argvs.items():
                    seconds = common.timed(argv, env=env, cwd=peer.dir)
                    took[name] += [seconds] if number else []  # the first compiles and fills the page cache
            for name, values in took.items():
                record("peers", "cli", peer=label, command=name, median_ms=_ms(common.median(values)), rounds=rounds)


def attempt(what, label, *args, **noted):
    """A peer that fails is a line in the results, not the end of the run."""
    try:
        what(label, *args)
    except (RuntimeError, TimeoutError, subprocess.SubprocessError, json.JSONDecodeError, IndexError) as error:
        text = str(error).replace(str(HERE), ".").replace(str(WORK), "WORK")
        record("peers", "failed", peer=label, **noted, error=text[-500:])


def present(labels, postmaster):
    """The labels that can be measured here; the others are said."""
    found = []
    for label in labels:
        environment, _, extra = TABLE[label]
        if environment and not (PEERS / environment / "bin" / "python").exists():
            record("peers", "skipped", peer=label, why="not installed: run bench/peers/install.py")
        elif "BENCH_DB" in extra and postmaster is None:
            record("peers", "skipped", peer=label, why="PostgreSQL is not on this machine")
        else:
            found.append(label)
    return found


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--what", default="burst,script,idle,cli")
    ask.add_argument("--peer", default=",".join(TABLE))
    ask.add_argument("--n", default="1,100,1000", help="sizes of a burst")
    ask.add_argument("--idle", default="1000,10000", help="stored jobs")
    ask.add_argument("--rounds", type=int, default=3)
    ask.add_argument("--window", type=float, default=20)
    ask.add_argument("--timeout", type=float, default=60, help="of one burst, from its due instant")
    ask.add_argument(
        "--hermes-n", type=int, default=100, help="the largest burst for Hermes, which takes minutes beyond"
    )
    options = ask.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    wanted = options.what.split(",")
    sizes, stored = ([int(n) for n in text.split(",")] for text in (options.n, options.idle))
    with cluster() as postmaster:
        labels = present(options.peer.split(","), postmaster)
        for _ in range(options.rounds):
            for n in sizes if "burst" in wanted else ():
                for label in random.sample(labels, len(labels)):
                    if label != "hermes" or n <= options.hermes_n:
                        attempt(burst, label, n, "noop", options.timeout, postmaster, of="burst", n=n)
            for label in random.sample(labels, len(labels)) if "script" in wanted else ():
                if label != "horae-engine":
                    attempt(burst, label, 200, "true", options.timeout, postmaster, of="script", n=200)
        for n in stored if "idle" in wanted else ():
            for label in labels:
                if label != "horae-engine":
                    attempt(idle, label, n, options.window, postmaster, of="idle", n=n)
        if "cli" in wanted:
            cli(labels, 10, postmaster)


if __name__ == "__main__":
    common.run_part(main)
