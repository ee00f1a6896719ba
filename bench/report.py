"""Markdown tables from `results/*.jsonl`: medians, with the least and the most in brackets. `report.py [part …]`

Lines are grouped by what was measured and with which sizes; every other number in them becomes a column. Rows of one
table come from the same runs, so ratios between them may be read; nothing is compared across tables. Lines that were
taken on a busy machine are left out where there are calmer ones.
"""

from __future__ import annotations

import json
import sys

from common import QUIET, RESULTS, median

KEYS = ("what", "zone", "peer", "command", "n", "kind", "start", "gateway", "parallel", "killed")
HIDDEN = ("part", "at", "load1", "pressure", "rounds", "window_s")


def lines(part):
    with open(RESULTS / f"{part}.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def groups(rows):
    """{identity: rows}, in order of first appearance."""
    found = {}
    for row in rows:
        found.setdefault(tuple((key, row[key]) for key in KEYS if row.get(key) is not None), []).append(row)
    return found


def shown(value):
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def cell(values):
    """The median, and the least and the most where there are several."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if not numbers:
        return next((str(value)[:80] for value in values if value is not None), "")
    if len(numbers) == 1 or min(numbers) == max(numbers):
        return shown(numbers[0])
    return f"{shown(median(numbers))} ({shown(min(numbers))}–{shown(max(numbers))})"


def table(rows):
    """One table for all rows that have the same columns."""
    tables = {}
    for identity, taken in groups(rows).items():
        members = [row for row in taken if (row["pressure"] or 0) <= QUIET + 10] or taken
        columns = [key for key in members[0] if key not in (*KEYS, *HIDDEN)]
        tables.setdefault((tuple(key for key, _ in identity), tuple(columns)), []).append((identity, members))
    for (keys, columns), body in tables.items():
        print(f"| {' | '.join([*keys, 'runs', *columns])} |\n|{'---|' * (len(keys) + 1 + len(columns))}")
        for identity, members in body:
            cells = [shown(value) for _, value in identity] + [str(len(members))]
            print(f"| {' | '.join(cells + [cell([row.get(name) for row in members]) for name in columns])} |")
        print()


def totals(rows):
    """Killing is about sums, not medians."""
    done = [row for row in rows if row["what"] == "round"]
    names = ("n", "right", "unknown_ran", "unknown_not", "lost", "doubled", "stuck", "false", "other")
    print(
        f"| killed | store | rounds | {' | '.join(names)} | settled again, median s | longest |\n|{'---|' * (len(names) + 5)}"
    )
    for killed, store in sorted({(row["killed"], row.get("store", "sqlite")) for row in done}, reverse=True):
        mine = [row for row in done if (row["killed"], row.get("store", "sqlite")) == (killed, store)]
        again = [row["settled_s"] for row in mine if row["settled_s"] is not None]
        sums = [shown(sum(row[name] for row in mine)) for name in names]
        cells = [killed, store, str(len(mine)), *sums, shown(median(again)), shown(max(again, default=0))]
        print(f"| {' | '.join(cells)} |")
    print()


def main():
    for part in sys.argv[1:] or sorted(path.stem for path in RESULTS.glob("*.jsonl")):
        rows = lines(part)
        loads = [row["load1"] for row in rows]
        print(f"## {part}\n\n{rows[0]['at']} to {rows[-1]['at']}, load {min(loads)} to {max(loads)}\n")
        (totals if part == "kill" else table)(rows)


if __name__ == "__main__":
    main()
