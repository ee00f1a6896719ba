"""A program behind walls: bubblewrap shows it a system that it cannot write to, and takes the network away if asked.

What it finds: the whole file system read-only; a /tmp, /var/tmp and /run of its own, empty; a small /dev; only its own
processes in /proc. /run is emptied because a read-only socket can still be talked to, and there are the ones that start
programs outside of every wall. `net` leaves it the machine's network, and so also what listens on it; `strict` leaves none.

Of the paths that a job names the longest decides: a folder may be written to within a home that may not, and a hidden one
within that is hidden. Hand in *folders* to be hidden: a file that is replaced by another of its name, as secrets are when
they are saved, is seen again from then on.

Three choices about processes, for whoever watches the run:

- It has process numbers of its own, and bubblewrap stays as number 1 of them. When that dies the kernel kills the rest, so
  nothing can stay behind, and no process in there is ever handed to a subreaper outside. The program is not number 1 itself
  (`--as-pid-1`): number 1 does not take TERM, and nobody would have noticed the dead.
- `--die-with-parent` is not used. A shim that was killed loses its run to whoever looks for orphans, which finds it by its
  environment as any other; with it, a run would depend on the thread that happened to start it.
- TERM must not go to the process that was started: that is a bubblewrap outside, which would end at once and take the
  grace from the program. Send it to everything *below*; number 1 ignores it, the others get it. What ends the program by a
  signal N comes out as exit status 128 + N.

It must be started outside of any Landlock domain, which forbids what bubblewrap does first: to mount.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence

from horae.ports.command import Said
from horae.runners.command import ask

MODES = ("strict", "net")
OWN = ("/tmp", "/var/tmp", "/run")  # noqa: S108  they are what is replaced
RESOLVER = "/etc/resolv.conf"
POINTS_OUTSIDE = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR")  # variables that name what is not there
TRIAL_S = 3.0
INSTALL = "install it: `apt install bubblewrap`, `dnf install bubblewrap`, or the like"
SWITCHES = {  # under /proc/sys → (the value that forbids it, what to do)
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "AppArmor keeps ordinary users from making name spaces: load a profile for bwrap that has `userns,` in it",
    ),
    "kernel/unprivileged_userns_clone": ("0", "`sysctl -w kernel.unprivileged_userns_clone=1` allows name spaces"),
    "user/max_user_namespaces": ("0", "`sysctl -w user.max_user_namespaces=10000` allows name spaces"),
}
ELSE = "the kernel refuses name spaces here: in a container, allow them when it is started, or do without a sandbox"

_worked: set[tuple[str, str]] = set()


def sandboxed(
    argv: Sequence[str],
    mode: str,
    *,
    cwd: str,
    writable: Sequence[str] = (),
    hidden: Sequence[str] = (),
    readable: Sequence[str] = (),
    shows_named: bool = True,
    bwrap: str = "bwrap",
) -> tuple[str, ...]:
    """The words that start `argv` behind the walls of `mode`.

    `readable` are folders that must stay in sight wherever they are, within a hidden one too. The working directory and the
    files that `argv` names do by themselves, but not within a hidden one: a job says them. What does not exist is left out.
    Not so where `shows_named` is False: the words of an agent open nothing.
    """
    named = [cwd, *(word for word in argv if os.path.isabs(word))] if shows_named else []
    if mode == "net":
        named.append(RESOLVER)  # mostly a link into /run
    rules = _rules(named, readable, writable, hidden)
    return (
        bwrap,
        "--unshare-user-try",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup-try",
        *(("--unshare-net",) if mode != "net" else ()),
        *("--cap-drop", "ALL"),
        *("--ro-bind", "/", "/"),
        *("--dev", "/dev"),
        *("--proc", "/proc"),
        *(word for path, kind in rules.items() for word in _mount(path, kind)),
        *(
            word
            for path, kind in rules.items()
            if kind == "hidden" and os.path.isdir(path)
            for word in ("--remount-ro", path)
        ),
        *(word for name in POINTS_OUTSIDE for word in ("--unsetenv", name)),
        *("--chdir", cwd),
        "--",
        *argv,
    )


def _rules(
    named: Sequence[str], readable: Sequence[str], writable: Sequence[str], hidden: Sequence[str]
) -> dict[str, str]:
    """What is to be done with which path, each before what lies below it. Links are resolved: a mount goes through none."""
    found: dict[str, str] = {}
    for kind, paths in (("own", OWN), ("seen", readable), ("writable", writable), ("hidden", hidden)):  # the later wins
        for path in paths:
            real = os.path.realpath(path)
            if real != "/" and os.path.exists(real):
                found[real] = kind
    for path in named:  # a job says these: they are shown where a folder was emptied, and nowhere that was hidden
        real = os.path.realpath(path)
        if real not in found and os.path.exists(real) and _nearest(real, found) == "own":
            found[real] = "seen"
    return {path: found[path] for path in sorted(found, key=lambda path: (path.count("/"), path))}


def _nearest(path: str, rules: Mapping[str, str]) -> str | None:
    """What is done with the folder that a path lies in."""
    for above in _above(path):
        if above in rules:
            return rules[above]
        if above == "/dev/shm":  # noqa: S108  of /dev only this holds anything that a job could name
            return "own"
    return None


def _above(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) != "/":
        yield path


def _mount(path: str, kind: str) -> tuple[str, ...]:
    if kind == "writable":
        return ("--bind", path, path)
    if kind == "seen":
        return ("--ro-bind", path, path)
    if kind == "own" or os.path.isdir(path):
        return ("--tmpfs", path)
    return ("--ro-bind", os.devnull, path)


def problem(mode: str, path_env: str, sysctl: str = "/proc/sys") -> str | None:
    """Why a program cannot be put behind the walls of `mode` here, and what to do; None when it can.

    It is tried, since no setting alone tells. What worked once is not tried again. Blocks for some seconds at most.
    """
    if mode not in MODES:
        return f"there is no sandbox {mode!r}: it is one of {', '.join(MODES)}"
    bwrap = shutil.which("bwrap", path=path_env)
    if bwrap is None:
        return f"sandbox {mode}: bubblewrap (bwrap) is not on this machine; {INSTALL}"
    if (mode, bwrap) in _worked:
        return None
    true = shutil.which("true", path=path_env) or "/bin/true"
    said = ask(sandboxed((true,), mode, cwd="/", bwrap=bwrap), {"PATH": path_env}, TRIAL_S)
    if said.ok:
        _worked.add((mode, bwrap))
        return None
    return f"sandbox {mode}: bubblewrap cannot build it here ({said.words}); {_remedy(said, sysctl)}"


def _remedy(said: Said, sysctl: str) -> str:
    if "nknown option" in said.err:
        return "that bubblewrap is too old: 0.4 or newer is needed"
    if said.code is None:
        return "try it by hand: `bwrap --ro-bind / / true`"
    for name, (forbids, remedy) in SWITCHES.items():
        try:
            with open(os.path.join(sysctl, name), encoding="ascii") as file:
                if file.read().strip() == forbids:
                    return remedy
        except OSError:
            continue
    return ELSE
