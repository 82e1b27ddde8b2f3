"""What ``dovetail.sweep`` and ``dovetail.load`` are to type checkers: a package that can be called, and its function.

Only they import this: at run time both are imported when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from dovetail.sweep import errors, run
from dovetail.sweep.results import Results
from dovetail.sweep.results import load as load

_P = ParamSpec("_P")


def _giving_results(function: Callable[_P, object]) -> Callable[_P, Results]:
    """The function's signature, with the type that is imported only when results are read."""
    raise NotImplementedError


class _Sweep:
    EngineError = errors.EngineError
    GridError = errors.GridError
    StoreError = errors.StoreError
    SweepError = errors.SweepError
    load = staticmethod(load)
    sweep = staticmethod(_giving_results(run.sweep))
    __call__ = staticmethod(_giving_results(run.sweep))


sweep: _Sweep
