"""`mail`: a message by SMTP, as text and as a page, with its files.

The Message-ID is made of the message's id and stays the same however often it is tried, so that a mailbox can tell a
repetition. Nothing from outside becomes a header by itself: titles and names are one line, addresses are checked letter
by letter, text is encoded.

The conversation runs on a thread, and there is one moment that decides: before the last bytes of the text have gone out,
nothing is taken, and a break or a time-out means that it can be tried again; from then until the server's answer, nobody
knows. Who gives up waiting and who is about to send that text settle it between them (`_Call`): a thread that was given
up sends nothing any more. Some of several recipients refused is a refusal that names them; the others have it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import smtplib
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.headerregistry import Address as Mailbox
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr

from horae.aside import aside
from horae.attached import Loaded, load
from horae.core import kinds
from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.markup import page
from horae.core.outgoing import Clerk, readable, title_of, with_notes
from horae.core.placeholders import filled
from horae.core.text import clean_name, one_line
from horae.errors import Invalid
from horae.ports.outside import Tools

PORTS = {"starttls": 587, "tls": 465, "none": 25}
RECIPIENTS_MAX = 20
STEP_S = 30.0  # a server's answer to one command
PAGE_CHARS_MAX = 200_000  # a larger text is a log, and goes as text alone
SUBJECT_CHARS_MAX = 250
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9-]")
_FACTS = ("run", "job", "slot", "state")


class Mail:
    """Sends through one server."""

    def __init__(self, platform: Platform, tools: Tools) -> None:
        options = kinds.checked(platform)
        self._options = {key: value for key, value in options.items() if isinstance(value, str)}
        self._security = self._options.get("security", "starttls")
        port = options.get("port")
        self._port = port if isinstance(port, int) else PORTS[self._security]
        for key in ("from", "reply_to"):
            if key in self._options and "{" not in self._options[key] and mailbox(self._options[key]) is None:
                where = f"platforms.{platform.name}.{key}"
                raise Invalid(
                    f"{where}: is no address", "write `name@example.org`, or `Name <name@example.org>`", key=where
                )
        self._where = f"platforms.{platform.name}"
        self._timeout_s = platform.timeout_s
        self._tools = tools
        self._clerk = Clerk(platform, tools.secrets, tools.redact)

    @staticmethod
    def shape(options: Mapping[str, object]) -> tuple[bool, bool]:
        """Whether the bare name is an address, and whether chats have threads."""
        return kinds.alone("mail", options), kinds.threads("mail", options)

    def check(self, address: Address | None = None) -> str | None:
        """The settings are whole, and the address is one."""
        secrets, missing = self._clerk.secrets()
        if missing is not None:
            return missing
        for key in ("from", "reply_to"):
            if key in self._options and mailbox(self._said(key, secrets)) is None:
                return f"{self._where}.{key} is no address"
        return None if address is None else self._recipients_problem(address)

    async def send(self, message: Message) -> Receipt:
        """One conversation."""
        secrets, missing = self._clerk.secrets()
        if missing is not None:
            return self._clerk.retry(missing)
        if (problem := self.check(message.address)) is not None:
            return self._clerk.refuse(problem)
        call = _Call()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await aside(self._talk, message, secrets, call)
        except TimeoutError:
            given_up = call.give_up()
            reason = f"{self._options['host']}: no answer in time"
            return self._clerk.retry(reason) if given_up else self._clerk.lose(f"{reason} after the whole text")
        except asyncio.CancelledError:
            call.give_up()
            raise

    def _said(self, key: str, secrets: Mapping[str, str]) -> str:
        return filled(self._options.get(key, ""), secrets)

    def _recipients_problem(self, address: Address) -> str | None:
        if address.chat is None:
            return f"{address.platform} needs an address: write {address.platform}:name@example.org, or set {self._where}.home"
        people = recipients(address.chat)
        if people is None:
            return f"{one_line(address.chat, 100)!r} is no mail address"
        return None if len(people) <= RECIPIENTS_MAX else f"more than {RECIPIENTS_MAX} addresses in one target"

    def _talk(self, message: Message, secrets: Mapping[str, str], call: _Call) -> Receipt:
        """On a thread."""
        sender = mailbox(self._said("from", secrets))
        people = recipients(message.address.chat or "")
        assert sender is not None  # both are checked before
        assert people is not None
        files, notes = load(message.attachments, self._tools.redact)
        reply_to = mailbox(self._said("reply_to", secrets)) if "reply_to" in self._options else None
        mail = compose(
            message, sender, people, self._tools.now(), files, notes, reply_to, prefix=self._said("subject", secrets)
        )
        host = self._said("host", secrets)
        try:
            with contextlib.closing(self._connected(host, sender.domain, call)) as server:
                if "user" in self._options:
                    server.login(self._said("user", secrets), self._said("password", secrets))
                return self._hand_over(server, mail, sender.addr_spec, people, call)
        except smtplib.SMTPAuthenticationError as error:
            return self._by_code(error.smtp_code, f"{host}: sign-in was refused: {_text(error.smtp_error)}")
        except smtplib.SMTPNotSupportedError as error:
            return self._clerk.refuse(f"{host}: {error}")
        except smtplib.SMTPResponseException as error:
            return self._by_code(error.smtp_code, f"{host}: {error.smtp_code} {_text(error.smtp_error)}")
        except (OSError, smtplib.SMTPException, UnicodeError) as error:
            reason = f"{host}: {getattr(error, 'strerror', None) or error}"
            return self._clerk.lose(f"{reason}, after the whole text") if call.whole else self._clerk.retry(reason)

    def _connected(self, host: str, domain: str, call: _Call) -> smtplib.SMTP:
        step_s = min(self._timeout_s, STEP_S)
        if self._security == "tls":
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, self._port, domain, timeout=step_s, context=context)
        else:
            server = smtplib.SMTP(host, self._port, domain, step_s)
        try:
            call.joined(server)
            server.ehlo_or_helo_if_needed()
            if self._security == "starttls":
                server.starttls(context=ssl.create_default_context())
                server.ehlo_or_helo_if_needed()
        except BaseException:
            server.close()
            raise
        return server

    def _hand_over(
        self, server: smtplib.SMTP, mail: EmailMessage, sender: str, people: Sequence[Mailbox], call: _Call
    ) -> Receipt:
        data = _stuffed(mail.as_bytes())
        _expect(server.mail(sender), 250)
        refused: dict[str, tuple[int, bytes]] = {}
        for person in people:
            answer = server.rcpt(person.addr_spec)
            if answer[0] not in (250, 251):
                refused[person.addr_spec] = answer
        named = "; ".join(f"{who}: {code} {_text(words)}" for who, (code, words) in refused.items())
        if len(refused) == len(people):
            lasting = all(500 <= code < 600 for code, _ in refused.values())
            return self._clerk.refuse(named) if lasting else self._clerk.retry(named)
        _expect(server.docmd("DATA"), 354)
        server.send(data)
        call.decide()
        server.send(b".\r\n")
        code, words = server.getreply()
        if code != 250:
            return self._by_code(code, f"{code} {_text(words)}")
        with contextlib.suppress(OSError, smtplib.SMTPException):
            server.putcmd("QUIT")  # its answer would say nothing more
        evidence = f"{mail['Message-ID']}: {code} {_text(words)}"
        return self._clerk.refuse(f"not for {named}", evidence=evidence) if refused else self._clerk.accept(evidence)

    def _by_code(self, code: int, reason: str) -> Receipt:
        return self._clerk.refuse(reason) if 500 <= code < 600 else self._clerk.retry(reason)


class _Call:
    """One conversation, and who may still decide about it."""

    def __init__(self) -> None:
        self.whole = False
        """Whether the end of the text was sent, or is about to be."""
        self._lock = threading.Lock()
        self._given_up = False
        self._server: smtplib.SMTP | None = None

    def joined(self, server: smtplib.SMTP) -> None:
        """There is a connection."""
        with self._lock:
            self._server = server
        self._go_on()

    def decide(self) -> None:
        """The end of the text is about to be sent. Raises when nobody waits any more."""
        with self._lock:
            self.whole = not self._given_up
        self._go_on()

    def give_up(self) -> bool:
        """Nobody waits any more; whether it is sure that nothing is taken."""
        with self._lock:
            if not self.whole:
                self._given_up = True
                if self._server is not None and self._server.sock is not None:
                    with contextlib.suppress(OSError):
                        self._server.sock.shutdown(socket.SHUT_RDWR)
            return self._given_up

    def _go_on(self) -> None:
        if self._given_up:
            raise smtplib.SMTPServerDisconnected("nobody waits any more")


def compose(
    message: Message,
    sender: Mailbox,
    people: Sequence[Mailbox],
    now: datetime,
    files: Sequence[Loaded] = (),
    notes: Sequence[str] = (),
    reply_to: Mailbox | None = None,
    prefix: str = "",
) -> EmailMessage:
    """The mail itself, in seven bits."""
    mail = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
    title = title_of(message)
    mail["Subject"] = one_line(f"{prefix} {title}", SUBJECT_CHARS_MAX)
    mail["From"] = sender
    mail["To"] = list(people)
    if reply_to is not None:
        mail["Reply-To"] = reply_to
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{_NOT_IN_ID.sub('-', message.id)[:100]}@{sender.domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    for name in _FACTS:
        if isinstance(fact := message.facts.get(name), str) and fact:
            mail[f"X-Horae-{name.capitalize()}"] = one_line(fact, 200)
    body = with_notes(readable(message.body), notes)
    mail.set_content(body)
    if len(body) <= PAGE_CHARS_MAX:
        mail.add_alternative(page(title, body, message.format), subtype="html")
    for file in files:
        main, _, sub = file.type.partition("/")
        if main in ("message", "multipart"):
            main, sub = "application", "octet-stream"
        mail.add_attachment(file.data, maintype=main, subtype=sub, filename=file.name)
    return mail


def mailbox(text: str) -> Mailbox | None:
    """`name@example.org`, or `Name <name@example.org>`; None for anything else."""
    if any(char < " " for char in text):
        return None
    name, address = parseaddr(text)
    if address != text.strip() and not text.strip().endswith(f"<{address}>"):
        return None
    local, at, domain = address.rpartition("@")
    try:
        domain = domain.encode("idna").decode() if domain else ""
    except UnicodeError:
        return None
    if not at or len(local) > 64 or len(domain) > 253 or not _LOCAL.fullmatch(local) or not _DOMAIN.fullmatch(domain):
        return None
    return Mailbox(clean_name(name)[:100], local, domain)


def recipients(chat: str) -> tuple[Mailbox, ...] | None:
    """The bare addresses of a chat, which may be several with commas between them, each once; None when one is none."""
    found: dict[str, Mailbox] = {}
    for part in chat.split(","):
        one = mailbox(part.strip()) if "<" not in part and " " not in part.strip() else None
        if one is None:
            return None
        found.setdefault(one.addr_spec, one)
    return tuple(found.values())


def _stuffed(data: bytes) -> bytes:
    """With every line ended by CR LF, and no line that reads as the end."""
    data = re.sub(rb"\r\n|\r|\n", b"\r\n", data)
    data = re.sub(rb"^\.", b"..", data, flags=re.MULTILINE)
    return data if data.endswith(b"\r\n") else data + b"\r\n"


def _expect(answer: tuple[int, bytes], code: int) -> None:
    if answer[0] != code:
        raise smtplib.SMTPResponseException(answer[0], answer[1])


def _text(words: bytes | str) -> str:
    return words if isinstance(words, str) else words.decode("utf-8", "replace")
