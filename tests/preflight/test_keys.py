"""Labels and annotations where their program does not look: told with the place where they act."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddock.manifests.documents import read_documents
from paddock.manifests.parts import Part
from paddock.preflight import check, format_problem
from paddock.preflight.keys import check_keys

WORKER = "spec.pytorchReplicaSpecs.Worker.template.metadata"


def told(job: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **policy: Any) -> list[str]:
    """The problems of a PyTorchJob of one role with this metadata. `policy`: its schedulingPolicy."""
    container = {"name": "pytorch", "image": "registry.example/train:1", "command": ["torchrun", "train.py"]}
    template = {"metadata": pod or {}, "spec": {"containers": [container]}}
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "keys", **(job or {})},
        "spec": {
            "runPolicy": {"schedulingPolicy": policy},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": template}},
        },
    }
    (document,) = read_documents(yaml.safe_dump(manifest))
    return [format_problem(each, "f").partition("warning: ")[2] for each in check(document)]


OF_PODS = [
    ("sidecar.istio.io/inject", "Istio", "labels"),
    ("sidecar.istio.io/proxyCPU", "Istio", "annotations"),
    ("linkerd.io/inject", "Linkerd", "annotations"),
    ("prometheus.io/scrape", "Prometheus", "annotations"),
    ("prometheus.io/port", "Prometheus", "annotations"),
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "the cluster autoscaler", "annotations"),
    ("karpenter.sh/do-not-disrupt", "Karpenter", "annotations"),
    ("ad.datadoghq.com/pytorch.logs", "Datadog", "annotations"),
    ("gang.scheduling.koordinator.sh/min-available", "Koordinator", "annotations"),
    ("kueue.x-k8s.io/pod-group-total-count", "Kueue", "annotations"),
    ("k8s.v1.cni.cncf.io/networks", "Multus", "annotations"),
    ("scheduling.k8s.io/group-name", "Volcano", "annotations"),
    ("scheduling.x-k8s.io/pod-group", "the scheduler-plugins", "labels"),
]


@pytest.mark.parametrize(("key", "reader", "form"), OF_PODS)
def test_a_key_of_pods_on_the_job_is_told_with_its_place(key: str, reader: str, form: str) -> None:
    said = f"does nothing here: {reader} reads it on pods, so in {WORKER}.{form}"
    assert told({"annotations": {key: "false"}}) == [f"metadata.annotations[{key}]: {said}"]


@pytest.mark.parametrize(("key", "reader", "form"), OF_PODS)
def test_a_key_that_stands_where_it_acts_is_not_told(key: str, reader: str, form: str) -> None:
    assert told(pod={form: {key: "false"}}) == []
    assert told({"annotations": {key: "false"}}, {form: {key: "false"}}) == []


def test_a_label_of_istio_may_be_an_annotation_and_prometheus_reads_annotations_alone() -> None:
    assert told(pod={"annotations": {"sidecar.istio.io/inject": "false"}}) == []
    (line,) = told(pod={"labels": {"prometheus.io/scrape": "true"}})
    assert line.endswith(f"Prometheus reads it on pods, so in {WORKER}.annotations")


QUEUE = "kueue.x-k8s.io/queue-name"


def test_kueue_s_queue_is_a_label_of_the_job() -> None:
    assert told({"labels": {QUEUE: "team-a"}}) == []
    assert told({"annotations": {QUEUE: "team-a"}}) == [
        f"metadata.annotations[{QUEUE}]: does nothing here: Kueue reads it in metadata.labels"
    ]
    (line,) = told(pod={"labels": {QUEUE: "team-a"}})
    assert "Kueue queues a job by its own label" in line


@pytest.mark.parametrize("key", ["scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"])
@pytest.mark.parametrize("owner", ["job", "pod"])
def test_volcano_s_queue_is_that_of_the_scheduling_policy(key: str, owner: str) -> None:
    given: dict[str, Any] = {owner: {"annotations": {key: "research"}}}
    (line,) = told(**given)
    assert line.endswith("from spec.runPolicy.schedulingPolicy.queue")
    assert told(**given, queue="research") == []


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("pod-group.scheduling.sigs.k8s.io/name", "no longer read by the scheduler-plugins"),
        ("pod-group.scheduling.sigs.k8s.io/min-available", "no longer read by the scheduler-plugins"),
        ("tf-job-name", "does nothing: operators before training-operator 1.4"),
        ("pytorch-replica-type", "does nothing: operators before training-operator 1.4"),
        ("eks.amazonaws.com/role-arn", "is read on the ServiceAccount"),
    ],
)
def test_a_key_that_nobody_reads_on_a_job_or_a_pod_is_told_anywhere(key: str, said: str) -> None:
    for given in ({"job": {"labels": {key: "x"}}}, {"pod": {"labels": {key: "x"}}}):
        (line,) = told(**given)
        assert said in line


def test_an_annotation_of_paddock_is_one_of_the_job() -> None:
    for given in ({"pod": {"annotations": {"paddock.dev/success": "AllRanks"}}},
                  {"job": {"labels": {"paddock.dev/success": "AllRanks"}}}):  # fmt: skip
        (line,) = told(**given)
        assert line.endswith("does nothing here: Paddock reads it in metadata.annotations")
    assert told({"annotations": {"paddock.dev/success": "AllRanks"}}) == []


def test_keys_of_one_s_own_are_nobody_s_business() -> None:
    assert told({"labels": {"team": "a", "group-name": "a"}}, {"annotations": {"example.com/note": "x"}}) == []


@pytest.mark.parametrize(
    ("key", "reader"), [("argocd.argoproj.io/sync-wave", "Argo CD"), ("helm.sh/hook-weight", "Helm")]
)
def test_a_key_of_objects_on_pods_is_told_with_its_place(key: str, reader: str) -> None:
    (line,) = told(pod={"annotations": {key: "1"}})
    assert f"does nothing here: {reader} reads it in metadata.annotations" in line
    assert told({"annotations": {key: "1"}}) == []


def test_a_thousand_roles_with_a_thousand_keys_are_read_once_each() -> None:
    annotations = {f"prometheus.io/x{number}": "1" for number in range(1_000)}
    parts = [Part(f"R{number}", f"spec.R{number}", 1, {"metadata": {}}) for number in range(1_000)]
    found = list(check_keys(parts, {"metadata": {"annotations": annotations}}, "spec.schedulingPolicy"))
    assert len(found) == 1_000
    assert all(len(each.message) < 400 for each in found)
