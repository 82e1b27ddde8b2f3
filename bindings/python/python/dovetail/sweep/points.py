"""A point of a sweep, and the key that says whether two points are the same.

The key is a hash of everything that decides a point's result: the scenario's text, the capture's content, the policy, the
changes to the scenario, the seed and the version of Dovetail. Names and paths are no part of it, so a sweep can be continued
from a copy of its inputs elsewhere.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from .captures import Capture
from .errors import GridError
from .scenarios import Scenario

#: The most points of a sweep: a set of their keys has to fit into memory when it is resumed.
MAX_POINTS = 10_000_000
_MAX_SEED = 2**64 - 1
#: Keys of `set` that are counts of packets.
_COUNTS = ("queue_packets", "buffer_packets")
#: Changes when keys are made in another way.
KEY_FORMAT = 1
_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Point:
    """One run: a scenario, perhaps with a capture, under one policy."""

    scenario: Scenario | None
    capture: Capture | None
    policy: str
    #: Scenario keys with dots, and their values, in order of key.
    changes: tuple[tuple[str, Any], ...] = ()
    seed: int | None = None

    def key(self, version: str) -> bytes:
        """What identifies the result, in 16 bytes."""
        decisive = [
            KEY_FORMAT,
            version,
            self.scenario and self.scenario.digest,
            self.capture and self.capture.digest,
            self.policy,
            self.changes,
            self.seed,
        ]
        text = json.dumps(decisive, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).digest()[:_KEY_BYTES]

    def columns(self) -> dict[str, Any]:
        """What the table of results says of the point."""
        return {
            "scenario": self.scenario and self.scenario.name,
            "capture": self.capture and self.capture.name,
            "policy": self.policy,
            "changes": json.dumps(dict(self.changes), sort_keys=True),
            "seed": self.seed,
        }


def checked_seed(seed: Any) -> int | None:
    """The seed, if it is one."""
    if seed is None or (not isinstance(seed, bool) and isinstance(seed, int) and 0 <= seed <= _MAX_SEED):
        return seed
    raise GridError(f"seed: {seed!r} is not a whole number from 0 to 2^64 - 1")


def checked_change(key: str, value: Any, where: str) -> Any:
    """The value of a scenario's key, if it can have it: some are counts. Tables may hold whole numbers as floats."""
    if key not in _COUNTS:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise GridError(f"{where}: {value!r} is not a whole number; whole = true in a range rounds its numbers")
    return value


def policy_text(name: str, knobs: list[tuple[str, Any]]) -> str:
    """`name:key=value,key=value`."""
    written = ",".join(f"{key}={_knob(value, f'policy {name}: {key}')}" for key, value in knobs)
    joint = "," if ":" in name else ":"
    return f"{name}{joint}{written}" if written else name


def _knob(value: Any, where: str) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float() if value == int(value):
            return str(int(value))
        case int() | float() | str():
            return str(value)
    raise GridError(f"{where}: {value!r} is neither a number nor a text")
