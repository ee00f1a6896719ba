"""What has several readings, and the texts that say which one.

A part of a source is unclear, the whole is what a person writes: `resolved` puts each spelling in the place of the part
and tells only of texts that are read. A second unclear part of the same kind is spelled in the same way.
"""

from __future__ import annotations

from collections.abc import Callable

from horae.errors import Invalid
from horae.timing.phrases.grammar import Place
from horae.timing.vocabulary import listed

_ROUNDS_MAX = 8  # unclear parts of one text that are spelled out
_SHOWN_MAX = 90  # a longer text is not repeated for each of its readings


class Unclear(Exception):
    """A part with several readings. Each of `spellings`, put in its place, has one; `beside` is what else there is.

    Raised and caught within this package: a caller gets the `Invalid` that `resolved` makes.
    """

    def __init__(self, message: str, place: Place, spellings: list[str], beside: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.value = place.source
        self.start = place.start
        self.end = place.start + len(place.source)
        self.spellings = spellings
        self.beside = beside

    def resolved(self, source: str, read: Callable[[str], object]) -> Invalid:
        """The refusal of the whole source. `read` raises `Invalid` or `Unclear` for a text that is not read."""
        found = (_spelled(source, self, way, read) for way in range(len(self.spellings)))
        texts = [text for text in found if text is not None]
        if not texts or len(source) > _SHOWN_MAX:
            return Invalid(self.message, _hint(self.spellings, self.beside, "{}"), value=self.value)
        return Invalid(self.message, _hint(texts, self.beside, "`{}`"), value=self.value, write=texts)


def _hint(texts: list[str], beside: str, form: str) -> str:
    return f"write {listed(map(form.format, texts), 'or')}{beside and f', or {beside}'}"


def _spelled(source: str, refusal: Unclear, way: int, read: Callable[[str], object]) -> str | None:
    """The source with its unclear parts spelled in one way, and a time of day where it has none; None if not read."""
    for _ in range(_ROUNDS_MAX):
        spelling = refusal.spellings[min(way, len(refusal.spellings) - 1)]
        source = source[: refusal.start] + spelling + source[refusal.end :]
        for text in (source, f"{source} at 9am"):
            try:
                read(text)
            except Unclear as again:
                if again.start < refusal.start:  # no second part of this kind, but a doubt that the spelling raises
                    return None
                refusal = again
                break
            except Invalid:
                continue
            return text
        else:
            return None
    return None
