"""The toolset `memory`: the job's own notepad. What is noted is kept when the run has ended well, for the next one."""

from __future__ import annotations

from pydantic_ai import FunctionToolset, RunContext, ToolFailed

from horae.agents.tools.place import Place, data

KEY_CHARS_MAX = 128
VALUE_BYTES_MAX = 16 * 1024
ALL_BYTES_MAX = 64 * 1024


def remember(ctx: RunContext[Place], key: str, value: str) -> str:
    """Note something for later runs of this job, under a key; what was there is replaced.

    Args:
        ctx: The run.
        key: A short name.
        value: The text.
    """
    place = ctx.deps
    if not key.strip() or len(key) > KEY_CHARS_MAX:
        raise ToolFailed(f"a key has 1 to {KEY_CHARS_MAX} characters")
    if _size(value) > VALUE_BYTES_MAX:
        raise ToolFailed(f"a note has at most {VALUE_BYTES_MAX} bytes, and this one has {_size(value)}")
    after = {**place.notes, key: value}
    if (total := sum(_size(one) + _size(text) for one, text in after.items())) > ALL_BYTES_MAX:
        raise ToolFailed(f"all notes would have {total} bytes, and at most {ALL_BYTES_MAX} are kept: forget some first")
    _note(place, key, value)
    place.notes[key] = value
    return "noted"


def recall(ctx: RunContext[Place], key: str | None = None) -> str:
    """Read a note; without a key, all of them.

    Args:
        ctx: The run.
        key: Which one.
    """
    notes = ctx.deps.notes
    if key is None:
        return (
            data("\n\n".join(f"{one}:\n{text}" for one, text in sorted(notes.items())), "your notes")
            if notes
            else "(none)"
        )
    if key not in notes:
        raise ToolFailed(f"there is no note {key!r}; there are: {', '.join(sorted(notes)) or 'none'}")
    return data(notes[key], f"your note {key!r}")


def forget(ctx: RunContext[Place], key: str) -> str:
    """Remove a note.

    Args:
        ctx: The run.
        key: Which one.
    """
    place = ctx.deps
    if key not in place.notes:
        raise ToolFailed(f"there is no note {key!r}")
    _note(place, key, None)
    del place.notes[key]
    return "removed"


TOOLS = FunctionToolset[Place]([remember, recall, forget], id="memory", sequential=True)


def _note(place: Place, key: str, value: str | None) -> None:
    if not place.tell.event("note", key=key, value=value):
        raise ToolFailed("nothing more can be noted in this run")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
