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
    with pytest.raises(ValueError, match="flow 4294967295 has no packet"):
        dovetail.simulate("middlebox", [Astray()], overrides=BRIEF)


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
    with pytest.raises(ValueError, match="enqueued"):
        dovetail.simulate("middlebox", [object()])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="twice"):
        dovetail.simulate("middlebox", [Fifo(), Fifo()], overrides=BRIEF)
    with pytest.raises(ValueError, match="over pipelines"):
        dovetail.simulate("drr-sff", [Fifo()])
