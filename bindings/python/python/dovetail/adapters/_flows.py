"""Flows under any names, as the numbers that a scheduler counts them by."""

from __future__ import annotations

from collections.abc import Hashable, Iterator


class Flows:
    """The numbers of flows, in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, flow: Hashable) -> int:
        """The flow's number, which is new for a new flow."""
        return self._numbers.setdefault(flow, len(self._numbers))

    def known(self, flow: Hashable) -> int | None:
        """The flow's number, if it has one."""
        return self._numbers.get(flow)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._numbers)


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, fewer than 2^64."""
    if not 0 <= seconds <= 1.8e10:
        raise ValueError(f"a time is from 0 to 1.8e10 seconds, not {seconds}")
    return round(seconds * 1e9)
