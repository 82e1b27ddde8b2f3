"""What runs at a worker: a batch of points, one after the other.

A point's error is its result and does not concern the others. A batch ends early once it has taken its time, and gives back the
points that it did not come to, so the coordinator need not know how long points take. Results are written as Parquet here, so the
coordinator only has to put the bytes on disk.
"""

import time
from dataclasses import dataclass, field
from typing import Any

from . import node
from .captures import Capture
from .errors import EngineError
from .points import Point
from .runner import Job, Runner

#: Records of this size end a batch, so that a batch with records fits into memory.
_MAX_RECORD_BYTES = 32 << 20
#: Figures that differ between equal runs: they are kept with the times.
WALL_FIGURES = ("wall_s",)
_ERROR_LETTERS = 4000


@dataclass(frozen=True, slots=True)
class Batch:
    """Points that go to a worker together."""

    points: list[Point]
    version: str
    #: After this long, no further point is begun.
    seconds: float
    with_records: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """Captures that this node does not have; nothing was run."""

    captures: list[Capture]
    node: str
    #: The worker's address, where its engine has addresses.
    address: str | None


@dataclass(slots=True)
class Done:
    """What became of a batch."""

    #: Parquet of the points that have a result, and of those that failed; empty where there are none.
    results: bytes = b""
    failures: bytes = b""
    wall: bytes = b""
    #: Path below the folder of records, and Parquet.
    records: list[tuple[str, bytes]] = field(default_factory=list)
    finished: int = 0
    failed: int = 0
    #: How many of the batch's last points were not begun.
    left: int = 0
    seconds: float = 0.0
    first_error: str | None = None


def run(batch: Batch, runner: Runner) -> Done | Missing:
    """Runs what there is time for."""
    _check_version(batch.version)
    paths: dict[str, str] = {}
    missing: dict[str, Capture] = {}
    for capture in (point.capture for point in batch.points):
        if capture and capture.digest not in paths and capture.digest not in missing:
            if path := node.locate(capture):
                paths[capture.digest] = path
            else:
                missing[capture.digest] = capture
    if missing:
        return Missing(list(missing.values()), node.name(), _address())
    return _run(batch, runner, paths)


def _run(batch: Batch, runner: Runner, paths: dict[str, str]) -> Done:
    from . import encoding

    done = Done()
    results, failures, wall = [], [], []
    record_bytes, start = 0, time.perf_counter()
    for at, point in enumerate(batch.points):
        if at and (time.perf_counter() - start > batch.seconds or record_bytes > _MAX_RECORD_BYTES):
            done.left = len(batch.points) - at
            break
        key, begun = point.key(batch.version).hex(), time.perf_counter()
        row = {"key": key, **point.columns()}
        try:
            outcome = runner(_job(point, paths, batch.with_records))
            figures, apart = encoding.figures(outcome.figures, WALL_FIGURES)
            if outcome.records is not None:
                content = encoding.records(outcome.records, key)
                done.records.append((encoding.record_path(point, key), content))
                record_bytes += len(content)
            results.append((row, figures))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # A panic in Rust is no Exception.
            message = _message(error)
            failures.append({**row, "error": message})
            done.first_error = done.first_error or message
            apart = {}
        wall.append({"key": key, "point_s": time.perf_counter() - begun, "node": node.name(), **apart})
    done.finished, done.failed = len(results), len(failures)
    done.results = encoding.results(results) if results else b""
    done.failures = encoding.rows(failures) if failures else b""
    done.wall = encoding.rows(wall)
    done.seconds = time.perf_counter() - start
    return done


def _job(point: Point, paths: dict[str, str], with_records: bool) -> Job:
    return Job(
        scenario=point.scenario.text if point.scenario else None,
        capture=paths[point.capture.digest] if point.capture else None,
        policy=point.policy,
        changes=dict(point.changes),
        seed=point.seed,
        with_records=with_records,
    )


def _message(error: BaseException) -> str:
    text = str(error) if isinstance(error, ValueError) and str(error) else f"{type(error).__name__}: {error}"
    return text[:_ERROR_LETTERS]


def version() -> str:
    """Dovetail's version here."""
    import dovetail

    return str(getattr(dovetail, "__version__", "0"))


def _check_version(expected: str) -> None:
    if (here := version()) != expected:
        raise EngineError(f"the worker on {node.name()} has Dovetail {here}, the coordinator {expected}: install the same")


def _address() -> str | None:
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return None


def killed(batch: Batch, why: str) -> Done:
    """What is known of a single point that ends every worker that runs it."""
    from . import encoding

    point = batch.points[0]
    row: dict[str, Any] = {"key": point.key(batch.version).hex(), **point.columns(), "error": why}
    return Done(failures=encoding.rows([row]), failed=1, first_error=why)
