"""What the start of the local cluster says."""

from __future__ import annotations

import pytest

from paddock.app.home import Running
from paddock.app.launch import Started
from paddock.cli.cluster.places import explain_started


@pytest.mark.parametrize(
    ("sandbox", "problem", "lines"),
    [
        ("bubblewrap", "", ["embedded cluster started in 0.6 s (2 CPUs; pods in bubblewrap)"]),
        (
            "none", "",
            [
                "embedded cluster started in 0.6 s (2 CPUs; pods without a sandbox)",
                "pods run as you, with all your rights; docs/security.md says what that means",
            ],
        ),
        (
            "none", "bubblewrap (bwrap) is not installed",
            [
                "embedded cluster started in 0.6 s (2 CPUs; pods without a sandbox)",
                "pods run as you, with all your rights (bubblewrap (bwrap) is not installed); "
                "docs/security.md says what that means",
            ],
        ),
    ],
)  # fmt: skip
def test_a_start_says_where_pods_run_and_what_they_may(sandbox: str, problem: str, lines: list[str]) -> None:
    running = Running(1, "https://127.0.0.1:6443", 1.5, "0.1.0", "2 CPUs", sandbox, problem)
    assert [str(said) for said in explain_started(Started(running, 0.6, fresh=True))] == lines
