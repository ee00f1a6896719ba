"""A call of one of this home's own hooks, signed as its callers sign, sent to where it is served."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from horae.core.hooksign import signed
from horae.errors import Invalid, NotFound, Unavailable
from horae.ports import Home
from horae.secretfile import SecretFile

ANSWER_S = 30.0


def send(home: Home, name: str, text: str, address: str) -> dict[str, Any]:
    """Send it. Raises NotFound, Invalid, Unavailable; a call that is not taken is an answer like any other."""
    hook = home.settings.hooks.get(name)
    if hook is None:
        raise NotFound(f"there is no hook {name[:100]!r}", "`horae hooks` lists them")
    values, missing = SecretFile.of(home.settings).lookup(hook.secrets)
    if not values:
        raise Invalid(f"the hook {name} has no secret: {'; '.join(missing)}", f"`horae secrets set {hook.secrets[0]}`")
    body = text.encode("utf-8", "surrogateescape")
    try:
        headers = signed(
            hook.kind, next(iter(values.values())), f"test-{home.entropy(8).hex()}", home.clock.now(), body
        )
    except ValueError as error:
        raise Invalid(str(error), f"`horae secrets set {hook.secrets[0]}` keeps another") from error
    if hook.kind == "github":
        headers["x-github-event"] = hook.events[0] if hook.events else "push"
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=ANSWER_S)
    try:
        connection.request("POST", f"/hooks/{name}", body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        said = answer.read()
    except OSError as error:
        raise Unavailable(
            f"{address} does not answer: {error}", "`horae status` says whether a gateway runs"
        ) from error
    finally:
        connection.close()
    shown: dict[str, Any] = json.loads(said) if said[:1] == b"{" else {}
    return {"url": f"{address}/hooks/{name}", "status": answer.status, "ok": answer.status < 300, "answer": shown}
