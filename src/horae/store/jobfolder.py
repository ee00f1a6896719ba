"""The folder of job files, as the machine sees it: which files there are, their text, and how one is replaced.

A file changes all at once or not at all: the new text is written beside it, forced to the disk, and renamed over it.
The caller shows the text that it read; if the file says something else by now, another hand was there and nothing is
done. Between that look and the rename lies a gap of microseconds in which an editor could still save; our own processes
do not meet in it, since they hold a lock on the folder.

A file that cannot be looked at is not a file that has gone. `scan` lists what it cannot look into too, and raises when
the folder itself cannot be read: whoever takes a missing name for a removed job must be able to rely on that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Generator, Iterator

from horae import limits
from horae.core.slug import NEW_SLUG
from horae.errors import Conflict, Invalid, NotFound, Problem, Trouble
from horae.store.jobscan import ENDING, is_stem, is_temporary, signature_from, signature_of, slug_in

FILE_MODE = 0o644

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class JobFolder:
    """`<home>/jobs`. Job files are named by their slug, the file's name without `.md`."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)

    def path(self, slug: str) -> str:
        """The file of a job. Raises Invalid for a name that would lead out of the folder."""
        if not is_stem(slug):
            raise Invalid(f"{slug!r} cannot be the name of a job file", expected="a file name", key="slug")
        return os.path.join(self.root, slug + ENDING)

    def scan(self) -> Iterator[tuple[str, str]]:
        """All job files as (slug, signature), in no order, without opening one. Raises Trouble if it cannot be told."""
        try:
            with os.scandir(self.root) as entries:
                for entry in entries:
                    slug = slug_in(entry.name)
                    if slug is not None and (signature := signature_of(entry)) is not None:
                        yield slug, signature
        except OSError as error:
            raise self._unreadable(error) from error

    def misnamed(self) -> list[str]:
        """Names that end like a job file's and cannot be one's, escaped: hidden from `scan`, for `doctor` to show."""
        try:
            names = [name for name in os.listdir(self.root) if name.endswith(ENDING) and not is_temporary(name)]
        except OSError as error:
            raise self._unreadable(error) from error
        return sorted(ascii(name)[1:-1] for name in names if not is_stem(name[: -len(ENDING)]))

    def signature(self, slug: str) -> str:
        """What `scan` gives for this file: it changes when the file is written. Raises NotFound, Trouble."""
        try:
            found = os.stat(self.path(slug))
        except OSError as error:
            raise self._cannot_read(slug, error) from error
        if not stat.S_ISREG(found.st_mode):
            raise NotFound(f"{shown(slug)} is not a file", path=self.path(slug))
        return signature_from(found)

    def read(self, slug: str) -> str:
        """The text of a job file, as it is. Raises NotFound, Trouble, or Invalid if it is too large or no text."""
        content = self._content(slug)
        name = shown(slug)
        if len(content) > limits.JOB_FILE_BYTES_MAX:
            raise _too_large(name)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            says = f"{name}, line {line}: is not UTF-8 text"
            raise Invalid(says, "Save it as UTF-8.", file=name, line=line, key=None, expected="UTF-8") from None

    def write(self, slug: str, text: str, *, expect: str | None) -> None:
        """Replace the file that says `expect`, or make a new one where `expect` is None.

        Raises Conflict when the file says something else or is already there, NotFound when it has gone, Trouble when
        the disk is full or cannot be written; then the file is as it was, and nothing is left beside it.
        """
        path = self.path(slug)
        if expect is None and not NEW_SLUG.fullmatch(slug):
            hint = "Use a to z, 0 to 9, hyphens, dots and underscores."
            raise Invalid(f"{slug!r} cannot be the name of a new job file", hint, expected="a slug", key="slug")
        try:
            content = text.encode("utf-8")
        except UnicodeEncodeError:
            says = f"{shown(slug)}: the text contains half of a character"
            raise Invalid(says, file=shown(slug), line=None, key=None, expected="text") from None
        if len(content) > limits.JOB_FILE_BYTES_MAX:
            raise _too_large(shown(slug))
        target = os.path.realpath(path)  # a link stays a link; what it points to is replaced
        self._check(slug, path, expect)
        temporary = None
        try:
            with self._locked():
                temporary = _written_beside(target, content)
                self._check(slug, path, expect)
                if expect is None:
                    _move_to_new(temporary, target)
                else:
                    os.replace(temporary, target)
                temporary = None
        except FileExistsError:
            raise self._exists(slug) from None
        except OSError as error:
            raise _not_done(path, "changed", error) from error
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
        _make_lasting(os.path.dirname(target), path)

    def inside(self, tx: object) -> JobFolder:
        """Files are no part of any transaction."""
        return self

    def remove(self, slug: str, *, expect: str | None) -> None:
        """Remove the file that says `expect`, None for whatever it says (a link, not what it points to).

        Raises NotFound, Conflict, Trouble.
        """
        path = self.path(slug)
        try:
            with self._locked():
                if expect is not None:
                    self._check(slug, path, expect)
                os.unlink(path)
        except FileNotFoundError:
            raise NotFound(f"there is no job file {shown(slug)}", path=path) from None
        except OSError as error:
            raise _not_done(path, "removed", error) from error
        _make_lasting(self.root, path)

    def _check(self, slug: str, path: str, expect: str | None) -> None:
        """The file says what the caller has read."""
        if expect is None:
            if os.path.lexists(path):
                raise self._exists(slug)
        elif self._content(slug) != expect.encode("utf-8", "surrogatepass"):
            hint = "Read it again and repeat the change."
            raise Conflict(f"{shown(slug)} was changed meanwhile; nothing was written", hint, file=shown(slug))

    def _content(self, slug: str) -> bytes:
        """The bytes of the file, one more than allowed at most. A pipe in its place does not make us wait."""
        try:
            handle = os.open(self.path(slug), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    name = shown(slug)
                    raise Invalid(f"{name}: is not a file", file=name, line=None, key=None, expected="a file")
                return file.read(limits.JOB_FILE_BYTES_MAX + 1)
        except OSError as error:
            raise self._cannot_read(slug, error) from error

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        """Only one process of ours replaces files at a time. Where a folder cannot be locked, it goes on without."""
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _exists(self, slug: str) -> Conflict:
        return Conflict(f"there already is a job file {shown(slug)}", "Choose another name.", file=shown(slug))

    def _unreadable(self, error: OSError) -> Trouble:
        return Trouble(f"the folder {self.root} cannot be read: {_reason(error)}", path=self.root)

    def _cannot_read(self, slug: str, error: OSError) -> Problem:
        path = self.path(slug)
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.islink(path) and os.path.isdir(self.root):
            return NotFound(f"there is no job file {shown(slug)}", path=path)
        return Trouble(f"{path} cannot be read: {_reason(error)}", path=path)


def shown(slug: str) -> str:
    """How people are told about a job file."""
    return f"jobs/{slug}{ENDING}"


def _too_large(name: str) -> Invalid:
    most = limits.JOB_FILE_BYTES_MAX
    says = f"{name}: is larger than {most // 1024} KiB"
    return Invalid(says, file=name, line=None, key=None, expected=f"at most {most} bytes")


def _written_beside(target: str, content: bytes) -> str:
    """A new file in the target's folder, on the disk, with the mode and owner that the target has.

    A target that is not writable is left alone, though its folder would let it be replaced: someone protected it.
    """
    handle, temporary = tempfile.mkstemp(prefix=".horae-", suffix=".tmp", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            try:
                old = os.stat(target)
            except FileNotFoundError:
                os.fchmod(handle, FILE_MODE)
            else:
                if not os.access(target, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
                if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                    with contextlib.suppress(PermissionError):  # a file of someone else becomes ours, if it must
                        os.fchown(handle, old.st_uid, old.st_gid)
                os.fchmod(handle, stat.S_IMODE(old.st_mode))
            os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _move_to_new(temporary: str, target: str) -> None:
    """A rename that never replaces. A file system without hard links has only our lock and the look before."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def _make_lasting(folder: str, path: str) -> None:
    """A rename is on the disk when its folder is."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOTSUP):
            return  # such a file system has no more to offer
        says = f"{path} was changed, but it is not certain that the change outlives a power failure: {_reason(error)}"
        raise Trouble(says, path=path) from error


def _not_done(path: str, verb: str, error: OSError) -> Trouble:
    if error.errno in _FULL:
        return Trouble(f"the disk is full: {path} was not {verb}", "Make room and try again.", path=path)
    if error.errno in _FORBIDDEN:
        return Trouble(f"{path} cannot be written: {_reason(error)}; it was not {verb}", path=path)
    return Trouble(f"{path} was not {verb}: {_reason(error)}", path=path)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
