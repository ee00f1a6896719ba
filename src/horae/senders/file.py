"""`file`: each message is an entry at the end of a file.

An entry is one write at the end, followed by a sync; others that write through Horae wait for the lock meanwhile. What
could not be written whole is taken back, so that an entry is in the file whole or not at all. A link, a pipe or a device
in the file's place is refused, for writing there would be something else.

The first line of an entry begins with `#` and has its id; all other lines are indented: a body that looks like an entry
does not become one.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import Mapping
from datetime import datetime
from stat import S_ISREG

from horae.aside import aside
from horae.core import kinds
from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.outgoing import Clerk, readable, title_of
from horae.core.placeholders import filled
from horae.core.text import one_line
from horae.ports.outside import Tools

_FOR_NOW = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EAGAIN, errno.EINTR, errno.EMFILE, errno.ENFILE})
_HORAES = ("jobs", "scripts", "skills", "state", "config.toml", "secrets.toml")  # in the home: no place for messages
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class File:
    """Appends messages to one file."""

    def __init__(self, platform: Platform, tools: Tools) -> None:
        self._path = str(kinds.checked(platform)["path"])
        self._timeout_s = platform.timeout_s
        self._tools = tools
        self._clerk = Clerk(platform, tools.secrets, tools.redact)

    @staticmethod
    def shape(options: Mapping[str, object]) -> tuple[bool, bool]:
        """Whether the bare name is an address, and whether chats have threads."""
        return kinds.alone("file", options), kinds.threads("file", options)

    def check(self, address: Address | None = None) -> str | None:
        """Its folder is there, and what stands there is a file that we may write."""
        secrets, missing = self._clerk.secrets()
        if missing is not None:
            return missing
        path = self._where(secrets)
        if self._is_horaes(path):
            return self._clerk.words(f"{path} belongs to Horae itself: name another file")
        if os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path)):
            return self._clerk.words(f"{path} is not a regular file: name another one, or move it away")
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            return self._clerk.words(f"there is no folder {folder}: make it")
        if not os.access(path if os.path.exists(path) else folder, os.W_OK):
            return self._clerk.words(f"{path} cannot be written: check its owner and mode")
        return None

    async def send(self, message: Message) -> Receipt:
        """Append one entry."""
        secrets, missing = self._clerk.secrets()
        if missing is not None:
            return self._clerk.retry(missing)
        path = self._where(secrets)
        if self._is_horaes(path):
            return self._clerk.refuse(f"{path} belongs to Horae itself")
        data = entry(message, self._tools.now()).encode("utf-8", "replace")
        try:
            async with asyncio.timeout(self._timeout_s):
                at = await aside(append, path, data)
        except TimeoutError:
            return self._clerk.lose(f"{path}: not written in time")
        except NotFile:
            return self._clerk.refuse(f"{path} is not a regular file")
        except OSError as error:
            reason = f"{path}: {error.strerror or error}"
            return self._clerk.retry(reason) if error.errno in _FOR_NOW else self._clerk.refuse(reason)
        return self._clerk.accept(f"{path} at {at}")

    def _is_horaes(self, path: str) -> bool:
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(self._tools.home))
        return inside.split(os.sep)[0] in _HORAES

    def _where(self, secrets: Mapping[str, str]) -> str:
        return os.path.join(self._tools.home, os.path.expanduser(filled(self._path, secrets)))


class NotFile(Exception):
    """Something else stands there."""


def append(path: str, data: bytes) -> int:
    """Write it at the end, whole or not at all; where it begins. Raises OSError, NotFile."""
    try:
        file = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise NotFile from error
        raise
    try:
        if not S_ISREG(os.fstat(file).st_mode):
            raise NotFile
        fcntl.flock(file, fcntl.LOCK_EX)
        at = os.fstat(file).st_size
        try:
            if os.write(file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, at)
            raise
        return at
    finally:
        os.close(file)


def entry(message: Message, now: datetime) -> str:
    """The text of an entry."""
    words = [f"# {now.isoformat(timespec='seconds')}", one_line(message.id, 200).replace(" ", "_")]
    if message.address.chat is not None:
        words.append(f"for {one_line(str(message.address), 200)}")
    if message.alert:
        words.append("alert")
    named = [f"[{one_line(one.name, 200)}: {one_line(one.path, 1000)}]" for one in message.attachments]
    lines = [title_of(message), "", *readable(message.body).rstrip().split("\n"), *named]
    return " ".join(words) + "\n" + "".join(f"    {line}\n" if line else "\n" for line in lines) + "\n"
