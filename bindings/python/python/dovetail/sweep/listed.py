"""Points as the rows of a table, CSV or Parquet.

Columns are `scenario`, `capture`, `policy` and `seed`, `policy.KNOB` for a policy's knobs, and `set.KEY` for a scenario's keys.
An empty cell sets nothing. Rows are read as they are needed, and the file is read twice: once to count and check, once to run.
"""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from . import captures, columns, known, scenarios
from .axes import literal
from .captures import Capture
from .errors import GridError
from .points import MAX_POINTS, Point, checked_change, checked_seed, policy_text
from .scenarios import Canonical, Scenario, canonical_by_dovetail

_PLAIN = {"scenario", "capture", "policy", "seed"}


@dataclass(frozen=True)
class Listed:
    """The rows of a table as points."""

    path: Path
    size: int
    #: The columns of results that say which point a row is.
    axes: set[str] = field(repr=False)
    scenarios: dict[str, Scenario] = field(repr=False)
    captures: dict[str, Capture] = field(repr=False)

    def __iter__(self) -> Iterator[Point]:
        for at, row in _rows(self.path):
            scenario, capture, policy, changes, seed = _parts(row, f"{self.path}, row {at}")
            yield Point(self.scenarios.get(scenario), self.captures.get(capture), policy, changes, seed)


def read(path: Path, canonical: Canonical) -> Listed:
    """Reads a table of points, and every scenario and capture that it names once."""

    @cache
    def scenario_of(name: str) -> Scenario:
        return scenarios.read(name, path.parent, canonical)

    @cache
    def capture_of(name: str) -> Capture:
        return captures.find([name], path.parent)[0]

    keys: set[bytes] = set()
    axes: set[str] = set()
    described: dict[str, Scenario] = {}
    replayed: dict[str, Capture] = {}
    for at, row in _rows(path):
        where = f"{path}, row {at}"
        if at > MAX_POINTS:
            raise GridError(f"{path}: it has more than the {MAX_POINTS:,} rows of one sweep: split it over several folders")
        scenario, capture, policy, changes, seed = _parts(row, where)
        if not policy or not (scenario or capture):
            raise GridError(f"{where}: a point has a policy, and a scenario or a capture")
        if canonical is canonical_by_dovetail:
            known.check([policy], where)
        if scenario:
            described[scenario] = scenario_of(scenario)
        if capture:
            replayed[capture] = capture_of(capture)
        axes |= columns.axes([policy], (key for key, _ in changes))
        # A row that is there twice is one point.
        keys.add(Point(described.get(scenario), replayed.get(capture), policy, changes, seed).key(""))
    if not keys:
        raise GridError(f"{path}: it has no rows, so there are no points")
    return Listed(path, len(keys), axes, described, replayed)


def _parts(row: dict[str, Any], where: str) -> tuple[str, str, str, tuple[tuple[str, Any], ...], int | None]:
    knobs, changes = [], []
    for column, cell in row.items():
        if cell is None or cell == "":
            continue
        if column.startswith("policy."):
            knobs.append((column.removeprefix("policy."), _value(cell, where)))
        elif column.startswith("set."):
            key, value = column.removeprefix("set."), literal(_value(cell, where), f"{where}: {column}")
            changes.append((key, checked_change(key, value, f"{where}: {column}")))
    policy = row.get("policy") or ""
    seed = row.get("seed")
    seed = None if seed in (None, "") else checked_seed(_value(seed, where))
    return (row.get("scenario") or "", row.get("capture") or "", policy and policy_text(policy, knobs),
            tuple(sorted(changes)), seed)


def _value(cell: Any, where: str) -> Any:
    """A cell of a CSV file as the number or the switch that it says, if it says one."""
    if not isinstance(cell, str):
        return cell
    if cell in ("true", "false"):
        return cell == "true"
    for kind in (int, float):
        try:
            number = kind(cell)
        except ValueError:
            continue
        # Some knobs may be infinite, as text.
        return cell if math.isinf(number) else literal(number, where)
    return cell


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows, counted from 1."""
    try:
        rows = _csv_rows(path) if path.suffix.lower() == ".csv" else _parquet_rows(path)
        yield from enumerate(rows, start=1)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise GridError(f"cannot read the points in {path}: {error}") from error


def _check(columns: list[str], path: Path) -> None:
    for column in columns:
        if column not in _PLAIN and not column.startswith(("policy.", "set.")):
            valid = "scenario, capture, policy, seed, policy.KNOB and set.KEY"
            raise GridError(f"{path}: unknown column {column!r}; valid are {valid}")


def _csv_rows(path: Path) -> Iterator[dict[str, Any]]:
    # Some programs start a file with a byte-order mark.
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file, strict=True)
        _check(list(rows.fieldnames or []), path)
        for row in rows:
            if None in row or None in row.values():
                raise GridError(f"{path}, line {rows.line_num}: it has not as many cells as the first line")
            yield row


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise GridError(f"{path}: {error}") from error
    _check(file.schema_arrow.names, path)
    for batch in file.iter_batches(batch_size=4096):
        yield from batch.to_pylist()
