"""`apprise`: one of the many services that the library Apprise knows, by its URL.

A chat or a thread is text from outside. It is put into the URL percent-encoded, and characters that a service could take
for the end of a name are refused before, since some services split what they have decoded.

What became of a message is read off Apprise's log of the one attempt. It says the status of an answer, but neither its
headers nor, always, its words: no service can say here how long to wait (`Retry-After`). Names that were not resolved and
connections that were not made are surely not taken; whatever else broke may have been. One message to a service may be
several requests: if one of them is known to have worked, the message may have been taken.

Apprise keeps nothing on disk here, loads no configuration and no plugins but its own, does not repeat anything, and its
log goes nowhere but into the receipt. It is given no time-out of its own, for its threads would have to be waited for when
the gateway stops. Files are handed over as private copies in a folder that is gone afterwards, since many services open them
by their path. Services that act on this machine are refused: `desktop`, `file` and `command` do that.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from horae.aside import aside
from horae.attached import Loaded, load
from horae.core import kinds
from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.outgoing import TAKEN_NOT, UNCLEAR, Clerk, readable, title_of, where_whole, with_notes
from horae.core.placeholders import filled, placed
from horae.core.split import cuts, numbered, shortened
from horae.core.text import one_line
from horae.errors import Invalid
from horae.ports.outside import Tools

PARTS_MAX = 5
LIMIT_MIN = 60  # of one part: below that there is no room for its number and a sentence
CONNECT_S = 10.0
HERE = frozenset({"blink1", "dbus", "gio", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows"})
CONFIGS = frozenset({"file", "include", "memory"})
_SCHEMA = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://.")
_ENDS_A_NAME = re.compile(r"[\s,;/\\%?&\x00-\x20\x7f-\xa0]")
_STATUS = re.compile(r"\berror=([0-9]{3})\b")
_CODE = re.compile(r"\berror=([a-z][a-z_]+)\b")
_ERRNO = re.compile(r"\[Errno -?[0-9]+\] ([^'\")\]]+)")
_AT_URL = re.compile(r" with url: \S+")
_BROKE = re.compile(r"Exception:|onnection error|[Tt]imed out")
_NEVER_MADE = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|CERTIFICATE_VERIFY_FAILED|Connection refused"
    r"|Name or service not known|Temporary failure in name resolution|Network is unreachable|No route to host"
)


class Verdict(NamedTuple):
    """What became of one attempt: what kind of end, the status of an answer if there was one, and the words."""

    event: Literal["accept", "answered", "refuse", "retry", "lose"]
    words: str
    status: int = 0


class Apprise:
    """Sends by one URL."""

    def __init__(self, platform: Platform, tools: Tools) -> None:
        options = kinds.checked(platform)
        self._url = str(options["url"])
        limit = options.get("limit")
        self._limit = limit if isinstance(limit, int) else None
        self._where = f"platforms.{platform.name}"
        if self._limit is not None and self._limit < LIMIT_MIN:
            raise Invalid(f"{self._where}.limit: must be {LIMIT_MIN} or more", None, key=f"{self._where}.limit")
        if "{" not in self._url.partition("://")[0] and (wrong := _schema_problem(self._url)) is not None:
            raise Invalid(f"{self._where}.url: {wrong[0]}", wrong[1], key=f"{self._where}.url")
        self._name = platform.name
        self._timeout_s = platform.timeout_s
        self._tools = tools
        self._clerk = Clerk(platform, tools.secrets, tools.redact)

    @staticmethod
    def shape(options: Mapping[str, object]) -> tuple[bool, bool]:
        """Whether the bare name is an address, and whether chats have threads."""
        return kinds.alone("apprise", options), kinds.threads("apprise", options)

    def check(self, address: Address | None = None) -> str | None:
        """The library and the secrets are there, the service is one, and it takes the address."""
        if find_spec("apprise") is None:
            return "apprise is not installed: pip install 'horae[delivery]'"
        secrets, missing = self._clerk.secrets()
        if missing is not None:
            return missing
        if (wrong := _schema_problem(filled(self._url, secrets))) is not None:
            return f"{self._where}.url: {wrong[0]}: {wrong[1]}"
        if address is None and "{chat}" in self._url:
            return None  # whether the rest is right depends on the chat
        if address is not None and (problem := self._address_problem(address)) is not None:
            return problem
        if self._service(address, secrets) is None:
            return f"{self._where}.url: Apprise cannot read it" + (" for this chat" if "{chat}" in self._url else "")
        return None

    async def send(self, message: Message) -> Receipt:
        """One message, in parts where the service takes no longer one."""
        if (problem := await aside(self.check, message.address)) is not None:
            return self._clerk.refuse(problem)
        secrets, _ = self._clerk.secrets()
        service = self._service(message.address, secrets)
        files, notes = await aside(load, message.attachments, self._tools.redact)
        parts, files = self._parts(message, service, files, notes)
        clock = asyncio.get_running_loop().time
        until = clock() + self._timeout_s
        verdict = Verdict("lose", "nothing was sent")
        for number, part in enumerate(parts, start=1):
            try:
                async with asyncio.timeout_at(until):
                    verdict = await aside(self._notify, service, message, part, files if number == 1 else ())
            except TimeoutError:
                verdict = Verdict("lose", "no answer in time")
            if verdict.event != "accept":
                return self._failed(verdict, number, len(parts))
        return self._clerk.accept(verdict.words if len(parts) == 1 else f"{verdict.words} ({len(parts)} parts)")

    def _failed(self, verdict: Verdict, number: int, parts: int) -> Receipt:
        if number > 1:
            return self._clerk.lose(f"part {number} of {parts} failed after others were taken: {verdict.words}")
        match verdict.event:
            case "answered":
                return self._clerk.answered(verdict.status, verdict.words)
            case "refuse":
                return self._clerk.refuse(verdict.words)
            case "retry":
                return self._clerk.retry(verdict.words)
            case _:
                return self._clerk.lose(verdict.words)

    def _address_problem(self, address: Address) -> str | None:
        if "{chat}" not in self._url:
            return f"{self._name} has no chats: write {self._name} alone" if address.chat is not None else None
        if address.chat is None:
            return f"{self._name} needs a chat: write {self._name}:CHAT, or set {self._where}.home"
        for word in (address.chat, address.thread or "1"):
            if not word or word in (".", "..") or _ENDS_A_NAME.search(word):
                return f"{one_line(word, 60)!r} cannot be a chat or a thread"
        return None

    def _service(self, address: Address | None, secrets: Mapping[str, str]) -> Any:
        """Apprise's object for the URL; None when it cannot read it."""
        chat, thread = (None, None) if address is None else (address.chat, address.thread)
        apprise = _library()
        asset = apprise.AppriseAsset(
            app_id="Horae",
            storage_mode="memory",
            allow_templates=False,
            timezone="UTC",
            language="en",
            service_timeout=0,
            pem_autogen=False,
            pgp_autogen=False,
            http_redirects=False,
        )
        service = apprise.Apprise.instantiate(filled(placed(self._url, chat, thread), secrets), asset=asset)
        if service is not None:
            service.socket_connect_timeout = min(CONNECT_S, self._timeout_s)
            service.socket_read_timeout = self._timeout_s
            service.retry = 0
            service.overflow_mode = apprise.OverflowMode.SPLIT  # the net: what it makes of a part may be longer
        return service

    def _parts(
        self, message: Message, service: Any, files: tuple[Loaded, ...], notes: tuple[str, ...]
    ) -> tuple[list[str], tuple[Loaded, ...]]:
        """The bodies to send one after another, and the files that go with the first."""
        if service.attachment_support:
            notes += tuple(f"Not attached: {file.name} (empty)" for file in files if not file.data)
            files = tuple(file for file in files if file.data)
        else:
            notes += tuple(f"Not attached: {file.name} (this service takes no files)" for file in files)
            files = ()
        body = with_notes(readable(message.body), notes)
        if not body.strip():
            body = title_of(message) or "(no text)"  # nothing at all would be refused
        limit = int(service.body_maxlen)
        if service.title_maxlen <= 0 or service.overflow_amalgamate_title:
            limit -= 2 * len(title_of(message)) + 32  # it becomes a part of the body there
        limit = max(LIMIT_MIN, limit if self._limit is None else min(limit, self._limit))
        parts = numbered(body, limit, fences=message.format == "markdown")
        if len(parts) <= PARTS_MAX:
            return parts, files
        if not service.attachment_support:
            return [shortened(body, limit, f"All of it: {where_whole(message)}")], files
        name = "message.md" if message.format == "markdown" else "message.txt"
        whole = Loaded(name, body.encode("utf-8", "replace"), "text/plain")
        return [shortened(body, limit, f"All of it is in {name}.")], (whole, *files)

    def _notify(self, service: Any, message: Message, body: str, files: Sequence[Loaded]) -> Verdict:
        """On a thread."""
        apprise = _library()
        title = title_of(message)
        if 0 < service.title_maxlen < len(title):
            title = cuts(title, max(2, service.title_maxlen - 1))[0] + "…"
        sender = apprise.Apprise(asset=service.asset)
        sender.add(service)
        formats = apprise.NotifyFormat
        with tempfile.TemporaryDirectory(prefix="horae-") as folder:
            result = sender.notify(
                body=body,
                title=title,
                notify_type=apprise.NotifyType.FAILURE if message.alert else apprise.NotifyType.INFO,
                body_format=formats.MARKDOWN if message.format == "markdown" else formats.TEXT,
                attach=_copies(files, folder) or None,
                log_level=logging.DEBUG,
            )
        tries = [attempt for one in result.results for attempt in one.attempts]
        log = [(str(entry.level), str(entry.message)) for attempt in tries for entry in attempt.logs]
        if not tries:
            log = [(str(entry.level), str(entry.message)) for entry in result.call_logs()]
        status = str(tries[-1].status.name if tries else result.status.name)
        return verdict_of(str(service.service_name), status, log, begun=bool(tries))


