"""A sweep from its grid to its results: what `dovetail.sweep()` and the command both call."""

import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from . import grid as grids
from .columns import check, missing
from .coordinator import Coordinator, Tally, lost
from .engine import Engine, ExecutorEngine
from .errors import EngineError
from .progress import Bar, Progress, Quiet
from .runner import Runner, simulate
from .scenarios import Canonical, canonical_by_dovetail
from .work import version

_MAX_GRID_CHARS = 1_000_000


def sweep(
    grid: str | Path | dict[str, Any],
    *,
    out: str | Path,
    client: Any = None,
    jobs: int | None = None,
    resume: bool = False,
    records: bool = False,
    progress: bool | Progress = True,
    runner: Runner = simulate,
    canonical: Canonical = canonical_by_dovetail,
) -> Any:
    """Runs every point of a grid and returns the results, which are also in the folder `out`.

    `client` is a Dask client or any `concurrent.futures.Executor`; without one, `jobs` worker processes are started here, as many
    as there are cores. `resume` continues what is in `out`: points that have a result are not run again.
    """
    conduct(grid, out=out, client=client, jobs=jobs, resume=resume, records=records, progress=progress, runner=runner,
            canonical=canonical)
    # Only here: it needs pyarrow, and where that is missing, `conduct` has said so.
    from .results import load

    return load(out)


def conduct(
    grid: str | Path | dict[str, Any],
    *,
    out: str | Path,
    client: Any = None,
    jobs: int | None = None,
    resume: bool = False,
    records: bool = False,
    progress: bool | Progress = True,
    runner: Runner = simulate,
    canonical: Canonical = canonical_by_dovetail,
    told: Callable[[Engine], None] | None = None,
    columns: Sequence[str] = (),
) -> Tally:
    """The same, but does not read the results back. `told` gets the engine once it is there. `columns` are to be shown afterwards:
    axes that the grid does not have are refused, and what the first results do not have is reported."""
    _refuse_a_worker()
    try:
        from .encoding import schema
        from .store import Store
    except ImportError as error:
        raise EngineError(f"results are written by pyarrow: pip install 'dovetail-sched[sweep]' ({error})") from error

    shown = (Bar() if progress else Quiet()) if isinstance(progress, bool) else progress
    points = grids.read(grid, canonical)
    axes = points.axes
    if not resume:
        # Otherwise another grid's results may be there, with other axes.
        check(columns, axes)
    made_by = version()
    store = Store.open(Path(out), _description(grid, points.size, made_by, records), resume)
    try:
        seen = store.done()
        already = sum(point.key(made_by) in seen for point in points) if seen else 0
        # Results of other grids stay.
        store.expect(points.size + len(seen) - already)
        engine = _engine(client, jobs, runner)
        if told:
            told(engine)
        coordinator = Coordinator(engine, store, shown, made_by, records, lambda first: [*missing(columns, axes, schema(first))])
        shown.begin(points.size, already)
        try:
            return coordinator.run(iter(points), seen, points.size, already)
        except EngineError as error:
            raise EngineError(lost(error, coordinator.tally)) from error
        finally:
            shown.end()
    except BaseException:
        store.abandon()
        raise
    finally:
        store.close()


def _refuse_a_worker() -> None:
    """Ends a worker process that imports the script that started it, and so comes here: it would start workers of its own."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        # The process that started it says why; a traceback of each worker would bury that.
        raise SystemExit(1)


def _engine(client: Any, jobs: int | None, runner: Runner) -> Engine:
    if isinstance(client, Executor):
        return ExecutorEngine(client, runner)
    from . import dask_engine

    if client is not None:
        return dask_engine.DaskEngine(client, runner)
    return dask_engine.DaskEngine(dask_engine.local(jobs or len(os.sched_getaffinity(0))), runner, is_ours=True)


def _description(grid: Any, size: int, made_by: str, records: bool) -> dict[str, Any]:
    from .encoding import FORMAT

    return {"format": int(FORMAT), "version": made_by, "with_records": records, "points": size, "grid": _text(grid)}


def _text(grid: Any) -> str | None:
    """The grid as it was given, if it is a text of modest size."""
    if isinstance(grid, dict):
        text = json.dumps(grid, default=str)
    elif isinstance(grid, str) and "\n" in grid:
        text = grid
    elif Path(grid).suffix == ".parquet" or Path(grid).stat().st_size > _MAX_GRID_CHARS:
        return None
    else:
        text = Path(grid).read_text(encoding="utf-8")
    return text if len(text) <= _MAX_GRID_CHARS else None
