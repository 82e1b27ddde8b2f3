#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long ns-3 takes for 1,000 flows through one link, with its own discs and with Dovetail's.

    many_flows.py [TIMES]            7 unless given; all in turn, so that what else the machine does meets all
    many_flows.py --instructions     of the first three seconds, counted by valgrind: the same however busy the machine is

Other options go to the program: --transport=udp has the same packets under every disc, --others=fifo no FqCoDel at other devices.
Fails if drr takes more than 1.1 times what ns-3's FIFO takes.
"""

import csv
import re
import statistics
import subprocess
import sys

from common import BUILT, run, spread, table

OPTIONS = [option for option in sys.argv[1:] if option.startswith("--") and option != "--instructions"]
DISCS = ["fifo", "fq-codel", "fq-cobalt", "dovetail:fifo", "dovetail:drr"]
MOST = 1.1


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
    counts = "--instructions" in sys.argv[1:]
    given = [argument for argument in sys.argv[1:] if argument.isdigit()]
    measured = list(in_instructions() if counts else in_seconds(int(given[0]) if given else 7))
    took = {disc: median for disc, _, median, _ in measured}
    ratios = {disc: took[disc] / took["fifo"] for disc in DISCS}
    head = ("disc", "10^9 instructions" if counts else "CPU s", "of ns-3's fifo", "events", "sent", "dropped")
    lines = [
        (disc, shown, f"{ratios[disc]:.2f}", row["events"], row["sent"], row["dropped"])
        for disc, row, _, shown in measured
    ]
    table(head, lines)
    ratio = ratios["dovetail:drr"]
    print(f"drr takes {ratio:.2f} times what ns-3's fifo takes: at most {MOST} {'holds' if ratio <= MOST else 'does not hold'}")
    sys.exit(0 if ratio <= MOST else 1)


main()
