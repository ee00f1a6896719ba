"""One suite for all senders: what is taken, what is said about it, and what no text and no target can bring about."""

from __future__ import annotations

import email
import email.policy
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier

from horae.core.delivery import Address, Attachment, Message, Platform
from horae.core.kinds import KINDS, alone, threads
from horae.errors import Invalid
from horae.ports.outside import Sender, Tools
from horae.senders.apprise import Apprise
from horae.senders.command import Command
from horae.senders.desktop import Desktop
from horae.senders.file import File
from horae.senders.local import Local
from horae.senders.mail import Mail
from horae.senders.webhook import Webhook
from tests.support import letters
from tests.support.letters import SECRETS, message, send
from tests.support.receivers import HttpServer, MailServer, says

# One of Apprise's modules imports it, when all are loaded
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

MAKERS: dict[str, Callable[[Platform, Tools], Sender]] = {
    "local": Local,
    "apprise": Apprise,
    "mail": Mail,
    "webhook": Webhook,
    "desktop": Desktop,
    "file": File,
    "command": Command,
}
HOSTILE = {
    "header": "Subject\r\nBcc: eve@example.org\r\n\r\nhello",
    "nul": "a\0b",
    "control": "\x1b[2J\x1b]0;x\x07 bell",
    "rtl": "abc \u202egpj.exe\u202c עברית",
    "surrogate": "half \ud83d of it",
    "dots": ".\r\n.\nQUIT\r\n..",
    "dashes": "--help\n-x",
    "markup": "<b>bold</b> & <script>alert(1)</script>",
    "script": '" & do shell script "true" & "',
    "empty": "",
    "emoji": "👩‍👩‍👧‍👦 🇫🇷",
}
NOTIFY_SEND = """#!/bin/sh
printf '%s\\n' "$@" > "$SEEN"
echo 7
"""


@dataclass
class Place:
    """A sender with a target that takes what comes, and how to read what came."""

    kind: str
    sender: Sender
    again: Callable[[], Sender]
    chat: str | None
    came: Callable[[], list[str]]
    """The bodies of what arrived."""
    evidence: str

    def message(self, body: str = "All is well.", title: str = "job ended", **more) -> Message:
        return message(body, title, self.chat, **more)


def _mail_body(content: object) -> str:
    assert isinstance(content, bytes)
    parsed = email.message_from_bytes(content, policy=email.policy.SMTP)
    part = parsed.get_body(("plain",))
    return "" if part is None else part.get_content()


@pytest.fixture(params=list(KINDS))
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    kind = request.param
    home = tmp_path / "home"
    home.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    seen = tmp_path / "seen"
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(seen))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    with ExitStack() as stack:
        options: Mapping[str, object] = {}
        chat, evidence, came = None, "R-1", lambda: ["All is well."]
        if kind == "mail":
            mails = stack.enter_context(MailServer().running())
            options = {"host": "127.0.0.1", "port": mails.port, "security": "none", "from": "Horae <horae@example.org>"}
            chat, evidence = "ann@example.org", "4711"
            came = lambda: [_mail_body(one.content) for one in mails.got]
        elif kind == "webhook":
            web = stack.enter_context(HttpServer().running())
            options = {"url": web.url + "/in", "secret": "{KEY}", "allow_private": True}
            evidence = letters.ID
            came = lambda: [Verifier(SECRETS["KEY"]).verify(one.body, one.headers)["data"]["body"] for one in web.got]
        elif kind == "apprise":
            web = stack.enter_context(HttpServer(answer=says("200 OK")).running())
            options, evidence = {"url": f"json://127.0.0.1:{web.port}/"}, "JSON"
            came = lambda: [json.loads(one.body)["message"] for one in web.got]
        elif kind == "desktop":
            (programs / "notify-send").write_text(NOTIFY_SEND)
            (programs / "notify-send").chmod(0o755)
            evidence, came = "7", lambda: [seen.read_text()]
        elif kind == "file":
            options, evidence = {"path": "log.txt"}, "log.txt at 0"
            came = lambda: [(home / "log.txt").read_text()]
        elif kind == "command":
            (programs / "pass-on").write_text('#!/bin/sh\ncat > "$SEEN"\necho "taken as 99"\n')
            (programs / "pass-on").chmod(0o755)
            options, evidence, came = {"argv": ["pass-on"]}, "taken as 99", lambda: [seen.read_text()]

        def make() -> Sender:
            maker = MAKERS[kind]
            given = letters.platform(kind, options), letters.tools(home)
            return Desktop(*given, system="linux") if maker is Desktop else maker(*given)

        yield Place(kind, make(), make, chat, came, evidence)


