"""`local`: the result stays here, where `horae runs` lists it and `horae log` shows it.

The result document is the run's own row, so the transaction that ends the run delivers it too: nothing is ever on its
way, and a crash finds it either delivered or not written at all.
"""

from __future__ import annotations

from horae.core.model import Message, Receipt


class Local:
    """The sender of the target `local`."""

    idempotent = True

    def problem(self, target: str) -> str | None:
        """It is always there."""
        return None

    def kept(self, run_id: str) -> Receipt | None:
        """Writing the run's end is the delivery."""
        return Receipt("accept", evidence=f"horae log {run_id}")

    async def send(self, message: Message) -> Receipt:
        """For a run that ended before `local` was among its targets: the document exists."""
        return Receipt("accept", evidence=f"horae log {message.run_id}")
