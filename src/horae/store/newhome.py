"""Make a home: its folders with their modes, a commented config, and on request two jobs that need nothing.

Nothing that exists is touched, so it may be repeated.
"""

from __future__ import annotations

import os
import shutil

from horae.errors import Trouble

FOLDERS = (("", 0o755), ("jobs", 0o755), ("scripts", 0o755), ("skills", 0o755), ("state", 0o700))
SHIPPED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "example")


def make_home(home: str, *, example: bool) -> list[str]:
    """Create what is missing. Returns the paths, relative to the home, that were made."""
    made: list[str] = []
    try:
        for name, mode in FOLDERS:
            path = os.path.join(home, name)
            if not os.path.isdir(path):
                os.makedirs(path, mode)
                made.append(name or ".")
        _copy("config.toml", home, made)
        if example:
            for folder in ("jobs", "scripts"):
                for name in sorted(os.listdir(os.path.join(SHIPPED, folder))):
                    _copy(os.path.join(folder, name), home, made)
    except OSError as error:
        raise Trouble(
            f"{error.filename or home}: {error.strerror}; the home could not be made",
            "check the folder's owner and mode and the free space, or choose another with --home",
            file=str(error.filename or home),
        ) from error
    return made


def _copy(name: str, home: str, made: list[str]) -> None:
    source, target = os.path.join(SHIPPED, name), os.path.join(home, name)
    if os.path.lexists(target):
        return
    shutil.copyfile(source, target)
    os.chmod(target, 0o755 if name.startswith("scripts") else 0o644)
    made.append(name)
