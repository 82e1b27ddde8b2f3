"""Errors of a sweep, grouped by who can fix them.

Every message says what is wrong, where, and what to do. The command prints the message alone.
"""

#: What a script has to do where worker processes are started.
GUARD = 'call it in a file, under `if __name__ == "__main__":`, since worker processes import the script that started them'


class SweepError(Exception):
    """The root of the errors of this package."""


class GridError(SweepError, ValueError):
    """The grid cannot be read, or describes nothing that can be run."""


class StoreError(SweepError, OSError):
    """The folder of results cannot be written or read."""


class EngineError(SweepError, RuntimeError):
    """The workers cannot be reached, or cannot run this sweep at all."""
