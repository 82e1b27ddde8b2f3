"""Batches on Dask distributed: workers of this machine, or those of any scheduler.

Dask gives the batches of a worker that died to another. A batch that several workers died of is reported (`KilledWorker`), and
the coordinator takes it apart.
"""

import itertools
import math
import signal
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from multiprocessing import resource_tracker
from typing import Any

from . import node, work
from .captures import Capture
from .engine import Ticket, WorkerKilled, unable
from .errors import GUARD, EngineError
from .runner import Runner
from .work import Batch, Done, Missing

#: A capture travels in pieces of this size.
_PIECE_BYTES = 4 << 20
_CONNECT_S = "10s"
#: A dashboard that does not answer within this may still be one.
_PAGE_S = 2
#: How long is waited before it is asked whether the other end is still there.
_ANSWER_S = 10
#: Local workers that died are started again, unless this long none is there.
_ALONE_S = 120
#: Workers are counted this often.
_RECOUNT_S = 1.0
#: Whatever proxy the environment names.
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
#: Workers of this machine: one process a core, without statistics of what they run.
_LOCAL = {
    # How often a batch may lose its worker before it is taken apart.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
}


def connect(address: str) -> Any:
    """A client of the scheduler at an address such as tcp://HOST:8786."""
    distributed = _distributed()
    try:
        return distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EngineError(f"cannot reach a Dask scheduler at {address}: {error}") from error


def local(jobs: int) -> Any:
    """A client of a scheduler and worker processes that end with it."""
    distributed = _distributed()
    import dask

    with dask.config.set(_LOCAL), _deaf_children():
        try:
            cluster = distributed.LocalCluster(
                n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
            )
        except RuntimeError as error:
            # Without Dask's own traceback, which would bury what to do.
            raise EngineError(f"the worker processes did not start ({error.__cause__ or error}): {GUARD}") from None
    return distributed.Client(cluster, set_as_default=False)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes and threads that start meanwhile leave Ctrl-C to this thread: a terminal sends it to all, and each would print where
    it was. A Ctrl-C of this time comes at its end."""
    # Where it starts, it lets the signal through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise EngineError("sweeps run on Dask, which is not installed: pip install 'dovetail-sched[sweep]'") from error
    return distributed


class DaskEngine:
    """Batches on the workers of a client."""

    def __init__(self, client: Any, runner: Runner, is_ours: bool = False) -> None:
        if client.status != "running":
            raise EngineError(f"the Dask client is {client.status}: give one that is connected")
        if client.asynchronous:
            raise EngineError("the Dask client is asynchronous: give one that was made without asynchronous=True")
        self._client = client
        self._runner = runner
        self._is_ours = is_ours
        self._name = f"dovetail-sweep-{uuid.uuid4().hex[:8]}"
        self._numbers = itertools.count()
        self._pending: set[Any] = set()
        self._workers, self._counted_at, self._seen_at = 0, -math.inf, time.monotonic()

    def dashboard(self) -> str | None:
        """Where the scheduler's dashboard is. Without bokeh, which may be missing there and not here, its server has no such page."""
        link = str(self._client.dashboard_link or "")
        if not link:
            return None
        try:
            with _DIRECTLY.open(link, timeout=_PAGE_S):
                return link
        except urllib.error.HTTPError as error:
            return None if error.code == HTTPStatus.NOT_FOUND else link
        except (OSError, ValueError):
            # It may be reached from elsewhere.
            return link

    def workers(self) -> int:
        # A round trip to the scheduler.
        if time.monotonic() - self._counted_at > _RECOUNT_S:
            self._workers = sum(self._threads().values())
            self._counted_at = time.monotonic()
            if self._workers:
                self._seen_at = self._counted_at
            elif self._is_ours and self._counted_at - self._seen_at > _ALONE_S:
                raise EngineError("the worker processes are gone and do not come back: continue with --resume (resume=True)")
        return self._workers

    def _threads(self) -> dict[str, int]:
        """Threads by the addresses of workers. A client that is closed during a call does not answer it."""
        self.check()
        try:
            return dict(self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER_S))
        except (OSError, RuntimeError) as error:
            raise self._gone() from error

    def submit(self, batch: Batch) -> Ticket:
        self.check()
        try:
            name = f"{self._name}-{next(self._numbers)}"
            ticket: Ticket = self._client.submit(work.run, batch, self._runner, pure=False, key=name)
        except RuntimeError as error:
            raise self._gone() from error
        self._pending.add(ticket)
        return ticket

    def result(self, ticket: Any) -> Done | Missing:
        from distributed import CancelledError, KilledWorker

        self._pending.discard(ticket)
        try:
            return self._waited(ticket)
        except KilledWorker as error:
            raise WorkerKilled from error
        except CancelledError as error:
            raise self._gone() from error
        except Exception as error:
            # A client that is being closed may raise anything.
            raise (unable(error) if self._client.status == "running" else self._gone()) from error

    def _waited(self, ticket: Any) -> Done | Missing:
        """Results are fetched from the worker, which may have died meanwhile: then the batch is run again."""
        while True:
            try:
                found: Done | Missing = ticket.result(timeout=_ANSWER_S)
            except TimeoutError:
                self.check()
            else:
                return found

    def send(self, missing: Missing, capture: Capture) -> None:
        """Piece by piece to one worker of the node. A worker that dies meanwhile is no error: its batch will ask again."""
        offset = 0
        with open(capture.path, "rb") as file:
            while not offset or offset < capture.bytes:
                piece = file.read(_PIECE_BYTES)
                if not piece and offset < capture.bytes:
                    raise EngineError(f"{capture.path} changed while the sweep ran: start again in another folder")
                if not self._put(missing, capture, offset, piece):
                    return
                offset += max(len(piece), 1)

    def _put(self, missing: Missing, capture: Capture, offset: int, piece: bytes) -> bool:
        """Whether it arrived."""
        from distributed import CancelledError, KilledWorker

        sent = self._client.submit(node.take, capture, self._name, offset, piece, workers=[missing.address],
                                   allow_other_workers=False, pure=False, key=f"{self._name}-{next(self._numbers)}")
        while True:
            try:
                sent.result(timeout=_ANSWER_S)
                return True
            except TimeoutError:
                if missing.address not in self._threads():
                    sent.cancel()
                    return False
            except (CancelledError, KilledWorker):
                return False
            except OSError as error:
                raise EngineError(f"{missing.node} cannot keep {capture.name}: {error}") from error
            except ValueError as error:
                raise EngineError(f"{error}: start again in another folder") from error

    def check(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> EngineError:
        return EngineError(f"the Dask client is {self._client.status}, or its scheduler is gone: "
                           "continue with --resume (resume=True)")

    def close(self) -> None:
        if self._client.status == "running" and self._pending:
            self._client.cancel(list(self._pending))
        if self._is_ours:
            cluster = self._client.cluster
            self._client.close()
            if cluster is not None:
                cluster.close()
