"""SIGKILL in a burst, restart, and count what the record says against what happened.

Each round has a home of its own: n one-shots due at one instant, each a script that appends one line to a file and then
sleeps 5 ms. The gateway is killed once a random share of the lines is there, a little later at random; in every other
round all that it had started is killed too. It is started again, and when everything is settled (or the wait is over)
each job falls into one of these:

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
import random
import time

from common import end_tree, record, run_part, sleep_until, tree, until
from house import House, iso

RECORD = """
SELECT j.name, o.state, (SELECT group_concat(r.state) FROM run r WHERE r.key = o.key)
FROM job j LEFT JOIN occurrence o ON o.job_id = j.id
"""


def lines(house):
    """How often each job's line is there."""
    if not house.runs.exists():
        return collections.Counter()
    return collections.Counter(house.runs.read_text(encoding="utf-8").split())


def round_of(number, count, settle_s):
    """One round; the counts."""
    with House("kill") as house:
        (house.scripts / "line.sh").write_text(
            f'echo "$HORAE_JOB_NAME" >> {house.runs}\nsleep 0.005\n', encoding="utf-8"
        )
        due = int(time.time() + 1.5 + count / 300) + 1
        for i in range(count):
            house.job(i, iso(due), "script: line.sh")
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
        return {
            "n": count,
            "killed": "all" if everything else "gateway",
            "lines_before": before,
            "restart_s": restart,
            "settled_s": settled,
            **counted,
        }


def judge(house):
    """Each job's line count against its record."""
    ran, out = lines(house), collections.Counter()
    for name, state, attempts in house.ask(RECORD):
        there, runs = ran[name], (attempts or "").split(",")
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
    options = ask.parse_args()
    done = 0
    for _ in range(options.rounds * 2):  # a busy machine may need more than one try for a round
        try:
            record("kill", "round", **round_of(done, options.n, options.settle))
            done += 1
        except (RuntimeError, TimeoutError) as error:
            record("kill", "not done", n=options.n, error=str(error))
        if done == options.rounds:
            break


if __name__ == "__main__":
    run_part(main)
