"""What ranks that meet at a rendezvous have in common, whatever the framework: the first rank, its port, no addresses.

Kubeflow's rule (training-operator v1.9): the first Master, else the first Worker, opens the rendezvous, at the port
that its container declares under the framework's name for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from paddock.jobs.frameworks import EnvVar
from paddock.jobs.model import Job, Rank, Role
from paddock.kube.meta import Manifest
from paddock.words.phrases import Phrase, phrase

_ITSELF = re.compile(r"localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,9}")


def first_rank(job: Job) -> Rank:
    return Rank("master" if has_master(job) else "worker", 0)


def has_master(job: Job) -> bool:
    master = job.role("master")
    return master is not None and master.replicas > 0


def find_port(role: Role | None, container: str, name: str, default: int) -> int:
    """The port called `name` of the container that trains in `role`."""
    ports = [entry for entry in _ports(role, container) if entry.get("name") == name]
    return int(ports[0]["containerPort"]) if ports else default


def build_service_ports(role: Role | None, container: str, name: str, port: int) -> list[Manifest]:
    """The ports of the Service of a rank of `role`: the rendezvous, `port` by `name`, and those that the container
    declares, as Kubeflow has them. Kubernetes wants a name for each and each name and number once; Kubeflow's Services
    of a container with an unnamed port, or with the rendezvous' under another name, are refused."""
    result: list[Manifest] = [{"name": name, "port": port}]
    for entry in _ports(role, container):
        number = entry["containerPort"]
        called = entry.get("name") or f"port-{number}"
        if all(each["name"] != called and each["port"] != number for each in result):
            result.append({"name": called, "port": number})
    return result


def find_names(role: Role | None, container: str) -> frozenset[str]:
    """The names of the variables that the container that trains in `role` sets itself."""
    return frozenset(entry["name"] for entry in _read_entries(role, container, "env"))


def find_unmet(
    job: Job, role: str, container: str, addresses: Collection[str], counts: Collection[str]
) -> dict[str, Phrase]:
    """Which of the template's variables keep the ranks of several pods apart for sure, and why: an address of the pod
    itself in one of `addresses`, fewer processes than pods in one of `counts`. Kubeflow's operator overwrites any."""
    if job.size == 1:
        return {}
    entries = _read_entries(job.role(role), container, "env")
    found = {}
    for name, value in ((each["name"], str(each.get("value") or "")) for each in entries):
        if name in addresses and _ITSELF.fullmatch(value):
            found[name] = phrase(
                "is overwritten: {value} is each pod itself, and the ranks meet at one; remove the entry, as Paddock "
                "sets {name} for all",
                value=value, name=name,
            )  # fmt: skip
        elif name in counts and _COUNT.fullmatch(value) and int(value) < job.size:
            found[name] = phrase(
                "is overwritten: {value} is less than the {count} pods that train; remove the entry, as Paddock sets "
                "{name} for all",
                value=value, count=job.size, name=name,
            )  # fmt: skip
    return found


def _ports(role: Role | None, container: str) -> list[Mapping[str, Any]]:
    """The ports that the container that trains in `role` declares."""
    return _read_entries(role, container, "ports")


def _read_entries(role: Role | None, container: str, field: str) -> list[Mapping[str, Any]]:
    containers: list[Mapping[str, Any]] = role.template["spec"]["containers"] if role else []
    named = [each for each in containers if each.get("name") == container] or containers[:1]
    return [entry for each in named for entry in each.get(field) or ()]


def build_value(name: str, value: str) -> EnvVar:
    return {"name": name, "value": value}


def build_pod_ip(name: str) -> EnvVar:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}


# The part of `Framework` about addresses, for those whose ranks only ever meet at a rendezvous: they wait for each
# other there, and share no ConfigMap.


def needs_addresses(job: Job) -> bool:
    return False


def check_addresses(job: Job, addresses: Mapping[Rank, str]) -> str:
    return ""


def build_endpoints(job: Job, addresses: Mapping[Rank, str], port: int) -> dict[str, str]:
    return {}


def build_references(job: Job, rank: Rank) -> dict[str, str]:
    return {}


def build_corrected(job: Job, rank: Rank) -> list[EnvVar]:
    return []
