"""PaddlePaddle's environment variables of a rank at a rendezvous: Kubeflow's contract (training-operator v1.9).

`paddle.distributed.launch` reads the number of nodes and the address at which the first node opens the rendezvous.
Names, values and their order are Kubeflow's. Three additions make it reliable:

- POD_IP. The first rank opens the rendezvous only if the host of PADDLE_MASTER is its own address, which the launcher
  takes from the host name's entry in DNS, or from POD_IP. Kubeflow sets POD_IP_DUMMY, which PaddlePaddle does not read.
- PADDLE_RANK, without parameter servers: the rank is the pod's index, not the order of arrival.
- One port for each job where jobs share a machine: the rendezvous binds all addresses, and a second job would join it.

PADDLE_MASTER is an address for the first rank and the name of its Service for the others.
"""

from __future__ import annotations

from paddock.jobs.frameworks import EnvVar, OwnVariables, rendezvous
from paddock.jobs.frameworks.rendezvous import build_pod_ip, build_value
from paddock.jobs.model import Job, Rank
from paddock.jobs.names import host_name
from paddock.kube.meta import Manifest
from paddock.words.phrases import phrase

CONTAINER = "paddle"
PORT_NAME = "master"
DEFAULT_PORT = 36543
OWN = OwnVariables(
    beside={
        "PADDLE_TRAINER_ENDPOINTS": phrase(
            "is kept, and `paddle.distributed.launch` takes the master and the number of nodes from it, not from "
            "PADDLE_MASTER and PADDLE_NNODES, which Paddock sets"
        )
    }
)


def build_environment(job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
    first, port = rendezvous.first_rank(job), port or find_port(job)
    variables: list[EnvVar] = [
        build_value("PYTHONUNBUFFERED", "1"),
        build_value("PADDLE_JOB_ID", job.key.name),
        build_value("PADDLE_NNODES", str(job.size)),
        build_pod_ip("POD_IP"),
    ]
    if rank == first:
        variables += [build_pod_ip("POD_IP_DUMMY"), build_value("PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}")]
    else:
        variables.append(build_value("PADDLE_MASTER", f"{host_name(job, first)}:{port}"))
    if not rendezvous.has_master(job):
        return [*variables, build_value("PADDLE_RANK", str(rank.index))]
    return [*variables, build_value("PADDLE_SERVER_NUM" if rank.role == "master" else "PADDLE_TRAINER_NUM", "1")]


def build_corrected(rank: Rank) -> list[EnvVar]:
    """PADDLE_TRAINER_ID, which the launcher reads before PADDLE_RANK: with one value all nodes would be the same."""
    return [build_value("PADDLE_TRAINER_ID", str(rank.index))]


def build_service_ports(job: Job, rank: Rank) -> list[Manifest]:
    role = job.role(rank.role)
    port = rendezvous.find_port(role, CONTAINER, PORT_NAME, DEFAULT_PORT)
    return rendezvous.build_service_ports(role, CONTAINER, PORT_NAME, port)


def find_port(job: Job) -> int:
    """The port named `master` of the first rank's container that trains, by default Kubeflow's."""
    return rendezvous.find_port(job.role(rendezvous.first_rank(job).role), CONTAINER, PORT_NAME, DEFAULT_PORT)
