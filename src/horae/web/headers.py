"""What every answer carries, so that a page can neither be framed, nor run or load what is not ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response

Handler = Callable[[Request, Exception], Awaitable[Response]]

POLICY: Mapping[str, str] = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
CSP = "; ".join(f"{name} {value}" for name, value in POLICY.items())
HEADERS: Mapping[str, str] = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
FOREVER = "public, max-age=31536000, immutable"


def dressed(handler: Handler) -> Handler:
    """A handler whose answers carry them: what answers faults stands outside of all middleware, so of the guard too."""

    async def handle(request: Request, error: Exception) -> Response:
        made = await handler(request, error)
        dress(made.headers, lasting=False)
        return made

    return handle


def dress(headers: MutableHeaders, *, lasting: bool) -> None:
    """Put them on an answer; `lasting` is a file that changes its address when it changes."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if lasting:
        headers["cache-control"] = FOREVER
    else:
        headers.setdefault("cache-control", "no-store")
