"""Let a person edit a text in their own editor."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping

from horae.errors import Refused


def edited(text: str, name: str, editor: str, env: Mapping[str, str]) -> str:
    """What the text is after the editor was closed. Raises Refused when the editor fails."""
    with tempfile.TemporaryDirectory(prefix="horae-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        words = [*shlex.split(editor), path]
        status = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp(words[0], words, dict(env)), 0)[1])
        if status != 0:
            raise Refused(f"the editor ({editor}) ended with status {status}; nothing was changed", "set $VISUAL or $EDITOR")
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
