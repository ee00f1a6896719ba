"""What faces ask about calls of hooks. Imports next to nothing.

A part of `queries.Reader`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from horae.store.database import Looks

CALLED = "SELECT hook, max(at) FROM hook_call WHERE substr(message, 1, 5) = 'call ' GROUP BY hook"


class HookViews:
    """The questions."""

    _db: Looks

    def hooks_called(self) -> dict[str, int]:
        """Hook → when it was called last, in microseconds."""
        return dict(self._db.execute(CALLED).fetchall())
