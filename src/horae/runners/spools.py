"""What is gathered from a spool about one run, and where spools lie.

state/spool/<gateway>.gate        locked by the gateway that made the shims, for as long as it lives
state/spool/<gateway>-<n>.log     a shim's spool, locked by the shim (and by the template until it has cleaned up)
state/spool/<gateway>-<n>.d/      the folder that its run may write to
state/output/<run id>/            what a run printed too much of, and the files that it made
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from stat import S_ISREG
from typing import Any, cast

from horae.core.activity import Work, work_of
from horae.core.model import Bounds, Result, Used
from horae.runners.shim.spool import CLEARED, EVENT, OUTPUT, RESULT, STARTED, TAIL, Damaged, Newer, records
from horae.timing.durations import duration_words

READ_BYTES = 1024 * 1024
STREAMS = ("stdout", "stderr")
FOUND_MAX = 1000  # files of one run that are looked at
BLOCK_BYTES = 4 * 1024 * 1024
BLOCKS_MAX = 8
NEAR_BYTES = 64 * 1024  # nothing that is taken out is longer
PLAIN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW  # a pipe in its place makes nobody wait


ENDS = (
    "exit", "signal", "ended_by", "words", "found", "wall", "cpu", "peak", "total", "spilled", "killed", "survivors",
    "proved", "left",
)  # fmt: skip


@dataclass(slots=True)
class Gathered:
    """What is known of one run."""

    run_id: str
    pid: int | None = None
    born: int | None = None
    head: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    tail: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What an agent has told."""
    end: dict[str, Any] | None = None
    cleared: dict[str, Any] | None = None
    damage: str | None = None
    """Why nothing that its spool says from some place on can be believed."""

    def take(self, kind: int, payload: bytes) -> None:
        """One record of this run. Raises Damaged."""
        try:
            self._take(kind, payload)
        except (ValueError, LookupError, TypeError) as error:
            raise Damaged(f"a record of kind {kind} that nobody writes so ({type(error).__name__})") from error

    def _take(self, kind: int, payload: bytes) -> None:
        if kind in (OUTPUT, TAIL):
            (self.head if kind == OUTPUT else self.tail)[payload[0] - 1].extend(payload[1:])
        elif kind == STARTED:
            told = json.loads(payload)
            self.pid, self.born = told["pid"], told["born"]
        elif kind == RESULT:
            end = json.loads(payload)
            if missing := {"refused", "errno"} - {*end} and {*ENDS} - {*end}:
                raise KeyError(*missing)
            self.end = end
        elif kind == CLEARED:
            self.cleared = json.loads(payload)
        elif kind == EVENT:
            self._hear(payload)

    def _hear(self, line: bytes) -> None:
        """One line of an agent. One that says nothing is left out: it is the agent's own, and no damage."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            self.events.append(cast("dict[str, Any]", event))

    @property
    def work(self) -> Work | None:
        """What an agent did; None where there was none."""
        return work_of(self.events) if self.events else None

    def so_far(self) -> tuple[str, str]:
        """What it has printed until now, as far as the record keeps it."""
        out, err = (_decode(bytes(head)) for head in self.head)
        return out, err

    def result(self, bounds: Bounds, reason: str | None) -> Result:
        """The result, from its record. `reason` is why we asked it to end."""
        end = self.end
        if end is None:
            return lost(self, "its shim ended before it")
        if end.get("refused") is not None:
            return Result(None, None, "", "", 0, 0, refused=end["refused"])
        texts = [whole(bytes(h), bytes(t), n) for h, t, n in zip(self.head, self.tail, end["total"], strict=True)]
        (stdout, stdout_cut), (stderr, stderr_cut) = texts
        files = [name for name, written in zip(STREAMS, end["spilled"], strict=True) if written]
        return Result(
            exit_code=end["exit"],
            signal=end["signal"],
            stdout=stdout,
            stderr=stderr,
            stdout_cut=stdout_cut,
            stderr_cut=stderr_cut,
            ended_by=None if end["ended_by"] is None else _in_words(end["ended_by"], bounds, reason or end["words"]),
            used=Used(end["wall"], end["cpu"], end["peak"], sum(end["total"]), end["survivors"], proved=end["proved"]),
            asked=end["found"],
            killed=tuple(end["killed"]),
            files=(*files, *(("files",) if end["left"] else ())),
            work=self.work,
        )


def lost(gathered: Gathered, why: str) -> Result:
    """The result of a run that nobody saw end: what it had printed, and what was done about the rest of it."""
    stdout, stderr = gathered.so_far()
    cleared = gathered.cleared
    why = gathered.damage or why
    if cleared is not None and cleared["survivors"]:
        why += f"; {cleared['survivors']} process(es) that it left were killed: {', '.join(cleared['killed'])}"
    if cleared is None or not cleared["proved"]:
        why += "; it is not proved that nothing of it is left"
    killed = tuple(cleared["killed"]) if cleared else ()
    return Result(None, None, stdout, stderr, 0, 0, lost=why, killed=killed, work=gathered.work)


def _in_words(kind: str, bounds: Bounds, reason: str | None) -> str:
    if kind == "asked":
        return reason or "asked to end by a signal to its shim"
    if kind == "wall" and bounds.by_script:
        return f"script limit of {duration_words(round(bounds.wall_s))} reached"
    said: Mapping[str, str] = {
        "wall": f"of {duration_words(round(bounds.wall_s))} reached",
        "idle": f"of {duration_words(round(bounds.idle_s or 0))} reached: it printed nothing and gave no beat for so long",
        "output": f"of {size_words(bounds.output_bytes)} reached",
        "memory": f"of {size_words(bounds.memory_bytes or 0)} reached",
        "cpu": f"of {duration_words(round(bounds.cpu_s or 0))} reached",
        "process": f"of {bounds.processes} processes reached",
    }
    return f"{kind} limit {said[kind]}"


def size_words(size: int) -> str:
    """A number of bytes, in the largest unit that it is a whole number of."""
    for factor, unit in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} bytes"


def spool_of(home: str) -> str:
    """The folder of a home's spools."""
    return os.path.join(os.path.realpath(home), "state", "spool")


