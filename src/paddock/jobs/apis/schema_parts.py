"""Parts of the structural schemas (OpenAPI v3 of CustomResourceDefinitions) that all kinds of job share.

They have no enums: `read_job` checks the values and names the nearest valid word, which an API server cannot.
"""

from __future__ import annotations

from typing import Any

from paddock.jobs.apis import Column
from paddock.kube.meta import Manifest

TEXT: Manifest = {"type": "string"}
WHOLE: Manifest = {"type": "integer"}
GENERATION: Manifest = {"type": "integer", "format": "int64"}
COUNT: Manifest = {"type": "integer", "format": "int32", "minimum": 0}
SECONDS: Manifest = {"type": "integer", "format": "int64", "minimum": 0}
TIME: Manifest = {"type": "string", "format": "date-time"}
QUANTITY: Manifest = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
ANYTHING: Manifest = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


PROGRESS_COLUMNS = (
    Column("Percent", ".status.progress.percent", "integer", wide=True),
    Column("Remaining", ".status.progress.remaining", "integer", wide=True),
)
"""How far the training is, of every kind (`jobs.progress`)."""


def build_object(properties: dict[str, Any], required: list[str] | None = None) -> Manifest:
    schema: Manifest = {"type": "object", "properties": properties}
    return schema | {"required": required} if required else schema


def build_list(items: Manifest) -> Manifest:
    return {"type": "array", "items": items}


def build_kind(spec: Manifest, status: Manifest) -> Manifest:
    """The schema of a kind, of its `spec` and `status`."""
    return build_object(
        {"apiVersion": TEXT, "kind": TEXT, "metadata": {"type": "object"}, "spec": spec, "status": status}
    )


def find_spec_fields(kind: Manifest) -> frozenset[str]:
    """The names of the fields of `spec` in a schema of `build_kind`."""
    return frozenset(kind["properties"]["spec"]["properties"])


def run_policy() -> dict[str, Any]:
    return {
        "backoffLimit": COUNT,
        "activeDeadlineSeconds": SECONDS,
        "ttlSecondsAfterFinished": COUNT,
        "suspend": {"type": "boolean"},
        "cleanPodPolicy": TEXT,
        "managedBy": TEXT,
    }


def scheduling_policy() -> dict[str, Any]:
    return {
        "minAvailable": COUNT,
        "queue": TEXT,
        "priorityClass": TEXT,
        "minResources": {"type": "object", "additionalProperties": QUANTITY},
        "scheduleTimeoutSeconds": COUNT,
    }


def our_status() -> dict[str, Any]:
    """Paddock's fields in the status of every kind."""
    return {
        "phase": TEXT,
        "mode": TEXT,
        "observedGeneration": GENERATION,
        "attempt": COUNT,
        "restarts": COUNT,
        "losses": COUNT,
        "problem": build_object({"reason": TEXT, "since": TIME, "args": ANYTHING}),
        "renewals": {"type": "object", "additionalProperties": COUNT},
        "lastRenewalTime": TIME,
        "delays": {"type": "object", "additionalProperties": TIME},
        "gangSize": COUNT,
        "gangLoss": TEXT,
        "succeeded": {
            "type": "object",
            "additionalProperties": build_object(
                {"attempt": COUNT, "indexes": TEXT, "firstFinishTime": TIME, "lastFinishTime": TIME}
            ),
        },
        "progress": build_object(
            {
                "percent": {**COUNT, "maximum": 100},
                "remaining": SECONDS,
                "metrics": {"type": "object", "additionalProperties": {"type": "number"}},
            }
        ),
        "suspects": {
            "type": "object",
            "additionalProperties": build_object(
                {"reason": TEXT, "attempts": {"type": "array", "items": COUNT}, "until": TIME}
            ),
        },
        "lastValidSpec": TEXT,
        "cause": build_object({"reason": TEXT, "since": TIME, "args": ANYTHING}),
    }
