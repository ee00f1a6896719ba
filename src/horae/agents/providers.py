"""The library's model for a model call, with an HTTP client of our own.

The client takes nothing from the environment, follows no redirect with a key, and does not repeat a call: whoever cannot
answer now is waited for between runs, not in them. What takes time to build is built once, when this module is loaded.
"""

from __future__ import annotations

import inspect
import ssl
from typing import Any
from urllib.parse import urlsplit

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from horae.agents.stop import Stop
from horae.agents.task import ModelCall

CONNECT_S, WRITE_S, READ_S = 10.0, 60.0, 60.0
TIMEOUT = httpx2.Timeout(connect=CONNECT_S, read=READ_S, write=WRITE_S, pool=CONNECT_S)
OPENAI = "https://api.openai.com/v1"
NO_KEY = "none"  # the libraries want a word, and a provider that asks for no key does not read it
CERTIFICATES = ssl.create_default_context()


def client_of() -> httpx2.AsyncClient:
    """Of one run. `READ_S` bounds the silence in a stream."""
    return httpx2.AsyncClient(
        verify=CERTIFICATES,
        trust_env=False,
        follow_redirects=False,
        timeout=TIMEOUT,
    )


def model_of(call: ModelCall, http: httpx2.AsyncClient) -> Model:
    """The model. Raises `Stop` where there is no way to it."""
    key, base_url = call["key"] or NO_KEY, call["base_url"]
    match call["kind"]:
        case "openai" | "openai-responses":
            client = AsyncOpenAI(
                api_key=key,
                base_url=base_url or OPENAI,
                http_client=http,
                max_retries=0,
                timeout=TIMEOUT,
            )
            provider = _compatible(base_url, client) if base_url and not base_url.startswith(OPENAI) else None
            kind = OpenAIChatModel if call["kind"] == "openai" else OpenAIResponsesModel
            return kind(call["id"], provider=provider or OpenAIProvider(openai_client=client))
        case "anthropic":
            anthropic = AsyncAnthropic(
                api_key=key,
                base_url=base_url or "https://api.anthropic.com",
                http_client=http,
                max_retries=0,
                timeout=TIMEOUT,
            )
            return AnthropicModel(call["id"], provider=AnthropicProvider(anthropic_client=anthropic))
        case _:
            return _other(call, key, http)


def _compatible(base_url: str, client: AsyncOpenAI) -> Provider[AsyncOpenAI]:
    """A service that is like OpenAI's. What bounds an answer has its older name there, which all of them know."""
    return OpenAICompatibleProvider(
        urlsplit(base_url).hostname or "openai-compatible",
        openai_client=client,
        profile=OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False),
    )


def _other(call: ModelCall, key: str, http: httpx2.AsyncClient) -> Model:
    """Of a kind that the library knows by its name."""
    kind = call["kind"]
    given: dict[str, Any] = {"api_key": key, "http_client": http}
    if call["base_url"] is not None:
        given["base_url"] = call["base_url"]

    def provider(name: str) -> Provider[Any]:
        found = infer_provider_class(name)
        known = inspect.signature(found).parameters
        if "base_url" in given and "base_url" not in known:
            raise Stop("failed", f"providers of kind {kind} have no `base_url` of their own: use the kind openai")
        return found(**{name: value for name, value in given.items() if name in known})

    try:
        return infer_model(f"{kind}:{call['id']}", provider_factory=provider)
    except ImportError as error:
        raise Stop("failed", f"providers of kind {kind} need a package that is not installed: {error}") from error
    except (UserError, ValueError, TypeError) as error:
        raise Stop(
            "failed", f"the model {call['name']} cannot be reached by a provider of kind {kind}: {error}"
        ) from error
