"""A scheduler packet by packet and by arrays."""

import gc
import subprocess
import sys
import threading
import weakref

import dovetail
import pytest
from dovetail import Scheduler


def test_flows_take_turns_and_handles_come_back() -> None:
    scheduler = Scheduler("drr", resources=2)
    first = object()
    assert scheduler.enqueue(0, 1500, (1000, 2000), 0, first)
    assert scheduler.enqueue(0, 1500, [1000, 2000], 1, "second")
    assert scheduler.enqueue(1, 1500, (1000, 2000), 2, 7)
    assert scheduler.enqueue(1, 1500, (1000, 2000), 2)
    assert len(scheduler) == 4 and scheduler.backlog() == (4, 6000) and scheduler.backlog(1) == (2, 3000)
    peeked = scheduler.peek(5)
    assert peeked is not None and peeked.handle is first and peeked.ticket is None
    out = [scheduler.dequeue(5) for _ in range(5)]
    assert out[4] is None
    packets = [packet for packet in out if packet is not None]
    assert [packet.handle for packet in packets] == [first, 7, "second", None]
    assert [packet.flow for packet in packets] == [0, 1, 0, 1]
    assert packets[0].demand_ns == (1000, 2000) and packets[1].arrival_ns == 2 and packets[0].ticket is not None


def test_every_policy_of_packets_can_be_driven() -> None:
    for policy in dovetail.policies():
        if policy["orders"] != "packets":
            continue
        scheduler = Scheduler(policy["policy"], 2)
        for at in range(10):
            assert scheduler.enqueue(at % 3, 100 + at, (100, 200), at)
        now, left = 10, 0
        while len(scheduler) or scheduler.poll_at() is not None:
            packet = scheduler.dequeue(now)
            if packet is None:
                at = scheduler.poll_at()
                assert at is not None, policy["policy"]
                now = max(at, now + 1)
                continue
            left += 1
            for resource in range(2):
                for stage in ("started", "finished"):
                    assert packet.ticket is not None
                    scheduler.feedback(packet.flow, packet.ticket, resource, stage, 100 * (resource + 1), now)
            if left == 10:
                break
        assert left == 10, policy["policy"]


def test_limits_evict_and_refuse() -> None:
    scheduler = Scheduler("fifo", limits={"flow_packets": 1})
    assert scheduler.enqueue(0, 100, 10, 0, "a")
    assert not scheduler.enqueue(0, 100, 10, 0, "b")
    assert scheduler.refused == "flow-full" and scheduler.evictions() == []
    scheduler = Scheduler("fifo", limits={"flow_packets": 1, "drop": "head"})
    assert scheduler.enqueue(0, 100, 10, 0, "a") and scheduler.enqueue(0, 100, 10, 0, "b")
    assert [packet.handle for packet in scheduler.evictions()] == ["a"] and scheduler.refused is None


def test_what_is_queued_of_a_flow_can_be_discarded() -> None:
    for policy in ("drr", "drfq:estimator=ses", "run2c"):
        scheduler = Scheduler(policy, 2)
        for number in range(4):
            assert scheduler.enqueue(number % 2, 100, [10, 20], 0, f"packet {number}")
        assert [packet.handle for packet in scheduler.discard(1)] == ["packet 1", "packet 3"]
        assert scheduler.discard(1) == [] and scheduler.evictions() == [] and scheduler.forget(1)
        assert scheduler.backlog() == (2, 200)
        with pytest.raises(ValueError, match="flow"):
            scheduler.discard(2**31)


def test_weights_knobs_and_figures() -> None:
    scheduler = Scheduler("atfq:batch=20", 2)
    scheduler.set_weight(0, 2.0)
    scheduler.set_resource_weights(0, [1.0, 2.0])
    scheduler.retune("atfq:batch=5", 0)
    assert scheduler.policy == "atfq:batch=5"
    assert isinstance(scheduler.figures(), dict)
    assert scheduler.forget(3)
    for wrong in (0.0, float("nan"), -1.0, 1e9):
        with pytest.raises(ValueError, match="weight"):
            scheduler.set_weight(0, wrong)
    with pytest.raises(ValueError, match="not 1e300$"):
        scheduler.set_weight(0, 1e300)
    with pytest.raises(ValueError):
        scheduler.retune("drr", 0)


