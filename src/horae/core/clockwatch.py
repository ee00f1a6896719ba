"""Has the clock been stepped, or the machine been asleep? Two readings of three clocks tell.

`wall` can be stepped; `steady` counts every second, sleep included; `awake` counts only the seconds that the machine ran.
So wall against steady is a step, and steady against awake is a suspend.
"""

from __future__ import annotations

from dataclasses import dataclass

from horae.limits import STEP_NOTICED_S


@dataclass(frozen=True, slots=True)
class Reading:
    """The clocks at one moment, in seconds."""

    wall_s: float
    steady_s: float
    awake_s: float


@dataclass(frozen=True, slots=True)
class Noticed:
    """How far the wall clock was stepped (negative is back) and how long the machine slept; zero for neither."""

    stepped_s: float
    slept_s: float

    def __bool__(self) -> bool:
        return bool(self.stepped_s or self.slept_s)


def compare(before: Reading, after: Reading) -> Noticed:
    """What happened to the clocks between two readings, if it was more than the ordinary wander."""
    steady = after.steady_s - before.steady_s
    stepped = (after.wall_s - before.wall_s) - steady
    slept = steady - (after.awake_s - before.awake_s)
    return Noticed(
        stepped if abs(stepped) > STEP_NOTICED_S else 0.0,
        slept if slept > STEP_NOTICED_S else 0.0,
    )
