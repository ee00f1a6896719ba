"""Whether a call of a hook is from whom it should be, which message it is, and which kind of event. Pure.

- `standard`: Standard Webhooks. An HMAC over id, time and body; the time must be near ours, to both sides.
- `github`: `X-Hub-Signature-256`, an HMAC over the body alone. Its delivery id is not signed: whoever has seen a call can send
  it under another id. So a call is the same when its *body* is the same, too; GitHub's own second try has both.
- `bearer`: a secret in `Authorization`. Nothing of the body is proved by it; whoever has the secret may say anything. Calls
  with the same `Idempotency-Key` are the same; without one each call is new, since nothing tells it from one before.

Comparisons take the same time whatever is wrong. Who is refused learns nothing of why: a hook that does not exist, a secret
that has no value and a signature that is wrong look alike.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from horae.core.hookform import Hook

PREFIX = "whsec_"
SIGNATURES_MAX = 16
ID_CHARS_MAX = 200
EVENT_CHARS_MAX = 200
_TIME = re.compile(r"[0-9]{1,12}")
_HEX = re.compile(r"sha256=[0-9a-f]{64}")
_ID = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class Call:
    """What is known of a call that is good."""

    messages: tuple[str, ...]
    """By each of these it is the same as one before; none where nothing tells."""
    event: str | None = None


def verified(hook: Hook, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: datetime) -> Call | None:
    """The call, or None when it is not good. Names of headers are in small letters."""
    if hook.kind == "standard":
        return _standard(hook, secrets, headers, body, now)
    if hook.kind == "github":
        return _github(secrets, headers, body)
    return _bearer(secrets, headers)


def key_of(secret: str) -> bytes | None:
    """The key of a secret of Standard Webhooks: `whsec_` and base64, or base64 alone. None of what is neither."""
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True) or None
    except (binascii.Error, ValueError):
        return None


def signed(kind: str, secret: str, message: str, now: datetime, body: bytes) -> dict[str, str]:
    """The headers of a call that is good, for a test of a hook. Raises ValueError for a secret that cannot sign."""
    if kind == "standard":
        key = key_of(secret)
        if key is None:
            raise ValueError("the secret of a hook of kind standard must be whsec_ and base64")
        stamp = str(int(now.timestamp()))
        mark = base64.b64encode(_hmac(key, _content(message, stamp, body))).decode()
        return {"webhook-id": message, "webhook-timestamp": stamp, "webhook-signature": f"v1,{mark}"}
    if kind == "github":
        mark = _hmac(_bytes(secret), body).hex()
        return {"x-github-delivery": message, "x-hub-signature-256": f"sha256={mark}"}
    return {"authorization": f"Bearer {secret}", "idempotency-key": message}


def _standard(
    hook: Hook, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: datetime
) -> Call | None:
    message, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    content = _content(message, stamp, body)
    sent = [part[3:] for part in headers.get("webhook-signature", "").split(" ")[:SIGNATURES_MAX] if part[:3] == "v1,"]
    good = False
    for key in [key_of(secret) or b"" for secret in secrets]:
        wanted = base64.b64encode(_hmac(key, content))
        for one in sent:
            good |= hmac.compare_digest(wanted, _bytes(one)) and bool(key)
    timely = bool(_TIME.fullmatch(stamp)) and abs(now.timestamp() - int(stamp)) <= hook.tolerance_s
    if not (good and timely and _ID.fullmatch(message)):
        return None
    return Call((f"id {message}",), _type_in(body))


def _github(secrets: Sequence[str], headers: Mapping[str, str], body: bytes) -> Call | None:
    sent = headers.get("x-hub-signature-256", "")
    good = False
    for secret in secrets:
        good |= hmac.compare_digest(f"sha256={_hmac(_bytes(secret), body).hex()}".encode(), _bytes(sent)) and bool(
            secret
        )
    if not good or not _HEX.fullmatch(sent):
        return None
    event = headers.get("x-github-event", "")[:EVENT_CHARS_MAX] or None
    return Call((*_named("id", headers.get("x-github-delivery")), f"body {sha256(body).hexdigest()}"), event)


def _bearer(secrets: Sequence[str], headers: Mapping[str, str]) -> Call | None:
    scheme, _, sent = headers.get("authorization", "").partition(" ")
    good = False
    for secret in secrets:
        good |= hmac.compare_digest(_bytes(secret), _bytes(sent.strip())) and bool(secret)
    if not good or scheme.lower() != "bearer":
        return None
    return Call(tuple(_named("key", headers.get("idempotency-key"))))


def _named(kind: str, given: str | None) -> Iterator[str]:
    if given:
        yield f"{kind} {given}" if _ID.fullmatch(given) else f"{kind} {sha256(_bytes(given)).hexdigest()}"


def _content(message: str, stamp: str, body: bytes) -> bytes:
    return b".".join((_bytes(message), _bytes(stamp), body))


def _hmac(key: bytes, content: bytes) -> bytes:
    return hmac.new(key, content, sha256).digest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _type_in(body: bytes) -> str | None:
    """`type` of a JSON object; None of what has none."""
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    kind = cast("Mapping[str, object]", found).get("type") if isinstance(found, dict) else None
    return kind[:EVENT_CHARS_MAX] if isinstance(kind, str) else None


def text_of(body: bytes) -> tuple[str, str]:
    """The body as a text that can be handed to a program, and how it was made one: `text` or `base64`."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = "\0"
    return (text, "text") if "\0" not in text else (base64.b64encode(body).decode(), "base64")