def test_estimates_are_learnt_by_feedback() -> None:
    scheduler = Scheduler("drfq:estimator=ses", 2, programs=[{"name": "scan", "cost": "1ns*bytes + 5us"}])
    scheduler.set_program(0, 0)
    with pytest.raises(ValueError, match="there is no program 1: the scheduler has 1, numbered from 0"):
        scheduler.set_program(0, 1)
    assert ("finished", 0) in scheduler.interest()
    assert "scan" in scheduler.learnt()
    with pytest.raises(ValueError, match="estimator"):
        Scheduler("drfq", 2).learnt()


def test_stages_of_policies_that_have_them() -> None:
    policies = [policy["policy"] for policy in dovetail.policies() if policy["orders"] == "packets"]
    staged = [policy for policy in policies if Scheduler(policy, 2).has_stages]
    assert staged
    scheduler = Scheduler(staged[0], 2)
    assert scheduler.enqueue_before(1, 0, 100, (1, 2), 0, "x")
    assert scheduler.backlog_before(1) == (1, 100)
    packet = scheduler.dequeue_before(1, 0)
    assert packet is not None and packet.handle == "x" and scheduler.poll_at_before(1) is None
    with pytest.raises(ValueError, match="later resources"):
        Scheduler("fifo", 2).dequeue_before(1, 0)
    with pytest.raises(ValueError, match="resources here"):
        scheduler.dequeue_before(0, 0)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: Scheduler("drfqq"), "did you mean drfq"),
        (lambda: Scheduler("drfq", 0), "1 to 8"),
        (lambda: Scheduler("drfq", 9), "1 to 8"),
        (lambda: Scheduler("drfq", limits={"flow_packets": 0}), "flow_packets"),
        (lambda: Scheduler("drfq", limits={"packets": -1}), "packets: the number is negative or too large"),
        (lambda: Scheduler("drfq", limits={"flows": 1 << 40}), "flows: the number is negative or too large"),
        (lambda: Scheduler("drfq", limits={"drop": "tial"}), "drop"),
        (lambda: Scheduler("drfq", programs=[{"cost": "1us"}]), "programs: each needs a name"),
        (lambda: Scheduler("drfq", programs=[{"name": "a"}, {"name": "a"}]), "programs: two are called 'a'"),
        (lambda: Scheduler("drfq").enqueue(0, 1, (), 0), "1 to 8 resources, not 0"),
        (lambda: Scheduler("drfq").enqueue(0, 1, [1] * 9, 0), "1 to 8"),
        (lambda: Scheduler("drfq").enqueue(0, 1, (1.5,), 0), "whole numbers"),
        (lambda: Scheduler("drfq").enqueue(0, 1, (float("nan"),), 0), "whole numbers"),
        (lambda: Scheduler("drfq").enqueue(0, 1, (-1,), 0), "whole numbers"),
        (lambda: Scheduler("drfq").enqueue(0, 1, (1 << 64,), 0), "whole numbers"),
        (lambda: Scheduler("drfq").feedback(0, 0, 0, "begun", 0, 0), "stage"),
        (lambda: Scheduler("drfq").feedback(0, 0, 1, "started", 0, 0), "resources here"),
        (lambda: Scheduler("drfq").backlog(0xFFFFFFFF), "flows are below"),
    ],
)
def test_what_is_wrong_is_a_value_error(call: object, why: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=why):
        call()


def test_wrong_calls_are_refused_and_change_nothing() -> None:
    scheduler = Scheduler("drfq", 2)
    with pytest.raises(TypeError, match=r"no option 'packet' \(did you mean packets\?\), only flows, "):
        Scheduler("drfq", limits={"packet": 1})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(TypeError, match=r"no option 'nam' \(did you mean name\?\), only name, cost, "):
        Scheduler("drfq", programs=[{"nam": "a"}])  # type: ignore[typeddict-unknown-key]
    with pytest.raises((OverflowError, ValueError)):
        scheduler.enqueue(-1, 1, (1, 1), 0)
    for demand in (1, (1,), (1, 1, 1)):
        with pytest.raises(ValueError, match="demand_ns: a time on each of the 2 resources"):
            scheduler.enqueue(0, 1, demand, 0)
    assert not scheduler.enqueue(0xFFFFFFFF, 1, (1, 1), 0) and scheduler.refused == "too-many-flows"
    assert scheduler.enqueue(0, 1, (1, 1), 10)
    with pytest.raises(ValueError, match="time goes backwards"):
        scheduler.dequeue(9)
    assert len(scheduler) == 1
    huge = Scheduler("drfq", 2)
    assert huge.enqueue(0, 0xFFFFFFFF, ((1 << 64) - 1, (1 << 64) - 1), (1 << 64) - 1)
    assert huge.dequeue((1 << 64) - 1) is not None


