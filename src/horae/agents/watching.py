"""What a job watches: looked at before its agent is woken, and compared with how it was when a run last completed.

The first look only takes note. Nothing has changed: no model is called. Something has: the agent gets the difference, and
how it is now. A source that cannot be read is a failure and no change, and what was known of it stays.

The digest is over the exact bytes; the text that is kept to compare with is bounded, so a change beyond that bound is
noticed, and shown as what it is: one without a difference to show.
"""

from __future__ import annotations

import difflib
from hashlib import sha256

from horae.agents.fetching import Unreachable, fetched
from horae.agents.script import source_of
from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import LONG_CHARS_MAX, Tell

KEPT_CHARS_MAX = 200_000  # of a text that the next look compares with
DIFF_CHARS_MAX = 4000
NOW_CHARS_MAX = 8000
LINES_MAX = 20_000  # whose difference is worked out
FIRST = "the first look at {source}: it is kept to compare with"


async def looked(task: Task, tell: Tell) -> tuple[str, str, str] | None:
    """What it watches, how it differs and how it is now; None where it watches nothing. Raises `Stop`."""
    source = task["watch_url"] or (task["watch_script"] or {}).get("name")
    if source is None:
        return None
    raw = await _read(task, tell)
    text = tell.clean(raw.decode("utf-8", "replace"))
    kept, digest = text[: min(KEPT_CHARS_MAX, LONG_CHARS_MAX)], sha256(raw).hexdigest()
    before = task["baseline"]
    changed = before is not None and before[0] != digest
    tell.event("watched", sha256=digest, text=kept, changed=changed)
    if before is None:
        raise Stop("unchanged", FIRST.format(source=source))
    if not changed:
        raise Stop("unchanged", f"{source} is as before")
    return source, difference(before[1], kept), text[:NOW_CHARS_MAX]


def difference(before: str, now: str) -> str:
    """In the unified form, bounded."""
    old, new = before.splitlines(), now.splitlines()
    if len(old) + len(new) > LINES_MAX:
        return "(too many lines to say which differ)"
    found, size = list[str](), 0
    for line in difflib.unified_diff(old, new, "before", "now", n=2, lineterm=""):
        size += len(line) + 1
        if size > DIFF_CHARS_MAX:
            found.append("… (more differs)")
            break
        found.append(line)
    return "\n".join(found) or "(it differs in bytes that are not shown: line ends, or beyond what is kept)"


async def _read(task: Task, tell: Tell) -> bytes:
    if task["watch_script"] is not None:
        return (await source_of(task["watch_script"], task["walls"], tell)).encode()
    url = task["watch_url"]
    assert url is not None
    try:
        return (await fetched(url, own=True)).body
    except Unreachable as error:
        raise Stop("failed", f"what it watches cannot be read: {error}") from error
