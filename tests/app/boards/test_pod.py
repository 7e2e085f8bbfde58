"""The pod of a board on a cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from paddock.app.boards.pod import ANNOTATION, PROGRAM, Asked, build_pod, choose_image, name_board, read_board
from paddock.app.pods_beside import Pin, find_pin, list_users, read_modes
from paddock.jobs.apis.registry import KINDS, KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.model import Job
from paddock.jobs.objects.observed import read_pod
from paddock.kube.meta import Manifest, is_controlled_by

ASKED = Asked("results", "/out", "", "/out/run", "example.com/mine:1", "any")
PLACE = "p" * 22
SECRET = {"name": "TOKEN", "value": "secret"}


def build_job(container: dict[str, Any] | None = None, kind: Any = PADDLEPADDLE, **spec: Any) -> Job:
    made = {
        "name": "pytorch" if kind is KUBEFLOW_PYTORCH else "paddle",
        "image": "example.com/mine:1",
        "env": [SECRET],
        "resources": {"limits": {"nvidia.com/gpu": 8}},
        "volumeMounts": [{"name": "o", "mountPath": "/out"}],
        **(container or {}),
    }
    template = {
        "metadata": {"labels": {"app": "mine"}, "annotations": {"paddock.dev/environment": "tb", "a": "b"}},
        "spec": {
            "containers": [made],
            "volumes": [{"name": "o", "persistentVolumeClaim": {"claimName": "results", "readOnly": True}}],
            **spec,
        },
    }
    role: Any = {"replicas": 2, "template": template}
    body = {"pytorchReplicaSpecs": {"Worker": role}} if kind is KUBEFLOW_PYTORCH else {"worker": role}
    manifest = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": "train", "namespace": "team", "uid": "job-uid"},
        "spec": body,
    }
    return KINDS[kind.resource].read_job(manifest)


def build(job: Job, asked: Asked = ASKED, pin: Pin | None = None) -> Manifest:
    return build_pod(job, asked, place=PLACE, language="en", idle=600, pin=pin)


def test_it_has_the_files_and_none_of_the_rights() -> None:
    pod = build(build_job(serviceAccountName="trainer", hostNetwork=True, priorityClassName="high"))
    spec = pod["spec"]
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert not {"serviceAccountName", "hostNetwork", "hostPID", "priorityClassName"} & set(spec)
    assert spec["restartPolicy"] == "Never" and spec["activeDeadlineSeconds"] == 8 * 3600
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["volumeMounts"][0] == {"name": "files", "mountPath": "/out", "readOnly": True}
    assert spec["volumes"][0] == {"name": "files", "persistentVolumeClaim": {"claimName": "results"}}
    assert SECRET not in container["env"] and "envFrom" not in container and "ports" not in container
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in container["env"]
    assert set(container["resources"]["limits"]) == {"cpu", "memory"}


def test_its_command_is_the_program_and_what_it_shows() -> None:
    command = build(build_job())["spec"]["containers"][0]["command"]
    assert command[:3] == ["python3", "-c", PROGRAM.read_text()]
    assert command[3:] == ["any", "visualdl", f"/s/{PLACE}", "en", "600", "15", "/out/run"]
    of_pytorch = build(build_job(kind=KUBEFLOW_PYTORCH), replace(ASKED, wanted="tensorboard"))
    assert of_pytorch["spec"]["containers"][0]["command"][3:5] == ["tensorboard", "tensorboard"]


def test_it_goes_with_its_job_and_is_no_rank() -> None:
    job = build_job()
    pod = build(job)
    (owner,) = pod["metadata"]["ownerReferences"]
    assert owner == {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "name": "train", "uid": "job-uid"}
    assert not is_controlled_by(pod, "job-uid") and read_pod(pod) is None
    assert (pod["metadata"]["name"], pod["metadata"]["namespace"]) == ("train-board", "team")
    assert "app" not in pod["metadata"]["labels"]
    assert pod["metadata"]["annotations"].keys() == {ANNOTATION, "paddock.dev/environment"}


def test_it_runs_where_and_as_the_jobs_pods_do() -> None:
    where: dict[str, Any] = {
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "pull"}],
    }
    context = {"runAsUser": 1000, "fsGroup": 2000, "supplementalGroups": [3000], "sysctls": [{"name": "a"}]}
    job = build_job({"securityContext": {"runAsUser": 0, "privileged": True}, "imagePullPolicy": "Never"},
                    securityContext=context, **where)  # fmt: skip
    spec = build(job)["spec"]
    assert where.items() <= spec.items() and "affinity" not in spec
    assert spec["securityContext"] == {
        "runAsUser": 1000,
        "supplementalGroups": [3000, 2000],
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert spec["containers"][0]["securityContext"]["runAsUser"] == 0
    assert "privileged" not in spec["containers"][0]["securityContext"]
    assert spec["containers"][0]["imagePullPolicy"] == "Never"


@pytest.mark.parametrize("surely", [True, False])
def test_it_goes_to_the_node_that_has_the_claim(surely: bool) -> None:
    affinity = build(build_job(), pin=Pin("node-1", surely))["spec"]["affinity"]["nodeAffinity"]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
    if surely:
        assert affinity == {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    else:
        assert affinity == {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}


def build_user(node: str = "node-1", phase: str = "Running", claim: str = "results") -> Manifest:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    return {"metadata": {"name": "p"}, "spec": {"nodeName": node, "volumes": [{"name": "x"}, volume]},
            "status": {"phase": phase}}  # fmt: skip


def build_claim(*modes: str) -> Manifest:
    return {"spec": {"accessModes": list(modes)}}


@pytest.mark.parametrize(
    ("claim", "pods", "pin"),
    [
        (build_claim("ReadWriteOnce"), [build_user()], Pin("node-1", surely=True)),
        (build_claim("ReadWriteOncePod"), [build_user()], Pin("node-1", surely=True)),
        (None, [build_user()], Pin("node-1", surely=False)),
        (build_claim("ReadWriteMany"), [build_user()], None),
        (build_claim("ReadWriteOnce", "ReadOnlyMany"), [build_user()], None),
        (build_claim("ReadWriteOnce"), [], None),
        (build_claim("ReadWriteOnce"), [build_user(claim="data")], None),
        (build_claim("ReadWriteOnce"), [build_user(phase="Succeeded"), build_user(node="", phase="Pending")], None),
        (build_claim("ReadWriteOnce"), [build_user(phase="Failed"), build_user("node-2", "Pending")],
         Pin("node-2", surely=True)),
    ],
)  # fmt: skip
def test_where_a_claim_is_in_use(claim: Manifest | None, pods: list[Manifest], pin: Pin | None) -> None:
    assert find_pin(claim, "results", pods) == pin


def test_what_is_bound_counts_more_than_what_was_asked_for() -> None:
    claim = {**build_claim("ReadWriteOnce"), "status": {"accessModes": ["ReadWriteMany"]}}
    assert read_modes(claim) == ["ReadWriteMany"]
    assert list_users("results", [build_user("")]) == []


def test_a_pod_is_read_back() -> None:
    job = build_job()
    found = read_board(build(job), job)
    assert (found.asked, found.place, found.ended) == (ASKED, PLACE, False)


def _change(pod: Manifest, **changes: Any) -> Manifest:
    return {**pod, "metadata": {**pod["metadata"], **changes}}


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": {}},
        {"annotations": {}},
        {"annotations": {ANNOTATION: "[1]"}},
        {"annotations": {ANNOTATION: "{"}},
        {"annotations": {ANNOTATION: json.dumps({"place": PLACE})}},
        {"annotations": {ANNOTATION: json.dumps({**dict.fromkeys(ASKED.__slots__, ""), "place": "../up"})}},
        {"ownerReferences": []},
        {"ownerReferences": [{"uid": "another"}]},
    ],
)  # fmt: skip
def test_another_pod_of_that_name_is_no_board(changes: dict[str, Any]) -> None:
    job = build_job()
    assert read_board(_change(build(job), **changes), job).asked is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_one_that_has_ended_may_be_of_a_former_job(phase: str) -> None:
    job = build_job()
    pod = _change(build(job), ownerReferences=[{"uid": "another"}]) | {"status": {"phase": phase}}
    found = read_board(pod, job)
    assert found.ended and found.asked == ASKED
    assert read_board(_change(build(job), deletionTimestamp="2026-01-01T00:00:00Z"), job).ended


def test_names_and_images() -> None:
    assert name_board("train") == "train-board"
    assert len(name_board("a" * 253)) == 253 and name_board("a" * 246 + "." + "b" * 6).endswith("a-board")
    assert choose_image(build_job(), "/out", "") == "example.com/mine:1"
    assert choose_image(build_job(), "/out", "other") == "other"
