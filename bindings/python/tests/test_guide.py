"""What the guide shows runs."""

import re
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


def _guide() -> Path:
    """Beside the tests, where they were copied to, or in the book."""
    copied = HERE / "python.md"
    return copied if copied.exists() else HERE.parents[2] / "docs" / "python.md"


def test_every_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for needed in ("polars", "pyarrow", "numpy", "simpy", "ns"):
        pytest.importorskip(needed)
    blocks = re.findall(r"^```python\n(.*?)^```", _guide().read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "atfq:batch=20" in capsys.readouterr().out
