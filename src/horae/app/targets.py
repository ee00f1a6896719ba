"""What targets there are, what each means and whether it can be reached; and opening an address that was closed.

An address is closed when whoever receives there has said that it takes nothing any more. Then nothing is sent to it until
a person opens it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from horae.core.delivery import LOCAL, Address
from horae.core.target import ALL, ORIGIN, Directory, home_of, resolve
from horae.errors import Invalid, NotFound, Problem
from horae.ports import Home, Tx

Json = dict[str, Any]


def list_targets(home: Home) -> Json:
    """Every target by name, first those that are always there; and the addresses that are closed."""
    closed = closed_addresses(home)
    settings = home.settings
    rows = [_row(home, word, "word", closed) for word in (LOCAL, ORIGIN, ALL)]
    rows += [_platform(home, name, closed) for name in settings.platforms]
    for name, members in settings.targets.items():
        rows.append({**_row(home, name, "name", closed), "stands_for": list(members)})
    return {"targets": rows, "closed": list(closed.values())}


def closed_addresses(home: Home) -> dict[str, Json]:
    """The closed ones, by what they are written as."""
    reader = home.read()
    try:
        rows = reader.closed_targets()
    finally:
        reader.close()
    return {row["address"]: row for row in rows}


def problem_of(home: Home, address: Address, chat: Address | None) -> Problem | str | None:
    """Why nothing can be sent by that platform (to that chat)."""
    try:
        return home.targets.sender(address).check(chat)
    except Problem as problem:
        return problem


def open_target(home: Home, *, target: str) -> Json:
    """Let messages through to what a target means, where that is closed. Raises NotFound, Invalid."""
    closed = closed_addresses(home)
    texts = [target] if target in closed else [str(address) for address in home.targets.resolve(target)]
    meant = [text for text in texts if text in closed]  # one whose platform is configured no more is known by its text
    if not meant:
        listed = ", ".join(list(closed)[:10]) or "none is"
        raise NotFound(f"{target} is not closed", f"closed: {listed}", target=target, closed=list(closed))

    def work(tx: Tx) -> list[str]:
        return [address for address in meant if tx.outbox.reopen(address, actor=home.actor)]

    opened = home.store.transact(work)
    home.wake()
    did = f"opened {', '.join(opened)}: messages are sent there again" if opened else f"{target} was opened already"
    return {"opened": opened, "did": did, "undo": None}


def _row(home: Home, name: str, what: str, closed: Mapping[str, Json]) -> Json:
    """One target: what it means, and the first thing that is in the way."""
    row: Json = {"name": name, "what": what, "kind": None, "stands_for": None, "addresses": [], "ready": False}
    try:
        addresses = resolve(name, Directory(home.settings.platforms, home.settings.targets))
    except Invalid as error:
        return {**row, "problem": sentence(error)}
    problem = home.targets.problem(name) or _closed_words(addresses, closed)
    return {**row, "addresses": [str(address) for address in addresses], "ready": problem is None, "problem": problem}


def _platform(home: Home, name: str, closed: Mapping[str, Json]) -> Json:
    """The same of a platform. One without a home chat is ready all the same, for chats that are named."""
    platform = home.settings.platforms[name]
    meant = home_of(platform)
    addresses = () if meant is None else (meant,)
    why = problem_of(home, meant or Address(name), meant)
    problem = sentence(why) or _closed_words(addresses, closed)
    return {
        "name": name,
        "what": "platform",
        "kind": platform.kind,
        "stands_for": None,
        "addresses": [str(address) for address in addresses],
        "ready": problem is None,
        "problem": problem,
    }


def sentence(problem: Problem | str | None) -> str | None:
    """A problem and its remedy as one text."""
    if isinstance(problem, Problem):
        return f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    return problem


def _closed_words(addresses: Sequence[Address], closed: Mapping[str, Json]) -> str | None:
    for address in addresses:
        if str(address) in closed:
            found = closed[str(address)]
            remedy = f"once that is put right, `horae targets open {address}`"
            return f"{address} is closed since {found['closed_at']}: {found['reason']} ({remedy})"
    return None
