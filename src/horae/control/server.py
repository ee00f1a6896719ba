"""Answer the command line: each request is one use case, run on a thread so that the engine's loop never waits for it.

Only the user that runs the gateway (and root) may connect: the socket's mode says so, and the kernel is asked who is at
the other end. A request is bounded in size; a bug in a use case is answered as such and ends nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import struct
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from horae.control.place import socket_path
from horae.errors import Invalid, NotFound, Problem, Refused
from horae.limits import REQUEST_BYTES_MAX

log = logging.getLogger("horae.control")
Verbs = Mapping[str, Callable[..., Any]]
LOOKS = ("status", "so_far", "metrics", "wake")  # what changes nothing


def _nobody(_pid: int) -> bool:
    return False


@asynccontextmanager
async def serving(
    home: str, number: int, verbs: Verbs, of_run: Callable[[int], bool] = _nobody
) -> AsyncGenerator[None]:
    """Serve the home's n-th socket while the block runs. `verbs` take keyword arguments and return JSON.

    `of_run(pid)` says whether a process belongs to a run: to those only `LOOKS` are answered.
    """
    path, fd = socket_path(home, number)
    with suppress(FileNotFoundError):
        os.unlink(path)  # we hold the lock, so whoever made it is gone
    mask = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(
            lambda r, w: _converse(r, w, verbs, of_run), path, limit=REQUEST_BYTES_MAX
        )
    finally:
        os.umask(mask)
    try:
        yield
    finally:
        server.close()
        with suppress(FileNotFoundError):
            os.unlink(path)
        if fd is not None:
            os.close(fd)


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, verbs: Verbs, of_run: Callable[[int], bool]
) -> None:
    try:
        answer = await _answer(reader, writer, verbs, of_run)
        writer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
        await writer.drain()
    except ConnectionError:
        pass  # whoever asked has gone
    finally:
        writer.close()


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, verbs: Verbs, of_run: Callable[[int], bool]
) -> dict[str, Any]:
    verb = "?"
    try:
        pid, uid = _peer(writer.get_extra_info("socket"))
        if uid not in (None, os.geteuid(), 0):
            raise Refused("this socket belongs to another user", "run the command as the user that runs the gateway")
        try:
            request = json.loads(await reader.readline())
            verb, args = str(request["verb"]), dict(request["args"])
        except (ValueError, KeyError, TypeError) as error:
            raise Invalid(f"the request is not what this socket takes ({error})", None) from error
        if verb not in verbs:
            raise NotFound(
                f"the gateway knows no verb {verb!r}", "the gateway and the command line may be of different versions"
            )
        if pid is not None and verb not in LOOKS and of_run(pid):
            raise Refused(f"`{verb}` is not for runs", "a run may look, but jobs are changed by people")
        return {"result": await asyncio.to_thread(verbs[verb], **args)}
    except Problem as problem:
        return {"error": problem.as_json()}
    except Exception as error:  # the boundary: a fault of one use case must not end the gateway
        log.exception("verb %s failed", verb)
        message = f"{verb}: internal error ({type(error).__name__}: {error})"
        return {
            "error": {
                "code": "problem",
                "message": message,
                "hint": "this is a fault of Horae; the log has the details",
                "details": {},
            }
        }


def _peer(connection: socket.socket) -> tuple[int | None, int | None]:
    """Which process is at the other end, and whose. Elsewhere than on Linux the socket's mode is what there is."""
    if sys.platform != "linux":
        return None, None
    pid, uid, _gid = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    )
    return pid, uid
