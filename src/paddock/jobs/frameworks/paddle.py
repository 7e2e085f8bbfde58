"""What a rank of PaddlePaddle finds in its environment: parameter servers (PS) and Collective.

Names and values are paddle-operator's (v0.3.5), as PaddlePaddle's role maker and launcher read them, without the
combinations that could not work there:

- One port for a whole job, in the endpoints and in PADDLE_PORT alike: a server looks itself up in the list as
  `POD_IP:PADDLE_PORT` and dies if it is not there. So POD_IP must be written exactly as in the list, too.
- With `intranet: Service` servers and workers of PS mode go by their Services' names. In Collective mode the launcher's
  rank 0 opens the rendezvous only if the first endpoint's host equals its own IP, so there addresses are written.
- The gloo store has its own port, 18 above the job's, on the first server.

What a `heter` role adds is in `frameworks.paddle_heter`. PaddlePaddle splits an endpoint at its first colon, so it
reads no IPv6 address, however it is written; they are written as everybody else reads them, in brackets.

Jobs whose ranks meet at a rendezvous (`Network.rendezvous`) are told another tale: `frameworks.paddle_rendezvous`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.frameworks import EnvVar, Notice, paddle_heter, paddle_rendezvous
from paddock.jobs.model import PORTS_IN_BLOCK, Intranet, Job, Rank
from paddock.jobs.names import host_name
from paddock.jobs.phrases import phrase
from paddock.jobs.scripts import read_launch, read_words
from paddock.kube.meta import Manifest

container = "paddle"
default_port = 36000

GLOO_PORT_OFFSET = 18
GLOO_BY_HTTP = "3"
"""PADDLE_GLOO_RENDEZVOUS: 1 is HDFS, 2 a file, 3 HTTP."""

_TRAINING_ROLES = {"ps": "PSERVER", "worker": "TRAINER", "heter": paddle_heter.TRAINING_ROLE}
_ENDPOINT_KEYS = {
    "ps": "PADDLE_PSERVERS_IP_PORT_LIST",
    "worker": "PADDLE_TRAINER_ENDPOINTS",
    "heter": "PADDLE_HETER_ENDPOINTS",
}


_CHECK = "import paddle; paddle.utils.run_check()"
_CHECKED = phrase(
    "`launch run_check` waits for a second node for ever, and this job has one pod: the check that one pod can do is "
    'run instead, python -c "import paddle; paddle.utils.run_check()"; two replicas run it as written, and so does the '
    'annotation paddock.dev/substitute: "false" on the job'
)


def build_environment(job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
    """POD_IP, the index within the role, and the role by both of its names."""
    if job.network.rendezvous:
        return paddle_rendezvous.build_environment(job, rank, port)
    training_role = _TRAINING_ROLES[rank.role]
    return [
        _pod_ip(job, rank),
        {"name": "PADDLE_TRAINER_ID", "value": str(rank.index)},
        {"name": "TRAINING_ROLE", "value": training_role},
        {"name": "PADDLE_TRAINING_ROLE", "value": training_role},
        *paddle_heter.build_environment(job, rank),
    ]


def build_references(job: Job, rank: Rank) -> dict[str, str]:
    return {} if job.network.rendezvous else paddle_heter.build_references(job, rank)


def needs_addresses(job: Job) -> bool:
    """A ConfigMap that exists is what holds a rank back until its peers have addresses. At a rendezvous they wait for
    each other by themselves."""
    return not job.network.rendezvous


def build_log_environment(directory: str) -> list[EnvVar]:
    """The launcher's `log`, by default in the working directory. Its files hold the whole environment, secrets too."""
    return [{"name": "PADDLE_LOG_DIR", "value": directory}]


def build_ports(job: Job, rank: Rank, port: int | None) -> list[Manifest]:
    """Workers beside servers listen at no port that is known before they do. Without servers all of them declare it, on
    the node's network: the launcher counts nodes by their addresses, and with two ranks on one would wait for ever."""
    if job.network.rendezvous:
        return [{"name": paddle_rendezvous.PORT_NAME, "containerPort": port or paddle_rendezvous.find_port(job)}]
    declared = [{"containerPort": port or default_port}]
    if job.network.intranet is Intranet.HOST:
        return declared if rank.role == "ps" or job.role("ps") is None else []
    return declared if job.network.intranet is Intranet.SERVICE else []


def build_service_ports(job: Job) -> list[Manifest]:
    if job.network.rendezvous:
        return [{"name": paddle_rendezvous.PORT_NAME, "port": paddle_rendezvous.find_port(job)}]
    return [{"name": f"p-{offset}", "port": default_port + offset} for offset in range(PORTS_IN_BLOCK)]


def substitute(container: Mapping[str, Any], job: Job) -> tuple[Mapping[str, Any], Notice | None]:
    """`launch run_check` with one pod. The launcher makes two nodes of it (PaddlePaddle's launch/plugins/test.py)."""
    words = read_words(container)
    launched = read_launch(words)
    if job.size != 1 or not launched or launched[-1] != "run_check":
        return container, None
    python = words[0] if "-m" in words else "python"
    rest = {key: value for key, value in container.items() if key != "args"}
    return {**rest, "command": [python, "-c", _CHECK]}, Notice(_CHECKED)


def doubt_addresses(job: Job, addresses: Mapping[Rank, str]) -> str:
    """Its role maker splits endpoints at colons (fleet/base/role_maker.py), so there is no IPv6 for it."""
    unread = [str(rank) for rank, address in sorted(addresses.items()) if ":" in address]
    if not unread or _goes_by_name(job):
        return ""
    return (
        "PaddlePaddle reads no IPv6 addresses, and pods have some: give the nodes IPv4 addresses as the first family; "
        "parameter servers can also be told names, with intranet: Service "
        f"({unread[0]} is one of {len(unread)})"
    )


def build_endpoints(job: Job, addresses: Mapping[Rank, str], port: int) -> dict[str, str]:
    """Endpoints as `host:port`, joined by commas in the order of the ranks. `addresses` holds every rank's."""
    hosts = {
        role.name: [_host(job, rank, addresses) for rank in role.ranks()] for role in job.roles if role.replicas > 0
    }
    data = {"TRAINER_PORTS_NUM": str(PORTS_IN_BLOCK), "PADDLE_PORT": str(port)}
    for role, names in hosts.items():
        data[_ENDPOINT_KEYS[role]] = ",".join(_endpoint(name, port) for name in names)
    if "worker" in hosts:
        data["PADDLE_TRAINERS"] = ",".join(hosts["worker"])
        data["PADDLE_TRAINERS_NUM"] = str(len(hosts["worker"]))
    data |= paddle_heter.build_endpoints(hosts, data.get(_ENDPOINT_KEYS["heter"], ""))
    if job.network.gloo > 0 and "ps" in hosts:
        data["PADDLE_WITH_GLOO"] = str(job.network.gloo)
        data["PADDLE_GLOO_RENDEZVOUS"] = GLOO_BY_HTTP
        data["PADDLE_GLOO_HTTP_ENDPOINT"] = _endpoint(hosts["ps"][0], port + GLOO_PORT_OFFSET)
    return data


def _pod_ip(job: Job, rank: Rank) -> EnvVar:
    if _goes_by_name(job):
        return {"name": "POD_IP", "value": host_name(job, rank)}
    return {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}


def _host(job: Job, rank: Rank, addresses: Mapping[Rank, str]) -> str:
    return host_name(job, rank) if _goes_by_name(job) else addresses[rank]


def _goes_by_name(job: Job) -> bool:
    return job.network.intranet is Intranet.SERVICE and job.role("ps") is not None


def _endpoint(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
