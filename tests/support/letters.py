"""Platforms, tools and messages for the tests of senders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.redact import Redactor
from horae.ports.command import Said
from horae.ports.outside import Sender, Tools
from horae.runners.command import tell

SECRETS = {
    "PASS_WORD": "correct-horse-battery",
    "KEY": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "OLD": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "PIN": "k9x",
}
ID = "01JH-0001"


def tools(home: Path, secrets: Mapping[str, str] = SECRETS, env: Mapping[str, str] | None = None) -> Tools:
    """Real ones, but for the secrets."""

    def lookup(names: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
        found = {name: secrets[name] for name in names if name in secrets}
        return found, tuple(f"secret {name} has no value" for name in names if name not in secrets)

    def ask(argv: Sequence[str], text: str, more: Mapping[str, str], timeout_s: float) -> Said:
        return tell(argv, text, {**(os.environ if env is None else env), **more}, timeout_s)

    return Tools(
        secrets=lookup,
        redact=Redactor(secrets).data,
        ask=ask,
        now=lambda: datetime.now(UTC),
        home=str(home),
    )


def platform(kind: str, options: Mapping[str, object], **more: Any) -> Platform:
    return Platform("ops", kind, options, **{"timeout_s": 5.0, **more})


def message(body: str = "All is well.", title: str = "job ended", chat: str | None = None, **more: Any) -> Message:
    facts = {"run": "R-1", "job": "backup"}
    return Message(**{"id": ID, "address": Address("ops", chat), "title": title, "body": body, "facts": facts, **more})


def send(sender: Sender, what: Message) -> Receipt:
    return asyncio.run(sender.send(what))
