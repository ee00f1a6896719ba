"""A box for one run: a control group of its own, in which it can be counted, bounded, frozen and killed as one.

Only version 2 of control groups is used. Its files are looked for where the process itself says that it is, below the mount
that its own mount table names, since a hybrid machine has it at /sys/fs/cgroup/unified and a container sees only a part.

A group holds either processes or groups with limits, never both, but for the root of all. So before limits can be had, the
shim moves into a leaf of its own beside the boxes. Where that cannot be done (somebody else's processes are in the same
group, or the controllers were not delegated) a box is still one: it can be killed as a whole, it only bounds nothing, and
`limit` says which limits it did not take.

A box is no wall: a program of the same user can leave it for any other group that this user may write to. A sandbox makes
these files read-only.

The shim loads this file, forked from an interpreter that has nothing but the standard library. It imports nothing of ours.
What cannot be done comes back as None or False; OSError never leaves it.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SELF = "/proc/self"
LEAF = "shim"
BOX = "run-"
WANTED = ("memory", "pids")
GROUPS_MAX = 1000  # of one box: a program that makes more hides in none of them, since killing is the kernel's
NAMED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
ESCAPED = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}  # how a path stands in a mount table


def mount_of(mountinfo: str) -> tuple[str, str] | None:
    """The root and the mount point of version 2, from the text of /proc/self/mountinfo."""
    for line in mountinfo.splitlines():
        before, found, after = line.partition(" - ")
        fields = before.split(" ")
        if found and after.split(" ")[0] == "cgroup2" and len(fields) > 4:
            return _unescaped(fields[3]), _unescaped(fields[4])
    return None


def own_group(proc: str = SELF) -> str | None:
    """The folder of the group that a process is in; None where there is none that can be seen from here."""
    groups, mounts = _read(os.path.join(proc, "cgroup")), _read(os.path.join(SELF, "mountinfo"))
    return None if groups is None or mounts is None else group_of(groups, mounts)


def group_of(groups: str, mountinfo: str) -> str | None:
    """The same from the texts of the two files."""
    path = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), None)
    mounted = mount_of(mountinfo)
    if path is None or mounted is None:
        return None
    root, point = mounted
    if root not in ("", "/"):
        if path != root and not path.startswith(f"{root}/"):
            return None
        path = path[len(root) :]
    if ".." in path.split("/"):  # it is outside of what this name space shows
        return None
    return os.path.join(point, path.strip("/")).rstrip("/")


def controllers(group: str) -> frozenset[str]:
    """What could be bounded below a group."""
    return frozenset((_read(os.path.join(group, "cgroup.controllers")) or "").split())


def delegated(group: str) -> frozenset[str]:
    """What the groups below it bound already."""
    return frozenset((_read(os.path.join(group, "cgroup.subtree_control")) or "").split())


def writable(group: str) -> bool:
    """Whether groups can be made there, and processes moved."""
    return os.access(group, os.W_OK) and os.access(os.path.join(group, "cgroup.procs"), os.W_OK)


def prepare(group: str, wanted: tuple[str, ...] = WANTED) -> frozenset[str]:
    """Have limits passed on to the groups below, moving ourselves aside if need be. Which of `wanted` there are now.

    To be called once, by the shim, before its first run.
    """
    missing = [name for name in wanted if name in controllers(group) - delegated(group)]
    for name in missing:
        if not _enable(group, name) and step_aside(group):
            _enable(group, name)
    return delegated(group) & frozenset(wanted)


def step_aside(group: str) -> bool:
    """Move this process into a leaf of its own."""
    leaf = os.path.join(group, LEAF)
    return _made(leaf) and _write(os.path.join(leaf, "cgroup.procs"), "0")


def _enable(group: str, name: str) -> bool:
    return _write(os.path.join(group, "cgroup.subtree_control"), f"+{name}")


class Box:
    """The group of one run."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def make(cls, group: str, name: str) -> Box | None:
        """An empty one below `group`; None when none can be made. One that an earlier run left is taken if it is empty."""
        path = os.path.join(group, BOX + "".join(char if char in NAMED else "_" for char in name))
        if not _made(path):
            return None
        box = cls(path)
        return box if box.procs() == [] else None

    @property
    def controllers(self) -> frozenset[str]:
        """What can be bounded in it."""
        return controllers(self.path)

    def limit(self, memory: int | None = None, pids: int | None = None) -> tuple[str, ...]:
        """Bound it. The names of the limits that could not be had; empty when all hold that were asked for."""
        failed: list[str] = []
        if memory is not None:
            if self._write("memory.max", str(memory)):
                self._write("memory.swap.max", "0")  # or it would only get slow; not there where swap is not counted
                self._write("memory.oom.group", "1")  # a program that lost one of its processes is no program any more
            else:
                failed.append("memory")
        if pids is not None and not self._write("pids.max", str(pids)):
            failed.append("pids")
        return tuple(failed)

    def enter(self) -> bool:
        """Move this process in; between fork and exec, so that the program never was anywhere else."""
        return self.add(0)

    def add(self, pid: int) -> bool:
        """Move a process in; what it started before stays where it is."""
        return self._write("cgroup.procs", str(pid))

    def procs(self) -> list[int] | None:
        """Who is in it, and in what it made below; None when nobody can say. The dead that wait to be taken note of are not."""
        found: set[int] = set()
        for group in self._groups():
            text = _read(os.path.join(group, "cgroup.procs"))
            if text is None and group == self.path:
                return None
            found.update(int(word) for word in (text or "").split() if word.isdigit())
        return sorted(found)

    def populated(self) -> bool | None:
        """Whether anything lives in it or below; None when nobody can say."""
        found = self._numbers("cgroup.events").get("populated")
        return None if found is None else found == 1

    def kill(self) -> bool:
        """Kill all at once, those too that are being born. False when that could not be said, or not for all."""
        if self._write("cgroup.kill", "1"):
            return True
        frozen = self.freeze(on=True)  # a kernel before 5.14: nobody forks meanwhile
        done = True
        for pid in self.procs() or ():
            if pid not in (0, os.getpid()):
                done = _killed(pid) and done
        if frozen:
            self.freeze(on=False)
        return done and frozen

    def freeze(self, *, on: bool) -> bool:
        """Stop all, or let all go on. The kernel does it a moment later; `frozen` tells."""
        return self._write("cgroup.freeze", "1" if on else "0")

    def frozen(self) -> bool | None:
        """Whether all have stopped."""
        found = self._numbers("cgroup.events").get("frozen")
        return None if found is None else found == 1

    def peak(self) -> int | None:
        """The most memory that it ever held, in bytes; None before Linux 5.19, and where memory is not counted."""
        text = (_read(os.path.join(self.path, "memory.peak")) or "").strip()
        return int(text) if text.isdigit() else None

    def events(self) -> dict[str, int | None]:
        """How often memory ended one of its processes, and how often it was refused another."""
        return {
            "oom_kill": self._numbers("memory.events").get("oom_kill"),
            "pids_max": self._numbers("pids.events").get("max"),
        }

    def close(self) -> bool:
        """Remove it with what it made below. False when something still lives in it."""
        for group in reversed(list(self._groups())):
            try:
                os.rmdir(group)
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return not os.path.isdir(self.path)

    def _groups(self) -> Iterator[str]:
        """It and all below, each before what is below it."""
        left, count = [self.path], 0
        while left and count < GROUPS_MAX:
            group = left.pop()
            count += 1
            yield group
            try:
                with os.scandir(group) as entries:
                    left += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue

    def _numbers(self, name: str) -> dict[str, int]:
        lines = (line.split() for line in (_read(os.path.join(self.path, name)) or "").splitlines())
        return {words[0]: int(words[1]) for words in lines if len(words) == 2 and words[1].isdigit()}

    def _write(self, name: str, text: str) -> bool:
        return _write(os.path.join(self.path, name), text)


def _made(path: str) -> bool:
    try:
        os.mkdir(path)
    except FileExistsError:
        return os.path.isdir(path)
    except OSError:
        return False
    return True


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _write(path: str, text: str) -> bool:
    """One write: the kernel takes what it is given by one call or not at all. Never makes a file that is not there."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(fd, text.encode()) == len(text)
    except OSError:
        return False
    finally:
        os.close(fd)


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return True


def _unescaped(text: str) -> str:
    for escaped, char in ESCAPED.items():  # the backslash last
        text = text.replace(escaped, char)
    return text
