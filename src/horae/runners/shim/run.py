"""One run, from its order to its result: start the program, watch it, end it where it must be ended, prove it gone.

It ends when its main process does, even if something that this left behind still holds its pipes. What is left is killed
and named. It is over only when no child is left (`ECHILD`), or when the record says that this could not be proved.

An agent's main process is no program: it is forked from this one, which has its libraries loaded (`agent.py`), and has a third
pipe, on which it tells what it does, one line for each event. They become records as they come, and each is a sign of life.

Whoever ends it says why: `wall`, `idle`, `output`, `memory`, `cpu`, `process`, or `asked`. First all of the tree is asked
to end; what is still there after the grace is killed. To ask again kills at once.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import time
from functools import partial

from horae.runners.shim.agent import Events, fork_agent
from horae.runners.shim.capture import Capture
from horae.runners.shim.spool import OUTPUT, RESULT, STARTED, TAIL, printed, told
from horae.runners.shim.tree import Tree, born, calm
from horae.runners.shim.usage import Usage, beat_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from horae.runners.shim.cgroup import Box

READ_BYTES = 65536
DRAIN_READS_MAX = 64  # after the end: what is in the pipe, but not for ever from a child that goes on writing
FLUSH_S = 0.05  # so long what is new may wait, so that a burst of output is few records, and a short run is one write
UNTOLD_S = 0.02  # between looks for the end of what nothing tells of
PROOF_S = 10.0  # so long a tree may take to be gone after KILL; then the record says that it is not proved
NAMES_MAX = 20  # of those that had to be killed
BEAT = ".beat"
EVENTS = 2  # the pipe behind those of the two streams
DEFAULTS = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD]
_SESSION: dict[str, Any] = {"setsid": True} if sys.platform == "linux" else {"setpgroup": 0}


class Run:
    """One run. `put` takes records, `settle` waits until they are written, `wait` is a look at what happens."""

    def __init__(
        self,
        order: dict[str, Any],
        folder: str,
        output: str,
        free: Callable[[Callable[[], int | None]], int | None],
        box: Box | None = None,
    ) -> None:
        """`free` has something done that a thread behind walls may not do."""
        self.order = order
        self._box = box
        if box is not None:
            box.limit(memory=order["memory"], pids=order["processes"])
        self.id: str = order["run"]
        self._folder = folder
        self._output = output
        self._tree = Tree()
        self._usage = Usage(order, self._tree)
        self._captures = [
            Capture(order["kept"], partial(free, self._spill(name)), order["output"]) for name in ("stdout", "stderr")
        ]
        self._events = Events()
        self._beat: int | None = None
        """When it was last touched, by whatever clock."""
        self._untouched = _changed_at(folder)
        self.tidy = False
        """Whether the folder is as it was given, for the next run."""
        self.pipes: dict[int, int] = {}
        self._pid = 0
        self.pidfd: int | None = None
        """Readable when the main process has ended; None where there is no such thing, and afterwards."""
        self._status: int | None = None
        self._empty = False
        self._ended_by: str | None = None
        self._words: str | None = None
        self._found: int | None = None
        self._kill_at = 0.0
        self._killed: list[str] = []
        self._hurried = False
        self._spent = 0.0
        self._peak = 0
        self._printed = 0
        self._began = self._last = time.monotonic()
        self._began_at = time.time()
        self._flush_at: float | None = None
        self._told = False

    # ── start

    def begin(self, poll: select.poll) -> bytes | None:
        """Start the program. Returns the result's record where it could not be."""
        order = self.order
        env = {**order["env"], "HORAE_OUTPUT": self._folder, "HORAE_BEAT": os.path.join(self._folder, BEAT)}
        opened: list[int] = []
        ends: list[int] = []
        try:
            for _ in range(2 if "task" not in order else 3):
                r, w = os.pipe()
                opened.append(r)
                ends.append(w)
                os.set_blocking(r, False)
            os.chdir(order["cwd"])
            self._pid = (
                self._spawned(env, ends) if "task" not in order else fork_agent(order["task"], env, ends, DEFAULTS)
            )
        except (OSError, ValueError) as error:
            for fd in opened:
                os.close(fd)
            code = error.errno if isinstance(error, OSError) else None
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return refused(self.id, why, code)
        finally:
            for fd in ends:
                os.close(fd)
            os.chdir("/")
        self.pipes = {fd: number for number, fd in enumerate(opened)}
        for fd in opened:
            poll.register(fd, select.POLLIN)
        try:
            self.pidfd = os.pidfd_open(self._pid)
            poll.register(self.pidfd, select.POLLIN)
        except (AttributeError, OSError):
            self.pidfd = None
        now = time.monotonic()
        self._began = self._last = now
        self._usage.begin(self._pid, now)
        if self._box is not None:
            self._box.add(self._pid)
        self._flush_at = now + FLUSH_S
        return None

    def _spawned(self, env: dict[str, str], ends: list[int]) -> int:
        actions = [(os.POSIX_SPAWN_DUP2, ends[0], 1), (os.POSIX_SPAWN_DUP2, ends[1], 2)]
        argv = self.order["argv"]
        return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsigmask=[], setsigdef=DEFAULTS, **_SESSION)

    # ── watch

    def timeout_ms(self) -> int:
        """How long nothing has to be looked at."""
        wanted: list[float] = []
        if self._ended_by is None:
            wanted += [self._usage.next_at, self._began + self.order["wall"]]
            if self.order["idle"] is not None:
                wanted.append(self._last + self.order["idle"])
        else:
            wanted.append(self._kill_at)
        if self._flush_at is not None:
            wanted.append(self._flush_at)
        if self.pidfd is None:  # the main process has ended and others are waited for, or nothing tells of its end
            wanted.append(time.monotonic() + UNTOLD_S)
        return max(0, int((min(wanted) - time.monotonic()) * 1000) + 1)

    def read(self, fd: int, poll: select.poll) -> bool:
        """Take what a pipe holds. False when it holds nothing, or nobody writes to it any more."""
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            poll.unregister(fd)
            del self.pipes[fd]
            os.close(fd)
            return False
        self._take(fd, data)
        self._last = time.monotonic()
        if self._flush_at is None:
            self._flush_at = self._last + FLUSH_S
        return True

    def forget(self, poll: select.poll) -> None:
        """The main process needs no watching any more."""
        if self.pidfd is not None:
            poll.unregister(self.pidfd)
            os.close(self.pidfd)
            self.pidfd = None

    def reap(self) -> bool:
        """Take note of what has ended. Whether no child is left."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self._empty = True
                return True
            if pid == 0:
                return False
            self._spent += used.ru_utime + used.ru_stime
            self._peak = max(self._peak, used.ru_maxrss * (1024 if sys.platform == "linux" else 1))
            if pid == self._pid:
                self._status = status

    def end(self, why: str, words: str | None = None) -> None:
        """Ask the tree to end; asked again, kill it at once. `words` are those of whoever asks."""
        now = time.monotonic()
        if self._ended_by is not None:
            self._kill_at = now
            return
        self._ended_by, self._words = why, words
        self._kill_at = now + self.order["grace"]
        self._found = self._tree.ask(self._group, self._pid if self.order["boxed"] else None)

    def over(self) -> bool:
        """Look at the limits, and whether there is nothing more to wait for."""
        now = time.monotonic()
        if self.pidfd is None and not self._empty:
            self.reap()
        if self._status is not None and (self._empty or self._ended_by is None):
            return True
        if self._ended_by is not None:
            if now >= self._kill_at:
                self._clear()
                return self._status is not None or not self._empty  # not even KILL ends it
            return False
        why = self._passed(now)
        if why is not None:
            self.end(why)
        return False

    def news(self) -> bytes:
        """The records that are due to be written."""
        now = time.monotonic()
        if self._flush_at is None or now < self._flush_at:
            return b""
        self._flush_at = None
        return self._take_news()

    def _take_news(self) -> bytes:
        news: list[bytes] = []
        if not self._told and (
            self._status is None or self._printed or self._events.any
        ):  # else the result is all that there is to tell
            self._told = True
            since = born(self._pid) if self._status is None else 0
            news.append(told(STARTED, run=self.id, pid=self._pid, born=since, at=self._began_at))
        news += self._events.fresh()
        for number, capture in enumerate(self._captures, 1):
            if data := capture.fresh():
                news += printed(OUTPUT, number, data)
        return b"".join(news)

    def _take(self, fd: int, data: bytes) -> None:
        stream = self.pipes[fd]
        if stream == EVENTS:
            self._events.feed(data)
        else:
            self._captures[stream].feed(data)
            self._printed += len(data)

    def _passed(self, now: float) -> str | None:
        """Which limit was passed."""
        order = self.order
        if now >= self._began + order["wall"]:
            return "wall"
        if self._printed > order["output"]:
            return "output"
        if order["idle"] is not None and now >= self._last + order["idle"]:
            beat = beat_at(os.path.join(self._folder, BEAT))
            if beat is None or beat == self._beat:
                return "idle"
            self._beat = beat
            age = time.time() - beat / 1e9
            self._last = now - (age if 0 <= age < order["idle"] else 0.0)  # a clock that tells nothing: now
        if now >= self._usage.next_at:
            self.reap()  # orphans that have ended: nobody else takes note of them
            return self._usage.look(now, self._spent)
        return None

    # ── end

    def finish(self) -> tuple[bytes, bool]:
        """Prove that nothing is left, and make the last records. Says whether it has left files in its own folder."""
        took = time.monotonic() - self._began
        for fd in list(self.pipes):
            for _ in range(DRAIN_READS_MAX):
                if not self._last_read(fd):
                    break
        if not self._empty and not self.reap():
            self._clear()
        self._leave_box()
        for fd in self.pipes:
            os.close(fd)
        self.pipes = {}
        news = [self._take_news()]
        for number, capture in enumerate(self._captures, 1):
            capture.close()
            if tail := capture.tail():
                news += printed(TAIL, number, tail)
        status = self._status
        code = None if status is None or not os.WIFEXITED(status) else os.WEXITSTATUS(status)
        number = None if status is None or not os.WIFSIGNALED(status) else os.WTERMSIG(status)
        news.append(
            told(
                RESULT, run=self.id, exit=code, signal=number, ended_by=self._ended_by, words=self._words,
                found=self._found,
                wall=took, cpu=self._spent, peak=max(self._peak, self._usage.peak),
                total=[capture.total for capture in self._captures],
                spilled=[capture.written for capture in self._captures],
                killed=self._killed[:NAMES_MAX], survivors=len(self._killed), proved=self._empty, left=(left := self._left()),
            )
        )  # fmt: skip
        if self._hurried:
            calm()
        return b"".join(news), left

    @property
    def proved(self) -> bool:
        """Whether nothing of it is left."""
        return self._empty

    @property
    def _group(self) -> int | None:
        """The group of the main process, for as long as nobody else can have its number."""
        return self._pid if self._status is None else None

    def _clear(self) -> None:
        ended = self._status is not None
        self._hurried = True
        kill = None if self._box is None else self._box.kill
        names, _ = self._tree.clear(self._group, self.reap, PROOF_S, self._pid, kill)
        self._killed += names
        if not ended:
            self._kill_at = time.monotonic()

    def _leave_box(self) -> None:
        """What the kernel says about its limits, and the end of its box."""
        if self._box is None:
            return
        happened = self._box.events()
        if self._ended_by is None and self._status and happened["oom_kill"]:
            self._ended_by = "memory"
        elif self._ended_by is None and self._status and happened["pids_max"]:
            self._ended_by = "process"
        self._peak = max(self._peak, self._box.peak() or 0)
        self._box.close()

    def _last_read(self, fd: int) -> bool:
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            self._take(fd, data)
        return bool(data)

    def _left(self) -> bool:
        """Whether it has left files in its own folder, which was empty when it began."""
        try:
            if _changed_at(self._folder) == self._untouched:
                self.tidy = True
                return False
            mode = os.lstat(self._folder).st_mode
            self.tidy = mode == stat.S_IFDIR | 0o700
            if not stat.S_ISDIR(mode):
                return False
            if mode & 0o700 != 0o700:
                os.chmod(self._folder, 0o700)
            names = os.listdir(self._folder)
        except OSError:
            return False
        if names == [BEAT]:
            try:
                os.unlink(os.path.join(self._folder, BEAT))
            except OSError:
                return True
            return False
        return bool(names)

    def _spill(self, name: str) -> Callable[[], int | None]:
        def open_file() -> int | None:
            folder = os.path.join(self._output, self.id)
            try:
                os.makedirs(folder, mode=0o700, exist_ok=True)
                return os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            except OSError:
                return None

        return open_file


def refused(run: str, why: str, code: int | None) -> bytes:
    """The record of a run that could not be started."""
    return told(RESULT, run=run, refused=why, errno=code)


def _changed_at(path: str) -> int:
    try:
        return os.lstat(path).st_ctime_ns  # nobody can set it back
    except OSError:
        return 0
