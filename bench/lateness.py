"""How late does a script start? From the due instant to its first instruction, with real job files and `horae up`.

Each script's first instruction is to read the clock: `bash` has it built in (`$EPOCHREALTIME`); `sh` has not, so its
first instruction is to become a program of twenty lines that reads it (`native/stamp.c`), which makes that figure a
little worse than it is. `floor` is the same script started by a bare posix_spawn, with no scheduler: what is left
after subtracting it is Horae's.

- `alone`: one-shots, each due a second after the other, in one gateway at rest: one sample each.
- `burst`: n recurring jobs due at one instant, at the default limit of 16 live runs. Beside the lateness: the time
  until all are settled on the disk, the gateway's CPU with its children, and its memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time

import raw
from common import calm, clean_env, cpu_seconds, memory_mib, peak_mib, percentile, record, run_part, sleep_until, stamps
from house import House, iso, recurring

LEAD_S = 2.5


def scripts(house):
    """Write the scripts; the names of those that this machine can run."""
    (house.scripts / "s.bash").write_text(
        f'#!/bin/bash\necho "$HORAE_JOB_NAME $EPOCHREALTIME" >> {house.runs}\n', encoding="utf-8"
    )
    if (stamp := raw.native("stamp")) is None:
        return ["s.bash"]
    (house.scripts / "s.sh").write_text(f'exec {stamp} {house.runs} "$HORAE_JOB_NAME"\n', encoding="utf-8")
    return ["s.sh", "s.bash"]


def quantiles(late):
    """In milliseconds."""
    named = {f"p{q}_ms": percentile(late, q) * 1e3 for q in (50, 90, 99)} if late else {}
    return {**named, "max_ms": max(late, default=0) * 1e3, "min_ms": min(late, default=0) * 1e3, "samples": len(late)}


def floor(count):
    """The same scripts by a bare posix_spawn, one after the other."""
    with House("floor") as house:
        for name in scripts(house):
            shell = "/bin/sh" if name.endswith(".sh") else "/bin/bash"
            env, late = clean_env(HORAE_JOB_NAME="x"), []
            for _ in range(count):
                start = time.time()
                os.waitpid(os.posix_spawn(shell, [shell, str(house.scripts / name)], env), 0)
                late.append(stamps(house.beside)[-1][1] - start)
            record("lateness", f"floor {name}", **quantiles(late))


def alone(count):
    """`count` one-shots of each script, a second apart."""
    with House("alone") as house:
        kinds = scripts(house)
        first = int(time.time() + LEAD_S + 1)
        for i in range(count * len(kinds)):
            house.job(i, iso(first + i), f"script: {kinds[i % len(kinds)]}")
        house.up()
        cpu = cpu_seconds(house.pid)
        house.wait_settled(count * len(kinds), timeout=count * len(kinds) + 60, poll=0.5)
        cpu = cpu_seconds(house.pid) - cpu
        late = {int(name[1:]): at - (first + int(name[1:])) for name, at in stamps(house.beside)}
        for k, kind in enumerate(kinds):
            mine = [value for i, value in late.items() if i % len(kinds) == k]
            record("lateness", f"alone {kind}", **quantiles(mine), cpu_ms_each=cpu / len(late) * 1e3)


def burst(count, kind):
    """`count` jobs due at one instant."""
    with House("burst") as house:
        if kind not in scripts(house):
            return
        due = int(time.time() + LEAD_S + count / 250 + 1)
        for i in range(count):
            house.job(i, recurring(due), f"script: {kind}")
        house.up()
        if time.time() > due - 0.5:
            raise RuntimeError("the gateway was ready too late; give it more time")
        sleep_until(due - 0.1)
        cpu = cpu_seconds(house.pid)
        sleep_until(due)
        done = house.wait_settled(count, timeout=120)
        cpu = cpu_seconds(house.pid) - cpu
        ran = house.ask("SELECT count(*) FROM occurrence WHERE outcome = 'ran'")[0][0]
        late = [at - due for _, at in stamps(house.beside)]
        record(
            "lateness",
            f"burst {kind}",
            n=count,
            ran=ran,
            **quantiles(late),
            all_recorded_s=done - due,
            per_s=count / (done - due),
            cpu_ms_each=cpu / count * 1e3,
            pss_mib=memory_mib(house.pid),
            peak_mib=peak_mib(house.pid),
        )


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--alone", type=int, default=40, help="one-shots of each kind, a second apart")
    ask.add_argument("--n", default="1,100,1000", help="sizes of a burst")
    ask.add_argument("--rounds", type=int, default=5)
    options = ask.parse_args()
    floor(100)
    if options.alone:
        alone(options.alone)
    for _ in range(options.rounds):
        for count in map(int, options.n.split(",")):
            for kind in ("s.sh", "s.bash"):
                calm()
                try:
                    burst(count, kind)
                except (RuntimeError, TimeoutError, subprocess.TimeoutExpired) as error:
                    record("lateness", f"burst {kind}", n=count, error=str(error))


if __name__ == "__main__":
    run_part(main)
