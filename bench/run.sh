#!/usr/bin/env bash
# Measures everything on one core, with the peers beside it, and prints one table. Arguments go to the program, see --help.
# BENCH_CORE=N pins to another core than 1.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=bench/.venv
peers=(--peers "$venv/bin/python")
if ! cmp -s bench/peers/requirements.txt "$venv/installed.txt"; then
    if python3 -m venv "$venv" && "$venv/bin/python" -m pip install --quiet --requirement bench/peers/requirements.txt; then
        cp bench/peers/requirements.txt "$venv/installed.txt"
    else
        echo "ns.py and daytone could not be installed (see above): going on without them" >&2
        peers=()
    fi
fi

cargo build --release --package dovetail-bench

pin=()
if command -v taskset >/dev/null; then
    core=${BENCH_CORE:-$(($(nproc) > 1 ? 1 : 0))}
    pin=(taskset --cpu-list "$core")
else
    echo "no taskset here: not pinned to one core" >&2
fi
exec "${pin[@]}" cargo run --quiet --release --package dovetail-bench -- \
    "${peers[@]}" --json bench/results.json --chart bench/operations.svg "$@"
