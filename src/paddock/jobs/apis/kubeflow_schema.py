"""The schema of a kind of kubeflow.org/v1, derived from Kubernetes' own schema of pod templates.

Kubeflow's fields (training-operator v1.9) and Paddock's additions to the status. As in Kubeflow, the schema allows any
replica type; `read_job` checks them. Kubeflow's numbers have no bounds; here they are not negative.
"""

from __future__ import annotations

from paddock.jobs.apis import Column
from paddock.jobs.apis.schema_parts import (
    ANYTHING,
    COUNT,
    PROGRESS_COLUMNS,
    TEXT,
    TIME,
    build_kind,
    build_list,
    build_object,
    our_status,
    run_policy,
    scheduling_policy,
)
from paddock.jobs.manager import Manager
from paddock.kube.meta import Manifest
from paddock.kube.schemas import definition

COLUMNS = (
    Column("State", ".status.conditions[-1:].type"),
    *PROGRESS_COLUMNS,
    Column("Age", ".metadata.creationTimestamp", "date"),
    Column("Why", ".status.why", wide=True),
)


def build_scale(replica_specs: str) -> Manifest:
    """`kubectl scale` sets the workers, in all kinds of Kubeflow. `replica_specs`: the field with the roles."""
    return {
        "specReplicasPath": f".spec.{replica_specs}.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
        "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
    }


def build_schema(replica_specs: str, own: Manifest) -> Manifest:
    """`own`: the schemas of the fields of `spec` that this kind alone has."""
    replica = build_object(
        {"replicas": COUNT, "restartPolicy": TEXT, "template": definition("PodTemplateSpec")},
    )
    spec = {
        replica_specs: {"type": "object", "additionalProperties": replica},
        "runPolicy": _run_policy(),
        **own,
    }
    return build_kind(build_object(spec, required=[replica_specs]), _status())


def _run_policy() -> Manifest:
    """Its default is an empty one, as the models of Kubeflow's SDK need it: without it, one job that has none makes
    `list_jobs` fail for its whole namespace. training-operator's definition has no such default."""
    policy = build_object(
        {
            **run_policy(),
            "suspend": {"type": "boolean", "default": False},
            # The one enum: Kubeflow's webhook refuses others when a job is made, and who makes it waits for that.
            "managedBy": {**TEXT, "enum": ["", *(manager.value for manager in Manager)]},
            "schedulingPolicy": build_object(scheduling_policy()),
        }
    )
    return {**policy, "default": {}}


def build_elastic_policy(**more: Manifest) -> Manifest:
    """The fields of `elasticPolicy` that all kinds have, and `more`."""
    return build_object(
        {"minReplicas": COUNT, "maxReplicas": COUNT, "maxRestarts": COUNT, "metrics": build_list(ANYTHING)} | more
    )


def _status() -> Manifest:
    replica = build_object(
        {
            **dict.fromkeys(("active", "succeeded", "failed", "pending", "starting"), COUNT),
            "ready": TEXT,
            "selector": TEXT,
            "labelSelector": ANYTHING,
        }
    )
    condition = build_object(
        {**dict.fromkeys(("type", "status", "reason", "message"), TEXT)}
        | dict.fromkeys(("lastUpdateTime", "lastTransitionTime"), TIME),
        required=["status", "type"],
    )
    return build_object(
        {
            "conditions": build_list(condition),
            "replicaStatuses": {"type": "object", "additionalProperties": replica},
            "startTime": TIME,
            "completionTime": TIME,
            "lastReconcileTime": TIME,
            "why": TEXT,
            **our_status(),
        }
    )
