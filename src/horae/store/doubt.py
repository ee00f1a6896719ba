"""A commit whose answer was lost: the connection ended between the question and the word that it is done."""

from __future__ import annotations

from horae.errors import Trouble


class InDoubt(Trouble):
    """What was to be written may have been. The store can find out (`happened`) once its database answers again."""
