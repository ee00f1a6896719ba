"""A helper program of ours that a gateway keeps beside itself: the dashboard, as long as somebody visits it.

It is handed a socket that the gateway goes on holding, so no visitor is refused while it starts, stops or is started anew.
It is in a session of its own, since Ctrl-C is the gateway's to hear, and ends with the gateway: it is asked to when that
stops, and finds its standard input closed when that is killed.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping, Sequence

ENDS_WITHIN_S = 5.0


class Attendant:
    """One such process."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], fds: Sequence[int]) -> None:
        self._process = subprocess.Popen(
            list(argv), env=dict(env), stdin=subprocess.PIPE, pass_fds=tuple(fds), start_new_session=True
        )

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def wait(self) -> int:
        """Wait for its end; returns its exit status."""
        return self._process.wait()

    def end(self) -> None:
        """Ask it to end, and end it when it does not."""
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._process.terminate()
            try:
                self._process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
