"""The command ``dovetail``, as the wheel installs it."""

from __future__ import annotations

import signal
import sys

from dovetail import _native


def main() -> None:
    """Run the command with this process's arguments, and exit with its status."""
    # The command is native throughout: Ctrl-C ends it as it ends the command without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["dovetail", *sys.argv[1:]]))
