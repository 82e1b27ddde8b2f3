"""Schedulers in ns.py and SimPy, beside what those have themselves."""

import collections
import dataclasses
import random
from collections.abc import Callable
from typing import Any

import pytest

simpy = pytest.importorskip("simpy")


@dataclasses.dataclass
class _Packet:
    flow_id: int
    size: int = 1000


def test_a_simpy_queue_gives_turns_and_tells_of_drops() -> None:
    from dovetail.adapters.simpy import Queue

    env = simpy.Environment()
    lost: list[Any] = []
    queue = Queue(
        env,
        "drr",
        flow=lambda item: item[0],
        size=lambda item: item[1],
        limits={"flow_packets": 2},
        dropped=lost.append,
    )
    puts = [queue.put((flow, 1500, at)) for flow in "ab" for at in range(3)]
    got = []

    def serve() -> Any:
        while True:
            item = yield queue.get()
            got.append((env.now, item))
            yield env.timeout(1)

    env.process(serve())
    env.run(until=10)
    assert [put.value for put in puts] == [True, True, False] * 2
    assert lost == [("a", 1500, 2), ("b", 1500, 2)]
    assert [item[0] + str(item[2]) for _, item in got] == ["a0", "b0", "a1", "b1"]
    assert [now for now, _ in got] == [0, 1, 2, 3] and len(queue) == 0


def test_a_get_waits_for_a_put() -> None:
    from dovetail.adapters.simpy import Queue

    env = simpy.Environment()
    queue = Queue(env, "fifo", flow=lambda _: 0, size=lambda _: 1)
    got = []

    def serve() -> Any:
        got.append((yield queue.get()))
        got.append(env.now)

    def arrive() -> Any:
        yield env.timeout(3)
        yield queue.put("it")

    env.process(serve())
    env.process(arrive())
    env.run()
    assert got == ["it", 3]


@pytest.mark.parametrize("policy", ["drr", "drfq", "mr3", "gmr3", "atfq:estimator=ses"])
def test_a_simpy_queue_is_told_what_became_of_its_items(policy: str) -> None:
    from dovetail.adapters.simpy import Queue

    env = simpy.Environment()
    queue = Queue(env, policy, flow=lambda item: item % 3, size=lambda _: 100, demand=lambda _: (1e-5, 2e-5), resources=2)
    interest = queue.scheduler.interest()
    got = []

    def serve() -> Any:
        while True:
            get = queue.get()
            item = yield get
            got.append(item)
            for resource, took in enumerate((1e-5, 2e-5)):
                if ("started", resource) in interest:
                    queue.feedback(item % 3, get.ticket, resource, "started", 0)
                yield env.timeout(took)
                if ("finished", resource) in interest:
                    queue.feedback(item % 3, get.ticket, resource, "finished", took)

    for item in range(60):
        queue.put(item)
    env.process(serve())
    env.run(until=1)
    assert sorted(got) == list(range(60)) and len(queue) == 0


def test_wrong_rates_are_refused() -> None:
    from dovetail.adapters.ns import Server
    from dovetail.adapters.simpy import Queue

    for rate in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="rate"):
            Server(simpy.Environment(), rate)
        with pytest.raises(ValueError, match="rate"):
            Queue(simpy.Environment(), "fifo", flow=lambda _: 0, size=lambda _: 1, rate=rate)


def _shares(make: Any, weights: list[float]) -> "tuple[collections.Counter[int], Any]":
    """Bytes by flow of what a server that is asked for too much has sent by second 10."""
    generator = pytest.importorskip("ns.packet.dist_generator")

    class Sink:
        def __init__(self) -> None:
            self.bytes: collections.Counter[int] = collections.Counter()

        def put(self, packet: Any) -> None:
            self.bytes[packet.flow_id] += packet.size

    env = simpy.Environment()
    server, sink = make(env, weights), Sink()
    server.out = sink
    chance = random.Random(1)
    for flow in range(len(weights)):
        source = generator.DistPacketGenerator(
            env, "source", lambda: chance.expovariate(200), lambda: chance.randint(100, 1500), flow_id=flow
        )
        source.out = server
    env.run(until=10)
    return sink.bytes, server


def test_an_ns_py_server_shares_as_its_own_does() -> None:
    from dovetail.adapters.ns import Server

    drr = pytest.importorskip("ns.scheduler.drr")
    weights = [1, 1, 2, 4]
    own, _ = _shares(lambda env, weights: drr.DRRServer(env, 1e6, weights), weights)
    ours, server = _shares(lambda env, weights: Server(env, 1e6, weights, policy="drr"), weights)
    for flow, weight in enumerate(weights):
        fair = 1e6 / 8 * 10 * weight / sum(weights)
        assert ours[flow] == pytest.approx(fair, rel=0.05)
        assert own[flow] == pytest.approx(fair, rel=0.1)
    assert server.packets_received == server.packets_sent + server.total_packets() + 1
    assert server.size(0) > 0 and server.byte_size(0) > 0 and server.all_flows() == [0, 1, 2, 3]
    assert server.packet_in_service() is not None


