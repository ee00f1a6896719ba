"""`webhook`: signed JSON by HTTP, as Standard Webhooks has it.

`webhook-id` is the message's id and stays the same however often it is tried; `webhook-signature` is an HMAC over the id,
the time of this try and the body, one for each secret, so that a secret can be replaced without a gap.

What an answer means is in `Clerk.answered`: a status of 2xx has taken it, 410 closes the address, 5xx and 429 are asked
again when they say, a middleman's 502 and 504 leave it open. A redirect is not followed, since it could lead anywhere.
What fails before the first byte of the request went out is surely not taken; what fails later may have been.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast
from urllib.parse import SplitResult, urlsplit

from horae.aside import aside
from horae.attached import shown_name, size_of
from horae.core import kinds
from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.outgoing import Clerk, readable, title_of
from horae.core.placeholders import filled
from horae.errors import Invalid
from horae.ports.outside import Tools

if TYPE_CHECKING:
    import httpx2

KEY_BYTES_MIN = 24
ANSWER_BYTES_MAX = 4096
ANSWER_S = 5.0  # for the words of an answer whose status is known
_PREFIX = "whsec_"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "user-agent"})


class Webhook:
    """Posts messages to one URL."""

    def __init__(self, platform: Platform, tools: Tools) -> None:
        options = kinds.checked(platform)
        self._url = str(options["url"])
        secret = cast("str | Sequence[str]", options["secret"])
        self._secrets = (secret,) if isinstance(secret, str) else tuple(secret)
        self._headers = cast("Mapping[str, str]", options.get("headers", {}))
        for name in self._headers:
            if not _TOKEN.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("webhook-"):
                where = f"platforms.{platform.name}.headers"
                raise Invalid(f"{where}: {name[:60]!r} cannot be set", "it is set by Horae, or is no header", key=where)
        self._private = options.get("allow_private") is True
        self._where = f"platforms.{platform.name}"
        self._timeout_s = platform.timeout_s
        self._tools = tools
        self._clerk = Clerk(platform, tools.secrets, tools.redact)

    @staticmethod
    def shape(options: Mapping[str, object]) -> tuple[bool, bool]:
        """Whether the bare name is an address, and whether chats have threads."""
        return kinds.alone("webhook", options), kinds.threads("webhook", options)

    def check(self, address: Address | None = None) -> str | None:
        """URL, secrets and headers are usable, and the library is there."""
        if find_spec("httpx2") is None:
            return "webhooks need httpx2: pip install 'horae[delivery]'"
        secrets, missing = self._clerk.secrets()
        return missing or self._problem(secrets)

    async def send(self, message: Message) -> Receipt:
        """One request."""
        secrets, missing = self._clerk.secrets()
        if missing is not None:
            return self._clerk.retry(missing)
        if (problem := self._problem(secrets)) is not None:
            return self._clerk.refuse(problem)
        now = self._tools.now()
        body = content(message, now)
        keys = [key for key in (key_of(filled(secret, secrets)) for secret in self._secrets) if key is not None]
        headers = {name: filled(value, secrets) for name, value in self._headers.items()}
        headers |= signed(message.id, now, body, keys)
        return await self._post(filled(self._url, secrets), headers, body)

    def _problem(self, secrets: Mapping[str, str]) -> str | None:
        if (wrong := url_problem(filled(self._url, secrets))) is not None:
            return f"{self._where}.url: {wrong}"
        if any(key_of(filled(secret, secrets)) is None for secret in self._secrets):
            return f"{self._where}.secret must be {_PREFIX} and the base64 of at least {KEY_BYTES_MIN} bytes"
        for name, value in self._headers.items():
            if not filled(value, secrets).isascii() or not filled(value, secrets).isprintable():
                return f"{self._where}.headers: the value of {name} has characters that no header has"
        return None

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        out = await aside(import_module, "horae.outward")  # for the first of them that is a long time
        http = import_module("httpx2")
        sent = False

        async def trace(event: str, _: object) -> None:
            nonlocal sent
            sent = sent or event.endswith("send_request_headers.started")

        host = urlsplit(url).hostname
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                out.client(allow_private=self._private, timeout_s=self._timeout_s) as client,
                client.stream("POST", url, headers=dict(headers), content=body, extensions={"trace": trace}) as answer,
            ):
                return await self._answered(answer, headers["webhook-id"])
        except out.Forbidden as forbidden:
            return self._clerk.refuse(f"{forbidden}: allow it with {self._where}.allow_private = true")
        except (http.InvalidURL, http.UnsupportedProtocol, UnicodeError) as error:
            return self._clerk.refuse(f"{self._where}.url: {error}")
        except (http.HTTPError, TimeoutError, OSError, ValueError) as error:
            what = "no answer in time" if isinstance(error, TimeoutError | http.TimeoutException) else str(error)
            reason = f"{host}: {what or type(error).__name__}"
            return self._clerk.lose(reason) if sent else self._clerk.retry(reason)

    async def _answered(self, answer: httpx2.Response, id: str) -> Receipt:
        status = answer.status_code
        if 200 <= status < 300:
            return self._clerk.accept(f"{status}, webhook-id {id}")
        if 300 <= status < 400:
            to = answer.headers.get("location", "")
            return self._clerk.refuse(f"{status}: redirects are not followed; it points to {to or 'nowhere'}")
        words = await _words(answer)
        reason = f"{status} {answer.reason_phrase}".strip() + (f": {words}" if words else "")
        return self._clerk.answered(status, reason, after_s(answer.headers.get("retry-after", ""), self._tools.now()))


async def _words(answer: httpx2.Response) -> str:
    """The beginning of what an answer says, if it comes soon."""
    said = bytearray()
    with contextlib.suppress(TimeoutError, OSError, import_module("httpx2").HTTPError):
        async with asyncio.timeout(ANSWER_S):
            async for part in answer.aiter_raw(ANSWER_BYTES_MAX):
                said += part
                if len(said) >= ANSWER_BYTES_MAX:
                    break
    return bytes(said[:ANSWER_BYTES_MAX]).decode("utf-8", "replace")


def content(message: Message, now: datetime) -> bytes:
    """The body of the request. Files are named, not sent."""
    kind = "alert" if message.alert else "run.completed" if "run" in message.facts else "message"
    said = {
        **message.facts,
        "title": title_of(message),
        "body": readable(message.body),
        "format": message.format,
        "target": str(message.address),
        "attachments": [{"name": shown_name(one.name), "size": size_of(one.path)} for one in message.attachments],
    }
    whole = {"type": kind, "timestamp": now.astimezone(UTC).isoformat(timespec="seconds"), "data": said}
    return json.dumps(whole, default=str).encode("utf-8", "replace")


def signed(message_id: str, now: datetime, body: bytes, keys: Sequence[bytes]) -> dict[str, str]:
    """The headers that prove who sent it, and when."""
    at = str(int(now.timestamp()))
    name = "".join(char for char in message_id if "!" <= char <= "~")
    text = f"{name}.{at}.".encode() + body
    marks = " ".join(f"v1,{base64.b64encode(hmac.digest(key, text, 'sha256')).decode()}" for key in keys)
    return {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": marks, "content-type": "application/json"}


def key_of(secret: str) -> bytes | None:
    """The key that a secret stands for; None when it is none, or too short."""
    if not secret.startswith(_PREFIX):
        return None
    text = secret.removeprefix(_PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) >= KEY_BYTES_MIN else None


def url_problem(url: str) -> str | None:
    """Why nothing can be posted there."""
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("http", "https"):
        return "it must begin with https:// or http://"
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        return "it must not hold a user or a password: use `headers`"
    if not parts.hostname or port == 0 or any(char <= " " or char == "\\" for char in url):
        return "it is no URL"
    return None


def after_s(said: str, now: datetime) -> float | None:
    """How long `Retry-After` says to wait: seconds, or a date."""
    if said.isascii() and said.isdigit():
        return float(said[:9])
    try:
        when = parsedate_to_datetime(said)
    except (ValueError, TypeError, IndexError):
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now.timestamp()