def test_every_kind_has_a_sender() -> None:
    assert set(MAKERS) == set(KINDS)


def test_what_is_sent_arrives_and_there_is_evidence(place: Place) -> None:
    assert place.sender.check(place.message().address) is None
    receipt = send(place.sender, place.message())
    assert receipt.event == "accept", receipt
    assert place.evidence in (receipt.evidence or "")
    assert "All is well." in place.came()[0]


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_text_is_text(place: Place, name: str) -> None:
    receipt = send(place.sender, place.message(HOSTILE[name], HOSTILE[name]))
    assert receipt.event == "accept", receipt
    assert len(place.came()) == 1
    for word in (receipt.evidence or "", receipt.reason or ""):
        assert word.isprintable()


def test_a_body_of_a_mebibyte_is_taken(place: Place) -> None:
    body = "".join(f"line {number}: nothing happened\n" for number in range(35_000))
    receipt = send(place.sender, place.message(body))
    assert receipt.event == "accept", receipt


def test_the_id_is_the_same_however_often_it_is_tried(place: Place) -> None:
    assert send(place.sender, place.message()) == send(place.again(), place.message()) or place.kind == "file"


def test_an_attachment_that_is_gone_does_not_fail_the_message(place: Place) -> None:
    lost = Attachment("report.pdf", "/nowhere/report.pdf")
    assert send(place.sender, place.message(attachments=(lost,))).event == "accept"


def test_a_chat_that_is_no_address_of_it_is_said_and_not_raised(place: Place) -> None:
    for chat in ("a\r\nb", "a,b/../c?d#e@f", "\0", "x" * 10_000, "{KEY}"):
        problem = place.sender.check(Address("ops", chat))
        assert problem is None or problem.isprintable()
        receipt = send(place.sender, message(chat=chat))
        assert receipt.event in ("accept", "refuse")
        assert SECRETS["KEY"] not in f"{problem} {receipt}"


def test_an_unknown_option_is_refused_by_its_name(tmp_path: Path) -> None:
    for kind, maker in MAKERS.items():
        with pytest.raises(Invalid, match=r"platforms\.ops\.bogus"):
            maker(letters.platform(kind, {"bogus": 1}), letters.tools(tmp_path))


