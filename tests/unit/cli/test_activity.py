"""What an agent did, as lines that people read."""

from __future__ import annotations

from typing import Any

import pytest

from horae.core.activitywords import activity_words


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"kind": "prompt", "chars": 1032, "sha256": "8598076786ef00"}, "· prompt 1,032 characters, sha256 8598076786ef"),
        ({"kind": "ask", "turn": 2, "model": "small", "bound": 1224}, "· ask turn 2 to small, at most 1,224 tokens"),
        (
            {"kind": "model", "model": "small", "input": 640, "output": 12, "usd": 0.000042},
            "· model small answered: 640 + 12 tokens, $0.000042",
        ),
        ({"kind": "model", "model": "small", "input": 1, "output": 2, "usd": None}, "· model small answered: 1 + 2 tokens"),
        ({"kind": "text", "text": "High water\nat six."}, "· text High water at six."),
        ({"kind": "tool", "id": "1", "tool": "run", "args": '{"command": "ls"}'}, '· tool run {"command": "ls"}'),
        ({"kind": "result", "id": "1", "ok": False, "text": "no such file"}, "· result failed: no such file"),
        ({"kind": "denied", "tool": "run", "args": "", "why": "not granted"}, "· denied run: not granted"),
        ({"kind": "watched", "changed": True}, "· watched changed"),
        ({"kind": "end", "how": "limit", "says": "turn limit of 5 reached"}, "· end limit: turn limit of 5 reached"),
        ({"kind": "gap", "at": 1, "count": 7}, "· gap 7 events are left out"),
        ({"kind": "skill", "at": 1, "name": "tides", "sha256": "ab"}, "· skill name tides sha256 ab"),
    ],
)  # fmt: skip
def test_each_event_is_a_line(event: dict[str, Any], line: str) -> None:
    assert activity_words(event) == line


def test_what_draws_on_a_terminal_is_no_part_of_it() -> None:
    line = activity_words({"kind": "result", "ok": True, "text": "a\x1b[2Jb\r\n\u202ec" + "x" * 500})
    assert line.isprintable()
    assert len(line) < 200
