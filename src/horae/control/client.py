"""Ask the gateway: one line of JSON there, one line back."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any

from horae.control.place import socket_path
from horae.errors import Problem, Unavailable, by_code


def ask(home: str, verb: str, args: dict[str, Any], timeout_s: float, number: int = 1) -> dict[str, Any]:
    """The use case's result, or its refusal raised anew. Raises Unavailable when nobody answers in time."""
    path, fd = socket_path(home, number)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(path)
            connection.sendall(json.dumps({"verb": verb, "args": args}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline()
    except OSError as error:
        hint = "see `horae status`; if it is stuck, stop its process and start `horae up` again"
        raise Unavailable(f"the gateway of {home} does not answer ({error or type(error).__name__})", hint) from error
    finally:
        if fd is not None:
            with contextlib.suppress(OSError):
                os.close(fd)
    if not line:
        raise Unavailable(f"the gateway of {home} stopped before it answered", "try again")
    answer = json.loads(line)
    if "error" in answer:
        raise revive(answer["error"])
    return answer["result"]


def revive(error: dict[str, Any]) -> Problem:
    """A refusal that came over the socket, as the exception that it was."""
    problem = by_code(error["code"])(error["message"], error["hint"])
    problem.details = error["details"]
    return problem
