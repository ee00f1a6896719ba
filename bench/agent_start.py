"""How long from an agent's task to its first request on the wire: forked from a process that has the libraries loaded.

- `forked`: the task is handed over; a fork works on it; the provider of the tests has the request. With the default tools,
  and with all that are built in.
- `bare`: `python -c pass`, from its start to its end, in the same round: what a new interpreter alone would take.
- `loading`: what the libraries take to load, once for each template.

All times are the machine's monotonic clock.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import calm, percentile, record

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.agentrun import a_task
from tests.support.modelserver import ModelServer, say

TOOLS = {"default": ["files", "memory"], "all": ["files", "memory", "web", "shell", "jobs", "messages"]}
LOADED = """
import json, os, sys, time
start = time.monotonic()
from horae.agents import work
import gc; gc.collect(); gc.freeze()
print(time.monotonic() - start, flush=True)
nothing = os.open(os.devnull, os.O_WRONLY)
for line in sys.stdin:
    task = json.loads(line)
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.dup2(nothing, 1)
        os._exit(work.main(task, nothing))
    status = os.waitpid(pid, 0)[1]
    print(json.dumps([began, time.monotonic(), status]), flush=True)
"""


def rounds(count):
    with tempfile.TemporaryDirectory() as folder, ModelServer(lambda _: say("Hello.")) as server:
        loaded = subprocess.Popen(
            [sys.executable, "-c", LOADED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            record("agent_start", "loading", s=float(loaded.stdout.readline()))
            for _ in range(count):
                one_round(server, loaded, Path(folder))
        finally:
            loaded.stdin.close()
            loaded.wait()


def one_round(server, loaded, folder, each=10):
    calm()
    for name, tools in TOOLS.items():
        first, whole = [], []
        for _ in range(each):
            before = len(server.calls)
            task = a_task(server, folder, tools=tools)
            loaded.stdin.write(json.dumps(task) + "\n")
            loaded.stdin.flush()
            began, ended, status = json.loads(loaded.stdout.readline())
            assert status == 0, status
            first.append((server.calls[before].at - began) * 1000)
            whole.append((ended - began) * 1000)
        record(
            "agent_start", f"forked {name}",
            p50_ms=percentile(first, 50), p95_ms=percentile(first, 95), whole_p50_ms=percentile(whole, 50),
        )  # fmt: skip
    bare = []
    for _ in range(each):
        began = time.monotonic()
        os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], dict(os.environ)), 0)
        bare.append((time.monotonic() - began) * 1000)
    record("agent_start", "bare", p50_ms=percentile(bare, 50), p95_ms=percentile(bare, 95))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds(parser.parse_args().rounds)
