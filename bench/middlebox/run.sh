#!/usr/bin/env bash
# Measures what the middlebox carries beside the kernel's bridge, as root, and prints one table. Arguments go to the program,
# see --help. Click's userlevel driver is measured as well with --click click/userlevel/click: where libpcap's headers are
# installed, 'git clone https://github.com/kohler/click && cd click && ./configure --disable-linuxmodule && make -C userlevel' makes
# it. Other work on the machine gets less of it meanwhile. PROGRAM=… is one that is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${PROGRAM:-}" ]; then cargo build --release --package dovetail-bench-middlebox; fi
# A session of its own: where the kernel shares cores out among sessions, this one's niceness is what counts.
exec setsid --wait bash -c '
    { echo -19 >/proc/self/autogroup; } 2>/dev/null || true
    exec nice -n -19 "$@"
' measure "${PROGRAM:-target/release/dovetail-bench-middlebox}" "$@"
