"""Homes that share a database of PostgreSQL, each with gateways of its own: several machines on one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from horae.clock import SystemClock
from horae.ports import Tx
from horae.store.postgres import PostgresStore
from tests.support.postgres import shared_cluster, take_database
from tests.support.process import TestHome, new_home
from tests.support.servers import server_or_skip


@dataclass
class SharedHome(TestHome):
    """One home of several on one database."""

    url: str = ""
    labels: tuple[str, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)
    """More of config.toml, as it stands there."""

    def configure(self, **keys: str) -> None:
        """Write config.toml, with these lines among the others."""
        self.keys.update(keys)
        lines = {
            "store": f'"{self.url}"',
            "timezone": '"Europe/Paris"',
            "commands": '["true", "sleep", "sh"]',
            "labels": str(list(self.labels)).replace("'", '"'),
            **self.keys,
        }
        self.config("".join(f"{key} = {value}\n" for key, value in lines.items()))

    def sql(self, text: str, *args: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as link:
            return list(map(tuple, link.execute(text.replace("%", "%%").replace("?", "%s").encode(), args)))

    def sql_write(self, text: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as link:
            link.execute(text.encode())

    def give_scripts(self, **texts: str) -> None:
        """Scripts of the cluster, by their names without `.sh`."""

        def work(tx: Tx) -> None:
            for name, text in texts.items():
                tx.documents.put("script", f"{name}.sh", text, mode=0o755, actor="test")

        store = PostgresStore(self.url, SystemClock())
        try:
            store.transact(work)
        finally:
            store.close()

    def gateways(self) -> list[dict[str, Any]]:
        """What `status` knows of gateways that have neither stopped nor been lost."""
        return self.look("status")["gateways"]


def shared_home(
    path: Path, url: str, *, labels: tuple[str, ...] = (), host: str | None = None, **keys: str
) -> SharedHome:
    """A home on the database, whose commands are run inside. `host` names the machine that it claims to be on."""
    made = new_home(path)
    home = SharedHome(made.path, {} if host is None else {"HORAE_HOST": host}, True, url=url, labels=labels)
    home.configure(**keys)
    return home


@contextmanager
def database(options: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL of a database of this test's own, with an empty store; `options` are the server's for each session."""
    with server_or_skip():
        one = take_database()
    try:
        yield with_options(one.url, options or {})
    finally:
        one.give_back()


@contextmanager
def empty_database() -> Iterator[str]:
    """The URL of a database in which there is nothing yet, not even a schema."""
    with server_or_skip():
        cluster = shared_cluster()
    name = f"empty{os.getpid()}_{time.monotonic_ns()}"
    with psycopg.connect(cluster.url(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield cluster.url(name)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def with_options(url: str, options: Mapping[str, str]) -> str:
    """The same address, with settings for each session."""
    if not options:
        return url
    words = "%20".join(f"-c%20{name}%3D{value}" for name, value in options.items())
    return f"{url}{'&' if '?' in url else '?'}options={words}"
