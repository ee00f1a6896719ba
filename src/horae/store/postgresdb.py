"""PostgreSQL's half of `database.py`: one connection that takes SQL in SQLite's form.

Marks (`?`, `:name`) become the driver's, once for each statement; what stands in quotes or comments is left alone. Values
keep their kind whatever their size, so that a statement is prepared once: every whole number is a BIGINT, truth is 1
or 0 as on SQLite. A NUL, which PostgreSQL's text cannot hold and programs print, becomes the picture of one.

Every statement commits by itself until a transaction is begun (`postgres.py` does that).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import psycopg
from psycopg import conninfo
from psycopg.abc import Buffer
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg.types.string import StrDumperUnknown

from horae.store.database import Args
from horae.store.postgresbulk import Bulk, array, bulk, counted, distinct
from horae.store.postgreserrors import parsed

CONNECT_S = 10
CHANNEL = WRITER = "horae"
NAME_MAX = 63  # of a session's name, in bytes
END = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ? AND datname = current_database()"
    " AND usename = current_user AND pid <> pg_backend_pid()"
)
RESERVED = 0x686F7267  # of our own, among the pairs of numbers that advisory locks have in a database
NUL, NUL_SHOWN = "\0", "\u2400"
SESSION = {  # in milliseconds; what the URL says in its own `options` wins
    "lock_timeout": 10_000,
    "idle_in_transaction_session_timeout": 15_000,  # a suspended writer must not hold what others wait for
}
READING = {"default_transaction_read_only": "on"}
SHORT = {"plan_cache_mode": "force_custom_plan"}  # a plan that was made for empty tables must not serve for full ones
NETWORK = {  # a connection whose other end is gone is noticed within half a minute, whoever waits for it
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
MARK = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/   # left alone, but for their percent signs
      | ::\w+ | (?P<at>\?) | (?<![\w:]):(?P<name>[A-Za-z_]\w*) | %""",
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=1024)
def translated(sql: str) -> bytes:
    """A statement with the driver's marks."""
    return MARK.sub(_mark, sql).encode()


def _mark(found: re.Match[str]) -> str:
    if found["at"]:
        return "%s"
    if found["name"]:
        return f"%({found['name']})s"
    return found[0].replace("%", "%%")


class Row(dict[str, Any]):
    """One row: by name, which is what is wanted most, by index, with `keys()`, or taken apart like a tuple."""

    __slots__ = ()
    __hash__ = None  # pyright: ignore[reportAssignmentType] - as a dict has none

    def __missing__(self, key: Any) -> Any:
        """What is no name is an index."""
        if isinstance(key, str):
            raise IndexError(f"no column is named {key!r}")
        return tuple(self.values())[key]

    def __iter__(self) -> Iterator[Any]:
        """The values."""
        return iter(self.values())

    def __eq__(self, other: object) -> bool:
        """Rows and tuples are the same when their values are."""
        return tuple(self.values()) == (tuple(other) if isinstance(other, Row | Doubled) else other)


class Doubled(tuple[Any, ...]):
    """A row of which two columns have one name: the first is meant."""

    __slots__ = ()
    names: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, key: Any) -> Any:
        """By name or by index."""
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(self.names))


@lru_cache(maxsize=512)
def _maker(columns: tuple[bytes | None, ...]) -> Callable[[Sequence[Any]], Any]:
    """What makes a row of a statement's values."""
    names = tuple((name or b"").decode() for name in columns)
    if len(set(names)) < len(names):
        return type("Doubled", (Doubled,), {"__slots__": (), "names": names})
    return lambda values: Row(zip(names, values, strict=True))


def rows(cursor: psycopg.Cursor[Any]) -> Any:
    """A row factory of the driver."""
    result = cursor.pgresult
    if result is None or not result.nfields:
        return tuple
    return _maker(tuple(result.fname(place) for place in range(result.nfields)))


class _Truth(Int8Dumper):
    """1 or 0."""

    def dump(self, obj: Any) -> Buffer | None:
        return b"1" if obj else b"0"


class _Text(StrDumperUnknown):
    """Without the one character that cannot be stored."""

    def dump(self, obj: str) -> Buffer | None:
        return (obj.replace(NUL, NUL_SHOWN) if NUL in obj else obj).encode()


