"""Parts of a manifest that only the local cluster supports are reported before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.follow.outcome import explain_outputs
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import DATASETS, ENVIRONMENTS, Resource
from paddock.preflight import Document
from paddock.submission.documents import Checked, build_checked
from paddock.submission.local_only import find_local_reasons, find_notices, find_reasons
from paddock.views.flags import LOCAL
from paddock.words.phrases import Phrase, phrase, render


def checked(manifest: dict[str, Any], resource: Resource = RESOURCE) -> list[Checked]:
    return [build_checked("job.yaml", Document(manifest), manifest, resource)]


def job_with(annotations: dict[str, str] | None = None, **container: Any) -> dict[str, Any]:
    manifest = build_manifest(workers=1)
    manifest["metadata"]["annotations"] = annotations or {}
    manifest["spec"]["worker"]["template"]["spec"]["containers"][0].update(container)
    return manifest


def find_remote(documents: list[Checked]) -> list[Phrase]:
    return [said for each in documents for said in find_reasons(each)]


def find_local(documents: list[Checked]) -> list[Phrase]:
    return [said for each in documents for said in find_local_reasons(each)]


def test_a_directory_of_this_machine_is_refused() -> None:
    (said,) = find_remote(checked(job_with({"paddock.dev/working-directory": "/home/me"})))
    assert str(said).startswith("the annotation paddock.dev/working-directory names a directory of this")
    assert str(said).endswith("--workdir /home/me sends the directory")


def test_another_managers_job_is_refused_here_and_sent_to_a_cluster() -> None:
    manifest = job_with()
    manifest["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    (said,) = find_local(checked(manifest))
    assert str(said) == (
        "the job is managed by kueue.x-k8s.io/multikueue, not by Paddock, and nobody else runs jobs on the "
        "local cluster: remove spec.runPolicy.managedBy"
    )
    assert find_remote(checked(manifest)) == []
    assert find_local(checked(job_with())) == []


@pytest.mark.parametrize(
    ("address", "refused"),
    [("file:///data/x", True), ("File:///data/x", True), ("https://example.com/x.bin", False), ("nonsense", False)],
)
def test_a_dataset_of_this_machine_is_refused_on_a_cluster(address: str, refused: bool) -> None:
    manifest = {"apiVersion": DATASETS.api_version, "kind": "Dataset", "spec": {"source": {"uri": address}}}
    found = [str(each) for each in find_remote(checked(manifest, DATASETS))]
    assert found == [f"{address} is a directory of this machine: pods of a cluster cannot mount it"] * refused
    assert find_local(checked(manifest, DATASETS)) == []


def test_an_environment_is_refused() -> None:
    manifest = {"apiVersion": ENVIRONMENTS.api_version, "kind": "Environment", "metadata": {"name": "mine"}}
    (said,) = find_remote(checked(manifest, ENVIRONMENTS))
    assert "on a cluster the image itself is run: leave it out" in str(said)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (job_with(), []),
        *(
            (job_with({"paddock.dev/resume": asked}), ["nothing keeps the checkpoints of a job's earlier"])
            for asked in ("true", "3")
        ),
        (job_with({"paddock.dev/resume": "false"}), []),
        (job_with({"paddock.dev/resume": "true", "paddock.dev/outputs": "results"}), []),
        (job_with({"paddock.dev/outputs": "results"}, command=["sh", "-c", "cp x $PADDOCK_OUTPUT_DIR"]), []),
        (job_with({"paddock.dev/share-gpu": "4"}), ["the annotation paddock.dev/share-gpu does nothing on a cluster"]),
        (job_with({"paddock.dev/environment": "paddle-ps"}), ["worker: the environment paddle-ps is one of the local"]),
        (job_with(command=["sh", "-c", "cp x $PADDOCK_OUTPUT_DIR"]), ["PADDOCK_OUTPUT_DIR and PADDOCK_CHECKPOINT_DIR"]),
        (job_with(args=["--save=$(PADDOCK_CHECKPOINT_DIR)"]), ["PADDOCK_OUTPUT_DIR and PADDOCK_CHECKPOINT_DIR are"]),
        (job_with(env=[{"name": "OUT", "value": "$(PADDOCK_OUTPUT_DIR)/x"}]), ["PADDOCK_OUTPUT_DIR and"]),
    ],
)
def test_differences_on_a_cluster_are_notices(manifest: dict[str, Any], said: list[str]) -> None:
    found = [str(each) for each in find_notices(checked(manifest))]
    assert len(found) == len(said) and all(one.startswith(other) for one, other in zip(found, said, strict=True))
    assert find_remote(checked(manifest)) == []


@pytest.mark.parametrize(
    ("volume", "read_only", "said"),
    [
        ({}, False, "outputs: the job has no volume that outlives its pods"),
        ({"persistentVolumeClaim": {"claimName": "data"}}, False, "outputs: /mnt (persistentVolumeClaim data)"),
        ({"persistentVolumeClaim": {"claimName": "data"}}, True, "outputs: the job has no volume"),
        ({"hostPath": {"path": "/data"}}, False, "outputs: /mnt (hostPath /data)"),
        ({"emptyDir": {}}, False, "outputs: the job has no volume"),
        ({"nfs": {"server": "s", "path": "/e"}}, False, "outputs: /mnt (nfs /e)"),
    ],
)
def test_outputs_are_in_the_volumes_that_last(volume: dict[str, Any], read_only: bool, said: str) -> None:
    mount = {"name": "mine", "mountPath": "/mnt", "readOnly": read_only}
    manifest = job_with(volumeMounts=[mount])
    manifest["spec"]["worker"]["template"]["spec"]["volumes"] = [{"name": "mine", **volume}]
    assert str(explain_outputs(KINDS[RESOURCE].read_job(manifest), LOCAL)).startswith(said)


def test_it_is_said_in_chinese() -> None:
    (said,) = find_notices(checked(job_with(args=["$(PADDOCK_OUTPUT_DIR)"])))
    assert render(said, "zh").startswith("在 Kubernetes 上没有 PADDOCK_OUTPUT_DIR")
    assert render(phrase("nothing was submitted"), "zh") == "没有提交任何内容"


def test_a_rank_is_held_on_a_laptop_alone_and_kubectl_debug_is_named() -> None:
    (said,) = find_notices(checked(job_with({"paddock.dev/hold": "30m"})))
    assert str(said).startswith("--hold (the annotation paddock.dev/hold) does nothing on a cluster")
    assert "`kubectl debug POD " in str(said)
    assert find_notices(checked(job_with({"paddock.dev/hold": "soon"}))) == []
