"""Landlock: what this thread starts from now on cannot write to some folders, nor read some files.

The kernel knows only what is *allowed*, so a folder is shut by allowing everything beside it: each entry of each folder
on the way to it. It follows that nothing new can be made directly in those folders (in `~`, when
`~/.horae` is shut); what is in them, and below, can be used as before.

It binds the calling thread and what that starts, for ever. So the shim stays free, and one thread of it is bound and
starts the programs; a change of those folders needs a new thread (`key`).

Facts from the kernel's documentation (userspace-api/landlock).
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
VERSION_FLAG, PATH_BENEATH = 1, 1
PR_SET_NO_NEW_PRIVS = 38

WRITE_FILE, READ_FILE = 1 << 1, 1 << 2
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (
    1 << bit for bit in range(4, 13)
)
REFER, TRUNCATE = 1 << 13, 1 << 14  # from version 2 and 3 on
ON_FILES = WRITE_FILE | READ_FILE | TRUNCATE
_WRITE = (
    WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_CHAR
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_BLOCK
    | MAKE_SYM
)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def version() -> int:
    """Which version of Landlock the kernel has; 0 for none, or none that is switched on."""
    try:
        return max(0, _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_FLAG)))
    except (AttributeError, ValueError):
        return 0


class WallsError(Exception):
    """They cannot be built."""


class Walls:
    """`shut`: the folder that nothing may write to. `own`: folders in it that may be written to all the same.

    `hidden`: files and folders below `shut` that may not be read. All are absolute.
    """

    def __init__(self, shut: str, own: Sequence[str], hidden: Sequence[str]) -> None:
        self.shut = os.path.realpath(shut)
        self.own = [os.path.realpath(path) for path in own]
        self.hidden = {os.path.realpath(path) for path in hidden}
        self._way = _folders_to(self.shut)
        self._inside = sorted({self.shut, *(folder for path in self.hidden for folder in _folders_to(path, self.shut))})

    def key(self) -> tuple[object, ...]:
        """Changes when what is allowed would come out otherwise."""
        return tuple(_changed_at(path) for path in (*self._way, *self._inside))

    def bind(self) -> None:
        """Bind the calling thread and whatever it starts. Raises WallsError."""
        try:
            self._bind()
        except OSError as error:
            raise WallsError(error.strerror or str(error)) from error

    def _bind(self) -> None:
        known = version()
        write = _WRITE | (REFER if known >= 2 else 0) | (TRUNCATE if known >= 3 else 0)
        ruleset = _call(CREATE_RULESET, struct.pack("<Q", write | READ_FILE), 8, 0)
        try:
            for folder in self._way:
                for name in _entries(folder):
                    if (path := os.path.join(folder, name)) != self._towards(folder):
                        _allow(ruleset, path, write | READ_FILE)
            for folder in self._inside:
                for name in _entries(folder):
                    path = os.path.join(folder, name)
                    if path not in self.hidden and path not in self._inside:
                        _allow(ruleset, path, READ_FILE)
            for path in self.own:
                _allow(ruleset, path, write | READ_FILE)
            _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            if _libc.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(ruleset)

    def _towards(self, folder: str) -> str:
        """The entry of a folder on the way that leads on to what is shut."""
        rest = self.shut[len(folder) :].lstrip("/") if folder != "/" else self.shut[1:]
        return os.path.join(folder, rest.split("/", 1)[0])


def _folders_to(path: str, above: str = "/") -> list[str]:
    """The folders on the way to a path, from `above` on."""
    found: list[str] = []
    while path not in (above, "/"):
        path = os.path.dirname(path)
        found.append(path)
    return found[::-1]


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Allow these rights below a path. What is gone, or is a link, needs no rule: a link is followed to where it leads."""
    try:
        fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISLNK(mode):
            return
        if not stat.S_ISDIR(mode):
            rights &= ON_FILES
        try:
            _call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("<Qi", rights, fd), 0)
        except OSError as error:
            if error.errno not in (errno.EBADFD, errno.EINVAL):  # of a file system that has no files to speak of
                raise
    finally:
        os.close(fd)


def _call(number: int, *args: bytes | int) -> int:
    done = _libc.syscall(number, *(ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done
