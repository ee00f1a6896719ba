"""What a test has lived through, for the sum that is printed at the end (see conftest.py)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from tests.support.world import World

LIVED = "lived"  # the name under which a test says it
Record = Callable[[str, object], None]


class Tally:
    """Lives and their slots; how many of them met a fault, and which."""

    def __init__(self) -> None:
        self.lives = self.hit = self.slots = self.slots_hit = 0
        self.met: Counter[str] = Counter()

    def add(self, world: World) -> None:
        struck = bool(world.hits)
        self.lives += 1
        self.hit += struck
        self.slots += world.slots
        self.slots_hit += world.slots * struck
        self.met.update(fault for _, fault in {(hit.at_s, hit.fault) for hit in world.hits})

    def tell(self, record: Record) -> None:
        record(LIVED, json.dumps(self.__dict__))
