"""Reading a schedule and finding its next slot, beside the libraries that people would use: cronsim, croniter,
APScheduler's CronTrigger, dateutil.

1,000 mixed cron lines from a fixed seed, such as all of them read alike (dateutil gets the equal RRULE). First every
answer is compared; a line on which anybody disagrees stops the measurement. Then, in rounds, each library in a process
of its own, in a new order:

- `cold`: a line that was never read before, and its next slot. Horae's caches are emptied before the first line.
- `warm`: the same lines again, as when a job is looked at again. Only Horae remembers what it has read.
- `walk`: one slot of a thousand in a row, of a line that is read already; in UTC, since at clock changes they differ.
- `dense`: an old rule (every few minutes since 2016) read from RFC 5545 text, and its next slot.

The ratio is that library's time to Horae's: over 1, Horae is faster.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

import common
from common import HERE, WORK, calm, median, record, run_part
from install import PEERS

LIBRARIES = ("horae", "cronsim", "croniter", "apscheduler", "dateutil")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DENSE = (
    "DTSTART;TZID=UTC:20160101T000000 RRULE:FREQ=MINUTELY;INTERVAL=5",
    "DTSTART;TZID=UTC:20160101T000000 RRULE:FREQ=MINUTELY",
    "DTSTART;TZID=UTC:20160101T000000 RRULE:FREQ=MINUTELY;INTERVAL=7;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,10,11,12,13,14,15,16",
)

# ── lines that all of them read alike ───────────────────────────────────────────────────────────────────────────────


def line(draw):
    """A cron line and its RRULE. Names of weekdays, since numbers differ; one day field at most, since joining does."""
    minute, minutes = field(draw, 0, 59)
    hour, hours = field(draw, 0, 23)
    words = [minute, hour, "*", "*", "*"]
    parts = {"BYHOUR": hours, "BYMINUTE": minutes}
    kind = draw.random()
    if kind < 0.25:
        first, last = sorted(draw.sample(range(6), 2))  # Sunday is 0, 6 or 7
        joined = draw.choice("-,")
        chosen = range(first, last + 1) if joined == "-" else (first, last)
        words[4] = f"{WEEKDAYS[first]}{joined}{WEEKDAYS[last]}"
        parts["BYDAY"] = [WEEKDAYS[day][:2].upper() for day in chosen]
    elif kind < 0.5:
        days = sorted(draw.sample(range(1, 29), draw.choice([1, 1, 2, 3])))
        words[2], parts["BYMONTHDAY"] = ",".join(map(str, days)), days
    if draw.random() < 0.2:
        months = sorted(draw.sample(range(1, 13), draw.choice([1, 2, 4])))
        words[3], parts["BYMONTH"] = ",".join(MONTHS[month - 1] for month in months), months
    rule = ";".join(f"{name}={','.join(map(str, values))}" for name, values in parts.items())
    return {"cron": " ".join(words), "rrule": f"DTSTART:20260601T000000\nRRULE:FREQ=DAILY;{rule};BYSECOND=0"}


def field(draw, low, high):
    kind = draw.random()
    if kind < 0.1:
        return "*", list(range(low, high + 1))
    if kind < 0.25:
        step = draw.choice([2, 3, 5, 7, 10, 15])
        return f"*/{step}", list(range(low, high + 1, step))
    if kind < 0.4:
        first, last = sorted(draw.sample(range(low, high + 1), 2))
        return f"{first}-{last}", list(range(first, last + 1))
    values = sorted(draw.sample(range(low, high + 1), draw.choice([1, 1, 1, 2, 3])))
    return ",".join(map(str, values)), values


# ── libraries ───────────────────────────────────────────────────────────────────────────────────────────────────────


def ask(library, command, **args):
    """One step of the adapter, in the library's own interpreter."""
    python = sys.executable if library == "horae" else str(PEERS / library / "bin" / "python")
    argv = [python, str(HERE / "peers" / "peer_next.py"), command, f"lib={library}"]
    argv += [f"{key}={value}" for key, value in args.items()]
    env = common.clean_env(PYTHONPATH=str(HERE), PYTHONTZPATH="")  # the same zone data for all: the wheel's
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"{library} {command}: {done.stderr[-600:]}")
    return json.loads(done.stdout.splitlines()[-1])


