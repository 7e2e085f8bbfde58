"""PaddlePaddle's environment variables of a rank, with parameter servers (PS) and in Collective mode.

Names and values are paddle-operator's (v0.3.5), as PaddlePaddle's role maker and launcher read them. Its combinations
that cannot work are corrected:

- A job has one port, in the endpoints and in PADDLE_PORT: a server looks up `POD_IP:PADDLE_PORT` in the list of
  endpoints and exits if it is missing. For the same reason POD_IP has the form that it has in the list.
- With `intranet: Service` in PS mode, the endpoints are the names of Services. In Collective mode they are addresses:
  the launcher's rank 0 opens the rendezvous only if the first endpoint's host equals its own IP.
- The gloo store has its own port, 18 above the job's, on the first server.
- PADDLE_TRAINER_ID is for workers alone, as PaddlePaddle's own launcher gives it. paddle-operator sets it for every
  role, and PaddlePaddle (`ps/utils/public.py`, `get_dist_env`, 2.6.2 and 3.0.0) looks up an endpoint of the workers by
  it in every role: a server or heter rank with a number that no worker has ends by an IndexError. A server's own number
  is PADDLE_PSERVER_ID, the name that PaddlePaddle reads (`incubate/distributed/fleet/role_maker.py`).
- Beside parameter servers all ranks get `FLAGS_enable_pir_api=0`, unless the container's `env` sets it (its `envFrom`
  does not count: the ConfigMap of Paddock comes last there).

`frameworks.paddle_heter` adds the variables of the role `heter`. PaddlePaddle splits an endpoint at its first colon, so
it cannot read an IPv6 address in any form; they are written in brackets, the usual form.

Jobs whose launchers meet at the user's own etcd (`Launch.etcd`) get no ranks, endpoints or sizes: etcd has them.
Jobs whose ranks meet at a rendezvous (`Network.rendezvous`) use other variables: see `frameworks.paddle_rendezvous`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.jobs.frameworks import (
    EnvVar,
    ExitCodes,
    Notice,
    NumberedRoles,
    OwnVariables,
    paddle_heter,
    paddle_rendezvous,
    rendezvous,
)
from paddock.jobs.frameworks.rendezvous import build_pod_ip, build_value
from paddock.jobs.model import PORTS_IN_BLOCK, Intranet, Job, Rank, Role
from paddock.jobs.names import host_name
from paddock.kube.meta import Manifest
from paddock.words.phrases import phrase

container = "paddle"
default_port = 36000
columns: Mapping[str, tuple[str, ...]] = {"PS": ("ps", "master"), "WORKER": ("worker",)}
"""In kubeflow.org the role of the parameter servers is Master."""

exit_codes = ExitCodes(echoes=frozenset({250, 15}), killed=frozenset({247}))
"""`paddle.distributed.launch` exits with 256 - n if signal n ended its training process: 250 after gloo's abort, 247
after SIGKILL; and with 15 if it got SIGTERM itself. Measured with PaddlePaddle 3.3.1."""

GLOO_PORT_OFFSET = 18
GLOO_BY_FILES, GLOO_BY_HTTP = "2", "3"
"""PADDLE_GLOO_RENDEZVOUS: 1 is HDFS, 2 a file, 3 HTTP."""
PIR = "FLAGS_enable_pir_api"
"""PaddlePaddle's program representation, on by default since 3.0. Parameter servers need the older one: with PIR
`minimize()` and `static.nn.embedding` fail (measured with 3.0.0). PaddlePaddle ignores flags that it does not know."""

_FREE_PORTS = "10000:19999"
"""Below the ports that Linux gives to outgoing connections, as PaddlePaddle's own range, 35100 to 64000, is not: where
a connection gets the port first, the rank ends by SIGABRT (`uv__finish_close`, measured with PaddlePaddle 3.3.1)."""

TRAINER_ID = "PADDLE_TRAINER_ID"
NUMBERS = {"ps": "PADDLE_PSERVER_ID", "worker": TRAINER_ID}
"""By role: the variable that has the rank's number within its role. A heter rank finds its number by its endpoint."""

_TRAINING_ROLES = {"ps": "PSERVER", "worker": "TRAINER", "heter": paddle_heter.TRAINING_ROLE}
ENDPOINT_KEYS = {
    "ps": "PADDLE_PSERVERS_IP_PORT_LIST",
    "worker": "PADDLE_TRAINER_ENDPOINTS",
    "heter": "PADDLE_HETER_ENDPOINTS",
}


