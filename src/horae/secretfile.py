"""The secrets of a home: values that jobs, providers and platforms get by name and that stand in no other file.

`secrets.toml` is a flat table, `NAME = "value"`, that nobody but its owner may read. It is looked at whenever somebody asks
and read again when it has changed, so that a new value counts from the next run on. A name that is not in it is taken from
the gateway's own environment, and one that is not there from the keyring of the operating system, where the settings say so.

No error here shows a value.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from stat import S_ISREG

from horae.core.agentform import secret_names_of
from horae.core.redact import Redactor
from horae.errors import Invalid, Problem, Trouble
from horae.keyrings import Ring, ring_of
from horae.limits import SECRETS_BYTES_MAX
from horae.ports import Settings

NAME = "secrets.toml"
_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_FORM = 'each line is NAME = "value"'
Stamp = tuple[int, ...]


class SecretFile:
    """The secrets of one home. `known` are names whose values no text may show, whoever wrote it."""

    def __init__(
        self, home: str, env: Mapping[str, str], *, ring: Ring | None = None, known: Sequence[str] = ()
    ) -> None:
        self._path = self.path = os.path.join(home, NAME)
        self._env = env
        self._ring = ring
        self._known = tuple(known)
        self._read: tuple[Stamp | None, Mapping[str, str]] = (None, {})
        self._redactors: dict[tuple[str, ...], tuple[Stamp | None, int, Redactor]] = {}

    @classmethod
    def of(cls, settings: Settings) -> SecretFile:
        """As the settings say."""
        ring = ring_of(settings.home) if settings.keyring else None
        return cls(settings.home, settings.env, ring=ring, known=secret_names_of(settings.agents))

    def values(self) -> Mapping[str, str]:
        """All of the file, by name; empty when there is none. Raises Invalid, Trouble."""
        return self._now()[1]

    def lookup(self, names: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """The values of these names, and the reasons why some have none."""
        if not names:
            return {}, ()
        try:
            values = self.values()
        except Problem as problem:
            return {}, (_sentence(problem),)
        found = {name: said for name in names if (said := values.get(name, self._env.get(name))) is not None}
        missing = [name for name in dict.fromkeys(names) if name not in found]
        trouble: tuple[str, ...] = ()
        if missing and self._ring is not None:
            try:
                found |= {name: said for name in missing if (said := self._ring.get(name)) is not None}
            except Problem as problem:
                trouble = (_sentence(problem),)
        return found, (*(_missing(name, self._path) for name in missing if name not in found), *trouble)

    def redactor(self, names: Sequence[str] = ()) -> Redactor:
        """What takes all values of the file and of the keyring out of a text, and those that these names have elsewhere.

        When the file cannot be read, keys are still known by their shapes.
        """
        try:
            stamp, values = self._now()
        except Problem:
            stamp, values = None, {}
        wanted = [name for name in dict.fromkeys((*self._known, *names)) if name not in values]
        others = tuple(name for name in wanted if name in self._env)
        ringed: Mapping[str, str] = {}
        if self._ring is not None:
            ringed = self._ring.known(name for name in wanted if name not in self._env)
        version = 0 if self._ring is None else self._ring.version
        kept = self._redactors.get(others)
        if kept is None or kept[:2] != (stamp, version):
            kept = stamp, version, Redactor({**ringed, **{name: self._env[name] for name in others}, **values})
            self._redactors[others] = kept
        return kept[2]

    def _now(self) -> tuple[Stamp | None, Mapping[str, str]]:
        try:
            stamp = _stamp(os.stat(self._path))
        except FileNotFoundError:
            self._read = (None, {})
        except OSError as error:
            raise Trouble(f"{self._path} cannot be read: {error.strerror}", "check its owner and mode") from error
        else:
            if stamp != self._read[0]:
                self._read = _read(self._path)
        return self._read


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read(path: str) -> tuple[Stamp, Mapping[str, str]]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not S_ISREG(status.st_mode):  # a pipe would make us wait for ever
                raise Invalid(f"{path} is not a file", f"{_FORM}, in a file of mode 600", file=path)
            if status.st_mode & 0o077:
                raise Invalid(f"{path} can be read or changed by others", f"run `chmod 600 {path}`", file=path)
            data = file.read(SECRETS_BYTES_MAX + 1)
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror}", "check its owner and mode", file=path) from error
    if len(data) > SECRETS_BYTES_MAX:
        raise Invalid(f"{path} has more than {SECRETS_BYTES_MAX // 1024} KiB", "keep large secrets in files", file=path)
    return _stamp(status), _table(path, data)


def _table(path: str, data: bytes) -> Mapping[str, str]:
    try:
        table = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise Invalid(f"{path} is not UTF-8", _FORM, file=path) from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at (line \d+, column \d+|end of document)\)$", str(error))
        raise Invalid(f"{path} is not TOML{(where and f', at {where[1]}') or ''}", _FORM, file=path) from None
    except RecursionError:
        raise Invalid(f"{path} is not TOML: brackets are nested too deeply", _FORM, file=path) from None
    for name, value in table.items():
        if not _VARIABLE.fullmatch(name):
            says = f"{path}: {name[:60]!r} is no name of an environment variable"
            raise Invalid(says, _FORM, file=path, key=name)
        if not isinstance(value, str):
            raise Invalid(f"{path}: the value of {name} is not text", f'write {name} = "value"', file=path, key=name)
        if "\0" in value:
            raise Invalid(f"{path}: the value of {name} contains a NUL character", None, file=path, key=name)
    return table


def _missing(name: str, path: str) -> str:
    return (
        f'secret {name} has no value: run `horae secrets set {name}`, or add {name} = "…" to {path} (a file of mode 600), '
        "or set it in the gateway's environment"
    )


def _sentence(problem: Problem) -> str:
    return f"{problem.message}: {problem.hint}" if problem.hint else problem.message
