"""Limits on the code itself. A complaint names the file, the line and the way out."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "horae"
FUNCTION_MAX, MODULE_MAX = 70, 420

# Paths are inside src/horae; one that ends in / is a folder.
CLOCK = ("clock.py",)
SETTINGS = ("config.py",)
IMPORTS_INSIDE: tuple[str, ...] = ()  # what is loaded late is loaded by name, in wiring and in cli/main.py
WAITING = (  # for a person, and for locks that others hold for an instant
    "clock.py",
    "cli/runs.py",
    "control/place.py",
    "runners/pool.py",  # on a thread, for systemd
)
LOCKS = (  # of other processes: nobody tells when one is let go
    "runners/former.py",
    "runners/liveshim.py",
)
BROAD_EXCEPT = (
    "engine/gateway.py",  # the loop that must go on
    "runners/",  # the border to other processes
    "control/server.py",  # the border to whoever asks: a fault of one use case must not end the gateway
    "agents/work.py",  # the border to agents and their libraries: whatever they raise is how a run ended
    "aside.py",  # the border between two threads: whoever waits gets it
    "keyrings.py",  # the border to whatever keeps a keyring: it raises what it likes
    "store/writer.py",  # a group commit: an error belongs to the member that caused it, not to its neighbours
)

SHIMS = ("runners/shim/",)  # small processes of their own, with the system's time and nobody to hand it in

_TIME = "time comes in as an argument, or from ports.Clock"
BANNED = {  # name -> (where it is allowed all the same, what to do instead)
    "datetime.datetime.now": (CLOCK, _TIME),
    "datetime.datetime.utcnow": ((), _TIME),
    "datetime.datetime.today": ((), _TIME),
    "datetime.date.today": ((), _TIME),
    "time.time": ((*CLOCK, *SHIMS), _TIME),
    "time.time_ns": (CLOCK, _TIME),
    "time.monotonic": ((*CLOCK, *SHIMS), _TIME),
    "time.monotonic_ns": (CLOCK, _TIME),
    "time.perf_counter": (CLOCK, _TIME),
    "time.clock_gettime": (CLOCK, _TIME),
    "time.sleep": ((*WAITING, *SHIMS), "await the event, or ports.Clock"),
    "asyncio.sleep": ((*CLOCK, *LOCKS), "await the event, or ports.Clock"),
    "os.environ": ((*SETTINGS, "runners/shim/agent.py"), "config.py reads the environment, once"),
    "os.getenv": (SETTINGS, "config.py reads the environment, once"),
    "os.putenv": ((), "give the child its own environment"),
    "print": (("cli/",), "return a value; cli/ writes it"),
}
VAGUE = re.compile(r"(^|_)(utils?|helpers?|commons?|managers?|base)(_|$)")
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
ELSEWHERE = re.compile(  # spelt in pieces, so that this file does not accuse itself
    r"(?<![\w.~}])/(?:work|ro" + r"ot|farm|home/\w+|Users/\w+)/"
    r"|python" + r"hosted\.org|\bpypi\." + r"org|registry\.npm" + r"js|deb\.deb" + r"ian|proxy\.gol" + r"ang"
)


def _allowed(rel: str, places: tuple[str, ...]) -> bool:
    return any(rel.startswith(place) if place.endswith("/") else rel == place for place in places)


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Local name -> full name, so that `from time import sleep as nap` is seen through."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _full_name(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute) and (owner := _full_name(node.value, names)):
        return f"{owner}.{node.attr}"
    return None


def _about_function(node: ast.FunctionDef | ast.AsyncFunctionDef, rel: str) -> Iterator[str]:
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    length = (node.end_lineno or 0) - body[0].lineno + 1
    if length > FUNCTION_MAX:
        yield f"{node.name} has {length} lines, {FUNCTION_MAX} are enough: move its straight parts out"
    if not _allowed(rel, IMPORTS_INSIDE) and any(isinstance(n, ast.Import | ast.ImportFrom) for n in ast.walk(node)):
        yield f"{node.name} imports inside: move it up, or the module is in the wrong layer"


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """It undoes something and raises the same error again: nothing is swallowed, so it may be broad."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _about(node: ast.AST, rel: str, names: dict[str, str]) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _about_function(node, rel)
        case ast.Global():
            yield "a global statement: pass the value in"
        case ast.ExceptHandler() if not _allowed(rel, BROAD_EXCEPT) and not _passes_on(node):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(error is None or ast.unparse(error) in ("Exception", "BaseException") for error in caught):
                yield "a broad except: name the error"
        case ast.Name(ctx=ast.Load()) | ast.Attribute():
            places, instead = BANNED.get(_full_name(node, names) or "", (None, ""))
            if places is not None and not _allowed(rel, places):
                yield f"{ast.unparse(node)} is not used here: {instead}"
        case _:
            pass
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name).lower()
        if VAGUE.search(words):
            yield f"{node.name} says nothing: name it after what it does"