_OWN = OwnVariables(
    kept=frozenset({
        "TRAINER_PORTS_NUM", paddle_heter.WITH_GLOO, "PADDLE_GLOO_RENDEZVOUS", "PADDLE_GLOO_HTTP_ENDPOINT", PIR,
    }),
    beside={
        "PADDLE_MASTER": phrase(
            "is kept, and `paddle.distributed.launch` does not read it here: ranks meet at the first of "
            "PADDLE_TRAINER_ENDPOINTS, which Paddock sets"
        ),
        "PADDLE_NNODES": phrase(
            "is kept, and `paddle.distributed.launch` does not read it here: it counts the hosts in "
            "PADDLE_TRAINER_ENDPOINTS, which Paddock sets"
        ),
        "PADDLE_RANK": phrase(
            "is kept, and `paddle.distributed.launch` does not read it here: PADDLE_TRAINER_ID, which Paddock sets, "
            "comes before it"
        ),
    },
)  # fmt: skip

_OF_ROLE = {
    "ps": replace(
        _OWN,
        left_out={
            TRAINER_ID: phrase(
                "is left out here: a parameter server with it ends by an IndexError where no worker has this number; "
                "remove the entry, PADDLE_PSERVER_ID has the server's number"
            )
        },
    ),
    paddle_heter.ROLE: replace(
        _OWN,
        kept=_OWN.kept - {paddle_heter.WITH_GLOO},
        left_out={
            TRAINER_ID: phrase(
                "is left out here: a heter rank with it ends by an IndexError where no worker has this number; remove "
                "the entry, as PaddlePaddle finds the number of a heter rank by its endpoint"
            )
        },
    ),
}

_AT_ETCD = OwnVariables(kept=frozenset({"PADDLE_JOB_ID"}))

_CHECK = "import paddle; paddle.utils.run_check()"
_CHECKED = phrase(
    "`launch run_check` waits for a second node for ever, and this job has one pod: the check that one pod can do is "
    'run instead, python -c "import paddle; paddle.utils.run_check()"; two replicas run it as written, and so does the '
    'annotation paddock.dev/substitute: "false" on the job'
)
_UNDECIDED = phrase(
    "`launch run_check` waits for a second node for ever, and this job has one pod: the local cluster runs the check "
    'that one pod can do, python -c "import paddle; paddle.utils.run_check()", and a cluster runs what is written; the '
    'annotation paddock.dev/substitute on the job decides for both, "true" for that check and "false" for what is '
    "written; two replicas need neither"
)


def find_mode(roles: Sequence[Role]) -> str:
    """paddle-operator's modes; Single is a job with one worker."""
    replicas = {role.name: role.replicas for role in roles}
    if any(name in replicas for name in columns["PS"]):
        return "PS"
    return "Collective" if replicas.get("worker", 0) > 1 else "Single"


def find_default_environment(job: Job) -> str:
    """Beside parameter servers the last PaddlePaddle that has them, in all roles: those that meet have one version.
    What trains without a framework has the programs of the machine, as a typed command has."""
    if job.is_plain:
        return "host"
    return "paddle-ubuntu" if find_mode(job.roles) == "PS" else "paddle"


