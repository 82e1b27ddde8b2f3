#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long ns-3 takes for 1,000 TCP connections through one link, with its own FIFO and with Dovetail's drr.

    many_flows.py [TIMES]     7 unless given; both in turn, so that what else the machine does meets both

Fails if the median with drr is more than 1.1 times that with FIFO.
"""

import csv
import statistics
import sys

from common import BUILT, run, spread, table

DISCS = ["fifo", "dovetail:fifo", "dovetail:drr"]
MOST = 1.1


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    made = {disc: [] for disc in DISCS}
    for _ in range(times):
        for disc in DISCS:
            lines = run(BUILT / "dovetail-many-flows", f"--disc={disc}").splitlines()
            made[disc].append(next(csv.DictReader(lines)))
    cpu = {disc: [float(row["cpu_s"]) for row in rows] for disc, rows in made.items()}
    base = statistics.median(cpu["fifo"])
    head = ("disc", "CPU s", "of ns-3's fifo", "events", "sent", "dropped")
    lines = []
    for disc, rows in made.items():
        ratio = f"{statistics.median(cpu[disc]) / base:.2f}"
        lines.append((disc, spread(cpu[disc], 2), ratio, rows[0]["events"], rows[0]["sent"], rows[0]["dropped"]))
    table(head, lines)
    ratio = statistics.median(cpu["dovetail:drr"]) / base
    print(f"drr takes {ratio:.2f} times what ns-3's fifo takes: at most {MOST} {'holds' if ratio <= MOST else 'does not hold'}")
    sys.exit(0 if ratio <= MOST else 1)


main()
