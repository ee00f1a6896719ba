"""Resources: the texts of job files, and the results of runs."""

from __future__ import annotations

import json
from typing import Any

from horae.app.gate import Gate
from horae.errors import NotFound
from horae.mcp.server import CALLER, Server


def offer(server: Server, gate: Gate) -> None:
    """Let a server have them."""

    @server.resource("horae://jobs/{job}", name="job file", mime_type="text/markdown")
    def job_file(job: str) -> str:
        """The text of a job's file: its keys, and its prompt below them."""
        found = gate.do(CALLER.get(), "job", job=job, full=True)
        if found["text"] is None:
            raise NotFound(f"the file of {job} is gone, or is no text", "run_doctor says more")
        return str(found["text"])

    @server.resource("horae://runs/{run}", name="result", mime_type="application/json")
    def result(run: str) -> str:
        """The result document of a run: how it ended, what it said, what became of its messages."""
        return json.dumps(_log(run), ensure_ascii=False, indent=2)

    @server.resource("horae://runs/{run}/stdout", name="output", mime_type="text/plain")
    def stdout(run: str) -> str:
        """All that is kept of what a run printed."""
        return str(_log(run)["stdout"] or "")

    def _log(run: str) -> dict[str, Any]:
        return gate.do(CALLER.get(), "log", run=run)