def build_environment(job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
    """POD_IP, the rank's number under the name of its role, and the role in both of its variables."""
    if job.launch.etcd:
        return _build_at_etcd(job)
    if job.network.rendezvous:
        return paddle_rendezvous.build_environment(job, rank, port)
    training_role = _TRAINING_ROLES[rank.role]
    return [
        _pod_ip(job, rank),
        *_number(rank),
        {"name": "TRAINING_ROLE", "value": training_role},
        {"name": "PADDLE_TRAINING_ROLE", "value": training_role},
        *paddle_heter.build_environment(job, rank),
    ]


def _number(rank: Rank) -> list[EnvVar]:
    name = NUMBERS.get(rank.role)
    return [{"name": name, "value": str(rank.index)}] if name else []


def _build_at_etcd(job: Job) -> list[EnvVar]:
    """Ranks are dealt at etcd, so whatever names a rank, the first one or how many there are would be in the way. Jobs
    that share an etcd, or a job and its successor, must not share a name there."""
    return [
        build_pod_ip("POD_IP"),
        {"name": "PADDLE_JOB_ID", "value": f"{job.key.namespace}-{job.key.name}-{job.uid[:8]}"},
    ]


def build_corrected(job: Job, rank: Rank) -> list[EnvVar]:
    if job.launch.etcd:
        return []
    return paddle_rendezvous.build_corrected(rank) if job.network.rendezvous else []


def own_variables(job: Job, role: str) -> OwnVariables:
    """Ranks need not agree on how many ports a program may use, nor on a gloo store of the user's own. Of the others,
    `paddle.distributed.launch` (launch/plugins, 3.3.1) reads none that contradicts PADDLE_TRAINER_ENDPOINTS."""
    if job.launch.etcd:
        return _AT_ETCD
    return paddle_rendezvous.OWN if job.network.rendezvous else _OF_ROLE.get(role, _OWN)


def build_references(job: Job, rank: Rank) -> dict[str, str]:
    return {} if not needs_addresses(job) else paddle_heter.build_references(job, rank)


def needs_addresses(job: Job) -> bool:
    """Whether ranks wait for the ConfigMap, so for the addresses of all. At a rendezvous they wait for each other."""
    return not (job.network.rendezvous or job.launch.etcd)


def build_log_environment(directory: str) -> list[EnvVar]:
    """The directory of the launcher's logs, by default `log` in the working directory. Its files contain all
    environment variables, secrets too."""
    return [{"name": "PADDLE_LOG_DIR", "value": directory}]


def build_free_ports() -> list[EnvVar]:
    """`paddle.distributed.launch` chooses a port in PORT_RANGE seconds before a rank binds it."""
    return [build_value("PORT_RANGE", _FREE_PORTS)]


def build_ports(job: Job, rank: Rank, port: int | None) -> list[Manifest]:
    """The job's port, for the ranks that listen at it."""
    if job.network.rendezvous:
        return [{"name": paddle_rendezvous.PORT_NAME, "containerPort": port or paddle_rendezvous.find_port(job)}]
    declared = [{"containerPort": port or default_port}]
    if job.network.intranet is Intranet.HOST:
        # workers beside servers listen at ports that are not known in advance; without servers the launcher counts
        # nodes by their addresses, and would wait without end if two ranks had the same node
        return declared if rank.role == "ps" or job.role("ps") is None else []
    return declared if job.network.intranet is Intranet.SERVICE else []


def build_service_ports(job: Job, rank: Rank) -> list[Manifest]:
    """As in paddle-operator where ranks go by the names of Services. Otherwise nobody connects by these names but to
    look up an address, which takes no port, and in a burst of jobs 20 ports took a fifth of the API server's time
    (decision 35)."""
    if job.network.rendezvous:
        return paddle_rendezvous.build_service_ports(job, rank)
    ports = PORTS_IN_BLOCK if job.network.intranet is Intranet.SERVICE else 1
    return [{"name": f"p-{offset}", "port": default_port + offset} for offset in range(ports)]


def number_roles(job: Job) -> NumberedRoles:
    """Workers, by PADDLE_TRAINER_ID or PADDLE_RANK. With a Master at a rendezvous, and at an etcd, they are dealt."""
    dealt = job.launch.etcd or (job.network.rendezvous and rendezvous.has_master(job))
    return NumberedRoles(("worker",), dealt)


def rejoins(job: Job, rank: Rank) -> bool:
    return job.launch.etcd and job.launch.survives_losses


def substitute(container: Mapping[str, Any], job: Job) -> tuple[Mapping[str, Any], Notice | None]:
    """Replaces `launch run_check` in a job of one pod: the launcher would wait for a second node (PaddlePaddle's
    launch/plugins/test.py). And Python source that a shell is given."""
    from paddock.jobs.frameworks.python_source import run_source
    from paddock.launches.containers import find_launch

    launch = find_launch(container) if job.size == 1 and "run_check" in str(container) else None
    if launch is None or launch.launcher is None or launch.program.word.text != "run_check":
        return run_source(container)
    first = launch.before[0].text or ""
    python = first if len(launch.before) > 1 else "python"
    rest = {key: value for key, value in container.items() if key != "args"}
    return {**rest, "command": [python, "-c", _CHECK]}, Notice(_CHECKED, _UNDECIDED)


def build_substituting(job: Job) -> list[EnvVar]:
    return []


def check_addresses(job: Job, addresses: Mapping[Rank, str]) -> str:
    """Refuses IPv6: PaddlePaddle's role maker splits endpoints at colons (fleet/base/role_maker.py)."""
    unread = [str(rank) for rank, address in sorted(addresses.items()) if ":" in address]
    if not unread or _goes_by_name(job) or job.is_plain:
        return ""
    return (
        "PaddlePaddle reads no IPv6 addresses, and pods have some: give the nodes IPv4 addresses as the first family; "
        "parameter servers can also be told names, with intranet: Service "
        f"({unread[0]} is one of {len(unread)})"
    )


def build_endpoints(job: Job, addresses: Mapping[Rank, str], port: int) -> dict[str, str]:
    """Endpoints as `host:port`, joined by commas in the order of the ranks. `addresses` has all ranks."""
    hosts = {
        role.name: [_host(job, rank, addresses) for rank in role.ranks()] for role in job.roles if role.replicas > 0
    }
    data = {"TRAINER_PORTS_NUM": str(PORTS_IN_BLOCK), "PADDLE_PORT": str(port)}
    for role, names in hosts.items():
        data[ENDPOINT_KEYS[role]] = ",".join(_endpoint(name, port) for name in names)
    if "worker" in hosts:
        data["PADDLE_TRAINERS"] = ",".join(hosts["worker"])
        data["PADDLE_TRAINERS_NUM"] = str(len(hosts["worker"]))
    data |= paddle_heter.build_endpoints(hosts, data.get(ENDPOINT_KEYS["heter"], ""))
    if "ps" in hosts:
        data[PIR] = "0"
    if job.network.gloo > 0 and "ps" in hosts:
        data[paddle_heter.WITH_GLOO] = str(job.network.gloo)
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
