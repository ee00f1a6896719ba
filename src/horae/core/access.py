"""Who acts through a face that serves others, and what that one may do. Pure.

A *role* is what somebody was given: `read` looks; `operate` also runs, pauses, skips, moves and cancels, and proposes jobs;
`admin` also changes definitions, settings and who else may come in. Confirmations (approving, resolving) need a *person*
besides: a session of the dashboard is one, whoever comes with a token is not, whatever its role.

Secrets are random and long, so their digest needs no salt and no slowness; only the digest is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Literal, get_args

Role = Literal["read", "operate", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
Kind = Literal["link", "session", "token"]
LINK_FOR = timedelta(minutes=10)  # a link is opened at once, or somebody else may find it
SESSION_FOR = timedelta(days=30)  # from the last look on
SECRET_BYTES = 32
PREFIX = {"link": "hl_", "session": "hs_", "token": "ht_"}  # so that one that leaks is known for what it is


@dataclass(frozen=True, slots=True)
class Who:
    """Whoever acts: by which face, under which name, in which role, and whether a person does."""

    name: str
    role: Role | None
    face: str
    """`dashboard`, `rest`, `mcp` or `hook`."""
    person: bool = False
    id: str | None = None
    """Of the credential."""

    @property
    def actor(self) -> str:
        """The name in the journal; never that of the gateway itself."""
        return f"{self.name} ({self.face})"


NOBODY = Who("nobody", None, "rest")


def allows(role: Role | None, needed: Role | None) -> bool:
    """Whether a role is enough; None is needed where everybody may."""
    return needed is None or (role is not None and ROLES.index(role) >= ROLES.index(needed))


def digest_of(secret: str) -> str:
    """What is kept of a secret: hex of SHA-256."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
