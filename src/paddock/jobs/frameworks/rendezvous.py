"""What ranks that meet at a rendezvous have in common, whatever the framework: the first rank, and its port.

Kubeflow's rule (training-operator v1.9): the first Master, else the first Worker, opens the rendezvous, at the port
that its container declares under the framework's name for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.frameworks import EnvVar
from paddock.jobs.model import Job, Rank, Role


def first_rank(job: Job) -> Rank:
    return Rank("worker" if job.role("master") is None else "master", 0)


def find_port(role: Role | None, container: str, name: str, default: int) -> int:
    """The port called `name` of the container that trains in `role`."""
    containers: list[Mapping[str, Any]] = role.template["spec"]["containers"] if role else []
    named = [each for each in containers if each.get("name") == container] or containers[:1]
    ports = [entry for each in named for entry in each.get("ports") or () if entry.get("name") == name]
    return int(ports[0]["containerPort"]) if ports else default


def build_value(name: str, value: str) -> EnvVar:
    return {"name": name, "value": value}


def build_pod_ip(name: str) -> EnvVar:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