def complaints(rel: str, text: str) -> Iterator[str]:
    """All that is wrong with the module at `rel`, a path inside src/horae."""
    tree = ast.parse(text)
    if (lines := text.count("\n")) > MODULE_MAX:
        yield f"{rel}: {lines} lines, {MODULE_MAX} are enough: split it by noun"
    if not ast.get_docstring(tree):
        yield f"{rel}:1: no docstring: a module opens with its theory, or with one line"
    for part in Path(rel).with_suffix("").parts:
        if VAGUE.search(part):
            yield f"{rel}: '{part}' says nothing: name it after what it holds"
    names = _imported_names(tree)
    for node in ast.walk(tree):
        for complaint in _about(node, rel, names):
            yield f"{rel}:{getattr(node, 'lineno', 0)}: {complaint}"


@pytest.mark.parametrize("rel", sorted(path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py")))
def test_a_module_is_tidy(rel: str) -> None:
    assert not (found := list(complaints(rel, (SRC / rel).read_text(encoding="utf-8")))), "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("rel", "text", "said"),
    [
        ("core/a.py", '"""A."""\nfrom time import sleep as nap\nnap(1)\n', "core/a.py:3: nap is not used here"),
        ("core/a.py", '"""A."""\nimport datetime as dt\ndt.datetime.now()\n', "dt.datetime.now is not used here"),
        ("app/a.py", '"""A."""\nimport os\nos.environ["A"]\n', "os.environ is not used here"),
        ("app/a.py", '"""A."""\ndef f():\n    import os\n', "imports inside"),
        ("app/a.py", '"""A."""\ndef f():\n    global x\n', "global"),
        ("app/a.py", '"""A."""\ntry:\n    pass\nexcept (OSError, Exception):\n    pass\n', "broad except"),
        ("app/a.py", '"""A."""\ndef f():\n' + "    f()\n" * 71, "f has 71 lines"),
        ("app/a.py", '"""A."""\n' + "f = 1\n" * 420, "421 lines"),
        ("app/a.py", '"""A."""\nclass JobManager: ...\n', "JobManager says nothing"),
        ("app/job_utils.py", '"""A."""\n', "'job_utils' says nothing"),
        ("app/a.py", "x = 1\n", "no docstring"),
    ],
)
def test_it_does_complain(rel: str, text: str, said: str) -> None:
    assert said in "\n".join(complaints(rel, text))


@pytest.mark.parametrize(
    ("rel", "text"),
    [
        ("clock.py", '"""A."""\nimport time\ntime.time()\n'),
        ("cli/a.py", '"""A."""\nprint(1)\n'),
        ("app/a.py", '"""A."""\ntry:\n    pass\nexcept BaseException:\n    f()\n    raise\n'),
        ("core/a.py", '"""A."""\ndef f(base, now):\n    """Long.\n' + "\n" * 90 + '    """\n    return now.time()\n'),
    ],
)
def test_it_does_not_complain_about_what_is_right(rel: str, text: str) -> None:
    assert not list(complaints(rel, text))


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_leaves_work_open() -> None:
    found: list[str] = []
    for path in _tracked():
        rel = path.relative_to(ROOT)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        for number, line in enumerate(text.splitlines(), start=1):
            if path.suffix != ".lock" and (bad := ELSEWHERE.search(line)):
                found.append(f"{rel}:{number}: {bad[0]} exists on one machine only")
            if path.suffix == ".py" and (bad := UNFINISHED.search(line)):
                found.append(f"{rel}:{number}: {bad[0]}: do it, or open an issue")
    assert not found, "\n" + "\n".join(found)
