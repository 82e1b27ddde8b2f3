"""What a packet and a run cost from Python, beside ns.py and SimPy.

A packet: offered to a scheduler that holds a backlog of equal flows, and taken from it. ns.py's server is driven by its
environment, as it has no other form, and so is a SimPy store, which orders nothing. A run: equal Poisson flows over one link at a
load of 0.95, with deficit round robin, in one process and on one thread, from the description to the percentiles of how long
packets took. ns.py's sink keeps the times of packets for that; what its run takes where it only counts packets is printed, too. Of
several repetitions, taken in turns, the quickest counts. The exit status says whether what must hold does.
"""

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from random import Random

import dovetail
import numpy
import simpy
from ns.packet.dist_generator import DistPacketGenerator
from ns.packet.packet import Packet
from ns.packet.sink import PacketSink
from ns.scheduler.drr import DRRServer

MIN_BYTES, MAX_BYTES = 100, 1500
LINK_BPS = 1e6
LOAD = 0.95
# Quicker than this by so much, and not slower than these in nanoseconds.
PACKET_GOAL, BATCH_GOAL, IMPORT_GOAL = 600, 150, 0.3
PACKET_RATIO, RUN_RATIO = 20, 100

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--flows", type=int, default=100)
parser.add_argument("--packets", type=int, default=100_000)
parser.add_argument("--repeat", type=int, default=5)
parser.add_argument("--policy", default="drr")
args = parser.parse_args()

chance = Random(1)
SIZES = [chance.randint(MIN_BYTES, MAX_BYTES) for _ in range(args.packets)]
FLOWS = [at % args.flows for at in range(args.packets)]
DEMANDS = [(round(size * 8 / LINK_BPS * 1e9),) for size in SIZES]


def packet_by_packet() -> float:
    scheduler = dovetail.Scheduler(args.policy)
    backlog = 10 * args.flows
    for at in range(backlog):
        scheduler.enqueue(FLOWS[at], SIZES[at], DEMANDS[at], 0, at)
    enqueue, dequeue = scheduler.enqueue, scheduler.dequeue
    begun = time.perf_counter()
    for at, (flow, size, demand) in enumerate(zip(FLOWS, SIZES, DEMANDS)):
        enqueue(flow, size, demand, at, at)
        dequeue(at)
    took = time.perf_counter() - begun
    assert len(scheduler) == backlog
    return took / args.packets


def by_arrays(many: int = 4096) -> float:
    scheduler = dovetail.Scheduler(args.policy)
    flow, size = numpy.array(FLOWS), numpy.array(SIZES)
    demand, handle = numpy.array(DEMANDS), numpy.arange(args.packets)
    done = 0
    begun = time.perf_counter()
    for at in range(0, args.packets, many):
        part = slice(at, at + many)
        scheduler.enqueue_batch(flow[part], size[part], demand[part], at, handle[part])
        done += len(scheduler.dequeue_batch(at)[0])
    took = time.perf_counter() - begun
    assert done == args.packets
    return took / args.packets


def ns_py() -> float:
    env = simpy.Environment()
    server, sink = DRRServer(env, LINK_BPS, [1] * args.flows), PacketSink(env, rec_arrivals=False, rec_waits=False)
    server.out = sink
    packets = [Packet(0, size, at, flow_id=flow) for at, (flow, size) in enumerate(zip(FLOWS, SIZES))]
    begun = time.perf_counter()
    for packet in packets:
        server.put(packet)
    env.run()
    took = time.perf_counter() - begun
    assert sum(sink.packets_received.values()) == args.packets
    return took / args.packets


def simpy_store() -> float:
    env = simpy.Environment()
    store = simpy.Store(env)
    got = 0

    def serve():
        nonlocal got
        while True:
            at = yield store.get()
            yield env.timeout(SIZES[at] * 8 / LINK_BPS)
            got += 1

    env.process(serve())
    begun = time.perf_counter()
    for at in range(args.packets):
        store.put(at)
    env.run()
    took = time.perf_counter() - begun
    assert got == args.packets
    return took / args.packets


PERCENTILES = [50, 95, 99]
RATE_PER_FLOW = LOAD * LINK_BPS / (8 * (MIN_BYTES + MAX_BYTES) / 2) / args.flows
DURATION = args.packets / (RATE_PER_FLOW * args.flows)


