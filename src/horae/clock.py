"""The system's clocks. The only module that reads the time, and the only way to wait for it.

On Linux one timer descriptor waits for the wall clock itself: it fires at the instant however long the machine slept,
and the kernel cancels it when somebody sets the clock, so a step is noticed at once. Elsewhere short naps do the same
with up to a second's delay.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from horae.core.clockwatch import Reading

NAP_S = 1.0
CLOCK_REALTIME = 0
ABSOLUTE_AND_CANCEL_ON_SET = 1 | 2


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("it_interval", _Timespec), ("it_value", _Timespec))


class SystemClock:
    """The clocks of this machine."""

    def __init__(self) -> None:
        self._timer: int | None = None
        self._nap: asyncio.TimerHandle | None = None
        self._wake: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.now(UTC)

    def reading(self) -> Reading:
        """Wall, steady (sleep included) and awake clocks."""
        steady = time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()
        return Reading(time.time(), steady, time.monotonic())

    def arm(self, until: datetime, wake: Callable[[], None]) -> None:
        """See `ports.Clock`. Must be called on the event loop that waits."""
        self._wake = wake
        if sys.platform != "linux":
            self._arm_nap(until)
            return
        if self._timer is None:
            self._timer = int(_libc().timerfd_create(CLOCK_REALTIME, os.O_NONBLOCK | os.O_CLOEXEC))
            asyncio.get_running_loop().add_reader(self._timer, self._fired, self._timer)
        seconds = max(until.timestamp(), 1.0)
        spec = _Itimerspec(_Timespec(0, 0), _Timespec(int(seconds), int(seconds % 1 * 1e9)))
        if _libc().timerfd_settime(self._timer, ABSOLUTE_AND_CANCEL_ON_SET, ctypes.byref(spec), None) != 0:
            self._arm_nap(until)  # the clock was set since the last read: the descriptor reports it now

    def close(self) -> None:
        """Give the descriptor back."""
        if self._timer is not None:
            asyncio.get_running_loop().remove_reader(self._timer)
            os.close(self._timer)
            self._timer = None

    def _fired(self, timer: int) -> None:
        try:
            os.read(timer, 8)
        except BlockingIOError:
            return  # armed anew meanwhile
        except OSError:
            pass  # ECANCELED: the wall clock was set; whoever waits must look
        self._wake()

    def _arm_nap(self, until: datetime) -> None:
        if self._nap is not None:
            self._nap.cancel()
        left = (until - self.now()).total_seconds()
        self._nap = asyncio.get_running_loop().call_later(max(0.0, min(left, NAP_S)), self._wake)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
