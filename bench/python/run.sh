#!/usr/bin/env bash
# What a packet and a run cost from Python, beside ns.py and SimPy; arguments go to speed.py. Needs Python from 3.11 on.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=target/bench-python
"${PYTHON:-python3}" -m venv "$work"
"$work/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' 'numpy>=1.26' 'ns.py>=0.4' 'simpy>=4'
rm -rf "$work/wheels"
PATH="$PWD/$work/bin:$PATH" maturin build --manifest-path bindings/python/Cargo.toml \
  --profile "${DOVETAIL_PYTHON_PROFILE:-release}" --target-dir target --out "$work/wheels" --compatibility linux
"$work/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$work"/wheels/*.whl
"$work/bin/python" bench/python/speed.py "$@"
