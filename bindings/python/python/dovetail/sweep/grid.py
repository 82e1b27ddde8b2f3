"""What a sweep runs: every combination of the values in a TOML file, or the rows of a table.

    scenario = "box.toml"                 # files, patterns, or scenarios that come with Dovetail
    capture = "captures/*.pcap"           # files or patterns; may be left out
    seed = "1..20"
    policy = ["drfq", { name = "tradeoff", alpha = { from = 0.3, to = 1, count = 8 } }]
    set.load = [0.8, 1.2]                 # any key of the scenario

Every key may have one value, a list or a range (`axes.py`). Points come in the order scenario, capture, `set`, policy, seed, the
last changing fastest, so that a batch needs few captures. They are made one at a time and never all held.
"""

import glob
import itertools
import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from . import captures, columns, known, listed, scenarios
from .axes import Axis, axis, literal
from .captures import Capture
from .errors import GridError
from .points import MAX_POINTS, Point, checked_change, checked_seed, policy_text
from .scenarios import Canonical, Scenario, canonical_by_dovetail

_KEYS = {"scenario", "capture", "policy", "seed", "set"}


class Points(Protocol):
    """Points that are counted before they are made."""

    @property
    def size(self) -> int: ...

    @property
    def axes(self) -> set[str]: ...

    def __iter__(self) -> Iterator[Point]: ...


@dataclass(frozen=True)
class Grid:
    """Every combination of these."""

    scenarios: list[Scenario | None]
    captures: list[Capture | None]
    changes: list[tuple[str, list[Any]]]
    policies: list[str]
    seeds: list[int | None]

    @property
    def size(self) -> int:
        """How many points there are."""
        changes = math.prod(len(values) for _, values in self.changes)
        return len(self.scenarios) * len(self.captures) * len(self.policies) * len(self.seeds) * changes

    @property
    def axes(self) -> set[str]:
        """The columns of results that say which point a row is."""
        return columns.axes(self.policies, (key for key, _ in self.changes))

    def __iter__(self) -> Iterator[Point]:
        names = [name for name, _ in self.changes]
        for scenario, capture in itertools.product(self.scenarios, self.captures):
            for values in itertools.product(*(values for _, values in self.changes)):
                changes = tuple(zip(names, values, strict=True))
                for policy, seed in itertools.product(self.policies, self.seeds):
                    yield Point(scenario, capture, policy, changes, seed)


def read(source: str | Path | dict[str, Any], canonical: Canonical = canonical_by_dovetail) -> Points:
    """The points of a grid file (TOML), of a table (CSV or Parquet), of a grid's TOML text, or of the same as a dict."""
    if isinstance(source, dict):
        return of_table(source, Path.cwd(), canonical)
    if isinstance(source, str) and "\n" in source:
        return of_table(_toml(source, "the grid"), Path.cwd(), canonical)
    path = Path(source)
    if path.suffix.lower() in (".csv", ".parquet"):
        return listed.read(path, canonical)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GridError(f"cannot read the grid {path}: {error}") from error
    return of_table(_toml(text, str(path)), path.parent, canonical)


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise GridError(f"{where}: {error}") from error


def of_table(table: dict[str, Any], folder: Path, canonical: Canonical) -> Grid:
    """The grid that a TOML table says. Relative paths start at `folder`."""
    if unknown := sorted(table.keys() - _KEYS):
        raise GridError(f"grid: unknown key {unknown[0]!r}; valid are {', '.join(sorted(_KEYS))}")
    if "policy" not in table:
        raise GridError("grid: it names no policy; add policy = \"drfq\", or a list")
    if not table.keys() & {"scenario", "capture"}:
        raise GridError("grid: it names neither a scenario nor a capture; 'dovetail scenarios' lists those that exist")
    changes = [(key, axis(value, f"set.{key}")) for key, value in _flat(table.get("set", {}), "")]
    policies = _policies(table["policy"])
    seeds = axis(table["seed"], "seed") if "seed" in table else Axis(1, [None])
    sources: list[str | dict[str, Any] | None] = [None]
    if "scenario" in table:
        sources = [*_sources(table["scenario"], folder)]
    patterns = _texts(table["capture"], "capture") if "capture" in table else []
    _refuse_too_many({"scenarios": len(sources), "policies": policies.size, "seeds": seeds.size}
                     | {f"values of {key}": values.size for key, values in changes})
    found = captures.find(patterns, folder)
    grid = Grid(
        scenarios=_distinct([None if source is None else scenarios.read(source, folder, canonical) for source in sources]),
        captures=list(found) if "capture" in table else [None],
        changes=[(key, [checked_change(key, value, f"set.{key}") for value in values.distinct()])
                 for key, values in sorted(changes, key=lambda change: change[0])],
        policies=policies.distinct(),
        seeds=[checked_seed(seed) for seed in seeds.distinct()],
    )
    if canonical is canonical_by_dovetail:
        known.check(grid.policies, "policy")
    empty = {"scenario": grid.scenarios, "capture": grid.captures, "policy": grid.policies, "seed": grid.seeds}
    for key, values in [*empty.items(), *((f"set.{key}", values) for key, values in grid.changes)]:
        if not values:
            raise GridError(f"grid: it has no points, since {key} is an empty list")
    _refuse_too_many({"scenarios": len(grid.scenarios), "captures": len(grid.captures), "policies": len(grid.policies),
                      "seeds": len(grid.seeds)} | {f"values of {key}": len(values) for key, values in grid.changes})
    return grid


