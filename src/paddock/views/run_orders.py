"""By what the rows of several runs may be sorted: a column, a number, an argument. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from paddock.history.comparison import Difference
from paddock.views.numbers import Number, NumberRow, find_direction, read_number

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Order:
    """The value of each row; None where it has none, which is last in either direction."""

    values: Sequence[Number | None]
    down: bool = False
    """The highest is the best, and first."""

    def sort(self, rows: Sequence[Row], *, turned: bool) -> list[Row]:
        """Numbers before texts; rows that are alike stay in their order."""
        keyed = [(self._key(value), row) for value, row in zip(self.values, rows, strict=True)]
        known = [each for each in keyed if each[0] is not None]
        known.sort(key=lambda each: each[0] or (), reverse=self.down != turned)
        return [row for _, row in known] + [row for key, row in keyed if key is None]

    @staticmethod
    def _key(value: Number | None) -> tuple[bool, float, str] | None:
        number = read_number(value)
        return None if value is None else (True, 0.0, str(value)) if number is None else (False, number, "")


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
