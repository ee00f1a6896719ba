"""Secrets are taken out of text, whatever they are wrapped in; ordinary text is not touched, and no text takes long."""

from __future__ import annotations

import hashlib
import json
import random
import time
import uuid
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.redact import Redactor

VALUE = "p@ss w0rd/ü?=+&"
NONE = Redactor({})
DICE = random.Random(7)


def letters(count: int, alphabet: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") -> str:
    return "".join(DICE.choice(alphabet) for _ in range(count - 1)) + "7"


# ── known values


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        quote(VALUE, safe=""),
        quote_plus(VALUE),
        json.dumps(VALUE)[1:-1],
        VALUE.encode().hex(),
        *(b64encode(b"u" * n + VALUE.encode() + b"x" * m).decode() for n in range(4) for m in range(4)),
        urlsafe_b64encode(b"~~~" + VALUE.encode()).decode(),
    ],
)
def test_a_known_value_is_found_in_each_of_its_forms(written: str) -> None:
    said = Redactor({"DB": VALUE}).text(f"before {written} after")
    assert "[redacted DB]" in said
    assert said.startswith("before ")
    assert said.endswith(" after")
    assert written not in said


def test_every_place_is_found_and_the_rest_is_left() -> None:
    redactor = Redactor({"A": "first-value", "B": "second-value"})
    assert redactor.text("first-value,second-value\nfirst-value") == "[redacted A],[redacted B]\n[redacted A]"


def test_of_values_in_one_another_and_across_nothing_is_left() -> None:
    inside = Redactor({"SHORT": "abcdef", "LONG": "xxabcdefyy"})
    assert inside.text("xxabcdefyy abcdef") == "[redacted LONG] [redacted SHORT]"
    across = Redactor({"A": "abcdef123", "B": "123xyz789"})
    assert across.text("-abcdef123xyz789-") == "-[redacted A]-"
    assert Redactor({"A": "aaaaaa"}).text("-aaaaaaaaaa-") == "-[redacted A]-"


@pytest.mark.parametrize("value", ["", "a", "12345", "  abc \n"])
def test_a_short_value_is_no_reason_to_mangle_text(value: str) -> None:
    assert Redactor({"A": value}).text("a 12345 abc") == "a 12345 abc"


def test_white_space_around_a_value_does_not_hide_it() -> None:
    assert Redactor({"A": "secret-1\n"}).text("say secret-1!") == "say [redacted A]!"


def test_bytes_are_searched_too_and_what_is_no_text_stays() -> None:
    redactor = Redactor({"A": "sécret-1"})
    assert redactor.data(b"\xff\xfe" + "sécret-1".encode() + b"\x80") == b"\xff\xfe[redacted A]\x80"
    plain = b"\xff nothing"
    assert redactor.data(plain) is plain


@given(
    st.dictionaries(st.sampled_from("ABC"), st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=12)),
    st.data(),
)
def test_no_value_survives(secrets: dict[str, str], data: st.DataObject) -> None:
    secrets = {name: value for name, value in secrets.items() if len(value.strip()) >= 6 and "redacted" not in value}
    pieces = st.sampled_from([*secrets.values(), "", "x", " "]) if secrets else st.just("x")
    text = "".join(data.draw(st.lists(pieces, max_size=8)))
    said = Redactor(secrets).text(text)
    parts = said.replace("[redacted A]", "\0").replace("[redacted B]", "\0").replace("[redacted C]", "\0").split("\0")
    assert not [value for value in secrets.values() if any(value.strip() in part for part in parts)]


# ── shapes

BODY = "\n".join(letters(64) for _ in range(6)) + "\n" + letters(20) + "=="
JWT = ".".join(["eyJ" + letters(30), "eyJ" + letters(60), letters(43)])


@pytest.mark.parametrize(
    "key",
    [
        "sk-" + letters(48),
        "sk-proj-" + letters(20) + "_" + letters(40) + "-" + letters(30),
        "sk-ant-api03-" + letters(90),
        "sk-or-v1-" + letters(64, "0123456789abcdef"),
        "ghp_" + letters(36),
        "ghs_" + letters(36),
        "github_pat_" + letters(22) + "_" + letters(59),
        "AKIA" + letters(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        "ASIA" + letters(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        "xox" + "b-123456789012-1234567890123-" + letters(24),
        "xox" + "p-" + letters(40),
        "AIza" + letters(35),
        JWT,
    ],
)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("key=", "\n"), ('{"k": "', '"}'), ("x ", " y"), ("(", ")")])
def test_a_key_is_known_by_its_shape(key: str, before: str, after: str) -> None:
    assert NONE.text(before + key + after) == f"{before}[redacted]{after}"


