"""The end of an agent's work in any other way than by its answer: raised wherever it is noticed, told once by `work.main`."""

from __future__ import annotations

from typing import Any


class Stop(Exception):
    """`how` is one of `core.activity.HOWS`, `says` a sentence for a person; the rest is for what goes on later."""

    def __init__(
        self,
        how: str,
        says: str,
        *,
        again_s: float | None = None,
        state: str | None = None,
        ask: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(says)
        self.how, self.says, self.again_s, self.state, self.ask = how, says, again_s, state, ask
