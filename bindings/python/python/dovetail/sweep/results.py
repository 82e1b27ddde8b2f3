"""The results of a sweep, read again: every point, and medians with intervals over seeds.

Percentiles are nearest ranks, as everywhere in Dovetail: the least sample that so large a part of all do not exceed.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import encoding, plot, store
from .columns import find, is_axis, is_number, knobs_of
from .errors import SweepError

#: The ends of an interval.
ENDS = ((0.05, "p5"), (0.95, "p95"))
#: What identifies a point, in the order in which rows are sorted.
_AXES = ("scenario", "capture", "changes", "policy", "seed", "key")
#: It says no more than `policy`, which has the knobs as well.
_NAME = "policy.name"


@dataclass(frozen=True)
class Results:
    """What a folder has. `table` has a row for each point; it speaks Arrow, as this does."""

    folder: Path
    #: How many points the grid has.
    points: int
    table: pa.Table
    #: Points that failed and have no result, with their errors.
    failures: pa.Table
    #: How long each point took, in seconds, and on which node.
    wall: pa.Table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        missing = f", {self.missing:,} missing" if self.missing else ""
        failed = f", {self.failures.num_rows:,} failed" if self.failures.num_rows else ""
        return f"<dovetail.sweep.Results: {len(self):,} points{failed}{missing}>"

    @property
    def missing(self) -> int:
        """Points of the grid that have neither a result nor an error."""
        return max(self.points - len(self) - int(self.failures.num_rows), 0)

    @cached_property
    def axes(self) -> list[str]:
        """The columns that say which point a row is, and differ between rows."""
        names = [name for name in self.table.column_names if is_axis(name)]
        return [name for name in names if len(pc.unique(self.table[name])) > 1]

    @cached_property
    def figures(self) -> list[str]:
        """The columns of numbers that runs gave."""
        table = self.table
        return [name for name in table.column_names if not is_axis(name) and name not in ("key", "changes")
                and is_number(table.schema.field(name).type)]

    def column(self, name: str) -> str:
        """The column that is called so, in full or by its last part: `alpha` for `policy.alpha`."""
        if found := find(name, self.table.column_names):
            return found
        if not len(self):
            failed = self.failures.num_rows
            raise SweepError(f"{self.folder} has no results yet" + (f": {failed:,} of its points failed" if failed else ""))
        raise SweepError(f"there is no column {name!r}; there are {', '.join(self.axes + self.figures)}")

    def summary(self, *figures: str, over: Iterable[str] = ("seed",), by: Iterable[str] = ()) -> pa.Table:
        """Of each figure the median over `over`, and its 5th and 95th percentile, with how many samples there are.

        There is a row for each combination of the other axes, or of those in `by`.
        """
        chosen = [self.column(name) for name in figures] or self.figures
        apart = {self.column(name) for name in over}
        groups = [self.column(name) for name in by] or [name for name in self.axes if name not in apart | {_NAME}]
        for name in chosen:
            if not is_number(self.table.schema.field(name).type):
                raise SweepError(f"{name!r} has no numbers, so no median")
        rows = [{**setting, **_spread(values)} for setting, values in self._samples(groups, chosen)]
        return pa.Table.from_pylist(rows) if rows else pa.table({name: pa.array([]) for name in groups})

    def _samples(self, groups: list[str], chosen: list[str]) -> Iterator[tuple[dict[str, Any], dict[str, list[float]]]]:
        samples: dict[str, tuple[dict[str, Any], dict[str, list[float]]]] = {}
        for row in self.table.select(list(dict.fromkeys([*groups, *chosen]))).to_pylist():
            setting = {name: row[name] for name in groups}
            _, values = samples.setdefault(json.dumps(setting), (setting, {name: [] for name in chosen}))
            for name in chosen:
                if row[name] is not None and not math.isnan(row[name]):
                    values[name].append(row[name])
        return iter(samples.values())

    def plot(self, x: str, y: str, colour: str | None = None) -> Any:
        """An Altair chart of a figure's median over an axis, with the interval over everything that is not shown."""
        x, y = self.column(x), self.column(y)
        colour = self.column(colour) if colour else None
        summary = self.summary(y, by=[x, colour] if colour else [x], over=())
        if not summary.num_rows:
            raise SweepError(f"{self.folder} has no points to draw")
        return plot.chart(summary, x, y, colour)

    def write(self, path: str | Path) -> None:
        """The table of all points as one file, CSV or Parquet. Equal sweeps are equal bytes."""
        path = Path(path)
        if path.suffix == ".parquet":
            pq.write_table(self.table, path, compression="zstd")
        elif path.suffix == ".csv":
            from pyarrow import csv

            csv.write_csv(self.table, path)
        else:
            raise SweepError(f"{path}: name a file that ends in .csv or .parquet")


