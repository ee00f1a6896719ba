"""The scripts of a home as the machine sees them: names below `scripts/`, their text, and whether they may be started.

Only text is a script: what is no UTF-8 is a program, and is installed, not handed on. A script is replaced all at once,
by whoever shows the text that it read. Nothing is written to, or through, a place outside the folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator

from horae.errors import Conflict, Invalid, NotFound, Refused, Trouble
from horae.limits import SCRIPT_BYTES_MAX
from horae.store.jobscan import is_temporary

PLAIN, PROGRAM = 0o644, 0o755


class ScriptFolder:
    """One folder of scripts. It need not exist to be read."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)

    def list(self) -> Iterator[str]:
        """Names of all scripts, sorted, with `/` between folders. Raises Trouble when a folder cannot be read."""
        found: list[str] = []
        try:
            for folder, below, files in os.walk(self.root, onerror=_raise):
                below[:] = [name for name in below if not is_temporary(name) and name != "__pycache__"]
                found += [os.path.join(folder, name) for name in files if not is_temporary(name)]
        except FileNotFoundError:
            return iter(())
        except OSError as error:
            raise _trouble(error.filename or self.root, "read", error) from error
        return iter(sorted(os.path.relpath(path, self.root).replace(os.sep, "/") for path in found))

    def read(self, name: str) -> tuple[str, int]:
        """Its text and its mode, 0o755 for what may be started. Raises NotFound, Invalid, Refused, Trouble."""
        path = self._path(name)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(handle, "rb") as file:
                about = os.fstat(handle)
                content = file.read(SCRIPT_BYTES_MAX + 1) if stat.S_ISREG(about.st_mode) else None
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"there is no script scripts/{name}", name=name) from None
        except OSError as error:
            raise _trouble(path, "read", error) from error
        if content is None:
            raise Invalid(f"scripts/{name} is not a file", name=name, expected="a file")
        if len(content) > SCRIPT_BYTES_MAX:
            raise Invalid(f"scripts/{name} is larger than {SCRIPT_BYTES_MAX // 1024} KiB", "install it as a program")
        try:
            return content.decode("utf-8"), PROGRAM if about.st_mode & 0o111 else PLAIN
        except UnicodeDecodeError:
            raise Invalid(f"scripts/{name} is not UTF-8 text", "install it as a program", name=name) from None

    def write(self, name: str, text: str, mode: int, *, expect: str | None) -> None:
        """Replace the one that says `expect`, or make a new one where that is None. Raises Conflict, Refused, Trouble."""
        path = self._path(name)
        temporary = None
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".horae-", suffix=".tmp", dir=os.path.dirname(path))
            with open(handle, "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
                os.fchmod(handle, mode)
                file.flush()
                os.fsync(handle)
            self._check(name, path, expect)
            os.replace(temporary, path)
            temporary = None
        except OSError as error:
            raise _trouble(path, "written", error) from error
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def _check(self, name: str, path: str, expect: str | None) -> None:
        if expect is None:
            if os.path.lexists(path):
                raise Conflict(f"there already is a script scripts/{name}", "look at it, and try again")
        elif self.read(name)[0] != expect:
            raise Conflict(f"scripts/{name} was changed meanwhile; nothing was written", "look at it, and try again")

    def _path(self, name: str) -> str:
        """Where it is, links resolved. Raises Refused for what leads outside."""
        root = os.path.realpath(self.root)
        path = os.path.realpath(os.path.join(root, name.replace("\0", "")))
        if "\0" in name or not name or os.path.commonpath((root, path)) != root or path == root:
            raise Refused(f"scripts/{name} leads outside {self.root}", "scripts come only from that folder", name=name)
        return path


def _raise(error: OSError) -> None:
    raise error


def _trouble(path: str, verb: str, error: OSError) -> Trouble:
    says = (error.strerror or str(error)).lower()
    return Trouble(f"{path} cannot be {verb}: {says}", "check its owner and mode, and the free space", file=path)
