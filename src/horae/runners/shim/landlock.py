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

    `hidden`: files and folders that may not be read. All are absolute. What a link directly in `shut` leads to is shut too,
    and a hidden file that is a link is hidden where it lies. So is what lies beside a hidden file and has its name in its
    own: editors write there first.
    """

    def __init__(self, shut: str, own: Sequence[str], hidden: Sequence[str]) -> None:
        self._home = os.path.realpath(shut)
        self._own = [os.path.realpath(path) for path in own]
        self._secret = [
            os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in hidden
        ]
        self.look()

    def look(self) -> None:
        """Take note of which paths those are now."""
        links = (os.path.join(self._home, name) for name in _entries(self._home))
        self._shut = {self._home, *(os.path.realpath(path) for path in links if os.path.islink(path))}
        self._hidden = {*self._secret, *map(os.path.realpath, self._secret)}
        self._folders = sorted({self._home, *(up for path in self._shut | self._hidden for up in _folders_to(path))})

    def key(self) -> tuple[object, ...]:
        """Changes when what is allowed would come out otherwise."""
        return (*map(_changed_at, self._folders), *map(_number_of, self._own))

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
            for folder in self._folders:
                rights = READ_FILE if any(_is_within(folder, path) for path in self._shut) else write | READ_FILE
                for name in _entries(folder):
                    path = os.path.join(folder, name)
                    if path not in self._folders and not self._is_hidden(path):
                        _allow(ruleset, path, READ_FILE if path in self._shut else rights)
            for path in self._own:
                _allow(ruleset, path, write | READ_FILE)
            _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            if _libc.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(ruleset)

    def _is_hidden(self, path: str) -> bool:
        folder, name = os.path.split(path)
        return path in self._hidden or any(
            folder == os.path.dirname(secret) and os.path.basename(secret) in name for secret in self._hidden
        )


def _folders_to(path: str) -> list[str]:
    """The folders on the way to a path."""
    found: list[str] = []
    while path != "/":
        path = os.path.dirname(path)
        found.append(path)
    return found


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


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


def _number_of(path: str) -> int:
    try:
        return os.lstat(path).st_ino
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
