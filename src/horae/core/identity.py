"""Names that follow from what they name, so that the same slot has the same key on every machine and for ever.

The occurrence key is the identity of a slot: it stays when the slot is moved, it is the calendar event's id, and
programs get it as an idempotency key for effects of their own. Run ids follow from key and attempt.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha1
from uuid import UUID

NAMESPACE = UUID("3ac1ead0-9909-5599-8d64-da65c43647dc").bytes
RUN_ID_CHARS = 16  # of a run that a person ordered
KEY_PART = 18  # of a key, in the id of a run: 72 bits, so that ten million runs have no two of the same


def _uuid5(name: str) -> str:
    """`uuid5(NAMESPACE, name).hex`, without building the UUID object: claims make thousands of these."""
    digest = bytearray(sha1(NAMESPACE + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return digest.hex()


def new_job_id(random: bytes) -> str:
    """The id of a new job, from six random bytes: 12 hexadecimal digits, of which the first is a letter.

    In a job file one such as `339825e71072` would read as a number, and have to stand in quotes.
    """
    return "abcdef"[random[0] % 6] + random.hex()[1:]


def slot_key(job_id: str, slot: datetime) -> str:
    """The occurrence key of a scheduled slot: 32 hexadecimal characters."""
    return _uuid5(f"{job_id}@{slot.astimezone(UTC):%Y-%m-%dT%H:%M:%S}+00:00")


def manual_key(job_id: str, run_id: str) -> str:
    """The occurrence key of a run that no slot asked for."""
    return _uuid5(f"{job_id}@{run_id}")


def run_after(run_id: str, job_id: str) -> str:
    """The id of the run that the success of another one orders of a job: always the same, so that it is ordered once."""
    return _uuid5(f"{run_id}>{job_id}")[:RUN_ID_CHARS]


def run_id(key: str, attempt: int) -> str:
    """The id of one attempt at an occurrence: 20 hexadecimal characters, of which a few usually suffice.

    It begins like the key, so that what is claimed together lies together in the database.
    """
    return f"{key[:KEY_PART]}{attempt % 256:02x}"


def provisional_id(slug: str) -> str:
    """The id under which a file is listed that has never been valid and so has none of its own."""
    return sha1(f"file:{slug}".encode(), usedforsecurity=False).hexdigest()[:12]
