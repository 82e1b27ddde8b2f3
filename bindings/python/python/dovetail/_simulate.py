"""Policies over the same traffic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from dovetail import _native
from dovetail._native import Table
from dovetail._progress import Progress, shown

Scenario = str | PathLike[str] | Mapping[str, Any] | None
"""A path or the name of a built-in scenario, a text of TOML (which has more than one line), or a dict of the same shape."""


class Result:
    """What runs of policies over the same traffic came to."""

    def __init__(self, summary: Table, records: Table | None, document: dict[str, Any], resources: list[str]) -> None:
        self.summary = summary
        """Every figure, a row for each policy."""
        self._records = records
        self.document = document
        """The same as the command's JSON, with where the figures come from."""
        self.resources = resources
        """The resources in the order in which packets cross them."""

    @property
    def records(self) -> Table:
        """A row for each packet of each policy."""
        if self._records is None:
            raise ValueError("records were not kept: call simulate(..., records=True)")
        return self._records

    @property
    def notes(self) -> list[str]:
        """What to know of the figures."""
        return list(self.document["notes"])

    def __repr__(self) -> str:
        policies = ", ".join(self.summary["policy"])
        return f"<dovetail.Result: {policies}>"


def simulate(
    scenario: Scenario,
    policies: str | Sequence[str],
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    records: bool = False,
    trace: str | PathLike[str] | None = None,
    workload: str | PathLike[str] | None = None,
    pipeline: str | None = None,
    queue_packets: int | None = None,
    buffer_packets: int | None = None,
    drop: str | None = None,
    link: str | None = None,
    load: float | None = None,
    window: str | None = None,
    programs: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Result:
    """Run policies over the same traffic, in virtual time.

    ``scenario`` is a path, the name of a built-in scenario or network, a text of TOML or a dict; ``overrides`` changes its values,
    by dotted keys such as ``"link.rate"`` or ``"flow.web.size"`` (None takes a key away). Files that a text or dict names are in
    ``folder``. With a ``trace`` the scenario's resources and classes are used for the capture. The other options are those of
    ``dovetail compare``. With ``records`` every packet is kept in memory.

    ``progress``: True shows a bar (it needs tqdm), a callable is told what is done, what is counted, how many are done, and how
    many there will be.

    What is wrong raises ValueError with the same text as the command. Ctrl-C stops the run.
    """
    options = _options(locals(), "records", "progress")
    with shown(progress) as told:
        done = _native.simulate(options, records, told)
    return Result(done.summary, done.records, json.loads(done.document), done.resources)


def scenario(
    scenario: Scenario,
    overrides: Mapping[str, Any] | None = None,
    *,
    folder: str | PathLike[str] | None = None,
) -> str:
    """A scenario with its overrides as TOML: the same text for equal scenarios, whatever their comments and order."""
    return _native.scenario(_options(locals()))


def _options(given: Mapping[str, Any], *but: str) -> dict[str, Any]:
    options = {name: value for name, value in given.items() if name not in but and value is not None}
    for name in ("scenario", "overrides"):
        if isinstance(options.get(name), Mapping):
            options[name] = dict(options[name])
    if isinstance(options.get("policies"), Iterable) and not isinstance(options["policies"], str):
        options["policies"] = list(options["policies"])
    return options
