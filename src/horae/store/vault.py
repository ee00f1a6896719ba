"""The secrets of a home as a person sees to them: names, and where each has its value. Values go in and do not come out.

Where a name has several values, the first of file, environment, keyring counts (`secretfile.py`). The environment is that
of whoever asks, and belongs to nobody here: it is looked at and not changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from horae.errors import Problem, Refused
from horae.keyrings import ring_of
from horae.limits import SECRETS_BYTES_MAX
from horae.ports import Settings
from horae.secretfile import SecretFile
from horae.store import tomledit

FILE, ENVIRONMENT, KEYRING = "file", "environment", "keyring"
OFF = 'write keyring = "on" in config.toml, and start a gateway anew that is running'


class SecretVault:
    """`ports.Vault` of one home."""

    def __init__(self, settings: Settings) -> None:
        self._env = settings.env
        self._file = SecretFile(settings.home, settings.env)
        self._ring = ring_of(settings.home) if settings.keyring else None

    @property
    def path(self) -> str:
        """The file."""
        return self._file.path

    def places(self, names: Collection[str]) -> tuple[Mapping[str, tuple[str, ...]], tuple[Problem, ...]]:
        """Where each of these has a value, and each that is kept here; and why one of the places cannot be looked into."""
        problems: list[Problem] = []
        filed: Collection[str] = ()
        ringed: set[str] = set()
        try:
            filed = self._file.values().keys()
        except Problem as problem:
            problems.append(problem)
        if self._ring is not None:
            try:
                kept = self._ring.names()
                ringed = {name for name in dict.fromkeys((*names, *kept)) if self._ring.get(name) is not None}
            except Problem as problem:
                problems.append(problem)
        found: dict[str, tuple[str, ...]] = {}
        for name in sorted({*names, *filed, *ringed}):
            held = ((FILE, name in filed), (ENVIRONMENT, name in self._env), (KEYRING, name in ringed))
            found[name] = tuple(place for place, is_there in held if is_there)
        return found, tuple(problems)

    def put(self, name: str, value: str, *, keyring: bool) -> tuple[str, ...]:
        """Keep a value; of one for the keyring the file's is taken away. Returns where it had one before."""
        filed = name in self._file.values()  # a file that others may read is not written either
        before = (FILE,) * filed
        if not keyring:
            tomledit.put(self.path, (name,), value, most=SECRETS_BYTES_MAX)
            return before
        if self._ring is None:
            raise Refused("the keyring is off for this home", OFF)
        self._ring.put(name, value)
        if filed:
            self._drop(name)
        return before

    def remove(self, name: str) -> tuple[str, ...]:
        """Take its values away, wherever they are kept. Returns where they were."""
        found: list[str] = []
        if name in self._file.values() and self._drop(name):
            found.append(FILE)
        if self._ring is not None and self._ring.remove(name):
            found.append(KEYRING)
        return tuple(found)

    def _drop(self, name: str) -> bool:
        with suppress(KeyError):  # somebody else was faster
            tomledit.remove(self.path, (name,), most=SECRETS_BYTES_MAX)
            return True
        return False
