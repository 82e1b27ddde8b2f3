"""Scenarios as a sweep carries them: one text that stands for itself wherever it is run.

A scenario file may name others (`cdf = { file = "sizes.csv" }`). Workers have no such folder, and what those files contain
decides the results, so their points are put into the text.
"""

import hashlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import GridError

#: Makes one text of a scenario: of its name, its TOML or its table.
Canonical = Callable[[str | dict[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario under its name."""

    name: str
    text: str = field(repr=False)
    digest: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hashlib.sha256(self.text.encode()).hexdigest())


def canonical_by_dovetail(source: str | dict[str, Any]) -> str:
    """The scenario as Dovetail itself writes it."""
    import dovetail

    return dovetail.scenario(source)


def read(source: str | dict[str, Any], folder: Path, canonical: Canonical) -> Scenario:
    """The scenario that is named: a file relative to `folder`, TOML text, a table, or one that comes with Dovetail."""
    if isinstance(source, dict):
        return _made(str(source.get("name", "scenario")), source, folder, canonical)
    if "\n" in source:
        return _made("scenario", _parsed(source, "the scenario"), folder, canonical)
    path = folder / source
    if path.is_file():
        return _made(path.stem, _parsed(_text(path), str(path)), path.parent, canonical)
    if path.suffix or "/" in source:
        raise GridError(f"scenario: there is no file {path}")
    try:
        return Scenario(source, canonical(source))
    except ValueError as error:
        raise GridError(f"scenario {source!r}: {error}") from error


def _made(name: str, table: dict[str, Any], folder: Path, canonical: Canonical) -> Scenario:
    try:
        return Scenario(name, canonical(with_files_inside(table, folder)))
    except ValueError as error:
        raise GridError(f"scenario {name!r}: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GridError(f"scenario: cannot read {path}: {error}") from error


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GridError(f"{where}: {error}") from error


def with_files_inside(table: Any, folder: Path) -> Any:
    """The same table, with the points of every `cdf` that is a file written out."""
    if isinstance(table, list):
        return [with_files_inside(member, folder) for member in table]
    if not isinstance(table, dict):
        return table
    inside = {key: with_files_inside(member, folder) for key, member in table.items()}
    cdf = inside.get("cdf")
    if isinstance(cdf, dict) and isinstance(cdf.get("file"), str):
        rest = {key: value for key, value in cdf.items() if key != "file"}
        inside["cdf"] = {"points": _points(folder / cdf["file"]), **rest}
    return inside


def _points(path: Path) -> list[list[float]]:
    """The first and the last field of each line, as scenarios read such a file."""
    lines = (line.strip() for line in _text(path).splitlines())
    try:
        fields = [line.replace(",", " ").split() for line in lines if line and not line.startswith("#")]
        return [[float(line[0]), float(line[-1])] for line in fields]
    except ValueError as error:
        raise GridError(f"scenario: {path}: {error}") from error
