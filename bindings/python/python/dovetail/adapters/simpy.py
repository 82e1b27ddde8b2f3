"""A queue for SimPy: what is put in comes out in the order of a policy.

>>> import simpy
>>> from dovetail.adapters.simpy import Queue
>>> env = simpy.Environment()
>>> queue = Queue(env, "drr", flow=lambda item: item[0], size=lambda item: item[1])
>>> _ = [queue.put(item) for item in [("a", 1500), ("a", 1500), ("b", 100)]]
>>> out = []
>>> def server():
...     while True:
...         item = yield queue.get()
...         out.append(item)
...         yield env.timeout(item[1] * 8 / 1e6)
>>> _ = env.process(server())
>>> env.run(until=1)
>>> out
[('a', 1500), ('b', 100), ('a', 1500)]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

try:
    from simpy.core import BoundClass, Environment
    from simpy.resources import base
except ImportError as error:
    raise ImportError("this adapter needs SimPy: pip install 'dovetail-sched[simpy]'") from error

from dovetail import Limits, Scheduler
from dovetail.adapters._flows import Flows, nanoseconds, seconds_until


class _Put(base.Put[Any]):
    """Offers an item; its value is whether it was queued."""

    def __init__(self, queue: Queue, item: Any) -> None:
        self.item = item
        super().__init__(queue)


class _Get(base.Get[Any]):
    """Asks for an item, which is its value."""

    ticket: int | None = None
    """The item's ticket, for ``Queue.feedback``, once it is there."""


class Queue(base.BaseResource[Any, Any]):
    """Items of flows, in the place of a ``simpy.Store``. The environment's time is in seconds.

    ``flow``, ``size`` and ``demand`` say of an item which flow it belongs to, how many bytes it has, and how many seconds it takes
    on each resource; without ``demand``, a byte takes ``8 / rate`` seconds on the only one. ``dropped`` is called with every item
    that is refused or evicted. A ``put`` never waits: its value is whether the item was queued. A ``get`` waits for an item, and
    then has its ``ticket``.
    """

    if TYPE_CHECKING:

        def put(self, item: Any) -> _Put: ...  # type: ignore[override]

        def get(self) -> _Get: ...

    else:
        put = BoundClass(_Put)
        get = BoundClass(_Get)

    def __init__(
        self,
        env: Environment,
        policy: str,
        *,
        flow: Callable[[Any], Hashable],
        size: Callable[[Any], int],
        demand: Callable[[Any], Sequence[float]] | None = None,
        rate: float = 1e9,
        resources: int = 1,
        limits: Limits | None = None,
        weights: Mapping[Hashable, float] | None = None,
        dropped: Callable[[Any], object] | None = None,
    ) -> None:
        if not rate > 0:
            raise ValueError(f"rate: more than 0 bit/s, not {rate}")
        if demand is None and resources != 1:
            raise ValueError(f"resources={resources} needs demand, the seconds that a packet takes on each")
        self.scheduler = Scheduler(policy, resources, limits=limits)
        """Whose figures, weights and knobs are at hand."""
        self._flow, self._size, self._demand = flow, size, demand
        self._seconds_per_byte = 8 / rate
        self._dropped = dropped
        self._flows = Flows()
        self._asks_at: int | None = None
        for name, weight in (weights or {}).items():
            self.scheduler.set_weight(self._flows.number(name), weight)
        super().__init__(env, float("inf"))

    def __len__(self) -> int:
        return len(self.scheduler)

    def feedback(self, flow: Hashable, ticket: int, resource: int, stage: str, took: float) -> None:
        """Tell the policy what happened to an item, where it wants to know: see ``scheduler.interest()``.

        ``ticket`` is that of the ``get`` which brought the item.
        """
        now = nanoseconds(self._env.now)
        self.scheduler.feedback(self._flows.number(flow), ticket, resource, stage, nanoseconds(took), now)
        self._trigger_get(None)

    def forget(self, flow: Hashable) -> bool:
        """Forget an idle flow (nothing queued or in flight), and its weight. Returns whether it was forgotten."""
        number = self._flows.known(flow)
        if number is None or not self.scheduler.forget(number):
            return False
        self._flows.forget(flow)
        return True

    def _do_put(self, event: Any) -> bool:
        item = event.item
        size = self._size(item)
        times = (size * self._seconds_per_byte,) if self._demand is None else self._demand(item)
        demand = tuple(nanoseconds(time) for time in times)
        flow = self._flows.number(self._flow(item))
        queued = self.scheduler.enqueue(flow, size, demand, nanoseconds(self._env.now), item)
        if self._dropped is not None:
            for lost in self.scheduler.evictions():
                self._dropped(lost.handle)
            if not queued:
                self._dropped(item)
        else:
            self.scheduler.evictions()
        event.succeed(queued)
        return True

    def _do_get(self, event: Any) -> bool:
        packet = self.scheduler.dequeue(nanoseconds(self._env.now))
        if packet is None:
            self._ask_again()
            return False
        event.ticket = packet.ticket
        event.succeed(packet.handle)
        return True

    def _ask_again(self) -> None:
        """A policy that holds back says when it is to be asked again."""
        at = self.scheduler.poll_at()
        if at is None or len(self.scheduler) == 0 or at == self._asks_at:
            return
        self._asks_at = at
        wait = self._env.timeout(seconds_until(at, self._env.now))

        def ask(_: Any) -> None:
            self._asks_at = None
            self._trigger_get(None)

        wait.callbacks.append(ask)
