"""Changing single lines of `config.toml` and `secrets.toml`, and leaving what a person wrote beside them as it is.

A change is made to what was read, checked by reading the new text again with another reader, and put in the place of the old
file in one step: whoever reads sees the one or the other, whole and on the disk. Two changes of ours wait for one another;
a file that somebody else has changed in between is left alone. A link is followed, so that what it points to is changed.

The library is loaded only when something is changed. No error shows a line of the file: it may be a secret.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import tomllib
from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

from horae.core.settingvalues import key_of
from horae.errors import Conflict, Invalid, Refused, Trouble

Place = Sequence[str]
"""Where a value stands: the names of tables, then its own."""
_BY_HAND = "change it by hand, in an editor"


def put(path: str, place: Place, value: str, *, most: int, mode: int = 0o600) -> None:
    """Say one text there; a new file gets `mode`. Raises Invalid, Refused, Conflict, Trouble."""

    def change(document: Any) -> None:
        for name in place[:-1]:
            if name not in document:
                document[name] = tomlkit.table()
            document = document[name]
        document[place[-1]] = value

    _rewrite(path, place, value, change, most, mode)


def remove(path: str, place: Place, *, most: int) -> None:
    """Take one value away, with the comment behind it. Raises as `put`; KeyError where there is none."""

    def change(document: Any) -> None:
        for name in place[:-1]:
            document = document[name]
        del document[place[-1]]

    _rewrite(path, place, None, change, most, 0o600)


def _rewrite(path: str, place: Place, value: str | None, change: Callable[[Any], None], most: int, mode: int) -> None:
    target = os.path.realpath(path)
    try:
        with _locked(os.path.dirname(target)):
            before = _content(path, target, most)
            after = _changed(path, before or b"", place, value, change)
            if len(after) > most:
                raise Invalid(f"{path} would have more than {most // 1024} KiB", "take out what is no longer needed")
            if after == before:
                return
            temporary = _beside(target, after, mode)
            try:
                if _content(path, target, most) != before:
                    raise Conflict(f"{path} was changed meanwhile; nothing was written", "try again", file=path)
                os.replace(temporary, target)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
            _make_lasting(os.path.dirname(target))
    except OSError as error:
        hint = "check its owner and mode, the folder that it is in, and the disk"
        raise Trouble(f"{path} cannot be written: {error.strerror or error}", hint, file=path) from error


def _changed(path: str, before: bytes, place: Place, value: str | None, change: Callable[[Any], None]) -> bytes:
    """The new text, if it says what the old one said but for that place."""
    key = place[-1] if len(place) == 1 else key_of(".".join(place[:-1]), place[-1])
    try:
        text = before.decode()
        expected = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        raise Invalid(f"{path} is not TOML, so it cannot be changed", "`horae doctor` says where", file=path) from None
    _expect(path, expected, place, value)
    try:
        document = tomlkit.parse(text)
        change(document)
        after = tomlkit.dumps(document)
        same = tomllib.loads(after) == expected
    except (TOMLKitError, tomllib.TOMLDecodeError, TypeError, AttributeError, RecursionError):
        same, after = False, ""
    if not same:
        raise Refused(f"{path} is written in a way that {key} cannot be changed in it safely", _BY_HAND, file=path)
    return after.encode()


def _expect(path: str, whole: dict[str, Any], place: Place, value: str | None) -> None:
    """Change plain values the same way. Raises Invalid where a name on the way is no table, KeyError for what is not there."""
    values = whole
    for name in place[:-1]:
        if value is not None:
            values.setdefault(name, {})
        inner: object = values[name]
        if not isinstance(inner, dict):
            raise Invalid(f"{path}: {name} must be a table", _BY_HAND, file=path, key=name)
        values = cast("dict[str, Any]", inner)
    if value is None:
        del values[place[-1]]
    else:
        values[place[-1]] = value


def _content(path: str, target: str, most: int) -> bytes | None:
    """What the file says; None when there is none. A pipe in its place does not make us wait."""
    try:
        handle = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Invalid(f"{path} is not a file", "put a file there, or nothing", file=path)
        data = file.read(most + 1)
    if len(data) > most:
        raise Invalid(f"{path} has more than {most // 1024} KiB", "take out what is no longer needed", file=path)
    return data


def _beside(target: str, content: bytes, mode: int) -> str:
    """A new file in the target's folder, on the disk, with the mode that the target has."""
    handle, temporary = tempfile.mkstemp(prefix=".horae-", suffix=".tmp", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            with contextlib.suppress(FileNotFoundError):
                mode = stat.S_IMODE(os.stat(target).st_mode)
            os.fchmod(handle, mode)
            file.write(content)
            file.flush()
            os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


@contextlib.contextmanager
def _locked(folder: str) -> Generator[None]:
    """Only one process of ours changes such files at a time. Where a folder cannot be locked, it goes on without."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _make_lasting(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
