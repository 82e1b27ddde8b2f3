#!/usr/bin/env bash
# Counts how many instructions a packet takes, and prints them beside the committed ones (reference.toml). --check fails where one
# is more than 3 % over, --write commits the new ones; --help lists the rest. Without valgrind it says so and ends.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --quiet --release --locked --package dovetail-bench-counts
compiler=$(rustc -vV | sed -n '1p; s/^host: //p' | paste -sd ' ')
exec "${CARGO_TARGET_DIR:-target}/release/dovetail-bench-counts" --reference bench/counts/reference.toml --compiler "$compiler" "$@"
