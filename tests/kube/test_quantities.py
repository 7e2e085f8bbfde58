"""Quantities are written as Go's `resource.Quantity` writes them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from paddock.kube.quantities import Quantity, format_bytes, read_quantity
from paddock.words.room import read_amount


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("1000m", "1"), ("0.5", "500m"), ("1500m", "1500m"), ("2000", "2k"), ("1500", "1500"), ("1500000000", "1500M"),
        ("1024Mi", "1Gi"), ("1536Mi", "1536Mi"), ("512Ki", "512Ki"), ("0.5Ki", "512"), ("1023", "1023"),
        ("0.1Gi", "107374182400m"), ("1e3", "1e3"), ("5e2", "500"), ("0", "0"), ("0Gi", "0"), ("-5", "-5"),
        ("0.1n", "1n"), (4, "4"), (" 2Gi ", "2Gi"), ("1E", "1E"),
    ],
)  # fmt: skip
def test_a_quantity_is_written_with_the_largest_suffix_that_leaves_a_whole_number(
    given: str | int, written: str
) -> None:
    assert str(Quantity.read(given)) == written


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [("1Gi", "1Gi", "2Gi"), ("512Mi", "512Mi", "1Gi"), ("1G", "1Gi", "2073741824"), ("0", "1Gi", "1Gi"),
     ("500m", "500m", "1"), ("900m", "200m", "1100m")],
)  # fmt: skip
def test_a_sum_is_written_as_its_first_part_that_is_not_zero(first: str, second: str, total: str) -> None:
    assert str(Quantity.read(first) + Quantity.read(second)) == total
    assert str(Quantity.read(total) - Quantity.read(second) + Quantity.read(second)) == total


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity.read("1 GB")


@pytest.mark.parametrize(
    ("given", "amount"),
    [
        ("1e400", 2**63 - 1), ("8Ei", 2**63 - 1), ("-1e999", 1 - 2**63), ("9" * 4000 + "e900", 2**63 - 1),
        ("9223372036854775807", 2**63 - 1), ("1e-999", Fraction(1, 10**9)), ("0.1n", Fraction(1, 10**9)),
        ("-0.1n", Fraction(-1, 10**9)), ("1.5n", Fraction(2, 10**9)), ("0e999", 0), ("100m", Fraction(1, 10)),
    ],
)  # fmt: skip
def test_an_amount_is_bounded_as_in_kubernetes(given: str, amount: Fraction | int) -> None:
    assert read_quantity(given) == amount
    assert Quantity.read(str(Quantity.read(given))).amount == amount


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [
        ("512", "512 B"), ("1023Ki", "1023 KiB"), ("1536Mi", "1.5 GiB"), ("2015Gi", "2015 GiB"), ("10Ti", "10 TiB"),
        ("400Ti", "400 TiB"), ("1536Ti", "1.5 PiB"), ("7Ei", "7.0 EiB"),
    ],
)  # fmt: skip
def test_an_amount_of_bytes_has_the_unit_that_a_person_reads(bytes_: str, said: str) -> None:
    assert format_bytes(read_quantity(bytes_)) == said
    assert read_amount(said) == read_quantity(bytes_)
