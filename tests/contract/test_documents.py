"""Texts of a cluster on every store: the table itself, job files in it beside those of a folder, and a machine's copy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from horae import limits
from horae.errors import Conflict, Invalid, NotFound, Trouble
from horae.ports import Folder
from horae.store.documents import digest_of
from horae.store.jobfolder import JobFolder
from horae.store.jobtable import JobTable
from horae.store.scriptmirror import ScriptMirror
from tests.support.builders import MINUTE, START, us
from tests.support.stores import ADAPTERS
from tests.support.world import scratch

JOB = "---\nschedule: every 1h\n---\n"


def put(s: Any, name: str, text: str, *, kind: str = "script", mode: int = 0o644, actor: str = "ann") -> None:
    s.do(lambda tx: tx.documents.put(kind, name, text, mode=mode, actor=actor))


def remove(s: Any, name: str, kind: str = "script") -> bool:
    return s.do(lambda tx: tx.documents.remove(kind, name))


# ── the table


def test_a_text_is_kept_as_it_is(s: Any) -> None:
    texts = ["", "x", "a\r\nb\n", "Grüße 🌊\n", "%s ? :name '", "x" * 1_000_000]
    for at, text in enumerate(texts):
        put(s, f"t{at}", text)
    for at, text in enumerate(texts):
        found = s.do(lambda tx, at=at: tx.documents.get("script", f"t{at}"))
        assert (found.name, found.text, found.mode) == (f"t{at}", text, 0o644)
        assert found.digest == digest_of(text)


def test_digests_name_what_there_is_of_one_kind(s: Any) -> None:
    for name in ("b", "a", "sub/c"):
        put(s, name, name)
    put(s, "a", JOB, kind="job")
    assert s.do(lambda tx: dict(tx.documents.digests("script"))) == {
        name: digest_of(name) for name in ("a", "b", "sub/c")
    }
    assert s.do(lambda tx: dict(tx.documents.digests("job"))) == {"a": digest_of(JOB)}
    assert remove(s, "a")
    assert not remove(s, "a")
    assert s.do(lambda tx: tx.documents.get("script", "a")) is None
    assert s.do(lambda tx: tx.documents.get("job", "a")).text == JOB


def test_who_changed_a_text_and_when_is_kept(s: Any) -> None:
    put(s, "a", "one", actor="ann")
    s.clock.time = START + MINUTE
    put(s, "a", "two", mode=0o755, actor="bob")
    (row,) = s.rows("SELECT * FROM document")
    assert (row["text"], row["mode"], row["changed_by"], row["changed_at"]) == ("two", 0o755, "bob", us(START + MINUTE))


def test_a_new_text_is_whose_it_was_first(s: Any) -> None:
    def make(text: str) -> bool:
        return s.do(lambda tx: tx.documents.make("job", "a", text, mode=0o644, actor="ann"))

    assert make("one")
    assert not make("two")
    assert s.do(lambda tx: tx.documents.get("job", "a")).text == "one"
    remove(s, "a", "job")
    assert make("two")


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
def test_of_many_who_make_the_same_text_at_once_one_does(kind: str) -> None:
    many = 4
    with scratch() as folder:
        s = ADAPTERS[kind](folder)
        begin = Barrier(many)

        def make(at: int) -> bool:
            store = s.again()
            try:
                begin.wait(20)
                return store.transact(
                    lambda tx: tx.documents.make("job", "a", f"text {at}", mode=0o644, actor=f"person {at}")
                )
            finally:
                store.close()

        for _ in range(5):
            with ThreadPoolExecutor(many) as threads:
                made = list(threads.map(make, range(many)))
            assert sum(made) == 1
            assert s.do(lambda tx: tx.documents.get("job", "a")).text == f"text {made.index(True)}"
            remove(s, "a", "job")
        s.close()


# ── job files


@pytest.fixture(params=["folder", *sorted(ADAPTERS)])
def jobs(request: pytest.FixtureRequest) -> Iterator[Folder]:
    """The port `Folder`, on each adapter."""
    with scratch() as folder:
        root = os.path.join(folder, "jobs")
        os.mkdir(root)
        if request.param == "folder":
            yield JobFolder(root)
            return
        s = ADAPTERS[request.param](folder)
        yield JobTable(s.store, root, "ann")
        s.close()


def test_a_job_file_is_written_read_listed_and_removed(jobs: Folder) -> None:
    assert dict(jobs.scan()) == {}
    jobs.write("tides", JOB, expect=None)
    jobs.write("b.2_c-d", "", expect=None)
    assert jobs.read("tides") == JOB
    assert dict(jobs.scan()) == {slug: jobs.signature(slug) for slug in ("tides", "b.2_c-d")}
    jobs.remove("b.2_c-d", expect="")
    jobs.remove("tides", expect=None)
    assert dict(jobs.scan()) == {}


def test_a_job_file_is_replaced_by_who_has_read_it(jobs: Folder) -> None:
    jobs.write("tides", JOB, expect=None)
    before = jobs.signature("tides")
    jobs.write("tides", f"{JOB}more\n", expect=JOB)
    assert jobs.read("tides") == f"{JOB}more\n"
    assert jobs.signature("tides") != before
    with pytest.raises(Conflict, match=r"jobs/tides\.md was changed meanwhile; nothing was written"):
        jobs.write("tides", "x", expect=JOB)
    with pytest.raises(Conflict, match=r"jobs/tides\.md was changed meanwhile"):
        jobs.remove("tides", expect=JOB)
    with pytest.raises(Conflict, match=r"jobs/tides\.md"):
        jobs.write("tides", "x", expect=None)
    assert jobs.read("tides") == f"{JOB}more\n"


def test_a_job_file_that_is_not_there(jobs: Folder) -> None:
    for look in (jobs.read, jobs.signature):
        with pytest.raises(NotFound, match=r"jobs/none\.md"):
            look("none")
    with pytest.raises(NotFound, match=r"jobs/none\.md"):
        jobs.write("none", "x", expect="y")
    with pytest.raises((NotFound, Trouble), match=r"jobs/none\.md"):
        jobs.remove("none", expect=None)
    assert dict(jobs.scan()) == {}


@pytest.mark.parametrize("slug", ["A", "", ".", "..", "../x", "a/b", "a\0b", "ä", "-", ".a", "a b"])
def test_what_cannot_be_the_name_of_a_job_file(jobs: Folder, slug: str) -> None:
    with pytest.raises((Invalid, NotFound)):
        jobs.write(slug, JOB, expect=None)
    assert dict(jobs.scan()) == {}


def test_a_job_file_has_a_largest_size(jobs: Folder) -> None:
    jobs.write("large", "x" * limits.JOB_FILE_BYTES_MAX, expect=None)
    with pytest.raises(Invalid, match="is larger than 256 KiB"):
        jobs.write("larger", "ä" * (limits.JOB_FILE_BYTES_MAX // 2) + "x", expect=None)
    assert list(dict(jobs.scan())) == ["large"]


def test_job_files_of_a_table_take_part_in_a_transaction(s: Any) -> None:
    table = JobTable(s.store, "jobs", "ann")

    def work(tx: Any) -> None:
        inside = table.inside(tx)
        inside.write("tides", JOB, expect=None)
        assert inside.read("tides") == JOB
        assert dict(inside.scan()) == {"tides": inside.signature("tides")}
        raise Conflict("it is not to be")

    with pytest.raises(Conflict, match="not to be"):
        s.do(work)
    assert dict(table.scan()) == {}


# ── a machine's copy of the scripts


def files(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes().decode(), path.stat().st_mode & 0o777)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_copy_follows_the_table(s: Any, tmp_path: Path) -> None:
    mirror = ScriptMirror(s.store, str(tmp_path / "scripts"))
    folder = tmp_path / "scripts"
    assert mirror.refresh() == 0
    put(s, "a.sh", "one\r\n", mode=0o755)
    put(s, "sub/deep/b.py", "print('ä')\n")
    put(s, "tides", JOB, kind="job")
    assert mirror.refresh() == 2
    assert files(folder) == {"a.sh": ("one\r\n", 0o755), "sub/deep/b.py": ("print('ä')\n", 0o644)}
    assert mirror.refresh() == 0
    put(s, "a.sh", "two", mode=0o644)
    remove(s, "sub/deep/b.py")
    assert mirror.refresh() == 2
    assert files(folder) == {"a.sh": ("two", 0o644)}
    assert [path.name for path in folder.iterdir()] == ["a.sh"], "no empty folders are left"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_copy_that_somebody_changed_is_put_right_by_whoever_begins(s: Any, tmp_path: Path) -> None:
    put(s, "a.sh", "one", mode=0o755)
    put(s, "b.sh", "one", mode=0o755)
    ScriptMirror(s.store, str(tmp_path)).refresh()
    (tmp_path / "a.sh").write_text("changed")
    (tmp_path / "b.sh").chmod(0o600)
    (tmp_path / "stray.sh").write_text("mine")
    assert ScriptMirror(s.store, str(tmp_path)).refresh() == 3
    assert files(tmp_path) == {"a.sh": ("one", 0o755), "b.sh": ("one", 0o755)}


def test_a_script_gives_its_place_to_a_folder_and_back(s: Any, tmp_path: Path) -> None:
    mirror = ScriptMirror(s.store, str(tmp_path))
    put(s, "a", "file")
    mirror.refresh()
    remove(s, "a")
    put(s, "a/b", "below")
    assert mirror.refresh() == 2
    assert files(tmp_path) == {"a/b": ("below", 0o644)}
    remove(s, "a/b")
    put(s, "a", "file again")
    assert mirror.refresh() == 2
    assert files(tmp_path) == {"a": ("file again", 0o644)}


@pytest.mark.parametrize("name", ["../out.sh", "/tmp/horae-out.sh", "sub/../../out.sh", "link/out.sh"])
def test_no_name_in_the_table_leads_out_of_the_folder(s: Any, tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "scripts", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    put(s, name, "out")
    put(s, "in.sh", "in")
    assert ScriptMirror(s.store, str(folder)).refresh() == 1
    assert files(tmp_path) == {"scripts/in.sh": ("in", 0o644)}
    assert not Path("/tmp/horae-out.sh").exists()


def test_what_another_process_is_writing_is_left_alone(s: Any, tmp_path: Path) -> None:
    put(s, "a.sh", "one")
    being_written = tmp_path / ".horae-abc"
    being_written.write_text("half")
    assert ScriptMirror(s.store, str(tmp_path)).refresh() == 1
    assert being_written.read_text() == "half"


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
def test_several_keep_the_same_copy_at_once(kind: str, tmp_path: Path) -> None:
    with scratch() as folder:
        s = ADAPTERS[kind](folder)
        for at in range(30):
            put(s, f"s{at % 7}/{at}.sh", f"text {at}")

        def follow(_: int) -> None:
            store = s.again()
            try:
                ScriptMirror(store, str(tmp_path)).refresh()
            finally:
                store.close()

        for left in (30, 12, 0):
            for at in range(left, 30):
                remove(s, f"s{at % 7}/{at}.sh")
            with ThreadPoolExecutor(4) as threads:
                list(threads.map(follow, range(4)))
            assert files(tmp_path) == {f"s{at % 7}/{at}.sh": (f"text {at}", 0o644) for at in range(left)}
        s.close()


def test_a_folder_that_cannot_be_written_is_said(s: Any, tmp_path: Path) -> None:
    (tmp_path / "scripts").write_text("a file in its place")
    put(s, "a.sh", "one")
    with pytest.raises(Trouble, match=r"scripts cannot be written"):
        ScriptMirror(s.store, str(tmp_path / "scripts")).refresh()
