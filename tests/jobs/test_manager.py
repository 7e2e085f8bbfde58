"""Which controller runs a job."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.manager import find_other_manager

MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def managed_by(value: Any) -> dict[str, Any]:
    return {"spec": {"runPolicy": {"managedBy": value}}}


@pytest.mark.parametrize("manifest", [{}, {"spec": {}}, {"spec": {"runPolicy": {}}}, managed_by(None), managed_by("")])
def test_a_job_that_names_no_manager_is_paddocks(manifest: dict[str, Any]) -> None:
    assert find_other_manager(manifest) == ""


def test_paddock_takes_the_role_of_kubeflows_operator() -> None:
    assert find_other_manager(managed_by("kubeflow.org/training-operator")) == ""


@pytest.mark.parametrize("name", [MULTIKUEUE, "example.com/unknown", "kubeflow.org/Training-Operator", " "])
def test_every_other_value_leaves_the_job_to_somebody_else(name: str) -> None:
    assert find_other_manager(managed_by(name)) == name


@pytest.mark.parametrize(
    "manifest", [managed_by(3), managed_by({"a": 1}), {"spec": {"runPolicy": "x"}}, {"spec": []}, {"spec": None}]
)
def test_what_is_no_text_is_no_manager(manifest: dict[str, Any]) -> None:
    assert find_other_manager(manifest) == ""
