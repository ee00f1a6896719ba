"""Who may come in: links for one visit, sessions of the dashboard, tokens of programs.

A secret is shown once, to whoever made it, and kept nowhere: the store has its digest. A link is for one visit within some
minutes; it turns into a session, in the name of the person who made it. A session lasts for some weeks from its last use on.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

from horae.core.access import LINK_FOR, PREFIX, ROLES, SECRET_BYTES, SESSION_FOR, Kind, Role, digest_of
from horae.core.slug import NAMED, is_name
from horae.errors import Invalid
from horae.ports import Home

Json = dict[str, Any]
DAYS_MAX = 3650


def make_link(home: Home, *, name: str | None = None, role: Role = "admin") -> Json:
    """A link for one visit. `name` is whom it lets in; whoever makes it, if nobody else is named."""
    secret, made = _made(home, "link", name or home.actor.removesuffix(" (dashboard)"), role, LINK_FOR)
    return {**made, "key": secret, "did": f"made a link for one visit, as {made['name']} with the role {role}"}


def sign_in(home: Home, *, key: str) -> Json:
    """Turn a link into a session. Raises Refused for every link that is not good, all alike."""
    link = home.store.transact(lambda tx: tx.doors.credentials.use_link(digest_of(key)))
    secret, made = _made(home, "session", link["name"], link["role"], SESSION_FOR, actor=f"{link['name']} (dashboard)")
    return {**made, "session": secret, "did": "signed in"}


def sign_out(home: Home, *, session: str) -> Json:
    """End one's own session, by its id."""
    entry = home.store.transact(lambda tx: tx.doors.credentials.end(session, actor=home.actor))
    return {"entry": entry, "did": "signed out"}


def touch(home: Home, *, credential: str, kind: Kind) -> Json:
    """It was used: a session is good for longer from now on."""
    until = home.clock.now() + SESSION_FOR if kind == "session" else None
    home.store.transact(lambda tx: tx.doors.credentials.touch(credential, until))
    return {}


def add_token(home: Home, *, name: str, role: Role = "read", days: int | None = None) -> Json:
    """A token for a program; `days` is how long it is good, None for as long as nobody revokes it."""
    if not is_name(name):
        raise Invalid(f"{name!r} is not a name ({NAMED})", None, field="name")
    if days is not None and not 1 <= days <= DAYS_MAX:
        raise Invalid(f"days must be from 1 to {DAYS_MAX}, not {days}", None, field="days")
    secret, made = _made(home, "token", name, role, None if days is None else timedelta(days=days))
    did = f"made the token {name} with the role {role}: it is shown this once"
    return {**made, "token": secret, "did": did}


def end_token(home: Home, *, token: str) -> Json:
    """Revoke a token, or end a session: by its id, or a token by its name where only one is good that has it."""
    reader = home.read()
    try:
        found = reader.find_credential(token)
    finally:
        reader.close()
    entry = home.store.transact(lambda tx: tx.doors.credentials.end(found["id"], actor=home.actor))
    return {**found, "entry": entry, "did": f"ended the {found['kind']} {found['name']} ({found['id']})"}


def list_credentials(home: Home, *, all: bool = False) -> Json:
    """Who may come in; with `all` who could too. Links are left out: they are for some minutes."""
    reader = home.read()
    try:
        return {"credentials": reader.credentials(all=all)}
    finally:
        reader.close()


def _made(
    home: Home, kind: Kind, name: str, role: Role, good_for: timedelta | None, actor: str | None = None
) -> tuple[str, Json]:
    if role not in ROLES:
        raise Invalid(f"{role!r} is no role", f"roles are {', '.join(ROLES)}", field="role")
    secret = PREFIX[kind] + urlsafe_b64encode(home.entropy(SECRET_BYTES)).rstrip(b"=").decode()
    made_id = home.entropy(6).hex()
    expires = None if good_for is None else home.clock.now() + good_for
    entry = home.store.transact(
        lambda tx: tx.doors.credentials.make(
            kind, id=made_id, name=name, role=role, sha256=digest_of(secret), expires=expires, actor=actor or home.actor
        )
    )
    until = None if expires is None else expires.isoformat(timespec="seconds")
    return secret, {"id": made_id, "kind": kind, "name": name, "role": role, "expires_at": until, "entry": entry}
