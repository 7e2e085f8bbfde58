"""How many ranks of a job trained together, over time, as one sentence."""

from __future__ import annotations

import pytest

from paddock.views.sizes import explain_past_sizes, merge_sizes
from paddock.words.phrases import render

ROWS: list[tuple[str, list[tuple[float, int]], str | None]] = [
    ("a job that never ran together has none", [], None),
    ("one size is nothing to tell", [(10, 3)], None),
    ("nor is the same size in another attempt", [(10, 3), (20, 3)], None),
    ("each change is told", [(10, 3), (20, 2), (30, 3)],
     "size over time: 3 ranks from 10 s, then 2 from 20 s, then 3 from 30 s"),
    ("one rank is one", [(10, 1), (20, 2)], "size over time: 1 rank from 10 s, then 2 from 20 s"),
    ("what lasts for a moment is none", [(10, 3), (20, 2), (21, 3), (40, 1)],
     "size over time: 3 ranks from 10 s, then 1 from 40 s"),
    ("of many the newest", [(10 * each, each % 2 + 1) for each in range(8)],
     "size over time: 1 rank from 20 s, then 2 from 30 s, then 1 from 40 s, then 2 from 50 s, then 1 from 60 s, then 2 "
     "from 70 s (2 earlier changes are left out)"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "sizes", "said"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_said_of_sizes(sentence: str, sizes: list[tuple[float, int]], said: str | None) -> None:
    found = explain_past_sizes(sizes, lambda moment: f"{moment:.0f} s")
    assert (found and render(found)) == said, sentence


def test_the_first_moment_of_a_size_counts() -> None:
    assert merge_sizes([(10, 3), (20, 3), (30, 2), (40, 2)]) == ((10, 3), (30, 2))
