"""What the stubs say is what the native part has."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import dovetail
import pytest

PACKAGE = Path(dovetail.__file__).parent


def _mypy(module: str, *args: str) -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    said = subprocess.run([sys.executable, "-m", module, *args], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_stubs_are_what_there_is() -> None:
    _mypy("mypy.stubtest", "dovetail._native")


def test_the_package_and_its_examples_are_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    examples = Path(__file__).parent / "examples"
    _mypy("mypy", "--strict", "--ignore-missing-imports", *map(str, sorted(examples.glob("*.py"))))
    _mypy("mypy", "--strict", "--ignore-missing-imports", "-p", "dovetail")
