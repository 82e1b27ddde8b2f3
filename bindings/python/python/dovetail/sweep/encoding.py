"""Results as Parquet: equal runs are equal bytes, and a reader can tell that a file is a sweep's."""

import io
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from .points import Point

#: In the metadata of every file of a sweep; its value is the format's version.
MARK = b"dovetail.sweep"
FORMAT = b"1"

_FIXED = {
    "key": pa.string(),
    "scenario": pa.string(),
    "capture": pa.string(),
    "policy": pa.string(),
    "changes": pa.string(),
    "seed": pa.uint64(),
    "error": pa.string(),
}


def figures(given: "pa.Table | dict[str, Any]", apart: tuple[str, ...]) -> tuple[pa.Table, dict[str, Any]]:
    """The one row of figures, and what of it is kept apart. Columns that say which point it is are left out."""
    table = given if isinstance(given, pa.Table) else pa.Table.from_pylist([given])
    if table.num_rows != 1:
        raise ValueError(f"a run gave {table.num_rows} rows of figures in place of one")
    kept = [name for name in table.column_names if name not in apart and name not in _FIXED]
    return table.select(kept), {name: table[name][0].as_py() for name in table.column_names if name in apart}


def results(found: list[tuple[dict[str, Any], pa.Table]]) -> bytes:
    """One row for each point: which it is, and its figures."""
    table = pa.concat_tables([values for _, values in found], promote_options="permissive")
    points = _points([row for row, _ in found])
    for at, field in enumerate(points.schema):
        table = table.add_column(at, field, points[field.name])
    return _bytes(table.combine_chunks())


def rows(found: list[dict[str, Any]]) -> bytes:
    """Rows that begin with which point they are of."""
    return _bytes(_points(found))


def _points(found: list[dict[str, Any]]) -> pa.Table:
    names = list(dict.fromkeys(name for row in found for name in row))
    columns = {name: pa.array([row.get(name) for row in found], _FIXED.get(name)) for name in names}
    return pa.table(columns)


def records(table: pa.Table, key: str) -> bytes:
    """A row for each packet, with the point's key in front."""
    keys = pa.array([key] * table.num_rows, pa.string())
    return _bytes(table.add_column(0, "key", keys))


def record_path(point: Point, key: str) -> str:
    """Where records are: partitions as Hive names them."""
    seed = "default" if point.seed is None else point.seed
    return f"policy={quote(point.policy, safe='')}/seed={seed}/{key}.parquet"


def _bytes(table: pa.Table) -> bytes:
    into = io.BytesIO()
    # What else a producer put into the metadata may differ between runs.
    pq.write_table(table.replace_schema_metadata({MARK: FORMAT}), into, compression="zstd")
    return into.getvalue()
