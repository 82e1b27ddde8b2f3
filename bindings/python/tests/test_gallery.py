"""The gallery: its notebooks run, print what the book shows, and the book has been rendered from them."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

for needed in ("jupytext", "nbclient", "nbformat", "ipykernel", "altair", "vl_convert", "polars", "distributed"):
    pytest.importorskip(needed)

HERE = Path(__file__).resolve().parent
#: Beside the tests, where they were copied to, or in the repository.
SOURCES = HERE / "gallery" if (HERE / "gallery").exists() else HERE.parent / "gallery"
PAGES = HERE / "gallery-pages" if (HERE / "gallery-pages").exists() else HERE.parents[2] / "docs" / "gallery"
NAMES = ["alpha-curve", "gateway", "own-policy", "papers", "short-flows", "which-policy"]


def _render() -> Any:
    spec = importlib.util.spec_from_file_location("render", SOURCES / "render.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _lasting(page: str) -> str:
    """A page without what a machine's speed decides."""
    return re.sub(r"<!-- of the machine that it ran on -->\n\n```text\n.*?```", "", page, flags=re.DOTALL)


def test_these_are_all_there_are() -> None:
    assert [source.stem for source in _render().notebooks()] == NAMES
    assert sorted(page.stem for page in PAGES.glob("*.md")) == ["README", *NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_rendered_from_its_source(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    assert f"SHA-256 {_render().digest(SOURCES / f'{name}.py')}." in page, "run bin/gallery"
    named = re.findall(r"!\[[^]]*\]\(([^)]+\.svg)\)", page)
    assert sorted(named) == sorted(chart.name for chart in PAGES.glob(f"{name}-[0-9]*.svg")) and named
    for chart in named:
        text = (PAGES / chart).read_text()
        assert text.startswith("<svg") and "<script" not in text and len(text) < 200_000


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_prints_what_its_page_shows(name: str) -> None:
    render = _render()
    source = SOURCES / f"{name}.py"
    page, charts = render.rendered(source, render.run(source))
    assert _lasting(page) == _lasting((PAGES / f"{name}.md").read_text())
    assert charts
