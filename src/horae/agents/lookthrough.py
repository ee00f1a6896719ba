"""All that is to be sent is looked through, part by part: what must not be sent ends the run, the rest is told.

What a person wrote is judged as such, a skill as such, and everything from outside as data: there, words are no orders.
A prompt that is sent again was looked through when it was sent first, in its parts; as a whole it only warns.
"""

from __future__ import annotations

from collections.abc import Iterator

from horae.agents.stop import Stop
from horae.agents.tell import Tell
from horae.core.guard import refusal, scan, warning_words
from horae.core.guardfamilies import Where
from horae.core.prompting import Parts

WAY = "change it, then it can be sent"


def look_through(parts: Parts, tell: Tell) -> None:
    """Raises `Stop` where something must not be sent."""
    for name, text, where in _pieces(parts):
        _look(name, text, where, tell)


def look_through_again(prompt: str, tell: Tell) -> None:
    """Of a replay."""
    _look("the prompt that is sent again", prompt, "data", tell)


def _look(name: str, text: str, where: Where, tell: Tell) -> None:
    for item in scan(text, where):
        if item.severity == "refuse":
            raise Stop("refused", f"nothing was sent: {refusal(item, f'{name}, line {item.line}', WAY)}")
        tell.event("warning", text=warning_words(item, name))


def _pieces(parts: Parts) -> Iterator[tuple[str, str, Where]]:
    yield "the prompt", parts.prompt, "prompt"
    if parts.extra:
        yield "what was added to this run", parts.extra, "prompt"
    for name, text in parts.skills:
        yield f"the skill {name}", text, "skill"
    for job, _, text in parts.context:
        yield f"the result of {job}", text, "data"
    if parts.payload is not None:
        yield f"what came with the call of hook {parts.payload[0]}", parts.payload[1], "data"
    if parts.script is not None:
        yield f"the output of the script {parts.script[0]}", parts.script[1], "data"
    if parts.watched is not None:
        source, difference, now = parts.watched
        yield f"what has changed in {source}", difference, "data"
        yield f"what is watched, {source}", now, "data"
