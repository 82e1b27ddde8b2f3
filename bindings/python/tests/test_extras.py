"""What users are told to install is something that the package has."""

import re
from importlib import metadata
from pathlib import Path

import dovetail
import pytest

PACKAGE = Path(dovetail.__file__).parent
PROVIDED = set(metadata.metadata("dovetail-sched").get_all("Provides-Extra") or [])
ASKED = re.compile(r"(?:dovetail-sched|bindings/python)\[([\w,]+)\]")


def _asked(text: str) -> set[str]:
    return {extra for extras in ASKED.findall(text) for extra in extras.split(",")}


def test_messages_name_extras_that_there_are() -> None:
    asked = {extra for path in PACKAGE.rglob("*.py") for extra in _asked(path.read_text())}
    assert {"plot", "progress", "sweep", "simpy"} <= asked
    assert asked <= PROVIDED


@pytest.mark.parametrize("page", ["python.md", "sweep.md", "clusters.md"])
def test_pages_name_extras_that_there_are(page: str) -> None:
    copied = Path(__file__).parent / page
    path = copied if copied.exists() else Path(__file__).parents[3] / "docs" / page
    assert _asked(path.read_text()) <= PROVIDED


def test_sweeps_find_what_they_import() -> None:
    """Every package that a part of `dovetail.sweep` imports is one of the extra's; bokeh is what the dashboard needs."""
    imported = set()
    for path in (PACKAGE / "sweep").glob("*.py"):
        named = r"^\s*(?:from|import) (pyarrow|altair|tqdm|distributed|dask|bokeh)\b"
        imported |= set(re.findall(named, path.read_text(), re.MULTILINE))
    required = [line for line in metadata.requires("dovetail-sched") or [] if 'extra == "sweep"' in line.replace("'", '"')]
    names = {re.split(r"[^\w-]", line)[0] for line in required}
    # Dask comes with distributed, and charts are saved by what Altair imports itself.
    assert imported - {"dask", "bokeh"} | {"vl-convert-python"} <= names
