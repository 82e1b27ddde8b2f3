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
from .scenarios import Scenario

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
