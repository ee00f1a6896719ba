"""From deliveries to the message that is sent: title, header, body, footer, attachments, and facts for programs. Pure.

Header and footer are the platform's choice, or the chat's. What programs printed is text and stays text; only an agent's
answer is Markdown. A digest is text, with each message below a line of its own; what is long in it is cut, and says where
the whole is. Splitting for a platform's limit and conversion are its sender's matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from horae.core.delivery import Address, Attachment, Item, Message, Parcel, Platform
from horae.limits import DIGEST_CHARS_MAX

_MEANS = re.compile(r"[\\`*_\[\]<>#]|&(?=#?[0-9A-Za-z]+;)")
"""What means something within a line of Markdown. An ampersand alone means nothing, and some would show its backslash."""

STATES = {"failed": "failed", "blocked": "blocked", "unknown": "outcome unknown", "cancelled": "cancelled"}


def compose(
    parcel: Parcel, address: Address, platform: Platform, home: str, link: str | None, redact: Callable[[str], str]
) -> Message:
    """The message of a parcel. `home` is where the files of runs are kept; `link` is the dashboard's address."""
    first, several = parcel.items[0], len(parcel.items) > 1
    name = f"{first.run_id or first.incident_id or 'horae'}.{first.delivery_id}"
    facts = _facts(first, link)
    if several:
        facts = {"kind": "digest", "results": [_facts(item, link) for item in parcel.items]}
    return Message(
        id=f"{name}.digest" if several else name,
        address=address,
        title=redact(f"{len(parcel.items)} results" if several else first.title),
        body=redact(_digest(parcel) if several else _letter(first, platform, link)),
        format="text" if several else first.format,
        alert=any(item.alert for item in parcel.items),
        attachments=tuple(file for item in parcel.items for file in _files(item, home, several)),
        facts=facts,
    )


def _files(item: Item, home: str, several: bool) -> list[Attachment]:
    """The files of a run; where they are several runs', each says whose it is."""
    whose = f"{item.slug}-" if several else ""
    folder = f"{home}/state/output/{item.run_id}/files"
    return [Attachment(whose + path.rsplit("/", 1)[-1], f"{folder}/{path}") for path in item.attachments]


def title_of(kind: str, name: str, state: str | None) -> str:
    """One line that says what a message is about."""
    if kind == "result":
        return name
    words = {
        "reminder": "still has trouble",
        "recovery": "works again",
        "overdue": "is overdue",
        "quiet": "says nothing",
        "undelivered": "could not be delivered",
        "approval": "waits for approval",
    }
    return f"{name}: {words.get(kind) or STATES.get(state or '', 'alert')}"


def run_link(link: str | None, run_id: str | None) -> str | None:
    """Where the dashboard shows a run."""
    return None if link is None or run_id is None else f"{link}/runs/{run_id}"


def _letter(item: Item, platform: Platform, link: str | None) -> str:
    parts: list[str] = []
    if platform.header:
        head = f"{item.title} · {_when(item)}" if item.slot is not None else item.title
        parts.append(f"**{_plain(head)}**" if item.format == "markdown" else head)
    parts.append(item.body)
    if platform.footer and item.run_id is not None:
        where = run_link(link, item.run_id)
        tick = "`" if item.format == "markdown" else ""
        parts.append(f"run {item.run_id} · {tick}horae log {item.run_id}{tick}" + (f" · {where}" if where else ""))
    return "\n\n".join(parts)


def _digest(parcel: Parcel) -> str:
    return "\n\n".join(f"── {_head(item)} ──\n{_shortened(item)}" for item in parcel.items)


def _head(item: Item) -> str:
    return item.title if item.slot is None else f"{item.title} · {_when(item)}"


def _when(item: Item) -> str:
    assert item.slot is not None
    return f"{item.slot:%Y-%m-%d %H:%M}"


def _shortened(item: Item) -> str:
    text = item.body.strip()
    if len(text) <= DIGEST_CHARS_MAX:
        return text
    whole = f"horae log {item.run_id}" if item.run_id else "horae incidents"
    return f"{text[:DIGEST_CHARS_MAX].rstrip()}…\n({len(text)} characters; the whole: {whole})"


def _facts(item: Item, link: str | None) -> dict[str, object]:
    return {
        "kind": item.kind,
        "run": item.run_id,
        "job": item.slug,
        "job_id": item.job_id,
        "slot": None if item.slot is None else item.slot.isoformat(timespec="seconds"),
        "state": item.state,
        "alert": item.alert,
        "incident": item.incident_id,
        "link": run_link(link, item.run_id),
    }


def _plain(text: str) -> str:
    """A job's name inside of Markdown means nothing there."""
    return _MEANS.sub(r"\\\g<0>", text)
