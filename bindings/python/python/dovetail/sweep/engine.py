"""Who runs batches: any `concurrent.futures.Executor`, or Dask (`dask_engine.py`).

An engine takes batches, and its futures call back when they end. Dask survives the death of a worker and says so; most executors
do not, and then what is stored is kept and the sweep is to be resumed.
"""

import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from typing import Any, Protocol

from . import work
from .captures import Capture
from .errors import EngineError
from .runner import Runner
from .work import Batch, Done, Missing


class WorkerKilled(Exception):
    """The batch ended every worker that it was given to; perhaps one of its points did."""


class Ticket(Protocol):
    """A future."""

    def add_done_callback(self, callback: Callable[[Any], object], /) -> object: ...


class Engine(Protocol):
    """Runs batches elsewhere."""

    def workers(self) -> int:
        """How many batches run at once, now."""

    def submit(self, batch: Batch) -> Ticket:
        """Gives the batch to a worker."""

    def result(self, ticket: Any) -> Done | Missing:
        """What became of it; it has ended. Raises WorkerKilled or EngineError."""

    def send(self, missing: Missing, capture: Capture) -> None:
        """Brings a capture to a worker's node. Called in a thread of its own."""

    def check(self) -> None:
        """Raises EngineError when nothing that was submitted can end any more."""

    def close(self) -> None:
        """Gives up what is still running, and ends what the engine has started itself."""


class ExecutorEngine:
    """Batches on the executor of a caller, who also ends it."""

    def __init__(self, executor: Executor, runner: Runner) -> None:
        self._executor = executor
        self._runner = runner
        self._pending: set[Any] = set()

    def workers(self) -> int:
        return int(getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1)

    def submit(self, batch: Batch) -> Ticket:
        try:
            ticket = self._executor.submit(work.run, batch, self._runner)
        except BrokenExecutor as error:
            raise _broken(error) from error
        except RuntimeError as error:
            raise EngineError(f"the executor takes no more work: {error}") from error
        self._pending.add(ticket)
        return ticket

    def result(self, ticket: Any) -> Done | Missing:
        self._pending.discard(ticket)
        try:
            found: Done | Missing = ticket.result()
            return found
        except BrokenExecutor as error:
            raise _broken(error) from error
        except CancelledError as error:
            raise EngineError("the executor was shut down: continue with --resume (resume=True)") from error
        except Exception as error:
            raise unable(error) from error

    def send(self, missing: Missing, capture: Capture) -> None:
        raise EngineError(f"a worker on {missing.node} cannot read {capture.path}, and files cannot be sent through an "
                          "executor: put it where workers can read it, or use Dask")

    def check(self) -> None:
        """An executor's futures always end."""

    def close(self) -> None:
        for ticket in self._pending:
            ticket.cancel()


def unable(error: Exception) -> EngineError:
    """Of an exception that concerns all points."""
    if isinstance(error, EngineError):
        return error
    if isinstance(error, ImportError):
        return EngineError(f"workers cannot run this: {error}: install dovetail-sched[sweep] where they are")
    return EngineError(f"a worker could not run its batch: {type(error).__name__}: {error}")


def _broken(error: BaseException) -> EngineError:
    return EngineError(f"the executor lost a worker process, and with it all of them ({error}): what is stored is kept; continue "
                       "with --resume (resume=True), or use Dask, which goes on without the one")