def _copies(files: Sequence[Loaded], folder: str) -> list[Any]:
    """The files as Apprise takes them."""
    copy = import_module("apprise.attachment.file").AttachFile
    made: list[Any] = []
    for number, file in enumerate(files):
        path = os.path.join(folder, str(number))
        with open(path, "xb") as out:
            out.write(file.data)
        made.append(copy(path, name=file.name, mimetype=file.type))
    return made


def verdict_of(service: str, status: str, log: Sequence[tuple[str, str]], *, begun: bool = True) -> Verdict:
    """What a log of level and line says about an attempt. Only lines that cannot hold the message's own text count."""
    told = [line for level, line in log if level in ("WARNING", "ERROR", "CRITICAL")]
    broken = [line for level, line in log if level == "DEBUG" and re.match(r"[A-Z][A-Za-z ]{0,40} Exception: ", line)]
    taken = [line for level, line in log if level == "INFO" and line.startswith("Sent ")]
    if status == "SUCCESS":
        return Verdict("accept", f"{service}: {taken[-1] if taken else 'taken'}")
    answers = [line[len("Response Details:") :].strip() for _, line in log if line.startswith("Response Details:")]
    parts = (*told[:3], *map(_bare, answers[:1]), *map(_shorter, broken[:1]))
    words = f"{service}: {'; '.join(parts) or status.lower()}"
    if status == "TIMEOUT":
        return Verdict("lose", f"{service}: no answer in time")
    if not begun:
        return Verdict("refuse", words)
    if taken:
        return Verdict("lose", f"{words} (other parts were taken)")
    codes = [int(found[1]) for line in told if (found := _STATUS.search(line))]
    unsure = [line for line in broken if not _NEVER_MADE.search(line)]
    vague = not broken and not codes and (not told or any(_BROKE.search(line) for line in told))
    if unsure or vague:
        return Verdict("lose", words)
    if codes:  # the one that leaves most open counts
        return Verdict("answered", words, max(codes, key=_openness))
    if broken:
        return Verdict("retry", words)
    return Verdict("refuse" if any(_CODE.search(line) for line in told) else "lose", words)


def _openness(code: int) -> int:
    """How much an answer leaves open."""
    return 2 if code in UNCLEAR else 1 if code >= 500 or code in TAKEN_NOT else 0


def _shorter(line: str) -> str:
    """What a library says of a broken connection, without the URL: it may hold a password."""
    found = _ERRNO.search(line)
    return found[1] if found else _AT_URL.sub("", line)


def _bare(answer: str) -> str:
    """What stands between the quotes of bytes in a log."""
    return answer[2:-1] if re.match(r"b['\"]", answer) else answer


def _schema_problem(url: str) -> tuple[str, str] | None:
    found = _SCHEMA.match(url)
    if found is None:
        return "it is no URL of Apprise", "it looks like service://…"
    schema = found[1].lower()
    if schema in HERE:
        return f"{schema} acts on this machine", "use the kind desktop, file or command"
    return ("it names no service", "a configuration is not loaded") if schema in CONFIGS else None


def _library() -> Any:
    """The library, with nothing of its log going anywhere but into results."""
    apprise = import_module("apprise")
    log = logging.getLogger("apprise")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    logging.getLogger("urllib3").setLevel(logging.CRITICAL)  # it would show URLs
    return apprise
