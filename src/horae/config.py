"""The environment: where the home is, and what surrounds us. The only module that reads it. Imports next to nothing."""

from __future__ import annotations

import os
import pwd
import sys

STORE = "HORAE_STORE"


def home_path(option: str | None) -> str:
    """The home folder: the option, else HORAE_HOME, else ~/.horae."""
    chosen = option or os.environ.get("HORAE_HOME") or os.path.join("~", ".horae")
    return os.path.abspath(os.path.expanduser(chosen))


def cluster(home: str) -> bool:
    """Whether the home's store is a shared database; the settings say which, and check it."""
    if os.environ.get(STORE):
        return True
    try:
        with open(os.path.join(home, "config.toml"), "rb") as file:
            top = file.read().split(b"\n[", 1)[0]
    except OSError:
        return False  # who reads the settings says what is wrong
    keys = [line.split(b"=", 1)[0].strip() for line in top.split(b"\n") if b"=" in line]
    return b"store" in keys and not top.startswith(b"[")


def environment() -> dict[str, str]:
    """A copy of the process's environment."""
    return dict(os.environ)


def actor() -> str:
    """Who is at the keyboard, for the journal."""
    named = os.environ.get("SUDO_USER") or os.environ.get("USER") or os.environ.get("LOGNAME")
    if named:
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


SHIMS = (b"horae-shim", b"horae-template")  # what they call themselves to the kernel; no run can rename them


def editor() -> str:
    """The editor that this person uses."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"


def colours() -> bool:
    """Whether to colour what is printed: on a terminal, unless NO_COLOR says no."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def inside_run() -> str | None:
    """The id of the run that this process belongs to, or None."""
    return os.environ.get("HORAE_RUN_ID") or ("of unknown id" if below_shim(os.getpid()) else None)


def below_shim(pid: int) -> bool:
    """Whether a process is one of a run, whatever has become of its environment: something above it is a shim.

    One that is gone may have been one: whoever asks and does not wait is not believed.
    """
    first, missing = pid, 0
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                said = file.read()
        except OSError:
            if pid == first:
                return sys.platform == "linux"
            if pid == missing:  # somebody else's, and hidden
                return False
            pid, missing = first, pid  # it ended meanwhile; now something else is above
            continue
        name, _, rest = said.partition(b" (")[2].rpartition(b") ")
        if name in SHIMS:
            return True
        pid = int(rest.split()[1])
    return False
