"""What a sweep can refuse or fail at, by who can put it right.

Every message says what is wrong, where, and what to do. The command prints the message alone.
"""


class SweepError(Exception):
    """The root of the errors of this package."""


class GridError(SweepError, ValueError):
    """The grid cannot be read, or describes nothing that can be run."""


class StoreError(SweepError, OSError):
    """The folder of results cannot be written or read."""


class EngineError(SweepError, RuntimeError):
    """The workers cannot be reached, or cannot run this sweep at all."""
