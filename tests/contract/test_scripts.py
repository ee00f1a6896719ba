"""Scripts by name, in a folder and in a table: what `ports.Scripts` promises, on every adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from horae.errors import Conflict, Invalid, NotFound, Refused, Trouble
from horae.ports import Scripts
from horae.store.scriptfolder import ScriptFolder
from horae.store.scripttable import ScriptTable
from tests.support.stores import ADAPTERS
from tests.support.world import scratch

PLAIN, PROGRAM = 0o644, 0o755


@pytest.fixture(params=["folder", *sorted(ADAPTERS)])
def scripts(request: pytest.FixtureRequest) -> Iterator[Scripts]:
    with scratch() as folder:
        if request.param == "folder":
            yield ScriptFolder(Path(folder, "scripts"))
            return
        store: Any = ADAPTERS[request.param](folder)
        yield ScriptTable(store.store, "ann")
        store.close()


def test_what_is_written_is_read_and_listed(scripts: Scripts) -> None:
    assert list(scripts.list()) == []
    scripts.write("b.py", "print('Grüße')\n", PLAIN, expect=None)
    scripts.write("sub/a.sh", "#!/bin/sh\n", PROGRAM, expect=None)
    assert list(scripts.list()) == ["b.py", "sub/a.sh"]
    assert scripts.read("b.py") == ("print('Grüße')\n", PLAIN)
    assert scripts.read("sub/a.sh") == ("#!/bin/sh\n", PROGRAM)


def test_it_is_replaced_by_who_has_read_it(scripts: Scripts) -> None:
    scripts.write("a.sh", "one\n", PLAIN, expect=None)
    scripts.write("a.sh", "two\n", PROGRAM, expect="one\n")
    assert scripts.read("a.sh") == ("two\n", PROGRAM)
    scripts.write("a.sh", "two\n", PLAIN, expect="two\n")
    assert scripts.read("a.sh") == ("two\n", PLAIN)
    for expect in ("one\n", None):
        with pytest.raises(Conflict, match=r"scripts/a\.sh"):
            scripts.write("a.sh", "three\n", PLAIN, expect=expect)
    assert scripts.read("a.sh") == ("two\n", PLAIN)


def test_what_is_not_there(scripts: Scripts) -> None:
    with pytest.raises(NotFound, match=r"scripts/none\.sh"):
        scripts.read("none.sh")
    with pytest.raises((Conflict, NotFound)):
        scripts.write("none.sh", "x", PLAIN, expect="y")
    assert list(scripts.list()) == []


# ── what only a folder meets


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    return tmp_path / "scripts"


@pytest.mark.parametrize("name", ["../out.sh", "/tmp/out.sh", "", ".", "sub/../../out.sh", "a\0b"])
def test_nothing_outside_the_folder_is_read_or_written(folder: Path, name: str) -> None:
    (folder.parent / "out.sh").write_text("outside\n")
    with pytest.raises(Refused, match="outside"):
        ScriptFolder(folder).read(name)
    with pytest.raises(Refused, match="outside"):
        ScriptFolder(folder).write(name, "x", PLAIN, expect="outside\n")
    assert (folder.parent / "out.sh").read_text() == "outside\n"


def test_a_link_that_leads_outside_is_not_followed(folder: Path) -> None:
    (folder.parent / "secret").write_text("secret\n")
    (folder / "link.sh").symlink_to(folder.parent / "secret")
    with pytest.raises(Refused, match="outside"):
        ScriptFolder(folder).read("link.sh")
    with pytest.raises(Refused, match="outside"):
        ScriptFolder(folder).write("link.sh", "x", PLAIN, expect="secret\n")
    assert (folder.parent / "secret").read_text() == "secret\n"


def test_only_text_of_a_bounded_size_is_a_script(folder: Path) -> None:
    (folder / "program").write_bytes(b"\x7fELF\xff\xfe")
    (folder / "large.sh").write_bytes(b"x" * (1024 * 1024 + 1))
    (folder / "sub").mkdir()
    for name, says in (("program", "not UTF-8"), ("large.sh", "larger than")):
        with pytest.raises(Invalid, match=says):
            ScriptFolder(folder).read(name)
    with pytest.raises(Trouble, match="is a directory"):
        ScriptFolder(folder).read("sub")


def test_what_editors_leave_beside_a_script_is_none(folder: Path) -> None:
    for name in ("a.sh", "a.sh~", ".a.sh.swp", "#a.sh#", ".hidden"):
        (folder / name).write_text("x")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_text("x")
    assert list(ScriptFolder(folder).list()) == ["a.sh"]


def test_a_write_leaves_nothing_beside_it(folder: Path) -> None:
    scripts = ScriptFolder(folder)
    scripts.write("a.sh", "one\n", PLAIN, expect=None)
    with pytest.raises(Conflict):
        scripts.write("a.sh", "two\n", PLAIN, expect="other\n")
    assert [path.name for path in folder.iterdir()] == ["a.sh"]
