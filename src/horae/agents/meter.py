"""Counts what an agent uses, and stops it: before a call that would pass a limit, and after answers that lead nowhere.

Whoever calls a model asks `admit` first and says afterwards what became of it, exactly once: `count` with its usage,
`failed` where the provider surely used nothing, `lost` where nobody knows. What is lost stays reserved with all that it may
have used, here and for whoever reads the events. An answer without usage is counted with the same bound.

Several calls at a time are counted rightly: one under way counts with its bound.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from hashlib import sha256

from horae.agents.stop import Stop
from horae.agents.task import Allow, ModelCall
from horae.agents.tell import Tell
from horae.core.agent import Price
from horae.core.budget import Admitted, Refused, Used, admit, cost, estimate
from horae.core.equipment import Allowance

SAME_MAX = 5  # answers in a row that are the same to the letter
EVIDENCE_CHARS = 300


class Meter:
    """Of one run."""

    def __init__(self, models: Sequence[ModelCall], allow: Allow, tell: Tell) -> None:
        self._models = {model["name"]: model for model in models}
        self._allowance = Allowance(allow["turns"], allow["tokens"], allow["usd"])
        self._tell, self._lock = tell, threading.Lock()
        self._turns, self._tokens, self._usd = 0, 0, 0.0
        self._open: dict[int, tuple[Admitted, int]] = {}
        self._last, self._same, self._noted = "", 0, False

    def admit(self, model_name: str, request_bytes: int, wanted_output: int | None) -> tuple[int, int | None]:
        """The number of the call, and how many tokens its answer may have. Raises `Stop` where a limit is reached."""
        model = self._models[model_name]
        price = price_of(model)
        if self._allowance.usd is not None and price is None:
            raise Stop(
                "failed", f"there is a money limit, but model {model_name} has no price: money cannot be counted"
            )
        own = [most for most in (wanted_output, model["max_output"]) if most is not None]
        reads = estimate(request_bytes)
        with self._lock:
            under_way = [admitted for admitted, _ in self._open.values()]
            used = Used(
                self._turns,
                self._tokens + sum(one.bound for one in under_way),
                self._usd + sum(one.usd for one in under_way),
            )
            found = admit(self._allowance, used, reads, min(own) if own else None, price)
            if isinstance(found, Refused):
                raise Stop("limit", found.words)
            self._turns += 1
            turn = self._turns
            self._open[turn] = (found, reads)
        self._tell.event("ask", turn=turn, model=model_name, bound=found.bound)
        return turn, found.max_output

    def count(
        self,
        turn: int,
        model_name: str,
        *,
        input: int | None,
        output: int | None,
        cached: int = 0,
        stop: str | None = None,
        ms: int = 0,
        answer: str = "",
    ) -> None:
        """It was answered. `input` has what was `cached` in it; None: the provider does not say.

        `answer` is what it answered, in a form in which the same is equal to the letter (calls without their ids); an empty
        one is not compared. Raises `Stop` when there were too many of the same in a row.
        """
        price = price_of(self._models[model_name])
        with self._lock:
            admitted, reads = self._open.pop(turn)
            unknown = input is None or output is None
            read = reads if input is None else input
            written = admitted.bound - reads if output is None else output
            usd = None if price is None else cost(price, read, written, cached)
            self._tokens += read + written
            self._usd += usd or 0.0
            note, self._noted = unknown and not self._noted, self._noted or unknown
            same = self._again(answer)
        if note:
            self._tell.event(
                "usage",
                note=f"{model_name} does not report its usage: each call is counted with the most it may have used",
            )
        self._tell.event(
            "model", turn=turn, model=model_name, input=read, output=written, cached=cached, usd=usd, stop=stop, ms=ms
        )
        if same >= SAME_MAX:
            shown = " ".join(answer.split())
            shown = shown if len(shown) <= EVIDENCE_CHARS else shown[: EVIDENCE_CHARS - 1] + "…"
            raise Stop("loop", f"the model answered the same {same} times in a row: {self._tell.clean(shown)}")

    def failed(self, turn: int, model_name: str, why: str) -> None:
        """The provider did not take it: nothing was used."""
        with self._lock:
            self._open.pop(turn)
        price = price_of(self._models[model_name])
        usd = None if price is None else 0.0
        self._tell.event(
            "model", turn=turn, model=model_name, input=0, output=0, cached=0, usd=usd, stop="error", ms=0, why=why
        )

    def lost(self, turn: int, model_name: str, why: str) -> None:
        """Nobody knows what it used: its bound stays counted."""
        self._tell.event(
            "usage", note=f"call {turn} to {model_name} has no end ({why}): it may have used its whole bound"
        )

    def _again(self, answer: str) -> int:
        digest = sha256(answer.encode("utf-8", "replace")).hexdigest() if answer else ""
        self._same = self._same + 1 if digest and digest == self._last else 1
        self._last = digest
        return self._same


def price_of(model: ModelCall) -> Price | None:
    """None: unknown."""
    price = model["price"]
    if not price:
        return None
    return Price(price[0], price[1], price[2] if len(price) > 2 else None)
