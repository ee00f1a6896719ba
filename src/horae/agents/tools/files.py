"""The toolset `files`: read and write texts in the job's folder. `confine.py` keeps them in it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, ToolFailed

from horae.agents.task import Walls
from horae.agents.tools.confine import Outside, folder_of, names_of, opened, place_of
from horae.agents.tools.place import Place
from horae.agents.tools.shut import why_shut

READ_BYTES_MAX = 256 * 1024
GIVEN_CHARS_MAX = 30_000  # of a file at a time: what a model is given it pays for at each turn
WRITE_BYTES_MAX = 1024 * 1024
LISTED_MAX = 500
FOUND_MAX = 100
SEARCHED_MAX = 2000  # files
LINE_CHARS = 300


def list_files(ctx: RunContext[Place], folder: str = ".") -> str:
    """List what is in a folder, with sizes. Folders end with a slash.

    Args:
        ctx: The run.
        folder: From the top on; "." is the top.
    """
    with _within(ctx, "list_files", {"folder": folder}) as root:
        found = sorted(_entries(root, names_of(folder), ctx.deps.walls))
    shown = [f"{name}/" if size is None else f"{name}  {size} bytes" for name, size in found[:LISTED_MAX]]
    if len(found) > LISTED_MAX:
        shown.append(f"… and {len(found) - LISTED_MAX} more")
    return "\n".join(shown) or "(empty)"


def read_file(ctx: RunContext[Place], path: str, first_line: int = 1) -> str:
    """Read a text file.

    Args:
        ctx: The run.
        path: From the top of the folder on, like notes/today.md.
        first_line: The line to begin with, from 1 on, for a long file.
    """
    with _within(ctx, "read_file", {"path": path}) as root:
        text = _text(root, path, ctx.deps.walls)
    lines = text.splitlines(keepends=True)
    rest = "".join(lines[max(0, first_line - 1) :])
    if len(rest) <= GIVEN_CHARS_MAX:
        return rest or "(empty)"
    shown = rest[:GIVEN_CHARS_MAX]
    at = first_line + shown.count("\n")
    return f"{shown}\n[… it goes on: read from line {at} …]"


def write_file(ctx: RunContext[Place], path: str, text: str) -> str:
    """Write a text file: a new one, or in place of what it holds. Folders on the way are made.

    Args:
        ctx: The run.
        path: From the top of the folder on.
        text: All of it.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > WRITE_BYTES_MAX:
        raise ToolFailed(f"at most {WRITE_BYTES_MAX} bytes are written at a time, and these are {len(data)}")
    with _within(ctx, "write_file", {"path": path}) as root:
        _write(root, path, data, ctx.deps.walls)
    return f"written: {path}, {len(data)} bytes"


def edit_file(ctx: RunContext[Place], path: str, old: str, new: str) -> str:
    """Replace a text in a file. It must stand there exactly once.

    Args:
        ctx: The run.
        path: From the top of the folder on.
        old: What stands there, with enough around it to be found only once.
        new: What shall stand there.
    """
    with _within(ctx, "edit_file", {"path": path}) as root:
        text = _text(root, path, ctx.deps.walls)
        times = text.count(old) if old else 0
        if times != 1:
            raise ToolFailed(f"`old` stands {times} times in {path}, and must stand there exactly once")
        data = text.replace(old, new).encode("utf-8", "replace")
        if len(data) > WRITE_BYTES_MAX:
            raise ToolFailed(f"the file would have {len(data)} bytes, and at most {WRITE_BYTES_MAX} are written")
        _write(root, path, data, ctx.deps.walls)
    return f"edited: {path}"


def search_files(ctx: RunContext[Place], text: str, folder: str = ".") -> str:
    """Find a text in all files below a folder: the lines that hold it, without regard to case.

    Args:
        ctx: The run.
        text: What to find, to the letter.
        folder: From the top on.
    """
    wanted = re.compile(re.escape(text), re.IGNORECASE)
    found = list[str]()
    with _within(ctx, "search_files", {"folder": folder}) as root:
        for number, path in enumerate(_below(root, names_of(folder), ctx.deps.walls)):
            if number >= SEARCHED_MAX or len(found) >= FOUND_MAX:
                found.append("… (not all files were searched)")
                break
            try:
                lines = _text(root, path, ctx.deps.walls).splitlines()
            except (ToolFailed, Outside, OSError):
                continue  # no text, or gone
            found += [f"{path}:{n}: {line[:LINE_CHARS]}" for n, line in enumerate(lines, 1) if wanted.search(line)]
    return "\n".join(found[: FOUND_MAX + 1]) or "(nothing)"


TOOLS = FunctionToolset[Place](
    [list_files, read_file, write_file, edit_file, search_files], id="files", sequential=True
)


class _within:  # noqa: N801  it reads like a word
    """The folder; what goes wrong in it becomes what the model is told."""

    def __init__(self, ctx: RunContext[Place], tool: str, args: dict[str, Any]) -> None:
        self._place, self._tool, self._args = ctx.deps, tool, args

    def __enter__(self) -> str:
        if not self._place.folder:
            raise ToolFailed("this run has no folder")
        return self._place.folder

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Outside):
            raise self._place.refuse(self._tool, self._args, str(error)) from error
        if isinstance(error, OSError):
            raise ToolFailed(f"{self._args.get('path') or self._args.get('folder')}: {error.strerror}") from error


def _text(root: str, path: str, walls: Walls) -> str:
    with opened(root, path, os.O_RDONLY, walls) as fd:
        data = os.read(fd, READ_BYTES_MAX + 1)
        while len(data) <= READ_BYTES_MAX and (more := os.read(fd, READ_BYTES_MAX + 1 - len(data))):
            data += more
    if len(data) > READ_BYTES_MAX:
        raise ToolFailed(f"{path} has more than {READ_BYTES_MAX} bytes, which is too large to be read")
    if b"\0" in data:
        raise ToolFailed(f"{path} is no text")
    return data.decode("utf-8", "replace")


def _write(root: str, path: str, data: bytes, walls: Walls) -> None:
    with opened(root, path, os.O_WRONLY | os.O_CREAT, walls, make=True) as fd:
        os.ftruncate(fd, 0)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]


def _entries(root: str, names: list[str], walls: Walls) -> Iterator[tuple[str, int | None]]:
    """Names in a folder, with the size of files. Links are left out."""
    with folder_of(root, names, walls) as fd:
        here = place_of(fd, root, names)
        if (why := why_shut(here, walls, writes=False)) is not None:
            raise Outside(why)
        for name in os.listdir(fd):
            try:
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(status.st_mode):
                yield name, None
            elif stat.S_ISREG(status.st_mode):
                yield name, status.st_size


def _below(root: str, names: list[str], walls: Walls) -> Iterator[str]:
    waiting = [names]
    while waiting:
        at = waiting.pop()
        try:
            found = sorted(_entries(root, at, walls))
        except (Outside, OSError):
            if at == names:
                raise
            continue
        for name, size in found:
            if size is None:
                waiting.append([*at, name])
            else:
                yield "/".join([*at, name])
