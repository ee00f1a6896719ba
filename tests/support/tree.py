"""A program that makes a tree of processes by a seed, for whoever must show that nothing of it survives.

Each process holds the writing end of a FIFO and never closes it, so that end of file at the other end proves that no
process is left, whatever it has done to its name, its session or its environment.

Run by `python -IS tree.py FIFO SEED`.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time

DEPTH_MAX = 3
LASTS_S = 30.0  # far longer than any run of a test: what ends by itself proves nothing


def main(fifo: str, seed: str) -> None:
    os.open(fifo, os.O_WRONLY)
    os.set_inheritable(3, True)
    live(random.Random(int(seed)), 0)


def live(dice: random.Random, depth: int) -> None:
    """One process: what it does before it makes children, whom it makes, and how it goes on."""
    before(dice)
    for _ in range(dice.choice((0, 1, 1, 2, 3)) if depth < DEPTH_MAX else 0):
        if dice.random() < 0.3:
            time.sleep(dice.random() * 0.02)
        own = random.Random(dice.random())
        if os.fork() == 0:
            if own.random() < 0.4 and os.fork():
                os._exit(0)  # its child is an orphan from now on
            live(own, depth + 1)
    after(dice, depth)


def before(dice: random.Random) -> None:
    if dice.random() < 0.3:
        with contextlib.suppress(PermissionError):  # it leads its group already
            os.setsid()
    if dice.random() < 0.2:
        os.setpgid(0, 0) if os.getsid(0) != os.getpid() else None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if dice.random() < 0.4:
            signal.signal(number, signal.SIG_IGN)
    if dice.random() < 0.2:
        signal.signal(signal.SIGTERM, lambda *_: fork_on(dice))
    if dice.random() < 0.2:
        for fd in (1, 2):
            os.close(fd)


def after(dice: random.Random, depth: int) -> None:
    way = dice.random()
    if depth == 0 and way < 0.5:
        time.sleep(dice.random() * 0.05)
        os._exit(dice.choice((0, 0, 1)))
    if way < 0.6:
        os.execv("/bin/sleep", ["sleep", str(LASTS_S)])
    if way < 0.7:
        os.kill(os.getpid(), signal.SIGSTOP)
    if way < 0.8:
        fork_on(dice)
    end = time.monotonic() + LASTS_S
    while time.monotonic() < end:
        time.sleep(0.5)


def fork_on(dice: random.Random) -> None:
    """Go on in a child, again and again: nobody finds it where it was seen last."""
    for _ in range(dice.randrange(5, 40)):
        if os.fork():
            os._exit(0)
        time.sleep(0.002)


if __name__ == "__main__":
    main(*sys.argv[1:])
