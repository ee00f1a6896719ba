"""Decisions in words: those that have words of their own, and all others by what stands in them."""

from __future__ import annotations

from typing import Any

import pytest

from horae.core.decisionwords import decision_words


@pytest.mark.parametrize(
    ("what", "detail", "says"),
    [
        ("let_in", {"kind": "token", "name": "ci", "role": "read"}, "ci let in by a token, with the role read"),
        ("shut_out", {"kind": "session", "name": "ann", "role": "admin"}, "ann shut out: the end of a session"),
        ("proposed", {"ask": "a1", "kind": "job"}, "waits for a person's word"),
        ("claimed", {"late_s": 0.25, "missed": 2}, "claimed, 250 ms after it was due, it stands for 2 missed"),
        ("undone", {"entry": 7}, "entry 7 was taken back"),
        ("retry_planned", {"in_s": 30.0, "nothing": None}, "retry planned: in 30.0 s"),
    ],
)
def test_a_decision_says_what_was_decided(what: str, detail: dict[str, Any], says: str) -> None:
    assert says in decision_words({"what": what, "detail": detail})
