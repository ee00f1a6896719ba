"""One attempt to send a message: made ready, tried within a bound, and what is known afterwards.

A target that does not exist (any more), or whose settings its sender cannot work with, refuses. One that does not answer
in time may have taken the message: nobody knows. A sender promises to bound itself; this bound is for those that cannot.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from horae.core.compose import compose
from horae.core.delivery import Message, Parcel, Receipt
from horae.errors import Problem
from horae.limits import SEND_GRACE_S
from horae.ports import Ports, Sender
from horae.timing.durations import duration_words


class Attempt(NamedTuple):
    """A message with whoever sends it, and how long that may take at most."""

    sender: Sender
    message: Message
    within_s: float

    async def make(self) -> Receipt:
        """Send it."""
        try:
            async with asyncio.timeout(self.within_s):
                return await self.sender.send(self.message)
        except TimeoutError:
            words = duration_words(round(self.within_s))
            return Receipt("lose", reason=f"no answer within {words}: it may have arrived")


def prepare(parcel: Parcel, p: Ports) -> Attempt | Receipt:
    """What is to be sent, and by whom; or the receipt where nothing can be."""
    try:
        address = p.targets.address(parcel.address)
        platform, sender = p.targets.platform(address), p.targets.sender(address)
    except Problem as problem:
        return Receipt("refuse", reason=problem.message)
    message = compose(parcel, address, platform, p.settings.home, p.settings.link, p.redact)
    return Attempt(sender, message, platform.timeout_s + SEND_GRACE_S)
