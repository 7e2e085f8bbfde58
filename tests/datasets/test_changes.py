"""The patches by which a Dataset that is there gets another source, or is fetched again."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.datasets.changes import asks_for_another_claim, build_replacement, build_rerun
from paddock.kube.meta import Manifest
from paddock.kube.patches import merge_patch


def build_dataset(source: dict[str, Any], **spec: Any) -> Manifest:
    return {"metadata": {"name": "words", "resourceVersion": "7"}, "spec": {"source": source, **spec}}


def test_a_replaced_source_keeps_nothing_that_the_new_one_does_not_say() -> None:
    stored = build_dataset({"uri": "https://a/x", "sha256": "0" * 64}, round=3, storage={"size": "1Gi"})
    patch = build_replacement(build_dataset({"uri": "hf://models/a/b", "revision": "main"}), stored)
    after = merge_patch(stored, patch)
    assert after["spec"] == {
        "source": {"uri": "hf://models/a/b", "revision": "main"}, "round": 3, "storage": {"size": "1Gi"},
    }  # fmt: skip
    assert patch["metadata"] == {"resourceVersion": "7"}, "of another object since, the server refuses it"


@pytest.mark.parametrize(
    ("written", "stored", "another"),
    [
        ({}, {"storage": {"size": "1Gi"}}, False),
        ({"storage": {"size": "1Gi"}}, {"storage": {"size": "1Gi"}}, False),
        ({"storage": {"size": "2Gi"}}, {"storage": {"size": "1Gi"}}, True),
        ({"storage": {"size": "2Gi"}}, {}, True),
    ],
)
def test_a_claim_stays_unless_another_one_is_said(
    written: dict[str, Any], stored: dict[str, Any], another: bool
) -> None:
    source = {"uri": "https://a/x"}
    assert asks_for_another_claim(build_dataset(source, **written), build_dataset(source, **stored)) is another


def test_a_dataset_is_fetched_again_by_one_more_round() -> None:
    stored = build_dataset({"uri": "https://a/x"}, round=3)
    assert merge_patch(stored, build_rerun(3))["spec"] == {"source": {"uri": "https://a/x"}, "round": 4}
