"""A stop that comes between a run's start in the store and its process: it ends that one too."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from horae.core.model import Order
from horae.ports import Settings
from horae.runners.process import ProcessRunner


def test_a_run_that_starts_after_everything_was_to_end_is_ended(tmp_path: Path) -> None:
    async def story() -> str | None:
        async def nobody(pid: int, born: int) -> None:
            pass

        runner = ProcessRunner(Settings(str(tmp_path)))
        runner.stop_all("the gateway was stopped")
        order = Order("a" * 16, ("/bin/sleep", "60"), "/", {}, wall_s=60.0, grace_s=1.0, output_bytes=1000)
        return (await runner.run(order, nobody)).ended_by

    began = time.monotonic()
    assert asyncio.run(story()) == "the gateway was stopped"
    assert time.monotonic() - began < 10