def _refuse_too_many(sizes: dict[str, int]) -> None:
    points = math.prod(sizes.values())
    if points > MAX_POINTS:
        product = " × ".join(f"{size:,} {what}" for what, size in sizes.items() if size > 1)
        raise GridError(f"grid: {points:,} points ({product}) are more than the {MAX_POINTS:,} of one sweep: "
                        "narrow a range, or split the grid over several folders")


def _flat(table: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Keys with dots, and what they are set to. A table that is no range holds more keys; as a value it stands in a list."""
    if not isinstance(table, dict):
        raise GridError("set: it is a table of scenario keys, such as set.load = [0.8, 1.2]")
    for key, value in table.items():
        if isinstance(value, dict) and "from" not in value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _policies(value: Any) -> Axis:
    members = value if isinstance(value, list) else [value]
    parts = [_policy(member) for member in members]
    return Axis(sum(part.size for part in parts), itertools.chain.from_iterable(parts))


def _policy(member: Any) -> Axis:
    if isinstance(member, str):
        return Axis(1, [member])
    if not isinstance(member, dict) or not isinstance(member.get("name"), str):
        raise GridError(f"policy: {member!r} is neither a text such as \"drfq\" nor a table with a name")
    name = member["name"]
    knobs = [(key, axis(value, f"policy {name}: {key}")) for key, value in member.items() if key != "name"]
    return Axis(math.prod(values.size for _, values in knobs), _Knobs(name, knobs))


@dataclass(frozen=True)
class _Knobs:
    """A policy with every combination of its knobs, as policies are written."""

    name: str
    knobs: list[tuple[str, Axis]]

    def __iter__(self) -> Iterator[str]:
        for values in itertools.product(*(values for _, values in self.knobs)):
            yield policy_text(self.name, [(key, value) for (key, _), value in zip(self.knobs, values, strict=True)])


def _sources(value: Any, folder: Path) -> list[str | dict[str, Any]]:
    sources: list[str | dict[str, Any]] = []
    for member in value if isinstance(value, list) else [value]:
        if isinstance(member, dict):
            sources.append(literal(member, "scenario"))
        elif not isinstance(member, str):
            raise GridError(f"scenario: {member!r} is neither a name nor a table")
        elif "\n" not in member and glob.has_magic(member):
            paths = sorted(glob.glob(str(folder / member), recursive=True))
            if not paths:
                raise GridError(f"scenario: {str(folder / member)!r} matches no file")
            sources += paths
        else:
            sources.append(member)
    return sources


def _texts(value: Any, where: str) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    for text in texts:
        if not isinstance(text, str):
            raise GridError(f"{where}: {text!r} is not a text")
    return texts


def _distinct(found: list[Scenario | None]) -> list[Scenario | None]:
    """Each text once; two texts of one name get the names of their hashes behind it."""
    once = {scenario and scenario.digest: scenario for scenario in found}
    names = [scenario.name for scenario in once.values() if scenario]
    return [
        Scenario(f"{scenario.name}-{scenario.digest[:8]}", scenario.text)
        if scenario and names.count(scenario.name) > 1 else scenario
        for scenario in once.values()
    ]
