"""The gateway's side of its shims: a template process that forks them, and for each a socket and a spool.

The pool grows with demand, and shrinks when shims have been idle for a while. A shim that may not take another run (it
could not prove itself empty, its run left files, its template is gone) is let go: its socket is closed, and it ends.

Nothing here waits for a run when the gateway ends: sockets close, shims finish what they do.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from horae.errors import Exhausted
from horae.limits import SHIM_IDLE_S, SHIMS_WARM, SPOOL_BYTES
from horae.runners.room import HINT, exhausted
from horae.runners.scopes import Scopes
from horae.runners.shim.spool import ENDED, RESULT, Damaged, Newer, records
from horae.runners.spools import READ_BYTES, Gathered, is_free

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN = f"import sys; sys.path.insert(0, {ROOT!r}); from horae.runners.shim.template import main; main(3)"
LOOK_EVERY_S = 0.02
ANSWER_S = 5.0  # a fork takes a millisecond
FEW_BYTES = 16384  # most records of a run; a longer one is read again as a whole
SCOPE_LOOKS = 50  # a second: systemd carries out its orders a moment later

log = logging.getLogger("horae.runners")


class Shim:
    """One shim, as its gateway sees it."""

    def __init__(self, stem: str, channel: socket.socket, spool: int, pid: int) -> None:
        self.path, self.folder = f"{stem}.log", f"{stem}.d"
        self.channel = channel
        self._pid = pid
        self.sound = True
        """Whether it may take another run."""
        self.left = False
        """Whether its run is left to itself: the next gateway needs its spool."""
        self.closed = False
        self.idle_since_s = 0.0
        self.run: Gathered | None = None
        """What is known of the run that it carries out."""
        self._over: asyncio.Future[None] | None = None
        self._started: Callable[[Gathered], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._spool = spool
        self._at = 0
        self._ordered = self._ended = 0
        """How many runs it was given, and of how many it has said that they are over."""
        self._sending = asyncio.Lock()
        """So that a message is not sent in the middle of another one, which is sent in parts."""

    @property
    def alive(self) -> bool:
        """Whether its end of the socket is open."""
        return _is_open(self.channel)

    @property
    def is_watched(self) -> bool:
        """Whether its end would be noticed at once."""
        return self._loop is asyncio.get_running_loop()

    async def carry_out(
        self, order: dict[str, Any], started: Callable[[Gathered], None], *, collected: bool
    ) -> Gathered:
        """Give it an order, and gather what comes of it until its result is there or its spool will never have it.

        `collected` says whether nobody needs any more what its spool holds.
        """
        loop = asyncio.get_running_loop()
        if (
            self._loop is not loop
        ):  # for as long as it lives: to begin and end it with each run costs as much as the rest
            self._loop, self._sending = loop, asyncio.Lock()
            loop.add_reader(self.channel.fileno(), self._rung)
        gathered = self.run = Gathered(order["run"])
        self._over, self._started = loop.create_future(), started
        fresh = self._at > SPOOL_BYTES and collected
        if fresh:
            self._at = 0
        self._ordered += 1
        try:
            await self.tell({"run": {**order, "fresh": fresh}})
            await self._over
            while gathered.end is None and not is_free(self.path):  # noqa: ASYNC110  it is gone, and cleaned up after
                await asyncio.sleep(LOOK_EVERY_S)
            self._collect(gathered)
        finally:
            self.run = self._over = self._started = None
        if gathered.end is None or gathered.end.get("left") or not gathered.end.get("proved", True):
            self.sound = False
        return gathered

    async def tell(self, message: dict[str, Any]) -> None:
        """Send it a message. One that is gone is noticed elsewhere."""
        said = json.dumps(message, separators=(",", ":")).encode()
        data = len(said).to_bytes(4, "little") + said
        async with self._sending:
            with contextlib.suppress(OSError):
                await self._send(data)

    async def _send(self, data: bytes) -> None:
        try:
            sent = self.channel.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            await asyncio.get_running_loop().sock_sendall(self.channel, data[sent:])

    def go_on(self) -> None:
        """It should have ended its run by now: its program may have stopped it."""
        if not self.closed and self.alive:  # so its number is its own
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGCONT)

    def close(self) -> None:
        """Let go of it: it ends after what it does."""
        if not self.closed:
            self._unwatch()
            self.sound, self.closed = False, True
            self.channel.close()
            os.close(self._spool)

    def remove(self) -> None:
        """Its spool has been collected."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def _unwatch(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self.channel.fileno())
        self._loop = None

    def _rung(self) -> None:
        """It has written something, or is gone."""
        try:
            said = self.channel.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        there = said != b""
        self._ended += said.count(ENDED)
        gathered = self.run
        if gathered is not None:
            known = gathered.pid
            self._collect(gathered)
            if gathered.end is None and self._ended == self._ordered:
                self._damaged(gathered, "the result that was written is not to be found")
            if known is None and gathered.pid is not None and self._started is not None:
                self._started(gathered)
        if not there:
            self._unwatch()
            self.sound = False
        ended = not there or (gathered is not None and gathered.end is not None)
        if ended and self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _collect(self, gathered: Gathered) -> None:
        """Take in what is new in the spool."""
        size = FEW_BYTES
        while gathered.end is None and (data := os.pread(self._spool, size, self._at)):
            read = 0
            try:
                for kind, payload, end in records(data):
                    gathered.take(kind, payload)
                    read = end
                    if kind == RESULT:
                        break
            except (Damaged, Newer) as error:
                self._damaged(gathered, f"{error}, counted from byte {self._at}")
                return
            self._at += read
            if read == 0 and (len(data) < size or size == READ_BYTES):
                return
            size = READ_BYTES if read == 0 else FEW_BYTES

    def _damaged(self, gathered: Gathered, why: str) -> None:
        """Nothing behind it can be believed: let the shim end after its run."""
        if gathered.damage is None:
            log.error("%s: %s", self.path, why)
            gathered.damage = f"its spool cannot be read to its end: {why}"
        self.sound = False
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_WR)


