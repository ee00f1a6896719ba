"""Agents of a simulated world: what one does follows from dice and from what it was given, and is told over virtual time.

All of it is decided when its process begins, as events at seconds of its own life. Whoever ends it early cuts it off there:
what it told until then is told, a call that was out is used, and nobody but this world knows how much of it. What is spent
is admitted and counted by the meter that agents really have. Provider and people are dice.

`Call.tokens` is what the provider charges. It is never more than the meter had reckoned with, except where `Ways.low` is set:
then requests whose usage is told hold up to that share more tokens than was estimated, and a cap can be passed by that.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from horae.agents.meter import Meter
from horae.agents.onward import Onward, onward_of
from horae.agents.stop import Stop
from horae.agents.task import Allow, ModelCall
from horae.core.activity import Work, work_of
from horae.core.agent import Model, Price, Provider
from horae.core.agentfacts import AgentFacts, Reached
from horae.core.budget import cost, estimate
from horae.core.model import Job, Order
from horae.core.preflight import Facts

PRICE = Price(2.0, 10.0, 0.5)
PROVIDER = Provider("local", "openai", "http://127.0.0.1:8080/v1")
MODELS = {name: Model(name, "local", f"acme/{name}", PRICE, max_output=2000) for name in ("small", "large")}
STEP_S = 0.01
TRIES_MAX = 3  # so often a slot goes on later at most
ANSWERS = {"done": "news\n", "silent": "[SILENT]", "declared": "[FAILED]\nno tide today"}
ENDS = ("done", "silent", "declared", "failed", "limit", "loop", "denied", "refused", "parked", "held", "died")
DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class Ways:
    """How the agents of a job are."""

    calls: int = 4
    """At most, in a run."""
    bytes_max: int = 3000
    """Of a request."""
    call_s: float = 6.0
    """How long an answer takes at most."""
    ends: tuple[float, ...] = (6, 2, 1, 2, 1, 0.5, 0.5, 0.5, 3, 3, 1)
    """How likely each of `ENDS` is."""
    watches: bool = False
    several: float = 0.0
    """How likely a call is made while another is out."""
    low: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """A model call, as its provider knows it. Seconds are of the agent's life."""

    at_s: float
    bound: int
    reckoned_usd: float
    tokens: int
    usd: float

    @property
    def excess(self) -> tuple[int, float]:
        """By how much it was more than reckoned with."""
        return max(0, self.tokens - self.bound), max(0.0, self.usd - self.reckoned_usd)


@dataclass(slots=True)
class _Out:
    """A call whose answer is still out."""

    turn: int
    ends_s: float
    fate: str
    read: int
    written: int
    cached: int


