"""Signatures of calls, against the library of Standard Webhooks and the example in GitHub's documents."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from horae.core.hookform import Hook
from horae.core.hooksign import Call, signed, text_of, verified
from horae.core.tracing import span_id, trace_id, traceparent

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
SECRET = "whsec_" + base64.b64encode(b"a key that is long enough for it").decode()
OTHER = "whsec_" + base64.b64encode(b"another key that is long enough.").decode()
STANDARD = Hook("h", "standard", ("A",), ("job",))
GITHUB = Hook("h", "github", ("A",), ("job",))
BEARER = Hook("h", "bearer", ("A",), ("job",))
BODY = b'{"type": "invoice.paid", "n": 1}'


def by_library(secret: str = SECRET, at: datetime = NOW, body: bytes = BODY) -> dict[str, str]:
    mark = Webhook(secret).sign("msg_1", at, body.decode())
    return {"webhook-id": "msg_1", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": mark}


def test_what_the_library_signs_is_good_and_says_what_it_is() -> None:
    assert verified(STANDARD, [SECRET], by_library(), BODY, NOW) == Call(("id msg_1",), "invoice.paid")
    assert verified(STANDARD, [OTHER, SECRET], by_library(), BODY, NOW) is not None


def test_what_we_sign_the_library_takes() -> None:
    now = datetime.now(UTC)
    headers = signed("standard", SECRET, "msg_2", now, BODY)
    assert Webhook(SECRET).verify(BODY, headers) == {"type": "invoice.paid", "n": 1}


def test_one_good_signature_among_others_is_enough() -> None:
    headers = by_library()
    headers["webhook-signature"] = f"v1a,xxxx v1,{base64.b64encode(bytes(32)).decode()} {headers['webhook-signature']}"
    assert verified(STANDARD, [SECRET], headers, BODY, NOW) is not None


@pytest.mark.parametrize("off_s", [-301, 301])
def test_a_time_that_is_too_far_off_is_not_good(off_s: int) -> None:
    headers = by_library(at=NOW + timedelta(seconds=off_s))
    assert verified(STANDARD, [SECRET], headers, BODY, NOW) is None
    within = by_library(at=NOW + timedelta(seconds=off_s - (1 if off_s > 0 else -1)))
    assert verified(STANDARD, [SECRET], within, BODY, NOW) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_2"},
        {"webhook-id": ""},
        {"webhook-timestamp": str(int(NOW.timestamp()) + 1)},
        {"webhook-timestamp": "nan"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": "v2,abc"},
    ],
)
def test_what_differs_from_what_was_signed_is_not_good(change: dict[str, str]) -> None:
    assert verified(STANDARD, [SECRET], {**by_library(), **change}, BODY, NOW) is None
    assert verified(STANDARD, [SECRET], by_library(), BODY + b" ", NOW) is None
    assert verified(STANDARD, [OTHER], by_library(), BODY, NOW) is None
    assert verified(STANDARD, ["no base64!"], by_library(), BODY, NOW) is None
    assert verified(STANDARD, [], by_library(), BODY, NOW) is None


def test_the_example_of_github_is_good() -> None:
    mark = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = {"x-hub-signature-256": mark, "x-github-event": "push", "x-github-delivery": "d-1"}
    call = verified(GITHUB, ["It's a Secret to Everybody"], headers, b"Hello, World!", NOW)
    assert call is not None
    assert call.event == "push"
    assert call.messages[0] == "id d-1"
    again = verified(
        GITHUB, ["It's a Secret to Everybody"], {**headers, "x-github-delivery": "d-2"}, b"Hello, World!", NOW
    )
    assert again is not None
    assert again.messages[1] == call.messages[1], "the id is not signed, so the body tells"
    assert verified(GITHUB, ["It's a Secret"], headers, b"Hello, World!", NOW) is None
    assert verified(GITHUB, [""], headers, b"Hello, World!", NOW) is None
    upper = {**headers, "x-hub-signature-256": mark.upper()}
    assert verified(GITHUB, ["It's a Secret to Everybody"], upper, b"Hello, World!", NOW) is None


def test_a_bearer_is_compared_as_a_whole() -> None:
    assert verified(BEARER, ["abc"], {"authorization": "bearer abc"}, b"", NOW) == Call(())
    keyed = verified(BEARER, ["abc"], {"authorization": "Bearer abc", "idempotency-key": "k"}, b"", NOW)
    assert keyed == Call(("key k",))
    for wrong in ("Bearer abcd", "Bearer ab", "Basic abc", "Bearer ", "abc", ""):
        assert verified(BEARER, ["abc"], {"authorization": wrong}, b"", NOW) is None
    assert verified(BEARER, [""], {"authorization": "Bearer "}, b"", NOW) is None


def test_what_is_no_text_for_a_program_is_written_as_base64() -> None:
    assert text_of("é".encode()) == ("é", "text")
    assert text_of(b"\xff") == ("/w==", "base64")
    assert text_of(b"a\0b") == ("YQBi", "base64")


def test_ids_of_traces_follow_from_what_they_are_about() -> None:
    assert trace_id("0123456789abcdef0123456789abcdef") == "0123456789abcdef0123456789abcdef"
    assert len(trace_id("no key")) == 32
    assert len(span_id("run", "x")) == 16
    assert span_id("a", "b") != span_id("ab")
    assert (
        traceparent("0123456789abcdef0123456789abcdef", "x")
        == f"00-0123456789abcdef0123456789abcdef-{span_id('run', 'x')}-01"
    )
