"""Manifests of jobs for the tests of places: programs of this folder, started by a Python of the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
WIDE_AND_DEEP = Path(__file__).parents[2] / "src/paddock/environments/programs/wide_and_deep"


def build_role(replicas: int, *command: str, **container: Any) -> dict[str, Any]:
    trained = {"name": "main", "image": "example.com/train:1", "command": list(command), **container}
    return {"replicas": replicas, "template": {"spec": {"containers": [trained]}}}


def build_paddle(name: str = "demo", **roles: dict[str, Any]) -> dict[str, Any]:
    """Of batch.paddlepaddle.org: `worker=build_role(2, "python", "train.py")`."""
    spec = {"cleanPodPolicy": "Never", "withGloo": 1, **roles}
    return {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": {"name": name}, "spec": spec}


def build_torch(name: str = "demo", **roles: dict[str, Any]) -> dict[str, Any]:
    """Of kubeflow.org: `Master=…, Worker=…`."""
    for role in roles.values():
        role["restartPolicy"] = "Never"
    spec = {"pytorchReplicaSpecs": roles}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


def write_manifest(directory: Path, manifest: dict[str, Any], *others: dict[str, Any]) -> Path:
    """A file of the manifest and other objects, as a user has it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "job.yaml"
    path.write_text("\n---\n".join(json.dumps(each, indent=1) for each in (manifest, *others)))  # JSON is YAML
    return path
