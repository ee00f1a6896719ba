"""`local`: the result stays here, where `horae runs` lists it and `horae log` shows it.

The result document is the run's own row, so the transaction that ends the run delivers it too: nothing is ever on its
way, and a crash finds it either delivered or not written at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from horae.core import kinds
from horae.core.delivery import LOCAL, Address, Message, Platform, Receipt
from horae.core.outgoing import Clerk, where_whole
from horae.ports.outside import Tools


class Local:
    """The sender of the target `local`."""

    def __init__(self, platform: Platform, tools: Tools) -> None:
        kinds.checked(platform)
        self._clerk = Clerk(platform, tools.secrets, tools.redact)

    @staticmethod
    def shape(options: Mapping[str, object]) -> tuple[bool, bool]:
        """Whether the bare name is an address, and whether chats have threads."""
        return kinds.alone(LOCAL, options), kinds.threads(LOCAL, options)

    def check(self, address: Address | None = None) -> str | None:
        """It is always there."""
        return None

    async def send(self, message: Message) -> Receipt:
        """For a run that ended before `local` was among its targets: the document exists."""
        return self._clerk.accept(where_whole(message).strip("`"))
