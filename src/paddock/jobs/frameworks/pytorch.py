"""PyTorch's environment variables of a rank: Kubeflow's contract (training-operator v1.9.4, pkg/controller.v1/pytorch).

Names, values and their order are Kubeflow's. A program that is started without a launcher reads MASTER_ADDR,
MASTER_PORT, WORLD_SIZE and RANK; torchrun reads its options from PET_<OPTION>. Differences, each for a job that could
not work:

- Without a Master, the first worker takes its place: Kubeflow sets no address and no rank then, and each torchrun waits
  for ever. An elastic job without a Master has none here either: ranks and their number are the rendezvous' to give.
- An elastic job gets what torch 2.13 needs: which agent opens the rendezvous (`is_host`), the address that agents tell
  each other, a store that is not kept over restarts, without which a job may hang after a lost pod, and restarts of the
  processes that lost a peer (`MAX_RESTARTS`).
- A torchrun with `--max-restarts` and without elasticPolicy meets by c10d, as the static rendezvous cannot form its
  group a second time.
- PET_STANDALONE is 1, as torchrun reads a number; Kubeflow's empty text ends each pod. An empty `rdzvConf` is none.
- A variable that the template sets itself wins, as do all but the number of a rank. Kubeflow's come last and win, also
  in side-cars, which here get none.
- One port for each job where jobs share a machine: torch's store binds all addresses.
- Several pods have their number in GROUP_RANK and NODE_RANK too: Lightning reads no other name, and takes each pod for
  the first without it (lightning_fabric 2.6, plugins/environments/lightning.py); Composer wants NODE_RANK.
- A job of one pod gets none of them where its annotation says so, which a typed command has (`script.kinds`).
- No init container looks up the Master's name: Services publish addresses of pods that are not ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.jobs.frameworks import EnvVar, ExitCodes, Notice, NumberedRoles, OwnVariables, rendezvous
from paddock.jobs.frameworks.rendezvous import build_corrected as build_corrected
from paddock.jobs.frameworks.rendezvous import build_endpoints as build_endpoints
from paddock.jobs.frameworks.rendezvous import build_pod_ip, build_value, find_port, first_rank, has_master
from paddock.jobs.frameworks.rendezvous import build_references as build_references
from paddock.jobs.frameworks.rendezvous import check_addresses as check_addresses
from paddock.jobs.frameworks.rendezvous import needs_addresses as needs_addresses
from paddock.jobs.labels import RANK_VARIABLES_ANNOTATION
from paddock.jobs.launch import Elastic
from paddock.jobs.model import Job, Rank, Role
from paddock.jobs.names import host_name
from paddock.kube.meta import Manifest

container = "pytorch"
default_port = 23456
columns: Mapping[str, tuple[str, ...]] = {"MASTER": ("master",), "WORKER": ("worker",)}
exit_codes = ExitCodes()
PORT_NAME = "pytorchjob-port"
C10D = "c10d"
FIRST_WORKER = Rank("worker", 0)
MAX_RESTARTS = 10
"""Of an elasticPolicy without `maxRestarts`. torchrun's own default is 0: a process that loses its peer would end its
pod, and nothing would be formed anew."""

_OPTIONS = (
    "MASTER_ADDR MASTER_PORT LOCAL_ADDR NNODES NPROC_PER_NODE MAX_RESTARTS STANDALONE RDZV_BACKEND RDZV_ENDPOINT "
    "RDZV_ID RDZV_CONF"
)
_SHUTDOWN = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
"""Read by torchrun of torch 2.12 and later (LaunchConfig.shutdown_timeout); an older one kills after 30 s."""
_OWN_SHUTDOWN, _SHUTDOWN_MARGIN = 30, 5
"""Seconds: torchrun's default, and what is left of the grace for itself when its workers are gone."""
_OWN = OwnVariables(
    kept=frozenset({
        "PYTHONUNBUFFERED", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
        _SHUTDOWN,
        *(f"PET_{option}" for option in _OPTIONS.split()),
    })
)  # fmt: skip
"""All but RANK and PET_NODE_RANK, which must differ between ranks."""


def find_mode(roles: Sequence[Role]) -> str:
    return "Distributed" if sum(role.replicas for role in roles) > 1 else "Single"


def is_bare(job: Job) -> bool:
    """Whether its one rank is to have no variable of ranks: programs that find RANK expect a launcher's LOCAL_RANK."""
    return job.size == 1 and job.annotations.get(RANK_VARIABLES_ANNOTATION) == "false"


def find_default_environment(job: Job) -> str:
    return "pytorch"


