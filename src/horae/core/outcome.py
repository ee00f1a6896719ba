"""From how a process ended to what is recorded and what is told.

The rules for work without an agent:

- exit 0: the trimmed standard output is the message; nothing printed is a silent success.
- not 0, a signal, a limit, or not startable: an alert with the reason and the evidence, never silent.
- ended by a person: cancelled, told as such. Ended because the gateway stopped: cancelled too.
"""

from __future__ import annotations

from horae.core.model import Ending, Result
from horae.limits import MESSAGE_CHARS_MAX


def judge(name: str, result: Result) -> Ending:
    """The ending of a run that got as far as a process (or was refused one)."""
    if result.refused is not None:
        return _alert(name, "fail", f"could not be started: {result.refused}", result)
    if result.ended_by is not None:
        event = "fail" if result.ended_by.startswith("wall limit") else "cancel"
        return _alert(name, event, result.ended_by, result)
    if result.signal is not None:
        return _alert(name, "fail", f"ended by signal {result.signal}", result)
    if result.exit_code != 0:
        return _alert(name, "fail", f"exit status {result.exit_code}", result)
    return Ending("complete", "exit status 0", result.stdout.strip(), alert=False, result=result)


def blocked(name: str, reasons: tuple[str, ...]) -> Ending:
    """The ending of a run that preflight did not let begin."""
    reason = "; ".join(reasons)
    return Ending("block", reason, f"{name} was blocked before it started: {reason}", alert=True)


def lost(name: str, why: str) -> Ending:
    """The ending of a run whose end nobody can prove. It may have done all of its work, or none."""
    return Ending("lose", why, f"{name}: nobody can say how the run ended. {why}", alert=True)


def gist(ending: Ending) -> str:
    """The one line to recognise an ending by: how the message begins, or where the trouble's own words end."""
    if not ending.alert:
        return ending.message.split("\n", 1)[0]
    if ending.result is None:
        return ""  # there was no program; the reason says it all
    words = ending.result.stderr.strip() or ending.result.stdout.strip()
    return words.rsplit("\n", 1)[-1].strip()


def _alert(name: str, event: str, reason: str, result: Result) -> Ending:
    parts = [f"{name} {'was cancelled' if event == 'cancel' else 'failed'}: {reason}"]
    for title, text in (("stderr", result.stderr), ("stdout", result.stdout)):
        if text.strip():
            parts.append(f"{title}:\n{text.strip()[-MESSAGE_CHARS_MAX:]}")
    return Ending(event, reason, "\n\n".join(parts), alert=True, result=result)
