#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""ATFQ's box in ns-3: a CPU before the link, flows that always have packets beside TCP connections.

    cpu.py [SECONDS]      3 unless given: how long is measured

The first rows are those of `dovetail compare` with the scenario atfq-fig9, which has the same box.
"""

import csv
import json
import sys

from common import BUILT, command, run, table

DOVETAIL = command()

POLICIES = ["drr", "drfq", "atfq", "tradeoff"]
SETTINGS = [("backlogged", "no-wait"), ("tcp", "no-wait"), ("tcp", "buffer=64")]


def in_dovetail():
    named = [word for policy in POLICIES for word in ("--policy", policy)]
    told = json.loads(run(DOVETAIL, "compare", "atfq-fig9", "--json", *named))
    for line in told["policies"]:
        used = line["utilisation"]
        rate, jain = line["throughput_mbps"], line["fairness"]["jain_dominant"]
        policy = line["policy"].split(":")[0]
        yield ("Dovetail", "backlogged", "no-wait", policy, used["cpu"] * 100, used["link"] * 100, rate, jain, line["dropped"])


def in_ns3(transport, pipeline, policy, seconds):
    given = [f"--policy={policy}", f"--transport={transport}", f"--pipeline={pipeline}", f"--seconds={seconds}"]
    row = next(csv.DictReader(run(BUILT / "dovetail-cpu", *given).splitlines()))
    figures = [float(row[name]) for name in ("cpu_percent", "link_percent", "mbps", "jain")]
    return ("ns-3", transport, pipeline, policy, *figures, int(row["dropped"]))


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "3"
    rows = list(in_dovetail())
    rows += [in_ns3(*setting, policy, seconds) for setting in SETTINGS for policy in POLICIES]
    shown = [(*row[:4], *(f"{figure:.1f}" for figure in row[4:7]), f"{row[7]:.3f}", row[8]) for row in rows]
    table(("in", "flows", "pipeline", "policy", "cpu %", "link %", "Mbit/s", "Jain", "dropped"), shown)


main()