@pytest.mark.parametrize(
    "head", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
def test_a_private_key_goes_as_a_whole(head: str) -> None:
    key = f"-----BEGIN {head}-----\n{BODY}\n-----END {head}-----"
    for text in (key, key.replace("\n", "\r\n"), key.replace("\n", "\\n"), key.replace("\n", "\n  ")):
        assert NONE.text(f"a\n{text}\nb") == "a\n[redacted]\nb"
    assert NONE.text(f"{key}\n{key}") == "[redacted]\n[redacted]"


def test_a_private_key_with_heads_and_one_that_was_cut() -> None:
    heads = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{heads}{BODY}\n-----END RSA PRIVATE KEY-----"
    assert NONE.text(f"a {key} b") == "a [redacted] b"
    cut = f"-----BEGIN PRIVATE KEY-----\n{letters(64)}\n{letters(64)}\n[... 5 bytes cut ...]\nlater words"
    assert NONE.text(cut) == "[redacted]\n[... 5 bytes cut ...]\nlater words"
    assert "in the file a.pem" in NONE.text("found -----BEGIN PRIVATE KEY----- in the file a.pem")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Authorization: Bearer abc.DEF-123~45", "Authorization: Bearer [redacted]"),
        ("> authorization: bearer abcdefgh\n>", "> authorization: bearer [redacted]\n>"),
        ("AUTHORIZATION=Basic dXNlcjpwYXNz", "AUTHORIZATION=Basic [redacted]"),
        ('{"Authorization": "Bearer abcdefgh1"}', '{"Authorization": "Bearer [redacted]"}'),
        (r"{\"Authorization\": \"Bearer abcdefgh1\"}", r"{\"Authorization\": \"Bearer [redacted]\"}"),
        ("postgres://me:hunter2@db/x", "postgres://me:[redacted]@db/x"),
        ("redis://:hunter2@cache:6379/0", "redis://:[redacted]@cache:6379/0"),
        ("https://a:b@c and http://d:e@f", "https://a:[redacted]@c and http://d:[redacted]@f"),
    ],
)
def test_what_stands_where_a_password_stands_is_one(text: str, said: str) -> None:
    assert NONE.text(text) == said


def test_the_name_of_a_known_value_stays_inside_a_shape() -> None:
    redactor = Redactor({"API": "abcdefgh1"})
    assert redactor.text("Authorization: Bearer abcdefgh1") == "Authorization: Bearer [redacted API]"
    assert redactor.text("postgres://me:abcdefgh1@db") == "postgres://me:[redacted API]@db"


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T20:44:00Z INFO store: 12 rows in 3 ms",
        hashlib.sha1(b"x").hexdigest(),
        hashlib.sha256(b"x").hexdigest(),
        "sha256-" + b64encode(hashlib.sha256(b"y").digest()).decode(),
        hashlib.sha256(b"run").hexdigest()[:16],
        str(uuid.UUID(int=7)),
        "d3adde3841705388b4e208cf8b864e99",
        "the task-" + "a1" * 20,
        "risk-assessment-for-the-harbour-2026",
        "sk-learn-contrib-and-friends-for-everybody",
        "sk-short1",
        "disk-" + "0123456789" * 4,
        "XAKIA0123456789ABCDEF",
        "AKIA0123456789ABCDEFG",
        "AKIAlowercase0123456",
        "xoxo-love-and-kisses",
        "eyJ.eyJ.eyJ",
        "eyJhbGciOiJIUzI1NiJ9 is how one begins",
        "-----BEGIN CERTIFICATE-----\n" + "A" * 64 + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + "A" * 64 + "\n-----END PUBLIC KEY-----",
        "the Authorization header is missing",
        "Authorization: none",
        "http://localhost:8080/a@b",
        "git@github.com:me/repo.git, ssh://git@host:22/x",
        "see https://example.org/a:b and me@example.org",
        "C:\\Users\\me://",
        "ghp_short, github_pat_, AIza-not-a-key",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert NONE.text(text) == text
    assert Redactor({"A": "some-other-value"}).text(text) == text


@given(st.text())
def test_any_text_is_taken_and_doing_it_again_changes_nothing(text: str) -> None:
    once = NONE.text(text)
    assert NONE.text(once) == once


@given(st.binary())
def test_any_bytes_are_taken(data: bytes) -> None:
    assert isinstance(Redactor({"A": "abcdef"}).data(data), bytes)


# ── how long it takes: no text can make it slow


@pytest.mark.parametrize("sown", ["", "eyJ", "://", "sk-", "-----BEGIN PRIVATE KEY-----"])
@pytest.mark.parametrize(
    "piece",
    [
        "sk-", "sk-a", "sk-sk_", "eyJ", "eyJ-", "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJ", "-----BEGIN ", "PRIVATE KEY-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN A PRIVATE KEY-----\nVersion: ",
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 20, "authorization: ", "authorization:bearer ", "Authorization: Bearer a",
        "://", "://a:", "://:", "AKIA", "ghp_", "xoxb-", "xoxb-a-", "AIza", "github_pat_", "A", "-", "\n", "\\n",
    ],
)  # fmt: skip
def test_no_text_takes_long(piece: str, sown: str) -> None:
    text = (sown + piece * 262_144)[:262_144]
    began = time.process_time()
    NONE.text(text)
    assert time.process_time() - began < 2.0  # what goes over itself takes minutes
