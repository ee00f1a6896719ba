"""Every page: what it shows is what the program prints, its links lead somewhere, its generated parts are fresh."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from horae.core.jobfile import read
from tests.docs.console import BLOCK, complaints
from tools import generate

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
JOB_FILE = re.compile(r"^```markdown\n(---\n.*?)^```$", re.DOTALL | re.MULTILINE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(text_of(page))], ids=name_of)
def test_a_page_shows_what_the_program_prints(page: Path, tmp_path: Path) -> None:
    assert not (found := complaints(text_of(page), tmp_path)), "\n" + "\n\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_one_title_and_its_links_lead_somewhere(page: Path) -> None:
    prose = FENCE.sub("", text_of(page))
    assert len(re.findall(r"^# .+", prose, re.MULTILINE)) == 1
    for link in LINK.findall(prose):
        path, _, place = unquote(link).partition("#")
        assert not re.match(r"[a-z]+:", path), f"{link} leads out of the repository"
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{link} leads nowhere"
        if place:
            assert place in anchors(text_of(there)), f"{link}: there is no such heading"


def anchors(text: str) -> set[str]:
    """The names under which headings can be linked to."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    left = [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page in seen:
            continue
        seen.add(page)
        for link in LINK.findall(FENCE.sub("", text_of(page))):
            there = (page.parent / unquote(link).partition("#")[0]).resolve()
            left += sorted(there.glob("*.md")) if there.is_dir() else [there] if there.suffix == ".md" else []
    assert set(PAGES) - seen == set()


def test_generated_parts_are_fresh() -> None:
    stale = [name_of(path) for path, text in generate.pages().items() if text_of(path) != text]
    assert not stale, f"`make generate` writes {', '.join(stale)}"


def test_every_generated_part_has_its_place() -> None:
    placed = [part[2] for page in PAGES for part in generate.PART.finditer(FENCE.sub("", text_of(page)))]
    assert sorted(placed) == sorted(generate.PARTS)


JOB_FILES = [(page, block) for page in PAGES for block in JOB_FILE.findall(text_of(page))]


@pytest.mark.parametrize(("page", "text"), JOB_FILES, ids=[name_of(page) for page, _ in JOB_FILES])
def test_a_job_file_in_a_page_is_valid(page: Path, text: str) -> None:
    assert read(text, file=name_of(page), slug="example").schedule
