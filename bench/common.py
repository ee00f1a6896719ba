"""What every measurement shares: scratch, accounting, percentiles, bounded waits, result lines.

Only the standard library, because the interpreters of the peers import this file too.

A measurement is one JSON object on one line: appended to `results/<part>.jsonl` and printed. It carries the load
average, and the CPU pressure when its round began, so that a reader can tell a quiet run from a busy one. Nothing
here judges: medians are taken by `report.py`, from all lines that there are.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = Path(os.environ.get("BENCH_WORK", os.path.join(tempfile.gettempdir(), "horae-bench")))
RESULTS = Path(os.environ.get("BENCH_RESULTS", str(HERE / "results")))
QUIET = 20  # percent of CPU pressure
before = [None]  # the pressure when the last round began: what others did, not what we do
TICK = os.sysconf("SC_CLK_TCK")


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def record(part, what, **data):
    """Append one measurement as a JSON line and print it."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    noise = {"load1": round(os.getloadavg()[0], 1), "pressure": before[-1] if before[-1] is not None else pressure()}
    line = json.dumps({"part": part, "what": what, "at": at, **rounded(data), **noise})
    with open(RESULTS / f"{part}.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(line, flush=True)


def rounded(data):
    """Six significant digits are more than any of this deserves."""
    return {key: float(f"{value:.6g}") if isinstance(value, float) else value for key, value in data.items()}


def pressure():
    """Percent of the last ten seconds in which a task waited for a CPU; None where the kernel does not say."""
    try:
        text = Path("/proc/pressure/cpu").read_text(encoding="ascii")
        return float(text.split("avg10=")[1].split()[0])
    except (OSError, IndexError):
        return None


def calm():
    """Before a round: wait for a quiet moment, at most BENCH_CALM seconds (none by default). Then it goes on anyway."""
    end = time.monotonic() + float(os.environ.get("BENCH_CALM", "0"))
    while (pressure() or 0) > QUIET and time.monotonic() < end:
        time.sleep(0.5)
    before.append(pressure())


def percentile(values, q):
    """Nearest rank; None of nothing."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * q // 100) - 1)] if ordered else None


def median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


# ── processes ───────────────────────────────────────────────────────────────────────────────────────────────────────


def clean_env(**extra):
    """Our environment, without what would change what is measured: its own variables, and 'write no .pyc'."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HORAE_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, **extra}


def _stat(pid):
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text[text.rindex(")") + 2 :].split()


def tree(pid):
    """A process and its live descendants."""
    kids = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                kids.setdefault(int(_stat(name)[1]), []).append(int(name))
            except OSError:
                continue
    todo, seen = [pid], []
    while todo:
        one = todo.pop()
        seen.append(one)
        todo += kids.get(one, [])
    return seen


def cpu_seconds(pid):
    """User and system seconds of a process, its live descendants, and all children that they have reaped."""
    total = 0
    for one in tree(pid):
        try:
            total += sum(int(field) for field in _stat(one)[11:15])
        except OSError:
            continue
    return total / TICK


def memory_mib(pid):
    """Proportional memory (PSS) of a process and its live descendants."""
    total = 0
    for one in tree(pid):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:
            continue
    return total / 1024


def peak_mib(pid):
    """The most that one process ever had resident."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


def end_tree(pid, number=signal.SIGKILL):
    """Signal a process that we started, and its descendants, by their ids."""
    for one in tree(pid):
        try:
            os.kill(one, number)
        except ProcessLookupError:
            continue


def timed(argv, timeout=60, **options):
    """Wall seconds of one whole program, its output thrown away. Fails when the program does."""
    start = time.perf_counter()
    subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=timeout,
        check=True,
        **options,
    )
    return time.perf_counter() - start


def run_part(main):
    """Run a part. A request to stop unwinds it, so that what it started is ended and what it made is removed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    main()


# ── waiting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def sleep_until(instant):
    """Until an instant of the wall clock."""
    while (left := instant - time.time()) > 0:
        time.sleep(left)


def until(look, what, timeout, poll=0.01):
    """The first true answer of `look`; raises TimeoutError, naming `what`, when there is none in time."""
    end = time.monotonic() + timeout
    while not (found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {timeout:.0f} s in vain: {what}")
        time.sleep(poll)
    return found


def wait_count(done, goal, timeout, poll=0.02):
    """Ask `done()` until it reaches `goal` or time is up: (epoch seconds of the last look, count)."""
    end = time.time() + timeout
    while True:
        count = done()
        if count >= goal or time.time() > end:
            return time.time(), count
        time.sleep(poll)


# ── the work of a job, the same for everybody ───────────────────────────────────────────────────────────────────────


def stamp(folder, index):
    """Append 'index epoch_seconds' with one write: what every in-process job does."""
    line = f"{index} {time.time():.6f}\n".encode()
    fd = os.open(f"{folder}/runs.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def work(folder, index):
    """Stamp, then what BENCH_JOB asks for: nothing, or one /bin/true."""
    stamp(folder, index)
    if os.environ.get("BENCH_JOB") == "true":
        subprocess.run(["/bin/true"], capture_output=True, check=False)


def script(folder, index):
    """The same as a bash script, whose first instruction is the stamp."""
    extra = "/bin/true\n" if os.environ.get("BENCH_JOB") == "true" else ""
    return f'#!/bin/bash\necho "{index} $EPOCHREALTIME" >> {folder}/runs.log\n{extra}'


def stamps(folder):
    """[(name, epoch seconds)] in the order of the file."""
    try:
        with open(f"{folder}/runs.log", encoding="utf-8") as file:
            pairs = [line.rsplit(" ", 1) for line in file]
    except FileNotFoundError:
        return []
    return [(name, float(at)) for name, at in pairs]


def ready(folder):
    """Say that a server is ready: the driver looks for this file."""
    open(f"{folder}/ready", "w", encoding="utf-8").close()


def count_lines(folder):
    try:
        return Path(f"{folder}/runs.log").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def adapter_main(commands):
    """`adapter.py COMMAND key=value …`: call it, print what it returns as one JSON line."""
    answer = commands[sys.argv[1]](**dict(item.split("=", 1) for item in sys.argv[2:]))
    if answer is not None:
        print(json.dumps(answer), flush=True)
