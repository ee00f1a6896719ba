"""Who calls a hook is looked at here, with the values of secrets; only what is good goes on to the use case.

It is looked at by whoever serves the web, by the settings as they are now: a hook that was added a moment ago can be called,
and one that was taken away cannot. What is not good leaves no trace in the store, so nobody fills it from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from horae.core.hookform import BYTES_MAX, Hook
from horae.core.hooksign import text_of, verified
from horae.ports import Settings
from horae.secretfile import SecretFile

NOBODY = Hook("nobody", "standard", (), ())
DUMMY = "whsec_aG9yYWUgaG9yYWUgaG9yYWUgaG9yYWU="


def taken_in(
    settings: Settings, name: str, headers: Mapping[str, str], body: bytes, now: datetime
) -> Mapping[str, Any] | str | None:
    """What `take_call` needs; a word where a good call starts nothing (`too_large`, `ignored`); None of a bad call."""
    hook = settings.hooks.get(name)
    values, _ = SecretFile.of(settings).lookup(() if hook is None else hook.secrets)
    call = verified(hook or NOBODY, [*values.values()] or [DUMMY], headers, body, now)
    if hook is None or not values or call is None:
        return None
    text, form = text_of(body)
    if len(body) > hook.bytes_max or len(text.encode()) > BYTES_MAX:
        return "too_large"
    if (hook.events and call.event not in hook.events) or (hook.kind == "github" and call.event == "ping"):
        return "ignored"
    return {
        "hook": name,
        "jobs": [*hook.jobs],
        "messages": [*call.messages],
        "text": text,
        "form": form,
        "rate": hook.rate,
    }
