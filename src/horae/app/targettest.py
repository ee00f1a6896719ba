"""A test message to a target: sent from this process, past the outbox, and nothing of it is kept."""

from __future__ import annotations

import asyncio
from datetime import UTC
from typing import Any

from horae.app.targets import problem_of, sentence
from horae.core.delivery import Address, Message
from horae.core.target import Directory, resolve_all
from horae.errors import Invalid
from horae.ports import Home

Json = dict[str, Any]
TEXT_CHARS_MAX = 2000
MARK = "Horae test message"


def send_test(home: Home, *, target: str, text: str | None) -> Json:
    """Try once at each address that the target means. `ok` when all were accepted. Raises Invalid."""
    if text is not None and len(text) > TEXT_CHARS_MAX:
        raise Invalid(f"a test message has at most {TEXT_CHARS_MAX} characters", "a few words are enough")
    pairs = resolve_all((target,), Directory(home.settings.platforms, home.settings.targets))
    receipts = asyncio.run(_all(home, [address for _, address in pairs], text))
    rows = [{"target": shown, **receipt} for (shown, _), receipt in zip(pairs, receipts, strict=True)]
    fine = [row for row in rows if row["event"] == "accept"]
    did = f"sent a test message to {len(fine)} of {len(rows)} address{'' if len(rows) == 1 else 'es'}"
    return {"target": target, "did": did, "ok": len(fine) == len(rows), "receipts": rows}


async def _all(home: Home, addresses: list[Address], text: str | None) -> list[Json]:
    """At the same time: each has a time-out of its own."""
    return await asyncio.gather(*(_one(home, address, text) for address in addresses))


async def _one(home: Home, address: Address, text: str | None) -> Json:
    why = sentence(problem_of(home, address, address))
    if why is not None:
        return _row(address, None, reason=why)
    receipt = await home.targets.sender(address).send(_message(home, address, text))
    return _row(address, receipt.event, receipt.evidence, receipt.reason, receipt.after_s, receipt.closes)


def _message(home: Home, address: Address, text: str | None) -> Message:
    said = text.strip() if text else "If you can read this, messages of your jobs arrive here too."
    at = home.clock.now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    body = f"This is a {MARK}.\n\n{said}\n\nSent by hand at {at}. Nothing has to be done."
    facts = {"test": True, "at": at}
    return Message(f"test-{home.entropy(8).hex()}", address, MARK, body, facts=facts)


def _row(
    address: Address,
    event: str | None,
    evidence: str | None = None,
    reason: str | None = None,
    after_s: float | None = None,
    closes: bool = False,
) -> Json:
    """`event` is null where nothing was tried."""
    told = {"event": event, "evidence": evidence, "reason": reason, "after_s": after_s, "closes": closes}
    return {"address": str(address), **told}
