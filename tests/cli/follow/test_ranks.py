"""--rank 0,3-5 and --role: which ranks are printed."""

from __future__ import annotations

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.follow.ranks import choose_ranks, read_ranges
from paddock.jobs.model import Rank

RANKS = (Rank("ps", 0), Rank("worker", 0), Rank("worker", 3), Rank("worker", 4))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0", [0], [1, 10]),
        ("0,3-5", [0, 3, 4, 5], [1, 2, 6]),
        ("3 - 5", [3, 5], [2]),
        ("1-1,7", [1, 7], [0, 2]),
        ("0-999999999", [0, 999999999], []),
    ],
)
def test_ranges_have_these_indices(text: str, inside: list[int], outside: list[int]) -> None:
    ranges = read_ranges(text)
    assert ranges is not None
    assert all(index in ranges for index in inside) and not any(index in ranges for index in outside)


@pytest.mark.parametrize("text", ["", "a", "5-3", "-1", "1,", ",1", "1--2", "1-2-3", "1;2", "9999999999", "٣"])
def test_what_is_no_range_is_refused(text: str) -> None:
    assert read_ranges(text) is None


@pytest.mark.parametrize(
    ("role", "wanted", "chosen"),
    [
        ("", None, "ps-0 worker-0 worker-3 worker-4"),
        ("worker", None, "worker-0 worker-3 worker-4"),
        ("", "0", "ps-0 worker-0"),
        ("worker", "0,4-9", "worker-0 worker-4"),
    ],
)
def test_ranks_are_chosen_by_role_and_index(role: str, wanted: str | None, chosen: str) -> None:
    ranges = None if wanted is None else read_ranges(wanted)
    assert " ".join(map(str, choose_ranks("demo", RANKS, role, ranges, None).ranks)) == chosen


def test_no_such_rank_names_those_that_are_there() -> None:
    with pytest.raises(UserError) as refused:
        choose_ranks("demo", RANKS, "worker", read_ranges("7-9"), None)
    assert str(refused.value) == "demo has no rank worker-7-9; it has ps-0, worker-0, worker-3, worker-4"
