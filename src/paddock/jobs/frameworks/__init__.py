"""The interface of a training framework: environment variables, ports, exit codes and names of a rank.

A module of this package is a `Framework`: functions at top level, no class. A new framework is a new module here and a
line in `frameworks.registry`. Pods are built in `jobs.objects.pods`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from paddock.jobs.model import Job, Rank, Role
from paddock.kube.meta import Manifest
from paddock.words.phrases import Phrase

EnvVar = dict[str, Any]
"""An entry of a container's `env`."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A substitution (`jobs.substitutions`): what runs in place of the written command, and why."""

    said: Phrase
    undecided: Phrase  # the same of a job that leaves it to the cluster whether it is substituted


@dataclass(frozen=True, slots=True)
class OwnVariables:
    """Variables that a template sets itself and that are not simply replaced by Paddock's."""

    kept: frozenset[str] = frozenset()
    """Names of `build_environment` and `build_endpoints` for which the template's value wins."""
    replaced: Mapping[str, Phrase] = field(default_factory=dict)
    """Names of `kept` whose value in this template cannot work -> why Paddock's wins all the same."""
    beside: Mapping[str, Phrase] = field(default_factory=dict)
    """Names that Paddock does not set -> what becomes of them, as they say what others say that it sets."""
    left_out: Mapping[str, Phrase] = field(default_factory=dict)
    """Names that a rank must not have -> why the template's entry does not reach it."""


@dataclass(frozen=True, slots=True)
class ExitCodes:
    """Exit codes of a launcher."""

    echoes: frozenset[int] = frozenset()  # the rank ended because a peer had ended
    killed: frozenset[int] = frozenset()  # the training process got SIGKILL, from the kernel or a peer's launcher


@dataclass(frozen=True, slots=True)
class NumberedRoles:
    """The roles whose pods run processes that have a RANK (PADDLE_TRAINER_ID, PROCESS_ID)."""

    names: tuple[str, ...]
    """In the order of the numbers; without parameter servers, which are counted apart."""
    dealt: bool = False
    """The launchers agree on the numbers when they meet, so nobody knows before which pod gets which."""


class Framework(Protocol):
    @property
    def container(self) -> str:
        """The name of the container that trains; without a container of this name, the first one trains."""
        ...

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of `paddock get` that count pods: heading -> the role's names in the API groups. A job has at
        most one of these roles."""
        ...

    @property
    def exit_codes(self) -> ExitCodes:
        """The exit codes of its launcher that differ from a shell's."""
        ...

    def find_mode(self, roles: Sequence[Role]) -> str:
        """The mode of a job with these roles, for `kubectl get`: `PS`, `Collective`."""
        ...

    def find_default_environment(self, job: Job) -> str:
        """The name of the Environment (`environments.defaults`) that a command of the job runs in on a laptop, where
        its image stands for none; empty if none comes with Paddock."""
        ...

    @property
    def default_port(self) -> int:
        """The first port of a job's block if the operator chose none, as each pod has its own address."""
        ...

    def build_environment(self, job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
        """The variables of a rank. They override the user's variables of the same names, but for
        `own_variables(job, role).kept`. `port`: the first port of the job's block, None for the default."""
        ...

    def build_corrected(self, job: Job, rank: Rank) -> list[EnvVar]:
        """The variables that a rank gets only where its template sets them: one value for all ranks would be wrong."""
        ...

    def own_variables(self, job: Job, role: str) -> OwnVariables:
        """What becomes of variables that the template of `role` sets (`objects.variables`)."""
        ...

    def build_references(self, job: Job, rank: Rank) -> dict[str, str]:
        """Variables of a rank with values from the ConfigMap: name -> key of `build_endpoints`."""
        ...

    def build_log_environment(self, directory: str) -> list[EnvVar]:
        """The variables that put a rank's log files into `directory`, as ranks may share a working directory."""
        ...

    def build_free_ports(self) -> list[EnvVar]:
        """The variables that say where a launcher takes free ports, on a machine whose network jobs share."""
        ...

    def build_ports(self, job: Job, rank: Rank, port: int | None) -> list[Manifest]:
        """The `ports` of the container that trains. With hostNetwork they also keep two ranks with the same port off
        one node, as the scheduler counts them."""
        ...

    def build_service_ports(self, job: Job, rank: Rank) -> list[Manifest]:
        """The `ports` of the Service of `rank`. The Service is headless, so they are informational."""
        ...

    def rejoins(self, job: Job, rank: Rank) -> bool:
        """Whether this rank may be lost, added and removed while the others go on, as its launcher and theirs agree
        anew on who takes part."""
        ...

    def number_roles(self, job: Job) -> NumberedRoles:
        """The roles that a program's RANK counts (`jobs.program_ranks`)."""
        ...

    def substitute(self, container: Mapping[str, Any], job: Job) -> tuple[Mapping[str, Any], Notice | None]:
        """The container to run, and a notice if it differs from `container`, whose command could not work."""
        ...

    def build_substituting(self, job: Job) -> list[EnvVar]:
        """The variables of a rank for which substitutions are on: what replaces something while the program runs."""
        ...

    def needs_addresses(self, job: Job) -> bool:
        """Whether a rank can start only when all addresses are known; such a job has a ConfigMap."""
        ...

    def check_addresses(self, job: Job, addresses: Mapping[Rank, str]) -> str:
        """Why ranks cannot use these addresses, as a sentence for an event; empty if they can."""
        ...

    def build_endpoints(self, job: Job, addresses: Mapping[Rank, str], port: int) -> dict[str, str]:
        """The variables that all ranks share, as the data of the ConfigMap. They override the user's variables of the
        same names, but for `own_variables(job, role).kept`."""
        ...
