"""Environment variables of PaddlePaddle 2.x and 3.0 for the role `heter`, between workers and parameter servers.

The workers are the first stage of a pipeline, the heter ranks the second, with their own kind of device. Names and
rules are those of PaddlePaddle's role maker (fleet/base/role_maker.py): TRAINING_ROLE must be HETER_TRAINER, a worker
needs a next stage and a heter rank a previous one, and a heter rank finds its index by its `POD_IP:PADDLE_PORT` in the
list of all. paddle-operator set none of these; its PADDLE_HETER_ENDPOINTS is not read by PaddlePaddle. PaddlePaddle 3.3
has no heterogeneous servers any more.

A heter rank has no gloo: with PADDLE_WITH_GLOO its `fleet.init` ends by `'NoneType' object has no attribute 'barrier'`
(2.6.2 and 3.0.0), so it is told 0 whatever servers and workers do. PaddlePaddle's Python for this mode is broken in all
versions that were tried; examples/heter mends it in a module of its own, and docs/servers.md tells what.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.frameworks import EnvVar
from paddock.jobs.model import Job, Rank

ROLE = "heter"
TRAINING_ROLE = "HETER_TRAINER"
ALL_ENDPOINTS = "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"
WITH_GLOO = "PADDLE_WITH_GLOO"
_STAGES = {"worker": 1, ROLE: 2}
_DEVICES = {"nvidia.com/gpu": "gpu", "kunlunxin.com/xpu": "xpu"}


def build_environment(job: Job, rank: Rank) -> list[EnvVar]:
    """The variables of a rank's stage. Parameter servers have no stage."""
    if not _has_stages(job) or rank.role not in _STAGES:
        return []
    stage = {"name": "STAGE_ID", "value": str(_STAGES[rank.role])}
    if rank.role != ROLE:
        return [stage]
    device = {"name": "HETER_DEVICE_TYPE", "value": _find_device(job)}
    return [stage, device, {"name": WITH_GLOO, "value": "0"}]


def build_references(job: Job, rank: Rank) -> dict[str, str]:
    """The endpoints of the neighbouring stage: variable -> key of the ConfigMap."""
    if not _has_stages(job):
        return {}
    neighbours = {
        "worker": {"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": ALL_ENDPOINTS},
        ROLE: {"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": "PADDLE_TRAINER_ENDPOINTS"},
    }
    return neighbours.get(rank.role, {})


def build_endpoints(hosts: Mapping[str, list[str]], endpoints: str) -> dict[str, str]:
    """The variables that all ranks share. `hosts`: by role; `endpoints`: of the heter ranks."""
    if not hosts.get(ROLE) or not hosts.get("worker"):
        return {}
    trainers = [len(hosts["worker"]), len(hosts[ROLE])]
    return {ALL_ENDPOINTS: endpoints, "STAGE_NUM": "2", "PADDLE_STAGE_TRAINERS_NUM": str(trainers)}


def _has_stages(job: Job) -> bool:
    return all(role is not None and role.replicas > 0 for role in map(job.role, _STAGES))


def _find_device(job: Job) -> str:
    """The device in the limits of the role's containers; `cpu` if there is none."""
    role = job.role(ROLE)
    containers: list[Mapping[str, Any]] = role.template["spec"]["containers"] if role else []
    asked = {name for each in containers for name in _limits(each)}
    return next((device for name, device in _DEVICES.items() if name in asked), "cpu")


def _limits(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return (container.get("resources") or {}).get("limits") or {}
