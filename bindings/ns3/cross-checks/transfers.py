#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The DRR-SFF paper's transfers in ns-3, with ns-3's own discs and with Dovetail's, and in Dovetail's own simulator.

    transfers.py [SEEDS]      16 unless given; ten seconds a run, a run for each disc and seed

Every disc of ns-3 meets the same transfers for a seed; those of Dovetail's simulator are drawn by itself, from the same
distributions. A ratio is taken in each run.
"""

import csv
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from common import BUILT, command, run, spread, table

DOVETAIL = command()

# fq-cobalt is the nearest that ns-3 has to CAKE, whose control of delay it runs in queues by flow.
DISCS = ["fifo", "fq-codel", "fq-cobalt", "dovetail:fifo", "dovetail:las", "dovetail:drr-sff"]
# Ratios that the paper draws, by name, column and the two policies.
RATIOS = [
    ("short, drr-sff / fifo", "short_s", "drr-sff", "fifo"),
    ("short, drr-sff / las", "short_s", "drr-sff", "las"),
    ("20 kB to 1 MB, drr-sff / las", "middle_s", "drr-sff", "las"),
    ("over 1 MB, drr-sff / las", "long_s", "drr-sff", "las"),
    ("over 1 MB, drr-sff / fifo", "long_s", "drr-sff", "fifo"),
]


def in_ns3(job):
    """What a run printed. Runs that were made with the same program and module are not made again."""
    disc, seed = job
    program, kept = BUILT / "dovetail-transfers", BUILT / "transfers" / f"{disc.replace(':', '-')}.{seed}.csv"
    made_of = max(built.stat().st_mtime for built in (program, BUILT / "libns3-dovetail.so"))
    if not kept.exists() or kept.stat().st_mtime < made_of:
        printed = run(program, f"--disc={disc}", f"--seed={seed}")
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(printed)
    row = next(csv.DictReader(kept.read_text().splitlines()))
    return {key: value if key == "disc" else float(value) for key, value in row.items()}


def in_dovetail(seed):
    """A row for each policy, as in_ns3() has them, from `dovetail compare`."""
    named = [word for policy in ("fifo", "las", "drr-sff") for word in ("--policy", policy)]
    told = json.loads(run(DOVETAIL, "compare", "drr-sff", "--seed", seed, "--jobs", 1, "--json", *named))
    rows = []
    for line in told["policies"]:
        times = {f"{size}_s": line["transfers"][size]["mean_s"] or math.nan for size in ("short", "middle", "long")}
        rows.append({"disc": line["policy"].split(":")[0], "seed": seed, "dropped": line["dropped"], **times})
    return rows


def without_nan(values):
    return [value for value in values if not math.isnan(value)]


def line_of(where, name, rows):
    """A disc's row of the table of times."""
    column = lambda key, scale: [row[key] * scale for row in rows]
    return (
        where,
        name,
        spread(column("short_s", 1e3), 0),
        spread(column("middle_s", 1), 2),
        spread(without_nan(column("long_s", 1)), 1),
        spread(column("dropped", 1), 0),
    )


def ratio(above, below, key):
    """One disc's times over another's, run by run."""
    return spread(without_nan([a[key] / b[key] for a, b in zip(above, below)]), 2)


def main():
    seeds = range(1, 1 + (int(sys.argv[1]) if len(sys.argv) > 1 else 16))
    jobs = [(disc, seed) for seed in seeds for disc in DISCS]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        made = list(pool.map(in_ns3, jobs))
    rows = {disc: [row for row in made if row["disc"] == disc] for disc in DISCS}
    drawn = [row for seed in seeds for row in in_dovetail(seed)]
    own = {policy: [row for row in drawn if row["disc"] == policy] for policy in ("fifo", "las", "drr-sff")}

    unfinished = sum(row["unfinished"] for row in made)
    assert unfinished == 0, f"{unfinished} transfers have not ended"
    print(f"Mean times in a run, median [least..most] of {len(seeds)} runs")
    head = ("in", "disc", "short ms", "20 kB to 1 MB s", "over 1 MB s", "dropped")
    lines = [line_of("ns-3", disc, rows[disc]) for disc in DISCS]
    lines += [line_of("Dovetail", policy, own[policy]) for policy in own]
    table(head, lines)
    # Equal columns but for the name: equal runs. As text, for a run may have no transfer over 1 MB, and so a mean of none.
    nameless = lambda row: str({**row, "disc": ""})
    same = sum(nameless(theirs) == nameless(ours) for theirs, ours in zip(rows["fifo"], rows["dovetail:fifo"]))
    print(f"runs in which dovetail:fifo gave the figures of ns-3's fifo: {same} of {len(seeds)}")
    print()
    ratios = [
        (what, ratio(rows["dovetail:" + above], rows["dovetail:" + below], key), ratio(own[above], own[below], key))
        for what, key, above, below in RATIOS
    ]
    for native in ("fq-codel", "fq-cobalt"):
        ratios.append((f"short, drr-sff / {native}", ratio(rows["dovetail:drr-sff"], rows[native], "short_s"), "-"))
    table(("ratio", "in ns-3", "in Dovetail"), ratios)
    sys.exit(0 if same == len(seeds) else 1)


main()
