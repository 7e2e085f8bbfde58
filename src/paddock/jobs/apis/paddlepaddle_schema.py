"""The schema of batch.paddlepaddle.org/v1 PaddleJob, derived from Kubernetes' own schema of pod templates.

It is as wide as what paddle-operator accepted and made sense of, so that manifests that work today can be stored and
edited. `replicas` has the minimum 0, as v0.2 read `ps: {replicas: 0}` as "no servers"; a negative number never meant
anything.
"""

from __future__ import annotations

from paddock.jobs.apis.schema_parts import (
    ANYTHING,
    COUNT,
    TEXT,
    TIME,
    WHOLE,
    build_kind,
    build_list,
    build_object,
    our_status,
    run_policy,
    scheduling_policy,
)
from paddock.kube.meta import Manifest
from paddock.kube.schemas import definition

COLUMNS = (
    ("Status", ".status.phase", "string"),
    ("Mode", ".status.mode", "string"),
    ("PS", ".status.ps.ready", "string"),
    ("Worker", ".status.worker.ready", "string"),
    ("Age", ".metadata.creationTimestamp", "date"),
)
SCALE = {"specReplicasPath": ".spec.worker.replicas", "statusReplicasPath": ".status.worker.running"}
"""`kubectl scale` sets the workers. There is no selector, so that a HorizontalPodAutoscaler leaves a job alone."""


def build_schema() -> Manifest:
    """The structural schema of a PaddleJob, fresh at every call but for the parts of the pod template."""
    role = build_object(
        {
            "replicas": COUNT,
            "requests": WHOLE,  # v0.3 declared these two and never read them
            "limits": WHOLE,
            "template": definition("PodTemplateSpec"),
        },
        required=["replicas"],
    )
    spec = {
        "cleanPodPolicy": TEXT,
        "cleanPolicy": {
            **TEXT,
            "description": "Another spelling of cleanPodPolicy, read alike.",
        },
        "intranet": TEXT,
        "withGloo": WHOLE,
        "elastic": WHOLE,
        "schedulingPolicy": build_object(scheduling_policy()),
        "runPolicy": build_object(run_policy()),
        "ps": role,
        "worker": role,
        "heter": role,
    }
    return build_kind(build_object(spec), _status())


def _status() -> Manifest:
    counts = dict.fromkeys(("pending", "starting", "running", "failed", "succeeded", "unknown"), WHOLE)
    role = build_object({**counts, "ready": TEXT, "refs": build_list(ANYTHING)})
    condition = build_object(
        {**dict.fromkeys(("type", "status", "reason", "message"), TEXT), "lastTransitionTime": TIME},
        required=["type", "status"],
    )
    return build_object(
        {
            "ps": role,
            "worker": role,
            "heter": role,
            "conditions": build_list(condition),
            "elastic": TEXT,
            "startTime": TIME,
            "completionTime": TIME,
            **our_status(),
        }
    )