def ns_py_run(keeps_times: bool = True) -> float:
    ours = Random(1)
    begun = time.perf_counter()
    env = simpy.Environment()
    server, sink = DRRServer(env, LINK_BPS, [1] * args.flows), PacketSink(env, rec_arrivals=False, rec_waits=keeps_times)
    server.out = sink
    gap, size = partial(ours.expovariate, RATE_PER_FLOW), partial(ours.randint, MIN_BYTES, MAX_BYTES)
    for flow in range(args.flows):
        DistPacketGenerator(env, "source", gap, size, finish=DURATION, flow_id=flow).out = server
    env.run()
    if keeps_times:
        numpy.percentile(numpy.concatenate([numpy.array(waits) for waits in sink.waits.values()]), PERCENTILES)
    took = time.perf_counter() - begun
    return took / sum(sink.packets_received.values())


def dovetail_run(many: int = 20, jobs: int = 1) -> float:
    """Longer, as a run of so few packets is over before it can be measured."""
    scenario = {
        "name": "link",
        "duration": f"{DURATION * many}s",
        "pipeline": "no-wait",
        "resource": [{"name": "link", "rate": f"{LINK_BPS / 1e6}Mbps"}],
        "class": [{"name": "all"}],
        "flow": [
            {
                "name": "f",
                "count": args.flows,
                "size": {"uniform": {"min": MIN_BYTES, "max": MAX_BYTES}},
                "arrivals": {"poisson": f"{RATE_PER_FLOW}/s"},
            }
        ],
    }
    begun = time.perf_counter()
    result = dovetail.simulate(scenario, args.policy, jobs=jobs)
    took = time.perf_counter() - begun
    return took / result.summary["sent"][0]


def import_seconds() -> float:
    """Of the package, beyond the interpreter itself."""
    code = "import time; t = time.perf_counter(); import dovetail; print(time.perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def quickest(subjects: dict[str, Callable[[], float]]) -> dict[str, float]:
    best = dict.fromkeys(subjects, float("inf"))
    for _ in range(args.repeat):
        for name, subject in subjects.items():
            gc.collect()
            gc.disable()
            best[name] = min(best[name], subject())
            gc.enable()
    return best


best = quickest(
    {
        "packet by packet": packet_by_packet,
        "by arrays": by_arrays,
        "ns.py, a packet": ns_py,
        "SimPy's store, a packet": simpy_store,
        "a run": dovetail_run,
        "a run, two threads": partial(dovetail_run, jobs=2),
        "ns.py, a run": ns_py_run,
        "ns.py, a run, counting": partial(ns_py_run, keeps_times=False),
    }
)
imported = min(import_seconds() for _ in range(args.repeat))

print(f"{args.policy}, {args.flows} flows, {args.packets} packets, the quickest of {args.repeat}")
for name, seconds in best.items():
    print(f"{name:24} {seconds * 1e9:9.0f} ns a packet")
print(f"{'import dovetail':24} {imported:9.3f} s")
print(f"a run is {best['ns.py, a run, counting'] / best['a run']:.0f} times as quick as ns.py's that only counts packets")

holds = True
for what, is_so in [
    (f"packet by packet at most {PACKET_GOAL} ns", best["packet by packet"] * 1e9 <= PACKET_GOAL),
    (f"by arrays at most {BATCH_GOAL} ns", best["by arrays"] * 1e9 <= BATCH_GOAL),
    (f"import under {IMPORT_GOAL} s", imported < IMPORT_GOAL),
    (
        f"a packet at least {PACKET_RATIO} times as quick as ns.py's: "
        f"{best['ns.py, a packet'] / best['packet by packet']:.0f} times",
        best["ns.py, a packet"] >= PACKET_RATIO * best["packet by packet"],
    ),
    (
        f"a run at least {RUN_RATIO} times as quick as ns.py's: {best['ns.py, a run'] / best['a run']:.0f} times",
        best["ns.py, a run"] >= RUN_RATIO * best["a run"],
    ),
]:
    print(f"{'holds' if is_so else 'MISSED'}: {what}")
    holds = holds and is_so
sys.exit(not holds)