@pytest.mark.parametrize(
    ("kind", "options", "key", "says"),
    [
        ("mail", {"hots": "x"}, "hots", "did you mean host"),
        ("mail", {"host": "m.example.org"}, "from", "is missing"),
        ("mail", {"host": "m.example.org", "from": "no address"}, "from", "no address"),
        (
            "mail",
            {
                "host": "m.example.org",
                "from": "a@example.org",
                "security": "none",
                "user": "u",
                "password": "{PASS_WORD}",
            },
            "security",
            "in the clear",
        ),
        ("mail", {"host": "m", "from": "a@example.org", "user": "u"}, "password", "is missing"),
        ("mail", {"host": "m", "from": "a@example.org", "security": "startls"}, "security", "starttls"),
        ("mail", {"host": "m", "from": "a@example.org", "port": 70000}, "port", "65535"),
        ("webhook", {"url": "https://example.org/", "secret": []}, "secret", "list"),
        (
            "webhook",
            {"url": "https://example.org/", "secret": "{KEY}", "headers": {"Webhook-Id": "x"}},
            "headers",
            "cannot be set",
        ),
        (
            "webhook",
            {"url": "https://example.org/", "secret": "{KEY}", "allow_private": "yes"},
            "allow_private",
            "true",
        ),
        ("apprise", {"url": "gnome://"}, "url", "Apprise"),
        ("apprise", {"url": "macosx://x"}, "url", "this machine"),
        ("apprise", {"url": "file:///etc/x"}, "url", "no service"),
        ("apprise", {"url": "json://h/{thread}"}, "url", "{chat}"),
        ("apprise", {"url": "json://h/", "limit": True}, "limit", "number"),
        ("command", {"argv": "echo hello"}, "argv", "list"),
        ("command", {"argv": ["x"], "variables": {"HORAE_X": "1"}}, "variables", "cannot be set"),
        ("file", {"path": "a\nb"}, "path", "text"),
    ],
)
def test_wrong_settings_are_refused_by_their_key(tmp_path: Path, kind: str, options: dict, key: str, says: str) -> None:
    with pytest.raises(Invalid) as raised:
        MAKERS[kind](letters.platform(kind, options), letters.tools(tmp_path))
    assert raised.value.details["key"] == f"platforms.ops.{key}"
    assert says in f"{raised.value.message} {raised.value.hint}"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("apprise", {"url": "json://{GONE}@h/"}),
        ("mail", {"host": "h", "from": "a@example.org", "user": "u", "password": "{GONE}"}),
        ("webhook", {"url": "https://example.org/", "secret": "{GONE}"}),
        ("file", {"path": "{GONE}"}),
        ("command", {"argv": ["true"], "variables": {"A": "{GONE}"}}),
    ],
)
def test_check_names_the_secret_that_has_no_value(tmp_path: Path, kind: str, options: dict) -> None:
    sender = MAKERS[kind](letters.platform(kind, options), letters.tools(tmp_path))
    assert "GONE" in (sender.check(Address("ops", "a@example.org" if kind == "mail" else None)) or "")
    assert send(sender, message(chat="a@example.org" if kind == "mail" else None)).event in ("retry", "refuse")


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("mail", {"host": "h", "from": "a@example.org"}, "ops:name@example.org"),
        ("webhook", {"url": "ftp://example.org/", "secret": "{KEY}"}, "https://"),
        ("webhook", {"url": "https://u:p@example.org/", "secret": "{KEY}"}, "headers"),
        ("webhook", {"url": "https://example.org/", "secret": "{PASS_WORD}"}, "base64"),
        ("webhook", {"url": "https://example.org/", "secret": "whsec_c2hvcnQ="}, "24 bytes"),
        ("apprise", {"url": "nosuch://host"}, "cannot read"),
        ("apprise", {"url": "tgram://{PIN}/{chat}"}, "needs a chat"),
        ("command", {"argv": ["no-such-program"]}, "install it"),
        ("file", {"path": "missing/log.txt"}, "make it"),
    ],
)
def test_check_says_what_is_missing(tmp_path: Path, kind: str, options: dict, says: str) -> None:
    sender = MAKERS[kind](letters.platform(kind, options), letters.tools(tmp_path))
    assert says in (sender.check(Address("ops")) or "")


def test_what_the_settings_know_of_addresses_is_what_the_senders_say() -> None:
    urls = {"url": "json://h/"}, {"url": "json://h/{chat}"}, {"url": "json://h/{chat}?t={thread}"}
    assert [Apprise.shape(options) for options in urls] == [(True, False), (False, False), (False, True)]
    for kind, maker in MAKERS.items():
        assert maker.shape({}) == (alone(kind, {}), threads(kind, {}))  # type: ignore[attr-defined]
    assert Mail.shape({}) == (False, False)
