"""Flows under any names, as the numbers that a scheduler counts them by."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator


class Flows:
    """The numbers of flows, in order of appearance; those of forgotten flows are given to new ones."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._free: list[int] = []

    def number(self, flow: Hashable) -> int:
        """The flow's number, which is new for a new flow."""
        number = self._numbers.get(flow)
        if number is None:
            number = self._free.pop() if self._free else len(self._numbers)
            self._numbers[flow] = number
        return number

    def known(self, flow: Hashable) -> int | None:
        """The flow's number, if it has one."""
        return self._numbers.get(flow)

    def forget(self, flow: Hashable) -> None:
        """Frees the flow's number."""
        self._free.append(self._numbers.pop(flow))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._numbers)


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, fewer than 2^64."""
    if not 0 <= seconds <= 1.8e10:
        raise ValueError(f"a time is from 0 to 1.8e10 seconds, not {seconds}")
    return round(seconds * 1e9)


def seconds_until(at_ns: int, now: float) -> float:
    """How long it is from now to a time; never so short that adding it to now, which is a float, changes nothing."""
    return max(at_ns / 1e9, math.nextafter(now, math.inf)) - now
