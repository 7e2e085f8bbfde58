"""Which ranks of the program (RANK, PADDLE_TRAINER_ID) run in which pod. Pure.

A pod has a name of its own, `worker-0`, which counts within its role; a program counts its processes over all roles:
PyTorchJob's first worker beside a Master is RANK 1, and with `nprocPerNode: "4"` it has the ranks 4 to 7. People read
the program's numbers in its logs, so `--rank` means these. Parameter servers are counted apart: no RANK of theirs meets
one of a worker. The framework says which roles are numbered and in which order (`Framework.number_roles`); how many
processes a pod starts is what its launcher is told. Where that is not known, a pod counts as one, and `Numbering.doubt`
says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from paddock.jobs.frameworks.registry import FRAMEWORKS, main_container
from paddock.jobs.model import Job, Rank, Role
from paddock.launches.containers import find_launch, starts_one_process
from paddock.launches.launch import Launch
from paddock.launches.launchers import OLD_PADDLE, PADDLE, TORCHRUN, Means
from paddock.launches.words import read_number
from paddock.words.phrases import Phrase, phrase


class Doubt(Enum):
    """Why the numbers are those of pods."""

    NONE = "none"
    DEALT = "dealt"  # the launchers agree on the numbers at a rendezvous, when they meet
    PROCESSES = "processes"  # how many processes a pod starts is not known


@dataclass(frozen=True, slots=True)
class Numbers:
    """The program's ranks in the pods of one role."""

    first: int
    """Of pod 0."""
    each: int
    """How many a pod has."""

    def of(self, index: int) -> range:
        start = self.first + index * self.each
        return range(start, start + self.each)


@dataclass(frozen=True, slots=True)
class Numbering:
    """The program's ranks of each pod. Pods of a role that is not in `roles` (parameter servers) have none."""

    roles: Mapping[str, Numbers] = field(default_factory=dict)
    doubt: Doubt = Doubt.NONE

    def of(self, pod: Rank) -> range:
        """The ranks in `pod`; with a doubt the pod's own number. A pod that has joined later is counted on."""
        numbers = self.roles.get(pod.role)
        return range(0) if numbers is None else numbers.of(pod.index)

    @property
    def is_of_pods(self) -> bool:
        """Whether a pod's own number says the same, so that nothing is to be added to its name."""
        return self.doubt is not Doubt.NONE or all(each == Numbers(0, 1) for each in self.roles.values())

    def tell(self, pod: Rank) -> Phrase | str:
        """`worker-0`; where the program counts otherwise, `worker-0 (rank 1)`, `worker-0 (ranks 4-7)`."""
        ranks = self.of(pod)
        if self.is_of_pods or not ranks:
            return str(pod)
        if len(ranks) == 1:
            return phrase("{pod} (rank {rank})", pod=str(pod), rank=ranks[0])
        return phrase("{pod} (ranks {first}-{last})", pod=str(pod), first=ranks[0], last=ranks[-1])


def number_ranks(job: Job) -> Numbering:
    """The program's ranks in the pods of `job`."""
    numbered = FRAMEWORKS[job.framework].number_roles(job)
    roles = [role for role in (job.role(name) for name in numbered.names) if role is not None and role.wanted]
    counts = [None if numbered.dealt else count_processes(job, role) for role in roles]
    doubt = Doubt.NONE
    if None in counts:
        doubt = Doubt.DEALT if numbered.dealt else Doubt.PROCESSES
    found, first = {}, 0
    for role, count in zip(roles, counts, strict=True):
        found[role.name] = Numbers(first, 1 if doubt is not Doubt.NONE else count or 1)
        first += role.replicas * found[role.name].each
    return Numbering(found, doubt)


def count_processes(job: Job, role: Role) -> int | None:
    """How many processes with a rank a pod of `role` has; None where that is not known."""
    containers = (role.template.get("spec") or {}).get("containers") or []
    if not containers:
        return None
    container = containers[main_container(job, containers)]
    if starts_one_process(container):
        return 1
    launch = find_launch(container)
    if launch is None or launch.elsewhere or launch.is_open:
        return None
    if launch.launcher is TORCHRUN:
        return _count_of_torchrun(job, launch, container)
    if launch.launcher in (PADDLE, OLD_PADDLE):
        return _count_of_paddle(launch, container)
    return None


def _count_of_torchrun(job: Job, launch: Launch, container: Mapping[str, Any]) -> int | None:
    """torchrun counts by its option, then by PET_NPROC_PER_NODE, which comes from `nprocPerNode`; by default one
    process. `auto` and `gpu` are the devices of the pod; without any, `auto` is the CPUs of the machine."""
    said = launch.text(Means.PROCESSES)
    if said == "":
        own = _find_variable(launch, container, "PET_NPROC_PER_NODE")
        elastic = job.launch.elastic
        told = str(elastic.processes) if elastic is not None and elastic.processes is not None else job.launch.processes
        said = (told or "1") if own == "" else own
    if said is None:
        return None
    return _count_devices(container) if said in ("auto", "gpu") else read_number(said) or None


def _count_of_paddle(launch: Launch, container: Mapping[str, Any]) -> int | None:
    """PaddlePaddle's launcher counts by --nproc_per_node, then by --devices, then by the devices that it sees; without
    devices it starts one process (launch/controllers/collective.py, 3.3.1). A variable comes before its option."""
    variable = _find_variable(launch, container, "PADDLE_NPROC_PER_NODE")
    said = launch.text(Means.PROCESSES) if variable == "" else variable
    if said is None:
        return None
    if said:
        return read_number(said) or None
    variable = _find_variable(launch, container, "PADDLE_DEVICES")
    devices = launch.text(Means.DEVICES) if variable == "" else variable
    if devices is None:
        return None
    if devices:
        return len([each for each in devices.split(",") if each.strip()]) or None
    return _count_devices(container) or (None if _asks_for_devices(container) else 1)


def _find_variable(launch: Launch, container: Mapping[str, Any], name: str) -> str | None:
    """Its value in the command or the container's `env`; empty where nobody sets it, None where it is not known."""
    word = launch.environment.get(name)
    if word is not None:
        return word.text
    entries: Sequence[Any] = container.get("env") or []
    found = [each for each in entries if isinstance(each, Mapping) and each.get("name") == name]
    if not found:
        return ""
    value = found[-1].get("value")
    return None if value is None or "$(" in str(value) else str(value)


def _find_devices(container: Mapping[str, Any]) -> list[str]:
    """The amounts of devices in its limits: names with a domain, as `nvidia.com/gpu`."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return [str(amount) for name, amount in limits.items() if "/" in str(name)]


def _asks_for_devices(container: Mapping[str, Any]) -> bool:
    return bool(_find_devices(container))


def _count_devices(container: Mapping[str, Any]) -> int | None:
    """The devices of one kind in its limits; None without any, or with several kinds (RDMA beside GPUs)."""
    amounts = _find_devices(container)
    return read_number(amounts[0]) or None if len(amounts) == 1 else None
