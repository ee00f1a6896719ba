"""The pictures of the guide can be taken: each page of a home with believable jobs, without any trouble on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tools.dashboard import BYTES_MAX, HEIGHT, IMAGES, PAGES, WIDTH, pictures


@pytest.mark.timeout(400)  # ten pages, one after the other
def test_a_picture_of_each_page_is_taken_and_the_guide_has_those_and_no_others(chrome: Any, tmp_path: Path) -> None:
    for place in pictures(chrome, [*PAGES], tmp_path):
        with Image.open(place) as taken:
            assert taken.size == (WIDTH, HEIGHT)
            assert len(taken.getcolors() or ()) > 20, f"{place.name} is empty"
        assert place.stat().st_size < BYTES_MAX
    kept = {path.name for path in IMAGES.glob("dashboard-*.png")}
    assert kept == {path.name for path in tmp_path.glob("*.png")}
