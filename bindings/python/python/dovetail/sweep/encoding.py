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


def merged(tables: list[pa.Table]) -> pa.Table:
    """The rows of all tables, with the union of their columns. A column that is empty in one table takes the type that it has in
    the others."""
    filled: dict[str, list[pa.DataType]] = {}
    empty: dict[str, list[pa.DataType]] = {}
    for table in tables:
        for field in table.schema:
            has_values = table[field.name].null_count < table.num_rows
            (filled if has_values else empty).setdefault(field.name, []).append(field.type)
    kinds = {name: _kind(filled.get(name, []), empty.get(name, [])) for name in filled | empty}
    alike = [_cast(table, kinds) for table in tables]
    return pa.concat_tables(alike, promote_options="default")


def _kind(filled: list[pa.DataType], empty: list[pa.DataType]) -> pa.DataType:
    """The type of a column that has these. Without values it may have been written as text although it is a number."""
    numbers = [kind for kind in empty if pa.types.is_integer(kind) or pa.types.is_floating(kind)]
    kinds = filled or numbers or empty
    try:
        schemas = [pa.schema([("x", kind)]) for kind in dict.fromkeys(kinds)]
        return pa.unify_schemas(schemas, promote_options="permissive").field("x").type
    except pa.ArrowException:
        # Anything can be read as text.
        return pa.string()


def _cast(table: pa.Table, kinds: dict[str, pa.DataType]) -> pa.Table:
    for at, field in enumerate(table.schema):
        kind = kinds[field.name]
        if field.type != kind:
            values = table[field.name]
            is_empty = values.null_count == table.num_rows
            table = table.set_column(at, field.name, pa.nulls(table.num_rows, kind) if is_empty else values.cast(kind))
    return table


def results(found: list[tuple[dict[str, Any], pa.Table]]) -> bytes:
    """One row for each point: which it is, and its figures."""
    table = merged([values for _, values in found])
    points = _points([row for row, _ in found])
    for at, field in enumerate(points.schema):
        table = table.add_column(at, field, points[field.name])
    return _bytes(table.combine_chunks())


def schema(content: bytes) -> pa.Schema:
    """The columns of results."""
    return pq.read_schema(pa.BufferReader(content))


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
