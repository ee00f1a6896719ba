"""`command`: a program of the user gets the message on its standard input, and facts about it as variables.

Its exit status is the answer: 0 has taken it, 75 (EX_TEMPFAIL of sysexits.h) wants it later, any other refuses it. A
program that was ended by a signal, or that did not end in time, may have passed it on. The arguments are handed over as
they stand: a secret in them could be read by every user of the machine, so secrets go into `variables`. `${NAME}` in them
is a shell's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from horae.aside import aside
from horae.attached import shown_name
from horae.core import kinds
from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.outgoing import Clerk, readable, title_of
from horae.core.placeholders import filled
from horae.core.text import one_line
from horae.errors import Invalid
from horae.ports.outside import Tools

EX_TEMPFAIL = 75
VARIABLE_CHARS_MAX = 30_000  # in UTF-8 below what Linux gives one variable
_OURS = "HORAE_"
_SECRET = re.compile(r"(?<!\$)\{[A-Z][A-Z0-9_]*\}")


class Command:
    """Hands messages to one program."""

    def __init__(self, platform: Platform, tools: Tools) -> None:
        options = kinds.checked(platform)
        program, *given = cast("Sequence[str]", options["argv"])
        self._argv = (os.path.expanduser(program), *given)
        self._variables = cast("Mapping[str, str]", options.get("variables", {}))
        for name in self._variables:
            if "=" in name or name.startswith(_OURS):
                where = f"platforms.{platform.name}.variables"
                raise Invalid(f"{where}: {name[:60]!r} cannot be set", f"{_OURS}… are those of Horae", key=where)
        for word in self._argv:
            if (found := _SECRET.search(word)) is not None:
                where = f"platforms.{platform.name}.argv"
                says = f"{where}: {found[0][:60]} would be seen by all users of this machine"
                raise Invalid(says, f'write variables = {{ NAME = "{found[0][:60]}" }} and $NAME', key=where)
        self._timeout_s = platform.timeout_s
        self._tools = tools
        self._clerk = Clerk(replace(platform, options=self._variables), tools.secrets, tools.redact)

    @staticmethod
    def shape(options: Mapping[str, object]) -> tuple[bool, bool]:
        """Whether the bare name is an address, and whether chats have threads."""
        return kinds.alone("command", options), kinds.threads("command", options)

    def check(self, address: Address | None = None) -> str | None:
        """The program is there, and its secrets."""
        _, missing = self._clerk.secrets()
        if missing is not None:
            return missing
        if shutil.which(self._argv[0]) is None:
            return f"{self._clerk.words(self._argv[0])} is no program on this machine: install it, or give its path in `argv`"
        return None

    async def send(self, message: Message) -> Receipt:
        """One run of the program."""
        secrets, missing = self._clerk.secrets()
        if missing is not None:
            return self._clerk.retry(missing)
        variables = {name: filled(value, secrets) for name, value in self._variables.items()} | facts(message)
        argv = self._argv
        said = await aside(self._tools.ask, argv, readable(message.body), variables, self._timeout_s)
        if said.code is None:
            return self._clerk.refuse(said.words) if said.missing else self._clerk.retry(said.words)
        if said.code == 0:
            first = next((line for line in said.out.splitlines() if line.strip()), "")
            return self._clerk.accept(first or f"{os.path.basename(argv[0])} has taken it")
        if said.code < 0:
            return self._clerk.lose(said.words)
        reason = f"{os.path.basename(argv[0])}: {said.words}"
        return self._clerk.retry(reason) if said.code == EX_TEMPFAIL else self._clerk.refuse(reason)


def facts(message: Message) -> dict[str, str]:
    """What a program may want to know beside the text."""
    said = json.dumps(dict(message.facts), default=str)
    files = json.dumps([{"name": shown_name(one.name), "path": one.path} for one in message.attachments])
    return {
        "HORAE_TITLE": title_of(message),
        "HORAE_TARGET": one_line(str(message.address), 1000),
        "HORAE_MESSAGE_ID": one_line(message.id, 200),
        "HORAE_ALERT": "1" if message.alert else "0",
        "HORAE_FORMAT": message.format,
        "HORAE_FILES": files if len(files) <= VARIABLE_CHARS_MAX else "[]",
        "HORAE_FACTS": said if len(said) <= VARIABLE_CHARS_MAX else "{}",
    }
