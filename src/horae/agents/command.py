"""Work done by a program without a screen: the prompt goes in, what it prints is the answer.

The prompt is one of its words where {prompt} stands, else its standard input. What it prints is bounded, and told while it
comes. It has failed when its exit status is not 0; whatever its status, it has ended by a limit where the meter says so,
and is held where its provider could not answer.
"""

from __future__ import annotations

import asyncio
import codecs
from contextlib import suppress

from horae.agents.ending import Ending
from horae.agents.launch import Launch, launching
from horae.agents.meter import Meter
from horae.agents.piped import Piped
from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import Tell

ANSWER_BYTES_MAX = 1024 * 1024
ERRORS_CHARS = 2000
ARGUMENT_BYTES_MAX = 128 * 1024 - 1  # the kernel takes no longer one
LAST_WORDS_S = 1.0  # for what it wrote directly before its end: others may still hold its output
GRACE_S = 2.0  # to end by itself when it is told to


def run(task: Task, prompt: str, tell: Tell, meter: Meter) -> str:
    """The answer's text. Raises Stop for every other end."""
    with launching(task, meter, tell) as launch:
        return asyncio.run(_Command(tell, launch).answer(prompt))


class _Command:
    def __init__(self, tell: Tell, launch: Launch) -> None:
        self._tell, self._launch = tell, launch
        self._said, self._errors = bytearray(), bytearray()

    async def answer(self, prompt: str) -> str:
        self._ending = Ending(self._launch.proxy)
        piped = await self._start(prompt)
        process = piped.process
        ended = asyncio.ensure_future(process.wait())
        streams = [
            asyncio.ensure_future(one)
            for one in (self._feed(piped.into, prompt), self._read(piped.out), self._complain(piped.err))
        ]
        try:
            await asyncio.wait({ended, self._ending.came}, return_when=asyncio.FIRST_COMPLETED)
            if not self._ending.came.done():
                await asyncio.wait(streams, timeout=LAST_WORDS_S)
        finally:
            if process.returncode is None:
                await _end(process)
            for one in streams:
                one.cancel()
            piped.close()
            self._ending.close()
        return self._judged(process.returncode)

    def _judged(self, code: int | None) -> str:
        if self._ending.came.done():
            raise self._ending.came.result()
        if (stop := self._launch.ended()) is not None:
            raise stop
        name = self._launch.agent["name"]
        if code != 0:
            how = (
                f"ended with status {code}" if code is not None and code >= 0 else f"was ended by signal {-(code or 0)}"
            )
            errors = self._errors.decode("utf-8", "replace").strip()
            raise Stop(
                "failed", f"{name} {how}" + (f"; its errors end with: {errors}" if errors else ", without a word")
            )
        if self._launch.passed_by:
            raise Stop(
                "failed",
                f"{name} answered, but no call of a model came by the meter: its own settings lead elsewhere",
            )
        return self._said.decode("utf-8", "replace")

    async def _start(self, prompt: str) -> Piped:
        if self._launch.takes_prompt and len(prompt.encode()) > ARGUMENT_BYTES_MAX:
            raise Stop(
                "failed",
                f"the prompt has more than {ARGUMENT_BYTES_MAX} bytes, too many for one word of a command: "
                f"take {{prompt}} out of it, and it goes to the standard input",
            )
        return await Piped.start(
            self._launch.argv(prompt),
            cwd=self._launch.cwd,
            env=self._launch.env,
            feeds=not self._launch.takes_prompt,
        )

    async def _feed(self, stream: asyncio.StreamWriter | None, prompt: str) -> None:
        if stream is None:
            return
        with suppress(OSError):  # it need not read all of it
            stream.write(prompt.encode())
            await stream.drain()
        stream.close()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while data := await stream.read(16_384):
            if len(self._said) + len(data) > ANSWER_BYTES_MAX:
                self._ending.end(Stop("failed", f"its answer has more than {ANSWER_BYTES_MAX} bytes"))
                return
            self._said += data
            if text := decoder.decode(data):
                self._tell.event("text", text=text)

    async def _complain(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(16_384):
            self._errors += data
            del self._errors[:-ERRORS_CHARS]


async def _end(process: asyncio.subprocess.Process) -> None:
    for step in (process.terminate, process.kill):
        with suppress(ProcessLookupError):
            step()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S)
            return
