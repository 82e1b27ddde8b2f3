"""Charts of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail._native import Table

if TYPE_CHECKING:
    import altair


def points(table: Table, x: str, y: str, colour: str | None) -> altair.Chart:
    """A point for each row, at two of its columns; those without a value are left out."""
    try:
        import altair
    except ImportError as error:
        raise ImportError("charts need Altair: pip install 'dovetail-sched[plot]'") from error
    wanted = [name for name in (x, y, colour) if name is not None]
    for name in wanted:
        if name not in table.columns:
            raise ValueError(f"there is no column '{name}', only {', '.join(table.columns)}")
    columns: list[list[Any]] = [table[name] for name in wanted]
    values = [dict(zip(wanted, row, strict=True)) for row in zip(*columns, strict=True) if None not in row]

    def channel(name: str) -> dict[str, Any]:
        kind = "nominal" if any(isinstance(value, str) for value in table[name]) else "quantitative"
        # A dot in a name is no path into the row.
        return {"field": name.replace(".", "\\."), "type": kind, "title": name}

    encoding: dict[str, Any] = {"x": channel(x), "y": channel(y), "tooltip": [channel(name) for name in wanted]}
    if colour is not None:
        encoding["color"] = channel(colour)
    mark = {"type": "point", "filled": True, "size": 80}
    return altair.Chart.from_dict({"data": {"values": values}, "mark": mark, "encoding": encoding})
