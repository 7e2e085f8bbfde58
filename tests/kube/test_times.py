"""The API's times."""

from __future__ import annotations

import pytest

from paddock.kube.times import format_time


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_763_626_320.9, "2025-11-20T08:12:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (2**63 - 1, "9999-12-31T23:59:59Z"),
        (1e300, "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_has_a_year_of_four_digits(moment: float, text: str) -> None:
    assert format_time(moment) == text
