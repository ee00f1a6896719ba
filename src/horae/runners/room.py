"""What the machine says when it has no room for one more: of all errors those that pass, and say nothing about the job."""

from __future__ import annotations

import errno

from horae.errors import Exhausted

NO_ROOM = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
HINT = "look at what else runs on it, and at its limits of processes and open files"


def exhausted(error: BaseException) -> Exhausted | None:
    """The error as such a refusal; None for any other."""
    if not isinstance(error, OSError) or error.errno not in NO_ROOM:
        return None
    return Exhausted(f"the machine has no room for another process ({error.strerror})", HINT)
