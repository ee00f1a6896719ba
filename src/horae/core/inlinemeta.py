"""What a Python script says of itself in comments (PEP 723): which packages it needs. Pure.

    # /// script
    # dependencies = ["requests<3"]
    # ///

The block begins with the first such line and ends with the last `# ///` of the comment lines behind it. Without an end it is
no block, as PEP 723 has it.
"""

from __future__ import annotations

import tomllib
from typing import cast

from horae.errors import Invalid

_OPENING, _CLOSING = "# /// script", "# ///"


def dependencies(text: str) -> tuple[str, ...] | None:
    """The packages that the block names; None without a block. Raises Invalid when the block cannot be understood."""
    content = _block(text)
    if content is None:
        return None
    try:
        found: object = tomllib.loads(content).get("dependencies", [])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Invalid(f"its `# /// script` block is not TOML: {error}", "see PEP 723") from None
    if isinstance(found, list) and all(isinstance(item, str) for item in cast("list[object]", found)):
        return tuple(cast("list[str]", found))
    raise Invalid("`dependencies` in its `# /// script` block must be a list of texts", "see PEP 723")


def _block(text: str) -> str | None:
    if _OPENING not in text:
        return None
    lines = iter(text.split("\n"))
    if not any(line.rstrip() == _OPENING for line in lines):
        return None
    content: list[str] = []
    end = None
    for line in lines:  # those behind the opening
        if line.rstrip() != "#" and not line.startswith("# "):
            break
        if line.rstrip() == _CLOSING:
            end = len(content)
        content.append(line[2:].rstrip("\r"))
    return None if end is None else "\n".join(content[:end])
