"""A policy that is a Python object, beside the built-in ones."""

from collections import deque
from typing import Any

import dovetail
import pytest

BRIEF = {"duration": "50ms"}


class Fifo:
    """First in, first out, as it is built in."""

    name = "my fifo"

    def __init__(self) -> None:
        self.order: deque[int] = deque()

    def enqueued(self, flow: int, bytes: int, demand_ns: tuple[int, ...], now_ns: int) -> None:
        self.order.append(flow)

    def dequeue(self, now_ns: int) -> int | None:
        return self.order.popleft() if self.order else None

    def evicted(self, flow: int, end: str) -> None:
        # The youngest or oldest of the flow's entries.
        if end == "tail":
            self.order.reverse()
        self.order.remove(flow)
        if end == "tail":
            self.order.reverse()


class Broken(Fifo):
    def dequeue(self, now_ns: int) -> int | None:
        raise LookupError("I do not know")


class Astray(Fifo):
    def dequeue(self, now_ns: int) -> int | None:
        return 0xFFFFFFFF


def test_it_does_what_its_built_in_twin_does() -> None:
    for given in ({}, {"queue_packets": 5, "drop": "head"}, {"buffer_packets": 50, "drop": "longest"}):
        result = dovetail.simulate("middlebox", ["fifo", Fifo(), "drr"], overrides=BRIEF, records=True, **given)  # type: ignore[arg-type]
        assert result.summary["policy"] == ["fifo", "my fifo", "drr"]
        figures = [
            [result.summary[name][at] for name in result.summary.columns if name[:6] not in ("policy", "wall_s")]
            for at in (0, 1)
        ]
        assert figures[0] == figures[1]
        assert result.summary["sent"][0] != 0
        rows: dict[str, list[Any]] = {"fifo": [], "my fifo": [], "drr": []}
        names = [name for name in result.records.columns if name != "policy"]
        for policy, *row in zip(result.records["policy"], *(result.records[name] for name in names), strict=True):
            rows[policy].append(row)
        assert rows["fifo"] == rows["my fifo"] and rows["drr"]


def test_what_it_raises_ends_the_run() -> None:
    with pytest.raises(LookupError, match="I do not know"):
        dovetail.simulate("middlebox", [Broken()], overrides={"duration": "100000s"})


def test_a_flow_without_packets_is_an_error() -> None:
    with pytest.raises(ValueError, match="policy my fifo: dequeue gave 4294967295, which is no flow's number"):
        dovetail.simulate("middlebox", [Astray()], overrides=BRIEF)
    for gives, why in ((-1, "policy my fifo: dequeue gave -1"), (63, "flow 63, which has no packet"), ("a", "dequeue gave a, which is neither")):
        policy = Fifo()
        policy.dequeue = lambda now_ns, gives=gives: gives  # type: ignore[method-assign, misc]
        with pytest.raises((ValueError, TypeError), match=why):
            dovetail.simulate("middlebox", [policy], overrides=BRIEF)


def test_a_policy_that_is_to_be_asked_again_at_once_is_an_error() -> None:
    class Idle(Fifo):
        def dequeue(self, now_ns: int) -> int | None:
            return None

        def poll_at(self) -> int | None:
            return 5

    with pytest.raises(ValueError, match="policy my fifo: poll_at gave a time that is not after"):
        dovetail.simulate("middlebox", [Idle()], overrides=BRIEF)


def test_a_class_and_an_object_without_the_calls_are_type_errors() -> None:
    with pytest.raises(TypeError, match=r"policy Fifo: give an object, Fifo\(\), not its class"):
        dovetail.simulate("middlebox", [Fifo])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a policy object needs a method 'enqueued'"):
        dovetail.simulate("middlebox", [3])  # type: ignore[list-item]


def test_feedback_and_weights_are_told() -> None:
    class Told(Fifo):
        def __init__(self) -> None:
            super().__init__()
            self.events: list[tuple[Any, ...]] = []

        def interest(self) -> list[tuple[str, int]]:
            return [("finished", 1)]

        def feedback(self, *event: Any) -> None:
            self.events.append(event)

    told = Told()
    result = dovetail.simulate("middlebox", told, overrides=BRIEF)
    finished = [event for event in told.events if event[3] == "finished" and event[2] == 1]
    assert len(finished) == len({event[1] for event in finished}) >= result.summary["sent"][0] - 1 > 0


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(TypeError, match="policy object: a policy object needs a method 'enqueued'"):
        dovetail.simulate("middlebox", [object()])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="twice"):
        dovetail.simulate("middlebox", [Fifo(), Fifo()], overrides=BRIEF)
    with pytest.raises(ValueError, match="over pipelines"):
        dovetail.simulate("drr-sff", [Fifo()])


def test_a_poll_at_that_is_no_time_is_told_with_the_policy() -> None:
    class Idle(Fifo):
        def dequeue(self, now_ns: int) -> int | None:
            return None

        def poll_at(self) -> int | None:
            return -1

    with pytest.raises(ValueError, match="policy my fifo: poll_at gave -1, which is neither nanoseconds nor None"):
        dovetail.simulate("middlebox", [Idle()], overrides=BRIEF)


def test_what_its_name_raises_is_not_swallowed() -> None:
    class Nameless(Fifo):
        @property
        def name(self) -> str:  # type: ignore[override]
            raise LookupError("no name yet")

    with pytest.raises(LookupError, match="no name yet"):
        dovetail.simulate("middlebox", [Nameless()], overrides=BRIEF)
