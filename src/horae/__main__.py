"""`python -m horae`."""

from __future__ import annotations

import sys

from horae.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
