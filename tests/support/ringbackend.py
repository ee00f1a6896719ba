"""A keyring for tests, in a JSON file that RING_FILE names. RING_MODE makes it fail, hang, or keep nothing.

Programs load it with PYTHON_KEYRING_BACKEND=tests.support.ringbackend.FileRing and the repository on their path.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend


class FileRing(KeyringBackend):
    """The values by service and name."""

    priority: Any = 9

    def get_password(self, service: str, username: str) -> str | None:
        return self._held().get(f"{service}|{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        if os.environ.get("RING_MODE") == "fail":
            raise RuntimeError(f"cannot keep {password}")
        held = self._held()
        held[f"{service}|{username}"] = password
        self._path().write_text(json.dumps({} if os.environ.get("RING_MODE") == "drop" else held))

    def delete_password(self, service: str, username: str) -> None:
        held = self._held()
        del held[f"{service}|{username}"]
        self._path().write_text(json.dumps(held))

    def _held(self) -> dict[str, str]:
        if os.environ.get("RING_MODE") == "hang":
            threading.Event().wait()
        return json.loads(self._path().read_text()) if self._path().exists() else {}

    @staticmethod
    def _path() -> Path:
        return Path(os.environ["RING_FILE"])
