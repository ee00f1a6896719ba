"""Records of a spool: what is torn, what is damaged, what is newer, and what a program may print. docs/spool.md says it."""

from __future__ import annotations

import ast
import json
import re
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from horae.limits import KEPT_BYTES_MAX, SPOOL_BYTES
from horae.runners.shim import spool
from horae.runners.shim.agent import EVENTS_BYTES_MAX
from horae.runners.shim.spool import (
    CLEARED,
    EVENT,
    HEAD_BYTES,
    OPENED,
    OUTPUT,
    PAYLOAD_BYTES_MAX,
    RESULT,
    STARTED,
    TAIL,
    VERSION,
    Damaged,
    Newer,
    printed,
    records,
    told,
)
from horae.runners.spools import Gathered, read

PAGE = (Path(__file__).parents[3] / "docs" / "spool.md").read_text(encoding="utf-8")
RUN = "c050e2f2fdb9bb47"
ENDED = {
    "run": RUN, "exit": 1, "signal": None, "ended_by": None, "words": None, "found": None, "wall": 0.1, "cpu": 0.0,
    "peak": 1, "total": [6, 3], "spilled": [0, 0], "killed": [], "survivors": 0, "proved": True, "left": False,
}  # fmt: skip
PARTS = [
    told(OPENED, version=VERSION, name="a-1", pid=7, born=9),
    told(STARTED, run=RUN, pid=8, born=10, at=0.5),
    *printed(OUTPUT, 1, b"hel\xff\0"),
    *printed(OUTPUT, 2, b"no\n"),
    *printed(TAIL, 1, b"\n"),
    told(RESULT, **ENDED),
]
WHOLE = b"".join(PARTS)


def told_by(data: bytes) -> tuple[list[tuple[int, bytes]], type[Exception] | None]:
    """What is believed of it, and how the reading ended."""
    found: list[tuple[int, bytes]] = []
    try:
        for kind, payload, _ in records(data):
            found.append((kind, payload))
    except (Damaged, Newer) as error:
        return found, type(error)
    return found, None


WRITTEN = [(part[3], part[HEAD_BYTES:]) for part in PARTS]


def test_what_was_written_is_read_and_each_says_where_the_next_begins() -> None:
    assert told_by(WHOLE) == (WRITTEN, None)
    ends = [end for *_, end in records(WHOLE)]
    assert ends[-1] == len(WHOLE)
    assert all(next(iter(records(WHOLE, end)))[1] == WRITTEN[number][1] for number, end in enumerate(ends[:-1], 1))
    assert told_by(b"") == ([], None)


def test_torn_at_any_byte_all_before_it_counts_and_nothing_is_wrong() -> None:
    ends = [end for *_, end in records(WHOLE)]
    for cut in range(len(WHOLE)):
        assert told_by(WHOLE[:cut]) == (WRITTEN[: sum(end <= cut for end in ends)], None)


@pytest.mark.parametrize("flip", [1, 0x80, 0xFF])
def test_no_flipped_byte_goes_unnoticed(flip: int) -> None:
    """What comes before it is believed, and neither it nor what comes behind; a length may only look torn."""
    begins = [0, *(end for *_, end in records(WHOLE))]
    for number, (begin, end) in enumerate(pairwise(begins)):
        for at in range(begin, end):
            data = bytearray(WHOLE)
            data[at] ^= flip
            found, problem = told_by(bytes(data))
            assert found == WRITTEN[:number], f"byte {at}"
            assert problem is Damaged or (problem is None and at - begin in range(4, 8)), f"byte {at}"


def test_a_swapped_or_repeated_stretch_of_zeros_is_no_record() -> None:
    for rest in (b"\0" * 4096, b"x" * HEAD_BYTES, b"sH" + PARTS[0][2:]):
        assert told_by(PARTS[0] + rest) == (WRITTEN[:1], Damaged)


def test_a_length_that_no_record_has_is_damage_and_not_a_reason_to_wait() -> None:
    head = struct.pack("<2sBBII", b"Hs", VERSION, OUTPUT, PAYLOAD_BYTES_MAX + 1, 0)
    assert told_by(PARTS[0] + head) == (WRITTEN[:1], Damaged)


def newer(kind: int, payload: bytes) -> bytes:
    """A record of the next version, whole and with its checksum."""
    head = struct.pack("<2sBBII", b"Hs", VERSION + 1, kind, len(payload), 0)
    return head[:8] + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload


def test_what_is_newer_is_not_guessed_nor_what_comes_behind_it() -> None:
    assert told_by(PARTS[0] + newer(OUTPUT, b"\x01?") + PARTS[1]) == (WRITTEN[:1], Newer)
    broken = bytearray(newer(OUTPUT, b"\x01?"))
    broken[-1] ^= 1
    assert told_by(bytes(broken)) == ([], Damaged), "its version is not believed either"


