"""Which column of the results a name means, and names that fit none, as early as that can be known.

The grid says which axes there will be, so a wrong one is refused before anything runs. Figures depend on the scenario and the
policy, so what the first results do not have is only reported: others may have it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .errors import GridError, SweepError

if TYPE_CHECKING:
    import pyarrow as pa

#: Axes of every sweep.
PLAIN = ("scenario", "capture", "policy", "seed")
#: What the others begin with: knobs of policies, and keys of scenarios.
_KNOB, _CHANGE = "policy.", "set."


def is_axis(name: str) -> bool:
    """Whether a column says which point a row is."""
    return name in PLAIN or name.startswith((_KNOB, _CHANGE))


def is_number(kind: "pa.DataType") -> bool:
    """Whether a column of this type has numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def axes(policies: Iterable[str], changes: Iterable[str]) -> set[str]:
    """The axes of these policies and of these keys of `set`."""
    knobs = {f"{_KNOB}{key}" for policy in policies for key, _ in knobs_of(policy)}
    return {*PLAIN, *knobs, *(f"{_CHANGE}{key}" for key in changes)}


def knobs_of(policy: str) -> Iterator[tuple[str, str]]:
    """The policy's name, and its knobs with their values."""
    name, _, knobs = policy.partition(":")
    yield "name", name
    for knob in filter(None, knobs.split(",")):
        key, _, value = knob.partition("=")
        yield key, value


def find(name: str, columns: Iterable[str]) -> str | None:
    """The column that is called so, in full or by its last part: `alpha` for `policy.alpha`. Raises SweepError if several are."""
    known = list(columns)
    if name in known:
        return name
    found = [column for column in known if column.endswith((f".{name}", f"_{name}"))]
    if len(found) > 1:
        raise SweepError(f"{name!r} may be {', '.join(found)}: say which")
    return found[0] if found else None


def check(names: Iterable[str], there: set[str]) -> None:
    """Raises GridError if a name is of an axis that is not `there`."""
    for name in names:
        if is_axis(name) and name not in there:
            raise GridError(f"there will be no column {name!r}; the grid's axes are {', '.join(_sorted(there))}")


def missing(names: Iterable[str], there: set[str], first: "pa.Schema") -> Iterator[str]:
    """A line for each name that is neither of the axes nor in the first results."""
    figures = [field for field in first if field.name not in there and field.name not in ("key", "changes")]
    for name in names:
        try:
            if find(name, [*_sorted(there), *(field.name for field in figures)]) is None:
                numbers = [field.name for field in figures if is_number(field.type)]
                yield f"the first results have no column {name!r}; there are {', '.join([*_sorted(there), *numbers])}"
        except SweepError as error:
            yield str(error)


def _sorted(there: set[str]) -> list[str]:
    return [*PLAIN, *sorted(there - set(PLAIN))]
