"""What was asked for, and what is known of the ranks beside their logs. Frozen values; pure.

Of a job, its manifest says it (`read_asked`). Of a log alone, the launcher's own block does, so every field that a
manifest would say is empty, and each check then compares the log with itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from paddock.environments.packages.devices import Device, find_asked
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job, Role
from paddock.kube.quantities import read_amounts
from paddock.launches.launch import Launch
from paddock.launches.reading import read_container
from paddock.words.phrases import Phrase

CPU, GPU = "cpu", "gpu"


_NAMESPACE = re.compile(r" (?:-n|--namespace) \S+")


@dataclass(frozen=True, slots=True)
class RoleAsked:
    """What a job asks for one role."""

    name: str
    ranks: int
    """How many pods it has."""
    trains: bool = True
    launch: Launch | None = None
    """What the command starts by a launcher of its framework; None without one."""
    device: Device | None = None
    """What each pod has; None for CPUs."""
    devices: int = 0
    """How many each pod has; 0 for CPUs."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set by the template itself, with their values."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a job asks for, as far as it is known."""

    job: str = ""  # as commands name it; empty for a log alone
    framework: str = ""
    mode: str = ""
    roles: tuple[RoleAsked, ...] = ()
    wheel: str = ""  # `CPU` or `GPU`, which `environment` has; empty where nobody knows
    environment: str = ""  # the name of an Environment, or an image
    is_built: bool = False  # `environment` is an Environment to which packages can be added
    file: str = ""  # the requirements file in which a further package belongs; empty without one
    edit: str = ""  # the command that edits it
    logs: str = ""  # the command that prints its logs
    stacks: str = ""  # the command that shows where its ranks are; empty where none is there
    describe: str = ""  # the command that shows its pods and events; empty where none is there
    options: str = ""  # those by which a command reaches it

    @property
    def kubectl(self) -> str:
        """kubectl of the cluster that the job is on: it takes the options by which `paddock` reaches it. Without the
        namespace, as what is applied has its own."""
        return f"kubectl{_NAMESPACE.sub('', self.options)}"

    @property
    def nodes(self) -> int | None:
        """Pods that train together by a launcher; None where nobody said it."""
        training = [role for role in self.roles if role.trains]
        return sum(role.ranks for role in training) if training else None

    def role_of(self, rank: str) -> RoleAsked | None:
        return next((role for role in self.roles if role.name == rank.rpartition("-")[0]), None)


@dataclass(frozen=True, slots=True)
class RankSeen:
    """What the cluster says of a rank."""

    running: bool = False  # its program runs now
    code: int | None = None  # with which it has ended; None before
    quiet: float | None = None  # seconds since it printed last; None where that is not known
    begun: float | None = None  # seconds since its program began; None where that is not known
    cores: float | None = None  # that it uses now
    gpus: float = 0.0  # that it holds
    idle: float | None = None  # seconds in which these have done nothing; None where that is not known
    waits: Phrase | None = None  # why it does not run yet
    unready: str = ""  # the container that runs and is not ready, though its probe has had its time
    names: frozenset[str] = frozenset()  # by which others reach it: its pod's name, host name and addresses


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it runs."""

    gpus: int | None = None
    """Devices of the machine, or of the largest node of a cluster; None where nobody looked."""
    is_shared: bool = False
    """All ranks run on this one, as on a laptop."""


def read_asked(job: Job, wheel: str = "", environment: str = "", options: str = "", named: str = "") -> Asked:
    """`options`: what a `paddock` command needs to reach the job: ` -n team --context prod`; `named`: the job as such a
    command names it, where that is not its name."""
    name = named or job.key.name
    return Asked(
        job=name,
        framework=job.framework,
        mode=job.mode,
        roles=tuple(_read_role(job, role) for role in job.roles if role.replicas),
        wheel=wheel,
        environment=environment,
        edit=f"paddock get jobs {job.key.name}{options} -o yaml",
        logs=f"paddock logs {name}{options} --raw",
        options=options,
    )


def _read_role(job: Job, role: Role) -> RoleAsked:
    spec: Mapping[str, Any] = role.template.get("spec") or {}
    containers = [each for each in spec.get("containers") or () if isinstance(each, Mapping)]
    container = containers[main_container(job, containers)] if containers else {}
    launches = [each for each in read_container(container).distributed if _is_of(each, job.framework)]
    asked = find_asked(_read_devices(container))
    return RoleAsked(
        role.name,
        role.replicas,
        role.trains,
        launches[0] if launches else None,
        asked[0] if asked else None,
        int(asked[1]) if asked else 0,
        dict(_read_variables(container)),
    )


def _is_of(launch: Launch, framework: str) -> bool:
    return launch.launcher is not None and launch.launcher.family == framework


def _read_devices(container: Mapping[str, Any]) -> Mapping[str, Fraction]:
    resources = container.get("resources") or {}
    return {**read_amounts(resources.get("requests")), **read_amounts(resources.get("limits"))}


def _read_variables(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    entries = container.get("env") or []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and "value" in entry:
            yield str(entry.get("name")), str(entry["value"])
