"""What must be read again is read again: damage at once and then seldom, files that could not be taken in until they are."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from horae.app.reload import Report
from horae.errors import Trouble
from horae.wiring import mending
from horae.wiring.mending import AGAIN_S, RETRY_S, Mending, mend, take_in
from tests.support.virtual import run_virtually


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done on a thread is done at once."""

    async def called(work: Any, *args: Any) -> None:
        work(*args)

    monkeypatch.setattr(mending.asyncio, "to_thread", called)


def entry(job_id: str, **detail: Any) -> Any:
    return SimpleNamespace(what="quarantined", job_id=job_id, detail=detail)


@pytest.mark.usefixtures("at_once")
def test_what_is_damaged_is_read_at_once_and_then_not_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[float, str]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        monkeypatch.setattr(mending, "mend", lambda _home, job_id: read.append((loop.time() - began, job_id)))
        told = Mending(SimpleNamespace())  # pyright: ignore[reportArgumentType]
        told.tell([entry("a", damaged=True), entry("b", problem="line 2: no")])
        await asyncio.sleep(10)
        told.tell([entry("a", damaged=True), entry("c", damaged=True)])
        told.tell([entry("a", damaged=True)])
        told.tell([SimpleNamespace(what="blocked", job_id="d", detail={})])
        await asyncio.sleep(2 * AGAIN_S)
        told.tell([entry("a", damaged=True)])
        await asyncio.sleep(1)

    run_virtually(main())
    assert [(pytest.approx(when), job) for when, job in read] == [
        (0.0, "a"), (10.0, "c"), (AGAIN_S, "a"), (10 + 2 * AGAIN_S, "a"),
    ]  # fmt: skip


@pytest.mark.usefixtures("at_once")
def test_files_that_could_not_be_taken_in_are_looked_at_until_they_are(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks: list[Any] = []

    def refusing(_home: Any, slugs: Any) -> Report:
        looks.append(slugs)
        if len(looks) < 4:
            raise Trouble("the disk is full", "free some space")
        return Report(held=["gone"])

    async def main() -> None:
        monkeypatch.setattr(mending, "reload", refusing)
        home: Any = SimpleNamespace()
        told = Mending(home)
        take_in(home, ["tides"], told)
        take_in(home, ["moon"], told)
        await asyncio.sleep(10 * RETRY_S)

    with caplog.at_level("WARNING", "horae"):
        run_virtually(main())
    assert looks == [["tides"], ["moon"], None, None]
    assert caplog.text.count("job files could not be taken in: the disk is full") == 3
    assert "1 job files vanished at once" in caplog.text


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Trouble("the disk is away", "put it back"), "could not be read again: the disk is away"),
        (LookupError("ours"), "a definition could not be read again"),
    ],
)
def test_trouble_with_it_is_told_and_ends_nothing(
    error: Exception, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> None:
        raise error

    async def main() -> None:
        told = Mending(SimpleNamespace(read=away))  # pyright: ignore[reportArgumentType]
        told.tell([entry("a", damaged=True)])
        await asyncio.sleep(1)
        assert not told.busy

    with caplog.at_level("WARNING", "horae"):
        run_virtually(main())
    assert says in caplog.text


def test_a_job_that_is_no_more_is_left_alone() -> None:
    home: Any = SimpleNamespace(read=lambda: SimpleNamespace(slug_of=lambda _job_id: None, close=lambda: None))
    mend(home, "a")
