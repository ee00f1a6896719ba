"""How fast are results sent and recorded? Due occurrences whose runs say something: claimed, run, settled, sent, recorded.

The real gateway and store, a runner that starts nothing, and a sender that takes each message at once. So this is what the
engine itself costs; a real target adds its own time. `addresses` is how many the messages are for: to one address they go
one after another, each recorded before the next begins. `local` is the same work with nothing to send. `commits` is what
this disk does at most, one row a commit.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import time
from datetime import timedelta

import raw
from claims import AHEAD
from common import WORK, calm, record, run_part
from house import iso
from noop import Noop, Shifted, fill, gateway, run_until

from horae.core.delivery import Address, Platform, Receipt
from horae.limits import PARALLEL_DEFAULT
from horae.store.sqlite import SqliteStore


class Taker:
    """A target that takes everything at once."""

    def check(self, _address=None):
        return None

    async def send(self, message):
        return Receipt("accept", evidence=message.id)


class Targets:
    """`ports.Targets` of them; `local` stays here."""

    def resolve(self, target, _origin=None):
        return (self.address(target),)

    def address(self, text):
        return Address(*text.split(":"))

    def platform(self, address):
        return Platform(address.platform, "bench")

    def sender(self, _address):
        return Taker()

    def problem(self, _target, _origin=None):
        return None


def whole(count, addresses):
    """Messages a second from due to recorded; with no address, runs a second that send nothing."""
    folder, clock = WORK / f"deliver-{time.time_ns()}", Shifted()
    store = SqliteStore(str(folder / "state" / "runtime.db"), clock)
    try:
        due = (clock.now() + AHEAD).replace(microsecond=0)
        to = (lambda i: f"t:{i % addresses}") if addresses else (lambda _: "local")
        fill(store, count, f"every 1 day from {iso(due.timestamp())}", to)
        clock.shift = due - Shifted().now() + timedelta(milliseconds=1)
        engine, writer = gateway(store, clock, PARALLEL_DEFAULT, Noop(says="high water at noon"), targets=Targets())
        start, cpu = time.perf_counter(), time.process_time()
        what = "delivered" if addresses else "completed"
        got = asyncio.run(run_until(engine, store, count, within_s=300, what=what))
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        writer.close()
        sent = store.db.execute("SELECT count(*) FROM delivery WHERE state = 'delivered'").fetchone()[0]
    finally:
        store.close()
        shutil.rmtree(folder, ignore_errors=True)
    figures = {"delivered": sent, "wall_s": wall, "per_s": got / wall, "cpu_us_each": cpu / max(1, got) * 1e6}
    return {"n": count, "addresses": addresses, **figures}


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--n", type=int, default=2000)
    ask.add_argument("--rounds", type=int, default=5)
    options = ask.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    for _ in range(options.rounds):
        calm()
        record("deliver", "commits", **raw.commits())
        for addresses in (0, 1, 8, 100):
            record("deliver", "local" if not addresses else "sent", **whole(options.n, addresses))


if __name__ == "__main__":
    run_part(main)
