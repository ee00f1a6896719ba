"""What do stored jobs cost while nothing is due? With 1,000, 10,000 and 100,000 real job files.

- `cold`: exec until "ready", for the first start, which reads every file, and for the next, with nothing changed
- `rest`: CPU over a window, as a share of one core, and proportional memory (PSS), after each of the two starts
- `page`, `create`: `horae list --limit 50` and `horae add`, as whole processes, with the gateway up and down; beside
  them a bare `python -c pass`, and the same create over the gateway's socket, without a process

Nothing comes due meanwhile. `monthly` schedules are spread over the minutes of all days but those around today; one
in two jobs shares its schedule with others at 100,000. `yearly` ones are in one month, half a year ahead: it takes more
work and more memory to find their next slot. A create adds a job, so the number of jobs grows by a few.
"""

from __future__ import annotations

import argparse
import subprocess
import time

from common import calm, cpu_seconds, median, memory_mib, peak_mib, percentile, record, run_part, timed
from house import PYTHON, House

from horae.control.client import ask as ask_gateway

PAGE = ("list", "--limit", "50")


def fill(house, count, kind):
    """Real files; seconds."""
    start = time.perf_counter()
    (house.scripts / "s.sh").write_text("true\n", encoding="utf-8")
    today, month = time.gmtime().tm_mday, (time.gmtime().tm_mon + 5) % 12 + 1
    days = [day for day in range(1, 29) if abs(day - today) > 2 and (today < 27 or day > 3)]
    for i in range(count):
        day = days[i // 1440 % len(days)]
        house.job(i, f"{i % 60} {i // 60 % 24} {day} {'*' if kind == 'monthly' else month} *", "script: s.sh")
    return time.perf_counter() - start


def at_rest(house, count, start, window, kind):
    """CPU and memory of a gateway with nothing to do, from two seconds after its start."""
    time.sleep(2 + count / 20_000)
    cpu, begin = cpu_seconds(house.pid), time.monotonic()
    time.sleep(window)
    cpu, took = cpu_seconds(house.pid) - cpu, time.monotonic() - begin
    memory = {"pss_mib": memory_mib(house.pid), "peak_mib": peak_mib(house.pid)}
    record(
        "rest",
        "rest",
        n=count,
        kind=kind,
        start=start,
        window_s=took,
        cpu_s=cpu,
        cpu_percent=cpu / took * 100,
        **memory,
    )


def spread(took):
    return {"median_ms": median(took) * 1e3, "p90_ms": percentile(took, 90) * 1e3, "rounds": len(took)}


def commands(house, count, gateway, rounds):
    """The first page, and one new job, as whole processes."""
    number = iter(range(10**6))

    def create():
        return house.argv("add", "0 3 1 6 *", "--name", f"new {gateway} {next(number)}", "--script", "s.sh")

    took = {"bare": [], "page": [], "create": []}
    timed(house.argv(*PAGE), env=house.env, timeout=300)
    calm()
    for _ in range(rounds):
        took["bare"].append(timed([PYTHON, "-c", "pass"], env=house.env))
        took["page"].append(timed(house.argv(*PAGE), env=house.env, timeout=300))
        took["create"].append(timed(create(), env=house.env, timeout=300))
    for what, values in took.items():
        record("rest", what, n=count, gateway=gateway, **spread(values))


def over_socket(house, count, rounds):
    """Creating a job by asking the gateway directly: what the gateway itself needs."""
    took = []
    for i in range(rounds):
        fields = {"name": f"asked {i}", "script": "s.sh", "agent": False}
        start = time.perf_counter()
        ask_gateway(str(house.path), "add", {"actor": "bench", "schedule": "0 3 1 6 *", "fields": fields}, 60)
        took.append(time.perf_counter() - start)
    record("rest", "create over the socket", n=count, gateway="up", **spread(took))


def one(count, kind, window, rounds):
    """Everything for one number of jobs."""
    with House("rest") as house:
        record("rest", "fill", n=count, kind=kind, seconds=fill(house, count, kind))
        record("rest", "cold", n=count, kind=kind, start="first", seconds=house.up(timeout=600))
        at_rest(house, count, "first", window, kind)
        if kind == "yearly":
            return
        record("rest", "stop", n=count, seconds=house.down())
        for _ in range(3):
            record("rest", "cold", n=count, start="again", seconds=house.up(timeout=600))
            house.down()
        record("rest", "cold", n=count, start="again", seconds=house.up(timeout=600))
        at_rest(house, count, "again", window, kind)
        commands(house, count, "up", rounds)
        over_socket(house, count, rounds)
        record("rest", "after commands", n=count, pss_mib=memory_mib(house.pid), peak_mib=peak_mib(house.pid))
        house.down()
        commands(house, count, "down", rounds)
        record("rest", "disk", n=count, database_mib=(house.path / "state" / "runtime.db").stat().st_size / 2**20)


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--n", default="1000,10000,100000")
    ask.add_argument("--kind", choices=("monthly", "yearly"), default="monthly")
    ask.add_argument("--window", type=float, default=30)
    ask.add_argument("--rounds", type=int, default=10)
    options = ask.parse_args()
    for count in map(int, options.n.split(",")):
        try:
            one(count, options.kind, options.window, options.rounds)
        except (RuntimeError, TimeoutError, subprocess.SubprocessError) as error:
            detail = getattr(error, "stderr", None)
            record("rest", "failed", n=count, error=f"{error} {detail.decode()[-300:] if detail else ''}")


if __name__ == "__main__":
    run_part(main)
