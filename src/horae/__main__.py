"""The process: run one command, then leave without the interpreter's own tidying, a tenth of a short command's time."""

from __future__ import annotations

import os
import sys

from horae.cli.main import main as run


def main() -> None:
    """Run the command that argv names and end the process with its exit status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # whoever started us has closed it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    status = run()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # closed, or its reader has gone
    os._exit(status)


if __name__ == "__main__":
    main()
