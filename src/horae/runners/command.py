"""Short questions to programs of the system, each with a bound, and messages for programs of the user.

A program that hangs is ended with all that it started, or what it holds open would be waited for. Nothing is raised: see
`ports.command`.

`tell` hands a text to a program that may be anything: one that does not read it, that prints without end, or that leaves
something behind which holds its output open. So the text is a file and no pipe, of what is printed only the beginning is
kept, and once the program has ended nobody is waited for any more. What runs when the gateway ends is ended by `end_told`.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Self

from horae.ports.command import Said
from horae.timing.durations import duration_words

ASK_S = 2.0  # a manager that is well answers within some milliseconds
BUS = "DBUS_SESSION_BUS_ADDRESS"
RUNTIME = "XDG_RUNTIME_DIR"
TOLD_BYTES_MAX = 64 * 1024  # of each stream that is kept of what a program says to a message
LAST_WORDS_S = 0.2  # for what a program wrote directly before it ended


def ask(argv: Sequence[str], env: Mapping[str, str] | None, timeout_s: float = ASK_S) -> Said:
    """Run it to its end. Blocks for `timeout_s` at most; the program is looked for on the PATH of `env`, None is our own."""
    words = tuple(argv)
    try:
        process = subprocess.Popen(
            words,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return _not_started(words, error)
    with process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            end_group(process)
            return Said(words, None, why=f"no answer within {duration_words(max(1, round(timeout_s)))}")
        except BaseException:
            end_group(process)
            raise
    return Said(words, process.returncode, out, err)


def tell(argv: Sequence[str], text: str, env: Mapping[str, str], timeout_s: float) -> Said:
    """Run it with a text on its standard input. Blocks for `timeout_s` at most.

    `code` is None only when nothing was started. One that did not end in time is ended, and has the code of that signal.
    """
    words = tuple(argv)
    try:
        with tempfile.TemporaryFile() as given:
            given.write(text.encode("utf-8", "replace"))
            given.seek(0)
            process = subprocess.Popen(
                words,
                env=dict(env),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        return _not_started(words, error)
    _told.add(process)
    with _Listener(process) as listener:
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            process.wait()
            why = f"no answer within {duration_words(max(1, round(timeout_s)))}"
            return Said(words, -signal.SIGKILL, *listener.heard(), why=why)
        except BaseException:
            _kill_group(process)
            process.wait()
            raise
        finally:
            _told.discard(process)
        out, err = listener.heard()
    why = f"ended by {_signal_name(-process.returncode)}" if process.returncode < 0 else None
    return Said(words, process.returncode, out, err, why=why)


def _not_started(words: tuple[str, ...], error: OSError | ValueError) -> Said:
    if isinstance(error, FileNotFoundError):
        return Said(words, None, why=f"{words[0]} is not on this machine", missing=True)
    return Said(words, None, why=str(getattr(error, "strerror", None) or error))


_told: set[subprocess.Popen[bytes]] = set()  # those that run


def end_told() -> None:
    """End programs that still have a message: nobody waits for their answers any more, nor bounds them."""
    for process in tuple(_told):
        if process.poll() is None:
            _kill_group(process)


class _Listener:
    """Reads what a process prints, keeps the beginning, and stops when it is told to, whoever still holds the pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
        self._pipes = pipes
        self._kept = {pipe.fileno(): bytearray() for pipe in pipes}
        self._enough, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="told", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._wake)  # seen as its end by whoever reads
        self._thread.join()
        os.close(self._enough)
        for pipe in self._pipes:
            pipe.close()

    def heard(self) -> tuple[str, str]:
        """What was printed until now; what was written directly before the end is waited for."""
        self._thread.join(LAST_WORDS_S)
        out, err = (bytes(kept).decode("utf-8", "replace") for kept in self._kept.values())
        return out, err

    def _listen(self) -> None:
        with selectors.DefaultSelector() as ready:
            for file in (self._enough, *self._kept):
                ready.register(file, selectors.EVENT_READ)
            while len(ready.get_map()) > 1:
                for key, _ in ready.select():
                    if key.fd == self._enough:
                        return
                    data = os.read(key.fd, 65536)
                    if not data:
                        ready.unregister(key.fd)
                    kept = self._kept[key.fd]
                    kept += data[: TOLD_BYTES_MAX - len(kept)]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def end_group(process: subprocess.Popen[str]) -> None:
    """End a program with what it started, and take note of its end; what still holds its pipes is not waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def with_bus(env: Mapping[str, str], uid: int, root: str = "/run/user") -> dict[str, str]:
    """The environment in which a person's own manager is found: after `su` or in a cron job its folder is not named."""
    folder = os.path.join(root, str(uid))
    if env.get(RUNTIME) or env.get(BUS) or not os.path.isdir(folder):
        return dict(env)
    return {**env, RUNTIME: folder}
