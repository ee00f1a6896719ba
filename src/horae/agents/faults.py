"""What the library raises when a model call fails, as the trouble or the end that it is.

Trouble that passes (429, 5xx, no connection, silence) may be got round by another model, and is waited out otherwise. What
a repetition would not change fails the run, in the provider's own words.
"""

from __future__ import annotations

import json
import os
from typing import Any, cast

import httpx2
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from horae.agents.stop import Stop
from horae.agents.trouble import AGAIN_MAX_S, Trouble

WORDS_CHARS = 300
READABLE = (AgentRunError, httpx2.HTTPError)
"""What a model call may raise."""


def trouble_of(error: BaseException, model: str) -> Trouble | None:
    """What a provider said instead of an answer; None: it did answer, and that cannot be used."""
    if isinstance(error, ModelHTTPError):
        after = error.retry_after
        after = None if after is None else min(max(1.0, after), AGAIN_MAX_S)
        return Trouble(model, error.status_code, _words(error), after)
    if isinstance(error, ModelTimeoutError | ModelRequestTimeout | httpx2.TimeoutException):
        return Trouble(model, None, "nothing came for too long")
    if isinstance(error, ModelConnectionError | httpx2.TransportError):
        return Trouble(model, None, _cause(error))
    return None


def end_of(error: BaseException, model: str, state: str | None) -> Stop:
    """How a run ends by it, where no other model may be asked."""
    if isinstance(error, ModelAuthenticationError):
        status = f" (status {error.status_code})" if isinstance(error, ModelHTTPError) else ""
        return Stop(
            "failed",
            f"the provider refused the key of model {model}{status}: {_words(error)}; "
            "look at the provider's `key` in config.toml and at that secret",
        )
    if isinstance(error, ModelQuotaExceededError):
        return Stop("failed", f"the provider of {model} says that the account has nothing left: {_words(error)}")
    trouble = trouble_of(error, model)
    if trouble is not None:
        return trouble.stop(state)
    if isinstance(error, ContentFilterError):
        return Stop("failed", f"the provider of {model} held its answer back: {_short(str(error))}")
    if isinstance(error, UnexpectedModelBehavior):
        return Stop("failed", f"the answer of {model} cannot be used: {_short(error.message)}")
    if isinstance(error, ModelAPIError):
        return Stop("failed", f"the answer of {model} cannot be read: {_short(str(error))}")
    return Stop("failed", f"{model}: {type(error).__name__}: {_short(str(error))}")


def _words(error: ModelAPIError) -> str:
    """The provider's own."""
    body: Any = error.body
    for key in ("error", "message"):
        if isinstance(body, dict):
            body = cast("dict[str, Any]", body).get(key) or cast("object", body)
    if isinstance(body, dict | list):
        body = json.dumps(body)
    return _short(str(body)) if body else "it gave no reason"


def _cause(error: BaseException) -> str:
    """What was first in a chain of causes, in the system's words where it is the system's."""
    said = str(error)
    below: BaseException | None = error
    while below is not None:
        said = os.strerror(below.errno) if isinstance(below, OSError) and below.errno else str(below) or said
        below = below.__cause__ or below.__context__
    return _short(said or type(error).__name__)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WORDS_CHARS else line[: WORDS_CHARS - 1] + "…"
