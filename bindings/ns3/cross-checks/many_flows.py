#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long ns-3 takes for 1,000 flows through one link, with its own discs and with Dovetail's.

The same packets arrive under every disc, and other devices have ns-3's FIFO and not its default, FqCoDel. With --tcp the flows are
TCP connections, which send what a disc lets them, and other devices have the default. Exits with 1 if drr takes more than 1.1
times what ns-3's FIFO takes. Further options go to the program.
"""

import argparse
import csv
import re
import statistics
import subprocess
import sys

from common import BUILT, run, spread, table

PARSER = argparse.ArgumentParser(description=__doc__.partition("\n")[0], epilog=__doc__.partition("\n\n")[2])
PARSER.add_argument("times", nargs="?", type=int, default=7, help="rounds, all discs in turn [default: 7]")
PARSER.add_argument("--tcp", action="store_true", help="TCP connections instead of the same packets")
PARSER.add_argument("--discs", default="fq-codel,fq-cobalt,dovetail:fifo,dovetail:drr", help="beside fifo [default: %(default)s]")
PARSER.add_argument("--instructions", action="store_true",
                    help="count instructions of the first three seconds by valgrind: the same however busy the machine is")
ARGS, OPTIONS = PARSER.parse_known_args()
OPTIONS += [] if ARGS.tcp else ["--transport=udp", "--others=fifo"]
DISCS = ["fifo", *ARGS.discs.split(",")]
MAX_RATIO = 1.1


def row_of(lines):
    """What the program printed."""
    return next(csv.DictReader(lines))


def in_seconds(times):
    """A run's rows, and the median of processor time with its spread, by disc."""
    made = {disc: [] for disc in DISCS}
    for _ in range(times):
        for disc in DISCS:
            made[disc].append(row_of(run(BUILT / "dovetail-many-flows", f"--disc={disc}", *OPTIONS).splitlines()))
    for disc, rows in made.items():
        seconds = [float(row["cpu_s"]) for row in rows]
        yield disc, rows[0], statistics.median(seconds), spread(seconds, 2)


def in_instructions():
    """The same with the instructions of the whole program, which take minutes to count."""
    for disc in DISCS:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        command += [str(BUILT / "dovetail-many-flows"), f"--disc={disc}", "--seconds=3", *OPTIONS]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        counted = int(re.search(r"Collected : (\d+)", done.stderr)[1])
        yield disc, row_of(done.stdout.splitlines()), counted, f"{counted / 1e9:.2f}"


def main():
    measured = list(in_instructions() if ARGS.instructions else in_seconds(ARGS.times))
    took = {disc: median for disc, _, median, _ in measured}
    ratios = {disc: took[disc] / took["fifo"] for disc in DISCS}
    head = ("disc", "10^9 instructions" if ARGS.instructions else "CPU s", "of ns-3's fifo", "events", "sent", "dropped")
    lines = [
        (disc, shown, f"{ratios[disc]:.2f}", row["events"], row["sent"], row["dropped"])
        for disc, row, _, shown in measured
    ]
    table(head, lines)
    ratio = ratios.get("dovetail:drr")
    if ratio is None:
        return
    print(f"drr takes {ratio:.2f} times what ns-3's fifo takes: at most {MAX_RATIO} {'holds' if ratio <= MAX_RATIO else 'does not hold'}")
    sys.exit(0 if ratio <= MAX_RATIO else 1)


main()