def build_environment(job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
    elastic = job.launch.elastic
    variables = [build_value("PYTHONUNBUFFERED", "1"), *_build_shutdown(job, rank)]
    if is_bare(job):
        return variables
    if elastic is None or has_master(job):
        variables += _build_static(job, rank, port)
    if job.launch.processes:
        variables.append(build_value("PET_NPROC_PER_NODE", job.launch.processes))
    if elastic is None:
        variables += [build_value("PET_NNODES", str(job.size)), *_build_node(job, rank)]
        return [*variables, *(_build_in_place(job, rank, port) if job.launch.in_place else ())]
    return [*variables, *_build_elastic(job, elastic, rank, port)]


def _build_shutdown(job: Job, rank: Rank) -> list[EnvVar]:
    """How long torchrun waits for its workers after SIGTERM: nearly all of the pod's grace, where that is longer than
    its own 30 s."""
    role = job.role(rank.role)
    grace = role.template.get("spec", {}).get("terminationGracePeriodSeconds") if role is not None else None
    left = grace - _SHUTDOWN_MARGIN if isinstance(grace, int) else 0
    return [build_value(_SHUTDOWN, str(left))] if left > _OWN_SHUTDOWN else []


def _build_static(job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
    first = first_rank(job)
    address, at = host_name(job, first), str(port or _port_of(job, first.role))
    number = str(job.number_of(rank))
    return [
        build_value("MASTER_PORT", at),
        build_value("PET_MASTER_PORT", at),
        build_value("MASTER_ADDR", address),
        build_value("PET_MASTER_ADDR", address),
        build_value("WORLD_SIZE", str(job.size * _processes(job))),
        build_value("RANK", number),
        build_value("PET_NODE_RANK", number),
    ]


def _build_in_place(job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
    """c10d's rendezvous for a torchrun with `--max-restarts`: the static one gives the processes of the second round
    the store of the first, and they wait for the dead (torch 2.13, StaticTCPRendezvous)."""
    first = first_rank(job)
    return [
        build_value("PET_RDZV_BACKEND", C10D),
        build_value("PET_RDZV_ENDPOINT", f"{host_name(job, first)}:{port or _port_of(job, first.role)}"),
        build_value("PET_RDZV_CONF", f"is_host={int(rank == first)}"),
        build_pod_ip("PET_LOCAL_ADDR"),
        build_value("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"),
    ]


def _build_node(job: Job, rank: Rank) -> list[EnvVar]:
    """The number of the pod under the names that Lightning and Composer read, unless the template sets them: some count
    their pods otherwise there."""
    if job.size == 1:
        return []
    said = rendezvous.find_names(job.role(rank.role), container)
    return [build_value(name, str(job.number_of(rank))) for name in ("GROUP_RANK", "NODE_RANK") if name not in said]


def _build_elastic(job: Job, elastic: Elastic, rank: Rank, port: int | None) -> list[EnvVar]:
    backend = elastic.backend or C10D
    host = elastic.host or host_name(job, FIRST_WORKER)
    at = elastic.port or port or _port_of(job, FIRST_WORKER.role)
    conf = list(elastic.conf)
    if _opens_rendezvous(elastic) and "is_host" not in dict(conf):
        conf.append(("is_host", "1" if rank == FIRST_WORKER else "0"))
    variables = [
        build_value("PET_RDZV_ENDPOINT", f"{host}:{at}"),
        build_value("PET_RDZV_BACKEND", backend),
        build_value("PET_NNODES", f"{elastic.least}:{elastic.most}"),
    ]
    restarts = MAX_RESTARTS if elastic.max_restarts is None else elastic.max_restarts
    variables.append(build_value("PET_MAX_RESTARTS", str(restarts)))
    if elastic.processes is not None:
        variables.append(build_value("PET_NPROC_PER_NODE", str(elastic.processes)))
    if elastic.id:
        variables.append(build_value("PET_RDZV_ID", elastic.id))
    if conf:
        variables.append(build_value("PET_RDZV_CONF", ",".join(f"{key}={value}" for key, value in conf)))
    if elastic.standalone:
        variables.append(build_value("PET_STANDALONE", "1"))
    return [*variables, build_pod_ip("PET_LOCAL_ADDR"), build_value("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")]


def _processes(job: Job) -> int:
    """The processes of a pod, as WORLD_SIZE counts them: a number that is written, else 1 (Kubeflow)."""
    return 1 if job.launch.number is None else job.launch.number


def _port_of(job: Job, role: str) -> int:
    return find_port(job.role(role), container, PORT_NAME, default_port)


def own_variables(job: Job, role: str) -> OwnVariables:
    unmet = rendezvous.find_unmet(job, role, container, ("MASTER_ADDR", "PET_MASTER_ADDR"), ("WORLD_SIZE",))
    return replace(_OWN, replaced=unmet) if unmet else _OWN


def build_log_environment(directory: str) -> list[EnvVar]:
    return []


def build_free_ports() -> list[EnvVar]:
    return []


def build_ports(job: Job, rank: Rank, port: int | None) -> list[Manifest]:
    return [{"name": PORT_NAME, "containerPort": port or _port_of(job, rank.role)}]


def build_service_ports(job: Job, rank: Rank) -> list[Manifest]:
    return rendezvous.build_service_ports(job.role(rank.role), container, PORT_NAME, _port_of(job, rank.role))


def number_roles(job: Job) -> NumberedRoles:
    """The Master is RANK 0 and the first worker RANK 1; c10d's agents are sorted when they meet."""
    dealt = job.launch.elastic is not None or job.launch.in_place
    return NumberedRoles(tuple(role.name for role in job.roles), dealt)


def rejoins(job: Job, rank: Rank) -> bool:
    """Whether torchrun forms the group anew without, or with, this rank. It does so for the pods of an elasticPolicy,
    but for the one that opens a c10d rendezvous: the agents of all others end within a second of its loss (torch 2.13).
    """
    elastic = job.launch.elastic
    if elastic is None or not elastic.launched or elastic.max_restarts == 0:
        return False
    return rank != FIRST_WORKER or not _opens_rendezvous(elastic)


def _opens_rendezvous(elastic: Elastic) -> bool:
    """Whether the first worker does, which the others then need."""
    return (elastic.backend or C10D) == C10D and not elastic.host and not elastic.standalone


def substitute(container: Mapping[str, Any], job: Job) -> tuple[Mapping[str, Any], Notice | None]:
    """Python source that a shell is given. What nccl cannot do is replaced while the program runs."""
    from paddock.jobs.frameworks.python_source import run_source

    return run_source(container)


def build_substituting(job: Job) -> list[EnvVar]:
    """Read by the hook that PyTorch's environments have (`environments.pytorch`): gloo where nccl has no GPU."""
    return [build_value("PADDOCK_SUBSTITUTE", "1")]
