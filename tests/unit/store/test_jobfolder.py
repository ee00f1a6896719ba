"""The folder of job files on a real disk: what is seen, what is replaced, and what is left when it cannot be."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from horae import limits
from horae.errors import Conflict, Invalid, NotFound, Problem, Trouble
from horae.store import jobfolder
from horae.store.jobfolder import JobFolder

AS_ROOT = os.geteuid() == 0


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    (tmp_path / "jobs").mkdir()
    return JobFolder(tmp_path / "jobs")


def at(folder: JobFolder, name: str) -> Path:
    return Path(folder.root, name)


def names(folder: JobFolder) -> list[str]:
    return sorted(os.listdir(folder.root))


# --- looking


def test_scan_sees_job_files_only(folder: JobFolder, tmp_path: Path) -> None:
    for name in ("a.md", "B c.md", "é.md", "x.y.md", ".hidden.md", "a.md~", "#a.md#", "a.md.swp", "a.md.tmp", "~a.md",
                 "notes.txt", "a", ".md", ".#a.md", "tab\t.md"):  # fmt: skip
        at(folder, name).write_text("x")
    at(folder, "dir.md").mkdir()
    os.mkfifo(at(folder, "pipe.md"))
    (tmp_path / "elsewhere.md").write_text("y")
    at(folder, "link.md").symlink_to(tmp_path / "elsewhere.md")
    at(folder, "gone.md").symlink_to(tmp_path / "nowhere.md")
    assert sorted(slug for slug, _ in folder.scan()) == ["B c", "a", "gone", "link", "x.y", "é"]
    assert dict(folder.scan())["gone"] == "dangling"
    assert folder.misnamed() == ["tab\\t.md"]


def test_a_name_that_is_not_text_is_told_apart(folder: JobFolder) -> None:
    try:
        Path(os.fsdecode(os.path.join(os.fsencode(folder.root), b"\xff.md"))).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert list(folder.scan()) == []
    assert folder.misnamed() == ["\\udcff.md"]


def test_the_signature_changes_with_the_file(folder: JobFolder) -> None:
    at(folder, "a.md").write_text("one")
    first = folder.signature("a")
    assert dict(folder.scan()) == {"a": first}
    folder.write("a", "two", expect="one")
    assert folder.signature("a") != first
    os.utime(at(folder, "a.md"), ns=(1, 1))
    assert folder.signature("a").startswith("1-3-")


def test_a_folder_that_cannot_be_read_is_not_an_empty_one(folder: JobFolder) -> None:
    os.rmdir(folder.root)
    with pytest.raises(Trouble, match="cannot be read"):
        list(folder.scan())
    with pytest.raises(Trouble, match="cannot be read"):
        folder.read("a")


def test_a_file_that_cannot_be_looked_at_is_still_there(folder: JobFolder) -> None:
    at(folder, "loop.md").symlink_to("loop.md")
    assert dict(folder.scan()) == {"loop": f"unreadable-{errno.ELOOP}"}


# --- reading


def test_read_gives_the_text_as_it_is(folder: JobFolder) -> None:
    at(folder, "a.md").write_bytes("\ufeff---\r\né".encode())
    assert folder.read("a") == "\ufeff---\r\né"


def test_read_refuses_with_the_right_error(folder: JobFolder) -> None:
    at(folder, "big.md").write_bytes(b"x" * (limits.JOB_FILE_BYTES_MAX + 1))
    at(folder, "latin.md").write_bytes(b"a\nb\xe9")
    at(folder, "dir.md").mkdir()
    os.mkfifo(at(folder, "pipe.md"))
    at(folder, "dangling.md").symlink_to("nowhere.md")
    cases: list[tuple[str, type[Problem], str]] = [
        ("big", Invalid, "big.md: is larger than 256 KiB"),
        ("latin", Invalid, "latin.md, line 2: is not UTF-8 text"),
        ("dir", Trouble, "cannot be read"),
        ("pipe", Invalid, "pipe.md: is not a file"),
        ("absent", NotFound, "no job file jobs/absent.md"),
        ("dangling", Trouble, "cannot be read"),
    ]
    for slug, kind, says in cases:
        with pytest.raises(kind, match=says) as caught:
            folder.read(slug)
        assert type(caught.value) is kind, slug


def test_permission_denied_is_trouble(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    at(folder, "a.md").write_text("x")
    at(folder, "a.md").chmod(0)
    if AS_ROOT:  # a stand-in: root is never refused
        monkeypatch.setattr(jobfolder.os, "open", failing(errno.EACCES))
    with pytest.raises(Trouble, match="cannot be read: permission denied"):
        folder.read("a")


@pytest.mark.parametrize("slug", ["", ".", "..", "../a", "a/b", "a\0", ".a", "a\n", "x" * 201, "\ud800"])
def test_a_slug_does_not_lead_out_of_the_folder(folder: JobFolder, slug: str) -> None:
    for call in (folder.read, folder.signature, folder.path):
        with pytest.raises(Invalid):
            call(slug)
    with pytest.raises(Invalid):
        folder.write(slug, "x", expect=None)
    with pytest.raises(Invalid):
        folder.remove(slug, expect="x")


# --- writing


def test_a_new_file(folder: JobFolder) -> None:
    folder.write("a", "text é\r\n", expect=None)
    assert at(folder, "a.md").read_bytes() == "text é\r\n".encode()
    assert stat.S_IMODE(at(folder, "a.md").stat().st_mode) == 0o644
    assert names(folder) == ["a.md"]


def test_a_new_file_never_replaces_one(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    at(folder, "a.md").write_text("theirs")
    with pytest.raises(Conflict, match=r"already is a job file jobs/a\.md"):
        folder.write("a", "ours", expect=None)
    monkeypatch.setattr(JobFolder, "_check", lambda *_: None)  # it appears just after the look
    with pytest.raises(Conflict, match=r"already is a job file jobs/a\.md"):
        folder.write("a", "ours", expect=None)
    assert at(folder, "a.md").read_text() == "theirs"
    assert names(folder) == ["a.md"]


def test_a_file_system_without_links_will_do(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobfolder.os, "link", failing(errno.EPERM))
    folder.write("a", "x", expect=None)
    assert (folder.read("a"), names(folder)) == ("x", ["a.md"])


@pytest.mark.parametrize("slug", ["A", "a b", "-a", "é"])
def test_a_new_file_has_a_plain_name(folder: JobFolder, slug: str) -> None:
    with pytest.raises(Invalid, match="name of a new job file"):
        folder.write(slug, "x", expect=None)


def test_a_file_of_any_name_can_be_changed(folder: JobFolder) -> None:
    at(folder, "Ébauche 1.md").write_text("old")
    folder.write("Ébauche 1", "new", expect="old")
    assert folder.read("Ébauche 1") == "new"


def test_a_change_by_another_hand_is_a_conflict(folder: JobFolder) -> None:
    at(folder, "a.md").write_text("theirs")
    with pytest.raises(Conflict, match=r"a\.md was changed meanwhile"):
        folder.write("a", "ours", expect="what we read")
    with pytest.raises(Conflict):
        folder.remove("a", expect="what we read")
    assert at(folder, "a.md").read_text() == "theirs"
    with pytest.raises(NotFound):
        folder.write("b", "ours", expect="what we read")
    assert names(folder) == ["a.md"]


def test_a_change_during_the_write_is_a_conflict(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    at(folder, "a.md").write_text("old")
    real = os.fsync

    def editor_saves(handle: int) -> None:
        real(handle)
        at(folder, "a.md").write_text("theirs")

    monkeypatch.setattr(jobfolder.os, "fsync", editor_saves)
    with pytest.raises(Conflict):
        folder.write("a", "ours", expect="old")
    assert at(folder, "a.md").read_text() == "theirs"
    assert names(folder) == ["a.md"]


def test_the_mode_is_kept(folder: JobFolder) -> None:
    at(folder, "a.md").write_text("old")
    at(folder, "a.md").chmod(0o600)
    folder.write("a", "new", expect="old")
    assert stat.S_IMODE(at(folder, "a.md").stat().st_mode) == 0o600


def test_a_link_stays_a_link(folder: JobFolder, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    target = tmp_path / "repo" / "tides.md"
    target.write_text("old")
    at(folder, "a.md").symlink_to("../repo/tides.md")
    folder.write("a", "new", expect="old")
    assert at(folder, "a.md").is_symlink()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path / "repo") == ["tides.md"]
    folder.remove("a", expect="new")
    assert target.exists()
    assert names(folder) == []


def test_remove(folder: JobFolder) -> None:
    at(folder, "a.md").write_text("x")
    folder.remove("a", expect="x")
    assert names(folder) == []
    with pytest.raises(NotFound):
        folder.remove("a", expect="x")


@pytest.mark.parametrize("text", ["x" * (limits.JOB_FILE_BYTES_MAX + 1), "\ud800"])
def test_what_could_not_be_read_is_not_written(folder: JobFolder, text: str) -> None:
    with pytest.raises(Invalid):
        folder.write("a", text, expect=None)
    assert names(folder) == []


# --- the machine in the way. The failing calls are stand-ins for a full or protected disk.


def failing(number: int):
    def call(*_args: object, **_named: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod", "link"])
@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, r"the disk is full: .*a\.md was not changed"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EROFS, "cannot be written: read-only file system; it was not changed"),
        (errno.EACCES, "cannot be written: permission denied"),
        (errno.EIO, "a.md was not changed: input/output error"),
    ],
)
@pytest.mark.parametrize("existing", [True, False])
def test_a_failing_call_leaves_nothing(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch, call: str, number: int, says: str, existing: bool
) -> None:
    if existing:
        at(folder, "a.md").write_text("old")
    if (call == "link" and existing) or (call == "replace" and not existing):
        return
    monkeypatch.setattr(jobfolder.os, call, failing(number))
    if call == "link":
        monkeypatch.setattr(jobfolder.os, "rename", failing(number))
    with pytest.raises(Trouble, match=says):
        folder.write("a", "new", expect="old" if existing else None)
    monkeypatch.undo()
    assert names(folder) == (["a.md"] if existing else [])
    assert not existing or folder.read("a") == "old"


def test_every_call_failing_once_leaves_the_old_or_the_new(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Nth operating system call fails, for every N: the file is as before or as after, with nothing beside it."""
    calls = ("open", "fsync", "fchmod", "replace", "stat", "close")
    for nth in range(1, 40):
        at(folder, "a.md").write_text("old")
        count = 0

        def counted(real, last=nth):
            def call(*args, **named):
                nonlocal count
                count += 1
                if count == last and real.__name__ != "close":
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return real(*args, **named)

            return call

        with monkeypatch.context() as patch:
            for name in calls:
                patch.setattr(jobfolder.os, name, counted(getattr(os, name)))
            try:
                folder.write("a", "new", expect="old")
                failed = False
            except Trouble:
                failed = True
        assert at(folder, "a.md").read_text() in (("old", "new") if failed else ("new",))
        assert names(folder) == ["a.md"]
        if count < nth:
            return
    pytest.fail("the write never came to its end")


def test_a_protected_file_is_left_alone(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    at(folder, "a.md").write_text("old")
    at(folder, "a.md").chmod(0o444)
    if AS_ROOT:  # a stand-in: root may write everything
        monkeypatch.setattr(jobfolder.os, "access", lambda *_: False)
    with pytest.raises(Trouble, match="cannot be written"):
        folder.write("a", "new", expect="old")
    assert (folder.read("a"), names(folder)) == ("old", ["a.md"])


def test_a_folder_that_cannot_be_flushed_is_said(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(handle)

    monkeypatch.setattr(jobfolder.os, "fsync", fsync)
    with pytest.raises(Trouble, match="was changed, but it is not certain"):
        folder.write("a", "new", expect=None)
    assert at(folder, "a.md").read_text() == "new"
