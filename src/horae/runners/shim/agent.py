"""The main process of an agent's run: a fork of its shim, which has the agent's libraries loaded.

A program is exec'ed and begins with nothing; an agent begins with everything that took seconds to load. So it is forked,
here, from a shim of the template that loaded them (`template.main(preload=…)`), and calls the one function that was named
to it. It keeps nothing of the shim's: no descriptor but its three pipes, no signal handler, no environment.

What it tells are lines. Each becomes one `EVENT` record; a line that is longer than a record may be, or with which all that
is kept would be more than `EVENTS_BYTES_MAX`, is left out: the process bounds what it tells, and this is the net below it.
Which lines are kept does not depend on how they arrive.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import sys

from horae.runners.shim.spool import EVENT, PAYLOAD_BYTES_MAX, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

EVENTS_BYTES_MAX = 16 * 1024 * 1024
TOLD_ON = 3  # the descriptor on which the agent tells what it does
FAULT = 70  # its exit status after a fault of ours, as sysexits.h has it
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)  # as any Python has it: who is gone is an error of one call, not our end


class Agent:
    """The function that works for an agent: set once, by the template that has loaded it."""

    work: Callable[[dict[str, Any], int], int] | None = None


class Events:
    """What an agent has told and was not written yet."""

    def __init__(self) -> None:
        self._rest = b""
        self._lines: list[bytes] = []
        self._total = 0
        self._skips = False
        self.any = False

    def feed(self, data: bytes) -> None:
        """Take in what was read."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            whole, self._skips = not self._skips, False
            if line and whole and len(line) <= PAYLOAD_BYTES_MAX and self._total + len(line) <= EVENTS_BYTES_MAX:
                self._total += len(line)
                self._lines.append(line)
                self.any = True
        if len(self._rest) > PAYLOAD_BYTES_MAX:
            self._rest, self._skips = b"", True

    def fresh(self) -> list[bytes]:
        """The records of what was not told yet."""
        lines, self._lines = self._lines, []
        return [frame(EVENT, line) for line in lines]


def fork_agent(task: dict[str, Any], env: dict[str, str], pipes: list[int], defaults: Iterable[signal.Signals]) -> int:
    """Start it; returns its number. Raises OSError, and ValueError where this shim has no agent loaded."""
    if Agent.work is None:
        raise ValueError("the process that starts agents has none loaded")
    pid = os.fork()
    if pid == 0:
        _become(Agent.work, task, env, pipes, defaults)
    return pid


def _become(
    work: Callable[[dict[str, Any], int], int],
    task: dict[str, Any],
    env: dict[str, str],
    pipes: list[int],
    defaults: Iterable[signal.Signals],
) -> NoReturn:
    status = FAULT
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        kept = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in (nothing, *pipes)]  # above all that they are put on
        for number, fd in enumerate(kept):
            os.dup2(fd, number, inheritable=number < TOLD_ON)  # what the agent starts must not tell anything
        os.closerange(TOLD_ON + 1, 1 << 20)
        for number in defaults:
            signal.signal(number, signal.SIG_IGN if number in IGNORED else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.environ.clear()
        os.environ.update(env)
        gc.enable()
        done = work(task, TOLD_ON)
        sys.stdout.flush()
        status = done
    except BaseException:  # nothing of the shim's own may go on in here
        sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
    finally:
        try:
            sys.stderr.flush()
        finally:  # whatever that said
            os._exit(status)
