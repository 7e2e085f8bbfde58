"""What `paddock get` says where there is nothing to list."""

from __future__ import annotations

import pytest

from paddock.cli.get import explain_none


@pytest.mark.parametrize(
    ("namespace", "selector", "said"),
    [
        ("team", "", "no jobs in namespace team"),
        ("team", "a=b", "no jobs with labels a=b in namespace team"),
        ("", "", "no jobs"),
        ("", "a=b", "no jobs with labels a=b"),
    ],
)
def test_nothing_found_says_what_was_looked_for(namespace: str, selector: str, said: str) -> None:
    assert str(explain_none("jobs", namespace, selector)) == said
