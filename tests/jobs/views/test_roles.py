"""How many ranks a role has, in words."""

from __future__ import annotations

import pytest

from paddock.jobs.model import Role
from paddock.jobs.text.phrases import render
from paddock.jobs.views.roles import count_role


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("worker", "1 worker", "2 workers"),
        ("master", "1 master", "2 masters"),
        ("ps", "1 server", "2 servers"),
        ("heter", "1 heter worker", "2 heter workers"),
        ("chief", "1 chief", "2 chiefs"),
    ],
)
def test_the_ranks_of_a_role_are_counted(name: str, one: str, two: str) -> None:
    assert [render(count_role(Role(name, count, {})), "en") for count in (1, 2)] == [one, two]
