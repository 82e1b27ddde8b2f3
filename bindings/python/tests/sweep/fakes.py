"""Runs that are known beforehand, in place of the simulator. Each misbehaves as its scenario says."""

import hashlib
import json
import os
import signal
import time
from pathlib import Path

from dovetail.sweep.runner import Job, Outcome


def canonical(source):
    """A scenario as one text."""
    return source if isinstance(source, str) else json.dumps(source, sort_keys=True)


def run(job: Job) -> Outcome:
    """A figure that everything that decides a point goes into."""
    scenario = json.loads(job.scenario) if job.scenario and job.scenario.startswith("{") else {}
    seed = job.seed or 0
    time.sleep(scenario.get("sleep_s", 0))
    if seed in scenario.get("poison", []):
        raise ValueError(f"seed {seed} is poison")
    if seed in scenario.get("deadly", []):
        os.kill(os.getpid(), signal.SIGKILL)
    if once := scenario.get("deadly_once"):
        # The first worker that gets this seed dies of it, and leaves a note.
        if seed == once["seed"] and not Path(once["note"]).exists():
            Path(once["note"]).write_text("died")
            os.kill(os.getpid(), signal.SIGKILL)
    if log := scenario.get("log"):
        with open(log, "a") as file:
            file.write(f"{job.policy} {seed} {os.getpid()}\n")
    content = Path(job.capture).read_bytes() if job.capture else b""
    decided = json.dumps([job.scenario, job.policy, job.changes, job.seed]).encode() + content
    digest = hashlib.sha256(decided).digest()
    figures = {"p99": int.from_bytes(digest[:4]) / 2**32, "sent": int.from_bytes(digest[4:6]), "wall_s": time.time()}
    records = None
    if job.with_records:
        import pyarrow as pa

        records = pa.table({"packet": [0, 1], "outcome": ["sent", "dropped"]})
    return Outcome(figures, records)


def points(**more):
    """A small grid over one scenario."""
    scenario = {"name": "fake", **more.pop("scenario", {})}
    return {"scenario": scenario, "policy": ["drfq", "fifo"], "seed": "1..40", **more}
