"""`[platforms.NAME]` and `[targets]` of config.toml: the ways to reach people, and the friendly names of whom is reached.

A table of platforms has keys that all kinds take, and the options of its kind, which `core/kinds.py` knows. Each friendly
name must lead to addresses: a slip is found when the file is read, not when somebody waits for a message.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace

from horae.core.delivery import LOCAL, Platform
from horae.core.kinds import KINDS, alone, options_problem, threads
from horae.core.settingvalues import duration, flag, key_of, table, targets, text, wrong
from horae.core.slug import NAMED, is_name
from horae.core.target import RESERVED, Directory, address_of, home_of, name_problem, resolve_all
from horae.errors import Invalid
from horae.limits import TARGET_CHARS_MAX

FLAGS = ("header", "footer", "quiet", "safe_to_repeat")
COMMON = ("kind", "home", "timeout", "chats", *FLAGS)
"""What a platform of every kind takes."""
OF_A_CHAT = ("header", "footer", "quiet")
TIMEOUT_MIN_S, TIMEOUT_MAX_S = 1, 300
PLATFORMS_MAX, NAMES_MAX, MEMBERS_MAX, CHATS_MAX = 100, 1000, 100, 1000
HEADLINE = 'write [platforms.NAME] and below it kind = "…" and its options'


def platforms_of(value: object) -> dict[str, Platform]:
    """The platforms, in the order of the file. Raises Invalid with `key`."""
    found: dict[str, Platform] = {}
    for name, given in table("platforms", value, None, HEADLINE).items():
        found[name] = _platform(name, given)
    if len(found) > PLATFORMS_MAX:
        raise wrong("platforms", f"has more than {PLATFORMS_MAX} platforms", "one platform may have many chats")
    return found


def _platform(name: str, given: object) -> Platform:
    key = key_of("platforms", name)
    if not is_name(name):
        raise wrong(key, f"is not a name ({NAMED})", HEADLINE)
    if name in RESERVED:
        raise wrong(key, f"no platform can be called {name}: that word has a meaning of its own", "take another name")
    values = table(key, given, None, HEADLINE)
    kind = _kind(key, name, values)
    own = {option: said for option, said in values.items() if option not in COMMON}
    if (problem := options_problem(kind, own)) is not None:
        option, says, hint = problem
        raise wrong(key_of(key, option), says, _nearest_key(option, kind) or hint)
    flags = {word: flag(f"{key}.{word}", values[word]) for word in FLAGS if word in values}
    if "timeout" in values:
        timeout_s = duration(f"{key}.timeout", values["timeout"], TIMEOUT_MIN_S, TIMEOUT_MAX_S)
    else:
        timeout_s = Platform(name, kind).timeout_s
    home = _home(key, name, values["home"]) if "home" in values else None
    platform = Platform(name, kind, own, home, alone(kind, own), threads(kind, own), timeout_s=timeout_s)
    try:
        home_of(platform)
    except Invalid as error:
        raise wrong(f"{key}.home", error.message, error.hint) from error
    return replace(platform, **flags, chats=_chats(f"{key}.chats", platform, values.get("chats", {})))


def _chats(key: str, platform: Platform, value: object) -> dict[str, dict[str, bool]]:
    """What differs in single chats, by their addresses."""
    hint = f'write [{key}."CHAT"] and below it header = false'
    given = table(key, value, None, hint)
    if len(given) > CHATS_MAX:
        raise wrong(key, f"has more than {CHATS_MAX} chats", "say for the platform what holds for most of them")
    found: dict[str, dict[str, bool]] = {}
    for chat, said in given.items():
        where = key_of(key, chat)
        flags = {word: flag(f"{where}.{word}", on) for word, on in table(where, said, OF_A_CHAT, hint).items()}
        try:
            address = address_of(f"{platform.name}:{chat}", Directory({platform.name: platform}))
        except Invalid as error:
            raise wrong(where, error.message, error.hint) from error
        found[str(address)] = flags
    return found


def _kind(key: str, name: str, values: Mapping[str, object]) -> str:
    kinds = [kind for kind in KINDS if kind != LOCAL]
    if "kind" not in values:
        if name in kinds:
            return name
        says = f'write kind = "…", one of {", ".join(kinds)}'
        raise wrong(f"{key}.kind", "is missing: it is not said how this is reached", says)
    kind = text(f"{key}.kind", values["kind"], "a kind of platform")
    if kind not in kinds:
        near = difflib.get_close_matches(kind.lower()[:60], kinds, 1)
        hint = f"did you mean {near[0]}?" if near else f"kinds are {', '.join(kinds)}"
        raise wrong(f"{key}.kind", f"there is no kind {kind[:60]!r}", hint)
    return kind


def _nearest_key(option: str, kind: str) -> str | None:
    """The nearest of the keys that every platform takes, for a key that its kind does not know."""
    if option in KINDS[kind].options:
        return None
    near = difflib.get_close_matches(option[:60], [*COMMON, *KINDS[kind].options], 1)
    return f"did you mean {near[0]}?" if near else None


def _home(key: str, name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # many chats are numbers
    home = text(f"{key}.home", value, "a chat, in quotes")
    if home.startswith(f"{name}:"):
        raise wrong(f"{key}.home", "names its platform", f'write the chat only: home = "{home[len(name) + 1 :][:60]}"')
    return home


def names_of(value: object, platforms: Mapping[str, Platform]) -> dict[str, tuple[str, ...]]:
    """The friendly names. Raises Invalid with `key` for one that leads nowhere."""
    found: dict[str, tuple[str, ...]] = {}
    given = table("targets", value, None, 'write [targets] and below it ops = "telegram"')
    if len(given) > NAMES_MAX:
        raise wrong("targets", f"has more than {NAMES_MAX} names", "leave out those that no job uses")
    for name, said in given.items():
        key = key_of("targets", name)
        if (problem := name_problem(name, platforms)) is not None:
            raise wrong(
                key, problem, f"another name is needed; it may have blanks, and at most {TARGET_CHARS_MAX} characters"
            )
        found[name] = targets(key, said, MEMBERS_MAX)
    directory = Directory(platforms, found)
    for name, members in found.items():
        try:
            resolve_all((name,), directory)
        except Invalid as error:
            raise _led_nowhere(name, members, directory, error) from error
    return found


def _led_nowhere(name: str, members: tuple[str, ...], directory: Directory, error: Invalid) -> Invalid:
    """The error, at the name whose own members are wrong: others may lead to it."""
    for member in members:
        if member in directory.names and member != name:
            try:
                resolve_all((member,), directory)
            except Invalid as inner:
                if "stands for itself" not in inner.message:
                    return _led_nowhere(member, directory.names[member], directory, inner)
    return wrong(key_of("targets", name), error.message, error.hint)
