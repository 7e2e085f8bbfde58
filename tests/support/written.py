"""A job, its pods and events as somebody would write them down for a page to show."""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import Manifest
from paddock.kube.times import format_time

_CONTAINER = {"name": "paddle", "image": "paddle:2.4"}


def build_written_job(name: str = "demo", **status: Any) -> Manifest:
    """A PaddleJob `demo` with UID `one`: a server and two workers."""
    container = {
        "name": "paddle",
        "image": "paddle:2.4",
        "command": ["python"],
        "args": ["train.py"],
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}},
    }
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "namespace": "default", "uid": "one", "creationTimestamp": format_time(100.0),
                     "managedFields": [{"manager": "kubectl"}], "resourceVersion": "7"},
        "spec": {"ps": {"replicas": 1, "template": template}, "worker": {"replicas": 2, "template": template}},
        **({"status": status} if status else {}),
    }  # fmt: skip


def build_pod(
    role: str, index: int, phase: str = "Running", *, attempt: int = 1, uid: str = "one", message: str = ""
) -> Manifest:
    """Of the job `demo` with this UID."""
    state: dict[str, Any] = {"running": {}}
    if phase == "Failed":
        state = {"terminated": {"exitCode": 1, "reason": "Error", "message": message}}
    if phase == "Succeeded":
        state = {"terminated": {"exitCode": 0}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"demo-{role}-{index}",
            "namespace": "default",
            "uid": f"p-{role}-{index}",
            "creationTimestamp": format_time(100.0),
            "labels": {
                "paddock.dev/job": "demo", "paddock.dev/role": role, "paddock.dev/index": str(index),
                "paddock.dev/attempt": str(attempt),
            },
            "ownerReferences": [
                {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "name": "demo", "uid": uid,
                 "controller": True}
            ],
        },
        "spec": {"nodeName": "here", "restartPolicy": "Never", "containers": [_CONTAINER]},
        "status": {
            "phase": phase,
            "podIP": "127.64.0.2",
            "containerStatuses": [] if phase == "Pending" else [{"name": "paddle", "ready": phase == "Running",
                                                                 "restartCount": 0, "state": state}],
        },
    }  # fmt: skip


def build_event(
    reason: str, *, uid: str = "one", name: str = "demo", count: int = 1, last: float = 200.0, kind: str = "Warning"
) -> Manifest:
    """`kind`: its type."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{last}", "namespace": "default", "uid": f"e-{name}-{reason}-{last}"},
        "involvedObject": {"kind": "PaddleJob", "name": name, "namespace": "default", "uid": uid},
        "type": kind,
        "reason": reason,
        "message": f"{reason} happened",
        "count": count,
        "firstTimestamp": format_time(1.0),
        "lastTimestamp": format_time(last),
    }
