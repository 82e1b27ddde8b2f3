"""Sweeps: scenarios × policies × seeds × captures, on the cores of this machine or the workers of a cluster.

    >>> results = dovetail.sweep("grid.toml", out="results")
    >>> results.summary("latency_us.p99")

What a grid says is in `grid.py`, who runs it in `engine.py`, what is kept in `store.py`, and the loop between them in
`coordinator.py`. This package can be called, so that `dovetail.sweep(…)` and `dovetail.sweep.load(…)` are both right.
"""

import sys
from types import ModuleType
from typing import Any

from .errors import EngineError, GridError, StoreError, SweepError
from .run import sweep

__all__ = ["EngineError", "GridError", "StoreError", "SweepError", "load", "sweep"]


def load(folder: Any) -> Any:
    """The results in a sweep's folder: `results.load`."""
    try:
        from . import results
    except ImportError as error:
        raise SweepError(f"results are read by pyarrow: pip install 'dovetail-sched[sweep]' ({error})") from error
    return results.load(folder)


class _Callable(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        return sweep(*args, **options)


sys.modules[__name__].__class__ = _Callable
