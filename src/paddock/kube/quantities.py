"""Kubernetes' quantities: `500m`, `1Gi`, `2`, `1e3`. Exact: fractions, no floats.

Source of the suffixes and of the bounds: apimachinery, resource.ParseQuantity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

_SUFFIXES: dict[str, Fraction] = {
    "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
# Possessive: digits that were read are never given back, so that a text of a megabyte is refused as fast as it is read.
_FORM = re.compile(r"([+-]?(?:\d++(?:\.\d*+)?|\.\d++))(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))")


def read_quantity(text: str | int | float) -> Fraction:
    """The amount in units (cores, bytes, devices). `ValueError` names the text and the valid suffixes."""
    written = str(text).strip()
    amount = _read_remembered(written) if len(written) <= _LONGEST_REMEMBERED else _read(written)
    if amount is None:
        raise ValueError(f"{text!r:.100} is not a quantity: a number with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei")
    return amount


def _read(written: str) -> Fraction | None:
    match = _FORM.fullmatch(written)
    if match is None or (match[3] or "") not in _SUFFIXES:
        return None
    exponent = Fraction(10) ** int(match[2]) if match[2] else Fraction(1)
    return _bound(Fraction(match[1]) * exponent * _SUFFIXES[match[3] or ""])


_MOST, _PARTS = Fraction(2**63 - 1), 10**9


def _bound(amount: Fraction) -> Fraction:
    """At most what 64 bits hold, and whole billionths, away from 0: so none is too long to be written or divided."""
    size = abs(amount)
    if size.denominator > 1:
        size = Fraction(-(-size.numerator * _PARTS // size.denominator), _PARTS)
    return min(size, _MOST) * (-1 if amount < 0 else 1)


_LONGEST_REMEMBERED = 32
_read_remembered = lru_cache(maxsize=1024)(_read)
"""The pods of a job all have the same few amounts, and each is read by many."""


def read_amounts(amounts: Mapping[str, str | int | float] | None) -> dict[str, Fraction]:
    """Reads a resource list (`{"cpu": "500m"}`) as amounts by name."""
    return {name: read_quantity(amount) for name, amount in (amounts or {}).items()}


def format_quantity(amount: Fraction) -> str:
    """The amount as a quantity without large suffixes: `2`, `500m`; rounded up to thousandths."""
    if amount.denominator == 1:
        return str(amount.numerator)
    return f"{-(-amount.numerator * 1000 // amount.denominator)}m"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount that is written as it was given: `1Gi` and `1Gi` are `2Gi`, `1G` and `1G` are `2G`. `read` makes one.
    Source of the text: apimachinery, Quantity.CanonicalizeBytes."""

    amount: Fraction = Fraction(0)
    form: Literal["decimal", "binary", "exponent"] = "decimal"

    @staticmethod
    @lru_cache(maxsize=1024)
    def read(text: str | int | float) -> Quantity:
        """`ValueError` as of `read_quantity`. Cached: the pods of a job all have the same few amounts."""
        amount, shown = read_quantity(text), str(text).strip()
        if shown.endswith("i"):
            return Quantity(amount, "binary")
        return Quantity(amount, "exponent" if re.search(r"\d[eE][+-]?\d", shown) else "decimal")

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.amount + other.amount, self.form if self.amount else other.form)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.amount - other.amount, self.form if self.amount else other.form)

    def __mul__(self, count: int) -> Quantity:
        return Quantity(self.amount * count, self.form)

    def __lt__(self, other: Quantity) -> bool:
        return self.amount < other.amount

    def __bool__(self) -> bool:
        return bool(self.amount)

    def __str__(self) -> str:
        """With the largest suffix that leaves a whole number: `1536Mi`, `4k`, `500m`."""
        if self.form == "binary" and abs(self.amount) >= 1024 and self.amount.denominator == 1:
            return _write(self.amount, _BINARY)
        steps = _EXPONENTS if self.form == "exponent" else _DECIMAL
        smallest = self.amount * 10**9
        return _write(Fraction(-(-smallest.numerator // smallest.denominator), 10**9), steps)


_BINARY = [(text, _SUFFIXES[text]) for text in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", "")]
_DECIMAL = [(text, _SUFFIXES[text]) for text in ("E", "P", "T", "G", "M", "k", "", "m", "u", "n")]
_EXPONENTS = [(f"e{power}" if power else "", Fraction(10) ** power) for power in range(18, -10, -3)]


def _write(amount: Fraction, steps: list[tuple[str, Fraction]]) -> str:
    if not amount:
        return "0"
    for suffix, step in steps:
        if (amount / step).denominator == 1:
            return f"{amount / step}{suffix}"
    raise AssertionError("unreachable: the last step divides every amount")


def format_bytes(count: Fraction | float) -> str:
    """The number of bytes for people: `23 GiB`, `193 MiB`, `512 B`. Machines of some TiB are told in GiB, as what is
    free on one and what a pod asks for may differ by a few."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if abs(value) < (10 * 1024 if unit == "GiB" else 1024):
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
