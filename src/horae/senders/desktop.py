"""`desktop`: a note on the screen of whoever is signed in on this machine.

Text is handed over as arguments and never becomes a part of a command: behind `--` for `notify-send`, as the arguments of
a fixed script for `osascript`. Most desktops read the body as markup, so what has a meaning there is escaped. A note shows
a few lines, and names the files; the rest is where `horae log` shows it. Nobody there to show it is a trouble that passes.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping

from horae.aside import aside
from horae.attached import shown_name
from horae.core import kinds
from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.markup import plain
from horae.core.outgoing import Clerk, readable, title_of, where_whole
from horae.core.split import shortened
from horae.ports.outside import Tools

BODY_CHARS_MAX = 800  # about a screenful
ASK_S = 2.0
BUS = "DBUS_SESSION_BUS_ADDRESS"
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": r"\\"}
"""In a body: what is markup to a desktop, and the backslash, which notify-send reads as C does.
That breaks off at what is no text."""
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


class Desktop:
    """Shows messages here."""

    def __init__(self, platform: Platform, tools: Tools, system: str = sys.platform) -> None:
        kinds.checked(platform)
        self._mac = system == "darwin"
        self._name = platform.name
        self._program = "osascript" if self._mac else "notify-send"
        self._timeout_s = platform.timeout_s
        self._tools = tools
        self._clerk = Clerk(platform, tools.secrets, tools.redact)

    @staticmethod
    def shape(options: Mapping[str, object]) -> tuple[bool, bool]:
        """Whether the bare name is an address, and whether chats have threads."""
        return kinds.alone("desktop", options), kinds.threads("desktop", options)

    def check(self, address: Address | None = None) -> str | None:
        """There is a program that shows notes. Whether somebody is signed in is seen when there is something to show."""
        if address is not None and address.chat is not None:
            return f"{self._name} shows notes on this machine and has no chats: write {self._name} alone"
        if shutil.which(self._program) is None:
            return f"{self._program} is not on this machine: install it" + (
                "" if self._mac else " (package libnotify-bin)"
            )
        return None

    async def send(self, message: Message) -> Receipt:
        """Show it once."""
        if (problem := self.check(message.address)) is not None:
            return self._clerk.refuse(problem)
        title = title_of(message) or "Horae"
        text = plain(message.body[: 20 * BODY_CHARS_MAX], message.format)
        if len(message.body) > 20 * BODY_CHARS_MAX:
            text = text[: 2 * BODY_CHARS_MAX]
        if message.attachments:
            text += "\n" + ", ".join(shown_name(one.name) for one in message.attachments)
        body = shortened(readable(text), BODY_CHARS_MAX, f"All of it: {where_whole(message).strip('`')}")
        bus: Mapping[str, str] | None = {} if self._mac else await aside(self._bus)
        if bus is None:
            says = f"no desktop session is in reach: {BUS} is not set, and there is no bus in $XDG_RUNTIME_DIR"
            return self._clerk.retry(says)
        said = await aside(self._tools.ask, self._argv(title, body, message.alert), "", bus, self._timeout_s)
        if said.code == 0:
            number = said.out.strip()
            return self._clerk.accept(f"note {number}" if number else f"shown by {self._program}")
        if said.code is None:
            return self._clerk.refuse(said.words) if said.missing else self._clerk.retry(said.words)
        return self._clerk.lose(said.words) if said.code < 0 else self._clerk.retry(f"{self._program}: {said.words}")

    def _argv(self, title: str, body: str, alert: bool) -> list[str]:
        if self._mac:
            return [self._program, *(word for line in _SCRIPT for word in ("-e", line)), "--", title, body]
        urgency = "critical" if alert else "normal"
        escaped = re.sub(r"[&<>\\]", lambda found: _ESCAPED[found[0]], body)
        return [self._program, "--app-name=Horae", f"--urgency={urgency}", "--print-id", "--", title, escaped]

    def _bus(self) -> Mapping[str, str] | None:
        """The variables that the program needs to find the session's bus besides its own; None when there is none."""
        said = self._tools.ask(("printenv", BUS), "", {}, ASK_S)
        if said.code == 0 and said.out.strip():
            return {}
        said = self._tools.ask(("printenv", "XDG_RUNTIME_DIR"), "", {}, ASK_S)
        folder = said.out.strip() if said.code == 0 else ""
        bus = os.path.join(folder or f"/run/user/{os.getuid()}", "bus")
        return {BUS: f"unix:path={bus}"} if os.path.exists(bus) else None
