"""Captures at a worker: where its node has a content, and how the coordinator brings one there.

Contents are in `$DOVETAIL_CAPTURES`, or `dovetail-captures-UID` in the folder for temporary files, under the name of their
hash. They arrive in pieces in a file of another name, which is renamed when its hash is right. What a folder or a path has is
hashed once in each process before it is used. Contents stay for the next sweep, until they have been unused for three days.
"""

import os
import socket
import tempfile
import time
from pathlib import Path

from .captures import Capture, digest_of

#: How long an unused content stays: three days.
_KEPT_S = 3 * 24 * 3600

#: What was found by hashing, by what a file looks like from outside.
_hashed: dict[tuple[str, int, int, int], str] = {}


def name() -> str:
    """What tells this node, and the folder that its workers share, from others."""
    return f"{socket.gethostname()}:{folder()}"


def folder() -> Path:
    """Where contents are kept on this node."""
    chosen = os.environ.get("DOVETAIL_CAPTURES")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"dovetail-captures-{os.getuid()}"


def locate(capture: Capture) -> str | None:
    """A path at which this process can read the content, if there is one."""
    if _has(capture.path, capture):
        return capture.path
    kept = folder() / capture.digest
    if not _has(str(kept), capture):
        return None
    _used(kept)
    return str(kept)


def _used(path: Path) -> None:
    status = path.stat()
    if time.time() - status.st_mtime > _KEPT_S / 10:
        # A new time would make the content be hashed again.
        os.utime(path)


def _has(path: str, capture: Capture) -> bool:
    try:
        status = os.stat(path)
        if status.st_size != capture.bytes:
            return False
        seen = (path, status.st_ino, status.st_size, status.st_mtime_ns)
        if seen not in _hashed:
            _hashed[seen] = digest_of(path)
        return _hashed[seen] == capture.digest
    except OSError:
        return False


def take(capture: Capture, sender: str, offset: int, piece: bytes) -> None:
    """Adds a piece of a content that a coordinator sends; the last one makes it readable."""
    kept = folder()
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not offset:
        _forget_old(kept)
    if kept.stat().st_uid != os.getuid():
        raise PermissionError(f"{kept} belongs to another user: set DOVETAIL_CAPTURES to a folder of your own")
    partial = kept / f".{capture.digest}.{sender}"
    with open(partial, "r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(piece)
    if offset + len(piece) < capture.bytes:
        return
    if digest_of(str(partial)) != capture.digest:
        partial.unlink()
        raise ValueError(f"{capture.path} changed while it was sent")
    partial.rename(kept / capture.digest)



def _forget_old(kept: Path) -> None:
    """Removes what no sweep has used for days. A sweep that needs it again sends it again."""
    for path in kept.iterdir():
        try:
            if time.time() - path.stat().st_mtime > _KEPT_S:
                path.unlink()
        except FileNotFoundError:
            pass
