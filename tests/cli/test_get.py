"""The notice of `paddock get` for an empty result."""

from __future__ import annotations

import pytest

from paddock.cli.verbs.get import explain_none


@pytest.mark.parametrize(
    ("namespace", "selector", "said"),
    [
        ("team", "", "no jobs in namespace team"),
        ("team", "a=b", "no jobs with labels a=b in namespace team"),
        ("", "", "no jobs"),
        ("", "a=b", "no jobs with labels a=b"),
    ],
)
def test_an_empty_result_names_the_kind_namespace_and_labels(namespace: str, selector: str, said: str) -> None:
    assert str(explain_none("jobs", namespace, selector)) == said
