"""From how a process ended to what is recorded and what is told.

The rules for work without an agent:

- exit 0: the trimmed standard output is the message; nothing printed is a silent success. A last line as in
  `scriptresult` says more: another message, silence, or that the work failed after all. So do the words of `silence`.
- not 0, a signal, a limit, or not startable: an alert with the reason and the evidence, never silent.
- an agent has said how it ended (`agentoutcome`).
- ended by a person: cancelled, told as such. Ended because the gateway stopped: cancelled too.
"""

from __future__ import annotations

from dataclasses import replace

from horae.core.agentoutcome import judge_agent
from horae.core.model import Ending, Result
from horae.core.scriptresult import Said, said
from horae.core.silence import SILENT, failure_in, is_silent
from horae.core.text import one_line
from horae.limits import MESSAGE_CHARS_MAX

TIME_LIMITS = ("wall limit", "script limit", "idle limit")
LIMITS_HIT = (*TIME_LIMITS, "output limit", "memory limit", "cpu limit", "process limit")
"""How `Result.ended_by` begins when the run used more than it may. That is a failure; all else is somebody's decision."""

HEAD_CHARS = 200  # of a message in a reason
NAME_CHARS = 60
NAMED_MAX = 3  # of the processes that had to be killed


def judge(name: str, result: Result) -> Ending:
    """The ending of a run that got as far as a process (or was refused one)."""
    ending = _judged(name, result)
    there = tuple(path for path in ending.attachments if path in result.made)
    absent = [one_line(path, NAME_CHARS) for path in ending.attachments if path not in there]
    notes = [f"its attachment {path} is not in $HORAE_OUTPUT" for path in absent]
    reason = "; ".join(filter(None, (ending.reason, remark(result), *notes)))
    return replace(ending, reason=reason, attachments=there)


def remark(result: Result) -> str:
    """What there is to say about the process tree: what had to be killed, what is not proved."""
    used, parts = result.used, list[str]()
    if used is not None and used.survivors:
        number = f"{used.survivors} process{'es' if used.survivors > 1 else ''}"
        how = "had to be killed" if result.ended_by is not None else "outlived it and had to be killed"
        named = ", ".join(result.killed[:NAMED_MAX])
        more = " …" if used.survivors > NAMED_MAX else ""
        parts.append(f"{number} {how}{': ' if named else ''}{one_line(named, HEAD_CHARS)}{more}")
    if used is not None and not used.proved:
        parts.append("it is not proved that nothing of it is left")
    return "; ".join(parts)


def _judged(name: str, result: Result) -> Ending:
    if result.refused is not None:
        return _alert(name, "fail", f"could not be started: {result.refused}", result)
    if result.lost is not None:
        return replace(lost(name, result.lost), result=result)
    if result.ended_by is not None:
        event = "fail" if result.ended_by.startswith(LIMITS_HIT) else "cancel"
        return _alert(name, event, result.ended_by, result)
    if result.work is not None:
        return judge_agent(name, result, result.work)
    if result.signal is not None:
        return _alert(name, "fail", f"ended by signal {result.signal}", result)
    if result.exit_code != 0:
        return _alert(name, "fail", f"exit status {result.exit_code}", result)
    told = said(result.stdout)
    failure = failure_in(told.message)
    if told.status == "failed" or failure is not None:
        return _declared(name, told if failure is None else replace(told, message=failure), result)
    reason = "; ".join(("exit status 0", *told.notes))
    if told.status == "silent" or is_silent(told.message):
        why = "its result says that it is silent" if told.status == "silent" else f"the whole answer is {SILENT}"
        return Ending("complete", reason, "", alert=False, result=result, attachments=told.attachments, silence=why)
    return Ending("complete", reason, told.message, alert=False, result=result, attachments=told.attachments)


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
    if ending.result is None or ending.result.work is not None:
        return ""  # there was no program, or it has said it in one sentence: the reason says it all
    told = said(ending.result.stdout)
    if told.structured and told.message:
        return told.message.split("\n", 1)[0]
    words = ending.result.stderr.strip() or told.message
    return words.rsplit("\n", 1)[-1].strip()


def _declared(name: str, told: Said, result: Result) -> Ending:
    """The script itself says that it failed, whatever its exit status."""
    first = one_line(told.message.split("\n", 1)[0], HEAD_CHARS)
    reason = "; ".join((f"the script reported failure{first and ': '}{first}", *told.notes))
    rest = told.message if told.message != first else ""
    body = _evidence(f"{name} failed: {reason}", ("", rest), ("stderr", result.stderr))
    return Ending("fail", reason, body, alert=True, result=result, attachments=told.attachments)


def _alert(name: str, event: str, reason: str, result: Result) -> Ending:
    told = said(result.stdout)  # a program that ended badly may have said why, and have made files to look at
    head = f"{name} {'was cancelled' if event == 'cancel' else 'failed'}: {reason}"
    if result.asked is not None:
        found = "1 process of it was" if result.asked == 1 else f"{result.asked} processes of it were"
        head += f"\n{found} found and asked to end"
    output = told.message if told.structured else result.stdout
    body = _evidence(head, ("stderr", result.stderr), ("stdout", output))
    return Ending(event, reason, body, alert=True, result=result, attachments=told.attachments)


def _evidence(head: str, *texts: tuple[str, str]) -> str:
    """The head, and below it the end of each text that says something."""
    shown = [(title, text.strip()[-MESSAGE_CHARS_MAX:]) for title, text in texts if text.strip()]
    return "\n\n".join([head, *(f"{title}:\n{text}" if title else text for title, text in shown)])
