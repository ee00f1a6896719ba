#!/bin/sh
# Brings .venv to exactly what a lock file says, and Horae itself into it, editable: tools/install.sh requirements.lock
# Everything is compiled to bytecode here and now: uv does not do it by itself, some machines forbid Python to do it
# later, and without it every start of `horae` would compile everything again.
set -eu
lock=$1
python=.venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 UV_COMPILE_BYTECODE=1
export UV_CACHE_DIR="$PWD/.cache/uv" PIP_CACHE_DIR="$PWD/.cache/pip" # nothing is written outside this folder

if ! $python -c '' 2>/dev/null; then
    found=$(tools/find-python.sh)
    rm -rf .venv
    "$found" -m venv .venv
fi

if $python -m pip install -q --require-hashes -r requirements-uv.lock; then
    uv="$python -m uv"
    $uv pip sync -q --python $python --require-hashes "$lock"
    $uv pip install -q --python $python --no-deps --no-build-isolation --editable .
else
    echo 'There is no uv for this machine; pip does it, more slowly.' >&2
    $python -m pip install -q --compile --require-hashes -r "$lock"
    $python -m pip install -q --no-deps --no-build-isolation --editable .
fi
