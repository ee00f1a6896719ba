"""Run measurements: `run.py` lists the parts, `run.py PART… [-- OPTIONS]` runs some, `run.py all` runs all of them.

Each part is a program of its own, which can be called directly, with `--help`. Here each gets a bound on its time, past
which it is ended with all that it started. `--quick` is for trying whether everything works: its figures mean nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from common import HERE, RESULTS, end_tree

# name: (program, what it measures, minutes that it may take, options of --quick)
PARTS = {
    "raw": ("raw.py", "this machine's own limits", 2, ""),
    "lateness": ("lateness.py", "due → first instruction: 1, 100, 1,000 jobs", 12, "--alone 3 --n 1,20 --rounds 1"),
    "spawn": ("spawn.py", "1,000 programs at once, beside a bare spawn loop", 8, "--n 100 --rounds 1"),
    "agent_start": ("agent_start.py", "from an agent's task to its first request", 5, "--rounds 1"),
    "claims": ("claims.py", "durable claims and whole no-op runs a second", 10, "--n 1000 --rounds 1"),
    "burst": ("burst.py", "claims and whole no-op runs a second on both stores", 20, "--n 500 --rounds 1"),
    "deliver": ("deliver.py", "messages a second, durable, beside bare commits", 10, "--n 100 --rounds 1"),
    "scale": ("scale.py", "what a claim, a list and a new job cost beside very many at rest", 60,
              "--sqlite 2000 --postgres 2000 --rounds 1"),
    "slots": ("slots.py", "the next slot of ordinary schedules", 3, "--rounds 1"),
    "timing": ("timing.py", "reading a schedule and its next slot, beside other libraries", 15,
               "--lines 100 --walked 5 --rounds 1"),
    "cli": ("cli.py", "commands beside bare Python", 5, "--rounds 3"),
    "rest": ("rest.py", "1,000 to 100,000 job files at rest", 45, "--n 200 --window 2 --rounds 2"),
    "web": ("web.py", "the dashboard with 10,000 occurrences in view, and 50 watchers", 15,
            "--jobs 10 --rounds 1 --clients 5 --changes 2"),
    "kill": ("kill.py", "SIGKILL in a burst", 40, "--rounds 2"),
    "peers": ("peers/compare.py", "the same work with what people would pick instead", 60,
              "--rounds 1 --n 10 --idle 100 --window 3"),
}  # fmt: skip


def run(name, options, quick):
    """One part, bounded. Its exit status."""
    program, _, minutes, small = PARTS[name]
    words = options or (small.split() if quick else [])
    process = subprocess.Popen([sys.executable, str(HERE / program), *words])
    try:
        return process.wait(minutes * 60)
    except subprocess.TimeoutExpired:
        print(f"{name}: ended after {minutes} minutes", file=sys.stderr)
        return 1
    finally:
        if process.poll() is None:
            stop(process)


def stop(process):
    """Ask it to stop, which removes what it made; past a bound end it with all that it started."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        end_tree(process.pid)
        process.wait()


def main():
    given = sys.argv[1:]
    cut = given.index("--") if "--" in given else len(given)
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("part", nargs="*", metavar="PART")
    ask.add_argument("--quick", action="store_true", help="small sizes, to see that everything works")
    asked = ask.parse_args(given[:cut])
    names = list(PARTS) if "all" in asked.part else asked.part
    if unknown := set(names) - set(PARTS):
        ask.error(f"no such part: {', '.join(sorted(unknown))}")
    if not names:
        for name, (_, what, minutes, _small) in PARTS.items():
            print(f"  {name:10} {what} (at most {minutes} min)")
        print(f"  {'all':10} all of them, into {os.path.relpath(RESULTS)}")
        return 0
    return max([run(name, given[cut + 1 :], asked.quick) for name in names])


if __name__ == "__main__":
    sys.exit(main())
