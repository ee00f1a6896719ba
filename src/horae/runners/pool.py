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
import socket
import sys
import time
from typing import Any

from horae.errors import Exhausted
from horae.limits import SHIM_IDLE_S, SHIMS_WARM
from horae.runners.liveshim import LOOK_EVERY_S, LiveShim, is_open
from horae.runners.room import HINT, exhausted
from horae.runners.scopes import Scopes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN = (
    f"import sys; sys.path.insert(0, {ROOT!r}); from horae.runners.shim.template import main; main(3, *sys.argv[1:])"
)
BARE = ("-IS",)  # nothing but the standard library ...
LOADED = ("-I",)  # ... and with what is installed
LOADED_S = 120.0  # so long libraries may take to be loaded, on a machine that is busy
ANSWER_S = 5.0  # a fork takes a millisecond
SCOPE_LOOKS = 50  # a second: systemd carries out its orders a moment later

log = logging.getLogger("horae.runners")


class Pool:
    """The shims of one gateway."""

    def __init__(
        self,
        folder: str,
        name: str,
        base: dict[str, Any],
        scopes: Scopes,
        *,
        preload: str | None = None,
        warm: int = SHIMS_WARM,
    ) -> None:
        """`folder` is where spools lie; `base` is what each shim is told at its birth.

        `preload` is a module that shims have loaded, whose `main` works for agents; `warm` shims are kept.
        """
        self._preload = preload
        self._warm = warm
        self._scopes = scopes
        self._folder = folder
        self.name = name
        self._base = base
        self._count = 0
        self._idle: list[LiveShim] = []
        self.busy: dict[str, LiveShim] = {}
        self.uncollected: dict[str, LiveShim] = {}
        """Whose spool has the results of runs that nobody has stored yet."""
        self._template: socket.socket | None = None
        self._template_pid = 0
        self._gate: int | None = None
        self._forking: asyncio.Lock | None = None
        self._closed = False

    async def take(self, run_id: str) -> LiveShim:
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
        while len(self._idle) < self._warm:
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

    def is_collected(self, shim: LiveShim) -> bool:
        """Whether all results that its spool holds are stored."""
        return shim not in self.uncollected.values()

    def shrink(self) -> None:
        """Let go of what has been idle for long."""
        now = asyncio.get_running_loop().time()
        while len(self._idle) > self._warm and now - self._idle[0].idle_since_s > SHIM_IDLE_S:
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
                os.unlink(os.path.join(self._folder, f"{self.name}.gate"))
            os.close(self._gate)
            self._gate = None

    def _let_go(self, shim: LiveShim) -> None:
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

    async def _fork(self) -> LiveShim:
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

    async def _forked(self, template: socket.socket) -> LiveShim:
        """Ask for one shim. Raises OSError, of which ConnectionError says that the template is gone."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # somebody may have taken it away
        self._count += 1
        stem = os.path.join(self._folder, f"{self.name}-{self._count}")
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
        shim = LiveShim(stem, channel, reading, answer["pid"])
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
            return await asyncio.wait_for(self._answer(template), ANSWER_S if self._preload is None else LOADED_S)
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
            gate = os.path.join(self._folder, f"{self.name}.gate")
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
            loads = (BARE, ()) if self._preload is None else (LOADED, (self._preload,))
            argv = [sys.executable, *loads[0], "-X", "utf8", "-c", BEGIN, *loads[1]]
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
        if self._template is not None and not is_open(self._template):
            self._template_is_gone()

    def _template_is_gone(self) -> None:
        """Its shims go on, but nobody would clean up after them: they may not take another run."""
        if self._template is not None:
            asyncio.get_running_loop().remove_reader(self._template.fileno())
            self._template.close()
            self._template = None
        for shim in (*self._idle, *self.busy.values()):
            shim.sound = False