class PostgresDb:
    """A connection as the verbs see it."""

    shared = True
    clash = psycopg.IntegrityError
    forms: ClassVar[dict[str, tuple[Bulk, str] | None]] = {}
    for_update = " FOR NO KEY UPDATE"
    if_free = " FOR NO KEY UPDATE SKIP LOCKED"

    def __init__(self, link: psycopg.Connection[Any]) -> None:
        self.link = link
        self.telling = False
        """Whether others are to be told once this transaction is committed."""

    def execute(self, sql: str, args: Args = (), /) -> psycopg.Cursor[Any]:
        return self.link.execute(translated(sql), args)

    def at_once(self, *statements: str) -> psycopg.Cursor[Any]:
        """Several statements without values, in one message. The answer is that of the first; `nextset` goes on."""
        return self.link.execute("; ".join(statements).encode(), prepare=False)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> psycopg.Cursor[Any]:
        """All rows in one statement where its form allows; else one by one, without waiting for each answer."""
        form = self._form(sql) if len(rows) > 1 else None
        if form is not None and distinct(rows, form[0].keys):
            return self.execute(form[1], [array(column) for column in zip(*rows, strict=True)])
        cursor = self.link.cursor()
        cursor.executemany(translated(sql), rows)
        return cursor

    def _form(self, sql: str) -> tuple[Bulk, str] | None:
        """The statement over arrays. The kinds of its values are the schema's, so they are asked for once."""
        if sql not in self.forms:
            found = bulk(sql)
            self.forms[sql] = None if found is None else (found, found.over(self._kinds(sql)))
        return self.forms[sql]

    def _kinds(self, sql: str) -> list[str]:
        """What kind each value of a statement is, as the server sees it."""
        self.at_once(f"PREPARE kinds AS {counted(sql)}")
        (kinds,) = self.link.execute(
            "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'kinds'"
        ).fetchall()[0]
        self.at_once("DEALLOCATE kinds")
        return list(kinds)

    def next_tokens(self, count: int) -> list[int]:
        return self._next("fence_token", count)

    def next_entries(self, count: int) -> list[int]:
        return self._next("journal_seq", count)

    def _next(self, sequence: str, count: int) -> list[int]:
        ((numbers,),) = self.execute(
            f"SELECT ARRAY (SELECT nextval('{sequence}') FROM generate_series(1, ?))", (count,)
        ).fetchall()
        return list(numbers)

    def reserve(self, name: str) -> bool:
        """An advisory lock, for which nobody waits: whoever waited would hold rows that others want."""
        found = self.execute(f"SELECT pg_try_advisory_xact_lock({RESERVED}, hashtext(?))", (name,)).fetchone()
        return bool(found and found[0])

    def call_it(self, name: str) -> None:
        """Name this session after its writer, for `end_writer`."""
        self.execute("SELECT set_config('application_name', ?, false)", (f"{WRITER} {name}"[:NAME_MAX],))

    def end_writer(self, name: str) -> None:
        """End its sessions. The server's own limit counts only between statements, and only when all of one has come."""
        self.execute(END, (f"{WRITER} {name}"[:NAME_MAX],))

    def notify(self) -> None:
        """Once for each transaction: it is sent with the COMMIT, for which notifications take turns."""
        self.telling = True

    def among(self, column: str) -> str:
        return f"{column} = ANY(?)"

    def listed(self, values: Sequence[object]) -> object:
        return list(values)

    def trouble(self) -> str | None:
        """Pages whose checksum was wrong, where the server keeps checksums."""
        row = self.execute(
            "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
        return f"{row[0]} pages had a wrong checksum" if row and row[0] else None

    def __iter__(self) -> Iterator[Any]:  # a guard: `for row in db` would be a mistake of ours
        raise TypeError("a connection is no answer")

    def close(self) -> None:
        self.link.close()


def connect(url: str, *, reading: bool = False, short: bool = False) -> PostgresDb:
    """Open a connection: to read only, or `short`, of a command that may fill an empty database. Raises the driver's errors."""
    given = parsed(url)
    session = SESSION | (READING if reading else {}) | (SHORT if short else {})
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    mine = {"connect_timeout": CONNECT_S, "fallback_application_name": "horae", **NETWORK}
    given = {**mine, **given, "client_encoding": "UTF8", "options": f"{options} {given.get('options', '')}".strip()}
    link = psycopg.connect(conninfo.make_conninfo("", **given), autocommit=True, row_factory=rows)
    for kind, dumper in ((bool, _Truth), (int, Int8Dumper), (int, Int8BinaryDumper), (str, _Text)):
        link.adapters.register_dumper(kind, dumper)
    return PostgresDb(link)
