"""Install the peers, each into a virtual environment of its own under $BENCH_PEERS, in the versions of the figures.

pip takes them from whatever index it is configured for. PostgreSQL is not installed: where its programs are present
they are used (see `postgres.py`), else the peers that need it say that they were skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PEERS = Path(os.environ.get("BENCH_PEERS", os.path.join(tempfile.gettempdir(), "horae-peers")))
PACKAGES = {
    "apscheduler": ["apscheduler==3.11.3", "sqlalchemy", "tzdata"],
    "cronsim": ["cronsim==2.8", "tzdata"],
    "croniter": ["croniter==7.0.0", "tzdata"],
    "dateutil": ["python-dateutil==4.0.0", "tzdata"],
    "huey": ["huey==3.5.4"],
    "dbos": ["dbos==3.4.0"],
    "procrastinate": ["procrastinate==3.10.0", "psycopg[binary]"],
    "hermes": ["hermes-agent==0.19.0"],
}


def main():
    for name in sys.argv[1:] or PACKAGES:
        folder = PEERS / name
        if not folder.exists():
            venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", *PACKAGES[name]], check=True, timeout=900)
        print(f"{name}: {' '.join(PACKAGES[name])}", flush=True)


if __name__ == "__main__":
    main()
