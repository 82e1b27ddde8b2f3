"""How much a scheduler holds."""

from typing import Literal, TypedDict


class Limits(TypedDict, total=False):
    """How much may wait; what is not there is without limit."""

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
    """Who loses a packet where one finds no room."""


class Program(TypedDict, total=False):
    """What is known of a program's costs beforehand."""

    name: str
    cost: str
    """Such as "15ns*bytes + 84.5us"."""
    processing: Literal["header", "payload"]
    expansion: float
