"""Which controller runs a job: `spec.runPolicy.managedBy`. Another manager's job is not touched, not even its status.

The rule is that of training-operator v1.9, whose role Paddock takes: a job without the field, or with
`kubeflow.org/training-operator`, is ours; any other value leaves the job to somebody else, also one that nobody knows.
Kueue's MultiKueue sets the field on jobs that it sends to another cluster, and writes their status itself. Kubeflow's
webhook refuses other values than the two, and every change; its type comments allow an empty text, which means ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Manager(StrEnum):
    """The values that Kubeflow's webhook accepts."""

    TRAINING_OPERATOR = "kubeflow.org/training-operator"
    MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def find_other_manager(manifest: Mapping[str, Any]) -> str:
    """The manager of a job that is not Paddock's; empty for Paddock's own. Never raises: a value that is no text is not
    a manager, and `read_job` refuses it."""
    found: Any = manifest
    for key in ("spec", "runPolicy", "managedBy"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) and found != Manager.TRAINING_OPERATOR else ""
