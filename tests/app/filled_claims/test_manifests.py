"""The claim and the pod that a command makes of its own rights."""

from __future__ import annotations

import json
from typing import Any

from paddock.app.filled_claims.contents import Content, Kind
from paddock.app.filled_claims.manifests import (
    PROGRAM,
    build_claim,
    build_pod,
    build_receiving,
    build_used,
    read_claim,
)
from paddock.cli.output.rows import build_claim_cells
from paddock.kube.meta import Manifest

NOW = "2026-11-30T01:02:03Z"
CONTAINER = {
    "image": "registry.example/paddle:3.3",
    "imagePullPolicy": "Always",
    "command": ["python", "train.py"],
    "env": [{"name": "PIP_INDEX_URL", "value": "https://mirror.example/simple"}, {"name": "TOKEN", "value": "secret"}],
    "resources": {"limits": {"nvidia.com/gpu": 8}},
    "securityContext": {"runAsUser": 1000, "privileged": True},
}
TEMPLATE = {
    "spec": {
        "containers": [CONTAINER],
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "pull"}],
        "serviceAccountName": "trainer",
        "affinity": {"podAffinity": {"x": 1}, "nodeAffinity": {"y": 2}},
        "securityContext": {"runAsNonRoot": True, "runAsGroup": 7},
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    }
}


def build_content(kind: Kind = Kind.PACKAGES, **more: Any) -> Content:
    values: dict[str, Any] = {"about": "numpy for paddle", "size": "10Gi", "image": CONTAINER["image"],
                              "python": "python", "template": TEMPLATE, "container": CONTAINER}  # fmt: skip
    return Content(kind, "ab" * 32, **(values | more))


def build_made(content: Content) -> Manifest:
    made = build_claim(content, "team", ("ReadWriteMany",), None, NOW)
    return {**made, "metadata": {**made["metadata"], "uid": "u1"}}


def test_a_claim_tells_what_is_in_it_and_whether_it_is_filled() -> None:
    content = build_content()
    made = build_made(content)
    assert made["spec"] == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "10Gi"}}}
    held = read_claim(made)
    assert held is not None and held.is_of(content) and held.report is None
    assert (held.kind, held.about, held.size, held.used) == ("packages", "numpy for paddle", "10Gi", NOW)
    report = {"python": "3.10", "path": "/usr/bin"}
    made["metadata"]["annotations"] |= build_used(NOW, report)["metadata"]["annotations"]
    filled = read_claim(made)
    assert filled is not None and filled.report == report
    assert not filled.is_of(build_content(Kind.CODE))
    made["metadata"]["deletionTimestamp"] = NOW
    going = read_claim(made)
    assert going is not None and going.is_going
    assert [build_claim_cells(each, (), 0.0)[1] for each in (held, filled, going)] == [
        "Building", "Ready", "Terminating",
    ]  # fmt: skip


def test_a_class_is_asked_for_as_it_was_typed() -> None:
    classes = [build_claim(build_content(), "team", (), each, NOW)["spec"].get("storageClassName", "-")
               for each in (None, "", "fast")]  # fmt: skip
    assert classes == ["-", "", "fast"]


def test_a_claim_that_no_command_made_is_no_claim_of_ours() -> None:
    assert read_claim({"metadata": {"name": "env-abababababab"}}) is None
    foreign = build_made(build_content())
    foreign["metadata"]["annotations"]["paddock.dev/content"] = "{"
    assert read_claim(foreign) is None


def test_a_pod_runs_as_the_job_does_and_with_none_of_its_rights() -> None:
    content = build_content(requirements="numpy\n# costs $(X)\n")
    pod = build_pod(content, build_made(content))
    spec, (container,) = pod["spec"], pod["spec"]["containers"]
    assert pod["metadata"]["name"] == f"{content.name}-fill"
    assert pod["metadata"]["ownerReferences"][0] | {} == {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": content.name, "uid": "u1",
    }  # fmt: skip
    for key in ("nodeSelector", "tolerations", "imagePullSecrets"):
        assert spec[key] == TEMPLATE["spec"][key]
    assert spec["affinity"] == {"nodeAffinity": {"y": 2}}
    assert "serviceAccountName" not in spec and spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == {
        "runAsNonRoot": True, "runAsGroup": 7, "fsGroup": 65532, "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }  # fmt: skip
    assert container["securityContext"] == {
        "runAsUser": 1000, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert "nvidia.com/gpu" not in json.dumps(container["resources"])
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env["PIP_INDEX_URL"] == "https://mirror.example/simple" and "TOKEN" not in env
    assert env["PADDOCK_REQUIREMENTS"] == "numpy\n# costs $$(X)\n", "Kubernetes would replace $(X)"
    assert env["PADDOCK_FILL"].replace("$$", "$") == PROGRAM.read_text()
    assert container["command"][0] == "python" and container["command"][-2:] == ["install", "/paddock/packages"]
    assert container["volumeMounts"][0]["mountPath"] == "/paddock/packages"


def test_a_pod_for_code_waits_for_it_and_is_told_nothing_of_packages() -> None:
    content = build_content(Kind.CODE)
    (container,) = build_pod(content, build_made(content))["spec"]["containers"]
    assert container["command"][-3:] == ["hold", "/paddock/code", "1800"]
    names = {each["name"] for each in container["env"]}
    assert not names & {"PADDOCK_REQUIREMENTS", "PIP_INDEX_URL", "TOKEN"}
    command = build_receiving(content, 7, "d" * 64)
    assert command[-4:] == ("receive", "/paddock/code", "7", "d" * 64)
    assert len(" ".join(command)) < 300, "it is part of an address"