def test_a_call_that_fails_does_not_advance_the_time() -> None:
    scheduler = Scheduler("drr", 2)
    with pytest.raises(ValueError, match="cannot become"):
        scheduler.retune("mr3", 9)
    with pytest.raises(ValueError, match="later resources"):
        scheduler.dequeue_before(1, 9)
    assert scheduler.dequeue(5) is None and scheduler.policy == "drr"
    scheduler.retune("drr:quantum=900", 9)
    with pytest.raises(ValueError, match="time goes backwards, from 9ns to 8ns"):
        scheduler.dequeue(8)


def test_objects_are_let_go() -> None:
    class Thing:
        pass

    scheduler = Scheduler("fifo", limits={"packets": 1})
    things = [Thing() for _ in range(3)]
    gone = [weakref.ref(thing) for thing in things]
    for thing in things:
        scheduler.enqueue(0, 1, 1, 0, thing)
    things.clear()
    del thing
    gc.collect()
    assert [ref() is None for ref in gone] == [False, True, True]
    before = sys.getrefcount(gone[0]())
    packet = scheduler.dequeue(0)
    assert packet is not None and packet.handle is gone[0]() and before > 0
    del packet
    assert gone[0]() is None
    # A thing that holds the scheduler that holds it is found by the collector.
    looped = Thing()
    looped.scheduler = scheduler  # type: ignore[attr-defined]
    scheduler.enqueue(0, 1, 1, 0, looped)
    ref = weakref.ref(looped)
    del looped, scheduler
    gc.collect()
    assert ref() is None


