"""Who holds a home, and its places where the store is shared: real locks, in a folder of the test."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from horae.control import place
from horae.control.place import PLACES_MAX, HomeLock, holder, numbered, socket_path
from horae.errors import Conflict


@pytest.fixture
def home(tmp_path: Path) -> Iterator[str]:
    with mock.patch.object(place, "time"):  # nobody waits for a lock to become free
        yield str(tmp_path)


def taken(home: str, pid: int, *, shared: bool = False) -> HomeLock:
    lock = HomeLock(home, shared=shared)
    lock.take({"pid": pid, "since": "today", "version": "1"})
    return lock


def test_who_holds_a_home_is_known_until_it_lets_go(home: str) -> None:
    assert holder(home) is None
    lock = taken(home, 7)
    assert holder(home) == {"pid": 7, "since": "today", "version": "1"}
    lock.release()
    assert holder(home) is None
    lock.release()  # again: nothing to let go of
    taken(home, 8).release()


def test_case_4_a_second_gateway_on_a_file_is_refused_with_who_has_it(home: str) -> None:
    lock = taken(home, 7)
    with pytest.raises(Conflict, match="a gateway already runs for this home: pid 7, since today") as refused:
        taken(home, 8)
    assert refused.value.details["holder"] == {"pid": 7, "since": "today", "version": "1"}
    assert holder(home, 2) is None, "a file has one place"
    lock.release()


def test_whoever_only_looks_is_no_gateway(home: str) -> None:
    lock = taken(home, 7)
    lock.release()
    looking = os.open(Path(home, "state", "gateway.lock"), os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    tried: list[int] = []

    def pause(_: float) -> None:
        tried.append(1)
        fcntl.flock(looking, fcntl.LOCK_UN)

    with mock.patch.object(place.time, "sleep", pause):
        lock = taken(home, 8)
    assert tried == [1]
    lock.release()
    os.close(looking)


def test_gateways_on_a_shared_store_take_places_of_their_own(home: str) -> None:
    locks = [taken(home, pid, shared=True) for pid in (1, 2, 3)]
    assert [lock.number for lock in locks] == [1, 2, 3]
    assert [(holder(home, number) or {}).get("pid") for number in (1, 2, 3, 4)] == [1, 2, 3, None]
    locks[1].release()
    assert holder(home, 2) is None
    again = taken(home, 4, shared=True)
    assert again.number == 2, "a place that became free is taken again"
    for lock in (locks[0], locks[2], again):
        lock.release()
    assert [holder(home, number) for number in (1, 2, 3)] == [None] * 3


def test_there_is_room_for_so_many_and_no_more(home: str) -> None:
    locks = [taken(home, pid, shared=True) for pid in range(PLACES_MAX)]
    assert [lock.number for lock in locks] == list(range(1, PLACES_MAX + 1))
    with pytest.raises(Conflict, match=f"{PLACES_MAX} gateways run for this home already"):
        taken(home, 99, shared=True)
    for lock in locks:
        lock.release()


def test_a_place_whose_holder_left_no_word_is_held_all_the_same(home: str) -> None:
    lock = taken(home, 7)
    Path(home, "state", "gateway.lock").write_text("{", encoding="ascii")
    assert holder(home) == {}
    lock.release()


@pytest.mark.parametrize(
    ("number", "names"), [(1, ("gateway.lock", "gateway.sock")), (3, ("gateway-3.lock", "gateway-3.sock"))]
)
def test_the_first_place_has_no_number(number: int, names: tuple[str, str]) -> None:
    assert (numbered(place.LOCK, number), numbered(place.SOCKET, number)) == names


@pytest.mark.parametrize("number", [1, 2])
def test_a_socket_of_a_long_path_can_be_reached(tmp_path: Path, number: int) -> None:
    home = tmp_path / ("x" * 120)
    (home / "state").mkdir(parents=True)
    path, fd = socket_path(str(home), number)
    assert fd is not None
    assert len(path) < 108
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
    assert (home / "state" / numbered(place.SOCKET, number)).is_socket()
    os.close(fd)
    assert socket_path("/h", number) == (f"/h/state/{numbered(place.SOCKET, number)}", None)
