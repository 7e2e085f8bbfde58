"""Which nodes a pod can run on: one base that fits, and one change per row."""

from __future__ import annotations

from typing import Any

import pytest

from node.cluster_objects import node, pod
from paddock.kube.meta import Manifest
from paddock.node.scheduler.nodes import explain_mismatch, find_orphans, read_node
from paddock.node.scheduler.pod_request import read_request


def affinity(*expressions: dict[str, Any], kind: str = "matchExpressions") -> dict[str, Any]:
    terms = [{kind: list(expressions)}] if expressions else [{}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def expression(operator: str, *values: str, key: str = "zone") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
MISMATCH = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint {nvidia.com/gpu: present}"

ROWS: list[tuple[str, dict[str, Any], dict[str, Any], list[tuple[str, str]]]] = [
    ("nothing asked", {}, {}, []),
    ("a selector that holds", {"nodeSelector": {"zone": "7"}}, {}, []),
    ("a selector of another value", {"nodeSelector": {"zone": "b"}}, {}, [(MISMATCH, "zone=b; node has zone=7")]),
    ("a selector of no label", {"nodeSelector": {"accelerator": "nvidia-tesla-p100"}}, {},
     [(MISMATCH, "accelerator=nvidia-tesla-p100; node has none")]),
    ("In", {"affinity": affinity(expression("In", "6", "7"))}, {}, []),
    ("In of others", {"affinity": affinity(expression("In", "a", "b"))}, {},
     [(MISMATCH, "zone In [a, b]; node has zone=7")]),
    ("NotIn", {"affinity": affinity(expression("NotIn", "7"))}, {}, [(MISMATCH, "zone NotIn [7]; node has zone=7")]),
    ("NotIn of no label", {"affinity": affinity(expression("NotIn", "7", key="rack"))}, {}, []),
    ("Exists", {"affinity": affinity(expression("Exists"))}, {}, []),
    ("Exists not", {"affinity": affinity(expression("Exists", key="rack"))}, {},
     [(MISMATCH, "rack Exists; node has none")]),
    ("DoesNotExist", {"affinity": affinity(expression("DoesNotExist"))}, {},
     [(MISMATCH, "zone DoesNotExist; node has zone=7")]),
    ("Gt", {"affinity": affinity(expression("Gt", "6"))}, {}, []),
    ("Gt of the same", {"affinity": affinity(expression("Gt", "7"))}, {}, [(MISMATCH, "zone Gt [7]; node has zone=7")]),
    ("Lt", {"affinity": affinity(expression("Lt", "10"))}, {}, []),
    ("Lt of text", {"affinity": affinity(expression("Lt", "x"))}, {}, [(MISMATCH, "zone Lt [x]; node has zone=7")]),
    ("a field", {"affinity": affinity(expression("In", "laptop", key="metadata.name"), kind="matchFields")}, {}, []),
    ("another field", {"affinity": affinity(expression("In", "x", key="metadata.name"), kind="matchFields")}, {},
     [(MISMATCH, "no term of the affinity matches; node has none")]),
    ("an empty term matches nothing", {"affinity": affinity()}, {},
     [(MISMATCH, "no term of the affinity matches; node has none")]),
    ("a cordoned node", {}, {"unschedulable": True}, [("node(s) were unschedulable", "kubectl uncordon laptop")]),
    ("a node that is not ready", {}, {"ready": "Unknown"}, [("node(s) were not ready", "")]),
    ("a taint", {}, {"taints": [GPU_TAINT]}, [(TAINTED, "")]),
    ("a taint that only prefers", {}, {"taints": [{**GPU_TAINT, "effect": "PreferNoSchedule"}]}, []),
    ("a toleration of the value", {"tolerations": [{"key": "nvidia.com/gpu", "value": "present"}]},
     {"taints": [GPU_TAINT]}, []),
    ("a toleration of another value", {"tolerations": [{"key": "nvidia.com/gpu", "value": "absent"}]},
     {"taints": [GPU_TAINT]}, [(TAINTED, "")]),
    ("a toleration of the key", {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
     {"taints": [GPU_TAINT]}, []),
    ("a toleration of another effect",
     {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}]},
     {"taints": [GPU_TAINT]}, [(TAINTED, "")]),
    ("a toleration of everything", {"tolerations": [{"operator": "Exists"}]},
     {"taints": [GPU_TAINT], "unschedulable": True, "ready": "False"}, []),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "has", "wanted"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_mismatch(asked: dict[str, Any], has: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    facts = explain_mismatch(read_request(pod(**asked)), read_node(node(labels={"zone": "7"}, **has)))
    assert [(fact.text, fact.detail) for fact in facts] == wanted


def test_a_node_without_conditions_or_pods_is_ready_and_takes_110() -> None:
    found = read_node({"metadata": {"name": "bare"}, "status": {"capacity": {"cpu": "2"}}})
    assert found.ready
    assert found.amounts == {"pods": 110, "cpu": 2}


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        (pod(node="gone", deleting=True, grace=30), True),
        (pod(node="gone", deleting=True, grace=30, phase="Succeeded"), True),
        (pod(node="laptop", deleting=True, grace=30), False),
        (pod(node="gone"), False),
        (pod(deleting=True, grace=30), False),
        (pod(node="gone", deleting=True, grace=0), False),  # only a finalizer holds it
    ],
)
def test_a_deleted_pod_of_a_missing_node_is_an_orphan(manifest: Manifest, found: bool) -> None:
    request = read_request(manifest)
    assert find_orphans([request], [read_node(node())]) == ([request] if found else [])
