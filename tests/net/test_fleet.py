"""The same of states that a laptop has not (`net.fleet`): as of a cluster, by its kubeconfig."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from net.asking import list_questions_of_fleet, show
from net.fleet import FLEET, UNSEEN, write_fleet
from net.place import Record, Served, serve
from support.demo import NOW

Match = Callable[[str, str], None]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("fleet") / "home", Record([], [], NOW), write_fleet) as served:
        yield served


@pytest.mark.parametrize("name", [each.name for each in (*FLEET, UNSEEN)])
def test_what_is_said_of_a_state_that_a_laptop_has_not(fleet: Served, name: str, match_golden: Match) -> None:
    match_golden(f"fleet/{name}.txt", show(fleet, list_questions_of_fleet(name)))
