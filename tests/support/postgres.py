"""A PostgreSQL of the tests' own: a cluster in a temporary folder, reached through a Unix socket and nothing else.

The binaries are the machine's (`$PG_BIN`, Debian's folders, PATH). `initdb` refuses root, so root's tests run it as
nobody. One cluster serves a whole test session, whichever worker asks first; `clusterguard.py` stops it when the last
process that uses it has gone, however that went.

Each test has a database of its own, which is swept after use and given to the next test: that takes a millisecond. (A
database from a template takes 17 to 28, a schema 29, TRUNCATE 18.) Its connection goes on to the next test as well, for
a new one reads the catalogue again for every table, which takes ten.

`Cluster(…, durable=True)` is for measurements: what it commits is on the disk.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from horae.store.postgresdb import PostgresDb, connect
from horae.store.postgresschema import migrate

NOBODY = 65534
START_S = 60.0
STOP_S = 20.0
LOOK_EVERY_S = 0.02
USER, GUARDED, PASSWORD = "horae", "guarded", "sesame"
FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
ALWAYS = (
    "listen_addresses=",
    "unix_socket_permissions=0777",
    "max_connections=120",
    "shared_buffers=64MB",
    "min_wal_size=32MB",
    "max_wal_size=1GB",
    "jit=off",
    "timezone=Asia/Kathmandu",  # whatever the server thinks of time, instants are instants
    "lc_messages=C",
    "log_min_messages=warning",
    "logging_collector=off",
)


class NoServer(Exception):
    """PostgreSQL cannot be had here, and why."""


def binaries() -> str:
    """The folder of `initdb` and `postgres`. Raises NoServer."""
    places = [os.environ.get("PG_BIN", "")]
    places += map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_number, reverse=True))
    found = shutil.which("initdb")
    places += [os.path.dirname(os.path.realpath(found))] if found else []
    for place in places:
        if place and all(os.access(os.path.join(place, name), os.X_OK) for name in ("initdb", "postgres")):
            return place
    raise NoServer(
        "no initdb and postgres in $PG_BIN, /usr/lib/postgresql/*/bin or PATH (Debian: apt install postgresql)"
    )


def _number(path: Path) -> float:
    try:
        return float(path.parent.name)
    except ValueError:
        return 0.0


def short_folder() -> str:
    """A new temporary folder; the path of a Unix socket in it must stay under 108 characters."""
    return tempfile.mkdtemp(prefix="horae-pg-", dir="/tmp" if os.access("/tmp", os.W_OK) else None)


@dataclass
class Cluster:
    """One server with its data in `folder`."""

    folder: str
    durable: bool = False
    settings: tuple[str, ...] = ()
    process: subprocess.Popen[Any] | None = field(default=None, repr=False)

    @property
    def data(self) -> str:
        return os.path.join(self.folder, "data")

    def url(self, database: str = "postgres", user: str = USER, password: str | None = None, options: str = "") -> str:
        """How to reach a database of it."""
        who = user if password is None else f"{user}:{password}"
        return f"postgresql://{who}@/{database}?host={self.folder}{options}"

    def make(self) -> None:
        """A new data folder."""
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        os.chmod(self.folder, 0o755)
        initdb = os.path.join(binaries(), "initdb")
        words = [initdb, "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        by_language = ["--locale-provider=icu", "--icu-locale=en"]  # an order that is not that of bytes
        for more in (by_language, []) if _major(initdb) >= 15 else ([],):
            done = subprocess.run([*words, *more], capture_output=True, text=True, check=False, **self._as_nobody())
            if "ICU" not in done.stderr:  # else it was built without
                break
        if done.returncode:
            raise NoServer(f"initdb: {done.stderr.strip() or done.stdout.strip()}")
        rules = f"local all {GUARDED} scram-sha-256\nlocal all all trust\n"
        Path(self.data, "pg_hba.conf").write_text(rules, encoding="ascii")

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        settings = (*ALWAYS, *(() if self.durable else FAST), f"unix_socket_directories={self.folder}", *self.settings)
        words = [os.path.join(binaries(), "postgres"), "-D", self.data]
        for setting in settings:
            words += ["-c", setting]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **self._as_nobody()
            )
        deadline = time.monotonic() + START_S
        while not self._ready(self.process.pid):
            if self.process.poll() is not None:
                raise NoServer(f"postgres ended with {self.process.returncode}: {self.last_words()}")
            if time.monotonic() > deadline:
                self.stop(signal.SIGQUIT)
                raise NoServer(f"postgres was not ready after {START_S:.0f} s: {self.last_words()}")
            time.sleep(LOOK_EVERY_S)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends its sessions in order, SIGQUIT at once, as a crash would."""
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(STOP_S)
        self.process = None

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def log(self) -> str:
        return os.path.join(self.folder, "log")

    def last_words(self) -> str:
        try:
            return Path(self.log).read_text(encoding="utf-8", errors="replace")[-1500:].strip() or "it said nothing"
        except OSError:
            return "it said nothing"

    def _ready(self, pid: int) -> bool:
        """The server says so itself, in the last line of its lock file."""
        try:
            lines = Path(self.data, "postmaster.pid").read_text(encoding="utf-8").split("\n")
        except OSError:
            return False
        return lines[0] == str(pid) and len(lines) > 7 and lines[7].strip() == "ready"

    def _as_nobody(self) -> dict[str, Any]:
        env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return {"cwd": self.folder, "env": env, "umask": 0o077, **who}


