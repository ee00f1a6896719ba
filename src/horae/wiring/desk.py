"""The desk of a home: from targets to whoever sends there.

Senders are loaded by name when something is sent there, since most homes use few of them and their libraries are large; a
library that is missing is named with what installs it. Each platform has one sender, kept as long as the desk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module

from horae.core.delivery import LOCAL, Address, Platform
from horae.core.kinds import KINDS
from horae.core.target import Directory, address_of, resolve
from horae.errors import Invalid, Problem
from horae.ports import Clock, Sender, Settings, Tools
from horae.ports.command import Said
from horae.runners.command import tell
from horae.secretfile import SecretFile

SENDERS: Mapping[str, tuple[str, str]] = {  # kind → module and class
    LOCAL: ("senders.local", "Local"),
    "apprise": ("senders.apprise", "Apprise"),
    "mail": ("senders.mail", "Mail"),
    "webhook": ("senders.webhook", "Webhook"),
    "desktop": ("senders.desktop", "Desktop"),
    "file": ("senders.file", "File"),
    "command": ("senders.command", "Command"),
}
HERE = Platform(LOCAL, LOCAL, alone=True, header=False, footer=False, quiet=False)
"""`local`, which no settings name: what stays here needs no header and disturbs nobody."""
RESOLVED = 4096  # targets kept with what they mean, since each run asks for its own
INSTALL = "pip install 'horae[delivery]'"

Tell = Callable[[Sequence[str], str, Mapping[str, str], float], Said]


class Desk:
    """`ports.Targets` over the settings of a home."""

    def __init__(self, settings: Settings, tools: Tools) -> None:
        self._directory = Directory(settings.platforms, settings.targets)
        self._resolved = lru_cache(RESOLVED)(self._resolve)
        self._tools = tools
        self._senders: dict[str, Sender] = {}

    def warm(self) -> None:
        """Load the libraries of what is configured, which takes a while; whoever misses one says so when it is needed."""
        kinds = {platform.kind for platform in self._directory.platforms.values()}
        for name in filter(None, (KINDS[kind].library for kind in sorted(kinds))):
            with suppress(ModuleNotFoundError):
                import_module(name)

    def resolve(self, target: str, origin: str | None = None) -> tuple[Address, ...]:
        """The addresses that a target means, each once. Raises Invalid, with the nearest names."""
        return self._resolved(target, origin)

    def _resolve(self, target: str, origin: str | None) -> tuple[Address, ...]:
        return resolve(target, self._directory, origin)

    def address(self, text: str) -> Address:
        """An address as `str` writes it; no friendly name is one. Raises Invalid."""
        return address_of(text, self._directory)

    def platform(self, address: Address) -> Platform:
        """What the settings say of it, and of the chat. Raises Invalid where they say nothing (any more)."""
        if address.platform == LOCAL:
            return HERE
        found = self._directory.platforms.get(address.platform)
        if found is None:
            says = f"config.toml has no [platforms.{address.platform}]"
            raise Invalid(says, "bring it back, or change the targets of the job", target=str(address))
        return found.at(address)

    def sender(self, address: Address) -> Sender:
        """Whoever sends there. Raises Invalid, also for settings that its kind cannot work with."""
        kept = self._senders.get(address.platform)
        if kept is None:
            kept = self._senders[address.platform] = _made(self.platform(address), self._tools)
        return kept

    def problem(self, target: str, origin: str | None = None) -> str | None:
        """Why a target cannot be reached as configured, or None."""
        if target == LOCAL:
            return None
        try:
            addresses = self.resolve(target, origin)
        except Invalid as error:
            return _sentence(error, error.message.removesuffix(f": {target}"))
        for address in addresses:
            why = self._unready(address)
            if why is not None:
                return why if str(address) == target else f"{address}: {why}"
        return None

    def _unready(self, address: Address) -> str | None:
        """Why nothing can be sent to that address, or None."""
        try:
            return self.sender(address).check(address)
        except Problem as problem:
            return _sentence(problem, problem.message)


def desk_of(settings: Settings, clock: Clock) -> Desk:
    """The desk of a home whose senders work on this machine."""
    return Desk(settings, tools_of(settings, clock, partial(_told, settings)))


def tools_of(settings: Settings, clock: Clock, ask: Tell) -> Tools:
    """What senders need of the world. `secrets.toml` is read anew when it has changed."""
    secrets = SecretFile.of(settings)
    return Tools(
        secrets=secrets.lookup,
        redact=lambda data: secrets.redactor().data(data),
        ask=ask,
        now=clock.now,
        home=settings.home,
    )


def _told(settings: Settings, argv: Sequence[str], text: str, variables: Mapping[str, str], timeout_s: float) -> Said:
    """Run a program with the gateway's environment and some variables besides."""
    return tell(argv, text, {**settings.env, **variables}, timeout_s)


def _made(platform: Platform, tools: Tools) -> Sender:
    module, name = SENDERS[platform.kind]
    try:
        return getattr(import_module(f"horae.{module}"), name)(platform, tools)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "horae":
            raise
        says = f"{platform.name} needs the library {error.name}, which is not installed"
        raise Invalid(says, f"run {INSTALL}", library=error.name) from error


def _sentence(problem: Problem, says: str) -> str:
    return f"{says} ({problem.hint})" if problem.hint else says
