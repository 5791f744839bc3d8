#!/bin/sh
# Make a virtual environment from requirements.lock: setup.sh DIRECTORY. Called by `make setup`.
# PYTHON names the interpreter, 3.11 to 3.13 (unset: the first that is found). Every package is pinned and checked by
# its hash.
set -eu

venv=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

fail() {
    printf 'setup: %s\n' "$1" >&2
    exit 1
}

usable() { # is $1 a Python that the project runs on, and that can make virtual environments?
    "$1" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

version() {
    "$1" -c 'import sys; print(*sys.version_info[:2])'
}

set -- python3 python3.13 python3.12 python3.11
[ -z "${PYTHON:-}" ] || set -- "$PYTHON"
python=""
for candidate; do
    if command -v "$candidate" >/dev/null 2>&1 && usable "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    [ -z "${PYTHON:-}" ] || fail "PYTHON=$PYTHON is no Python 3.11, 3.12 or 3.13 that can make virtual
environments (Debian: apt install python3-venv). Name another, or none: make setup"
    fail "no Python 3.11, 3.12 or 3.13 found that can make virtual environments. Install one
(Debian: apt install python3.11 python3.11-venv; macOS: brew install python@3.13),
or name it: make setup PYTHON=/path/to/python3.12"
fi

fits() { # is there an environment of the Python that was asked for?
    [ -x "$venv/bin/python" ] && usable "$venv/bin/python" || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version "$venv/bin/python")" = "$(version "$python")" ]
}

if ! fits; then
    echo "setup: making $venv with $("$python" --version)"
    rm -rf "$venv"
    "$python" -m venv "$venv" ||
        fail "$python could not make $venv (see the message above)"
fi

echo "setup: installing what requirements.lock pins (about 1 GB unpacked; a few minutes the first time)"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/uv.lock" ||
    fail "pip could not install uv: is this machine online? (see the message above)"
uv() { VIRTUAL_ENV="$venv" "$venv/bin/uv" "$@"; }
# pyspark comes as source alone. uv makes a wheel of it, 450 MB, only to unpack it: packing it tight takes 10 s.
loose='pyspark:--build-option=--compression=stored'
uv pip install --quiet --compile-bytecode --require-hashes --config-settings-package "$loose" \
    -r "$root/requirements.lock" ||
    fail "the packages of requirements.lock could not be installed (see the message above; then run make setup again)"
uv pip install --quiet --no-deps --no-build-isolation --editable "$root" ||
    fail "the project itself could not be installed into $venv (see the message above)"
# An editable package is compiled by whom first imports it, and by all again where they may not write that down.
"$venv/bin/python" -m compileall -q "$root/services/saffron" ||
    fail "the project's sources could not be compiled (see the message above)"
"$venv/bin/saffron" warm || echo "setup: no kernels are compiled ahead (see above); the first queries will do so" >&2
echo "setup: done. Try: $venv/bin/saffron demo"
