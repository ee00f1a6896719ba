"""Which files in a folder are job files, by name and signature, without opening one.

A file that cannot be looked at is not a file that has gone: it is listed too, with a signature that says why. Whoever
takes a missing name for a removed job must be able to rely on that. Imports next to nothing: every command does this.
"""

from __future__ import annotations

import os
from stat import S_ISREG

ENDING = ".md"
STEM_BYTES_MAX = 200  # a file system takes 255, and a temporary name is longer than the file's


def signatures(folder: str) -> dict[str, str]:
    """slug → signature of every job file in the folder. Raises OSError when the folder cannot be read."""
    found: dict[str, str] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            slug = slug_in(entry.name)
            if slug is not None and (signature := signature_of(entry)) is not None:
                found[slug] = signature
    return found


def slug_in(name: str) -> str | None:
    """The slug of a file name, or None for what is not a job file's."""
    if not name.endswith(ENDING) or is_temporary(name):
        return None
    stem = name[: -len(ENDING)]
    return stem if is_stem(stem) else None


def is_temporary(name: str) -> bool:
    """Hidden files, and what editors leave beside a file while they save it."""
    return name[0] in ".#~" or name.endswith(("~", ".swp", ".tmp", "#"))


def is_stem(stem: str) -> bool:
    """Any name that a person may give a file, as long as the database and a terminal can hold it."""
    if not stem or stem[0] == "." or "/" in stem or len(stem) > STEM_BYTES_MAX:
        return False
    if stem.isascii():
        return stem.isprintable()
    bad = any(c < " " or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in stem)
    return not bad and len(stem.encode()) <= STEM_BYTES_MAX


def signature_of(entry: os.DirEntry[str]) -> str | None:
    """None for what is not a file, or has gone. What cannot be looked at is there, and says why it cannot."""
    try:
        found = entry.stat()
    except FileNotFoundError:
        return "dangling" if entry.is_symlink() else None
    except OSError as error:
        return f"unreadable-{error.errno}"
    return signature_from(found) if S_ISREG(found.st_mode) else None


def signature_from(found: os.stat_result) -> str:
    """What changes whenever a file is written or replaced."""
    return f"{found.st_mtime_ns:x}-{found.st_size:x}-{found.st_ino:x}"
