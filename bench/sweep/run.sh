#!/usr/bin/env bash
# Measures a sweep on two workers beside xargs -P2 of the plain command, kills what can be killed, and prints one table.
# Arguments go to the program, see --help.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=bench/.venv-sweep
[ -d "$venv" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet './bindings/python[sweep]' psutil
cargo build --release --package dovetail-cli
"$venv/bin/python" bench/sweep/measure.py --dovetail target/release/dovetail "$@"
