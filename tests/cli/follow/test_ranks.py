"""--rank 0,3-5 and --role: which ranks are printed."""

from __future__ import annotations

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.follow.ranks import choose_ranks, read_ranges
from paddock.jobs.model import Rank
from paddock.jobs.program_ranks import Doubt, Numbering, Numbers

RANKS = (Rank("ps", 0), Rank("worker", 0), Rank("worker", 3), Rank("worker", 4))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0", [0], [1, 10]),
        ("0,3-5", [0, 3, 4, 5], [1, 2, 6]),
        ("3 - 5", [3, 5], [2]),
        ("1-1,7", [1, 7], [0, 2]),
        ("0-999999999", [0, 999999999], []),
        ("worker-0,2", [2], [0]),
    ],
)
def test_ranges_have_these_indices(text: str, inside: list[int], outside: list[int]) -> None:
    ranges = read_ranges(text)
    assert ranges is not None
    assert all(index in ranges for index in inside) and not any(index in ranges for index in outside)


@pytest.mark.parametrize(
    "text", ["", "a", "5-3", "-1", "1,", ",1", "1--2", "1-2-3", "1;2", "9999999999", "٣", "worker", "worker-", "../x-0"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    assert read_ranges(text) is None


def build_numbering(each: int = 1, doubt: Doubt = Doubt.NONE) -> Numbering:
    """Of a PyTorchJob: the Master is counted first."""
    return Numbering({"master": Numbers(0, each), "worker": Numbers(each, each)}, doubt)


OF_PYTORCH = (Rank("master", 0), Rank("worker", 0), Rank("worker", 1))
OF_SERVERS = Numbering({"worker": Numbers(0, 1)})


@pytest.mark.parametrize(
    ("role", "wanted", "chosen"),
    [
        ("", None, "ps-0 worker-0 worker-3 worker-4"),
        ("worker", None, "worker-0 worker-3 worker-4"),
        ("", "0", "worker-0"),
        ("ps", "0", "ps-0"),
        ("", "ps-0", "ps-0"),
        ("", "demo-ps-0,4", "ps-0 worker-4"),
        ("worker", "0,4-9", "worker-0 worker-4"),
        ("worker", "worker-3", "worker-3"),
    ],
)
def test_ranks_of_a_job_with_servers_are_those_of_its_workers(role: str, wanted: str | None, chosen: str) -> None:
    assert choose(RANKS, role, wanted, OF_SERVERS) == chosen


@pytest.mark.parametrize(
    ("wanted", "each", "chosen"),
    [
        ("0", 1, "master-0"),
        ("1", 1, "worker-0"),
        ("2", 1, "worker-1"),
        ("0-3", 4, "master-0"),
        ("5", 4, "worker-0"),
        ("3,8", 4, "master-0 worker-1"),
        ("3-8", 4, "master-0 worker-0 worker-1"),
        ("worker-0", 4, "worker-0"),
        ("11", 4, "worker-1"),
    ],
)
def test_a_number_is_the_rank_of_the_program(wanted: str, each: int, chosen: str) -> None:
    assert choose(OF_PYTORCH, "", wanted, build_numbering(each)) == chosen
    assert choose(OF_PYTORCH, "worker", "1", build_numbering(each)) == "worker-1"


def test_without_a_manifest_a_number_counts_in_each_role() -> None:
    assert choose(RANKS, "", "0", None) == "ps-0 worker-0"


def choose(pods: tuple[Rank, ...], role: str, wanted: str | None, numbering: Numbering | None) -> str:
    ranges = None if wanted is None else read_ranges(wanted)
    return " ".join(map(str, choose_ranks("paddlejob/demo", pods, role, ranges, None, numbering).ranks))


@pytest.mark.parametrize(
    ("wanted", "numbering", "note"),
    [
        ("1", build_numbering(), "--rank 1 is worker-0 (rank 1)"),
        ("5", build_numbering(4), "--rank 5 is worker-0 (ranks 4-7)"),
        ("worker-0", build_numbering(4), "None"),
        ("0", Numbering({"master": Numbers(0, 1), "worker": Numbers(0, 1)}), "None"),
        ("1", build_numbering(1, Doubt.DEALT),
         "the ranks are dealt when the pods meet, so --rank counts the pods themselves: worker-0"),
        ("1", build_numbering(1, Doubt.PROCESSES),
         "how many processes a pod starts is not known, so --rank counts the pods themselves: worker-0"),
        ("1", None, "None"),
    ],
)  # fmt: skip
def test_the_pod_of_a_number_is_said_where_its_name_does_not(
    wanted: str, numbering: Numbering | None, note: str
) -> None:
    pods = OF_PYTORCH if wanted != "0" else (Rank("worker", 0), Rank("worker", 1))
    pods = (*pods, Rank("ps", 1)) if numbering is None else pods
    assert str(choose_ranks("demo", pods, "", read_ranges(wanted), None, numbering).note) == note
    assert choose_ranks("demo", OF_PYTORCH, "worker", read_ranges("0"), None, numbering).note is None


@pytest.mark.parametrize(
    ("pods", "role", "wanted", "numbering", "said"),
    [
        (RANKS, "worker", "7-9", OF_SERVERS,
         "demo has no rank worker-7-9; it has ps-0, worker-0, worker-3 and worker-4"),
        (RANKS, "", "9", OF_SERVERS,
         "demo has no rank 9; it has ps-0, worker-0, worker-3 and worker-4; --role ps --rank N chooses one of ps"),
        (OF_PYTORCH, "", "12", build_numbering(4),
         "demo has no rank 12; it has master-0 (ranks 0-3), worker-0 (ranks 4-7) and worker-1 (ranks 8-11)"),
        (OF_PYTORCH, "", "other-worker-0", build_numbering(),
         "demo has no rank other-worker-0; it has master-0 (rank 0), worker-0 (rank 1) and worker-1 (rank 2)"),
        ((), "", "1", None, "demo has no rank 1; it has none"),
    ],
)  # fmt: skip
def test_no_such_rank_names_those_that_are_there(
    pods: tuple[Rank, ...], role: str, wanted: str, numbering: Numbering | None, said: str
) -> None:
    with pytest.raises(UserError) as refused:
        choose_ranks("demo", pods, role, read_ranges(wanted), None, numbering)
    assert str(refused.value) == said
