"""How long does the next slot of an ordinary schedule take? Parsed once, asked from 20,000 instants over a year.

Each ask goes to another instant, as the engine's do: none is a repetition of the last. The median of the rounds is one
ask in microseconds; `parse_us` is the whole text to schedule, with caches warm, as when a job is looked at again.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime, timedelta

from common import median, record, run_part

from horae.timing.schedule import parse_schedule

RULES = (
    ("* * * * *", "UTC"),
    ("*/15 * * * *", "Europe/Paris"),
    ("0 9 * * *", "Europe/Paris"),
    ("30 18 * * 1-5", "America/New_York"),
    ("0 7 1 * *", "Asia/Tokyo"),
    ("0 0 29 2 *", "UTC"),
    ("every 90 minutes", "UTC"),
    ("weekdays at 9am", "Europe/Paris"),
    ("every monday and thursday at 18:30", "Europe/Paris"),
)
START = datetime(2026, 1, 1, tzinfo=UTC)
ASKS = 20_000
STEP = timedelta(days=365) / ASKS


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--rounds", type=int, default=5)
    options = ask.parse_args()
    instants = [START + STEP * i for i in range(ASKS)]
    for text, zone in RULES:
        took, parsed = [], []
        for _ in range(options.rounds):
            begin = time.perf_counter()
            for _ in range(100):
                slots = parse_schedule(text, zone, anchor=START).set
            parsed.append((time.perf_counter() - begin) / 100)
            next_after = slots.next_after
            begin = time.perf_counter()
            for instant in instants:
                next_after(instant)
            took.append((time.perf_counter() - begin) / ASKS)
        spread = {"least_us": min(took) * 1e6, "most_us": max(took) * 1e6, "parse_us": median(parsed) * 1e6}
        record("slots", text, zone=zone, median_us=median(took) * 1e6, **spread)


if __name__ == "__main__":
    run_part(main)
