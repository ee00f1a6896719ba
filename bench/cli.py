"""How long does a command take, as a whole process? Beside a bare `python -c pass` of the same environment.

Every round runs each command once, in a new order, so that a busy moment of the machine falls on all of them. With 100
real job files, the gateway up; and once more with it down, where a command also has to see whether files changed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import time

from common import calm, median, percentile, record, run_part, timed
from house import PYTHON, House

COMMANDS = {
    "list": ["list"],
    "list --json": ["--json", "list"],
    "--help": ["--help"],
    "status": ["status"],
    "next": ["next"],
    "version": ["version"],
}


def measure(house, rounds, names):
    """Wall seconds by command, `rounds` of each."""
    took = {name: [] for name in ("python -c pass", *names)}
    argvs = {"python -c pass": [PYTHON, "-c", "pass"], **{name: house.argv(*COMMANDS[name]) for name in names}}
    for argv in argvs.values():
        timed(argv, env=house.env)  # compiled, and in the page cache
    calm()
    for _ in range(rounds):
        for name in random.sample(list(argvs), len(argvs)):
            took[name].append(timed(argvs[name], env=house.env))
    return took


def report(took, gateway):
    bare = median(took["python -c pass"])
    for name, values in took.items():
        middle = median(values)
        spread = {f"p{q}_ms": percentile(values, q) * 1e3 for q in (10, 90)}
        record("cli", name, gateway=gateway, median_ms=middle * 1e3, **spread, ratio=middle / bare, rounds=len(values))


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--jobs", type=int, default=100)
    ask.add_argument("--rounds", type=int, default=40)
    options = ask.parse_args()
    with House("cli") as house:
        (house.scripts / "s.sh").write_text("true\n", encoding="utf-8")
        for i in range(options.jobs):
            house.job(i, f"{i % 60} 3 1 1 *", "script: s.sh")
        house.up()
        time.sleep(1)
        try:
            report(measure(house, options.rounds, COMMANDS), "up")
        except subprocess.CalledProcessError as error:
            record("cli", str(error.cmd), error=error.stderr.decode()[-300:])
        house.down()
        report(measure(house, options.rounds, ["list", "--help"]), "down")


if __name__ == "__main__":
    run_part(main)
