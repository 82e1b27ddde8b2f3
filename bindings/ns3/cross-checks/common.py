# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the cross-checks have in common: where programs are, medians, tables."""

import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Of build.sh.
BUILT = Path(os.environ.get("DOVETAIL_NS3", TARGET / "ns3"))


def command():
    """The dovetail command, as test.sh finds it; asked for before anything that takes long."""
    named = os.environ.get("DOVETAIL")
    paths = [Path(named)] if named else [TARGET / profile / "dovetail" for profile in ("try", "release", "debug")]
    for path in paths:
        if path.exists():
            return path
    sys.exit(f"no dovetail command at {', '.join(map(str, paths))}: name one with DOVETAIL=PATH, or build it with "
             "cargo build --profile try -p dovetail-cli --no-default-features --features network,pcap")


def run(program, *arguments):
    """What a program prints."""
    done = subprocess.run([str(program), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} failed with exit status {done.returncode}")
    return done.stdout


def spread(values, digits):
    """Median [least..most]."""
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}..{max(values):.{digits}f}]"


def table(head, rows):
    """Prints columns, the first to the left and the others to the right."""
    widths = [max(len(str(row[at])) for row in [head, *rows]) for at in range(len(head))]
    for row in [head, *rows]:
        cells = [str(cell).rjust(width) for cell, width in zip(row, widths)]
        cells[0] = str(row[0]).ljust(widths[0])
        print((" " + "  ".join(cells)).rstrip())
