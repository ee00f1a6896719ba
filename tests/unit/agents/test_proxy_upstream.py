"""Where a provider is, and what it means that it did not answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from horae.agents.task import ModelCall
from horae.agents.trouble import AGAIN_MAX_S, Trouble, after_s
from horae.agents.upstream import address, family, is_known, takes_new_key

NOW = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)


def model(kind: str, base_url: str | None) -> ModelCall:
    return cast("ModelCall", {"kind": kind, "base_url": base_url})


@pytest.mark.parametrize(
    ("kind", "base_url", "path", "found"),
    [
        ("openai", None, "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("openai", "http://127.0.0.1:8080/v1", "/v1/responses", "http://127.0.0.1:8080/v1/responses"),
        ("openai", "http://127.0.0.1:8080/v1/", "/v1/models", "http://127.0.0.1:8080/v1/models"),
        ("openai", "https://x.example/v1beta/openai", "/v1/models", "https://x.example/v1beta/openai/models"),
        ("anthropic", None, "/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://x.example/claude", "/v1/messages", "https://x.example/claude/v1/messages"),
        ("anthropic", "https://x.example/v1", "/v1/messages", "https://x.example/v1/messages"),
    ],
)
def test_a_path_is_found_where_the_clients_of_the_api_look_for_it(
    kind: str, base_url: str | None, path: str, found: str
) -> None:
    assert address(model(kind, base_url), path) == found


@pytest.mark.parametrize(
    ("kind", "of", "known"),
    [
        ("openai", "openai", True),
        ("openai-responses", "openai", True),
        ("anthropic", "anthropic", True),
        ("mistral", "openai", False),
    ],
)
def test_a_key_is_never_sent_to_where_a_kind_is_not_known_to_be(kind: str, of: str, known: bool) -> None:
    assert (family(model(kind, None)), is_known(model(kind, None))) == (of, known)


def test_only_openai_itself_wants_the_newer_key() -> None:
    assert takes_new_key(model("openai", None))
    assert not takes_new_key(model("openai", "http://127.0.0.1:8080/v1"))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("nan", None),
        ("1e9", AGAIN_MAX_S),
        ("soon", None),
        ("Tue, 01 Dec 2026 06:01:30 GMT", 90.0),
        ("Tue, 01 Dec 2026 05:00:00 GMT", 0.0),
    ],
)
def test_how_long_a_provider_says_to_wait(header: str | None, seconds: float | None) -> None:
    assert after_s(header, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "how"),
    [(None, "held"), (408, "held"), (429, "held"), (500, "held"), (529, "held"), (401, "failed"), (404, "failed")],
)
def test_what_passes_is_waited_for(status: int | None, how: str) -> None:
    stop = Trouble("small", status, "no", 5.0).stop("state")
    kept: Any = (5.0, "state") if how == "held" else (None, None)
    assert (stop.how, (stop.again_s, stop.state)) == (how, kept)
