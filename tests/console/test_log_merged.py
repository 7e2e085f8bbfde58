"""Lines of several ranks in the order of their times: any part of them, as they grow."""

from __future__ import annotations

from array import array
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.app.consoles.logs import LocalLogs
from paddock.app.history import History
from paddock.app.home import Home
from paddock.console.backend import KeptLog
from paddock.console.logs.lanes import Lane
from paddock.console.logs.merged import Order, find_lines, order_hits, place_lines, read_merged, read_merged_some
from paddock.console.logs.times import Timeline
from paddock.kube.log_marks import write_mark
from support.consoles import keep_log
from support.steps import count_steps


def build_timeline(*marks: tuple[float, int]) -> Timeline:
    return Timeline(array("q", [lines for _, lines in marks]), array("d", [time for time, _ in marks]))


def test_stretches_are_in_the_order_of_their_times_and_ranks_of_one_moment_keep_theirs() -> None:
    order = Order()
    order.update([build_timeline((1.0, 2), (3.0, 5)), build_timeline((1.0, 1), (2.0, 3))])
    assert order.stretches == [(1.0, 0, 0, 2), (1.0, 1, 0, 1), (2.0, 1, 1, 2), (3.0, 0, 2, 3)]
    assert list(order.starts) == [0, 2, 3, 5, 8]


def test_what_comes_late_is_put_where_it_belongs_and_the_rest_stays() -> None:
    order, one, two = Order(), build_timeline((1.0, 1), (4.0, 2)), build_timeline((2.0, 1))
    order.update([one, two])
    two.lines.append(3)
    two.times.append(3.0)
    order.update([one, two])
    assert order.stretches == [(1.0, 0, 0, 1), (2.0, 1, 0, 1), (3.0, 1, 1, 2), (4.0, 0, 1, 1)]
    assert list(order.starts) == [0, 1, 2, 4, 5]
    order.update([one, two])
    assert order.count == 5


@pytest.mark.parametrize(
    ("begin", "count", "found"),
    [
        (0, 1, [(1.0, 0, 0, 1)]),
        (1, 3, [(1.0, 0, 1, 1), (2.0, 1, 0, 2)]),
        (3, 9, [(2.0, 1, 1, 2), (3.0, 0, 2, 1)]),
        (5, 0, []),
        (6, 1, []),
    ],
)
def test_any_part_is_found(begin: int, count: int, found: list[tuple[float, int, int, int]]) -> None:
    stretches = [(1.0, 0, 0, 2), (2.0, 1, 0, 3), (3.0, 0, 2, 1)]
    assert list(find_lines([0, 2, 5, 6], stretches, begin, count)) == found


class Ranks:
    """The logs of two ranks, which print."""

    def __init__(self, directory: Path) -> None:
        self.logs = LocalLogs(History(Home(directory, directory)))
        self.paths = [keep_log(directory, f"worker-{index}", "") for index in range(2)]

    def print(self, rank: int, text: str, at: float | None) -> None:
        path = self.paths[rank]
        with path.open("a") as file:
            file.write(text)
        if at is not None:
            with path.with_suffix(".times").open("ab") as marks:
                marks.write(write_mark(path.stat().st_size, at))

    @property
    def lanes(self) -> list[Lane]:
        return [
            Lane(f"worker-{index}", KeptLog(str(path), "worker", index, 0, path.stat().st_size, 1000.0 + index))
            for index, path in enumerate(self.paths)
        ]

    def read(self, begin: int = 0, count: int = 100) -> list[str]:
        self.part = read_merged(self.logs, self.lanes, begin, count)
        return [f"{lane.rank[-1]}{line.data.decode()}" for lane, line, _ in self.part.lines]


def test_lines_are_merged_as_they_grow(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path)
    assert ranks.read() == []
    ranks.print(0, "a\nb\n", 1.0)
    ranks.print(1, "c\n", 2.0)
    ranks.print(0, "d\n", 3.0)
    assert ranks.read() == ["0a", "0b", "1c", "0d"]
    assert [time for _, _, time in ranks.part.lines] == [1.0, 1.0, 2.0, 3.0]
    ranks.print(1, "e\n", 2.5)
    assert ranks.read() == ["0a", "0b", "1c", "1e", "0d"]
    assert (ranks.read(1, 3), ranks.read(-2, 9), ranks.part.count) == (["0b", "1c", "1e"], ["1e", "0d"], 5)


def test_a_line_stands_where_its_first_part_was_printed(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path)
    ranks.print(0, "be", 1.0)
    ranks.print(1, "x\n", 2.0)
    ranks.print(0, "gun\nnext\n", 3.0)
    assert ranks.read() == ["0begun", "1x", "0next"]


def test_lines_without_a_time_come_last_and_a_rank_without_any_is_named(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path)
    ranks.print(1, "of an older node\n", None)
    ranks.print(0, "a\n", 5.0)
    ranks.print(0, "just now\n", None)
    assert ranks.read() == ["0a", "0just now", "1of an older node"]
    assert (ranks.part.unknown, ranks.read(1, 1), ranks.read(2, 5)) == (
        ["worker-1"],
        ["0just now"],
        ["1of an older node"],
    )
    assert [time for _, _, time in ranks.part.lines] == [None]
    ranks.print(0, "", 6.0)
    assert ranks.read() == ["0a", "0just now", "1of an older node"]


def test_a_log_that_was_cut_is_put_in_order_anew(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path)
    ranks.print(0, "a\nb\n", 1.0)
    ranks.print(1, "c\n", 2.0)
    assert len(ranks.read()) == 3
    for path in (ranks.paths[0], ranks.paths[0].with_suffix(".times")):
        path.write_bytes(b"")
    ranks.print(0, "n\n", 3.0)
    assert ranks.read() == ["1c", "0n"]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 3), st.one_of(st.none(), st.integers(0, 9))), max_size=12))
def test_a_line_is_placed_where_the_merged_log_has_it(printed: list[tuple[int, int, int | None]]) -> None:
    with TemporaryDirectory() as directory:
        ranks, count = Ranks(Path(directory)), [0, 0]
        for rank, lines, at in printed:
            ranks.print(rank, "".join(f"{count[rank] + line}\n" for line in range(lines)), at)
            count[rank] += lines
            merged = ranks.read()
        wanted = {f"worker-{rank}": [*range(count[rank])] for rank in range(2)}
        placed = place_lines(ranks.logs, ranks.lanes, wanted)
        assert {f"{rank[-1]}{line}": place for rank, places in placed.items() for line, place in enumerate(places)} == {
            text: place for place, text in enumerate(merged if printed else [])
        }
        some = read_merged_some(ranks.logs, ranks.lanes, [*range(1, sum(count), 2)])
        assert [f"{lane.rank[-1]}{line.data.decode()}" for lane, line, _ in some.lines] == ranks.read()[1::2]


def test_hits_stand_in_their_order_up_to_the_last_one_of_a_rank_that_has_more() -> None:
    assert order_hits({"a": [0, 4, 9], "b": [1, 7]}, 5) == ([0, 1, 4, 7, 9], False)
    assert order_hits({"a": [0, 4, 6], "b": [1, 7], "c": [2, 3, 8]}, 2) == ([0, 1, 2, 3, 4], True)
    assert order_hits({}, 5) == ([], False)


def test_the_hits_of_twice_as_many_ranks_are_ordered_in_twice_the_time() -> None:
    def count(ranks: int) -> int:
        placed = {f"worker-{rank}": range(rank, 51 * ranks, ranks) for rank in range(ranks)}
        return count_steps(lambda: order_hits(placed, 50))

    assert count(40) < 3 * count(20)
