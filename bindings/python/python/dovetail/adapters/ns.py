"""A server for ns.py: in the place of its ``DRRServer``, ``WFQServer`` and the like.

>>> import simpy
>>> from ns.packet.dist_generator import DistPacketGenerator
>>> from ns.packet.sink import PacketSink
>>> from dovetail.adapters.ns import Server
>>> env = simpy.Environment()
>>> server = Server(env, rate=1e6, policy="drfq", weights=[1, 2])
>>> server.out = PacketSink(env)
>>> for flow in range(2):
...     DistPacketGenerator(env, "source", lambda: 0.01, lambda: 1000, finish=1, flow_id=flow).out = server
>>> env.run(until=2)
>>> server.packets_received == server.packets_sent > 0
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from dovetail import Limits, Packet, Scheduler
from dovetail.adapters._flows import Flows, nanoseconds, seconds_until


class Server:
    """A scheduler before a link, or before a pipeline of resources. The environment's time is in seconds.

    ``demand`` says how many seconds a packet takes on each of the ``resources``; packets that leave one wait for the next in the
    order in which they come. Without it, the only resource is a link of ``rate`` bits a second.
    """

    def __init__(
        self,
        env: Any,
        rate: float = 0.0,
        weights: Sequence[float] | Mapping[Hashable, float] | None = None,
        flow_classes: Callable[[Any], Hashable] = lambda packet: packet.flow_id,
        *,
        policy: str = "drfq",
        demand: Callable[[Any], Sequence[float]] | None = None,
        resources: int = 1,
        limits: Limits | None = None,
    ) -> None:
        if demand is None and not rate > 0:
            raise ValueError(f"rate: more than 0 bit/s, not {rate}, or say what packets demand")
        self.env = env
        self.rate = rate
        self.flow_classes = flow_classes
        self.out: Any = None
        self.packets_received = 0
        self.packets_dropped = 0
        self.packets_sent = 0
        if demand is None and resources != 1:
            raise ValueError(f"resources={resources} needs demand, the seconds that a packet takes on each")
        self.scheduler = Scheduler(policy, resources, limits=limits)
        """Whose figures, weights and knobs are at hand."""
        self._demand = demand
        self._flows = Flows()
        self._in_flight: Counter[int] = Counter()
        self._interest = frozenset(self.scheduler.interest())
        self._free_at = [0.0] * resources
        self._served: Any = None
        self._asks_at: int | None = None
        named: Iterable[tuple[Hashable, float]] = ()
        if weights is not None:
            named = weights.items() if isinstance(weights, Mapping) else enumerate(weights)
        for name, weight in named:
            self.scheduler.set_weight(self._flows.number(name), weight)

    def put(self, packet: Any, upstream_update: object = None, upstream_store: object = None) -> bool:
        """Offers a packet: whether it was queued."""
        self.packets_received += 1
        size = round(packet.size)
        times = (size * 8 / self.rate,) if self._demand is None else self._demand(packet)
        flow = self._flows.number(self.flow_classes(packet))
        demand = tuple(nanoseconds(time) for time in times)
        queued = self.scheduler.enqueue(flow, size, demand, nanoseconds(self.env.now), packet)
        self.packets_dropped += len(self.scheduler.evictions()) + (not queued)
        self._serve()
        return queued

    def packet_in_service(self) -> Any:
        """The packet on the first resource."""
        return self._served

    def byte_size(self, queue_id: Hashable) -> int:
        """Bytes of a flow that wait."""
        flow = self._flows.known(queue_id)
        return 0 if flow is None else self.scheduler.backlog(flow)[1]

    def size(self, queue_id: Hashable) -> int:
        """Packets of a flow that wait."""
        flow = self._flows.known(queue_id)
        return 0 if flow is None else self.scheduler.backlog(flow)[0]

    def all_flows(self) -> list[Hashable]:
        """Every flow that was seen and not forgotten."""
        return list(self._flows)

    def total_packets(self) -> int:
        """Packets that wait."""
        return len(self.scheduler)

    def forget(self, queue_id: Hashable) -> bool:
        """Forget an idle flow (nothing queued or in flight), and its weight. Returns whether it was forgotten."""
        flow = self._flows.known(queue_id)
        if flow is None or self._in_flight[flow] or not self.scheduler.forget(flow):
            return False
        del self._in_flight[flow]
        self._flows.forget(queue_id)
        return True

    def _serve(self) -> None:
        """Takes the next packet if the first resource is free."""
        if self._served is not None:
            return
        next_one = self.scheduler.dequeue(nanoseconds(self.env.now))
        if next_one is None:
            self._ask_again()
            return
        self._served = next_one.handle
        self._in_flight[next_one.flow] += 1
        at = self.env.now
        for resource, time_ns in enumerate(next_one.demand_ns):
            start = max(at, self._free_at[resource])
            at = self._free_at[resource] = start + time_ns / 1e9
            self._tell(next_one, resource, "started", start, 0)
            self._tell(next_one, resource, "finished", at, time_ns)
            if resource == 0:
                self._at(at, self._freed)
        self._at(at, lambda: self._sent(next_one))

    def _freed(self) -> None:
        self._served = None
        self._serve()

    def _sent(self, packet: Packet) -> None:
        self.packets_sent += 1
        self._in_flight[packet.flow] -= 1
        if self.out is not None:
            self.out.put(packet.handle)

    def _tell(self, packet: Packet, resource: int, stage: str, at: float, took_ns: int) -> None:
        if (stage, resource) not in self._interest or packet.ticket is None:
            return
        flow, ticket = packet.flow, packet.ticket

        def tell() -> None:
            self.scheduler.feedback(flow, ticket, resource, stage, took_ns, nanoseconds(self.env.now))
            self._serve()

        self._at(at, tell)

    def _at(self, at: float, call: Callable[[], object]) -> None:
        self.env.timeout(max(at - self.env.now, 0.0)).callbacks.append(lambda _: call())

    def _ask_again(self) -> None:
        """A policy that holds back says when it is to be asked again."""
        at = self.scheduler.poll_at()
        if at is None or len(self.scheduler) == 0 or at == self._asks_at:
            return
        self._asks_at = at

        def ask() -> None:
            self._asks_at = None
            self._serve()

        self._at(self.env.now + seconds_until(at, self.env.now), ask)
