"""The CustomResourceDefinition of the jobs' kinds, derived from Kubernetes' own schema of pod templates.

The schema is as wide as what paddle-operator accepted and made sense of, so that manifests that work today can be
stored and edited. Enums are left to `read_job`, which names the nearest right word: an API server cannot. `replicas`
has the minimum 0, as v0.2 read `ps: {replicas: 0}` as "no servers"; a negative number never meant anything.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import Manifest, Resource
from paddock.kube.schemas import definition

PADDLE_JOBS = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_COUNT = {"type": "integer", "format": "int32", "minimum": 0}
_SECONDS = {"type": "integer", "format": "int64", "minimum": 0}
_TIME = {"type": "string", "format": "date-time"}
_QUANTITY = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

_COLUMNS = (
    ("Status", ".status.phase", "string"),
    ("Mode", ".status.mode", "string"),
    ("PS", ".status.ps.ready", "string"),
    ("Worker", ".status.worker.ready", "string"),
    ("Age", ".metadata.creationTimestamp", "date"),
)


def build_crd() -> Manifest:
    """CustomResourceDefinition (apiextensions.k8s.io/v1) of batch.paddlepaddle.org/v1 PaddleJob."""
    version = {
        "name": PADDLE_JOBS.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": build_schema()},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": name, "jsonPath": path, "type": kind} for name, path, kind in _COLUMNS],
    }
    names = {"kind": "PaddleJob", "listKind": "PaddleJobList", "plural": "paddlejobs", "singular": "paddlejob"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PADDLE_JOBS.plural}.{PADDLE_JOBS.group}"},
        "spec": {
            "group": PADDLE_JOBS.group,
            "names": {**names, "shortNames": ["pdj"]},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def build_schema() -> Manifest:
    """The structural schema of a PaddleJob, fresh at every call but for the parts of the pod template."""
    role = _object(
        {
            "replicas": _COUNT,
            "requests": _WHOLE,  # v0.3 declared these two and never read them
            "limits": _WHOLE,
            "template": definition("PodTemplateSpec"),
        },
        required=["replicas"],
    )
    spec = {
        "cleanPodPolicy": _TEXT,
        "cleanPolicy": {
            **_TEXT,
            "description": "Another spelling of cleanPodPolicy, read alike.",
        },
        "intranet": _TEXT,
        "withGloo": _WHOLE,
        "elastic": _WHOLE,
        "schedulingPolicy": _scheduling_policy(),
        "runPolicy": _run_policy(),
        "ps": role,
        "worker": role,
        "heter": role,
    }
    return _object(
        {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": {"type": "object"},
            "spec": _object(spec),
            "status": _status(),
        }
    )


def _run_policy() -> Manifest:
    return _object(
        {
            "backoffLimit": _COUNT,
            "activeDeadlineSeconds": _SECONDS,
            "ttlSecondsAfterFinished": _COUNT,
            "suspend": {"type": "boolean"},
            "cleanPodPolicy": _TEXT,
        }
    )


def _scheduling_policy() -> Manifest:
    return _object(
        {
            "minAvailable": _COUNT,
            "queue": _TEXT,
            "priorityClass": _TEXT,
            "minResources": {"type": "object", "additionalProperties": _QUANTITY},
        }
    )


def _status() -> Manifest:
    counts = dict.fromkeys(("pending", "starting", "running", "failed", "succeeded", "unknown"), _WHOLE)
    role = _object({**counts, "ready": _TEXT, "refs": {"type": "array", "items": _ANYTHING}})
    return _object(
        {
            "phase": _TEXT,
            "mode": _TEXT,
            "ps": role,
            "worker": role,
            "heter": role,
            "elastic": _TEXT,
            "startTime": _TIME,
            "completionTime": _TIME,
            "observedGeneration": {"type": "integer", "format": "int64"},
            "attempt": _COUNT,
            "restarts": _COUNT,
            "cause": _object({"reason": _TEXT, "since": _TIME, "args": _ANYTHING}),
        }
    )


def _object(properties: dict[str, Any], required: list[str] | None = None) -> Manifest:
    schema: Manifest = {"type": "object", "properties": properties}
    return schema | {"required": required} if required else schema
