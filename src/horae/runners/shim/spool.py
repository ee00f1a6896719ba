"""The spool: what a shim has seen and nobody may have collected yet, as records in a file that is only appended to.

    magic "Hs" | version | kind | length | CRC-32 | payload          (docs/spool.md)

A record counts only when it is whole and its checksum holds. What is cut off at the end is *torn*: its writer died in the
middle of it, or is still at it. What is whole and wrong is *damaged*, and nothing behind it is believed: a program may
print what looks like a record, so nobody may look for the next one inside of what was printed.
Output is raw bytes, so that binary output survives; all other payloads are JSON.
"""

from __future__ import annotations

import json
import struct
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

WRITTEN, ENDED = b".", b"!"  # what goes over the socket whenever something was written, and with a run's last record
MAGIC = b"Hs"
VERSION = 1
OPENED, STARTED, OUTPUT, TAIL, RESULT, CLEARED, EVENT = 1, 2, 3, 4, 5, 6, 7
PAYLOAD_BYTES_MAX = 960 * 1024  # no record is longer, so that a reader has it in one MiB; what says so is damaged
_HEAD = struct.Struct("<2sBBII")
HEAD_BYTES = _HEAD.size
_JSON = json.JSONEncoder(separators=(",", ":"))


class Damaged(Exception):
    """What lies there is no record, or not as it was written."""


class Newer(Exception):
    """A record of a version that this program does not know: whoever wrote it is newer."""


def frame(kind: int, payload: bytes) -> bytes:
    """One record."""
    head = _HEAD.pack(MAGIC, VERSION, kind, len(payload), 0)
    return _HEAD.pack(MAGIC, VERSION, kind, len(payload), zlib.crc32(payload, zlib.crc32(head))) + payload


def told(kind: int, **values: Any) -> bytes:
    """One record whose payload is JSON."""
    return frame(kind, _JSON.encode(values).encode())


def printed(kind: int, stream: int, data: bytes) -> list[bytes]:
    """What was printed on a stream (1, 2) as `OUTPUT` or `TAIL` records."""
    most = PAYLOAD_BYTES_MAX - 1
    return [frame(kind, bytes((stream,)) + data[at : at + most]) for at in range(0, len(data), most)]


def records(data: bytes, at: int = 0) -> Iterator[tuple[int, bytes, int]]:
    """Every whole record from `at` on: its kind, its payload, and where the next one begins.

    Stops before one that is torn: there may be more of it later. Raises Damaged, Newer.
    """
    while len(data) - at >= HEAD_BYTES:
        magic, version, kind, length, crc = _HEAD.unpack_from(data, at)
        end = at + HEAD_BYTES + length
        if magic != MAGIC or length > PAYLOAD_BYTES_MAX:
            raise Damaged(f"no record begins at byte {at}")
        if end > len(data):
            return
        payload = data[at + HEAD_BYTES : end]
        if crc != zlib.crc32(payload, zlib.crc32(_HEAD.pack(magic, version, kind, length, 0))):
            raise Damaged(f"the checksum of the record at byte {at} does not hold")
        if version > VERSION:
            raise Newer(f"the record at byte {at} has version {version}; this program knows {VERSION}")
        yield kind, payload, end
        at = end
