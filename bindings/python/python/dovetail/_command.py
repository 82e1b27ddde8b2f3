"""The command ``dovetail``, as the wheel installs it."""

from __future__ import annotations

import signal
import sys

from dovetail import _native


def main() -> None:
    """Run the command with this process's arguments, and exit with its status."""
    match sys.argv[1:]:
        case ["sweep", *arguments]:
            sys.exit(_sweep(arguments))
        case ["help", "sweep", *_]:
            sys.exit(_sweep(["--help"]))
    # The rest is native throughout: Ctrl-C ends it as it ends the command without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["dovetail", *sys.argv[1:]]))


def _sweep(arguments: list[str]) -> int:
    """Sweeps are Python's; the rest of the command starts without loading them."""
    from dovetail.sweep import command

    return command.main(arguments)
