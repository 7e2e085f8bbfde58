"""What every surface says of every state of a job, and what it asks the API for, byte for byte.

One golden a state: the commands, the end of `paddock run`, the Python call and the pages of the console, in English and
Chinese. A change that moves code from room to room changes none of them; one that changes a sentence shows, in its
diff, where the sentence is read. `pytest tests/net --rewrite-goldens` writes them anew.

Nothing is started: `net.place` serves what `net.record` has recorded. Under the text of an answer stand its requests,
each once; the Chinese answer has the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from net.asking import (
    list_questions,
    list_questions_elsewhere,
    list_questions_of_all,
    show,
)
from net.place import Served, read_record, serve
from net.states import STATES

Match = Callable[[str, str], None]


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("net") / "home"
    with serve(root, read_record("laptop", root)) as served:
        yield served


@pytest.mark.parametrize("state", STATES)
def test_what_is_said_of_a_state(laptop: Served, state: str, match_golden: Match) -> None:
    match_golden(f"laptop/{state}.txt", show(laptop, list_questions(state)))


@pytest.mark.parametrize("state", STATES)
def test_what_is_said_of_a_state_of_a_cluster(laptop: Served, state: str, match_golden: Match) -> None:
    """In English: the Chinese sentences are those of the laptop."""
    match_golden(f"cluster/{state}.txt", show(laptop, list_questions_elsewhere(state), chinese=False))


def test_what_is_said_of_all(laptop: Served, match_golden: Match) -> None:
    match_golden("laptop/all.txt", show(laptop, list_questions_of_all()))