def _is_open(channel: socket.socket) -> bool:
    """Whether somebody holds the other end."""
    try:
        return channel.recv(4096, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


class Pool:
    """The shims of one gateway."""

    def __init__(self, folder: str, name: str, base: dict[str, Any], scopes: Scopes) -> None:
        """`folder` is where spools lie; `base` is what each shim is told at its birth."""
        self._scopes = scopes
        self._folder = folder
        self._name = name
        self._base = base
        self._count = 0
        self._idle: list[Shim] = []
        self.busy: dict[str, Shim] = {}
        self.uncollected: dict[str, Shim] = {}
        """Whose spool has the results of runs that nobody has stored yet."""
        self._template: socket.socket | None = None
        self._template_pid = 0
        self._gate: int | None = None
        self._forking: asyncio.Lock | None = None
        self._closed = False

    async def take(self, run_id: str) -> Shim:
        """A shim for a run. Raises Exhausted when the machine has no room for one more process."""
        while self._idle:
            shim = self._idle.pop()
            if shim.sound and (shim.is_watched or shim.alive):
                break
            self._let_go(shim)
        else:
            shim = await self._fork()
        self.busy[run_id] = shim
        return shim

    async def warm(self) -> None:
        """Have shims ready before they are needed."""
        while len(self._idle) < SHIMS_WARM:
            shim = await self._fork()
            shim.idle_since_s = asyncio.get_running_loop().time()
            self._idle.append(shim)

    def give_back(self, run_id: str) -> None:
        """Its run is over and collected, or nobody waits for it any more."""
        shim = self.busy.pop(run_id)
        if not shim.sound or shim.left or self._closed:
            self._let_go(shim)
            return
        shim.idle_since_s = asyncio.get_running_loop().time()
        self._idle.append(shim)
        self.shrink()

    def collected(self, run_id: str) -> None:
        """The result of a run is stored."""
        shim = self.uncollected.pop(run_id, None)
        if shim is not None and shim.closed and self.is_collected(shim):
            shim.remove()

    def is_collected(self, shim: Shim) -> bool:
        """Whether all results that its spool holds are stored."""
        return shim not in self.uncollected.values()

    def shrink(self) -> None:
        """Let go of what has been idle for long."""
        now = asyncio.get_running_loop().time()
        while len(self._idle) > SHIMS_WARM and now - self._idle[0].idle_since_s > SHIM_IDLE_S:
            self._let_go(self._idle.pop(0))

    def close(self) -> None:
        """Let go of everything. What runs, runs on."""
        self._closed = True
        for shim in self._idle:
            self._let_go(shim)
        self._idle = []
        if self._template is not None:
            with contextlib.suppress(RuntimeError):  # no loop runs any more
                asyncio.get_running_loop().remove_reader(self._template.fileno())
            self._template.close()
            self._template = None
        self._reap()
        if self._gate is not None:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, f"{self._name}.gate"))
            os.close(self._gate)
            self._gate = None

    def _let_go(self, shim: Shim) -> None:
        shim.close()
        if not shim.left and self.is_collected(shim):
            shim.remove()
        with contextlib.suppress(OSError):
            os.rmdir(shim.folder)

    def _reap(self) -> None:
        if self._template_pid:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(self._template_pid, os.WNOHANG)[0]:
                    self._template_pid = 0

    # ── template

    async def _fork(self) -> Shim:
        self._forking = self._forking or asyncio.Lock()
        async with self._forking:
            for _ in range(2):
                try:
                    return await self._forked(self._template or self._start())
                except ConnectionError:
                    self._template_is_gone()
                except OSError as error:
                    refusal = exhausted(error) or Exhausted(f"no shim could be made: {error}", HINT)
                    raise refusal from error
            raise Exhausted("the process that starts programs ends as soon as it has begun", HINT)

    async def _forked(self, template: socket.socket) -> Shim:
        """Ask for one shim. Raises OSError, of which ConnectionError says that the template is gone."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # somebody may have taken it away
        self._count += 1
        stem = os.path.join(self._folder, f"{self._name}-{self._count}")
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            channel, end = socket.socketpair()
            ours.callback(channel.close)
            theirs.callback(end.close)
            channel.settimeout(0)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            spool = os.open(f"{stem}.log", flags, 0o600)
            theirs.callback(os.close, spool)
            ours.callback(os.unlink, f"{stem}.log")
            fcntl.flock(spool, fcntl.LOCK_EX)
            reading = os.open(f"{stem}.log", os.O_RDONLY | os.O_CLOEXEC)
            ours.callback(os.close, reading)
            base = {**self._base, "name": os.path.basename(stem), "folder": f"{stem}.d"}
            socket.send_fds(template, [json.dumps(base).encode()], [end.fileno(), spool])
            answer = json.loads(await self._in_time(template))
            if "errno" in answer:
                raise OSError(answer["errno"], os.strerror(answer["errno"]))
            ours.pop_all()
        asyncio.get_running_loop().add_reader(template.fileno(), self._look_at_template)
        shim = Shim(stem, channel, reading, answer["pid"])
        if await asyncio.to_thread(self._in_scope, os.path.basename(stem), answer["pid"]):
            await shim.tell({"scope": True})
        return shim

    def _in_scope(self, name: str, pid: int) -> bool:
        """Give a shim a scope of its own. Where none can be had it stays a plain process."""
        usable, _ = self._scopes.usable()
        if not usable:
            return False
        why = self._scopes.adopt(name, pid)
        for _ in range(SCOPE_LOOKS if why is None else 0):
            if self._scopes.holds(name, pid):
                return True
            time.sleep(LOOK_EVERY_S)
        log.warning("a shim has no scope of its own: %s", why or "systemd did not move it in time")
        return False

    async def _in_time(self, template: socket.socket) -> bytes:
        """Its answer. One that stands still is as good as gone."""
        try:
            return await asyncio.wait_for(self._answer(template), ANSWER_S)
        except TimeoutError:
            raise ConnectionResetError(errno.ECONNRESET, "the template does not answer") from None

    @staticmethod
    async def _answer(template: socket.socket) -> bytes:
        data = b""
        while not data.endswith(b"\n"):
            more = await asyncio.get_running_loop().sock_recv(template, 4096)
            if not more:
                raise ConnectionResetError(errno.ECONNRESET, "the template is gone")
            data += more
        return data

    def _start(self) -> socket.socket:
        """Start the template process."""
        self._reap()
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        os.makedirs(self._base["output"], mode=0o700, exist_ok=True)
        if self._gate is None:
            gate = os.path.join(self._folder, f"{self._name}.gate")
            self._gate = os.open(gate, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._gate, fcntl.LOCK_EX)
        ours, theirs = socket.socketpair()
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        said = os.open(
            os.path.join(self._folder, "errors.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        actions = [
            (os.POSIX_SPAWN_DUP2, nothing, 0),
            (os.POSIX_SPAWN_DUP2, said, 1),
            (os.POSIX_SPAWN_DUP2, said, 2),
            (os.POSIX_SPAWN_DUP2, theirs.fileno(), 3),
        ]
        try:
            argv = [sys.executable, "-IS", "-X", "utf8", "-c", BEGIN]
            self._template_pid = os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsigmask=[])
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(nothing)
            os.close(said)
        ours.settimeout(0)
        self._template = ours
        return ours

    def _look_at_template(self) -> None:
        """It says nothing that it was not asked for: it has ended."""
        if self._template is not None and not _is_open(self._template):
            self._template_is_gone()

    def _template_is_gone(self) -> None:
        """Its shims go on, but nobody would clean up after them: they may not take another run."""
        if self._template is not None:
            asyncio.get_running_loop().remove_reader(self._template.fileno())
            self._template.close()
            self._template = None
        for shim in (*self._idle, *self.busy.values()):
            shim.sound = False
