"""Which job files there are, by name and signature, without reading one. Imports next to nothing: every command does it."""

from __future__ import annotations

import os

ENDING = ".md"


def signature_of(stat: os.stat_result) -> str:
    """What changes whenever a file is written or replaced."""
    return f"{stat.st_mtime_ns:x}.{stat.st_size:x}.{stat.st_ino:x}"


def signatures(folder: str) -> dict[str, str]:
    """slug → signature of everything in the folder that may be a job file."""
    with os.scandir(folder) as entries:
        return {
            entry.name[: -len(ENDING)]: signature_of(entry.stat())
            for entry in entries
            if entry.name.endswith(ENDING) and not entry.name.startswith((".", "#")) and entry.is_file()
        }
