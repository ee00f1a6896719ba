"""A PostgreSQL of one's own for the peers that need it: a cluster in a scratch folder, on loopback, stopped at the end.

It is made from programs that are present already. The server refuses to run as root, so a root user's cluster runs as
`postgres`, or as `nobody`. Settings are the server's defaults, which force every commit to the disk as Horae does.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

from common import WORK

USER = "bench"


def programs():
    """The folder of the server's programs, the newest first; None where there are none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: path.parts[-3], reverse=True)
    known = [path.parent for path in found]
    there = shutil.which("postgres")
    return known[0] if known else Path(there).parent if there else None


def account():
    """Whom to run it as: ourselves, unless we are root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise RuntimeError("nobody to run PostgreSQL as")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def cluster():
    """A running cluster: BENCH_PG for the adapters, and the postmaster's pid; None where there are no programs."""
    found = programs()
    if found is None:
        yield None
        return
    folder, who, port = WORK / f"postgres-{os.getpid()}", account(), free_port()
    WORK.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    if who:
        os.chown(folder, who["user"], who["group"])

    def call(*argv):
        subprocess.run(
            [str(word) for word in argv], cwd=folder, stdout=subprocess.DEVNULL, check=True, timeout=120, **who
        )

    data = folder / "data"
    call(found / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-instructions")
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c max_connections=200"
    call(found / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o", options, "start")
    try:
        os.environ["BENCH_PG"] = f"{USER}@127.0.0.1:{port}"
        yield int((data / "postmaster.pid").read_text(encoding="ascii").splitlines()[0])
    finally:
        call(found / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
