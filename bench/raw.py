"""What this machine can do at most: the yardsticks that stand beside Horae's figures, taken in the same run.

`native/*.c` are used where there is a C compiler; the same loops in Python stand in for them, and beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time

from common import HERE, WORK, percentile, record, run_part

COMPILER = shutil.which("cc") or shutil.which("gcc")


def native(name):
    """The path of a compiled program, or None where nothing can compile it."""
    if COMPILER is None:
        return None
    built = WORK / "native" / name
    source = HERE / "native" / f"{name}.c"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        built.parent.mkdir(parents=True, exist_ok=True)
        for how in (["-static"], []):
            done = subprocess.run(
                [COMPILER, "-O2", *how, "-o", str(built), str(source)], capture_output=True, check=False
            )
            if done.returncode == 0:
                break
        else:
            return None
    return str(built)


def spawn_c(count, program="/bin/true"):
    """posix_spawn and wait, one after the other, in C. None without a compiler."""
    built = native("spawn")
    if built is None:
        return None
    done = subprocess.run([built, str(count), program], capture_output=True, text=True, timeout=120, check=True)
    got = json.loads(done.stdout)
    return {"wall_s": got["wall_us"] * count / 1e6, "cpu_s": got["cpu_us"] * count / 1e6}


def spawn_python(count, program="/bin/true"):
    """The same loop in Python."""
    start, before = time.perf_counter(), os.times()
    for _ in range(count):
        os.waitpid(os.posix_spawn(program, [program], os.environ), 0)
    wall, after = time.perf_counter() - start, os.times()
    return {"wall_s": wall, "cpu_s": sum(after[:4]) - sum(before[:4])}


def appends(seconds=2.0):
    """Append 4 KiB and fdatasync, over and over: what one forced write costs on this disk."""
    path, block, took = WORK / "appends.bin", b"x" * 4096, []
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        os.write(fd, block)
        os.fdatasync(fd)
        took.append(time.perf_counter() - start)
    os.close(fd)
    path.unlink()
    return rate(took)


def commits(seconds=2.0):
    """One row, one commit, in SQLite as Horae opens it: WAL, synchronous=FULL."""
    path = WORK / "commits.db"
    for ending in ("", "-wal", "-shm"):
        (WORK / f"commits.db{ending}").unlink(missing_ok=True)
    db, took = sqlite3.connect(path, isolation_level=None), []
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO t (v) VALUES ('x')")
        db.execute("COMMIT")
        took.append(time.perf_counter() - start)
    db.close()
    return rate(took)


def rate(took):
    return {"per_s": len(took) / sum(took), "p50_ms": percentile(took, 50) * 1e3, "p99_ms": percentile(took, 99) * 1e3}


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    if COMPILER is None:
        record("raw", "no C compiler: Python stands in")
    else:
        record("raw", "posix_spawn loop in C, 1,000", **spawn_c(1000))
        done = subprocess.run([native("timer"), "300"], capture_output=True, text=True, timeout=60, check=True)
        record("raw", "clock_nanosleep wakes late", **json.loads(done.stdout))
    record("raw", "posix_spawn loop in Python, 1,000", **spawn_python(1000))
    record("raw", "4 KiB append and fdatasync", **appends())
    record("raw", "SQLite WAL FULL, one row a commit", **commits())


if __name__ == "__main__":
    run_part(main)
