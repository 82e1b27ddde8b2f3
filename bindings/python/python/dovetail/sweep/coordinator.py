"""The loop that gives points to workers and keeps what comes back.

It holds two batches for each worker and nothing of what is done, so its memory does not grow with the sweep. Batches end in any
order; points that a batch did not come to go to the next one. A batch that killed its workers is taken apart until the points
that do it are alone, and those are run once more when nothing else runs, before they count as failed.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from .engine import Engine, WorkerKilled
from .errors import EngineError
from .pace import Pace
from .points import Point
from .progress import Progress
from .work import Batch, Done, Missing, killed

if TYPE_CHECKING:
    from .store import Store

_BATCHES_A_WORKER = 2
#: How often the engine is asked whether it is still there.
_TICK_S = 1.0
#: A batch that killed its workers is taken apart into as many.
_PARTS = 32
_SENDERS = 2
_KILLED = "every worker that ran this point died: it is out of memory, or crashes"


@dataclass
class Tally:
    """What a run of the coordinator did."""

    #: Points of the grid, and those that had a result before.
    total: int = 0
    already: int = 0
    finished: int = 0
    failed: int = 0
    seconds: float = 0.0
    first_error: str | None = None


@dataclass
class Coordinator:
    """One sweep on one engine into one store."""

    engine: Engine
    store: "Store"
    progress: Progress
    version: str
    with_records: bool = False
    #: What to say of the first results.
    of_first: Callable[[bytes], list[str]] | None = None
    _pace: Pace = field(default_factory=Pace)
    _again: deque[Point] = field(default_factory=deque)
    _apart: deque[list[Point]] = field(default_factory=deque)
    _suspects: deque[Point] = field(default_factory=deque)
    _pending: dict[Any, Batch] = field(default_factory=dict)
    #: Batches that wait for captures, by what is being sent where.
    _parked: dict[tuple[str, str], list[Batch]] = field(default_factory=dict)
    _ended: SimpleQueue[tuple[Any, Any]] = field(default_factory=SimpleQueue)
    tally: Tally = field(default_factory=Tally)
    _left: int = 0
    _start: float = 0.0
    _is_waiting: bool = False

    def run(self, points: Iterator[Point], seen: set[bytes], total: int, already: int) -> Tally:
        """Runs every point whose key is not in `seen`, which has `already` of the `total`; it grows by those that are run."""
        self._start = time.monotonic()
        self.tally.total, self.tally.already = total, already
        self._left = total - already
        fresh = (point for point in points if self._is_new(point, seen))
        with ThreadPoolExecutor(_SENDERS, "captures") as senders:
            try:
                while True:
                    self._fill(fresh)
                    if not self._pending and not self._parked:
                        break
                    self._take(senders)
            finally:
                self.tally.seconds = time.monotonic() - self._start
                self.engine.close()
        return self.tally

    def _is_new(self, point: Point, seen: set[bytes]) -> bool:
        key = point.key(self.version)
        if key in seen:
            return False
        seen.add(key)
        return True

    def _fill(self, fresh: Iterator[Point]) -> None:
        workers = self.engine.workers()
        self._say_if_waiting(workers)
        while len(self._pending) < _BATCHES_A_WORKER * max(workers, 1):
            batch = self._next(fresh, workers)
            if batch is None:
                return
            self._submit(batch)

    def _next(self, fresh: Iterator[Point], workers: int) -> Batch | None:
        count, seconds = self._pace.batch(time.monotonic() - self._start, self._left, workers)
        if self._apart:
            return self._batch(self._apart.popleft(), seconds)
        points: list[Point] = []
        while len(points) < count:
            point = self._again.popleft() if self._again else next(fresh, None)
            if point is None:
                break
            points.append(point)
        if points:
            return self._batch(points, seconds)
        if self._suspects and not self._pending and not self._parked:
            return self._batch([self._suspects[0]], seconds)
        return None

    def _batch(self, points: list[Point], seconds: float) -> Batch:
        return Batch(points, self.version, seconds, self.with_records)

    def _submit(self, batch: Batch) -> None:
        ticket = self.engine.submit(batch)
        self._pending[ticket] = batch
        ticket.add_done_callback(lambda ended: self._ended.put((ended, None)))

    def _take(self, senders: ThreadPoolExecutor) -> None:
        try:
            ended, sent = self._ended.get(timeout=_TICK_S)
        except Empty:
            self.engine.check()
            return
        if sent is not None:
            try:
                ended.result()
            except OSError as error:
                raise EngineError(f"cannot send a capture: {error}") from error
            for batch in self._parked.pop(sent):
                self._submit(batch)
            return
        batch = self._pending.pop(ended)
        is_alone = bool(self._suspects) and batch.points == [self._suspects[0]] and not self._pending
        try:
            found = self.engine.result(ended)
        except WorkerKilled:
            self._take_apart(batch, is_alone)
            return
        if isinstance(found, Missing):
            self._send(found, batch, senders)
            return
        if is_alone:
            self._suspects.popleft()
        self._keep(batch, found)

    def _keep(self, batch: Batch, done: Done) -> None:
        begun = batch.points[: len(batch.points) - done.left]
        self._again.extend(batch.points[len(begun) :])
        self.store.add([point.key(self.version) for point in begun], done)
        if done.results and self.of_first:
            for line in self.of_first(done.results):
                self.progress.say(line)
            self.of_first = None
        self._pace.learn(len(begun), done.seconds)
        self._left -= len(begun)
        self.tally.finished += done.finished
        self.tally.failed += done.failed
        if done.first_error and not self.tally.first_error:
            self.tally.first_error = done.first_error
            self.progress.say(f"a point failed: {done.first_error}")
        self.progress.advance(done.finished, done.failed)

    def _take_apart(self, batch: Batch, is_alone: bool) -> None:
        points = batch.points
        if is_alone:
            self._suspects.popleft()
            self._keep(batch, killed(batch, _KILLED))
        elif len(points) == 1:
            self._suspects.append(points[0])
        else:
            size = -(-len(points) // _PARTS)
            self._apart.extend(points[at : at + size] for at in range(0, len(points), size))

    def _send(self, missing: Missing, batch: Batch, senders: ThreadPoolExecutor) -> None:
        """Sends one of the captures that are missing, once to each node; the batch asks for the next one by itself."""
        capture = missing.captures[0]
        where = (missing.node, capture.digest)
        if where not in self._parked:
            self._parked[where] = []
            sending: Future[None] = senders.submit(self.engine.send, missing, capture)
            sending.add_done_callback(lambda ended: self._ended.put((ended, where)))
        self._parked[where].append(batch)

    def _say_if_waiting(self, workers: int) -> None:
        if workers == 0 and not self._is_waiting:
            self.progress.say("no workers yet: waiting for one")
        self._is_waiting = workers == 0


def lost(error: EngineError, tally: Tally) -> str:
    """What to say where the engine ended before the sweep."""
    return f"{error} ({tally.already + tally.finished:,} of {tally.total:,} points have results)"
