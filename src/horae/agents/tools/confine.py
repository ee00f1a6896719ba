"""Opens files in a folder and nowhere else, whatever is done to the folder meanwhile.

A path is walked name by name from a descriptor of the folder, and no link is followed: neither one that lies there nor one
that is put there between two steps. There is no way up: `..` is refused. So no check can be outrun.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

from horae.agents.task import Walls
from horae.agents.tools.shut import why_shut

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
DEPTH_MAX = 32


class Outside(Exception):
    """The path leads out of the folder, or through a link."""


def names_of(path: str) -> list[str]:
    """The names in a path, from the folder on. Raises Outside."""
    if "\0" in path:
        raise Outside("a path holds no zero byte")
    if path.startswith("/"):
        raise Outside(f"{path[:200]}: a path begins in the folder, so without /")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise Outside(f"{path[:200]}: `..` would lead out of the folder")
    if len(names) > DEPTH_MAX:
        raise Outside(f"at most {DEPTH_MAX} folders deep")
    return names


@contextmanager
def folder_of(root: str, names: list[str], walls: Walls, *, make: bool = False) -> Generator[int]:
    """A descriptor of the folder that these names lead to. Raises Outside and OSError."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, name in enumerate(names):
            if make and not _is_there(fd, name):
                _judge(os.path.join(place_of(fd, root, names[:number]), name), walls, name, writes=True)
                os.mkdir(name, 0o777, dir_fd=fd)
            below = _open(fd, name, DIRECTORY)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened(root: str, path: str, flags: int, walls: Walls, *, make: bool = False) -> Generator[int]:
    """A descriptor of the ordinary file at the path. Raises Outside and OSError."""
    writes = flags & (os.O_WRONLY | os.O_RDWR) != 0
    *above, name = names_of(path) or [""]
    if not name:
        raise Outside("the path of a file is needed")
    with folder_of(root, above, walls, make=make) as folder:
        _judge(os.path.join(place_of(folder, root, above), name), walls, path, writes=writes)
        fd = _open(folder, name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Outside(f"{path[:200]} is no ordinary file")
            yield fd
        finally:
            os.close(fd)


def place_of(fd: int, root: str, names: list[str]) -> str:
    """Where the folder of a descriptor is: as the kernel says, else by its names."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return os.path.join(os.path.realpath(root), *names)


def _judge(real: str, walls: Walls, path: str, *, writes: bool) -> None:
    why = why_shut(real, walls, writes=writes)
    if why is not None:
        raise Outside(f"{path[:200]}: {why}")


def _is_there(fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _open(fd: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, 0o666, dir_fd=fd)
    except OSError as error:
        try:
            linked = stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
        except OSError:
            linked = False
        if linked:
            raise Outside(f"{name} is a link, and links are not followed") from error
        raise
