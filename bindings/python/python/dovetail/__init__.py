"""Fair and efficient scheduling where work needs more than one resource.

The policies and the simulator are those of the command ``dovetail``, in this process:

>>> import dovetail
>>> result = dovetail.simulate("middlebox", ["fifo", "drfq"], overrides={"duration": "100ms"})
>>> result.summary["policy"]
['fifo', 'drfq']

Tables speak Arrow's PyCapsule interface, so ``polars.DataFrame(result.summary)``, ``pyarrow.table(result.summary)`` and DuckDB read
them without a copy.
"""

from dovetail._native import VERSION as __version__
from dovetail._native import Table
from dovetail._simulate import Result, scenario, simulate

__all__ = ["Result", "Table", "__version__", "scenario", "simulate"]
