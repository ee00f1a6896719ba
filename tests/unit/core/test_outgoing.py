"""What goes out: texts, parts, pages, addresses, receipts."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from horae.core.delivery import Platform
from horae.core.kinds import KINDS, alone, options_problem, threads
from horae.core.markup import html, page, plain
from horae.core.outgoing import Clerk, readable
from horae.core.placeholders import filled, names_in, placed
from horae.core.reach import why_not
from horae.core.redact import Redactor
from horae.core.split import cuts, numbered, shortened

# --- placeholders


def test_names_are_found_everywhere_and_filled_once() -> None:
    assert names_in({"a": "{A_1}{B}", "b": ["{B}", {"c": "{C}"}], "d": 3, "e": "{chat} {a} {}"}) == ("A_1", "B", "C")
    assert filled("{A}/{B}/{chat}", {"A": "{B}", "C": "x"}) == "{B}/{B}/{chat}"


@pytest.mark.parametrize(
    ("url", "chat", "thread", "expected"),
    [
        ("x://t/{chat}", "a/b?c#d@e:f %", None, "x://t/a%2Fb%3Fc%23d%40e%3Af%20%25"),
        ("x://t/{chat}", "{thread}{A}", "T", "x://t/%7Bthread%7D%7BA%7D"),
        ("x://t/{chat}:{thread}", "1", "2", "x://t/1:2"),
        ("x://t/{chat}:{thread}", "1", None, "x://t/1"),
        ("x://t/{chat}/?topic={thread}", "1", None, "x://t/1/?"),
        ("x://t/{chat}/?topic={thread}&a=b", "1", None, "x://t/1/?a=b"),
        ("x://t/{chat}/?a=b&topic={thread}", "1", None, "x://t/1/?a=b"),
        ("x://t/{chat}/?a=b&topic={thread}", "1", "é\ud800", "x://t/1/?a=b&topic=%C3%A9%3F"),
    ],
)
def test_a_chat_stays_in_its_place(url: str, chat: str, thread: str | None, expected: str) -> None:
    assert placed(url, chat, thread) == expected


# --- kinds


def test_what_is_wrong_is_named_with_its_key() -> None:
    assert options_problem("mial", {}) == ("kind", "there is no kind 'mial'", "did you mean mail?")
    assert options_problem("webhook", {"urll": "x"}) == ("urll", "webhook has no option 'urll'", "did you mean url?")
    assert options_problem("local", {"x": 1}) == ("x", "local has no option 'x'", "it has no options")
    assert (options_problem("file", {}) or ("",))[0] == "path"
    assert options_problem("file", {"path": "~/x"}) is None
    assert (options_problem("webhook", {"url": "u", "secret": "s", "headers": {"A": 1}}) or ("",))[0] == "headers"


def test_names_and_threads() -> None:
    assert [kind for kind in KINDS if alone(kind, {})] == [kind for kind in KINDS if kind != "mail"]
    assert not alone("nothing", {})
    assert not alone("apprise", {"url": "x://{chat}"})
    assert threads("apprise", {"url": "x://{chat}?t={thread}"})
    assert not threads("webhook", {"url": "{thread}"})


# --- reach


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.0.1",
        "100.64.0.1", "100.100.100.200", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1",
        "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
        "2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "100::1",
    ],
)  # fmt: skip
def test_these_are_not_reached(address: str) -> None:
    assert why_not(ip_address(address))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_these_are(address: str) -> None:
    assert why_not(ip_address(address)) is None


# --- split


def test_cuts_are_made_where_a_reader_would_make_them() -> None:
    assert cuts("one two\n\nthree four", 12) == ["one two\n\n", "three four"]
    assert cuts("one two\nthree four", 12) == ["one two\n", "three four"]
    assert cuts("one two three", 9) == ["one two ", "three"]
    assert cuts("abcdef", 4) == ["abcd", "ef"]
    assert cuts("abce\u0301x", 4) == ["abc", "e\u0301x"]
    assert cuts("ab👩‍👧x", 6) == ["ab", "👩‍👧x"]
    assert cuts("🇫🇷🇩🇪", 6) == ["🇫🇷", "🇩🇪"]
    assert cuts("a" + "\u0301" * 9, 4) == ["a\u0301\u0301\u0301", "\u0301" * 4, "\u0301" * 2]
    with pytest.raises(ValueError, match="room"):
        cuts("x", 1)


def test_a_code_block_is_closed_and_opened_again() -> None:
    text = "```py\n" + "x = 1\n" * 60 + "```\nend"
    parts = numbered(text, 200, fences=True)
    assert len(parts) > 2
    assert parts[0].endswith("\n```")
    assert parts[1].startswith(f"(2/{len(parts)})\n```py\nx = 1")
    assert all(part.count("```") % 2 == 0 for part in parts)


def test_a_shortened_text_says_where_the_rest_is() -> None:
    assert shortened("short", 10, "note") == "short"
    assert shortened("word " * 20, 40, "see there").endswith("…\n\nsee there")


# --- markup


def test_no_html_and_no_script_comes_through() -> None:
    shown = html(
        '<script>x</script> [a](javascript:x) [b](data:text/html,x) [c](https://e.org) ![p](https://e.org/p.png "t")',
        "markdown",
    )
    assert "<script" not in shown
    assert 'href="javascript' not in shown
    assert 'href="data' not in shown
    assert '<a href="https://e.org">c</a>' in shown
    assert "<img" not in shown
    assert '<a href="https://e.org/p.png">p</a>' in shown
    assert "&lt;b&gt;" in html("<b>", "text")
    assert "<title>&lt;x&gt;</title>" in page("<x>", "y", "text")
    assert "<pre>" not in html("x" * 300_000, "markdown")


def test_a_page_fits_on_a_phone() -> None:
    shown = page("x", "```\n" + "word " * 100 + "\n```", "markdown")
    assert "width=device-width" in shown
    assert "pre{white-space:pre-wrap" in shown


def test_markdown_as_text() -> None:
    assert (
        plain("# T\n\na **b** `c`\n\n* one\n* two\n\n1. x\n\n```\ncode\n```", "markdown")
        == "T\n\na b c\n\n• one\n• two\n\n1. x\n\ncode"
    )
    assert plain("1. a\n   - b\n   - c\n2. d\n\ne", "markdown") == "1. a\n  • b\n  • c\n2. d\n\ne"
    assert plain("a\n\n| k | v |\n|---|---|\n| x | *y* |\n\nb", "markdown") == "a\n\nk | v\nx | y\n\nb"
    assert plain("[a **b**](https://e.org/x), <https://e.org>", "markdown") == "a b (https://e.org/x), https://e.org"
    assert plain("    code\n\n\n\n\ntext", "markdown") == "code\n\ntext"
    assert plain("# T", "text") == "# T"


# --- receipts


def _clerk(*, safe_to_repeat: bool = False) -> Clerk:
    options = {"a": "{PIN}{LONG}"}
    values = {"PIN": "k9x", "LONG": "from-the-environment"}
    redact = Redactor({"HOME_SECRET": "only-in-the-home"}).data
    platform = Platform("ops", "webhook", options, safe_to_repeat=safe_to_repeat)
    clerk = Clerk(platform, lambda names: ({name: values[name] for name in names}, ()), redact)
    clerk.secrets()
    return clerk


def test_no_reason_shows_a_secret_or_a_second_line() -> None:
    said = _clerk().refuse("k9x\nfrom-the-environment only-in-the-home \x1b" + "x" * 900).reason or ""
    assert said.startswith("[redacted PIN] [redacted LONG] [redacted HOME_SECRET] \\x1b")
    assert len(said) == 300


@pytest.mark.parametrize(
    ("status", "event"),
    [(400, "refuse"), (404, "refuse"), (410, "refuse"), (408, "retry"), (425, "retry"), (429, "retry"), (500, "retry"),
     (503, "retry"), (502, "lose"), (504, "lose")],
)  # fmt: skip
def test_what_an_answer_means(status: int, event: str) -> None:
    receipt = _clerk().answered(status, "x", 1e9)
    assert receipt.event == event
    assert receipt.closes == (status == 410)
    assert receipt.after_s == (86400 if event == "retry" else None)
    assert _clerk(safe_to_repeat=True).answered(status, "x").event == ("retry" if event == "lose" else event)


def test_text_is_readable_on_its_way_out() -> None:
    assert readable("a\r\nb\rc\td\0\x1b\u202e\ud800é") == "a\nb\nc\td\\x00\\x1b\\u202e\\ud800é"