def load(folder: str | Path) -> Results:
    """The results in a sweep's folder, complete or not, in an order that does not depend on who ran what."""
    folder = Path(folder)
    description = store.describe(folder)
    table = _once(_all(folder, "results"))
    failures = _once(_all(folder, "failures"))
    wall = _once(_all(folder, "wall"))
    if failures.num_rows and table.num_rows:
        failures = failures.filter(pc.invert(pc.is_in(failures["key"], table["key"])))
    return Results(folder, int(description.get("points", 0)), _with_axes(table), failures, wall)


def _all(folder: Path, kind: str) -> pa.Table:
    tables = [store.read(path) for path in store.files(folder, kind)]
    if not tables:
        return pa.table({"key": pa.array([], pa.string())})
    return encoding.merged(tables).replace_schema_metadata(None)


def _once(table: pa.Table) -> pa.Table:
    """Sorted, with the first row of each key."""
    order = [(name, "ascending") for name in _AXES if name in table.column_names]
    names = [name for name in table.column_names if name in _AXES or name == "error"]
    rest = sorted(set(table.column_names) - set(names))
    table = table.select(names + rest).sort_by(order)
    firsts, seen = [], set()
    for at, key in enumerate(table["key"].to_pylist()):
        if key not in seen:
            seen.add(key)
            firsts.append(at)
    return table if len(firsts) == table.num_rows else table.take(pa.array(firsts, pa.int64()))


def _with_axes(table: pa.Table) -> pa.Table:
    """The same with a column for each knob (`policy.alpha`) and each change (`set.load`), before the figures."""
    if not table.num_rows:
        return table
    rows: list[dict[str, Any]] = []
    for policy, changes in zip(table["policy"].to_pylist(), table["changes"].to_pylist(), strict=True):
        rows.append({f"policy.{key}": value for key, value in knobs_of(policy)}
                    | {f"set.{key}": value for key, value in json.loads(changes).items()})
    at = table.column_names.index("seed") + 1
    for name in sorted({name for row in rows for name in row}):
        table = table.add_column(at, name, _column([row.get(name) for row in rows]))
        at += 1
    return table.drop_columns(["changes"])


def _column(values: list[Any]) -> pa.Array:
    """Numbers if all are, or are written as such; otherwise text."""
    try:
        numbers = [None if value is None or isinstance(value, bool) else float(value) for value in values]
        if not any(isinstance(value, bool) for value in values):
            return pa.array(numbers, pa.float64())
    except (TypeError, ValueError):
        pass
    return pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values], pa.string())


def _spread(values: dict[str, list[float]]) -> dict[str, Any]:
    row: dict[str, Any] = {"samples": max((len(found) for found in values.values()), default=0)}
    for name, found in values.items():
        found.sort()
        row[name] = median(found)
        for end, label in ENDS:
            row[f"{name}.{label}"] = rank(found, end)
    return row


def median(ordered: list[float]) -> float | None:
    """The middle, or the mean of the two in the middle."""
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def rank(ordered: list[float], part: float) -> float | None:
    """The least sample that this part of all do not exceed."""
    return ordered[max(math.ceil(part * len(ordered)) - 1, 0)] if ordered else None
