"""What PostgreSQL and its driver say, in words that tell a person what to do.

Three kinds matter to whoever writes (see `writer.py`):
- the machine is in the way (`Trouble`): nothing was changed, and the same may work later;
- another writer is in the way (`Conflict`): the same may work in a moment;
- `OF_ALL`: errors that no single member of a group caused, so that the whole group is tried again.

Errors of a connection attempt have no code, only the server's words: in English, or they are passed on as they are.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import conninfo, errors

from horae.errors import Conflict, Invalid, Problem, Trouble

OF_ALL = (
    psycopg.OperationalError,
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
    errors.InsufficientPrivilege,
    errors.UndefinedTable,
)

AGAIN = "try again in a moment"
RESTART = "it goes on by itself once the server answers; `pg_isready` or the server's log say more"
GRANTS = (
    "the role needs CREATE and USAGE on its schema, and its tables must be its own:"
    " GRANT ALL ON SCHEMA … TO …, or give it a schema of its own"
)
BY_CODE: dict[str, tuple[type[Problem], str, str]] = {
    "53100": (Trouble, "the disk of {} is full; nothing was changed", "free some space on the server"),
    "53200": (Trouble, "the server of {} is out of memory; nothing was changed", RESTART),
    "53300": (
        Trouble,
        "{} takes no more connections",
        "raise max_connections on the server, or end what holds them (pg_stat_activity lists it)",
    ),
    "53400": (Trouble, "{} has reached a limit of its own ({said}); nothing was changed", RESTART),
    "25006": (
        Trouble,
        "{} is read-only; nothing was changed",
        "is it a standby? Name the primary, or add target_session_attrs=read-write to the URL",
    ),
    "25P03": (
        Trouble,
        "a transaction in {} stood still for so long that the server ended it; nothing was changed",
        "was this machine suspended? It goes on by itself",
    ),
    "42501": (Trouble, "{} does not permit it ({said}); nothing was changed", GRANTS),
    "42P01": (Trouble, "tables are missing in {} ({said})", "was the schema dropped? Restore a backup"),
    "3D000": (Trouble, "{} does not exist ({said})", "make it with `createdb`, or correct the URL"),
    "3F000": (
        Trouble,
        "the schema that {} names does not exist ({said})",
        "make it with CREATE SCHEMA, or correct the search_path of the URL",
    ),
    "55P03": (Conflict, "another process held a lock in {} for too long", AGAIN),
    "40001": (Conflict, "another writer came first in {}", AGAIN),
    "40P01": (Conflict, "two writers waited for each other in {}; this one gave way", AGAIN),
    "57014": (Trouble, "{} took too long and was stopped ({said}); nothing was changed", AGAIN),
    "57P03": (Trouble, "{} is starting up or shutting down", RESTART),
    "58030": (Trouble, "the server of {} cannot read or write its files ({said})", RESTART),
    "XX001": (Trouble, "{} is damaged ({said})", "stop every gateway, then restore a backup"),
    "XX002": (Trouble, "an index of {} is damaged ({said})", "REINDEX it, then try again"),
}
WORDS = (  # of a failed connection attempt → the code that stands for it, or what to say
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ("authentication failed", "28000"),
    ("no pg_hba.conf entry", "28000"),
    (r"role .* does not exist", "28000"),
    ("is not permitted to log in", "28000"),
    (r"database .* does not exist", "3D000"),
    ("permission denied for database", "42501"),
    ("too many clients", "53300"),
    ("remaining connection slots", "53300"),
    ("too many connections", "53300"),
    ("is starting up", "57P03"),
    ("is shutting down", "57P03"),
    ("in recovery mode", "57P03"),
    ("not accepting connections", "57P03"),
    ("no space left", "53100"),
    ("session is read-only", "25006"),
)
OF_URL = re.compile(  # words of a failed attempt that no other answer of the server follows, until the URL is another
    r"does not support (ssl|gss)|invalid \S+ value|invalid integer value|bad value for|could not parse network address"
    r"|certificate file .* does not exist|could not match \d+"
)
STORE_LINE = "the line `store` of config.toml (or HORAE_STORE, where that is set)"
HINTS_OF_LOGIN = {
    "28P01": "check the password: in the URL, in ~/.pgpass or in PGPASSWORD",
    "28000": "check the user of the URL, and the server's pg_hba.conf",
}


@contextmanager
def named(path: str) -> Generator[None]:
    """Turn what the driver says into errors that tell a person what to do. `path` is the URL without its password."""
    try:
        yield
    except Problem:
        raise
    except psycopg.Error as error:
        raise explain(error, path) from error


def explain(error: psycopg.Error, path: str) -> Problem:
    """One error in the words of the tree."""
    code, text = code_of(error), said(error)
    details = {"file": path, "sqlstate": code}
    if error.sqlstate is None and (found := OF_URL.search(str(error).lower())):
        more = "take sslmode out of it, or let the server use SSL: " if found[1] == "ssl" else ""
        hint = f"correct {STORE_LINE}: {more}it does not go on by itself"
        return Trouble(f"{path} cannot be used as its URL says ({text})", hint, **details, key="store")
    if code in HINTS_OF_LOGIN:
        return Trouble(f"{path} refuses to let us in ({text})", HINTS_OF_LOGIN[code], **details)
    if code in BY_CODE:
        kind, message, hint = BY_CODE[code]
        return kind(message.format(path, said=text), hint, **details)
    if code[:2] == "53":
        return Trouble(f"the server of {path} is short of something ({text}); nothing was changed", RESTART, **details)
    if isinstance(error, psycopg.OperationalError) and code[:2] in ("", "08", "57"):
        return Trouble(f"{path} cannot be reached ({text})", RESTART, **details)
    hint = "this is likely a fault of Horae; `horae doctor` checks the database"
    return Trouble(f"{path}: {text}", hint, **details)


def code_of(error: psycopg.Error) -> str:
    """The five characters that SQL has for it; '' for a connection that was lost or never came about."""
    if error.sqlstate is not None:
        return error.sqlstate
    text = str(error).lower()
    return next((code for words, code in WORDS if re.search(words, text)), "")


def said(error: psycopg.Error) -> str:
    """The server's own sentence, without its position, its context or what came before a second attempt."""
    if error.diag.message_primary:
        return error.diag.message_primary
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].split("FATAL:")[-1].strip() if lines else type(error).__name__


