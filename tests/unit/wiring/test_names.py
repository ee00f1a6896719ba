"""job id → slug, for the log: one reader, for as long as it answers."""

from __future__ import annotations

from typing import Any, cast

from horae.errors import Trouble
from horae.ports import Reader
from horae.wiring.service import Names


class Slugs:
    """A reader that counts, and that may be cut off."""

    def __init__(self, place: Server) -> None:
        self._place = place
        self._cut = place.cuts

    def slug_of(self, job_id: str) -> str | None:
        self._place.asked += 1
        if self._place.away or self._cut != self._place.cuts:
            raise Trouble("the connection is closed")
        return self._place.slugs.get(job_id)

    def close(self) -> None:
        self._place.closed += 1


class Server:
    def __init__(self, **slugs: str) -> None:
        self.slugs = slugs
        self.cuts = self.asked = self.opened = self.closed = 0
        self.away = False

    def read(self) -> Reader:
        if self.away:
            raise Trouble("it is away")
        self.opened += 1
        return cast("Reader", Slugs(self))


def names(server: Any) -> Names:
    return Names(server.read)


def test_it_asks_once_for_each_and_again_when_it_may_have_changed() -> None:
    server = Server(a="tides")
    known = names(server)
    assert [known.of("a", False) for _ in range(3)] == ["tides"] * 3
    assert (server.opened, server.asked) == (1, 1)
    server.slugs["a"] = "waves"
    assert known.of("a", False) == "tides"
    assert known.of("a", True) == "waves"
    assert known.of("gone", False) == "gone"
    known.close()
    assert server.closed == 1


def test_a_server_that_was_restarted_is_asked_by_a_new_reader() -> None:
    server = Server(a="tides", b="waves")
    known = names(server)
    assert known.of("a", False) == "tides"
    server.cuts += 1
    assert known.of("b", False) == "waves"
    assert (server.opened, server.closed) == (2, 1)


def test_while_it_is_away_what_is_known_is_told() -> None:
    server = Server(a="tides")
    known = names(server)
    assert known.of("a", False) == "tides"
    server.away = True
    assert known.of("a", True) == "tides"
    assert known.of("b", False) == "b"
    server.away = False
    server.slugs["b"] = "waves"
    assert known.of("b", False) == "waves"
