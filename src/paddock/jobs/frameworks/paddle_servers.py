"""Workers that start when the parameter servers answer (annotation `paddock.dev/servers-first`). Pure.

All ranks of an attempt start at once, and a server opens its port seconds later. A program that calls `init_worker()`
before ends: `push dense param failed` (PaddlePaddle 3.0.0, whose `wait_server_ready` returns at once). So the pods of
the other ranks get one more init container, as those of paddle-operator 0.3.1 to 0.3.3 had, which connects to each
server until it answers. It is bounded: then the program starts all the same, as nobody knows what it does.

Gloo is in the way of that. With `withGloo: 1` server 0 first serves the store at which the workers meet, and opens its
port when all have come: who holds them back waits for ever (measured with 3.0.0). On a laptop the ranks share a
directory, which is their store then, and no server waits. On a cluster they have none, and with `withGloo: 2` servers
meet the workers wherever the store is: there nobody waits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from paddock.jobs.first_containers import build_first
from paddock.jobs.frameworks import EnvVar
from paddock.jobs.frameworks.paddle import ENDPOINT_KEYS, GLOO_BY_FILES
from paddock.jobs.frameworks.rendezvous import build_value
from paddock.jobs.labels import SERVERS_CONTAINER, SERVERS_FIRST_ANNOTATION
from paddock.jobs.model import Job, Rank
from paddock.jobs.names import METRICS_DIRECTORY
from paddock.kube.meta import Manifest

SECONDS = 120
"""How long a worker waits for all servers together: importing PaddlePaddle takes up to half a minute of a busy core."""
_SERVERS = "ps"
_WORKERS_ALONE = 1
"""`withGloo`: the servers wait in gloo for each other, and with 2 for all ranks."""
_ENDPOINTS = ENDPOINT_KEYS[_SERVERS]

_SHELL = """\
for python in python3 python; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null; then exec "$python" -c "$1" "$2"; fi
done
echo "the image has no Python 3, which would wait for the parameter servers: the program starts at once"
"""
_PROGRAM = """\
import os, socket, sys, time
end, waited = time.monotonic() + float(sys.argv[1]), ""
for each in os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(","):
    host, _, port = each.rpartition(":")
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), 2).close()
            break
        except (OSError, ValueError) as error:
            if time.monotonic() > end:
                sys.exit(print(f"the parameter server {each} has not answered for {sys.argv[1]} s ({error}): the program starts all the same"))
            if waited != each:
                print(f"waits for the parameter server {each}", flush=True)
            waited = each
            time.sleep(0.2)
"""  # noqa: E501 - a program of its own


def can_wait(job: Job, directory: str | None) -> bool:
    """Whether the job has servers whose endpoints Paddock tells, and they can open their ports before a worker has
    come. `directory`: one that all ranks have, on a laptop; None on a cluster."""
    servers, told = job.role(_SERVERS), not (job.network.rendezvous or job.launch.etcd)
    alone = job.network.gloo == 0 or (_is_plain(directory) and job.network.gloo == _WORKERS_ALONE)
    return servers is not None and servers.replicas > 0 and told and alone


def waits_for_servers(job: Job, directory: str | None) -> bool:
    return job.annotations.get(SERVERS_FIRST_ANNOTATION) == "true" and can_wait(job, directory)


def build_variables(job: Job, directory: str | None, attempt: int) -> list[EnvVar]:
    """Those of a rank by which gloo meets in `directory`, which all ranks have; None on a cluster."""
    if directory is None or job.network.gloo == 0 or not waits_for_servers(job, directory):
        return []
    store = f"{directory}/{METRICS_DIRECTORY}/gloo-{attempt}"
    return [build_value("PADDLE_GLOO_RENDEZVOUS", GLOO_BY_FILES), build_value("PADDLE_GLOO_FS_PATH", store)]


def _is_plain(directory: str | None) -> bool:
    """PaddlePaddle gives the path to a shell as it is."""
    return directory is not None and re.fullmatch(r"[\w/.+-]+", directory) is not None


def wait_for_servers(
    job: Job, rank: Rank, spec: Mapping[str, Any], main: int, config_map: str, directory: str | None
) -> Manifest:
    """The spec of a pod with the container that waits, behind those of the template. `main`: the number of the
    container that trains; `config_map`: the name of the attempt's."""
    if rank.role == _SERVERS or not waits_for_servers(job, directory):
        return dict(spec)
    inits, containers = list(spec.get("initContainers") or ()), spec["containers"]
    command = ["sh", "-c", _SHELL, SERVERS_CONTAINER, _PROGRAM, str(SECONDS)]
    waiting = build_first(SERVERS_CONTAINER, containers[main], [*inits, *containers], command)
    reference = {"configMapKeyRef": {"name": config_map, "key": _ENDPOINTS}}
    waiting["env"] = [{"name": _ENDPOINTS, "valueFrom": reference}]
    return {**spec, "initContainers": [*inits, waiting]}