def installed():
    found = [name for name in LIBRARIES if name == "horae" or (PEERS / name / "bin" / "python").exists()]
    for name in sorted(set(LIBRARIES) - set(found)):
        print(f"{name} is skipped: `peers/install.py {name}` installs it", file=sys.stderr)
    return found


def agree(libraries, lines, **args):
    """Every library's answers, against Horae's. Stops at the first difference."""
    wanted = ask("horae", "check", **args)
    for library in libraries[1:]:
        found = ask(library, "check", **args)
        for what, given in wanted.items():
            for item, ours, theirs in zip(lines, given, found[what], strict=False):
                if ours != theirs:
                    raise SystemExit(f"{what} of {item['cron']!r}: {library} says {theirs}, horae {ours}")


def measure(libraries, rounds, whats, **args):
    took = {library: [] for library in libraries}
    for _ in range(rounds):
        calm()
        for library in random.sample(libraries, len(libraries)):
            took[library].append(ask(library, "time", **args))
    for what in whats:
        report(
            what, {library: [one[f"{what}_us"] for one in runs] for library, runs in took.items()}, args["zone"], "us"
        )


def report(what, values, zone, unit):
    """A line a library, with how many times Horae's it took, round by round; then the fastest and the slowest peer."""
    ratios = {}
    for library, runs in values.items():
        each = [one / ours for one, ours in zip(runs, values["horae"], strict=True)]
        ratios[library] = median(each)
        spread = {f"least_{unit}": min(runs), f"most_{unit}": max(runs)}
        ratio = {"ratio": ratios[library], "least_ratio": min(each), "most_ratio": max(each)}
        record("timing", what, zone=zone, peer=library, **{f"median_{unit}": median(runs)}, **spread, **ratio)
    peers = sorted((ratio, library) for library, ratio in ratios.items() if library != "horae")
    if peers:
        ends = {"fastest": peers[0][1], "to_fastest": peers[0][0], "slowest": peers[-1][1], "to_slowest": peers[-1][0]}
        record("timing", f"{what}: horae to its peers", zone=zone, **ends)


def dense(libraries, rounds):
    known = [library for library in libraries if library in ("horae", "dateutil")]
    for text in DENSE:
        took = {library: [] for library in known}
        for _ in range(min(2, rounds)):  # one answer takes dateutil up to twenty seconds
            answers = {library: ask(library, "dense", text=text) for library in known}
            if len({answer["slot"] for answer in answers.values()}) != 1:
                raise SystemExit(f"{text}: {answers}")
            for library, answer in answers.items():
                took[library].append(answer["ms"])
        report(f"since 2016: {text.partition('RRULE:FREQ=')[2]}", took, "UTC", "ms")


def main():
    ask_for = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    ask_for.add_argument("--lines", type=int, default=1000)
    ask_for.add_argument("--walked", type=int, default=60, help="lines that are walked")
    ask_for.add_argument("--n", type=int, default=1000, help="slots of a walk")
    ask_for.add_argument("--rounds", type=int, default=5)
    ask_for.add_argument("--seed", type=int, default=1)
    options = ask_for.parse_args()
    libraries = installed()
    draw = random.Random(options.seed)
    lines = [line(draw) for _ in range(options.lines)]
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / "timing-lines.json"
    path.write_text(json.dumps(lines), encoding="utf-8")
    try:
        for zone, walked in (("UTC", options.walked), ("Europe/Berlin", 0)):
            args = {"file": path, "zone": zone, "walked": walked, "n": options.n}
            agree(libraries, lines, **args)
            measure(libraries, options.rounds, ("cold", "warm", *(["walk"] if walked else [])), **args)
        dense(libraries, options.rounds)
    finally:
        path.unlink()


if __name__ == "__main__":
    run_part(main)
