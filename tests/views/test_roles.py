"""How many ranks a role has, in words."""

from __future__ import annotations

import pytest

from jobs.gangs import build_job
from paddock.jobs.model import Elasticity, Role
from paddock.jobs.policies.fitting import fit
from paddock.views.roles import count_role, explain_sizes
from paddock.words.phrases import render


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


def test_the_sizes_of_an_elastic_job_are_told_with_the_one_it_has() -> None:
    job = build_job(workers=3, elasticity=Elasticity("worker", 1, 4))
    assert str(explain_sizes(fit(job, 2))) == "1 to 4 workers, 3 wanted, now 2"
    assert explain_sizes(build_job(workers=3)) is None
