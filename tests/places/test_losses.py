"""What is lost where there is no operator: a sentence for what the manifest asks for, and none for what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_any, read_manifest, read_sample
from paddock.places.losses import explain_losses
from paddock.places.rendering import Ability, Hosts, Platform, Rendering

NOWHERE = Platform("nowhere", "Nowhere", Hosts.NAMED, lambda request: Rendering(()), "nowhere")
EVERYTHING = Platform("all", "All", Hosts.NAMED, lambda request: Rendering(()), "all", has=frozenset(Ability))


def told(sample: str, spec: dict[str, Any] | None = None, **pod: Any) -> str:
    manifest = read_manifest(sample)
    if pod:
        manifest["spec"]["worker"]["template"]["spec"] |= pod
    manifest["spec"] |= spec or {}
    return "\n".join(map(str, explain_losses(read_any(manifest), NOWHERE)))


@pytest.mark.parametrize(
    ("words", "sample", "spec", "pod"),
    [
        ("the deadline is lost: Nowhere does not end the job after 60 s", "resnet",
         {"runPolicy": {"activeDeadlineSeconds": 60}}, {}),
        ("ttlSecondsAfterFinished is lost", "resnet", {"runPolicy": {"ttlSecondsAfterFinished": 60}}, {}),
        ("suspend is lost", "resnet", {"runPolicy": {"suspend": True}}, {}),
        ("elasticPolicy is lost: on Nowhere the job has", "pytorch_elastic", None, {}),
        ("schedulingPolicy is lost", "resnet", {"schedulingPolicy": {"queue": "q"}}, {}),
        ("nodeSelector and tolerations are lost", "resnet", None,
         {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}),
        ("the container fetch is not started", "resnet", None,
         {"initContainers": [{"name": "fetch", "image": "busybox"}]}),
        ("serviceAccountName is lost", "resnet", None, {"serviceAccountName": "me"}),
        ("nvidia.com/gpu is not counted", "resnet", None, {}),
        ("the image registry.baidubce.com/paddle-operator/demo-resnet:v1 is not used", "resnet", None, {}),
    ],
)  # fmt: skip
def test_what_a_job_asks_for_is_told(words: str, sample: str, spec: dict[str, Any] | None, pod: dict[str, Any]) -> None:
    assert words in told(sample, spec, **pod)


def test_a_plain_job_loses_its_image_alone() -> None:
    losses = explain_losses(read_sample("wide_and_deep"), NOWHERE)
    assert [str(each).split(" is ")[0] for each in losses] == [
        "the image registry.baidubce.com/paddle-operator/demo-wide-and-deep:v1"
    ]


def test_shared_memory_and_the_machine_s_own_directories_are_not_lost() -> None:
    assert "volumes" not in told("resnet")


@pytest.mark.parametrize("sample", ["resnet", "pytorch_elastic", "wide_and_deep_volcano"])
def test_a_place_that_has_everything_loses_nothing(sample: str) -> None:
    assert explain_losses(read_sample(sample), EVERYTHING) == ()
