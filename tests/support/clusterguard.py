"""Runs the cluster of one test session: `clusterguard.py MEETING`. Started by `postgres.py`, never by hand.

Every process that uses the cluster holds a shared lock on MEETING.users. Whoever ends gives it back, by SIGKILL too; so
the guard waits for the exclusive lock, and then stops the server that it started and removes what it made.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from contextlib import suppress

from tests.support.postgres import NoServer, own_cluster


def main(meeting: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; their end is ours
    users = os.open(f"{meeting}.users", os.O_RDWR | os.O_CLOEXEC)
    try:
        cluster = own_cluster()
    except (NoServer, OSError) as error:
        tell({"problem": str(error)})
    else:
        try:
            tell({"folder": cluster.folder})
            fcntl.flock(users, fcntl.LOCK_EX)
        finally:
            cluster.remove()
    finally:
        for ending in ("users", "start"):
            with suppress(OSError):
                os.unlink(f"{meeting}.{ending}")


def tell(what: dict[str, str]) -> None:
    """One line for whoever started us; afterwards nobody listens."""
    print(json.dumps(what), flush=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)


main(sys.argv[1])
