"""What the guide shows runs."""

import re
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


def _examples(name: str, source: str) -> list[str]:
    """The examples of a page that is beside the tests, where it was copied to, or in the repository."""
    copied = HERE / name
    page = copied if copied.exists() else HERE.parents[2] / source
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_every_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for needed in ("polars", "pyarrow", "numpy", "simpy", "ns"):
        pytest.importorskip(needed)
    blocks = _examples("python.md", "docs/python.md")
    assert len(blocks) > 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "atfq:batch=20" in capsys.readouterr().out


def test_the_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = _examples("README.md", "bindings/python/README.md")
    exec(compile(block, "README.md", "exec"), {})
    assert "atfq:batch=20" in capsys.readouterr().out
