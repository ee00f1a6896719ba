"""`[metrics]`, `[telemetry]` and `[log]` as a person writes them."""

from __future__ import annotations

from typing import Any

import pytest

from horae.core.watchform import Telemetry, Watched, watched_of
from horae.errors import Invalid


def test_nothing_said_is_the_default_and_everything_can_be_said() -> None:
    assert watched_of({}) == Watched()
    given = {
        "metrics": {"jobs": 0},
        "log": {"format": "json", "level": "error"},
        "telemetry": {"otlp": "http://127.0.0.1:4318/", "headers": {"Authorization": "OTLP_KEY"}, "service": "night"},
    }
    telemetry = Telemetry("http://127.0.0.1:4318", {"authorization": "OTLP_KEY"}, "night")
    assert watched_of(given) == Watched(0, telemetry, "json", "error")


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"metrics": {"jobs": 2001}}, "metrics.jobs"),
        ({"metrics": {"job": 1}}, "metrics.job"),
        ({"log": {"format": "xml"}}, "log.format"),
        ({"log": {"level": "debug"}}, "log.level"),
        ({"telemetry": {}}, "telemetry.otlp"),
        ({"telemetry": {"otlp": "http://x.example.org"}}, "telemetry.otlp"),
        ({"telemetry": {"otlp": "https://a:b@x.example.org"}}, "telemetry.otlp"),
        ({"telemetry": {"otlp": "http://localhost:1", "headers": {"a": "Bearer x"}}}, "telemetry.headers.a"),
        ({"telemetry": {"otlp": "http://localhost:1", "headers": {"a b": "KEY"}}}, 'telemetry.headers."a b"'),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], key: str) -> None:
    with pytest.raises(Invalid) as caught:
        watched_of(given)
    assert caught.value.details["key"] == key
