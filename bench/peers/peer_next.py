"""Reading a schedule and finding its next slot, with the library that `lib` names. `lines` holds cron lines and RRULEs.

Each library is used as its own documentation says. cronsim and croniter are iterators: to ask from another instant is
to read the line again. dateutil takes the equal RRULE with naive times, from a start on the day of the question, which
is the best case for it. `check` answers with what is due, `time` with microseconds.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import common

BASE = datetime(2026, 6, 1, 10, 20, 30, tzinfo=UTC).replace(tzinfo=None)  # a wall time on no slot, weeks from a change
TICK = timedelta(microseconds=1)


def forget():
    """Nothing to forget: only Horae keeps what it has read."""


def horae():
    """The whole way of a job: any text to a schedule, and its next slot in UTC."""
    parse_schedule = importlib.import_module("horae.timing.schedule").parse_schedule

    def parse(line, zone):
        return parse_schedule(line["cron"], zone, anchor=BASE.replace(tzinfo=UTC)).set

    def ask(parsed, base):
        return parsed.next_after(base)

    def walk(parsed, base, n):
        return list(islice(parsed.between(base, base.replace(year=base.year + 4000)), n))

    return parse, ask, walk, forget_all


def forget_all():
    """Every cache of the package, that of zone data included."""
    for name, module in list(sys.modules.items()):
        if name.startswith("horae."):
            for member in vars(module).values():
                if hasattr(member, "cache_clear"):
                    member.cache_clear()


def cronsim():
    simulator = importlib.import_module("cronsim").CronSim

    def parse(line, zone):
        return simulator(line["cron"], BASE.replace(tzinfo=ZoneInfo(zone)))

    def ask(parsed, _base):
        return next(parsed)

    def walk(parsed, _base, n):
        return list(islice(parsed, n))

    return parse, ask, walk, forget


def croniter():
    iterator = importlib.import_module("croniter").croniter

    def parse(line, zone):
        return iterator(line["cron"], BASE.replace(tzinfo=ZoneInfo(zone)))

    def ask(parsed, _base):
        return parsed.get_next(datetime)

    def walk(parsed, _base, n):
        return [parsed.get_next(datetime) for _ in range(n)]

    return parse, ask, walk, forget


def apscheduler():
    trigger = importlib.import_module("apscheduler.triggers.cron").CronTrigger

    def parse(line, zone):
        return trigger.from_crontab(line["cron"], timezone=ZoneInfo(zone))

    def ask(parsed, base):
        return parsed.get_next_fire_time(None, base)

    def walk(parsed, base, n):
        found = []
        for _ in range(n):
            base = parsed.get_next_fire_time(None, base + TICK)
            if base is None:
                break
            found.append(base)
        return found

    return parse, ask, walk, forget


def dateutil():
    rrulestr = importlib.import_module("dateutil.rrule").rrulestr

    def parse(line, _zone):
        return rrulestr(line["rrule"])

    def ask(parsed, base):
        return parsed.after(base.replace(tzinfo=None))

    def walk(parsed, base, n):
        return list(parsed.xafter(base.replace(tzinfo=None), n))

    return parse, ask, walk, forget


LIBRARIES = {"horae": horae, "cronsim": cronsim, "croniter": croniter, "apscheduler": apscheduler, "dateutil": dateutil}


def _base(zone):
    return BASE.replace(tzinfo=ZoneInfo(zone))


def _shown(slot, zone):
    """As the zone's clock shows it; a naive one is that already."""
    if slot is None:
        return None
    return (slot.astimezone(ZoneInfo(zone)) if slot.tzinfo else slot).strftime("%Y-%m-%dT%H:%M")


def _load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check(lib, file, zone, walked, n):
    """What is due next after the base for each line, and the last of `n` for the first `walked` ones."""
    parse, ask, walk, _ = LIBRARIES[lib]()
    asked = _load(file)
    nexts = [_shown(ask(parse(line, zone), _base(zone)), zone) for line in asked]
    walks = [walk(parse(line, "UTC"), _base("UTC"), int(n)) for line in asked[: int(walked)]]
    return {"nexts": nexts, "walks": [[len(found), _shown(found[-1], "UTC") if found else None] for found in walks]}


def _each(lines, zone, parse, ask):
    base = _base(zone)
    begin = time.perf_counter()
    for line in lines:
        ask(parse(line, zone), base)
    return (time.perf_counter() - begin) / len(lines) * 1e6


def measure(lib, file, zone, walked, n):
    """Microseconds: a line read and asked, never seen before and again; one slot of `n` in a row."""
    parse, ask, walk, forgotten = LIBRARIES[lib]()
    asked = _load(file)
    _each(asked[:20], zone, parse, ask)  # the code itself is warm
    forgotten()
    cold = _each(asked, zone, parse, ask)
    warm = min(_each(asked, zone, parse, ask) for _ in range(3))
    parsed = [parse(line, "UTC") for line in asked[: int(walked)]]
    base = _base("UTC")
    begin = time.perf_counter()
    total = sum(len(walk(one, base, int(n))) for one in parsed)
    took = time.perf_counter() - begin
    return {"cold_us": cold, "warm_us": warm, "walk_us": took / total * 1e6 if total else None}


def _horae_rrule():
    parse_schedule = importlib.import_module("horae.timing.schedule").parse_schedule

    def ask(text, base):
        slots = parse_schedule(text, "UTC", anchor=base).set
        return slots.next_after(base).replace(tzinfo=None)

    return ask


def _dateutil_rrule():
    rrulestr = importlib.import_module("dateutil.rrule").rrulestr

    def ask(text, base):
        return rrulestr(text.replace(";TZID=UTC", "").replace(" RRULE", "\nRRULE")).after(base.replace(tzinfo=None))

    return ask


def dense(lib, text):
    """An old rule in RFC 5545 text: read, and asked once for the next slot. Milliseconds; the least, where it is quick."""
    ask = {"horae": _horae_rrule, "dateutil": _dateutil_rrule}[lib]()
    base, took, slot = _base("UTC"), [], None
    while sum(took) < 0.05:
        begin = time.perf_counter()
        slot = ask(text, base)
        took.append(time.perf_counter() - begin)
    return {"ms": min(took) * 1e3, "slot": _shown(slot, "UTC")}


if __name__ == "__main__":
    common.adapter_main({"check": check, "time": measure, "dense": dense})
