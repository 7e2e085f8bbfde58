"""JAX's environment variables of a rank: Kubeflow's contract (training-operator v1.9.4, pkg/controller.v1/jax).

Names, values and their order are Kubeflow's; the program hands them to `jax.distributed.initialize`, which reads none
of them itself. The first worker opens the rendezvous, on all addresses: so jobs that share a machine have each a port
of their own. A variable that the template sets itself wins, but for the number of a rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.jobs.frameworks import EnvVar, ExitCodes, Notice, NumberedRoles, OwnVariables, rendezvous
from paddock.jobs.frameworks.rendezvous import build_corrected as build_corrected
from paddock.jobs.frameworks.rendezvous import build_endpoints as build_endpoints
from paddock.jobs.frameworks.rendezvous import build_references as build_references
from paddock.jobs.frameworks.rendezvous import build_value
from paddock.jobs.frameworks.rendezvous import check_addresses as check_addresses
from paddock.jobs.frameworks.rendezvous import needs_addresses as needs_addresses
from paddock.jobs.model import Job, Rank, Role
from paddock.jobs.names import host_name
from paddock.kube.meta import Manifest

container = "jax"
default_port = 6666
columns: Mapping[str, tuple[str, ...]] = {"WORKER": ("worker",)}
exit_codes = ExitCodes()
PORT_NAME = "jaxjob-port"

_OWN = OwnVariables(kept=frozenset({"PYTHONUNBUFFERED", "COORDINATOR_PORT", "COORDINATOR_ADDRESS", "NUM_PROCESSES"}))


def find_mode(roles: Sequence[Role]) -> str:
    return "Distributed" if sum(role.replicas for role in roles) > 1 else "Single"


def find_default_environment(job: Job) -> str:
    return "jax"


def build_environment(job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
    first = rendezvous.first_rank(job)
    return [
        build_value("PYTHONUNBUFFERED", "1"),
        build_value("COORDINATOR_PORT", str(port or _port_of(job, first))),
        build_value("COORDINATOR_ADDRESS", host_name(job, first)),
        build_value("NUM_PROCESSES", str(job.size)),
        build_value("PROCESS_ID", str(rank.index)),
    ]


def own_variables(job: Job, role: str) -> OwnVariables:
    unmet = rendezvous.find_unmet(job, role, container, ("COORDINATOR_ADDRESS",), ("NUM_PROCESSES",))
    return replace(_OWN, replaced=unmet) if unmet else _OWN


def build_log_environment(directory: str) -> list[EnvVar]:
    return []


def build_free_ports() -> list[EnvVar]:
    return []


def build_ports(job: Job, rank: Rank, port: int | None) -> list[Manifest]:
    return [{"name": PORT_NAME, "containerPort": port or _port_of(job, rank)}]


def build_service_ports(job: Job, rank: Rank) -> list[Manifest]:
    return rendezvous.build_service_ports(job.role(rank.role), container, PORT_NAME, _port_of(job, rank))


def _port_of(job: Job, rank: Rank) -> int:
    return rendezvous.find_port(job.role(rank.role), container, PORT_NAME, default_port)


def number_roles(job: Job) -> NumberedRoles:
    return NumberedRoles(tuple(role.name for role in job.roles))


def rejoins(job: Job, rank: Rank) -> bool:
    return False


def substitute(container: Mapping[str, Any], job: Job) -> tuple[Mapping[str, Any], Notice | None]:
    return container, None


def build_substituting(job: Job) -> list[EnvVar]:
    return []
