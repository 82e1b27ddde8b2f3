"""What stands for one value or for many in a grid: lists and ranges.

| written | stands for |
|---|---|
| `3`, `"5us"` | itself |
| `[1, 2, "4..6"]` | each of its values; ranges in lists are spread out |
| `"1..20"` | the whole numbers from 1 to 20 |
| `{ from = 0.3, to = 1, step = 0.1 }` | 0.3, 0.4, … 1; `unit = "us"` puts a unit behind each |
| `{ from = 1, to = 100, count = 5, scale = "log" }` | five numbers in equal ratios; without `scale`, in equal steps |
| `{ from = 1, to = 100, count = 5, scale = "log", whole = true }` | the same, rounded to whole numbers: 1, 3, 10, 32, 100 |

Numbers are decimal, so that 0.1 added three times is 0.3. An axis knows its size before its values exist: a grid that is far too
large is refused at once.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

from .errors import GridError

_WHOLE_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
_RANGE_KEYS = {"from", "to", "step", "count", "scale", "unit", "whole"}
#: Digits of a number between others in equal ratios.
_LOG_DIGITS = 6


@dataclass(frozen=True)
class Axis:
    """Values that are counted before they exist."""

    size: int
    _values: Iterable[Any]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def distinct(self) -> list[Any]:
        """The values, each once, in order."""
        return list({json.dumps(value, sort_keys=True, default=str): value for value in self}.values())


@dataclass(frozen=True)
class _Spread:
    """The numbers of a range, one after the other."""

    start: Decimal
    last: Decimal
    step: Decimal
    count: int
    is_log: bool
    unit: str
    is_whole: bool

    def __iter__(self) -> Iterator[Any]:
        for at in range(self.count):
            number = self._at(at)
            value = plain(number.to_integral_value() if self.is_whole else number)
            yield f"{value}{self.unit}" if self.unit else value

    def _at(self, at: int) -> Decimal:
        if not self.is_log:
            return self.start + self.step * at
        if at == self.count - 1:
            return self.last
        ratio = (self.last / self.start) ** (Decimal(at) / (self.count - 1))
        return Decimal(f"{self.start * ratio:.{_LOG_DIGITS}g}")


def plain(number: Decimal) -> int | float:
    """The number as a whole one if it is written so in full, otherwise as the closest float."""
    return int(number) if number == number.to_integral_value() else float(number)


def axis(value: Any, where: str) -> Axis:
    """The values that `value` stands for. `where` names it in messages."""
    if isinstance(value, list):
        parts = [_member(member, where) for member in value]
        return Axis(sum(part.size for part in parts), _Chained(parts))
    return _member(value, where)


@dataclass(frozen=True)
class _Chained:
    parts: list[Axis]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts)


def _member(value: Any, where: str) -> Axis:
    if isinstance(value, dict) and "from" in value:
        return _range(value, where)
    if isinstance(value, str) and (found := _WHOLE_RANGE.fullmatch(value)):
        first, last = int(found[1]), int(found[2])
        if last < first:
            raise GridError(f"{where}: {value!r} is empty: ranges go up")
        return Axis(last - first + 1, range(first, last + 1))
    return Axis(1, [literal(value, where)])


def literal(value: Any, where: str) -> Any:
    """A value that stands for itself, as JSON can say it."""
    match value:
        case bool() | int() | str():
            return value
        case float() | Decimal():
            number = Decimal(str(value))
            if not number.is_finite():
                raise GridError(f"{where}: {value} is no number that a run can have")
            return float(number)
        case list() | tuple():
            return [literal(member, where) for member in value]
        case dict():
            return {key: literal(member, where) for key, member in value.items()}
    raise GridError(f"{where}: {value!r} is neither a number, a text, a list nor a table")


def _range(table: dict[str, Any], where: str) -> Axis:
    if unknown := sorted(table.keys() - _RANGE_KEYS):
        raise GridError(f"{where}: unknown key {unknown[0]!r} of a range; valid are from, to, step, count, scale, unit and whole")
    if "to" not in table or ("step" in table) == ("count" in table):
        raise GridError(f"{where}: a range has from, to, and either step or count")
    start, last = _number(table["from"], where), _number(table["to"], where)
    unit, scale, whole = table.get("unit", ""), table.get("scale", "linear"), table.get("whole", False)
    if not isinstance(unit, str) or scale not in ("linear", "log") or not isinstance(whole, bool):
        raise GridError(f"{where}: unit is a text, scale is linear or log, and whole is true or false")
    if last < start:
        raise GridError(f"{where}: a range from {start} to {last} is empty: ranges go up")
    if "step" in table:
        step = _number(table["step"], where)
        if step <= 0 or scale == "log":
            raise GridError(f"{where}: a step is above 0, and goes without scale")
        return _spread(start, last, step, int((last - start) / step) + 1, False, (unit, whole))
    count = table["count"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 1 or (count == 1 and start != last):
        raise GridError(f"{where}: count is a whole number from 2 up, since both ends count")
    if scale == "log" and start <= 0:
        raise GridError(f"{where}: numbers in equal ratios are above 0")
    step = (last - start) / (count - 1) if count > 1 else Decimal(0)
    return _spread(start, last, step, count, scale == "log" and count > 1, (unit, whole))


def _spread(start: Decimal, last: Decimal, step: Decimal, count: int, is_log: bool, written: tuple[str, bool]) -> Axis:
    return Axis(count, _Spread(start, last, step, count, is_log, *written))


def _number(value: Any, where: str) -> Decimal:
    if not isinstance(value, bool) and isinstance(value, int | float | Decimal):
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal("nan")
        if number.is_finite():
            return number
    raise GridError(f"{where}: {value!r} is not a finite number")
