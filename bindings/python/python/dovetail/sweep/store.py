"""The folder of a sweep's results.

    DIR/sweep.json                which version of Dovetail made it, from which grid
    DIR/results/NAME.parquet      one row for each point that has a result, one file for each batch
    DIR/failures/NAME.parquet     points that failed, with their errors
    DIR/wall/NAME.parquet         how long points took, and where: apart, so that equal runs have equal results
    DIR/records/policy=…/seed=…/  a row for each packet, if asked for

A file is written under a name that begins with a dot, synced and renamed, so a reader sees it whole or not at all. A batch's
results come last: a point counts as done when it is in them. Results are read again when a sweep is resumed; the failed points
are run again.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from .encoding import FORMAT, MARK
from .errors import StoreError
from .work import Done

_DESCRIPTION = "sweep.json"
_LOCK = ".lock"
_FOLDERS = ("results", "failures", "wall", "records")
_OURS = {_DESCRIPTION, _LOCK, *_FOLDERS}


class Store:
    """A folder that one coordinator at a time writes to."""

    def __init__(self, folder: Path, lock: IO[str]) -> None:
        self.folder = folder
        self._lock = lock
        #: Folders that were made for it, innermost first.
        self._made: list[Path] = []
        self._is_new = False

    @classmethod
    def open(cls, folder: Path, description: dict[str, Any], resume: bool) -> "Store":
        """Creates the folder, or opens it to go on if `resume`.

        Raises StoreError if it has other files, results that were not to be continued, or those of another version.
        """
        try:
            made = [path for path in (folder, *folder.parents) if not path.exists()]
            folder.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(folder)
            store = cls(folder, _locked(folder))
            store._made = made
            store._begin(description, resume)
        except OSError as error:
            raise _said(error, folder) from error
        return store

    def _begin(self, description: dict[str, Any], resume: bool) -> None:
        self._is_new = not (self.folder / _DESCRIPTION).exists()
        if not self._is_new:
            if not resume:
                raise StoreError(f"{self.folder} has a sweep already: continue it with --resume (resume=True), "
                                 "or give another folder")
            before = describe(self.folder)
            for what in ("version", "with_records"):
                if before.get(what) != description[what]:
                    raise StoreError(f"{self.folder} was begun with {what.replace('_', ' ')} {before.get(what)}, not "
                                     f"{description[what]}: results would mix; give another folder")
        for name in _FOLDERS:
            for partial in (self.folder / name).rglob(".*.partial"):
                partial.unlink()
        self._describe(description)

    def abandon(self) -> None:
        """Removes what `open` made if nothing was stored since, so that another attempt is not refused."""
        if not self._is_new or any((self.folder / name).exists() for name in _FOLDERS):
            return
        for name in (_DESCRIPTION, _LOCK):
            (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            for path in self._made:
                path.rmdir()

    def expect(self, points: int) -> None:
        """Says how many points the folder will have."""
        self._describe(describe(self.folder) | {"points": points})

    def _describe(self, description: dict[str, Any]) -> None:
        self._write(self.folder / _DESCRIPTION, json.dumps(description, indent=1).encode())

    def done(self) -> set[bytes]:
        """The keys of the points that have a result."""
        keys: set[bytes] = set()
        for path in files(self.folder, "results"):
            keys.update(bytes.fromhex(key) for key in read(path, ["key"])["key"].to_pylist())
        return keys

    def add(self, keys: list[bytes], done: Done) -> None:
        """Keeps what became of a batch with these keys."""
        name = hashlib.sha256(b"".join(sorted(keys))).hexdigest()[:24]
        try:
            for record, content in done.records:
                self._write(self.folder / "records" / record, content)
            for folder, content in (("wall", done.wall), ("failures", done.failures), ("results", done.results)):
                if content:
                    self._write(self.folder / folder / f"{name}.parquet", content)
        except OSError as error:
            raise _said(error, self.folder) from error

    def _write(self, path: Path, content: bytes) -> None:
        """Aside, synced, renamed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        try:
            with open(partial, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.rename(partial, path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Lets another coordinator go on."""
        self._lock.close()


def describe(folder: Path) -> dict[str, Any]:
    """What a sweep's folder says of itself."""
    path = folder / _DESCRIPTION
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise StoreError(f"{folder} has no sweep: there is no {_DESCRIPTION}") from error
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {error}") from error
    if not isinstance(found, dict) or found.get("format") != int(FORMAT):
        raise StoreError(f"{path} is not of a sweep that this version can read")
    return found


def files(folder: Path, kind: str) -> Iterator[Path]:
    """The whole files of a kind, in order of name."""
    return iter(sorted(path for path in (folder / kind).glob("*.parquet") if not path.name.startswith(".")))


def read(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A file of a sweep. Raises StoreError if it is damaged or was not written by one."""
    try:
        with pq.ParquetFile(path) as file:
            if (file.schema_arrow.metadata or {}).get(MARK) != FORMAT:
                raise StoreError(f"{path} was not written by a sweep: move it elsewhere")
            return file.read(columns)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{path} is damaged ({error}): remove it, and --resume (resume=True) runs its points again") from error


def _refuse_foreign(folder: Path) -> None:
    there = {path.name for path in folder.iterdir()}
    if foreign := sorted(there - _OURS):
        raise StoreError(f"{folder} has files that are not a sweep's ({foreign[0]}): give an empty folder or a new one")
    if there - {_LOCK} and _DESCRIPTION not in there:
        raise StoreError(f"{folder} has {min(there - {_LOCK})} but no {_DESCRIPTION}: give an empty folder or a new one")


def _locked(folder: Path) -> IO[str]:
    """A lock that ends with this process, and that its children do not inherit."""
    lock = open(folder / _LOCK, "w")  # noqa: SIM115
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise StoreError(f"{folder} is in use by another sweep") from error
        raise
    return lock


def _said(error: OSError, folder: Path) -> StoreError:
    if isinstance(error, StoreError):
        return error
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        free = shutil.disk_usage(folder).free
        return StoreError(f"no space for results in {folder} ({free:,} bytes are free): "
                          "make room, and continue with --resume (resume=True)")
    return StoreError(f"cannot write results to {folder}: {error}")
