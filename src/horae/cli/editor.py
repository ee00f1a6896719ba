"""Let a person edit a text in their own editor."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping

from horae.errors import Refused

HINT = "set $VISUAL or $EDITOR"


def edited(text: str, name: str, editor: str, env: Mapping[str, str]) -> str:
    """What the text is after the editor was closed. Raises Refused when the editor fails."""
    with tempfile.TemporaryDirectory(prefix="horae-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        try:
            words = [*shlex.split(editor), path]
            status = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp(words[0], words, dict(env)), 0)[1])
        except (OSError, ValueError) as error:
            raise Refused(f"the editor ({editor}) cannot be started: {error}; nothing was changed", HINT) from error
        if status != 0:
            raise Refused(f"the editor ({editor}) ended with status {status}; nothing was changed", HINT)
        try:
            with open(path, encoding="utf-8", newline="") as file:
                return file.read()
        except (FileNotFoundError, UnicodeDecodeError) as error:
            message = f"the editor ({editor}) left no text in UTF-8; nothing was changed"
            raise Refused(message, "save it as UTF-8") from error
