"""The files that go with a message, read when it is sent.

They are named by a run and may have changed since: only regular files are read, a link in the last place is not followed,
nothing is waited for, and no more is read than the bounds say. A file that cannot go along is no failure of the message:
it comes back as a note for the message's body. Text loses the home's secrets; other bytes stay as they are, since a
picture with a hole in it is no picture.
"""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from stat import S_ISREG

from horae.core.delivery import Attachment
from horae.core.text import clean_name

FILE_BYTES_MAX = 10 * 1024 * 1024  # of one attachment: most mail servers and chats take no more
ALL_BYTES_MAX = 20 * 1024 * 1024  # of all of a message
NAME_CHARS_MAX = 120
_LOOK_BYTES = 8192  # in which a file that is not text shows it by a NUL


@dataclass(frozen=True, slots=True)
class Loaded:
    """One file, as it goes out."""

    name: str
    data: bytes
    type: str
    """Its media type, guessed by its name."""


def load(
    attachments: Sequence[Attachment], redact: Callable[[bytes], bytes]
) -> tuple[tuple[Loaded, ...], tuple[str, ...]]:
    """The files, and a note for each that is left out."""
    files: list[Loaded] = []
    notes: list[str] = []
    room = ALL_BYTES_MAX
    for one in attachments:
        name = shown_name(one.name)
        try:
            data = _read(one.path, min(FILE_BYTES_MAX, room))
        except OSError as error:
            notes.append(f"Not attached: {name} ({error.strerror or 'cannot be read'})")
            continue
        if data is None:
            notes.append(f"Not attached: {name} (not a file)")
        elif len(data) > min(FILE_BYTES_MAX, room):
            whole = (
                f"more than {FILE_BYTES_MAX // 1024**2} MiB" if room >= FILE_BYTES_MAX else "too much with the others"
            )
            notes.append(f"Not attached: {name} ({whole})")
        else:
            room -= len(data)
            data = data if b"\0" in data[:_LOOK_BYTES] else redact(data)
            files.append(Loaded(name, data, mimetypes.guess_type(name)[0] or "application/octet-stream"))
    return tuple(files), tuple(notes)


def size_of(path: str) -> int | None:
    """How large a file is; None when there is none."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return status.st_size if S_ISREG(status.st_mode) else None


def shown_name(name: str) -> str:
    """A file's name without folders and without what could be taken for something else."""
    last = clean_name(name.replace("\\", "/").rpartition("/")[2].replace('"', "'"))
    last = last.encode("utf-8", "replace").decode()
    if len(last) > NAME_CHARS_MAX:
        stem, ending = os.path.splitext(last)
        last = stem[: NAME_CHARS_MAX - len(ending[:20])] + ending[:20]
    return last if last.strip(".") else "file"


def _read(path: str, most: int) -> bytes | None:
    """At most one byte more than `most`; None for what is no regular file."""
    if "\0" in path:
        return None
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(file, "rb") as opened:
        return opened.read(most + 1) if S_ISREG(os.fstat(file).st_mode) else None
