"""What a store must guarantee for faces: credentials, requests that are sent twice, calls of hooks, drafts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from horae.core.access import Kind, Role


class Credentials(Protocol):
    """Who may come in. A secret is nowhere: what is asked with is its digest."""

    def make(
        self, kind: Kind, *, id: str, name: str, role: Role, sha256: str, expires: datetime | None, actor: str
    ) -> int:
        """A new one; returns the entry of the journal."""
        ...

    def use_link(self, sha256: str) -> dict[str, Any]:
        """Use a link up, once. Returns its row. Raises Refused for one that is unknown, used or too old, all alike."""
        ...

    def touch(self, id: str, expires: datetime | None) -> None:
        """It was used, and is good until then from now on; None: as long as before."""
        ...

    def end(self, id: str, *, actor: str) -> int:
        """Sign out or revoke. Raises NotFound; Conflict when it has ended before."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Delete what ended or expired before then."""
        ...


class Once(Protocol):
    """Requests that carry a key: whoever sends one twice gets the first answer again."""

    def begin(self, scope: str, key: str, digest: str) -> str | None:
        """None when it is new, and being done from now on; the answer, as JSON, when it was done.

        Raises Conflict when it is being done, or when nobody knows whether it was; Invalid when the key was used for
        another request.
        """
        ...

    def done(self, scope: str, key: str, answer: str) -> None:
        """Keep the answer."""
        ...

    def forget(self, scope: str, key: str) -> None:
        """It was refused, and nothing was done: the key may be used again."""
        ...

    def prune(self, before: datetime, limit: int) -> int: ...


class HookCalls(Protocol):
    """Calls of hooks that were taken."""

    def take(self, hook: str, message: str) -> bool:
        """Take a call. False when it was taken before."""
        ...

    def answer(self, hook: str, message: str) -> str | None:
        """What was answered to a call that was taken; None of one that was not."""
        ...

    def keep(self, hook: str, messages: Sequence[str], answer: str) -> None:
        """Keep the answer."""
        ...

    def count(self, hook: str, after: datetime) -> int:
        """How many were taken since."""
        ...

    def waiting(self, job_id: str) -> int:
        """How many ordered runs of a job have not begun."""
        ...

    def order(self, job_id: str, *, run_id: str, actor: str, input: str, cause: str) -> dict[str, Any]:
        """A run of a job, with what came as its data."""
        ...

    def drop(self, job: dict[str, Any], *, run_id: str, actor: str, cause: str, reason: str) -> str:
        """Put a call that starts nothing on record as an occurrence that was skipped; returns its key."""
        ...

    def prune(self, before: datetime, limit: int) -> int: ...


class Drafts(Protocol):
    """Jobs that somebody proposes who is no run: they wait for a person's word like those of agents."""

    def propose(self, body: dict[str, Any], *, id: str, actor: str, expires: datetime | None, most: int) -> int:
        """Put it before people; returns the entry of the journal. Raises Refused where `most` of that actor wait."""
        ...


class Doors(Protocol):
    """All of these: what faces need of a transaction."""

    @property
    def credentials(self) -> Credentials: ...

    @property
    def once(self) -> Once: ...

    @property
    def hook_calls(self) -> HookCalls: ...

    @property
    def drafts(self) -> Drafts: ...