class Play:
    """What one agent does in one run."""

    def __init__(self, task: Mapping[str, Any], ways: Ways, dice: random.Random, source: str) -> None:
        self.task, self.source = task, source
        self.calls: list[Call] = []
        self.answer, self.status = "", 0
        self.low, self.together_max = ways.low, 1
        """By how much estimates may be too low; how many calls were out at once."""
        self._ways, self._dice = ways, dice
        self._now_s = 0.0
        self._events: list[tuple[float, dict[str, Any]]] = []
        self._out: list[_Out] = []
        self._told: list[dict[str, Any]] = []
        self._meter = Meter(cast("list[ModelCall]", task["models"]), cast("Allow", task["allow"]), cast("Any", self))
        try:
            self._work()
        except Stop as stop:
            self._end(stop.how, stop.says)
        self.lasts_s = self._now_s

    def work(self, lived_s: float) -> Work:
        """What its events say that it told in so many seconds."""
        return work_of(event for at_s, event in self._events if at_s <= lived_s + STEP_S / 2)

    def asked(self, lived_s: float) -> Iterator[Call]:
        """The calls that it has made in so many seconds."""
        return (call for call in self.calls if call.at_s <= lived_s + STEP_S / 2)

    # ── what a meter is told with

    def event(self, kind: str, **values: Any) -> bool:
        self._events.append((self._now_s, {"kind": kind, "at": 1_772_438_400.0 + self._now_s, **values}))
        if kind in ("note", "draft", "watched"):
            self._told.append({"kind": kind, **values})
        return True

    def clean(self, text: str) -> str:
        return text

    # ── what it does

    def _work(self) -> None:
        run, dice = self.task["run"], self._dice
        past = onward_of(self.task["state"])
        for said in past.told if past else ():
            self.event(**said)
        if past is None and self._ways.watches and self.task["replay"] is None:
            digest, was = sha256(self.source.encode()).hexdigest(), self.task["baseline"]
            if was is not None and was[0] == digest:
                self._wait(0.3)
                self._end("unchanged", "what it watches is as before")
                return
            self.event("watched", sha256=digest, text=f"{self.source} of {run}", changed=True)
        prompt = self.task["replay"] or f"prompt of {run}"
        self.event("prompt", sha256=sha256(prompt.encode()).hexdigest(), chars=len(prompt), text=prompt)
        for number in range(dice.randint(0, self._ways.calls)):
            self._call()
            self._leave(number)
        self._answers()
        self._close(0 if past is None else int(past.agent))

    def _leave(self, number: int) -> None:
        run, dice = self.task["run"], self._dice
        if dice.random() < 0.4:
            value = None if dice.random() < 0.15 else f"{run}/{number}"
            self.event("note", key=f"key{dice.randint(0, 2)}", value=value)
        if dice.random() < 0.1:
            self.event("draft", what=dice.choice(("job", "message")), body={"run": run, "number": number})

    def _call(self) -> None:
        dice, name = self._dice, self.task["models"][0]["name"]
        size = dice.randint(30, self._ways.bytes_max)
        try:
            turn, most = self._meter.admit(name, size, dice.choice((None, 50, 400, 1500)))
        except Stop:
            self._answers()
            raise
        self._out.append(self._used(turn, estimate(size), most or 0))
        self.together_max = max(self.together_max, len(self._out))
        if len(self._out) < 3 and dice.random() < self._ways.several:
            self._wait(self._span(0.3))
        else:
            self._answers()

    def _used(self, turn: int, reads: int, most: int) -> _Out:
        """What it really uses, and what is known of that in the end."""
        dice = self._dice
        fate = dice.choices(("counted", "untold", "failed", "lost"), (12, 2, 1, 1))[0]
        real = int(reads * (1 + self._ways.low)) if fate == "counted" else reads
        read = dice.choice((real, dice.randint(real // 2, real)))
        written = dice.choice((most, dice.randint(0, most)))
        cached = dice.choice((0, read // 2))
        tokens, usd = (0, 0.0) if fate == "failed" else (read + written, cost(PRICE, read, written, cached))
        self.calls.append(Call(self._now_s, reads + most, cost(PRICE, reads, most), tokens, usd))
        return _Out(turn, self._now_s + self._span(self._ways.call_s), fate, read, written, cached)

    def _answers(self) -> None:
        """What is out is answered, the first one first."""
        name = self.task["models"][0]["name"]
        for out in sorted(self._out, key=lambda out: (out.ends_s, out.turn)):
            self._now_s = max(self._now_s, out.ends_s)
            if out.fate == "lost":
                self._meter.lost(out.turn, name, "the connection broke")
            elif out.fate == "failed":
                self._meter.failed(out.turn, name, "503")
            elif out.fate == "untold":
                self._meter.count(out.turn, name, input=None, output=None)
            else:
                self._meter.count(out.turn, name, input=out.read, output=out.written, cached=out.cached)
        self._out.clear()

    def _close(self, tries: int) -> None:
        dice = self._dice
        how = dice.choices(ENDS, self._ways.ends)[0]
        if how in ("parked", "held") and tries >= TRIES_MAX:
            how = "done"
        self._wait(self._span(2.0))
        if how in ANSWERS:
            self.answer = ANSWERS[how]
            self._end("done", "it has answered")
        elif how == "died":
            self.status = 1
        elif how in ("parked", "held"):
            run = self.task["run"]
            state = Onward(str(tries + 1), f"prompt of {run}", tuple(self._told)).dump()
            digest = sha256(f"{run}/call".encode()).hexdigest()[:DIGEST_CHARS]
            ask = {"tool": "run", "toolset": "shell", "args": "ls", "digest": digest} if how == "parked" else None
            self._end(how, "it waits", again_s=dice.choice((0.5, 5.0, 30.0, 60.0)), state=state, ask=ask)
        else:
            self._end(how, f"it ended by {how}")

    def _end(self, how: str, says: str, **more: Any) -> None:
        self.status = 0 if how in ("done", "unchanged", "asleep") else 1
        self.event("end", how=how, says=says, **({"again_s": None, "state": None, "ask": None} | more))

    def _span(self, most_s: float) -> float:
        """Some time of that length at most, in whole steps."""
        return STEP_S * self._dice.randint(1, max(1, round(most_s / STEP_S)))

    def _wait(self, seconds: float) -> None:
        self._now_s += seconds


@dataclass
class Agents:
    """All of a world: what those of each job are like, and what is tried of people's words."""

    seed: object
    ways: dict[str, Ways]
    source_s: float = 40.0
    """How long what jobs watch stays as it is."""
    midnight_s: float | None = None
    """When a day of the home begins, in seconds after the world's beginning; None: not in this life."""
    decided: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """(question, approved) of every word of a person that was taken."""

    def facts(self, job: Job) -> Facts | None:
        """None of a job without an agent."""
        if not job.agent:
            return None
        return Facts(agent=AgentFacts(models=(Reached(MODELS[job.model or "small"], PROVIDER, None),)))

    def play(self, order: Order, job_id: str, now_s: float) -> Play | None:
        """What the agent of an order does; None of one without an agent."""
        if order.task is None:
            return None
        task = json.loads(json.dumps(order.task))  # as it comes to its process
        ways = self.ways.get(job_id, Ways())
        dice = random.Random(f"{self.seed}/{order.run_id}")
        return Play(task, ways, dice, f"source {int(now_s / self.source_s)}")