def _major(initdb: str) -> int:
    words = subprocess.check_output([initdb, "--version"], text=True).split()  # initdb (PostgreSQL) 15.4 (Debian …)
    return int(words[2].split(".")[0])


def own_cluster(**given: object) -> Cluster:
    """A cluster for one test, for what cannot be done to a server that others use. Remove it afterwards."""
    cluster = Cluster(short_folder(), **given)  # pyright: ignore[reportArgumentType]
    try:
        cluster.make()
        cluster.start()
    except BaseException:
        cluster.remove()
        raise
    return cluster


# ── one for all workers of a session

_held: list[int] = []  # the lock that says that this process uses the shared cluster; it ends with the process
_shared: list[Cluster | NoServer] = []


def shared_cluster() -> Cluster:
    """The cluster of this test session. Started by whoever asks first; raises NoServer, always the same one."""
    if not _shared:
        try:
            _shared.append(_join())
        except NoServer as error:
            _shared.append(error)
    if isinstance(_shared[0], NoServer):
        raise _shared[0]
    return _shared[0]


def _join() -> Cluster:
    binaries()
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}-{time.time_ns()}"
    meeting = os.path.join(tempfile.gettempdir(), f"horae-tests-{os.geteuid()}-{session}")
    users = os.open(f"{meeting}.users", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(users, fcntl.LOCK_SH)
    _held.append(users)
    with open(f"{meeting}.start", "a+", encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        turn.seek(0)
        said = turn.read()
        if not said:
            said = _start_guard(meeting)
            turn.write(said)
            turn.flush()
    told = json.loads(said)
    if "folder" not in told:
        raise NoServer(told["problem"])
    return Cluster(told["folder"])


def _start_guard(meeting: str) -> str:
    guard = Path(__file__).with_name("clusterguard.py")
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, str(guard), meeting],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
        start_new_session=True,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    process.stdout.close()
    process.returncode = 0  # it outlives us, so nobody waits for it
    return said or json.dumps({"problem": "clusterguard.py ended without a word"})


# ── a database for each test

_free: list[Database] = []
END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> ALL (ARRAY[pg_backend_pid(), {}])"
)


class Database:
    """An empty store of the newest schema, of this process's own."""

    def __init__(self, cluster: Cluster) -> None:
        self.name = f"t{os.getpid()}_{time.monotonic_ns()}"
        self.cluster = cluster
        with psycopg.connect(cluster.url(), autocommit=True) as server:
            server.execute(f"CREATE DATABASE {self.name}".encode())
        self.url = cluster.url(self.name)
        self.beside = psycopg.connect(self.url, autocommit=True)
        """A connection beside the store's, for the tests' own eyes and hands."""
        db = connect(self.url)
        migrate(db, self.name)
        db.close()
        self._kept: list[PostgresDb] = []
        atexit.register(self.close)
        named = "SELECT relname FROM pg_class WHERE relkind = {} AND relnamespace = 'public'::regnamespace"
        tables = [name for (name,) in self.beside.execute(named.format("'r'").encode()) if name != "schema_version"]
        sequences = [name for (name,) in self.beside.execute(named.format("'S'").encode())]
        self._sweep = "; ".join(
            [
                "BEGIN",
                "SET LOCAL session_replication_role = replica",  # in any order, and past every guard
                *(f"DELETE FROM {name}" for name in tables),
                *(f"SELECT setval('{name}', 1, false)" for name in sequences),
                "COMMIT",
            ]
        ).encode()

    def close(self) -> None:
        for link in (self.beside, *(db.link for db in self._kept)):
            link.close()

    def give_back(self, *, spoilt: bool = False) -> None:
        """For the next test; a schema that was changed is thrown away."""
        if spoilt:
            self.close()
            with psycopg.connect(self.cluster.url(), autocommit=True) as server:
                server.execute(f"DROP DATABASE {self.name} WITH (FORCE)".encode())
            return
        ours = ", ".join(str(db.link.info.backend_pid) for db in self._kept)
        self.beside.execute(f"{END_OTHERS.format(ours or 0)}; ".encode() + self._sweep)
        _free.append(self)

    def connect(self, url: str, *, short: bool = False) -> PostgresDb:
        """In place of the store's own `connect`: a connection that an earlier test gave back, which knows the tables."""
        while self._kept:
            db = self._kept.pop()
            try:
                db.execute("SELECT 1")
            except psycopg.OperationalError:  # that test ended the connections of this database
                db.link.close()
            else:
                return db
        return Kept(connect(url).link, self._kept)


class Kept(PostgresDb):
    """A connection that outlives its test if nothing happened to it."""

    def __init__(self, link: psycopg.Connection[Any], place: list[PostgresDb]) -> None:
        super().__init__(link)
        self._place = place

    def close(self) -> None:
        if self.link.info.transaction_status == TransactionStatus.IDLE:
            if self not in self._place:
                self._place.append(self)
        else:
            self.link.close()


def take_database() -> Database:
    """A database in the shared cluster. Raises NoServer."""
    return _free.pop() if _free else Database(shared_cluster())
