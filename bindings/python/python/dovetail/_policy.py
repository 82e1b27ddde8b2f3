"""A policy of one's own."""

from __future__ import annotations

from typing import Protocol


class Policy(Protocol):
    """An object that orders packets, for ``simulate``: it runs beside the built-in policies, over pipelines.

    It only orders. Queues, limits and drops are the library's: the object is told what happened to them, and says which flow's
    oldest packet goes next. Flows are whole numbers from 0. An exception ends the run. Each call pays Python's overhead, so a run
    takes far longer than one of a built-in policy.

    An object has a state, so give each call of ``simulate`` a new one. Besides these it may have ``name``; ``poll_at()``, the time,
    later than now, at which to ask again after ``dequeue`` gave None; ``set_weight(flow, weight)``; ``forget(flow)``; and
    ``interest()``, pairs of "started" or "finished" and a resource, with ``feedback(flow, ticket, resource, stage, took_ns,
    now_ns)``, whose ticket is the packet's number.
    """

    def enqueued(self, flow: int, bytes: int, demand_ns: tuple[int, ...], now_ns: int, /) -> object:
        """A packet joined the tail of its flow's queue."""

    def dequeue(self, now_ns: int, /) -> int | None:
        """The flow whose oldest packet goes next; None holds all back. Asked only while packets wait."""

    def evicted(self, flow: int, end: str, /) -> object:
        """A packet of the flow lost its place: its oldest ("head") or its youngest ("tail")."""
