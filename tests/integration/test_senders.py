"""Senders against servers that refuse, hang, break off and lie: what is known afterwards is said, and no more."""

from __future__ import annotations

import asyncio
import email
import email.policy
import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier

from horae import outward
from horae.core.delivery import Attachment
from horae.senders import file as file_sender
from horae.senders.apprise import Apprise
from horae.senders.command import Command
from horae.senders.desktop import Desktop
from horae.senders.file import File
from horae.senders.mail import Mail
from horae.senders.webhook import Webhook
from tests.support import letters
from tests.support.letters import SECRETS, message, send
from tests.support.receivers import HttpServer, MailServer, certificate, closed_port, says

# One of Apprise's modules imports it, when all are loaded
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
SHORT_S = 0.4
NOWHERE = "no-such-host.invalid"
TO = "ann@example.org"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No resolver is asked for a name that does not exist."""
    real = socket.getaddrinfo

    def resolve(host, *args, **kwargs):
        if host in (NOWHERE, NOWHERE.encode()):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


# --- webhook


def webhook(home: Path, url: str, timeout_s: float = 5.0, *, repeats: bool = False, **options: object) -> Webhook:
    given = {"url": url, "secret": "{KEY}", "allow_private": True, **options}
    made = letters.platform("webhook", given, timeout_s=timeout_s, safe_to_repeat=repeats)
    return Webhook(made, letters.tools(home))


@pytest.mark.parametrize(
    ("answer", "event", "reason"),
    [
        (says("200 OK"), "accept", None),
        (says("400 Bad Request", "no such\x1b[2J field"), "refuse", "400 Bad Request: no such\\x1b[2J field"),
        (says("404 Not Found", "x" * 100_000), "refuse", "404 Not Found"),
        (says("410 Gone"), "refuse", "410"),
        (says("408 Request Timeout"), "retry", "408"),
        (says("429 Too Many Requests", Retry_After="17"), "retry", "429"),
        (says("500 Oops", "correct-horse-battery"), "retry", "[redacted PASS_WORD]"),
        (says("503 Busy", Retry_After="999999999999"), "retry", "503"),
        (says("502 Bad Gateway"), "lose", "502"),
        (says("504 Gateway Time-out"), "lose", "504"),
        (
            says("302 Found", Location="http://169.254.169.254/latest"),
            "refuse",
            "points to http://169.254.169.254/latest",
        ),
        (b"", "lose", "127.0.0.1"),
        (b"HTTP/1.1 2", "lose", "127.0.0.1"),
        (b"\0\0garbage\r\n\r\n", "lose", "127.0.0.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "accept", None),
    ],
)
def test_a_webhook_s_answer_means_what_it_says(tmp_path: Path, answer: bytes, event: str, reason: str | None) -> None:
    with HttpServer(answer=answer).running() as server:
        receipt = send(webhook(tmp_path, server.url), message())
    assert receipt.event == event, receipt
    assert (reason or "") in (receipt.reason or "")
    assert receipt.closes == answer.startswith(b"HTTP/1.1 410")
    if b"429" in answer:
        assert receipt.after_s == 17
    if b"503" in answer:
        assert receipt.after_s == 86400
    assert len(server.got) == 1


def test_what_is_ambiguous_is_sent_again_where_a_repetition_does_no_harm(tmp_path: Path) -> None:
    with HttpServer(answer=b"").running() as server:
        assert send(webhook(tmp_path, server.url, repeats=True), message()).event == "retry"


def test_a_webhook_is_signed_with_all_secrets_and_keeps_its_id(tmp_path: Path) -> None:
    with HttpServer().running() as server:
        sender = webhook(tmp_path, server.url, secret=["{KEY}", "{OLD}"], headers={"Authorization": "Bearer {PIN}"})
        for _ in range(2):
            assert send(sender, message()).event == "accept"
    first, second = server.got
    for key in ("KEY", "OLD"):
        for got in (first, second):
            whole = Verifier(SECRETS[key]).verify(got.body, got.headers)
            assert whole["type"] == "run.completed"
            assert whole["data"]["run"] == "R-1"
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == letters.ID
    assert first.headers["authorization"] == f"Bearer {SECRETS['PIN']}"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"]
)
def test_a_webhook_does_not_reach_this_machine(tmp_path: Path, host: str) -> None:
    with HttpServer().running() as server:
        receipt = send(webhook(tmp_path, f"http://{host}:{server.port}/", allow_private=False), message())
        assert receipt.event == "refuse", receipt
        assert "allow_private" in (receipt.reason or "")
    assert not server.got


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that says something else when it is asked again is asked once."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host, port, *args, **kwargs):
        if host != "rebound.example":
            return real(host, port, *args, **kwargs)
        asked.append(host)
        place = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(outward, "why_not", lambda address: None if str(address) == "127.0.0.1" else "elsewhere")
    with HttpServer().running() as server:
        assert (
            send(webhook(tmp_path, f"http://rebound.example:{server.port}/", allow_private=False), message()).event
            == "accept"
        )
    assert asked == ["rebound.example"]
    assert server.got[0].headers["host"] == f"rebound.example:{server.port}"


def test_one_private_address_among_several_is_enough_to_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, 80)) for place in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
    receipt = send(webhook(tmp_path, "http://both.example/", allow_private=False), message())
    assert receipt.event == "refuse"
    assert "private" in (receipt.reason or "")


def test_nobody_there_is_surely_not_taken(tmp_path: Path) -> None:
    for url, why in (
        (f"http://127.0.0.1:{closed_port()}/", "127.0.0.1: Connection refused"),
        (f"http://{NOWHERE}/", f"{NOWHERE}: the name is not found: Name or service not known"),
    ):
        receipt = send(webhook(tmp_path, url), message())
        assert (receipt.event, receipt.reason) == ("retry", why)


def test_a_proxy_of_the_environment_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port()}")
    with HttpServer().running() as server:
        assert send(webhook(tmp_path, server.url), message()).event == "accept"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\nX-Drip: "])
def test_a_server_that_hangs_costs_no_more_than_the_time_out(tmp_path: Path, answer: bytes) -> None:
    with HttpServer(answer=answer, then="hang").running() as server:
        receipt = send(webhook(tmp_path, server.url, SHORT_S), message())
    assert (receipt.event, receipt.reason) == ("lose", "127.0.0.1: no answer in time")


def test_a_server_that_drips_costs_no_more_than_the_time_out(tmp_path: Path) -> None:
    with HttpServer(answer=b"HTTP/1.1 200 OK\r\nX-Drip: ", then="drip").running() as server:
        receipt = send(webhook(tmp_path, server.url, SHORT_S), message())
    assert (receipt.event, receipt.reason) == ("lose", "127.0.0.1: no answer in time")


def test_a_break_before_the_request_was_read_leaves_it_open(tmp_path: Path) -> None:
    with HttpServer(then="early").running() as server:
        assert send(webhook(tmp_path, server.url), message("x" * 3_000_000)).event == "lose"


def test_words_that_never_end_are_cut(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"
    with HttpServer(answer=answer, then="hang").running() as server:
        receipt = send(webhook(tmp_path, server.url), message())
    assert receipt.event == "refuse"
    assert len(receipt.reason or "") <= 300


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, public = certificate(tmp_path)
    with HttpServer().running(context) as server:
        url = f"https://localhost:{server.port}/"
        receipt = send(webhook(tmp_path, url), message())
        assert (receipt.event, server.got) == ("retry", [])
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        assert send(webhook(tmp_path, url), message()).event == "accept"


# --- mail


def mail(home: Path, server: MailServer, timeout_s: float = 5.0, **options: object) -> Mail:
    given = {
        "host": "localhost",
        "port": server.port,
        "security": "none",
        "from": "Horae <horae@example.org>",
        **options,
    }
    return Mail(letters.platform("mail", given, timeout_s=timeout_s), letters.tools(home))


def parsed(server: MailServer):
    return email.message_from_bytes(content(server), policy=email.policy.SMTP)


def content(server: MailServer) -> bytes:
    data = server.got[-1].content
    assert isinstance(data, bytes)
    return data


def said(mail, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    return part.get_content()


def test_a_mail_is_readable_and_whole(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("the password is correct-horse-battery")
    files = (Attachment("report.txt", str(tmp_path / "report.txt")), Attachment("x.bin", "/nowhere/x.bin"))
    with MailServer().running() as server:
        text = "# Done\n\n* one\n* <script>alert(1)</script>\n\n![x](https://example.org/pixel.png)"
        sender = mail(tmp_path, server, subject="[horae]", reply_to="ops@example.org")
        receipt = send(sender, message(text, "Größe ✓", TO, format="markdown", attachments=files))
    assert receipt.event == "accept"
    got = parsed(server)
    assert (got["Subject"], got["To"], got["Reply-To"]) == ("[horae] Größe ✓", TO, "ops@example.org")
    assert (got["Message-ID"], got["Auto-Submitted"], got["X-Horae-Run"]) == (
        f"<{letters.ID}@example.org>",
        "auto-generated",
        "R-1",
    )
    page = said(got, "html")
    assert "<h1>Done</h1>" in page
    assert "<script" not in page
    assert "<img" not in page
    assert "Not attached: x.bin" in said(got, "plain")
    [attached] = list(got.iter_attachments())
    assert attached.get_filename() == "report.txt"
    assert "[redacted PASS_WORD]" in attached.get_content()
    assert content(server).isascii()


def test_no_title_name_or_address_becomes_a_header(tmp_path: Path) -> None:
    evil = "x\r\nBcc: eve@example.org\r\n\r\n.\r\n"
    (tmp_path / "f").write_text("x")
    with MailServer().running() as server:
        sent = message(
            evil, evil, TO, attachments=(Attachment(evil, str(tmp_path / "f")),), facts={"run": evil}, id="a b\r\n>"
        )
        assert send(mail(tmp_path, server), sent).event == "accept"
        for bad in (
            evil,
            "a@b\r\nc",
            "a b@c.org",
            '"a"@b.org',
            "a@b.org>",
            "<a@b.org>",
            "ä@b.org",
            "a@",
            "@b.org",
            "a@b..org",
            "",
        ):
            receipt = send(mail(tmp_path, server), message(chat=bad))
            assert receipt.event == "refuse", bad
    assert len(server.got) == 1
    assert parsed(server)["Bcc"] is None
    assert server.got[0].rcpt_tos == [TO]


def test_a_text_of_dots_and_commands_arrives_as_it_is(tmp_path: Path) -> None:
    body = ".\n..\n.\nQUIT\nMAIL FROM:<eve@example.org>\nend"
    with MailServer().running() as server:
        assert send(mail(tmp_path, server), message(body, chat=TO)).event == "accept"
    assert said(parsed(server), "plain").replace("\r\n", "\n").rstrip() == body
    assert len(server.got) == 1


def test_a_unicode_domain_is_written_in_ascii(tmp_path: Path) -> None:
    with MailServer().running() as server:
        assert send(mail(tmp_path, server), message(chat="ann@bücher.example")).event == "accept"
    assert server.got[0].rcpt_tos == ["ann@xn--bcher-kva.example"]


@pytest.mark.parametrize(
    ("rcpt", "data", "event"),
    [
        ("450 4.2.1 try later", "250 OK", "retry"),
        ("550 5.1.1 no such user", "250 OK", "refuse"),
        ("250 OK", "451 4.3.0 later", "retry"),
        ("250 OK", "554 5.7.1 spam correct-horse-battery", "refuse"),
    ],
)
def test_a_mail_server_s_answer_means_what_it_says(tmp_path: Path, rcpt: str, data: str, event: str) -> None:
    with MailServer(rcpt={TO: rcpt}, data=data).running() as server:
        receipt = send(mail(tmp_path, server), message(chat=TO))
    assert receipt.event == event
    assert (data if rcpt.startswith("250") else rcpt).split()[0] in (receipt.reason or "")
    assert SECRETS["PASS_WORD"] not in (receipt.reason or "")


def test_of_several_the_refused_are_named_and_the_others_have_it(tmp_path: Path) -> None:
    with MailServer(rcpt={"bob@example.org": "550 5.1.1 no such user"}).running() as server:
        receipt = send(mail(tmp_path, server), message(chat=f"{TO}, bob@example.org"))
    assert receipt.event == "refuse"
    assert "bob@example.org: 550" in (receipt.reason or "")
    assert "250" in (receipt.evidence or "")
    assert server.got[0].rcpt_tos == [TO]


def test_a_break_behind_the_whole_text_leaves_it_open(tmp_path: Path) -> None:
    with MailServer(drop=True).running() as server:
        receipt = send(mail(tmp_path, server), message(chat=TO))
    assert receipt.event == "lose", receipt
    assert len(server.got) == 1


def test_a_time_out_behind_the_whole_text_leaves_it_open(tmp_path: Path) -> None:
    go_on = threading.Event()
    with MailServer(hang=go_on).running() as server:
        receipt = asyncio.run(_and_then(mail(tmp_path, server, SHORT_S).send(message(chat=TO)), go_on.set))
    assert receipt.event == "lose", receipt


async def _and_then(work, then):
    try:
        return await work
    finally:
        then()


def test_a_time_out_before_the_text_is_surely_not_taken(tmp_path: Path) -> None:
    with HttpServer(answer=b"").running() as server:  # waits for a request, and says nothing
        silent = MailServer(port=server.port)
        receipt = send(mail(tmp_path, silent, SHORT_S), message(chat=TO))
    assert receipt.event == "retry", receipt


def test_nobody_there_for_a_mail_is_surely_not_taken(tmp_path: Path) -> None:
    assert send(mail(tmp_path, MailServer(port=closed_port())), message(chat=TO)).event == "retry"
    assert send(mail(tmp_path, MailServer(port=25), host=NOWHERE), message(chat=TO)).event == "retry"


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_goes_over_a_connection_that_is_vouched_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, security: str
) -> None:
    context, public = certificate(tmp_path)
    with MailServer().running(context, at_once=security == "tls") as server:
        assert send(mail(tmp_path, server, security=security), message(chat=TO)).event == "retry"
        assert not server.got
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        assert send(mail(tmp_path, server, security=security), message(chat=TO)).event == "accept"


def test_a_server_without_starttls_gets_nothing(tmp_path: Path) -> None:
    with MailServer().running() as server:
        receipt = send(mail(tmp_path, server, security="starttls"), message(chat=TO))
    assert (receipt.event, server.got) == ("refuse", [])
    assert "STARTTLS" in (receipt.reason or "")


# --- apprise


def apprise(home: Path, url: str, timeout_s: float = 5.0, **options: object) -> Apprise:
    return Apprise(letters.platform("apprise", {"url": url, **options}, timeout_s=timeout_s), letters.tools(home))


@pytest.mark.parametrize("schema", ["json", "form"])
@pytest.mark.parametrize(
    ("answer", "event"),
    [
        (says("200 OK"), "accept"),
        (says("400 Bad"), "refuse"),
        (says("429 Slow"), "retry"),
        (says("503 Busy", "correct-horse-battery"), "retry"),
        (says("502 Bad Gateway"), "lose"),
        (b"", "lose"),
        (says("302 Found", Location="/x"), "refuse"),
    ],
)
def test_what_apprise_s_log_says_is_understood(tmp_path: Path, schema: str, answer: bytes, event: str) -> None:
    with HttpServer(answer=answer).running() as server:
        url = f"{schema}://u:{{PASS_WORD}}@127.0.0.1:{server.port}/?retry=3&optional=yes"
        receipt = send(apprise(tmp_path, url), message("error=404. Sent x. Socket Exception: Connection refused"))
    assert receipt.event == event, receipt
    assert len(server.got) == 1
    assert SECRETS["PASS_WORD"] not in f"{receipt}"


def test_apprise_with_nobody_there_is_surely_not_taken(tmp_path: Path) -> None:
    for place in (f"127.0.0.1:{closed_port()}", NOWHERE):
        receipt = send(apprise(tmp_path, f"json://{place}/"), message())
        assert receipt.event == "retry", receipt


def test_apprise_with_a_server_that_hangs_leaves_it_open(tmp_path: Path) -> None:
    with HttpServer(answer=b"", then="hang").running() as server:
        receipt = send(apprise(tmp_path, f"json://127.0.0.1:{server.port}/", SHORT_S), message())
    assert receipt.event == "lose", receipt


def test_a_long_text_goes_in_parts_and_a_very_long_one_as_a_file(tmp_path: Path) -> None:
    with HttpServer(answer=says("200 OK")).running() as server:
        sender = apprise(tmp_path, f"json://127.0.0.1:{server.port}/", limit=200)
        assert send(sender, message("word " * 100)).event == "accept"
        assert [json.loads(one.body)["message"][:6] for one in server.got] == ["(1/3)\n", "(2/3)\n", "(3/3)\n"]
        server.got.clear()
        assert send(sender, message("word " * 1000)).event == "accept"
    [one] = [json.loads(one.body) for one in server.got]
    assert one["attachments"][0]["filename"] == "message.txt"
    assert "message.txt" in one["message"]
    assert len(one["message"]) <= 200


def test_a_later_part_that_fails_leaves_it_open(tmp_path: Path) -> None:
    with HttpServer(answer=says("400 Bad"), answers=[says("200 OK")]).running() as server:
        receipt = send(apprise(tmp_path, f"json://127.0.0.1:{server.port}/", limit=200), message("word " * 100))
    assert receipt.event == "lose"
    assert "part 2 of 3" in (receipt.reason or "")
    assert len(server.got) == 2


def test_a_chat_changes_nothing_of_the_url_but_its_own_place(tmp_path: Path) -> None:
    with HttpServer(answer=says("200 OK")).running() as server:
        sender = apprise(tmp_path, f"json://127.0.0.1:{server.port}/in/{{chat}}/end")
        for chat in ("#general", "@ann", "-100777", "!abc:example.org", "a=b"):
            assert send(sender, message(chat=chat)).event == "accept", chat
            assert server.got[-1].path.startswith("/in/")
            assert server.got[-1].path.count("/") == 3
        sent = len(server.got)
        for chat in ("a/b", "..", "a?b=c", "a,b", "a%2Fb", "a b", "a\\b", "a&b", "a;b", "x\n"):
            assert send(sender, message(chat=chat)).event == "refuse", chat
    assert len(server.got) == sent


def test_attachments_go_with_the_message_by_apprise(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("it is correct-horse-battery")
    (tmp_path / "link").symlink_to(tmp_path / "r.txt")
    (tmp_path / "empty").write_text("")
    os.mkfifo(tmp_path / "pipe")
    files = tuple(Attachment(name, str(tmp_path / name)) for name in ("r.txt", "link", "pipe", "empty"))
    with HttpServer(answer=says("200 OK")).running() as server:
        assert send(apprise(tmp_path, f"json://127.0.0.1:{server.port}/"), message(attachments=files)).event == "accept"
    sent = json.loads(server.got[0].body)
    assert [one["filename"] for one in sent["attachments"]] == ["r.txt"]
    for name in ("link", "pipe", "empty"):
        assert f"Not attached: {name}" in sent["message"]


# --- programs


def program(home: Path, text: str) -> str:
    path = home / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def command(home: Path, text: str, timeout_s: float = 5.0, **options: object) -> Command:
    made = letters.platform("command", {"argv": [program(home, text)], **options}, timeout_s=timeout_s)
    return Command(made, letters.tools(home))


@pytest.mark.parametrize(
    ("text", "event", "said"),
    [
        ("echo; echo id 5; echo more", "accept", "id 5"),
        ("echo busy >&2; exit 75", "retry", "busy"),
        ("echo correct-horse-battery; exit 3", "refuse", "[redacted PASS_WORD]"),
        ("kill -SEGV $$", "lose", "SIGSEGV"),
        ("yes | head -c 3000000; yes >&2 | true; exit 4", "refuse", "y"),
        ("exec 0<&-; exit 0", "accept", "program"),
        ("(sleep 60 & ) ; echo left", "accept", "left"),
        ("sleep 60 & setsid sleep 1 & echo left", "accept", "left"),
    ],
)
def test_what_a_program_says_is_its_status(tmp_path: Path, text: str, event: str, said: str) -> None:
    if "yes >&2 |" in text:
        text = "yes | head -c 3000000; exit 4"
    receipt = send(command(tmp_path, text), message("x" * 1_000_000))
    assert receipt.event == event, receipt
    assert said in f"{receipt.evidence} {receipt.reason}"


def test_a_program_gets_the_text_and_the_facts(tmp_path: Path) -> None:
    sender = command(tmp_path, f"cat > {tmp_path}/in; env > {tmp_path}/env", variables={"TOKEN": "x{PIN}"})
    files = (Attachment("../r\n.txt", "/out/r\n.txt"),)
    told = message("line\0 one\nline two", chat="c", alert=True, attachments=files)
    assert send(sender, told).event == "accept"
    assert (tmp_path / "in").read_text() == "line\\x00 one\nline two"
    env = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    assert (env["HORAE_TITLE"], env["HORAE_TARGET"], env["HORAE_ALERT"]) == ("job ended", "ops:c", "1")
    assert (env["HORAE_MESSAGE_ID"], env["TOKEN"]) == (letters.ID, "xk9x")
    assert json.loads(env["HORAE_FACTS"])["run"] == "R-1"
    [file] = json.loads(env["HORAE_FILES"])
    assert ("/" in file["name"], "\n" in file["name"], file["path"]) == (False, False, "/out/r\n.txt")
    assert send(sender, message(attachments=files * 2000)).event == "accept"
    assert "HORAE_FILES=[]\n" in (tmp_path / "env").read_text()


def test_a_program_that_does_not_end_is_ended_with_what_it_started(tmp_path: Path) -> None:
    sender = command(tmp_path, f"sleep 300 & echo $! > {tmp_path}/child; yes", SHORT_S)
    receipt = send(sender, message())
    assert receipt.event == "lose"
    assert "no answer within" in (receipt.reason or "")
    child = int((tmp_path / "child").read_text())
    for _ in range(100):  # it is reaped by whoever adopted it
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            break
        if state == "Z":
            break
        threading.Event().wait(0.02)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("what it started lives on")


def test_a_program_that_cannot_be_started_has_surely_not_taken_it(tmp_path: Path) -> None:
    sender = command(tmp_path, "true")
    (tmp_path / "program").unlink()
    assert send(sender, message()).event == "refuse"
    (tmp_path / "program").write_text("no program")
    assert send(sender, message()).event == "retry"


# --- desktop


def test_a_note_is_arguments_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notify-send").write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done > "$SEEN"\necho 7\n')
    (tmp_path / "osascript").write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done > "$SEEN"\n')
    for name in ("notify-send", "osascript"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    for system, shown in (("linux", "&lt;b&gt; -x"), ("darwin", "<b> -x")):
        sender = Desktop(letters.platform("desktop", {}), letters.tools(tmp_path), system=system)
        assert sender.check() is None
        assert send(sender, message("<b> -x", "--help", alert=True)).event == "accept"
        words = (tmp_path / "seen").read_text().split("\0")
        assert words[words.index("--") + 1 :] == ["--help", shown, ""]
        files = (Attachment("a&b.txt", "/out/a&b.txt"), Attachment("c", "/out/c"))
        assert send(sender, message("text", attachments=files)).event == "accept"
        assert (tmp_path / "seen").read_text().split("\0")[-2].replace("&amp;", "&") == "text\na&b.txt, c"
        assert send(sender, message("long " * 100_000)).event == "accept"
        assert len((tmp_path / "seen").read_text()) < 2000


def test_where_nobody_is_signed_in_a_note_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notify-send").write_text("#!/bin/sh\necho 'no such service' >&2; exit 1\n")
    (tmp_path / "notify-send").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "empty"))
    sender = Desktop(letters.platform("desktop", {}), letters.tools(tmp_path), system="linux")
    assert sender.check() is None
    receipt = send(sender, message())
    assert (receipt.event, "DBUS_SESSION_BUS_ADDRESS" in str(receipt.reason)) == ("retry", True)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    receipt = send(sender, message())
    assert (receipt.event, receipt.reason) == ("retry", "notify-send: no such service")


# --- file


def file(home: Path, path: str) -> File:
    return File(letters.platform("file", {"path": path}), letters.tools(home))


def test_entries_are_appended_and_a_look_alike_is_none(tmp_path: Path) -> None:
    body = f"# 2026-01-01T00:00:00+00:00 {letters.ID}\n    x\n\n# more"
    for _ in range(2):
        assert send(file(tmp_path, "log"), message(body, body)).event == "accept"
    lines = (tmp_path / "log").read_text().splitlines()
    assert len([line for line in lines if line.startswith("#")]) == 2
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_only_a_regular_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "/dev/null"):
        sender = file(tmp_path, name)
        assert sender.check() is not None
        assert send(sender, message()).event == "refuse", name
    assert (tmp_path / "real").read_text() == ""


def test_what_could_not_be_written_whole_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log").write_text("before\n")
    real = os.write
    monkeypatch.setattr(file_sender.os, "write", lambda fd, data: real(fd, data[: len(data) // 2]))
    assert send(file(tmp_path, "log"), message()).event == "retry"
    assert (tmp_path / "log").read_text() == "before\n"
