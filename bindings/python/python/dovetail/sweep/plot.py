"""A first picture: a figure over an axis, as the median with the interval over seeds and everything else that is not shown."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from .errors import SweepError

_INSTALL = "pip install 'dovetail-sched[sweep]'"
_NO_ALTAIR = f"charts are drawn by Altair, which is not installed: {_INSTALL}"


def chart(summary: pa.Table, x: str, y: str, colour: str | None) -> Any:
    """The chart of a summary, of at least one row, of `y` by `x` and `colour`, which tells its lines apart."""
    try:
        import altair as alt
    except ImportError as error:
        raise SweepError(_NO_ALTAIR) from error
    # Dots and brackets mean something to Altair.
    names = {x: "x", y: "y", f"{y}.p5": "low", f"{y}.p95": "high"} | ({colour: "colour"} if colour else {})
    rows = [{names[name]: value for name, value in row.items() if name in names} for row in summary.to_pylist()]
    is_number = all(isinstance(row["x"], int | float) for row in rows)
    encoding: dict[str, Any] = {}
    if is_number:
        encoding["x"] = alt.X("x", type="quantitative", title=x, scale=alt.Scale(zero=False))
    else:
        encoding["x"] = alt.X("x", type="nominal", title=x, sort=None)
    if colour:
        encoding["color"] = alt.Color("colour", type="nominal", title=colour)
    base = alt.Chart(alt.InlineData(values=rows)).encode(**encoding)
    low = alt.Y("low", type="quantitative", title=y, scale=alt.Scale(zero=False))
    middle = alt.Y("y", type="quantitative", title=y)
    if is_number:
        spread, line = base.mark_area(opacity=0.2).encode(y=low, y2="high"), base.mark_line(point=True).encode(y=middle)
    else:
        spread, line = base.mark_rule().encode(y=low, y2="high"), base.mark_point(filled=True, size=60).encode(y=middle)
    return (spread + line).properties(title=f"{y}: median, 5th to 95th percentile", width=480, height=300)


def check(path: Path, results: Path) -> None:
    """Refuses a path where a chart could not be saved, before what it shows is run. `results` is the sweep's own folder."""
    if not find_spec("altair"):
        raise SweepError(_NO_ALTAIR)
    if path.suffix != ".html" and not find_spec("vl_convert"):
        raise SweepError(_no_converter(path))
    folder = path.parent
    if results.resolve() in path.resolve().parents:
        raise SweepError(f"{path}: {results} has a sweep's files and no others: name another folder")
    if path.is_dir():
        raise SweepError(f"{path}: it is a folder")
    if not folder.is_dir():
        raise SweepError(f"{path}: there is no folder {folder}: create it")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise SweepError(f"{path}: it cannot be written")


def save(picture: Any, path: Path) -> None:
    """As SVG, PNG or HTML, by the file's name. SVG and PNG need no browser and no network."""
    try:
        picture.save(str(path))
    except ImportError as error:
        raise SweepError(_no_converter(path)) from error


def _no_converter(path: Path) -> str:
    return f"{path.suffix} needs vl-convert-python: {_INSTALL}, or name a file that ends in .html"
