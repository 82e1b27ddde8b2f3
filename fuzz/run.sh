#!/bin/sh
# Runs every fuzz target for SECONDS each (default 60), from the seeds and what earlier runs found.
#
#   fuzz/run.sh [SECONDS] [TARGET...]
#
# Needs a C++ compiler for libFuzzer, and nothing else: coverage is instrumented with flags that stable Rust has.
# `cargo fuzz run TARGET` works too where cargo-fuzz and a nightly toolchain are, and adds the address sanitizer.
# The exit status is that of the first target that failed; its input is in fuzz/artifacts/TARGET.
set -eu
cd "$(dirname "$0")"
seconds=${1:-60}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- capture csv scenario policy gateway client_hello tcp border

host=$(rustc -vV | sed -n 's/^host: //p')
# With an explicit target, build scripts and procedural macros go without the flags; they could not link with them.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 ${RUSTFLAGS:-}" \
    cargo build --quiet --release --target "$host"

for target; do
    mkdir -p "corpus/$target" "artifacts/$target"
    seeds=seeds/$target
    [ "$target" = scenario ] && seeds=../scenarios
    dict=
    [ -f "seeds/$target.dict" ] && dict=-dict=seeds/$target.dict
    echo "fuzzing $target for $seconds s"
    # shellcheck disable=SC2086
    "target/$host/release/$target" "corpus/$target" "$seeds" $dict -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=4096 -max_len=16384 -print_final_stats=1 -verbosity=0 -artifact_prefix="artifacts/$target/"
done
