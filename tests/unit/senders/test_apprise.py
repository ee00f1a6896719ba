"""What is read off Apprise's log."""

from __future__ import annotations

import pytest

from horae.senders.apprise import verdict_of

REFUSED = ("DEBUG", "Socket Exception: Max retries exceeded (Caused by NewConnectionError(...))")
RESET = ("DEBUG", "Socket Exception: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))")
BROKE = ("WARNING", "A Connection error occurred sending X notification.")
SENT = ("INFO", "Sent X notification.")


def _code(number: object) -> tuple[str, str]:
    return "WARNING", f"Failed to send X notification: error={number}."


@pytest.mark.parametrize(
    ("status", "log", "event", "number"),
    [
        ("SUCCESS", [SENT], "accept", 0),
        ("TIMEOUT", [], "lose", 0),
        ("FAILURE", [], "lose", 0),
        ("FAILURE", [BROKE], "lose", 0),
        ("FAILURE", [BROKE, REFUSED], "retry", 0),
        ("FAILURE", [BROKE, RESET], "lose", 0),
        ("FAILURE", [BROKE, REFUSED, BROKE, RESET], "lose", 0),
        ("FAILURE", [_code(404)], "answered", 404),
        ("FAILURE", [_code(404), _code(429)], "answered", 429),
        ("FAILURE", [_code(503), _code(502), _code(404)], "answered", 502),
        ("FAILURE", [SENT, _code(404)], "lose", 0),
        ("FAILURE", [_code("channel_not_found")], "refuse", 0),
        ("FAILURE", [("DEBUG", "Payload: error=404. NewConnectionError"), BROKE], "lose", 0),
    ],
)
def test_a_verdict(status: str, log: list[tuple[str, str]], event: str, number: int) -> None:
    verdict = verdict_of("X", status, log)
    assert (verdict.event, verdict.status) == (event, number)


def test_what_never_began_is_refused() -> None:
    assert verdict_of("X", "FAILURE", [("ERROR", "no content")], begun=False).event == "refuse"