FORGED = told(RESULT, **{**ENDED, "exit": 0})


def test_what_a_program_prints_is_never_a_record() -> None:
    honest = PARTS[:2] + printed(OUTPUT, 1, FORGED * 3) + PARTS[-1:]
    found, problem = told_by(b"".join(honest))
    assert (len(found), problem) == (4, None)
    assert json.loads(found[-1][1])["exit"] == 1


def test_behind_damage_a_printed_record_is_not_looked_for(tmp_path: Path) -> None:
    """Any one byte is wrong, in the record or before it: the run may be lost, but what it printed never is its end."""
    carrier = b"".join(PARTS[:2] + printed(OUTPUT, 1, FORGED * 2) + PARTS[-1:])
    path = tmp_path / "a-1.log"
    for at in range(len(carrier)):
        data = bytearray(carrier)
        data[at] ^= 0xFF
        path.write_bytes(data)
        gathered = read(str(path), RUN)
        end = None if gathered is None else gathered.end
        assert end is None, f"byte {at}"


def test_long_output_is_several_records_of_one_stream() -> None:
    data = bytes(range(256)) * 8000
    parts = printed(OUTPUT, 2, data)
    assert [len(part) - HEAD_BYTES <= PAYLOAD_BYTES_MAX for part in parts] == [True] * 3
    gathered = Gathered(RUN)
    for kind, payload, _ in records(b"".join(parts)):
        gathered.take(kind, payload)
    assert (bytes(gathered.head[0]), bytes(gathered.head[1])) == (b"", data)
    assert printed(OUTPUT, 1, b"") == []


# ── the page


def test_the_example_of_the_page_is_a_record() -> None:
    shown = re.search(r"^((?:[0-9a-f]{2} )+[0-9a-f]{2})$", PAGE, re.MULTILINE)
    assert shown
    assert printed(OUTPUT, 1, b"hello\n") == [bytes.fromhex(shown[1])]


def test_the_page_has_every_kind_and_number() -> None:
    kinds = dict(re.findall(r"^\| (\d) \| `([A-Z]+)` \|", PAGE, re.MULTILINE))
    known = {"OPENED": OPENED, "STARTED": STARTED, "OUTPUT": OUTPUT, "TAIL": TAIL, "RESULT": RESULT, "CLEARED": CLEARED}
    known["EVENT"] = EVENT
    assert kinds == {str(number): name for name, number in known.items()}
    assert f"at most {PAYLOAD_BYTES_MAX:,}" in PAGE
    assert f"| 2 | version | {VERSION} |" in PAGE
    assert f"passed {SPOOL_BYTES // 1024**2} MiB" in PAGE
    assert f"{KEPT_BYTES_MAX // 2 // 1024} KiB at most; `TAIL`" in PAGE
    assert f"more than {EVENTS_BYTES_MAX // 1024**2} MiB" in PAGE


def test_what_an_agent_tells_is_gathered_and_what_says_nothing_is_no_damage() -> None:
    gathered = Gathered(RUN)
    assert gathered.work is None
    for line in (
        b'{"kind": "model", "turn": 1, "input": 5}',
        b"no JSON",
        b"[1]",
        b"7",
        b"\xff",
        b"[" * 100_000,
        b"9" * 9000,
    ):
        gathered.take(EVENT, line)
    assert gathered.work is not None
    assert (gathered.work.turns, gathered.work.tokens, gathered.work.how) == (1, 5, None)
    gathered.take(EVENT, b'{"kind": "end", "how": "done"}')
    gathered.take(RESULT, json.dumps(ENDED).encode())
    assert gathered.work.how == "done"


def written_by(folder: Path) -> dict[str, set[tuple[str, ...]]]:
    """The keys with which the shim's code writes each kind of record."""
    calls = (
        node
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "told"
    )
    found: dict[str, set[tuple[str, ...]]] = {}
    for call in calls:
        keys = tuple(str(keyword.arg) for keyword in call.keywords)
        found.setdefault(ast.unparse(call.args[0]), set()).add(keys)
    return found


def test_the_page_has_every_key_that_is_written() -> None:
    written = written_by(Path(spool.__file__).parent)
    table = PAGE.split("`RESULT` of a run that ended:")[1].split("A run that could not be started")[0]
    keys = [key for cell in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)]
    assert sorted(keys) == sorted(ENDED)
    assert {tuple(sorted(each)) for each in written["RESULT"]} == {tuple(sorted(keys)), ("errno", "refused", "run")}
    for kind in ("OPENED", "STARTED", "CLEARED"):
        row = re.search(rf"^\| \d \| `{kind}` \| (.*) \|$", PAGE, re.MULTILINE)
        assert row
        (said,) = written[kind]
        assert set(re.findall(r"`([a-z_]+)`", row[1])) == set(said), kind
