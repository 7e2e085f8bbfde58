"""Objects of a day: a pod, and a job of each group that has one role. Their image stands for the machine's programs."""

from __future__ import annotations

from typing import Any


def pod(name: str, script: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "python", "command": ["sh", "-c", script]}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, **spec},
    }  # fmt: skip


def job(name: str, script: str, workers: int = 1, **spec: Any) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "python", "command": ["sh", "-c", script]}
    role = {"replicas": workers, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": {"Worker": role}, **spec},
    }  # fmt: skip


def paddle_job(name: str, script: str, workers: int = 1) -> dict[str, Any]:
    container = {"name": "paddle", "image": "python", "command": ["sh", "-c", script]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": {"name": name},
        "spec": {"worker": {"replicas": workers, "template": template}},
    }  # fmt: skip
