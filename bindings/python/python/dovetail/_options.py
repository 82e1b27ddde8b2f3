"""What functions are given, as the native part takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

StrPath = str | PathLike[str]

Scenario = StrPath | Mapping[str, Any] | None
"""A path or the name of a built-in scenario, a text of TOML (which has more than one line), or a dict of the same shape."""

_LISTS = ("policies", "seeds", "names")


def options(given: Mapping[str, Any], *but: str) -> dict[str, Any]:
    """What is given and is not None; the names of options are those of the functions."""
    kept = {name: value for name, value in given.items() if name not in but and value is not None}
    for name, value in kept.items():
        if isinstance(value, Mapping) and not isinstance(value, dict):
            kept[name] = dict(value)
        elif name in _LISTS and isinstance(value, Iterable) and not isinstance(value, str):
            kept[name] = list(value)
    return kept
