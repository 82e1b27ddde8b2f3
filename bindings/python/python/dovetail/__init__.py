"""Fair and efficient scheduling where work needs more than one resource.

The policies and the simulator are those of the command ``dovetail``, in this process:

>>> import dovetail
>>> result = dovetail.simulate("middlebox", ["fifo", "drfq"], overrides={"duration": "100ms"})
>>> result.summary["policy"]
['fifo', 'drfq']

Tables speak Arrow's PyCapsule interface, so ``polars.DataFrame(result.summary)``, ``pyarrow.table(result.summary)`` and DuckDB read
them without a copy.
"""

from typing import TYPE_CHECKING

from dovetail._ask import (
    Admissions,
    Answer,
    Comparison,
    Explanation,
    Reproduction,
    Tuning,
    admit,
    compare,
    explain,
    policies,
    reproduce,
    scenarios,
    tune,
)
from dovetail._limits import Limits, Program
from dovetail._native import VERSION as __version__
from dovetail._native import FarQueue, Offer, Packet, RequestScheduler, Scheduler, Table, Turn
from dovetail._policy import Policy
from dovetail._simulate import Result, scenario, simulate

if TYPE_CHECKING:
    from dovetail._sweeps import load, sweep

__all__ = [
    "Admissions",
    "Answer",
    "Comparison",
    "Explanation",
    "FarQueue",
    "Limits",
    "Offer",
    "Packet",
    "Policy",
    "Program",
    "Reproduction",
    "RequestScheduler",
    "Result",
    "Scheduler",
    "Table",
    "Tuning",
    "Turn",
    "__version__",
    "admit",
    "compare",
    "explain",
    "load",
    "policies",
    "reproduce",
    "scenario",
    "scenarios",
    "simulate",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> object:
    """``dovetail.sweep`` and ``dovetail.load``, which are imported when they are first used."""
    if name not in ("sweep", "load"):
        raise AttributeError(f"module 'dovetail' has no attribute '{name}'")
    from importlib import import_module

    package = import_module("dovetail.sweep")
    return package if name == "sweep" else package.load


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
