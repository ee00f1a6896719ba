"""The skills of a home as the machine sees them: `skills/<name>/`, each with a SKILL.md and perhaps files beside it.

A folder is read as a stranger's: regular files only, no link anywhere, names that people can read, and bounds on number,
size and depth. What is copied has the hash of what was judged. A skill is put into its place by one rename, so it is there
as a whole or not at all; one that is replaced is moved away directly before, and back if that fails.

What was read of a skill is kept until `stat` says that one of its files has changed: preflight asks before each run.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from horae.core.agentfacts import SkillText
from horae.core.guard import Finding, refusal, scan, warning_words
from horae.core.skill import FILE, NAMED, Kept, is_skill_name, parse
from horae.core.text import one_line
from horae.core.unseen import unseen
from horae.errors import Conflict, Invalid, NotFound, Problem, Refused, Trouble
from horae.limits import SKILL_BYTES_MAX, SKILL_DEPTH_MAX, SKILL_FILES_MAX, SKILL_TEXT_BYTES_MAX, SKILLS_MAX

LEFT_OUT = (".git", "__pycache__", ".DS_Store")
BEING_WRITTEN = ".horae-"  # begins the names of folders that are not in their place
PROSE = ("", ".md", ".markdown", ".txt", ".rst")  # endings of what an agent reads; all else is a program
WARNINGS_MAX = 5  # of one skill

Entry = tuple[str, int, int, int, int, int]
"""Path, and what `stat` says: number, size, times, mode."""


class SkillFolder:
    """One folder of skills. It need not exist."""

    def __init__(self, root: str) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Of all that look like skills, sorted. Raises Trouble."""
        try:
            with os.scandir(self.root) as entries:
                found = [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _trouble(self.root, "read", error) from error
        return sorted(found)[:SKILLS_MAX]

    def load(self, name: str) -> Kept:
        """One skill. Raises NotFound, Invalid, Refused, Trouble."""
        folder = os.path.join(self.root, name)
        if not is_skill_name(name) or not os.path.lexists(folder):
            near = difflib.get_close_matches(name, self.names(), 3)
            hint = (
                f"did you mean {' or '.join(near)}?"
                if near
                else "`horae skills` lists them; `horae skills add` takes one"
            )
            raise NotFound(f"there is no skill {one_line(name, 80)} in {self.root}", hint, name=name)
        if os.path.islink(folder):
            raise Refused(f"skill {name} is a link", f"`horae skills add` copies a folder into {self.root}", name=name)
        return _kept(folder, name, _listed(folder))

    def look(self, folder: str, name: str | None) -> Kept:
        """A folder that is to become a skill. Raises NotFound, Invalid, Refused, Trouble."""
        path = os.path.realpath(folder)
        if not os.path.isdir(path):
            raise NotFound(f"{folder} is not a folder", f"name the folder that {FILE} is in", name=folder)
        wanted = name or os.path.basename(path)
        kept = _kept(path, wanted, _listed(path))
        wanted = name or kept.skill.name
        if not is_skill_name(wanted):
            raise Invalid(
                f"a skill cannot be called {one_line(wanted, 80)!r}",
                f"a name has {NAMED}; say `--name NAME`",
                name=wanted,
            )
        return kept if kept.name == wanted else _kept(path, wanted, _listed(path))

    def put(self, kept: Kept, *, replace: bool) -> None:
        """Copy what was looked at into its place. Raises Conflict, Refused, Trouble; then nothing has changed."""
        place = os.path.join(self.root, kept.name)
        if os.path.lexists(place) and not replace:
            raise Conflict(
                f"there already is a skill {kept.name}", "`--replace` puts this one in its place", name=kept.name
            )
        if not os.path.lexists(place) and len(self.names()) >= SKILLS_MAX:
            raise Refused(f"there are {SKILLS_MAX} skills already", "remove one that no job uses")
        made: str | None = None
        try:
            os.makedirs(self.root, exist_ok=True)
            made = tempfile.mkdtemp(prefix=BEING_WRITTEN, dir=self.root)
            contents = _contents(kept.folder, _listed(kept.folder))
            if _digest(contents) != kept.sha256:
                raise Conflict(f"{kept.folder} was changed meanwhile; nothing was taken", "look at it, and try again")
            _write(os.path.join(made, "new"), contents)
            if os.path.lexists(place):
                os.rename(place, os.path.join(made, "old"))
            os.rename(os.path.join(made, "new"), place)
        except OSError as error:
            if made is not None and os.path.lexists(os.path.join(made, "old")) and not os.path.lexists(place):
                with contextlib.suppress(OSError):
                    os.rename(os.path.join(made, "old"), place)
            raise _trouble(place, "written", error) from error
        finally:
            if made is not None:
                shutil.rmtree(made, ignore_errors=True)

    def remove(self, name: str) -> None:
        """Take one away. Raises NotFound, Trouble."""
        place = os.path.join(self.root, name)
        if not is_skill_name(name) or not os.path.lexists(place):
            self.load(name)  # says so
        try:
            if os.path.islink(place) or not os.path.isdir(place):
                os.unlink(place)
                return
            gone = tempfile.mkdtemp(prefix=BEING_WRITTEN, dir=self.root)
            os.rename(place, os.path.join(gone, "old"))
        except OSError as error:
            raise _trouble(place, "removed", error) from error
        shutil.rmtree(gone, ignore_errors=True)

    def missing(self, kept: Kept, path: str) -> tuple[str, ...]:
        """The programs that it needs and that are not on this machine."""
        return tuple(command for command in kept.skill.needs.commands if shutil.which(command, path=path) is None)


def skills_for(
    names: Sequence[str],
    folder: str,
    path: str,
    env: Collection[str],
    secrets: Collection[str],
    tools: Collection[str],
) -> tuple[list[SkillText], tuple[str, ...], tuple[str, ...]]:
    """The skills of a job in its order, what stands against it, and what is to be known.

    `env` and `secrets` are names of what the run gets, `tools` the toolsets that it is granted.
    """
    shelf = SkillFolder(folder)
    found: list[SkillText] = []
    problems: list[str] = []
    warnings: list[str] = []
    for name in dict.fromkeys(names):
        try:
            kept = shelf.load(name)
        except Problem as problem:
            problems.append(
                f"skill {one_line(name, 80)}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
            )
            continue
        found.append(SkillText(name, kept.skill.body, kept.folder, kept.sha256))
        problems += refusals(kept)
        problems += _unmet(kept, shelf.missing(kept, path), env, secrets, tools)
        warnings += notices(kept)
        wishes = [wish for wish in kept.skill.needs.wishes if wish not in tools]
        if wishes:
            warnings.append(f"skill {name} speaks of tools that the job does not grant: {', '.join(wishes)}")
    return found, tuple(problems), tuple(warnings)


def refusals(kept: Kept) -> list[str]:
    """What the guards say against it."""
    items = [(file, item) for file, item in kept.found if item.severity == "refuse"]
    return [refusal(item, f"skill {kept.name}, {file}, line {item.line}", "edit the skill") for file, item in items]


def notices(kept: Kept) -> list[str]:
    """What the guards warn of; of many the first."""
    items = [(file, item) for file, item in kept.found if item.severity == "warn"]
    return [warning_words(item, f"skill {kept.name}, {file}") for file, item in items[:WARNINGS_MAX]]


def _unmet(
    kept: Kept, missing: Sequence[str], env: Collection[str], secrets: Collection[str], tools: Collection[str]
) -> Iterator[str]:
    needs, who = kept.skill.needs, f"skill {kept.name}"
    for name in needs.env:
        if name not in env and name not in secrets:
            yield f"{who} needs the variable {name}, which the run does not get: set it, and name it in the job's `env`"
    for name in needs.secrets:
        if name not in secrets:
            yield f"{who} needs the secret {name}: name it in the job's `secrets`"
    for name in missing:
        yield f"{who} needs the program {name}, which is not on this machine"
    for name in needs.tools:
        if name not in tools:
            yield f"{who} needs the toolset {name}, which the job's `tools` do not grant"


def _listed(folder: str) -> tuple[Entry, ...]:
    """Every file of a folder, sorted. Raises Refused for what has no place in a skill, Trouble."""
    found: list[Entry] = []
    try:
        _walk(folder, "", 0, found)
    except OSError as error:
        raise _trouble(error.filename or folder, "read", error) from error
    if sum(entry[2] for entry in found) > SKILL_BYTES_MAX:
        raise Refused(f"{folder} has more than {SKILL_BYTES_MAX // 1024} KiB", "leave out what the text does not need")
    return tuple(sorted(found))


def _walk(folder: str, below: str, depth: int, found: list[Entry]) -> None:
    if depth > SKILL_DEPTH_MAX:
        raise Refused(f"{folder} is deeper than {SKILL_DEPTH_MAX} folders", "put the files higher up")
    with os.scandir(os.path.join(folder, below)) as entries:
        for entry in entries:
            if entry.name in LEFT_OUT:
                continue
            path = f"{below}{entry.name}"
            if not entry.name.isprintable() or "\\" in entry.name or next(unseen(entry.name), None) is not None:
                raise Refused(f"{folder} has a file with an unreadable name: {one_line(path, 200)}", "rename it")
            about = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                _walk(folder, f"{path}/", depth + 1, found)
            elif stat.S_ISREG(about.st_mode):
                found.append(
                    (path, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_mode & 0o111)
                )
            else:
                what = "a link" if stat.S_ISLNK(about.st_mode) else "no regular file"
                raise Refused(f"{os.path.join(folder, path)} is {what}", "a skill has regular files only", file=path)
            if len(found) > SKILL_FILES_MAX:
                raise Refused(
                    f"{folder} has more than {SKILL_FILES_MAX} files", "leave out what the text does not need"
                )


@lru_cache(SKILLS_MAX)
def _kept(folder: str, name: str, listed: tuple[Entry, ...]) -> Kept:
    """A skill as it is now: read, hashed and looked through."""
    contents = _contents(folder, listed)
    if FILE not in contents:
        raise Invalid(f"{folder} has no {FILE}", f"a skill is a folder with a {FILE}", file=os.path.join(folder, FILE))
    shown = os.path.join(folder, FILE)
    data = contents[FILE][0]
    if len(data) > SKILL_TEXT_BYTES_MAX:
        hint = "put what is long into files beside it"
        raise Invalid(f"{shown} is larger than {SKILL_TEXT_BYTES_MAX // 1024} KiB", hint, file=shown)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{shown}, line {line}: is not UTF-8 text", "save it as UTF-8", file=shown, line=line) from None
    skill = parse(text, shown, name)
    files = tuple((path, len(content)) for path, (content, _) in contents.items())
    return Kept(name, skill, folder, _digest(contents), files, tuple(_findings(contents)))


def _findings(contents: dict[str, tuple[bytes, bool]]) -> Iterator[tuple[str, Finding]]:
    for path, (content, _) in contents.items():
        if b"\0" in content:
            continue  # no text
        where = "skill" if os.path.splitext(path)[1].lower() in PROSE else "script"
        yield from ((path, item) for item in scan(content.decode("utf-8", "replace"), where))


def _contents(folder: str, listed: Sequence[Entry]) -> dict[str, tuple[bytes, bool]]:
    """Path → content, and whether it may be started. No link is followed on the way."""
    found: dict[str, tuple[bytes, bool]] = {}
    left = SKILL_BYTES_MAX
    try:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for path, *_, mode in listed:
                content = _content(root, path.split("/"), left + 1)
                left -= len(content)
                if left < 0:
                    raise Refused(
                        f"{folder} has more than {SKILL_BYTES_MAX // 1024} KiB", "leave out what it does not need"
                    )
                found[path] = (content, bool(mode))
        finally:
            os.close(root)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused(f"{folder} has a link in it", "a skill has regular files only") from error
        raise _trouble(folder, "read", error) from error
    return found


def _content(root: int, parts: Sequence[str], most: int) -> bytes:
    held = os.dup(root)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=held)
            os.close(held)
            held = below
        handle = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=held)
    finally:
        os.close(held)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Refused(f"{'/'.join(parts)} is no regular file", "a skill has regular files only")
        return file.read(most)


def _digest(contents: dict[str, tuple[bytes, bool]]) -> str:
    whole = hashlib.sha256()
    for path, (content, _) in sorted(contents.items()):
        name = path.encode("utf-8", "surrogatepass")
        whole.update(b"%d:%s%d:" % (len(name), name, len(content)))
        whole.update(content)
    return whole.hexdigest()


def _write(place: str, contents: dict[str, tuple[bytes, bool]]) -> None:
    for path, (content, may_start) in contents.items():
        target = os.path.join(place, *path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = 0o755 if may_start else 0o644
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)


def _trouble(path: str, verb: str, error: OSError) -> Trouble:
    says = (error.strerror or str(error)).lower()
    return Trouble(f"{path} cannot be {verb}: {says}", "check its owner and mode, and the free space", file=path)
