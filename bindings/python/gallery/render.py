"""Renders notebooks as pages of the book.

A notebook is a Python file in jupytext's percent format. It is run in a kernel, and becomes a page of Markdown: text as it is, code,
what the code printed, tables, and charts as SVG files beside the page. A page begins with the hash of its source, by which a test
sees whether it was rendered again after a change. Output of a cell with the tag "varies" is of this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jupytext
import nbclient
import nbformat

SOURCES = Path(__file__).parent

#: Run before each notebook: charts as SVG, tables as Markdown has them.
SETUP = """
import altair, polars
altair.renderers.enable("svg")
altair.theme.enable("none")
polars.Config(tbl_formatting="MARKDOWN", tbl_hide_column_data_types=True, tbl_hide_dataframe_shape=True, tbl_rows=60,
              tbl_cols=12, tbl_width_chars=200, fmt_str_lengths=80, tbl_cell_numeric_alignment="RIGHT")
"""


def notebooks() -> list[Path]:
    """The sources, by name."""
    return sorted(path for path in SOURCES.glob("*.py") if path.name != Path(__file__).name)


def digest(source: Path) -> str:
    """What a page says of the source that it was rendered from."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def run(source: Path) -> Any:
    """The notebook with what its cells gave; in an empty folder, which is gone afterwards."""
    notebook = jupytext.read(source)
    with tempfile.TemporaryDirectory() as folder:
        setup = nbformat.v4.new_code_cell(SETUP, metadata={"tags": ["hidden"]})
        notebook.cells.insert(0, setup)
        nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return notebook


def rendered(source: Path, notebook: Any) -> tuple[str, dict[str, str]]:
    """The page, and its charts by the names of their files."""
    name, charts = source.stem, {}
    parts = [f"<!-- Rendered by bin/gallery from bindings/python/gallery/{source.name}, SHA-256 {digest(source)}. -->"]
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "hidden" in tags:
            continue
        if cell.cell_type == "markdown":
            parts.append(cell.source.strip())
            continue
        parts.append(f"```python\n{cell.source.strip()}\n```")
        for output in outputs(cell.outputs):
            if output.startswith("<svg"):
                chart = f"{name}-{len(charts) + 1}.svg"
                charts[chart] = output.rstrip() + "\n"
                parts.append(f"![{caption(cell.source)}]({chart})")
                continue
            if "varies" in tags:
                parts.append("<!-- of the machine that it ran on -->")
            parts.append(output if output.startswith("|") else f"```text\n{output}\n```")
    place = "The notebook is `bindings/python/gallery/" + source.name + "`; [the gallery](README.md) says how to run it."
    return "\n\n".join([*parts, place]) + "\n", charts


def outputs(given: Iterable[Any]) -> list[str]:
    """What a cell printed and gave, in order; what it printed in a row is one."""
    kept: list[str] = []
    printed = ""
    for output in given:
        if output.output_type == "stream":
            if output.name == "stdout":
                printed += output.text
            continue
        if printed:
            kept, printed = [*kept, printed.rstrip()], ""
        if output.output_type in ("execute_result", "display_data"):
            data = output.data
            kept.append(data.get("image/svg+xml") or data.get("text/plain", ""))
    return [*kept, printed.rstrip()] if printed else kept


def caption(code: str) -> str:
    """What a chart is called where it cannot be seen: its title."""
    titles = re.findall(r'title="([^"]+)"', code)
    return max(titles, key=len, default="chart")


def main() -> int:
    parser = argparse.ArgumentParser(description="Renders notebooks as pages of the book.")
    parser.add_argument("names", nargs="*", help="only these; otherwise all")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the pages")
    args = parser.parse_args()
    for source in notebooks():
        if args.names and source.stem not in args.names:
            continue
        page, charts = rendered(source, run(source))
        for old in args.out.glob(f"{source.stem}-[0-9]*.svg"):
            old.unlink()
        (args.out / f"{source.stem}.md").write_text(page)
        for name, chart in charts.items():
            (args.out / name).write_text(chart)
        print(f"{source.stem}: {len(page)} characters, {len(charts)} charts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
