"""PostgreSQL's half of the store, without a server: marks, rows, addresses, and what errors say."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from horae.errors import Conflict, Invalid, Problem, Trouble, tree
from horae.store.postgresdb import _maker, connect, translated
from horae.store.postgreserrors import BY_CODE, OF_ALL, WORDS, code_of, explain, named, shown
from tests.support.process import new_home

PATH = "postgresql://horae@db/horae"


# ── marks


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT 1", "SELECT 1"),
        ("a = ? AND b = ?", "a = %s AND b = %s"),
        ("a = :a AND b > :b_2", "a = %(a)s AND b > %(b_2)s"),
        ("a LIKE 'x%' AND b = ?", "a LIKE 'x%%' AND b = %s"),
        ("a % 2 = ?", "a %% 2 = %s"),
        ("a = '?' AND b = ':no' AND c = ?", "a = '?' AND b = ':no' AND c = %s"),
        ("a = 'it''s ?' AND b = ?", "a = 'it''s ?' AND b = %s"),
        ('"what?" = ? AND ":x%" = 1', '"what?" = %s AND ":x%%" = 1'),
        ("a::bigint = ? AND b::text = :b", "a::bigint = %s AND b::text = %(b)s"),
        ("a = ? -- really? :x\nAND b = ?", "a = %s -- really? :x\nAND b = %s"),
        ("a /* ? :x */ = ?", "a /* ? :x */ = %s"),
        ("a = 'unended ?", "a = 'unended %s"),
        ("VALUES (?,?,?)", "VALUES (%s,%s,%s)"),
        ("x[1:2] = :y", "x[1:2] = %(y)s"),
        ("", ""),
    ],
)
def test_marks_become_the_drivers_and_what_is_quoted_stays(sql: str, wanted: str) -> None:
    assert translated(sql).decode() == wanted


def test_a_statement_is_translated_once() -> None:
    assert translated("SELECT ?, ?") is translated("SELECT ?, ?")


# ── rows


def a_row(**columns: Any) -> Any:
    return _maker(tuple(name.encode() for name in columns))(list(columns.values()))


def test_a_row_is_read_by_index_by_name_and_taken_apart() -> None:
    row = a_row(slug="tides", state="active", at=3)
    assert (row[0], row["state"], row[-1], row["at"]) == ("tides", "active", 3, 3)
    slug, state, at = row
    assert (slug, state, at) == tuple(row) == row
    assert (len(row), list(row.keys()), {**row}) == (3, ["slug", "state", "at"], dict(row))
    assert dict(row) == {"slug": "tides", "state": "active", "at": 3}
    assert dict([a_row(k="a", v=1), a_row(k="b", v=2)]) == {"a": 1, "b": 2}


def test_a_column_that_is_not_there_is_an_error() -> None:
    with pytest.raises(IndexError, match="nope"):
        a_row(a=1)["nope"]


def test_of_two_columns_of_one_name_the_first_is_meant() -> None:
    row = _maker((b"id", b"id", b"x"))((1, 2, 3))
    assert (row["id"], row["x"], row[1], tuple(row)) == (1, 3, 2, (1, 2, 3))
    assert dict(row) == {"id": 1, "x": 3}


# ── addresses


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("postgresql://anna:s%40cret@db:5433/horae", "postgresql://anna@db:5433/horae"),
        ("postgres://db/horae", "postgresql://db/horae"),
        ("postgresql://anna@/horae?host=/run/pg&password=secret", "postgresql://anna@/horae?host=/run/pg"),
        ("postgresql://[::1]:5432/horae?sslpassword=secret", "postgresql://[::1]:5432/horae"),
        ("postgresql://a:1,b:2/horae", "postgresql://a:1,b:2/horae"),
        ("postgresql://a,b/horae?port=1", "postgresql://a:1,b:1/horae"),
        ("postgresql:///horae?host=/run/pg&port=5433", "postgresql:///horae?host=/run/pg&port=5433"),
        ("postgresql://anna:secret@db", "postgresql://anna@db/anna"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, wanted: str) -> None:
    assert shown(url) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://a:secret@[db/x", "postgresql://a:secret@db/x?colour=red", "postgresql://a:secret@db/%zz",
        "postgresql://a:secret@db:notaport/x", "postgresql://a:secret@db:0/x", "postgresql://a:secret@db:65536/x",
        "postgresql://a:secret@db/x?port=5432,x", "postgresql://a:secret@db,eb,fb/x?port=1,2",
        "postgresql://a:secret/x", "postgresql://a:p@secret@db/x", "postgresql://a:secret/1@db/x",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        shown(url)
    assert "secret" not in f"{refused.value.as_json()} {refused.value.__cause__}"
    assert "`store` of config.toml" in str(refused.value.hint)


# ── errors


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_each_error_that_is_known_says_where_and_what_to_do(code: str) -> None:
    problem = explain(errors.lookup(code)("the server's own words"), PATH)
    assert PATH in problem.message
    assert problem.hint
    assert "likely a fault of Horae" not in problem.hint
    assert problem.details == {"file": PATH, "sqlstate": code}


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (errors.DiskFull(), Trouble, "full"),
        (errors.ReadOnlySqlTransaction(), Trouble, "read-only"),
        (errors.LockNotAvailable(), Conflict, "lock"),
        (errors.DeadlockDetected(), Conflict, "waited for each other"),
        (errors.SerializationFailure(), Conflict, "came first"),
        (errors.TooManyConnections(), Trouble, "no more connections"),
        (errors.AdminShutdown("terminating"), Trouble, "cannot be reached"),
        (psycopg.OperationalError("server closed the connection unexpectedly"), Trouble, "cannot be reached"),
        (errors.ConfigurationLimitExceeded("temp_file_limit"), Trouble, "limit"),
        (errors.InsufficientResources("what?"), Trouble, "short of something"),
    ],
)
def test_errors_that_pass_are_of_the_whole_group(error: psycopg.Error, kind: type[Problem], words: str) -> None:
    assert isinstance(error, OF_ALL)
    problem = explain(error, PATH)
    assert type(problem) is kind
    assert words in problem.message


@pytest.mark.parametrize(
    "error", [errors.UniqueViolation("twice"), errors.CheckViolation("no"), errors.SyntaxError("near SELEKT")]
)
def test_errors_that_one_member_caused_are_its_own(error: psycopg.Error) -> None:
    assert not isinstance(error, OF_ALL)
    assert "likely a fault of Horae" in str(explain(error, PATH).hint)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('connection to server at "db" failed: FATAL:  password authentication failed for user "anna"', "28P01"),
        ("fe_sendauth: no password supplied", "28P01"),
        ('FATAL:  no pg_hba.conf entry for host "1.2.3.4", user "anna", database "x"', "28000"),
        ('FATAL:  role "anna" does not exist', "28000"),
        ('FATAL:  database "horae" does not exist', "3D000"),
        ("FATAL:  sorry, too many clients already", "53300"),
        ('FATAL:  too many connections for role "anna"', "53300"),
        ("FATAL:  the database system is starting up", "57P03"),
        ("FATAL:  the database system is shutting down", "57P03"),
        ("FATAL:  the database system is in recovery mode", "57P03"),
        ("session is read-only", "25006"),
        ("could not connect to server: Connection refused", ""),
        ("Une erreur", ""),
    ],
)
def test_a_connection_that_does_not_come_about_has_its_reason(text: str, code: str) -> None:
    error = psycopg.OperationalError(text)
    assert code_of(error) == code
    assert explain(error, PATH).hint


def test_every_word_of_a_connection_leads_to_something_that_is_said() -> None:
    known = {*BY_CODE, "28P01", "28000"}
    assert {code for _, code in WORDS} <= known


def test_what_is_a_problem_already_is_left_alone() -> None:
    for kind in tree():
        with pytest.raises(kind) as raised, named(PATH):
            raise kind("said")
        assert raised.value.message == "said"


# ── the driver is an extra


def test_without_the_driver_the_command_that_installs_it_is_named() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from horae.store.cluster import adapter\n"
        "from horae.errors import Trouble\n"
        "try: adapter()\n"
        "except Trouble as problem: print(problem.message, '|', problem.hint)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "psycopg" in done.stdout
    assert "pip install 'horae[postgres]'" in done.stdout


def test_whoever_uses_sqlite_needs_no_driver() -> None:
    source = Path(__file__).parents[3] / "src"
    program = (
        "import sys, pkgutil, importlib; sys.modules['psycopg'] = None\n"
        "import horae\n"
        "for found in pkgutil.walk_packages(horae.__path__, 'horae.'):\n"
        "    if not found.name.startswith('horae.store.postgres') and found.name != 'horae.__main__':\n"
        "        importlib.import_module(found.name)\n"
        "print('all')"
    )
    env = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env)
    assert done.stdout == "all\n", done.stderr


# ── mistakes of the URL that only a server finds


@pytest.fixture
def plain_server() -> Iterator[int]:
    """The port of a server that refuses SSL, as PostgreSQL does where it is not set up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    link, _ = listening.accept()
                    with link:
                        link.recv(8)
                        link.sendall(b"N")
                        link.recv(8)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("sslmode=require", "does not support SSL"),
        ("sslmode=often", "invalid sslmode value"),
        ("connect_timeout=soon", "bad value for connect_timeout"),
        ("keepalives_count=few", "invalid integer value"),
        ("target_session_attrs=best", "invalid target_session_attrs value"),
        ("hostaddr=here", "could not parse network address"),
    ],
)
def test_a_mistake_of_the_url_is_not_said_to_go_on_by_itself(plain_server: int, query: str, says: str) -> None:
    url = f"postgresql://a:secret@127.0.0.1:{plain_server}/x?{query}"
    with pytest.raises(Trouble) as refused, named(shown(url)):
        connect(url)
    assert says in refused.value.message
    assert "`store` of config.toml" in str(refused.value.hint)
    assert "does not go on by itself" in str(refused.value.hint)
    assert "secret" not in str(refused.value.as_json())


@pytest.mark.parametrize(
    ("where", "query", "status", "says"),
    [("127.0.0.1:{}", "sslmode=require", 1, "does not support SSL"), ("127.0.0.1:notaport", "", 2, "no port")],
)
def test_a_gateway_does_not_start_on_such_a_url(
    tmp_path: Path, plain_server: int, where: str, query: str, status: int, says: str
) -> None:
    home = new_home(tmp_path / "home")
    home.env = {"HORAE_STORE": f"postgresql://a:secret@{where.format(plain_server)}/x?{query}"}
    for words in (("up",), ("list",), ("add", "every 1h", "--script", "hi.sh")):
        error = home.error(*words, status=status)
        assert says in error["message"], words
        assert "config.toml" in error["hint"], words
        assert "secret" not in str(error), words
    assert "config.toml" in str(home.json("doctor", status=1))
