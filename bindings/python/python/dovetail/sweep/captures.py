"""Captures by content.

A sweep names a capture by the hash of what it contains. A worker that can read the path, and finds the same content there, uses
it. One that cannot says so, and the coordinator sends the content to its node, once, into a folder that all workers of the node
share (`node.py`).
"""

import glob
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from .errors import GridError


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture as the coordinator knows it."""

    name: str
    path: str
    bytes: int
    digest: str


def digest_of(path: str) -> str:
    """The SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find(patterns: list[str], folder: Path) -> list[Capture]:
    """The captures that these names and patterns match, in order of name within each pattern, each content once."""
    found: dict[str, Capture] = {}
    for pattern in patterns:
        paths = sorted(glob.glob(str(folder / pattern), recursive=True)) if glob.has_magic(pattern) else [str(folder / pattern)]
        if not paths:
            raise GridError(f"capture: {str(folder / pattern)!r} matches no file")
        for path in paths:
            capture = _known(path)
            found.setdefault(capture.digest, capture)
    return list(found.values())


def _known(path: str) -> Capture:
    try:
        return Capture(os.path.basename(path), os.path.abspath(path), os.stat(path).st_size, digest_of(path))
    except OSError as error:
        raise GridError(f"capture: cannot read {path}: {error.strerror}") from error
