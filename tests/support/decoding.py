"""What a Kubernetes API server makes of nulls, and of amounts without quotes: (path, value, what it stores there).

`tests/kubernetes` asks a real API server and the embedded one, `tests/preflight` what is checked before.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import Manifest
from support.operator_seam import JOBS

ABSENT = "absent"
REFUSED = "refused"
ROLE = "spec.worker"
SPEC = f"{ROLE}.template.spec"
CONTAINER = f"{SPEC}.containers.0"

OF_A_JOB: list[tuple[str, Any, Any]] = [
    # a null of a field is pruned
    (f"{CONTAINER}.resources", None, ABSENT),
    (f"{CONTAINER}.resources", {"limits": None}, {}),
    (f"{CONTAINER}.env", None, ABSENT),
    (f"{CONTAINER}.env", [{"name": "A", "value": None}], [{"name": "A"}]),
    (f"{SPEC}.affinity", None, ABSENT),
    (f"{SPEC}.volumes", [{"name": "v", "emptyDir": None}], [{"name": "v"}]),
    (f"{SPEC}.volumes", [{"name": "v", "emptyDir": {"sizeLimit": None}}], [{"name": "v", "emptyDir": {}}]),
    (f"{ROLE}.template.metadata", None, ABSENT),
    (f"{ROLE}.requests", None, ABSENT),
    ("spec.schedulingPolicy", None, ABSENT),
    ("spec", None, ABSENT),
    ("status", None, ABSENT),
    # but not where it may be null
    (f"{ROLE}.template.metadata", {"creationTimestamp": None}, {"creationTimestamp": None}),
    # the value of a map, too
    (f"{CONTAINER}.resources", {"limits": {"cpu": None}}, {"limits": {}}),
    (f"{SPEC}.nodeSelector", {"gpu": None}, {}),
    (f"{ROLE}.template.metadata", {"labels": {"a": None}}, {"labels": {}}),
    # a required field is then missing, and an item of a list is no text
    (f"{SPEC}.containers", None, REFUSED),
    (f"{ROLE}.replicas", None, REFUSED),
    (f"{CONTAINER}.name", None, REFUSED),
    (f"{CONTAINER}.args", [None], REFUSED),
    (f"{CONTAINER}.env", [None], REFUSED),
    # metadata is decoded as that of a pod
    ("metadata.annotations", None, ABSENT),
    ("metadata.annotations", {"a": None}, {"a": ""}),
    ("metadata.labels", {"a": None}, {"a": ""}),
    # amounts: a whole number or a text
    (f"{CONTAINER}.resources", {"limits": {"cpu": 1}}, {"limits": {"cpu": 1}}),
    (f"{CONTAINER}.resources", {"limits": {"memory": 1e9}}, {"limits": {"memory": 1e9}}),
    (f"{CONTAINER}.resources", {"limits": {"cpu": "0.5"}}, {"limits": {"cpu": "0.5"}}),
    (f"{CONTAINER}.resources", {"limits": {"cpu": 0.5}}, REFUSED),
    (f"{CONTAINER}.resources", {"limits": {"memory": 1e30}}, REFUSED),
    (f"{CONTAINER}.resources", {"limits": {"memory": True}}, REFUSED),
    (f"{SPEC}.volumes", [{"name": "v", "emptyDir": {"sizeLimit": 0.5}}], REFUSED),
]
OF_A_POD: list[tuple[str, Any, Any]] = [
    ("spec.containers.0.env", None, ABSENT),
    ("spec.containers.0.resources", None, {}),
    ("spec.affinity", None, ABSENT),
    ("spec.restartPolicy", None, "Always"),
    # in a map or a list a null is the zero value of its type
    ("spec.nodeSelector", {"gpu": None}, {"gpu": ""}),
    ("metadata.labels", {"a": None}, {"a": ""}),
    ("spec.containers.0.args", [None], [""]),
    ("spec.containers.0.resources", {"requests": {"cpu": None}}, {"requests": {"cpu": "0"}}),
    ("spec.containers.0.env", [None], REFUSED),
    ("spec.containers", [None], REFUSED),
    ("spec.containers.0.image", None, REFUSED),
    ("spec.containers.0.resources", {"limits": {"cpu": True}}, REFUSED),
]
NUMBERS_OF_A_POD: list[tuple[str, Any, str]] = [
    ("cpu", 0.5, "500m"), ("cpu", 1, "1"), ("cpu", 0.1234567, "124m"), ("memory", 1024, "1024"),
]  # fmt: skip
"""A resource, its limit, and what is stored."""


def build_manifest(kind: str, namespace: str) -> Manifest:
    containers = [{"name": "main", "image": "registry.example/train:1"}]
    metadata = {"name": "decoded", "namespace": namespace}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {"containers": containers}}
    worker = {"replicas": 1, "template": {"spec": {"containers": containers}}}
    return {"apiVersion": JOBS.api_version, "kind": kind, "metadata": metadata, "spec": {"worker": worker}}


def put(manifest: Manifest, path: str, value: Any) -> None:
    place: Any = manifest
    *parents, last = path.split(".")
    for step in parents:
        place = place[int(step)] if step.isdecimal() else place.setdefault(step, {})
    place[last] = value
