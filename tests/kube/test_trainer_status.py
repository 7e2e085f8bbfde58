"""What programs post of their training: the path, the body, and what is said of a wrong one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from jobs.anything import JSON
from paddock.kube.errors import Invalid
from paddock.kube.trainer_status import (
    TrainerStatus,
    build_path,
    read_path,
    read_trainer_status,
    write_trainer_status,
)


def test_the_path_names_the_job() -> None:
    assert read_path(build_path("team", "demo.v1")) == ("team", "demo.v1")
    for other in ("/apis/trainer.kubeflow.org/v1alpha1/namespaces/a/trainjobs/b", build_path("a/b", "c"), "/", ""):
        assert read_path(other) is None
    assert read_path(build_path("a", "b") + "/log") is None


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, None),
        ({"trainerStatus": None}, None),
        ({"dataInitializerStatus": {"a": 1}}, None),
        ({"trainerStatus": {}}, TrainerStatus()),
        (
            # As KubeflowCallback of transformers 5 sends it.
            {
                "trainerStatus": {
                    "lastUpdatedTime": "2026-01-23T10:30:45+00:00",
                    "progressPercentage": 45,
                    "estimatedRemainingSeconds": 1200,
                    "metrics": [{"name": "loss", "value": "0.32"}, {"name": "current_step", "value": "450"}],
                }
            },
            TrainerStatus(45, 1200, {"loss": 0.32, "current_step": 450.0}),
        ),
        ({"trainerStatus": {"metrics": [{"name": "loss", "value": 0.5}]}}, TrainerStatus(metrics={"loss": 0.5})),
        (
            {"trainerStatus": {"metrics": [{"name": "n", "value": each} for each in ("nan", "inf", "best", "")]}},
            TrainerStatus(),
        ),
        ({"trainerStatus": {"progressPercentage": 0, "of a later version": [1]}}, TrainerStatus(0)),
    ],
)  # fmt: skip
def test_a_report_is_read(body: object, found: TrainerStatus | None) -> None:
    assert read_trainer_status(body) == found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "the body: found [], allowed is an object"),
        (None, "the body: found None"),
        ({"trainerStatus": "45"}, "trainerStatus: found '45', allowed is an object"),
        ({"trainerStatus": {"progressPercentage": 101}}, "trainerStatus.progressPercentage: found 101, allowed is"),
        ({"trainerStatus": {"progressPercentage": -1}}, "found -1"),
        ({"trainerStatus": {"progressPercentage": 45.5}}, "found 45.5"),
        ({"trainerStatus": {"progressPercentage": True}}, "found True"),
        ({"trainerStatus": {"progressPercentage": "45"}}, "found '45'"),
        ({"trainerStatus": {"estimatedRemainingSeconds": 2**31}}, "trainerStatus.estimatedRemainingSeconds"),
        ({"trainerStatus": {"metrics": {"loss": 1}}}, "trainerStatus.metrics: found {'loss': 1}, allowed is a list"),
        ({"trainerStatus": {"metrics": [5]}}, "trainerStatus.metrics[0]: found 5"),
        ({"trainerStatus": {"metrics": [{"name": "", "value": "1"}]}}, "trainerStatus.metrics[0]"),
        ({"trainerStatus": {"metrics": [{"name": "a"}]}}, "trainerStatus.metrics[0].value: found None"),
        ({"trainerStatus": {"metrics": [{"name": "a", "value": True}]}}, "trainerStatus.metrics[0].value: found True"),
    ],
)  # fmt: skip
def test_a_wrong_one_is_refused_with_what_is_allowed(body: object, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_trainer_status(body)
    assert said in refused.value.message
    assert refused.value.message.startswith("the report of the training is not kept: ")


@given(JSON)
def test_whatever_is_posted_is_read_or_refused(value: object) -> None:
    for body in (value, {"trainerStatus": value}, {"trainerStatus": {"metrics": value, "progressPercentage": value}}):
        try:
            found = read_trainer_status(body)
        except Invalid as error:
            assert len(error.message) < 2000
        else:
            assert found is None or all(map(math.isfinite, found.metrics.values()))


def test_what_is_written_is_a_report_again() -> None:
    for status in (TrainerStatus(), TrainerStatus(0, 0, {"a": 0.1}), TrainerStatus(100)):
        assert read_trainer_status(write_trainer_status(status)) == status
