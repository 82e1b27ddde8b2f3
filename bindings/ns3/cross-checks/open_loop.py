#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same list of packets through every policy in ns-3 and in `dovetail compare`: when does each packet leave?

    open_loop.py [PACKETS]

Nothing reacts in either, so they have to agree to the nanosecond and in what is dropped. Fails where they do not.
"""

import csv
import json
import sys
import tempfile
from pathlib import Path

from common import BUILT, command, run, table

DOVETAIL = command()

# Resources, what lies between them, and how many packets may wait.
SETTINGS = [
    ("link", "no-wait", 100000),
    ("link", "no-wait", 60),
    ("cpu,link", "no-wait", 100000),
    ("cpu,link", "no-wait", 60),
    ("cpu,link", "unbounded", 60),
    ("cpu,link", "buffer=4", 60),
]


def in_ns3(file):
    with open(file, newline="") as lines:
        return {row["packet"]: (row["outcome"], row["departure_ns"]) for row in csv.DictReader(lines)}


def in_dovetail(file):
    with open(file, newline="") as lines:
        rows = {}
        for row in csv.DictReader(lines):
            sent = row["outcome"] == "sent"
            rows[row["packet"]] = (row["outcome"], row["link_end_ns"] if sent else "0")
        return rows


def main():
    packets = sys.argv[1] if len(sys.argv) > 1 else "20000"
    head = ("resources", "pipeline", "buffer", "policies", "packets", "left", "dropped", "at another ns", "refused")
    rows, wrong = [], 0
    for resources, pipeline, buffer in SETTINGS:
        with tempfile.TemporaryDirectory() as work:
            work = Path(work)
            same = [f"--packets={packets}", f"--resources={resources}"]
            run(BUILT / "dovetail-open-loop", *same, f"--list={work}/list.csv")
            size = [f"--pipeline={pipeline}", f"--size={buffer}p"]
            said = run(BUILT / "dovetail-open-loop", *same, *size, f"--departures={work}")
            # A policy that the disc refuses to run in this pipeline has no file.
            policies = [line.split(":")[0] for line in said.splitlines()]
            ran = [policy for policy in policies if (work / f"{policy}.csv").exists()]
            named = [word for policy in ran for word in ("--policy", policy)]
            limits = ["--pipeline", pipeline, "--buffer-packets", buffer, "--records", work / "records", "--json"]
            told = json.loads(run(DOVETAIL, "compare", "--workload", work / "list.csv", *limits, *named))
            left = dropped = other = 0
            for line in told["policies"]:
                ours = in_ns3(work / f"{line['policy']}.csv")
                theirs = in_dovetail(line["records"])
                assert len(ours) == len(theirs) == int(packets), f"{line['policy']}: a packet is missing"
                differing = [packet for packet in ours if ours[packet] != theirs[packet]]
                if differing:
                    first = min(differing, key=int)
                    print(f"{line['policy']}: packet {first}: {ours[first]} in ns-3, {theirs[first]} in Dovetail")
                left += sum(outcome == "sent" for outcome, _ in ours.values())
                dropped += sum(outcome == "dropped" for outcome, _ in ours.values())
                other += len(differing)
            refused = ", ".join(policy for policy in policies if policy not in ran) or "-"
            rows.append((resources, pipeline, buffer, len(ran), packets, left, dropped, other, refused))
            wrong += other
    table(head, rows)
    sys.exit(1 if wrong else 0)


main()
