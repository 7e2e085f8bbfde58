"""By what the rows of several runs may be sorted: a column, a number, an argument. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from paddock.history.comparison import Difference
from paddock.views.numbers import Number, NumberRow, find_direction, read_number

Row = TypeVar("Row")
_DIVERGED = ("nan", "inf")
"""A number that JSON does not have."""


@dataclass(frozen=True, slots=True)
class Order:
    """The value of each row; None where it has none."""

    values: Sequence[Number | None]
    down: bool = False
    """The highest is the best, and first."""

    def sort(self, rows: Sequence[Row], *, turned: bool) -> list[Row]:
        """Numbers, then texts, then what has none or diverged, in either direction; rows that are alike stay in their
        order."""
        numbers: list[tuple[float, Row]] = []
        texts: list[tuple[str, Row]] = []
        others: list[Row] = []
        for value, row in zip(self.values, rows, strict=True):
            if (number := read_number(value)) is not None:
                numbers.append((number, row))
            elif value is None or str(value).lstrip("+-") in _DIVERGED:
                others.append(row)
            else:
                texts.append((str(value), row))
        is_down = self.down != turned
        numbers.sort(key=lambda each: each[0], reverse=is_down)
        texts.sort(key=lambda each: each[0], reverse=is_down)
        return [*(row for _, row in numbers), *(row for _, row in texts), *others]


def list_orders(
    columns: Mapping[str, Sequence[Number | None]], arguments: Iterable[Difference], numbers: Sequence[NumberRow]
) -> dict[str, Order]:
    """The orders by name. Of a number and an argument of one name the number is meant where it is known which is better
    (`loss`); else the argument: the last learning rate of a run is no longer the one that was asked for."""
    orders = {name: Order(values) for name, values in columns.items()}
    by_number = {row.name: Order(row.values, find_direction(row.name) > 0) for row in numbers}
    judged = {name: order for name, order in by_number.items() if find_direction(name)}
    return {**by_number, **{row.path: Order(row.values) for row in arguments}, **judged, **orders}


def find_order(orders: Mapping[str, Order], name: str) -> Order | None:
    """The order of a name as it is typed, also as `val-loss` or `STARTED`. None for what no row has."""
    alike = {_plain(each): order for each, order in orders.items()}
    found = orders.get(name) or alike.get(_plain(name))
    return found if found is not None and any(value is not None for value in found.values) else None


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