def test_a_scheduler_may_be_used_by_several_threads() -> None:
    scheduler = Scheduler("drr", 2)
    got: list[int] = []

    def work(flow: int) -> None:
        for at in range(1000):
            scheduler.enqueue(flow, 100, (1, 1), 0, flow * 1000 + at)
            packet = scheduler.dequeue(0)
            if packet is not None:
                got.append(packet.handle)

    threads = [threading.Thread(target=work, args=(flow,)) for flow in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while (packet := scheduler.dequeue(0)) is not None:
        got.append(packet.handle)
    assert sorted(got) == list(range(4000))


def test_arrays_are_what_single_calls_are() -> None:
    np = pytest.importorskip("numpy")
    chance = np.random.default_rng(1)
    many = 500
    flow = chance.integers(0, 20, many)
    size = chance.integers(40, 1500, many).astype("uint32")
    demand = chance.integers(1, 10_000, (many, 2)).astype("uint64")
    now = np.sort(chance.integers(0, 1000, many))
    one, other = Scheduler("drfq", 2, limits={"flow_packets": 20}), Scheduler("drfq", 2, limits={"flow_packets": 20})
    queued = one.enqueue_batch(flow, size, demand, now, np.arange(many))
    single = [
        other.enqueue(int(flow[at]), int(size[at]), tuple(map(int, demand[at])), int(now[at]), at) for at in range(many)
    ]
    assert queued.dtype == bool and queued.tolist() == single and not queued.all()
    flows, sizes, arrivals, handles, tickets = one.dequeue_batch(2000)
    packets = [other.dequeue(2000) for _ in range(len(other))]
    assert handles.tolist() == [packet.handle for packet in packets if packet is not None]
    assert tickets.tolist() == [packet.ticket for packet in packets if packet is not None]
    assert flows.tolist() == flow[handles].tolist() and sizes.tolist() == size[handles].tolist()
    assert arrivals.tolist() == now[handles].tolist() and flows.dtype == "uint32"
    assert len(one) == 0 and [len(array) for array in one.dequeue_batch(2000)] == [0] * 5


def test_arrays_may_be_strided_and_of_any_whole_type() -> None:
    np = pytest.importorskip("numpy")
    for dtype in ("int64", "uint64", "int32", "uint32", "uint16", "uint8"):
        scheduler = Scheduler("fifo", 2)
        wide = np.arange(40, dtype=dtype).reshape(10, 4)
        queued = scheduler.enqueue_batch(wide[:, 1], wide[::-1, 2], wide[:, ::2], 5)
        assert queued.all()
        flows, sizes, *_ = scheduler.dequeue_batch(np.full(3, 5), 10)
        assert flows.tolist() == [1, 5, 9] and sizes.tolist() == [38, 34, 30]
        packet = scheduler.dequeue(5)
        assert packet is not None and packet.demand_ns == (12, 14) and packet.handle == 3


def test_arrays_of_every_width_are_read() -> None:
    np = pytest.importorskip("numpy")
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        scheduler = Scheduler("fifo")
        ones = np.ones(3, dtype)
        assert scheduler.enqueue_batch(ones, ones, np.ones((3, 1), dtype), 0).all()


def test_without_numpy_nothing_is_lost() -> None:
    program = """
import sys
sys.modules["numpy"] = None
from array import array
import dovetail
scheduler = dovetail.Scheduler("fifo")
scheduler.enqueue(0, 1, 1, 0, handle=7)
def refused(call):
    try:
        call()
    except ImportError:
        return True
one = array("Q", [1])
assert refused(lambda: scheduler.dequeue_batch(0))
assert refused(lambda: scheduler.enqueue_batch(one, one, memoryview(one).cast("B").cast("Q", (1, 1)), 0))
assert len(scheduler) == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_wrong_arrays_are_refused_and_nothing_is_queued() -> None:
    np = pytest.importorskip("numpy")
    good = dict(
        flow=np.zeros(4, "int64"), bytes=np.ones(4, "int64"), demand_ns=np.ones((4, 2), "int64"), now_ns=np.arange(4)
    )
    wrong = [
        (dict(flow=np.zeros(4)), "flow: whole numbers are needed,.* not float64"),
        (dict(flow=np.zeros(4, "complex128")), "flow"),
        (dict(flow=np.zeros(4, object)), "flow"),
        (dict(flow=[0, 0, 0, 0]), "flow: an array"),
        *(
            (dict(now_ns=np.arange(4).astype(np.dtype(name).newbyteorder())), "now_ns: .* the other byte order")
            for name in ("int64", "uint64", "int32", "uint32", "int16", "uint16")
        ),
        (dict(flow=-np.ones(4, "int64")), "flow: a number is negative"),
        (dict(flow=np.full(4, 1 << 40)), "flow: a number is over"),
        (dict(bytes=np.ones(3, "int64")), "bytes: it has 3 entries, and flow has 4"),
        (dict(bytes=np.ones((4, 1), "int64")), "bytes: a 1-dimensional array is needed, not a 2-dimensional one"),
        (dict(demand_ns=np.ones(4, "int64")), "demand_ns: a 2-dimensional array"),
        (dict(demand_ns=np.ones((5, 2), "int64")), "demand_ns: it has 5"),
        *((dict(demand_ns=np.ones((4, many), "int64")), "a column for each of the 2 resources") for many in (0, 1, 3, 9)),
        (dict(demand_ns=np.full((4, 2), np.nan)), "float64"),
        (dict(now_ns=np.arange(4)[::-1]), "time goes backwards"),
        (dict(handle=np.full(4, (1 << 63), "uint64")), "handle"),
    ]
    for change, why in wrong:
        scheduler = Scheduler("fifo", 2)
        with pytest.raises(ValueError, match=why):
            scheduler.enqueue_batch(**{**good, **change})  # type: ignore[arg-type]
        assert len(scheduler) == 0
    scheduler = Scheduler("fifo", 2)
    scheduler.enqueue(0, 1, (1, 1), 0, "an object")
    with pytest.raises(ValueError, match="carry objects"):
        scheduler.dequeue_batch(0)
    assert len(scheduler) == 1
