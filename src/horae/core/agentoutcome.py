"""From how an agent's run ended to what is recorded and what is told. Pure.

- Its answer is the message. `[SILENT]` as the whole of it, or an empty one where the job allows that, says nothing; whether
  an empty one is allowed the agent's process has judged. `[FAILED]` alone on the first line: the agent says that it failed.
- What it watches is as before, or its script said that there is nothing to do: completed, and nothing to say.
- A limit, no progress, what it may not do, what must not be sent, any other trouble: failed, with the sentence that says it.
- It waits for a person, or for its provider: the run is given back and goes on later. Whoever is to answer is told; of a
  provider that cannot answer nobody needs to hear until it is given up.
"""

from __future__ import annotations

from dataclasses import replace

from horae.core.activity import QUIET, Work
from horae.core.model import Ending, Job, Result
from horae.core.silence import SILENT, failure_in, is_silent
from horae.core.text import money_words, one_line
from horae.limits import MESSAGE_CHARS_MAX

HEAD_CHARS = 200
FINAL = ("limit", "loop", "denied", "refused")
"""Ends that would come again: what failed so is not tried again."""


def judge_agent(name: str, result: Result, work: Work) -> Ending:
    """The ending of an agent that ended by itself."""
    if work.how in QUIET:
        return Ending("complete", work.says or str(work.how), "", alert=False, result=result, silence=work.says)
    if work.how == "held":
        return Ending("park", work.says, "", alert=False, result=result, silence=work.says, again_s=work.again_s)
    if work.how == "parked":
        return Ending("park", work.says, asking(name, work), alert=True, result=result, again_s=work.again_s)
    if work.how == "done" and result.exit_code == 0:
        return _answered(name, result, work)
    said = None if work.how == "done" else work.says  # it had answered, and yet did not end well
    return _failed(name, result, said or _without_words(result))


def worked(job: Job, result: Result) -> Result:
    """The result of an agent's run says what it did, were it nothing: it is not judged as a script."""
    return replace(result, work=Work()) if job.agent and result.work is None else result


def asking(name: str, work: Work) -> str:
    """What a person is told who is to decide."""
    ask = work.ask or {}
    parts = [f"{name} waits for your word: {work.says}"]
    if ask.get("args"):
        parts.append(str(ask["args"])[:MESSAGE_CHARS_MAX])
    return "\n\n".join(parts)


def used_words(work: Work) -> str:
    """What it used: 3 turns, 1,234 tokens, $0.0123."""
    turns = f"{work.turns} turn{'' if work.turns == 1 else 's'}"
    cost = "" if work.usd is None or not work.turns else f", {money_words(work.usd)}"
    return f"{turns}, {work.tokens:,} tokens{cost}"


def _answered(name: str, result: Result, work: Work) -> Ending:
    answer = result.stdout.strip()
    failure = failure_in(answer)
    if failure is not None:
        head = one_line(failure.split("\n", 1)[0], HEAD_CHARS)
        reason = f"the agent says that it failed{head and ': '}{head}"
        body = f"{name} failed: {reason}" + (f"\n\n{failure}" if failure and failure != head else "")
        return Ending("fail", reason, body, alert=True, result=result)
    reason = f"answered; {used_words(work)}" if work.turns else "answered"
    if is_silent(answer):
        return Ending("complete", reason, "", alert=False, result=result, silence=f"the whole answer is {SILENT}")
    return Ending("complete", reason, answer, alert=False, result=result)


def _failed(name: str, result: Result, reason: str) -> Ending:
    parts = [f"{name} failed: {reason}"]
    if answer := result.stdout.strip():
        parts.append(f"what it had said:\n{answer[-MESSAGE_CHARS_MAX:]}")
    return Ending("fail", reason, "\n\n".join(parts), alert=True, result=result)


def _without_words(result: Result) -> str:
    if result.signal is not None:
        return f"the agent's process was ended by signal {result.signal}"
    last = one_line(result.stderr.strip().rsplit("\n", 1)[-1], HEAD_CHARS)
    return f"the agent's process ended with exit status {result.exit_code} and did not say why{last and ': '}{last}"
