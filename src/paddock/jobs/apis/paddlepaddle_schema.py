"""The schema of batch.paddlepaddle.org/v1 PaddleJob, derived from Kubernetes' own schema of pod templates.

The schema accepts every manifest that works with paddle-operator, so that stored jobs can be edited. `replicas` has the
minimum 0: v0.2 read `ps: {replicas: 0}` as "no servers".
"""

from __future__ import annotations

from paddock.jobs.apis import Column
from paddock.jobs.apis.schema_parts import (
    ANYTHING,
    COUNT,
    PROGRESS_COLUMNS,
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
    Column("Status", ".status.phase"),
    Column("Mode", ".status.mode"),
    Column("PS", ".status.ps.ready"),
    Column("Worker", ".status.worker.ready"),
    *PROGRESS_COLUMNS,
    Column("Age", ".metadata.creationTimestamp", "date"),
    Column("Why", '.status.conditions[?(@.type=="Running")].message', wide=True),
)
SCALE = {"specReplicasPath": ".spec.worker.replicas", "statusReplicasPath": ".status.worker.running"}
"""`kubectl scale` sets the workers. Without a selector a HorizontalPodAutoscaler cannot scale a job."""


def build_schema() -> Manifest:
    """The structural schema of a PaddleJob. Each call builds a new one; only the pod template's parts are shared."""
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