@pytest.mark.parametrize("policy", ["drfq", "mr3", "atfq:batch=20", "cbcs:estimator=ses", "tradeoff:alpha=0.8"])
def test_an_ns_py_server_runs_several_resources(policy: str) -> None:
    from dovetail.adapters.ns import Server

    generator = pytest.importorskip("ns.packet.dist_generator")
    env = simpy.Environment()
    server = Server(
        env, policy=policy, resources=2, demand=lambda packet: (1e-5, packet.size * 8 / 1e8), limits={"flow_packets": 50}
    )
    sent = []

    class Sink:
        def put(self, packet: Any) -> None:
            sent.append(packet)

    server.out = Sink()
    for flow in range(3):
        source = generator.DistPacketGenerator(env, "s", lambda: 1e-4, lambda: 1000, flow_id=flow, finish=0.1)
        source.out = server
    env.run(until=1)
    assert len(sent) == server.packets_sent > 1000
    assert server.packets_received == server.packets_sent + server.packets_dropped and server.total_packets() == 0


def test_several_resources_need_a_demand() -> None:
    from dovetail.adapters.ns import Server
    from dovetail.adapters.simpy import Queue

    with pytest.raises(ValueError, match="resources=2 needs demand"):
        Queue(simpy.Environment(), "drr", flow=lambda item: item, size=lambda item: 1, resources=2)
    with pytest.raises(ValueError, match="resources=2 needs demand"):
        Server(simpy.Environment(), 1e6, resources=2)


def test_times_that_are_none_are_refused_by_value() -> None:
    from dovetail.adapters.simpy import Queue

    for wrong in (float("nan"), float("inf"), -1.0, 1e11):
        queue = Queue(simpy.Environment(), "drr", flow=lambda _: 0, size=lambda _: 1, demand=lambda seconds: (seconds,))
        with pytest.raises(ValueError, match=f"a time is from 0 to 1.8e10 seconds, not {wrong}"):
            queue.put(wrong)
        assert len(queue) == 0
    early = Queue(simpy.Environment(initial_time=-5), "drr", flow=lambda _: 0, size=lambda _: 1)
    with pytest.raises(ValueError, match="a time is from 0 to 1.8e10 seconds, not -5"):
        early.put("packet")


def test_a_forgotten_flow_leaves_its_place_to_another() -> None:
    from dovetail.adapters.simpy import Queue

    env = simpy.Environment()
    queue = Queue(
        env, "drr", flow=lambda item: item, size=lambda _: 1500, limits={"flows": 2}, weights={"connection 0": 3, "call": 2}
    )
    got = []

    def serve() -> Any:
        while True:
            got.append((yield queue.get()))
            yield env.timeout(1)

    env.process(serve())
    for at in range(100):
        queue.put(f"connection {at}")
        queue.put("call")
        assert not queue.forget("call")
        env.run(until=2 * (at + 1))
        assert queue.forget(f"connection {at}") and not queue.forget(f"connection {at}")
    assert len(got) == 200 and set(got[1::2]) == {"call"}


def test_an_ns_py_server_forgets_flows_of_which_nothing_is_in_flight() -> None:
    from dovetail.adapters.ns import Server

    env = simpy.Environment()
    server = Server(env, policy="drfq", resources=2, demand=lambda _: (1, 5), limits={"flows": 1})
    for flow in range(10):
        began = env.now
        assert server.put(_Packet(flow))
        for spent in (0, 2, 5):
            env.run(until=began + spent + 0.5)
            assert server.total_packets() == 0 and not server.forget(flow)
        env.run(until=began + 7)
        assert server.packets_sent == flow + 1
        assert server.forget(flow) and server.all_flows() == []


def _steps_until(env: Any, done: Callable[[], bool]) -> None:
    """Runs the environment as far as that, in a bounded number of steps."""
    for _ in range(10_000):
        if done():
            return
        env.step()
    pytest.fail("it goes on and on")


# From some months on, a float's seconds are no longer as fine as the policy's nanoseconds.
@pytest.mark.parametrize("began", [0, 1.8e9])
def test_a_simpy_queue_that_holds_back_is_asked_again_however_coarse_the_time(began: float) -> None:
    from dovetail.adapters.simpy import Queue

    env = simpy.Environment(initial_time=began)
    queue = Queue(
        env,
        "tradeoff:alpha=0.5",
        flow=lambda item: item % 3,
        size=lambda _: 100,
        demand=lambda item: (1e-3, 2e-3) if item % 3 else (3e-3, 1e-3),
        resources=2,
    )
    got = []

    def serve() -> Any:
        while True:
            got.append((yield queue.get()))
            yield env.timeout(1e-3)

    env.process(serve())
    for item in range(60):
        queue.put(item)
    _steps_until(env, lambda: len(got) == 60)


@pytest.mark.parametrize("began", [0, 1.8e9])
def test_an_ns_py_server_that_holds_back_is_asked_again_however_coarse_the_time(began: float) -> None:
    from dovetail.adapters.ns import Server

    env = simpy.Environment(initial_time=began)
    demand = {0: (3e-3, 1e-3), 1: (1e-3, 2e-3), 2: (1e-3, 2e-3)}
    server = Server(env, policy="tradeoff:alpha=0.5", resources=2, demand=lambda packet: demand[packet.flow_id])
    for at in range(60):
        server.put(_Packet(at % 3))
    _steps_until(env, lambda: server.packets_sent == 60)
