"""The way from a meter to a provider: its address, its key, and of the agent's headers only what belongs to the API."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping

import httpx2

from horae import __version__
from horae.agents.task import ModelCall

CONNECT_S, READ_S = 10.0, 900.0  # a model may think for long; a run's own limits are for those that hang
HOSTS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
ANTHROPIC_VERSION = "2023-06-01"


class Upstream:
    """Of one run. Redirects are not followed: the key goes where the settings say, and nowhere else."""

    def __init__(self) -> None:
        timeout = httpx2.Timeout(READ_S, connect=CONNECT_S)
        self._client = httpx2.Client(
            verify=ssl.create_default_context(), timeout=timeout, trust_env=False, follow_redirects=False
        )

    def request(
        self, model: ModelCall, path: str, method: str, body: bytes | None, given: Mapping[str, str]
    ) -> httpx2.Request:
        """The request as the provider gets it."""
        headers = {"accept-encoding": "identity", "user-agent": f"Horae/{__version__}", **given}
        if body is not None:
            headers["content-type"] = "application/json"
        if (key := model["key"]) is not None:
            headers |= {"x-api-key": key} if family(model) == "anthropic" else {"authorization": f"Bearer {key}"}
        if path.startswith("/v1/messages"):
            headers.setdefault("anthropic-version", ANTHROPIC_VERSION)
        return self._client.build_request(method, address(model, path), content=body, headers=headers)

    def send(self, request: httpx2.Request) -> httpx2.Response:
        """Its body is still to be read. Raises httpx2.HTTPError."""
        return self._client.send(request, stream=True)

    def close(self) -> None:
        """What is under way breaks off."""
        self._client.close()


def family(model: ModelCall) -> str:
    """How a provider is talked to: `anthropic`, or `openai`, which all others are compatible with."""
    return "anthropic" if model["kind"] == "anthropic" else "openai"


def is_known(model: ModelCall) -> bool:
    """Whether it needs no `base_url`."""
    return model["kind"] in ("openai", "openai-responses", "anthropic")


def address(model: ModelCall, path: str) -> str:
    """Where a path of the API is. OpenAI's clients take a `base_url` to its version, Anthropic's to what is before it."""
    at = (model["base_url"] or HOSTS[family(model)]).rstrip("/")
    if family(model) == "anthropic" or at.endswith("/v1"):
        return at.removesuffix("/v1") + path
    return at + path.removeprefix("/v1")


def without_keys(data: bytes, models: Iterable[ModelCall]) -> bytes:
    """What an error says, for the agent: some services repeat in it the key that they were given."""
    for model in models:
        if model["key"]:
            data = data.replace(model["key"].encode(), b"[key]")
    return data


def takes_new_key(model: ModelCall) -> bool:
    """OpenAI itself wants `max_completion_tokens`; services that are compatible know the older `max_tokens`."""
    return (model["base_url"] or HOSTS["openai"]).startswith("https://api.openai.com")
