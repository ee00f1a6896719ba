"""Who holds a home, and where its socket is.

A gateway holds an exclusive lock on `state/gateway.lock` for as long as it lives; the kernel drops it however the
process ends, so a stale lock cannot exist. The file says who. A path to a socket may have 107 bytes at most, so it is
reached through the folder's descriptor.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time

from horae.errors import Conflict, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCK = "gateway.lock"
SOCKET = "gateway.sock"
WEB = "web.lock"
PLACES_MAX = 8  # gateways of one home, where the store is shared
TRIES = 10
PAUSE_S = 0.05


def holder(home: str, number: int = 1) -> dict[str, Any] | None:
    """Who holds the home (or the n-th place in it) now: pid, since, version; None when nobody does."""
    path = os.path.join(home, "state", numbered(LOCK, number))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Trouble(
            f"{path} cannot be read: {error.strerror}", "check the owner and mode of the home", file=path
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _who(fd)
    finally:
        os.close(fd)
    return None


class HomeLock:
    """The exclusive hold of a gateway on its home; with a shared store, on one of several places in it."""

    def __init__(self, home: str, *, shared: bool = False) -> None:
        self._home = home
        self._shared = shared
        self._fd: int | None = None
        self.number = 1
        """Which place this is: it has a socket of its own."""

    def take(self, who: dict[str, Any]) -> None:
        """Take it or raise Conflict with who has it.

        A command that only looks holds the lock for an instant, so one refusal is not an answer yet.
        """
        for _ in range(TRIES - 1):
            try:
                self._try(who)
                return
            except Conflict:
                if self._shared and self.number < PLACES_MAX:
                    self.number += 1
                else:
                    time.sleep(PAUSE_S)
        try:
            self._try(who)
        except Conflict as refusal:
            if not self._shared:
                raise
            says = f"{PLACES_MAX} gateways run for this home already, and it has no more places"
            raise Conflict(says, "use another home with --home", **refusal.details) from None

    def _try(self, who: dict[str, Any]) -> None:
        path = os.path.join(self._home, "state", numbered(LOCK, self.number))
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # a home fresh from git has no state yet
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _who(fd)
            os.close(fd)
            raise Conflict(
                f"a gateway already runs for this home: pid {found.get('pid')}, since {found.get('since')}",
                "stop it first, or use another home with --home",
                holder=found,
            ) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(who).encode(), 0)
        self._fd = fd

    def tell(self, who: dict[str, Any]) -> None:
        """Say more of who holds it."""
        if self._fd is not None:
            said = json.dumps(who).encode()
            os.pwrite(self._fd, said, 0)
            os.ftruncate(self._fd, len(said))

    def release(self) -> None:
        """Let go."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None


def serves(home: str) -> str | None:
    """Where a dashboard is served that runs by itself; None when none does."""
    try:
        fd = os.open(os.path.join(home, "state", WEB), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _who(fd).get("web")
    finally:
        os.close(fd)
    return None


def serving_at(home: str, address: str) -> int | None:
    """Say so, for as long as the descriptor is open; None when another one has said it."""
    fd = os.open(os.path.join(home, "state", WEB), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    os.ftruncate(fd, 0)
    os.pwrite(fd, json.dumps({"web": address}).encode(), 0)
    return fd


def numbered(name: str, number: int) -> str:
    """The file of the n-th gateway of a home; the first one's has no number."""
    stem, ending = os.path.splitext(name)
    return name if number == 1 else f"{stem}-{number}{ending}"


def socket_path(home: str, number: int = 1) -> tuple[str, int | None]:
    """A path for bind and connect, and the descriptor that must stay open meanwhile (where the path would be too long)."""
    name = numbered(SOCKET, number)
    path = os.path.join(home, "state", name)
    if len(os.fsencode(path)) < 100 or sys.platform != "linux":
        return path, None
    fd = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return f"/proc/self/fd/{fd}/{name}", fd


def _who(fd: int) -> dict[str, Any]:
    try:
        return dict(json.loads(os.pread(fd, 4096, 0) or b"{}"))
    except ValueError:
        return {}
