"""Become a program behind walls: bind this process with Landlock, then exec what it was told to.

For programs that a process starts which is not behind walls itself: an agent's tools, its script, its servers. What a
program behind two walls may do is what both allow; neither can look into a process that stands outside of its own.

    python -IS -c BEGIN '{"home": …, "own": […], "hidden": […]}' PROGRAM ARGUMENT…

Exit status 126 where the walls cannot be built, 127 where the program cannot be started, as shells have it.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from horae.runners.shim.landlock import Walls, WallsError, version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BEGIN = f"import sys; sys.path.insert(0, {ROOT!r}); from horae.runners.shim.behind import main; main()"
PYTHON = (sys.executable, "-IS", "-X", "utf8", "-c", BEGIN)
"""The words before the walls, as JSON, and the program."""


def main() -> NoReturn:
    """Of `sys.argv`."""
    said, *argv = sys.argv[1:]
    walls = json.loads(said)
    try:
        if version():
            Walls(walls["home"], walls["own"], walls["hidden"]).bind()
    except WallsError as error:
        _give_up(126, f"Landlock: {error}")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which this Python ignores, and programs do not
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606  there is no shell on purpose
    except OSError as error:
        _give_up(127, f"{argv[0]}: {error.strerror}")


def _give_up(status: int, says: str) -> NoReturn:
    sys.stderr.write(f"{says}\n")
    sys.stderr.flush()
    os._exit(status)
