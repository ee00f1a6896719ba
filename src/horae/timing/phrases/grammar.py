"""A grammar as data, and the matcher that reads a text by it.

A grammar is a tree of parts: a fixed word, one of several names, a token of a shape, a sequence, a choice, an optional
part, a list, a named rule. It is data: the parser, the railroad diagrams, the written grammar and the random sentences
of the tests come from the same tree (see `phrases.phrase`).

Two steps. First only the shape is matched: each part says at which tokens it can end when it begins at a given one, and
all its ways are followed, so nothing depends on the order of the alternatives but which of two equal readings is taken.
Then the values of the chosen tree are read. What has a known shape and no sense (31 February) raises `Invalid` there and
not while other ways are still being tried.

Bound: a rule with a name is looked at once per token (`Text.known`), what stands between such rules is of constant size,
and the grammar has no recursion: the work grows with the square of the number of tokens at most, whatever the text.
`Text.steps` counts it, and a test bounds the count.

When nothing fits, `Text.expected` tells what could have come at the furthest token that was reached.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from horae.timing.phrases.text import Text, key_of

Ends = list[tuple[int, Any]]
"""Where a part can end, each with the tree of how it got there."""
Read = (
    Callable[[], Any]
    | Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
)
"""Takes the values inside a part, one by one."""


class Part(ABC):
    """One node of a grammar. A silent one has no value: it is there to be read by people.

    `first` are the keys of the tokens with which it can begin, and "" when it may be empty.
    """

    __slots__ = ("first", "silent")

    def __init__(self, first: Iterable[str], *, silent: bool = False) -> None:
        self.first = frozenset(first)
        self.silent = silent

    @abstractmethod
    def ends(self, text: Text, at: int) -> Ends:
        """Where it can end when it begins at token `at`; the tree of each way."""

    @abstractmethod
    def value(self, tree: Any, text: Text) -> Any:
        """What that tree says. Raises `Invalid` when it has no sense."""


class Words(Part):
    """Fixed words or signs, one after the other."""

    __slots__ = ("words",)

    def __init__(self, text: str) -> None:
        self.words = tuple(text.split())
        super().__init__(self.words[:1], silent=True)

    def ends(self, text: Text, at: int) -> Ends:
        text.steps += 1
        for word in self.words:
            if text.keys[at] != word:
                if text.tracing:
                    text.missed(at, f"`{word}`")
                return []
            at += 1
        return [(at, None)]

    def value(self, tree: Any, text: Text) -> Any:
        return None


class Name(Part):
    """One of several words, each with a value. `label` says what they are; `shown` are those that are published."""

    __slots__ = ("label", "shown", "values")

    def __init__(self, label: str, values: Mapping[str, Any], shown: Iterable[str] | None = None) -> None:
        super().__init__(values)
        self.label = label
        self.values = dict(values)
        self.shown = tuple(values if shown is None else shown)

    def ends(self, text: Text, at: int) -> Ends:
        text.steps += 1
        if text.keys[at] in self.values:
            return [(at + 1, at)]
        if text.tracing:
            text.missed(at, self.label)
        return []

    def value(self, tree: int, text: Text) -> Any:
        return self.values[text.tokens[tree]]


class Leaf(Part):
    """A token of a shape, such as a number. `read` takes its text; `examples` show each way in which it can begin."""

    __slots__ = ("examples", "fits", "label", "read")

    def __init__(self, label: str, shape: str, examples: Iterable[str], read: Callable[[str], Any] = str) -> None:
        self.label = label
        self.fits = re.compile(shape).fullmatch
        self.examples = tuple(examples)
        super().__init__([key_of(example) for example in self.examples])
        self.read = read

    def ends(self, text: Text, at: int) -> Ends:
        text.steps += 1
        if text.keys[at] in self.first and self.fits(text.tokens[at]):
            return [(at + 1, at)]
        if text.tracing:
            text.missed(at, self.label)
        return []

    def value(self, tree: int, text: Text) -> Any:
        return self.read(text.tokens[tree])


class Sequence(Part):
    """One part after the other. Its value is what `read` makes of the values inside, without it the value or a tuple."""

    __slots__ = ("parts", "read")

    def __init__(self, parts: Iterable[Part], read: Read | None = None) -> None:
        self.parts = tuple(parts)
        self.read: Callable[..., Any] | None = read
        first: frozenset[str] = frozenset([""])
        for part in self.parts:
            first = (first - {""}) | part.first
            if "" not in first:
                break
        super().__init__(first, silent=read is None and all(part.silent for part in self.parts))

    def ends(self, text: Text, at: int) -> Ends:
        if text.keys[at] not in self.first and not text.tracing and "" not in self.first:
            return []
        ways: Ends = [(at, ())]
        for part in self.parts:
            if len(ways) == 1:  # nearly always
                end, trees = ways[0]
                ways = [(after, (*trees, tree)) for after, tree in part.ends(text, end)]
            else:
                further: dict[int, Any] = {}
                for end, trees in ways:
                    for after, tree in part.ends(text, end):
                        if after not in further:
                            further[after] = (*trees, tree)
                ways = list(further.items())
            if not ways:
                return ways
        return ways

    def values(self, tree: Any, text: Text) -> tuple[Any, ...]:
        """The values of the parts that have one."""
        return tuple(
            [part.value(branch, text) for part, branch in zip(self.parts, tree, strict=True) if not part.silent]
        )

    def value(self, tree: Any, text: Text) -> Any:
        found = self.values(tree, text)
        if self.read is not None:
            return self.read(*found)
        return found[0] if len(found) == 1 else found


class Choice(Part):
    """One of several. An alternative is tried only where its first token fits."""

    __slots__ = ("_by_key", "_empty", "options")

    def __init__(self, options: Iterable[Part]) -> None:
        self.options = tuple(options)
        first = frozenset[str]().union(*(option.first for option in self.options))
        super().__init__(first, silent=all(option.silent for option in self.options))
        self._by_key: dict[str, tuple[Part, ...]] = {}
        self._empty = tuple(option for option in self.options if "" in option.first)

    def ends(self, text: Text, at: int) -> Ends:
        options = self.options if text.tracing else self._fitting(text.keys[at])
        if len(options) == 1:
            return [(end, (options[0], tree)) for end, tree in options[0].ends(text, at)]
        found: dict[int, Any] = {}
        for option in options:
            for end, tree in option.ends(text, at):
                if end not in found:
                    found[end] = (option, tree)
        return list(found.items())

    def _fitting(self, key: str) -> tuple[Part, ...]:
        if key not in self.first:
            return self._empty
        try:
            return self._by_key[key]
        except KeyError:  # no more of them than the grammar has words
            fitting = tuple(option for option in self.options if key in option.first or "" in option.first)
            return self._by_key.setdefault(key, fitting)

    def value(self, tree: Any, text: Text) -> Any:
        return tree[0].value(tree[1], text)


class Optional(Part):
    """The part or nothing; None when it is not there."""

    __slots__ = ("part",)

    def __init__(self, part: Part) -> None:
        super().__init__(part.first | {""}, silent=part.silent)
        self.part = part

    def ends(self, text: Text, at: int) -> Ends:
        if text.tracing or text.keys[at] in self.first:
            return [*((end, (tree,)) for end, tree in self.part.ends(text, at)), (at, None)]
        return [(at, None)]

    def value(self, tree: Any, text: Text) -> Any:
        return None if tree is None else self.part.value(tree[0], text)


class Many(Part):
    """One or more, with `joint` between them. Its value is a list."""

    __slots__ = ("item", "joint")

    def __init__(self, item: Part, joint: Part | None = None) -> None:
        super().__init__(item.first)
        self.item = item
        self.joint = joint

    def ends(self, text: Text, at: int) -> Ends:
        found: dict[int, Any] = {}
        ways = [(end, (tree,)) for end, tree in self.item.ends(text, at)]
        while ways:
            further: Ends = []
            for end, trees in ways:
                if end in found:
                    continue
                found[end] = trees
                joints = [(end, None)] if self.joint is None else self.joint.ends(text, end)
                for middle, _ in joints:
                    further += [(after, (*trees, tree)) for after, tree in self.item.ends(text, middle)]
            ways = further
        return list(found.items())

    def value(self, tree: Any, text: Text) -> Any:
        return [self.item.value(branch, text) for branch in tree]


class Rule(Part):
    """A part with a meaning: `read` takes the values inside it. With a name it is a heading of the published grammar."""

    __slots__ = ("name", "part", "read")

    def __init__(self, name: str, part: Part, read: Read | None = None) -> None:
        super().__init__(part.first)
        self.name = name
        self.part = part
        self.read: Callable[..., Any] | None = read

    def ends(self, text: Text, at: int) -> Ends:
        if not self.name:
            return self.part.ends(text, at)
        known = text.known.get((self, at))
        if known is None:
            text.steps += 1
            known = text.known[self, at] = self.part.ends(text, at)
        return known

    def value(self, tree: Any, text: Text) -> Any:
        if self.read is None:
            return self.part.value(tree, text)
        if isinstance(self.part, Sequence) and self.part.read is None:
            return self.read(*self.part.values(tree, text))
        return self.read(self.part.value(tree, text))


class Place(NamedTuple):
    """What stands where in the source."""

    value: Any
    start: int
    source: str


class Placed(Part):
    """A part whose value is a `Place`."""

    __slots__ = ("part",)

    def __init__(self, part: Part) -> None:
        super().__init__(part.first)
        self.part = part

    def ends(self, text: Text, at: int) -> Ends:
        return [(end, (at, end, tree)) for end, tree in self.part.ends(text, at)]

    def value(self, tree: Any, text: Text) -> Any:
        start, end, inner = tree
        return Place(self.part.value(inner, text), text.spans[start][0], text.between(start, end))


class Refused(Rule):
    """A known shape that is refused: its `read` raises. Not published, never expected, and the last of a choice."""

    __slots__ = ()

    def ends(self, text: Text, at: int) -> Ends:
        return [] if text.tracing else super().ends(text, at)


def sequence(*parts: Part | str) -> Sequence:
    """Parts in this order; a text stands for fixed words."""
    return Sequence(_part(part) for part in parts)


def choice(*options: Part | str) -> Choice:
    """One of these."""
    return Choice(_part(option) for option in options)


def optional(part: Part | str, *more: Part | str) -> Optional:
    """These parts, or nothing."""
    return Optional(sequence(part, *more) if more else _part(part))


def reading(part: Part, read: Read) -> Part:
    """A part without a name of its own whose value is worked out."""
    return Sequence(part.parts, read) if isinstance(part, Sequence) and part.read is None else Rule("", part, read)


def many(item: Part, joint: Part | None = None) -> Many:
    """One or more."""
    return Many(item, joint)


def match(root: Part, source: str) -> tuple[Any, Text] | None:
    """The tree of the whole source (lower case) under the root and its text, or None if it does not fit."""
    text = Text(source)
    whole = [tree for end, tree in root.ends(text, 0) if end == len(text.tokens) > 0]
    return (whole[0], text) if whole else None


def expected(root: Part, source: str) -> tuple[str, str, list[str]]:
    """Of a source that does not fit: what was read, the token that stands there then ("" at the end), what could."""
    text = Text(source, tracing=True)
    root.ends(text, 0)
    token = text.tokens[text.furthest] if text.furthest < len(text.tokens) else ""
    return text.between(0, text.furthest), token, text.expected


def _part(part: Part | str) -> Part:
    return Words(part) if isinstance(part, str) else part
