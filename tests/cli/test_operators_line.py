"""The line of `paddock status --context` about operators."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.cli.cluster.cluster_status import build_operators, describe_operators
from paddock.views.operators import Leader
from paddock.words.phrases import render


@pytest.mark.parametrize(
    ("leaders", "begins"),
    [(None, "you may not read Leases, so whether one runs is not known here"), ([], "nobody acts on jobs here: none ")],
)
def test_who_may_not_read_leases_is_not_told_that_nobody_acts(leaders: list[Leader] | None, begins: str) -> None:
    facts: dict[str, Any] = build_operators(leaders, "team-a", "kubectl", 0.0)
    assert render(describe_operators(facts["operators"], facts["why"], "en"), "en").startswith(begins)
