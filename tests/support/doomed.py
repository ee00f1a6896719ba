"""`horae up`, but it dies or stands still where it is told to: `doomed.py LEASE_S DESK [ORDER]`. Started by `kill.py`.

The product has no hooks. This process patches the length of a lease before anything reads it, puts subclasses of the
writer and the runner into the wiring, and then runs the gateway through it as `horae up` does. A fault is a signal that
it sends to itself, armed by a line of JSON on standard input:

    {"step": "finish", "when": "within", "nth": 3, "signal": "SIGKILL"}

Steps are commits (`claim`, `start`, `note`, `finish`, `deliver`, `record`, `refuse`, `recover`, `renew`, `sign_on`,
`drain`, `sign_off`), which have `before` (nothing was written), `within` (all was written, nothing is
committed) and `after` (committed, and nobody was told), and what is done outside (`preflight`, `run`, `send`), which has
`before` and `after`; a run has `begun` as well (its process is there).

`desk` is a target that needs sending: a file to which each message adds the line of its run. With HORAE_HOST the process
claims to be on another machine, its boot included.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from horae import limits

COMMITS = {  # a name that is used in the function that is handed in → the step
    "claim_due": "claim",
    "start_all": "start",
    "note_process": "note",
    "conclude_all": "finish",
    "record": "record",
    "refuse": "refuse",
    "_take": "recover",
    "sign_on": "sign_on",
    "drain": "drain",
    "sign_off": "sign_off",
    "renew": "renew",
}


class Faults:
    """What is armed, and what has been written in the transaction that is open."""

    def __init__(self) -> None:
        self._armed: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self.written: list[str] = []

    def arm(self, line: str) -> None:
        with self._lock:
            self._armed = json.loads(line)
        print("armed", flush=True)

    def at(self, step: str, when: str) -> None:
        """The process may end here, or stand still."""
        with self._lock:
            armed = self._armed
            if armed is None or (armed["step"], armed["when"]) != (step, when):
                return
            armed["nth"] -= 1
            if armed["nth"] > 0:
                return
            self._armed = None
        if armed["signal"] == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)  # until it is delivered
        signal.pthread_kill(threading.get_ident(), signal.Signals[armed["signal"]])

    def within(self) -> None:
        for step in self.written:
            self.at(step, "within")

    def after(self) -> None:
        for step in self.written:
            self.at(step, "after")
        self.written = []


FAULTS = Faults()


def listen() -> None:
    """Take orders until there are no more."""
    for line in sys.stdin:
        FAULTS.arm(line)


def step_of(work: Any) -> str:
    """Which step a function is that is handed to the store."""
    names = work.__code__.co_names
    return next((step for name, step in COMMITS.items() if name in names), "other")


def noting(step: str, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same, and what it was is known until the end of its transaction. A look that claims nothing is no claim."""

    def noted(tx: Any) -> Any:
        answer = work(tx)
        if step != "claim" or answer[0]:
            FAULTS.written.append(step)
        if step == "claim" and answer.parcels:  # the same look also takes what is to be sent
            FAULTS.written.append("deliver")
        return answer

    return noted


_together: dict[Any, Any] = {}


def noting_together(step: str, verb: Any) -> Any:
    """The same for a verb that takes many; one and the same function for each verb, since the writer tells them by it."""

    def noted(tx: Any, items: Sequence[Any]) -> Any:
        answers = verb(tx, items)
        FAULTS.written.extend([step] * len(items))
        return answers

    return _together.setdefault(verb, noted)


def patch_stores() -> None:
    """Between the last statement and the commit, and directly behind it."""
    for module, name in (("horae.store.sqlite", "SqliteStore"), ("horae.store.postgres", "PostgresStore")):
        store = getattr(import_module(module), name)

        @contextlib.contextmanager
        def transaction(self: Any, real: Any = store.transaction) -> Generator[Any]:
            FAULTS.written = []
            with real(self) as tx:
                yield tx
                FAULTS.within()
            FAULTS.after()

        store.transaction = transaction


def patch_wiring(service: Any, desk: str) -> None:
    """The writer, the runner and the senders of the gateway."""
    values = import_module("horae.core.delivery")
    receipt, address_of, platform = (
        values.Receipt,
        values.Address,
        values.Platform("desk", "test", alone=True, timeout_s=limits.LEASE_S / 3),
    )

    class Writer(service.GroupWriter):
        async def commit(self, work: Any) -> Any:
            FAULTS.at(step := step_of(work), "before")
            return await super().commit(noting(step, work))

        async def together(self, verb: Any, item: Any) -> Any:
            FAULTS.at(step := step_of(verb), "before")
            return await super().together(noting_together(step, verb), item)

    class Runner(service.ProcessRunner):
        def facts(self, job: Any) -> Any:
            FAULTS.at("preflight", "before")
            found = super().facts(job)
            FAULTS.at("preflight", "after")
            return found

        async def run(self, order: Any, started: Any, ready: Any) -> Any:
            FAULTS.at("run", "before")
            result = await super().run(order, started, ready)
            FAULTS.at("run", "after")
            return result

    shims = import_module("horae.runners.liveshim").LiveShim
    real_tell = shims.tell

    async def tell(self: Any, message: Any) -> None:
        await real_tell(self, message)
        if "run" in message:
            FAULTS.at("run", "begun")

    shims.tell = tell

    class Sender:
        def check(self, address: Any = None) -> None: ...

        async def send(self, message: Any) -> Any:
            FAULTS.at("send", "before")
            append(desk, f"{message.facts['run']}\n")
            FAULTS.at("send", "after")
            return receipt("accept", evidence="it lies on the desk")

    class Desk(import_module("horae.wiring.desk").Desk):
        def resolve(self, target: str, origin: Any = None) -> Any:
            return (address_of("desk"),) if target == "desk" else super().resolve(target, origin)

        def address(self, text: str) -> Any:
            return address_of("desk") if text == "desk" else super().address(text)

        def platform(self, address: Any) -> Any:
            return platform if address.platform == "desk" else super().platform(address)

        def sender(self, address: Any) -> Any:
            return Sender() if address.platform == "desk" else super().sender(address)

    tools = import_module("horae.wiring.desk").tools_of
    service.GroupWriter, service.ProcessRunner = Writer, Runner
    service.desk_of = lambda settings, clock: Desk(settings, tools(settings, clock, lambda *_: None))


def append(path: str, line: str) -> None:
    """One write, so that lines of several writers never mix."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def main(lease_s: str, desk: str, order: str = "") -> int:
    if float(lease_s):
        limits.LEASE_S, limits.LEASE_MARGIN_S = float(lease_s), float(lease_s) / 10
        limits.POLL_S = min(limits.POLL_S, float(lease_s) / 3)
        limits.SEND_GRACE_S = float(lease_s) / 10  # or a lease would be prolonged past the longest send
    host = os.environ.get("HORAE_HOST")
    if host:  # another machine has another boot, and its processes cannot be seen from here
        vars(import_module("horae.runners.liveness"))["boot_id"] = lambda: f"the boot of {host}"
    service = import_module("horae.wiring.service")
    patch_stores()
    patch_wiring(service, desk)
    if order:
        FAULTS.arm(order)
    threading.Thread(target=listen, daemon=True).start()
    return service.run_gateway(
        os.environ["HORAE_HOME"], lambda text: print(text, flush=True), lambda web: replace(web, serve=False)
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
