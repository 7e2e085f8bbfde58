"""A name made from a script: whose it is, and which one another directory gets."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.submission.names_of_directories import choose_name

HERE, THERE = "/home/you/proj", "/home/you/other"


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ({}, "train"),
        ({"train": HERE}, "train"),
        ({"train": ""}, "train"),  # by kubectl, a form or an SDK
        ({"train": THERE}, "proj-train"),
        ({"train": THERE, "proj-train": HERE}, "proj-train"),
        ({"train": HERE, "proj-train": THERE}, "train"),
        ({"train": THERE, "proj-train": "/mnt/proj"}, "proj-train-2"),
        ({"train": THERE, "proj-train": "/mnt/proj", "proj-train-2": "/srv/proj"}, "proj-train-3"),
    ],
)
def test_a_name_belongs_to_the_directory_that_used_it_first(taken: Mapping[str, str], name: str) -> None:
    assert choose_name("train", HERE, lambda each: taken.get(each, "")) == name


@given(st.lists(st.sampled_from([HERE, THERE, "/mnt/proj", "/srv/项目", "/"]), max_size=12))
def test_no_two_directories_share_a_name_and_each_keeps_its_own(started: list[str]) -> None:
    owners: dict[str, str] = {}
    names: dict[str, str] = {}
    for directory in started:
        name = choose_name("train", directory, lambda each: owners.get(each, ""))
        assert owners.setdefault(name, directory) == directory
        assert names.setdefault(directory, name) == name