def parsed(url: str) -> dict[str, str]:
    """The parts of a URL. Raises Invalid for one that is none."""
    try:
        found = {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items() if value is not None}
    except psycopg.ProgrammingError as error:
        why = re.sub(r"(:| in URI).*", "", said(error))  # the driver repeats the URL, password and all
        raise _no_url(why) from None
    hosts, ports = found.get("host", "").split(","), found.get("port", "").split(",")
    # Neither is shown: without its host, or with a sign in it that should be escaped, a part of the password stands there
    if any("@" in host[1:] for host in hosts):
        raise _no_url("its host has an `@` in it; one in a password is written %40")
    if not all(not port or (re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65536) for port in ports):
        raise _no_url("what stands behind a host's colon is no port from 1 to 65535")
    if len(ports) not in {1, len(hosts)}:
        raise _no_url(f"it has {len(ports)} ports for {len(hosts)} hosts")
    return found


def _no_url(why: str) -> Invalid:
    hint = f"correct {STORE_LINE}: write it like postgresql://user@host:5432/database"
    return Invalid(f"store: this is no URL of PostgreSQL ({why})", hint, key="store")


def shown(url: str) -> str:
    """The same address for eyes: without a password, and without what is not an address."""
    parts = parsed(url)
    user = f"{parts['user']}@" if "user" in parts else ""
    database = parts.get("dbname", parts.get("user", ""))
    hosts, ports = parts.get("host", "").split(","), parts.get("port", "").split(",")
    ports *= len(hosts) if len(ports) == 1 else 1
    if hosts[0].startswith(("/", "@")):  # a folder with a socket
        port = f"&port={ports[0]}" if ports[0] else ""
        return f"postgresql://{user}/{database}?host={hosts[0]}{port}"
    where = [
        (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        for host, port in zip(hosts, ports, strict=False)
    ]
    return f"postgresql://{user}{','.join(where)}/{database}"
