"""What does the dashboard cost? A home with 10,000 occurrences in view of one month, behind it and as many ahead.

- `visit`: the first page after rest, when no web process runs, beside pages after it and beside bare `python -c pass`
- `memory`: of the gateway before any visitor, with one, and of the web process with 50 watchers
- `page`: each page and what the calendar asks for: server time and weight, beside a file of a few hundred bytes
- `usable`: headless Chromium from the address to a calendar that can be used, beside the page for signing in
- `watch`: 50 clients that watch for changes: from the answer of a change to its news, at each of them

Jobs are daily, at three times each, so that the month is drawn slot by slot as far as a day has room; what has passed is
written as rows, since nobody waits for it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import sqlite3
import threading
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from common import calm, median, memory_mib, percentile, record, run_part, timed, tree, until
from house import PYTHON, House
from playwright.sync_api import sync_playwright

from horae.core.identity import slot_key

PAGES = ("/", "/calendar", "/jobs", "/runs", "/trends", "/health", "/journal")
SMALL = "/static/icon.svg"
HOURS = (1, 9, 17)
GATEWAY = "b3f0a1c2d4e5f607"


def fill(house, jobs, days):
    """Job files, and a past of so many days; how many occurrences it has."""
    (house.scripts / "s.sh").write_text("true\n", encoding="utf-8")
    for index in range(jobs):
        house.job(index, f"{index % 60} {','.join(map(str, HOURS))} * * *", "script: s.sh")
    house.up(timeout=300)
    house.down()
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    occurrences, runs = [], []
    for index in range(jobs):
        job = f"{index:012x}"
        for day in range(1, days + 1):
            for hour in HOURS:
                slot = today - timedelta(days=day) + timedelta(hours=hour, minutes=index % 60)
                at, key = int(slot.timestamp() * 1e6), slot_key(job, slot)
                state = "failed" if (index + day) % 40 == 0 else "completed"
                occurrences.append((key, job, "schedule", at, at, 0, "settled", "ran", 1, at, at))
                run = sha256(key.encode()).hexdigest()[:16]
                runs.append((run, key, job, 1, 1, GATEWAY, state, at, at + 4000, at + 900_000, at, 0.9))
    db = sqlite3.connect(house.path / "state" / "runtime.db")
    with db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.executemany(
            "INSERT OR IGNORE INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, state, outcome, attempts,"
            " planned_at, settled_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            occurrences,
        )
        db.executemany(
            "INSERT OR IGNORE INTO run (id, key, job_id, attempt, token, gateway_id, state, claimed_at, started_at,"
            " finished_at, due_at, wall_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            runs,
        )
    db.close()
    return len(occurrences)


class Site:
    """The dashboard of a house, asked with a token."""

    def __init__(self, house):
        self.house = house
        self.address = until(self._address, "the dashboard has an address", 30)
        self.token = json.loads(house.run("tokens", "add", "bench", "--role", "admin", "--json"))["token"]

    def _address(self):
        return json.loads((self.house.path / "state" / "gateway.lock").read_text(encoding="utf-8") or "{}").get("web")

    def open(self):
        place = urlsplit(self.address)
        return http.client.HTTPConnection(place.hostname, place.port, timeout=60)

    def get(self, path, method="GET", body=None):
        """(seconds, bytes) of one request on a connection of its own."""
        link = self.open()
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/html,application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        start = time.perf_counter()
        link.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        answer = link.getresponse()
        size = len(answer.read())
        took = time.perf_counter() - start
        link.close()
        if answer.status >= 400:
            raise RuntimeError(f"{path}: {answer.status}")
        return took, size

    def process(self):
        """The web process, a child of the gateway; None while there is no visitor."""
        for pid in tree(self.house.pid)[1:]:
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except FileNotFoundError:
                continue
            if b"web" in words:
                return pid
        return None


def months():
    """The stretches that the calendar asks for: a month behind, and one ahead, with the days around them."""
    today = datetime.now(UTC).date()
    return {
        "behind": (today - timedelta(days=31), today),
        "ahead": (today + timedelta(days=1), today + timedelta(days=32)),
    }


def pages(site, rounds):
    """Server time and weight."""
    asked = {path: path for path in PAGES}
    for word, (start, end) in months().items():
        asked[f"calendar, month {word}"] = f"/calendar/events?start={start}&end={end}&view=month"
        asked[f"agenda, all of month {word}"] = f"/api/v1/agenda?start={start}&end={end}&a_day=2000"
    took = {name: [] for name in (SMALL, *asked)}
    size = {}
    for path in asked.values():
        site.get(path)
    calm()
    for _ in range(rounds):
        for name, values in took.items():
            seconds, size[name] = site.get(asked.get(name, name))
            values.append(seconds)
    bare = median(took[SMALL])
    for name, values in took.items():
        told = {
            "median_ms": median(values) * 1e3,
            "p90_ms": percentile(values, 90) * 1e3,
            "ratio": median(values) / bare,
        }
        record("web", "page", page=name, kib=size[name] / 1024, rounds=rounds, **told)


def usable(site, rounds):
    """A real browser, from the address to a calendar whose slots are there. Loopback, nothing kept."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    start, _ = months()["behind"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        took = {"sign-in page": [], "calendar behind, again": [], "trends, again": []}
        for number in range(rounds + 1):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            begin = time.perf_counter()
            page.goto(f"{site.address}/sign-in")
            page.get_by_role("heading").first.wait_for()
            first = time.perf_counter() - begin
            page.goto("about:blank")  # the link differs from where we are by its fragment only
            page.goto(json.loads(site.house.run("open", "--print", "--json"))["url"])
            page.wait_for_url(f"{site.address}/")
            begin = time.perf_counter()
            page.goto(f"{site.address}/calendar?view=month&date={start + timedelta(days=10)}")
            page.locator("#calendar[aria-busy=false] .ec-event").first.wait_for()
            calendar = time.perf_counter() - begin
            begin = time.perf_counter()
            page.goto(f"{site.address}/trends")
            page.locator("[data-chart] canvas").last.wait_for()
            trends = time.perf_counter() - begin
            if number:  # the first round warms the server
                for name, value in zip(took, (first, calendar, trends), strict=True):
                    took[name].append(value)
            page.context.close()
        browser.close()
    bare = median(took["sign-in page"])
    for name, values in took.items():
        told = {"median_ms": median(values) * 1e3, "worst_ms": max(values) * 1e3, "ratio": median(values) / bare}
        record("web", "usable", page=name.removesuffix(", again"), rounds=rounds, **told)


