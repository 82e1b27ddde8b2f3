"""Policies over the same traffic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dovetail import _native
from dovetail._native import Table
from dovetail._options import Scenario, StrPath, options
from dovetail._policy import Policy
from dovetail._progress import Progress, shown

if TYPE_CHECKING:
    import altair


class Result:
    """Results of running policies on the same traffic."""

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
        """Caveats about the figures."""
        return list(self.document["notes"])

    def plot(self, x: str = "latency_us.p99", y: str | None = None) -> altair.Chart:
        """A chart of two figures of the summary, a point for each policy; it needs Altair.

        Without ``y``, that is the utilisation of the busiest resource.
        """
        from dovetail._plot import points

        return points(self.summary, x, y or _busiest(self.summary, self.resources), "policy")

    def __repr__(self) -> str:
        return f"<dovetail.Result: {', '.join(self.summary['policy'])}>"


def _busiest(summary: Table, resources: Sequence[str]) -> str:
    names = [f"utilisation.{resource}" for resource in resources]
    return max(names, key=lambda name: max((value or 0.0 for value in summary[name]), default=0.0))


def simulate(
    scenario: Scenario,
    policies: str | Policy | Sequence[str | Policy],
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    records: bool = False,
    trace: StrPath | None = None,
    workload: StrPath | None = None,
    pipeline: str | None = None,
    queue_packets: int | None = None,
    buffer_packets: int | None = None,
    drop: str | None = None,
    link: str | None = None,
    load: float | None = None,
    window: str | None = None,
    folder: StrPath | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Result:
    """Run policies over the same traffic, in virtual time.

    ``scenario`` is a path, the name of a built-in scenario or network, a text of TOML or a dict; None is the built-in "middlebox",
    or no scenario where there is a ``trace`` or ``workload``. ``overrides`` changes its values, by dotted keys such as
    ``"link.rate"`` or ``"flow.web.size"``; None removes a key. Files that a text or dict names are looked up in ``folder``. With a
    ``trace`` the scenario's resources and classes are used for the capture. The other options are those of
    ``dovetail compare``. With ``records`` every packet is kept in memory.

    A policy is a string such as ``"atfq:batch=20"``, or your own object: see ``Policy``.

    ``progress``: True shows a bar (it needs tqdm); a callable is called as ``f(activity, unit, done, total)``.

    Errors raise ValueError with the same text as the command's. Ctrl-C stops the run.
    """
    asked = options(locals(), "policies", "records", "progress")
    listed = [policies] if isinstance(policies, str) or not isinstance(policies, Iterable) else list(policies)
    asked["policies"] = [policy for policy in listed if isinstance(policy, str)]
    own = [(at, policy) for at, policy in enumerate(listed) if not isinstance(policy, str)]
    with shown(progress) as told:
        done = _native.simulate(asked, own, records, told)
    return Result(done.summary, done.records, json.loads(done.document), done.resources)


def scenario(
    scenario: StrPath | Mapping[str, Any],
    overrides: Mapping[str, Any] | None = None,
    *,
    folder: StrPath | None = None,
) -> str:
    """A scenario with its overrides as TOML in canonical form: equal scenarios give equal text, whatever their comments and order."""
    return _native.scenario(options(locals()))
