"""How much a scheduler holds."""

from typing import Literal, TypedDict


class Limits(TypedDict, total=False):
    """How much may be queued; absent keys mean no limit."""

    flow_packets: int
    """Packets of each flow."""
    flow_bytes: int
    """Bytes of each flow."""
    packets: int
    """Packets of all flows."""
    bytes: int
    """Bytes of all flows."""
    flows: int
    """Flows are numbered below this."""
    drop: Literal["tail", "head", "longest"]
    """Which packet is dropped when a limit is reached."""


class Program(TypedDict, total=False):
    """A program and, if known, its costs."""

    name: str
    cost: str
    """Such as "15ns*bytes + 84.5us"."""
    processing: Literal["header", "payload"]
    expansion: float