def watch(site, clients, changes):
    """News at many watchers, from the answer to a change until each has it."""
    heard = [[] for _ in range(clients)]
    open_ones, links = [], []

    def listen(index):
        link = site.open()
        links.append(link)
        link.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {site.token}"})
        answer = link.getresponse()
        open_ones.append(index)
        try:
            while line := answer.readline():
                if line.startswith(b"id: "):
                    heard[index].append(time.perf_counter())
        except (OSError, ValueError, AttributeError):
            pass  # it was closed, at the end

    before = memory_mib(site.process())
    threads = [threading.Thread(target=listen, args=(index,), daemon=True) for index in range(clients)]
    for thread in threads:
        thread.start()
    until(lambda: len(open_ones) == clients, "all watch", 60)
    time.sleep(2)
    late, asked = [], []
    for number in range(changes):
        marks = [len(one) for one in heard]
        start = time.perf_counter()
        site.get(f"/api/v1/jobs/{0:012x}/{'pause' if number % 2 == 0 else 'resume'}", "POST", {})
        asked.append(time.perf_counter() - start)
        until(
            lambda marks=marks: all(len(one) > mark for one, mark in zip(heard, marks, strict=True)),
            "news",
            60,
            poll=0.002,
        )
        late += [one[mark] - start for one, mark in zip(heard, marks, strict=True)]
        time.sleep(0.2)
    record("web", "watch", clients=clients, changes=changes, change_ms=median(asked) * 1e3, p50_ms=median(late) * 1e3,
           p99_ms=percentile(late, 99) * 1e3, worst_ms=max(late) * 1e3, ratio=median(late) / median(asked),
           web_mib_before=before, web_mib=memory_mib(site.process()))  # fmt: skip
    for link in links:
        link.sock and link.sock.close()


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--jobs", type=int, default=110)
    ask.add_argument("--days", type=int, default=31)
    ask.add_argument("--rounds", type=int, default=7)
    ask.add_argument("--clients", type=int, default=50)
    ask.add_argument("--changes", type=int, default=20)
    options = ask.parse_args()
    with House("web") as house:
        record("web", "fill", jobs=options.jobs, occurrences=fill(house, options.jobs, options.days))
        house.up(timeout=300)
        site = Site(house)
        time.sleep(3)
        alone = memory_mib(house.pid)
        bare = timed([PYTHON, "-c", "pass"], env=house.env)
        first, _ = site.get("/")
        then = median([site.get("/")[0] for _ in range(5)])
        record("web", "visit", first_ms=first * 1e3, then_ms=then * 1e3, python_ms=bare * 1e3, ratio=first / bare)
        own = memory_mib(site.process())
        record("web", "memory", alone_mib=alone, gateway_and_web_mib=memory_mib(house.pid), web_mib=own,
               ratio=memory_mib(house.pid) / alone)  # fmt: skip
        pages(site, options.rounds)
        usable(site, options.rounds)
        watch(site, options.clients, options.changes)
        house.down()


if __name__ == "__main__":
    run_part(main)