def read(path: str, run_id: str) -> Gathered | None:
    """All that a spool holds about a run; None where it holds nothing about it."""
    found: Gathered | None = None
    try:
        for run, kind, payload in _history(path):
            if run == run_id:
                found = found or Gathered(run_id)
                found.take(kind, payload)
    except (Damaged, Newer) as error:
        if found is not None and found.end is None:
            found.damage = f"its spool cannot be read to its end: {error}"
    return found


def history(path: str) -> Iterator[tuple[str | None, int, bytes]]:
    """The records of a spool, each with the run that it is about. Ends at what is torn, damaged, or from a newer version."""
    with contextlib.suppress(Damaged, Newer):
        yield from _history(path)


def _history(path: str) -> Iterator[tuple[str | None, int, bytes]]:
    """The same. Raises Damaged, Newer."""
    run: str | None = None
    for kind, payload, _ in records(_content(path)):
        if kind in (STARTED, RESULT):  # a run that was over at once has its result only
            try:
                run = json.loads(payload)["run"]
            except (ValueError, LookupError, TypeError) as error:
                raise Damaged(f"a record of kind {kind} without a run") from error
        yield run, kind, payload
        if kind == RESULT:
            run = None


def is_free(path: str) -> bool:
    """Whether nobody holds the file's lock: then nothing more will be written to it. So it is where there is no file."""
    try:
        fd = os.open(path, PLAIN)
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def found(folder: str) -> list[str]:
    """The regular files below a folder, as paths in it; the first of them. No link is followed."""
    names: list[str] = []
    for at, folders, files in os.walk(folder):
        folders.sort()
        names += [os.path.relpath(os.path.join(at, name), folder) for name in sorted(files) if _is_file(at, name)]
        if len(names) >= FOUND_MAX:
            break
    return names[:FOUND_MAX]


def _is_file(folder: str, name: str) -> bool:
    try:
        return S_ISREG(os.lstat(os.path.join(folder, name)).st_mode)
    except OSError:
        return False


def redact_file(path: str, redact: Callable[[bytes], bytes]) -> None:
    """Write a file anew without what `redact` takes out, however long its lines are."""
    try:
        with open(path, "rb") as whole, open(f"{path}.new", "wb", opener=_private) as clean:
            rest = b""
            while block := whole.read(BLOCK_BYTES):
                rest += block
                if at := _parted(rest, redact):
                    clean.write(redact(rest[:at]))
                    rest = rest[at:]
            clean.write(redact(rest))
        os.replace(f"{path}.new", path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(f"{path}.new")
        with contextlib.suppress(OSError):
            os.unlink(path)  # there is no room for it without what must not be kept


def _parted(data: bytes, redact: Callable[[bytes], bytes]) -> int:
    """Where it can be cut so that nothing is cut that has to be taken out; 0 where no such place was found."""
    for at in range(len(data) - NEAR_BYTES, 0, -NEAR_BYTES):
        before, after = data[max(0, at - NEAR_BYTES) : at], data[at : at + NEAR_BYTES]
        if redact(before) + redact(after) == redact(before + after):
            return at
    return len(data) if len(data) > BLOCKS_MAX * BLOCK_BYTES else 0  # no secret is as long as that


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _content(path: str) -> bytes:
    try:
        with open(os.open(path, PLAIN), "rb") as file:
            return file.read() if S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""


def whole(head: bytes, tail: bytes, total: int) -> tuple[str, int]:
    """The kept text, and how many bytes were cut out of its middle."""
    cut = total - len(head) - len(tail)
    if cut <= 0:
        return _decode(head + tail), 0
    return f"{_decode(head)}\n[... {cut} bytes cut ...]\n{_decode(tail)}", cut


def _decode(data: bytes) -> str:
    """Undecodable bytes become U+FFFD, NUL its picture."""
    return data.decode("utf-8", "replace").replace("\0", "\u2400")
