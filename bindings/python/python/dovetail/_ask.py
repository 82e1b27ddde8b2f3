"""What the command does besides: comparing, tuning, explaining, admitting, and running the papers' experiments again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dovetail import _native
from dovetail._native import Table
from dovetail._options import Scenario, StrPath, options
from dovetail._progress import Progress, shown

if TYPE_CHECKING:
    import altair


class Answer:
    """The answer to a question: the command's JSON document, and its rows as a table."""

    def __init__(self, document: Any, table: Table) -> None:
        self.document = document
        """As the command prints it with ``--json``."""
        self.table = table
        """Its rows; entries of a document become columns that are named by the path to them."""

    @property
    def notes(self) -> list[str]:
        """Caveats about the figures."""
        return list(self.document.get("notes", [])) if isinstance(self.document, dict) else []

    def plot(self, x: str, y: str, colour: str | None = None) -> altair.Chart:
        """A chart of two columns of the table; it needs Altair."""
        from dovetail._plot import points

        return points(self.table, x, y, colour)

    def __repr__(self) -> str:
        return f"<dovetail.{type(self).__name__}: {len(self.table)} rows>"


class Comparison(Answer):
    """Policies side by side: ``table`` has a row for each policy in each sample, and with several samples their medians."""

    @property
    def summary(self) -> Table:
        """The table."""
        return self.table

    @property
    def verdict(self) -> list[str]:
        """Who was best at what, in sentences; none for networks."""
        return list(self.document.get("verdict", []))


class Tuning(Answer):
    """Curves over knobs: ``table`` has a row for each value that was tried."""

    @property
    def recommended(self) -> list[Any]:
        """What to run, for each curve."""
        return [sweep.get("recommended") for sweep in self.document.get("sweeps", [])]


class Explanation(Answer):
    """Who made whose packets wait: ``table`` has a row for each class."""


class Reproduction(Answer):
    """Published figures beside ours: ``table`` has a row for each."""

    @property
    def holds(self) -> bool:
        """Whether every row holds that should; known, explained deviations do not count."""
        return all(row["holds"] or row.get("known") for row in self._rows())

    def _rows(self) -> Iterable[dict[str, Any]]:
        documents = self.document if isinstance(self.document, list) else [self.document]
        return (row for document in documents for row in document["rows"])


class Admissions(Answer):
    """Who may reserve what: ``table`` has a row for each reservation."""


def _traces(given: dict[str, Any]) -> dict[str, Any]:
    """Captures may be one path or several."""
    trace = given.get("trace")
    if trace is not None and not isinstance(trace, str) and isinstance(trace, Iterable):
        given["trace"] = list(trace)
    return given


def compare(
    scenario: Scenario = None,
    policies: str | Sequence[str] | None = None,
    *,
    seeds: Iterable[int] | None = None,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    trace: StrPath | Sequence[StrPath] | None = None,
    workload: StrPath | None = None,
    pipeline: str | None = None,
    queue_packets: int | None = None,
    buffer_packets: int | None = None,
    drop: str | None = None,
    link: str | None = None,
    load: float | None = None,
    window: str | None = None,
    programs: StrPath | None = None,
    folder: StrPath | None = None,
    report: StrPath | None = None,
    records: StrPath | None = None,
    format: str | None = None,
    pcap: StrPath | None = None,
    summary: StrPath | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Comparison:
    """Compare policies as ``dovetail compare`` does, over several seeds and captures if they are given.

    ``report`` and ``summary`` are files to write, ``records`` and ``pcap`` folders with a file for each policy, as with the command's
    options; without them nothing is written.
    """
    asked = _traces(options(locals(), "progress"))
    with shown(progress) as told:
        return Comparison(*_parsed(_native.compare(asked, told)))


def tune(
    scenario: Scenario = None,
    policies: str | Sequence[str] | None = None,
    *,
    points: int | None = None,
    seeds: Iterable[int] | None = None,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    trace: StrPath | Sequence[StrPath] | None = None,
    workload: StrPath | None = None,
    pipeline: str | None = None,
    queue_packets: int | None = None,
    buffer_packets: int | None = None,
    drop: str | None = None,
    link: str | None = None,
    load: float | None = None,
    window: str | None = None,
    folder: StrPath | None = None,
    report: StrPath | None = None,
    records: StrPath | None = None,
    format: str | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Tuning:
    """Find which value of a policy's knob to run, as ``dovetail tune`` does."""
    asked = _traces(options(locals(), "progress"))
    with shown(progress) as told:
        return Tuning(*_parsed(_native.tune(asked, told)))


def explain(
    scenario: Scenario,
    policy: str,
    *,
    against: str | None = None,
    packet: int | None = None,
    flow: str | None = None,
    class_: str | None = None,
    slowest: int | None = None,
    seeds: Iterable[int] | None = None,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    trace: StrPath | Sequence[StrPath] | None = None,
    workload: StrPath | None = None,
    pipeline: str | None = None,
    queue_packets: int | None = None,
    buffer_packets: int | None = None,
    drop: str | None = None,
    link: str | None = None,
    load: float | None = None,
    folder: StrPath | None = None,
    report: StrPath | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Explanation:
    """Explain who made packets wait, as ``dovetail explain`` does."""
    asked = _traces(options(locals(), "progress"))
    with shown(progress) as told:
        return Explanation(*_parsed(_native.explain(asked, told)))


def reproduce(
    names: str | Sequence[str],
    *,
    trace: StrPath | None = None,
    report: StrPath | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Run published experiments again, as ``dovetail reproduce`` does.

    Ctrl-C returns at once, and the runs that it had begun end with it.
    """
    asked = options(locals(), "progress")
    with shown(progress) as told:
        return Reproduction(*_parsed(_native.reproduce(asked, told)))


def admit(file: Scenario, *, bound: str | None = None, folder: StrPath | None = None) -> Admissions:
    """Decide which flows can be guaranteed rates and delays, as ``dovetail admit`` does; ``file`` may be a text or a dict."""
    return Admissions(*_parsed(_native.admit(options(locals()))))


def policies() -> list[dict[str, Any]]:
    """Every policy with its knobs, costs and source."""
    known: list[dict[str, Any]] = json.loads(_native.policies())
    return known


def scenarios() -> list[dict[str, Any]]:
    """Every scenario that comes with the package."""
    known: list[dict[str, Any]] = json.loads(_native.scenarios())
    return known


def _parsed(answer: _native.Answer) -> tuple[Any, Table]:
    return json.loads(answer.document), answer.table
