"""daytone (Rust, driven by a TOML file): one switch port between two hosts, on one thread.

It may panic and still exit with 0, so its log is searched for that, and what it says it processed is held against what
its sinks counted and what was sent. The time is the one it states, which leaves out its set-up, or on a busy machine
its processor time, if that is less.
"""

import csv
import os
import re
import resource
import subprocess
import sys
import tempfile

import shape

args = shape.arguments()

SWITCH = """
seed = {seed}
edges = [[0, 1]]
hosts = [0, 1]
duration = {duration}
num_threads = 1
log_path = "{folder}"
[switch]
port_rate = {rate}
capacity = 1000000000
weights = {weights}
discipline = "{discipline}"
drop = "TailDrop"
"""
# A flow each, since a set of flows would be spread over both directions.
FLOW = """
[[flow]]
flow_type = "PacketDistribution"
graph = [[0, 1]]
[flow.traffic]
initial_delay = 0.0
duration = {duration}
arr_dist = {{type = "Exp", lambda = {rate}}}
pkt_size_dist = {{type = "Uniform", low = {low}, high = {high}}}
"""


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(seed):
    """Packets and seconds, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "link.toml")
        with open(path, "w") as file:
            file.write(
                SWITCH.format(
                    seed=seed,
                    duration=args.duration,
                    folder=folder,
                    rate=shape.LINK_BPS,
                    weights=[1] * args.flows,
                    discipline=args.discipline,
                )
            )
            flow = FLOW.format(
                duration=args.duration, rate=args.rate_per_flow, low=shape.MIN_BYTES, high=shape.MAX_BYTES
            )
            file.write(flow * args.flows)
        program = os.path.join(os.path.dirname(sys.executable), "daytone")
        before = processor_seconds()
        done = subprocess.run(
            [program, path], env={**os.environ, "RUST_LOG": "info"}, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        processor = processor_seconds() - before
        log = done.stdout + done.stderr
        if done.returncode != 0 or "panicked" in log:
            why = next((line for line in log.splitlines() if "called `Result" in line or "panicked" in line), "no log")
            return f"it crashed with exit status {done.returncode}: {why}"
        said = re.search(r"Total packets processed: (\d+)", log)
        took = re.search(r"Elapsed wall-clock time: ([0-9.]+) seconds", log)
        if not said or not took:
            return "its log does not say what it did"
        with open(os.path.join(folder, "sinks.csv"), newline="") as file:
            counted = sum(int(row["received_packets"]) for row in csv.DictReader(file))
        if counted != int(said[1]):
            return f"it says {said[1]} packets, its sinks {counted}"
        return counted, min(float(took[1]), processor)


for attempt in range(5):
    outcome = run(args.seed + 1000 * attempt)
    if not isinstance(outcome, str):
        shape.report(*outcome, args)
        break
    print(f"seed {args.seed + 1000 * attempt}: {outcome}", file=sys.stderr)
else:
    raise SystemExit("it never finished")
