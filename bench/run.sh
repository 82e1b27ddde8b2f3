#!/usr/bin/env bash
# Measures everything on one core, with the peers beside it, and prints one table. Arguments go to the program, see --help.
# bench/run.sh --write also puts the tables and the charts in the place of the last ones in docs/speed.md; with --results FILE...
# behind it, those of parts that were measured before (--only PART --json FILE).
# BENCH_CORE=N pins to another core than 1.
set -euo pipefail
cd "$(dirname "$0")/.."

page=docs/speed.md
write=
if [ "${1:-}" = --write ]; then
    shift
    if [ $# -gt 0 ] && [ "$1" != --results ]; then
        echo "$page has no place for the output of: bench/run.sh $*" >&2
        exit 2
    fi
    write=yes
fi

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
measure() {
    "${pin[@]}" cargo run --quiet --release --package dovetail-bench -- \
        "${peers[@]}" --json bench/results.json --goals bench/goals.txt --chart bench/operations.svg \
        --peers-chart bench/peers.svg --parts-chart bench/parts.svg "$@"
}
if [ -z "$write" ]; then
    measure "$@"
    exit
fi
output=$(mktemp)
trap 'rm -f "$output" "$output.page"' EXIT
measure "$@" | tee "$output"
# put PLACE FILE: whatever is between the place's marker and the next end gives way to the file.
put() {
    awk -v marker="<!-- output: $1 -->" -v output="$2" '
        $0 == marker { print; print "```text"; while ((getline line < output) > 0) { sub(/ +$/, "", line); print line }; print "```"; within = 1; found = 1 }
        $0 == "<!-- end -->" { within = 0 }
        !within { print }
        END { exit !found }
    ' "$page" >"$output.page"
    cat "$output.page" >"$page"
}
put all "$output"
put goals bench/goals.txt
cp bench/operations.svg bench/peers.svg bench/parts.svg docs/img/
echo "written to $page; what it says about these figures is to be read again" >&2
