"""What the machine says when it has no room for one more: of all errors those that pass, and say nothing about the job."""

from __future__ import annotations

import errno

from horae.errors import Exhausted
from horae.runners.spools import Gathered

NO_ROOM = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
HINT = "look at what else runs on it, and at its limits of processes and open files"


def exhausted(error: BaseException) -> Exhausted | None:
    """The error as such a refusal; None for any other."""
    if not isinstance(error, OSError) or error.errno not in NO_ROOM:
        return None
    return Exhausted(f"the machine has no room for another process ({error.strerror})", HINT)


def no_room(gathered: Gathered) -> Exhausted | None:
    """The same of a run that its shim could not start for want of room."""
    end = gathered.end or {}
    if end.get("refused") is None or end["errno"] not in NO_ROOM:
        return None
    return Exhausted(f"the machine has no room for another process ({end['refused']})", HINT)
