"""One point, by Dovetail itself: what a worker calls for each.

A sweep takes another function of the same shape where its points are something else, and its tests do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Job:
    """A point as it can be run where it is."""

    scenario: str | None
    #: A path that can be read here.
    capture: str | None
    policy: str
    changes: dict[str, Any]
    seed: int | None
    with_records: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: one row of figures, and perhaps a row for each packet."""

    figures: "pa.Table | dict[str, Any]"
    records: "pa.Table | None" = None


Runner = Callable[[Job], Outcome]


#: Keys of `set` that are options of a run, also where there is no scenario that could have them.
OPTIONS = ("load", "link", "pipeline", "queue_packets", "buffer_packets", "drop", "window")
#: Columns of the simulator's summary that say which run it was, not what it gave: the point says that already, and the names of
#: its inputs are other ones on each node.
_WHICH = ("statistic", "samples", "trace", "version", "inputs", "inputs_sha256")


def simulate(job: Job) -> Outcome:
    """Runs the point in the simulator."""
    import pyarrow as pa

    import dovetail

    options = {key: value for key, value in job.changes.items() if key in OPTIONS}
    overrides = {key: value for key, value in job.changes.items() if key not in OPTIONS}
    result = dovetail.simulate(
        job.scenario,
        [job.policy],
        seed=job.seed,
        overrides=overrides or None,
        records=job.with_records,
        trace=job.capture,
        jobs=1,
        **options,
    )
    summary = pa.table(result.summary)
    summary = summary.drop_columns([name for name in _WHICH if name in summary.column_names])
    return Outcome(summary, pa.table(result.records) if job.with_records else None)
