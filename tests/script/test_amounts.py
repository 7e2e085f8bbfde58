"""--cpus and --memory: what is taken as it is typed, and what is meant by the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.quantities import read_quantity
from paddock.script.amounts import explain_wrong_cpus, explain_wrong_memory


@pytest.mark.parametrize("text", ["1", "2", "0.5", "500m", "64", "1e1"])
def test_a_number_of_cpus_is_taken(text: str) -> None:
    assert explain_wrong_cpus(text) is None


@pytest.mark.parametrize("text", ["4Gi", "4G", "512Mi", "1.5Gi", "8000000000", "1e10"])
def test_an_amount_of_memory_is_taken(text: str) -> None:
    assert explain_wrong_memory(text) is None


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("2cpus", "2"), ("2c", "2"), ("2 cores", "2"), ("2,5", "2.5"), ("500M", "500m"), (" 2", "2"),
        ("0", ""), ("-1", ""), ("4Gi", ""), ("two", ""), ("", ""), ("1" * 100, ""), ("200000", ""),
    ],
)  # fmt: skip
def test_what_is_no_number_of_cpus_is_refused_with_the_nearest(text: str, near: str) -> None:
    said = str(explain_wrong_cpus(text))
    assert repr(text) in said
    assert f"did you mean {near}?" in said if near else "did you mean" not in said


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("4GB", "4G"), ("4gb", "4G"), ("4g", "4G"), ("4GiB", "4Gi"), ("4gib", "4Gi"), ("4 GB", "4G"),
        ("1,5Gi", "1.5Gi"),
        ("4", "4Gi"), ("4096", "4096Mi"), ("4m", "4M"), ("512MB", "512M"), ("64000K", "64000k"),
        ("0", ""), ("-1", ""), ("4k", ""), ("lots", ""), ("", ""), ("4i", ""), ("b", ""), ("9" * 10_000, ""),
    ],
)  # fmt: skip
def test_what_is_no_amount_of_memory_is_refused_with_the_nearest(text: str, near: str) -> None:
    said = str(explain_wrong_memory(text))
    assert f"did you mean {near}?" in said if near else "did you mean" not in said


@given(st.text(max_size=20))
def test_what_is_taken_is_a_quantity_and_what_is_meant_is_taken(text: str) -> None:
    for explain in (explain_wrong_cpus, explain_wrong_memory):
        said = explain(text)
        if said is None:
            assert read_quantity(text) > 0
        elif near := dict(said.args).get("near"):
            assert explain(str(near)) is None
