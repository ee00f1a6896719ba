"""From what a job says to addresses.

A target is one of these, and what comes first here is tried first:

    local                     the result stays in the history
    origin                    where the job was asked for from; local, if nobody wrote that down
    all                       the home chat of every platform that has one
    NAME                      a friendly name of `[targets]`: it stands for other targets, and may look like anything
    PLATFORM                  its home chat, or the platform itself where its settings name all that is needed
    PLATFORM:CHAT             a chat; where the platform has no threads, all behind the first colon is the chat
    PLATFORM:CHAT:THREAD      a thread of a chat

What resolves to the same address is the same. The text of an address that a target means resolves to that address again:
no friendly name may be called like a platform or its home chat (`name_problem`), and what is called like another chat hides
it. Whoever has such a text takes `address_of`, which knows no friendly names.

A URL is never a target: it may hold a password, and targets stand in job files, journals and messages. Raises `Invalid`
and nothing else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from horae.core.delivery import LOCAL, Address, Platform
from horae.core.text import is_hidden
from horae.errors import Invalid
from horae.limits import TARGET_CHARS_MAX

ORIGIN, ALL = "origin", "all"
RESERVED = (LOCAL, ORIGIN, ALL)
STEPS_MAX = 20  # names that lead to names: more is a slip
NEAREST_MAX, KNOWN_SHOWN_MAX, SHOWN_CHARS = 3, 12, 60
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
Pair = tuple[str, Address]
"""A target as a person reads it, and what it means."""


@dataclass(frozen=True, slots=True)
class Directory:
    """What targets can mean in one home."""

    platforms: Mapping[str, Platform] = field(default_factory=dict[str, Platform])
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Friendly names, and the targets that each stands for."""


def resolve(text: str, directory: Directory, origin: str | None = None) -> tuple[Address, ...]:
    """The addresses that a target means, each once. `origin` is the target that the job was asked for from."""
    return tuple(address for _, address in resolve_all((text,), directory, origin))


def resolve_all(targets: Sequence[str], directory: Directory, origin: str | None = None) -> tuple[Pair, ...]:
    """The same of several targets; what means the same is there once, as it is said first."""
    walk = _Walk(directory, origin)
    for text in targets:
        walk.add(text, None, ())
    return tuple((shown, address) for address, shown in walk.found.items())


def address_of(text: str, directory: Directory) -> Address:
    """The address that has this text; friendly names are not looked at."""
    given = _checked(text)
    platform = directory.platforms.get(given)
    if given == LOCAL or (platform is not None and platform.alone):
        return Address(given)
    return _address(given, directory)


def home_of(platform: Platform) -> Address | None:
    """What the bare name of a platform means; None when it means nothing."""
    if platform.home is None:
        return Address(platform.name) if platform.alone else None
    return _chat(platform, _checked(platform.home))


def name_problem(name: str, platforms: Mapping[str, Platform]) -> str | None:
    """Why nothing may be called by this friendly name."""
    if not name or name != name.strip():
        return "is empty, or has blanks at its ends"
    if len(name) > TARGET_CHARS_MAX:
        return f"is longer than {TARGET_CHARS_MAX} characters"
    if "," in name:
        return "has a comma, which separates targets"
    if _hides(name):
        return "has hidden or control characters"
    folded = name.casefold()
    if folded in RESERVED:
        return f"is a word with a meaning of its own: {', '.join(RESERVED)}"
    for platform in platforms.values():
        if folded in (platform.name.casefold(), str(home_of(platform) or "").casefold()):
            return f"is what [platforms.{platform.name}] is called already"
    return None


class _Walk:
    """Follows targets to their addresses. Names are followed once, however often they are named: lists of lists grow fast."""

    def __init__(self, directory: Directory, origin: str | None) -> None:
        self._directory = directory
        self._origin = origin
        self._followed: set[str] = set()
        self.found: dict[Address, str] = {}
        """Addresses, and how each is shown."""

    def add(self, text: str, shown: str | None, way: tuple[str, ...]) -> None:
        """Find what a target means. `way` are the names that have led here."""
        given = _checked(text)
        shown = shown or given
        if given == LOCAL:
            self.found.setdefault(Address(LOCAL), shown)
        elif given == ALL:
            for address in _homes(self._directory.platforms):
                self.found.setdefault(address, str(address))
        elif given == ORIGIN:
            self._follow(ORIGIN, (self._origin or LOCAL,), shown, way)
        elif (name := _name(given, self._directory.names)) is not None:
            self._follow(name, self._directory.names[name], shown, way)
        else:
            address = _address(given, self._directory)
            name = None if str(address) == given else _name(str(address), self._directory.names)
            if name is None:
                self.found.setdefault(address, shown)
            else:  # a friendly name, written with blanks in it
                self._follow(name, self._directory.names[name], shown, way)

    def _follow(self, name: str, members: Sequence[str], shown: str, way: tuple[str, ...]) -> None:
        if name in way:
            circle = " → ".join(shown_target(step) for step in (*way[way.index(name) :], name)[:10])
            raise Invalid(
                f"the target {shown_target(name)} stands for itself: {circle}", "break the circle in [targets]"
            )
        if len(way) >= STEPS_MAX:
            says = f"the target {shown_target(name)} is reached over more than {STEPS_MAX} names"
            raise Invalid(says, "let names in [targets] stand for platforms and chats")
        if name not in self._followed:
            self._followed.add(name)
            for member in members:
                self.add(member, shown if len(members) == 1 else None, (*way, name))


