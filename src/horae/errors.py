"""Everything that can go wrong and that a person can act on, as one tree.

    Problem                     code           exit  meaning
    ├── Invalid                 invalid         2    a value, a file or an option is not what was expected
    │   └── Usage               usage           2    the command line itself
    ├── NotFound                not_found       3    nothing has that name
    │   └── Ambiguous           ambiguous       3    several have it; the candidates are in `details`
    ├── Refused                 refused         4    a rule says no; the hint names the way round
    │   └── NewerStore          newer_store     4    the database was written by a newer Horae
    ├── Unavailable             unavailable     5    no gateway, or it does not answer
    ├── Conflict                conflict        6    changed meanwhile, or a lock is held
    │   └── Stale               stale           6    the writer no longer owns what it writes to (engine only)
    └── Trouble                 trouble         1    the machine: disk full, not writable, database damaged
        └── Exhausted           exhausted       1    it has no room for another process (engine only)

A failed *job* is not an exception: it is a `core.model.Ending`. What is raised here is raised once, where it is noticed,
and shown once, by a face. Anything that is not a `Problem` is a bug of ours and is shown as such.

This module imports nothing, so that the command line starts fast.
"""

from __future__ import annotations


class Problem(Exception):
    """Base of the tree. `message` says what is wrong and where, `hint` what to do, `details` is for programs."""

    code = "problem"
    exit_status = 1

    def __init__(self, message: str, hint: str | None = None, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def as_json(self) -> dict[str, object]:
        """The `error` object of the command line's JSON (see docs/reference/cli.md)."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "details": self.details}


class Invalid(Problem):
    """A value is not what was expected. For files, `details` holds `file`, `line`, `key` and `expected`."""

    code = "invalid"
    exit_status = 2


class Usage(Invalid):
    """The command line cannot be understood."""

    code = "usage"


class NotFound(Problem):
    """Nothing has that id, name, slot or number."""

    code = "not_found"
    exit_status = 3


class Ambiguous(NotFound):
    """More than one thing answers to that name; `details["candidates"]` lists them."""

    code = "ambiguous"


class Refused(Problem):
    """A rule forbids it. The message names the rule, the hint the way round."""

    code = "refused"
    exit_status = 4


class NewerStore(Refused):
    """The database belongs to a newer version of Horae; it is left untouched."""

    code = "newer_store"


class Unavailable(Problem):
    """No gateway runs for this home, or it does not answer."""

    code = "unavailable"
    exit_status = 5


class Conflict(Problem):
    """Somebody else changed it meanwhile, or holds the lock."""

    code = "conflict"
    exit_status = 6


class Stale(Conflict):
    """The writer's token or the expected state no longer holds: another owner has moved this row on."""

    code = "stale"


class Trouble(Problem):
    """The machine is in the way: a full disk, a folder that cannot be written, a damaged database."""

    code = "trouble"


class Exhausted(Trouble):
    """The machine has no room for another process. Nothing has begun."""

    code = "exhausted"


def tree(root: type[Problem] = Problem) -> list[type[Problem]]:
    """All classes of the tree, parents first. What a store raises for itself elsewhere is shown as its parent."""
    found = [root]
    for child in root.__subclasses__():
        if child.__module__ == __name__:
            found += tree(child)
    return found


def by_code(code: str) -> type[Problem]:
    """The class for a code that came over the control socket."""
    return next((cls for cls in tree() if cls.code == code), Problem)
