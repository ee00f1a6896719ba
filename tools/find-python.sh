#!/bin/sh
# Prints the first Python that is new enough and can make a virtual environment. PYTHON=... goes first.
for python in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo 'Horae needs Python 3.11 or newer, with venv. On Debian: apt-get install python3-venv' >&2
exit 1
