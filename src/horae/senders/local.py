"""`local`: the result stays here, where `horae runs` lists it and `horae log` shows it.

The result document is the run's own row, written in the transaction that ended the run, so sending has nothing left to
do and a repeat changes nothing.
"""

from __future__ import annotations

from horae.core.model import Message, Receipt


class Local:
    """The sender of the target `local`."""

    def problem(self, target: str) -> str | None:
        """It is always there."""
        return None

    async def send(self, message: Message) -> Receipt:
        """The document exists; say where."""
        return Receipt("accept", evidence=f"horae log {message.run_id}")