def _homes(platforms: Mapping[str, Platform]) -> list[Address]:
    homes = [home_of(platform) for platform in platforms.values() if platform.home is not None]
    if not homes:
        says = "all means every platform with a home chat, and none has one"
        raise Invalid(says, 'give a platform one in config.toml: `home = "…"` in its [platforms.NAME]', target=ALL)
    return [home for home in homes if home is not None]


def _name(given: str, names: Mapping[str, tuple[str, ...]]) -> str | None:
    """The friendly name that is meant."""
    if given in names:
        return given
    folded = given.casefold()
    same = [name for name in names if name.casefold() == folded]
    if len(same) > 1:
        says = f"{shown_target(given)} may be {' or '.join(map(shown_target, same[:NEAREST_MAX]))}"
        raise Invalid(says, "write it as [targets] does, capital letters too", target=given, nearest=same[:NEAREST_MAX])
    return same[0] if same else None


def _address(given: str, directory: Directory) -> Address:
    """By the grammar of platforms."""
    head, colon, rest = given.partition(":")
    head = head.strip()
    url = URL.search(given)
    if url is not None:
        says = f"a URL ({url[1][:20]}://…) cannot be a target: it may hold secrets"
        raise Invalid(
            says, "put it into config.toml, below [platforms.NAME], and name that platform", scheme=url[1][:20]
        )
    if head == LOCAL and colon:
        raise Invalid("local has no chats", "write local", target=given, nearest=[LOCAL])
    platform = directory.platforms.get(head)
    if platform is None:
        raise _unknown(given, head, rest, directory)
    if colon:
        return _chat(platform, rest)
    home = home_of(platform)
    if home is None:
        says = f"{head} has no home chat: it is not said where on {head}"
        hint = f'write {head}:CHAT, or give it one in config.toml: `home = "CHAT"` in [platforms.{head}]'
        raise Invalid(says, hint, target=given)
    return home


def _chat(platform: Platform, rest: str) -> Address:
    """An address of the platform, from what stands behind its colon."""
    if URL.search(rest):
        says = f"a chat of {platform.name} cannot be a URL: it may hold secrets"
        raise Invalid(says, f"put it into config.toml, below [platforms.{platform.name}]")
    chat, colon, thread = rest.partition(":") if platform.threads else (rest, "", "")
    chat, thread = chat.strip(), thread.strip()
    empty = not chat or (colon and not thread) or any(part[:1] == ":" or part[-1:] == ":" for part in (chat, thread))
    if empty:
        form = f"{platform.name}:CHAT" + (f" or {platform.name}:CHAT:THREAD" if platform.threads else "")
        raise Invalid(f"{shown_target(f'{platform.name}:{rest}')} has an empty part", f"write {form}")
    return Address(platform.name, chat, thread or None)


def _unknown(given: str, head: str, rest: str, directory: Directory) -> Invalid:
    """The nearest names; those of a platform with the same chat behind them."""
    near = [f"{name}:{rest.strip()}" for name in _nearest(head, directory.platforms)] if rest.strip() else []
    near += _nearest(given, [*RESERVED, *directory.names, *(() if near else directory.platforms)])
    near = list(dict.fromkeys(near))[:NEAREST_MAX]
    known = [*RESERVED, *directory.platforms, *directory.names]
    more = f" and {len(known) - KNOWN_SHOWN_MAX} more" if len(known) > KNOWN_SHOWN_MAX else ""
    how = "platforms are configured in config.toml, below [platforms.NAME], friendly names in [targets]"
    listed = f"there are {', '.join(map(shown_target, known[:KNOWN_SHOWN_MAX]))}{more}"
    hint = f"did you mean {' or '.join(map(shown_target, near))}?" if near else f"{listed}; {how}"
    return Invalid(f"no such target: {shown_target(given)}", hint, target=given, nearest=near)


def _nearest(word: str, known: Iterable[str]) -> Iterator[str]:
    """The nearest first, whatever their capital letters."""
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold()[:SHOWN_CHARS], name)
    close = difflib.get_close_matches(word.casefold()[:SHOWN_CHARS], folded, NEAREST_MAX, 0.6)
    return (folded[name] for name in close)


def _checked(text: str) -> str:
    """The text of one target, without blanks around it."""
    if len(text) > TARGET_CHARS_MAX:
        says = f"a target is longer than {TARGET_CHARS_MAX} characters"
        raise Invalid(says, "give it a friendly name in [targets] of config.toml")
    given = text.strip()
    if not given:
        raise Invalid("a target is empty", f"write {', '.join(RESERVED)}, a platform or a name of [targets]")
    if _hides(given):
        raise Invalid(f"the target {shown_target(given)} has hidden or control characters", "write it again by hand")
    if "," in given:
        raise Invalid(f"{shown_target(given)} is more than one target", "name each by itself")
    return given


def _hides(text: str) -> bool:
    return any(is_hidden(text, at) or (char.isspace() and char != " ") for at, char in enumerate(text))


def shown_target(text: str) -> str:
    """A target as people are shown it: short, and no URL's password comes this way."""
    url = URL.search(text)
    if url is not None:
        return f"{url[1][:20]}://…"
    shown = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
    return repr(shown) if _hides(shown) else shown
