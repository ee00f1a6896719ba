"""A free question to a provider: which models it has. It costs no token, and tells whether it is there and takes the key.

Asked only when a person asks for it (`horae check --probe`). No redirect is followed: a key goes where its owner sent it.
"""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from horae.core.agentfacts import Reached

TIME_S = 10.0
ANSWER_BYTES_MAX = 4 * 1024 * 1024
BASES = {
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}


def probe(reached: Reached) -> str | None:
    """Why a model cannot be used as far as its provider says; None when it can, or when that cannot be asked."""
    provider, model = reached.provider, reached.model
    base = provider.base_url or BASES.get(provider.kind)
    if base is None:
        return None
    anthropic = provider.kind == "anthropic"
    url = f"{base.rstrip('/')}{'/v1/models' if anthropic else '/models'}"
    headers = {"accept": "application/json"}
    key = reached.key
    if key is not None and anthropic:
        headers |= {"x-api-key": key, "anthropic-version": "2023-06-01"}
    elif key is not None:
        headers["authorization"] = f"Bearer {key}"
    try:
        status, answer = _get(url, headers)
    except (OSError, http.client.HTTPException) as error:
        return f"provider {provider.name} does not answer at {base}: {error}"
    if status in (401, 403):
        return f"provider {provider.name} refuses the key in the secret {provider.key or '(none is set)'} (status {status})"
    if status != 200:
        return None if status in (404, 405) else f"provider {provider.name} answers with status {status}"
    ids = _ids(answer)
    if ids and model.id not in ids:
        return f"provider {provider.name} has no model {model.id} (of {len(ids)} that it lists)"
    return None


def _get(url: str, headers: dict[str, str]) -> tuple[int, bytes]:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(host, port, timeout=TIME_S, context=ssl.create_default_context())
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIME_S)
    try:
        connection.request("GET", parts.path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read(ANSWER_BYTES_MAX)
    finally:
        connection.close()


def _ids(answer: bytes) -> set[str]:
    try:
        said: Any = json.loads(answer)
        return {item["id"] for item in said["data"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()
