"""Frameworks: what a rank of each must find in its environment, and nothing of any one of them.

A module of this package satisfies `Framework` by itself: functions at top level, no class. Which there are is in
`frameworks.registry`; adding one is a new module here and one line there. How pods are made is in `jobs.pods`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from paddock.jobs.model import Job, Rank
from paddock.jobs.phrases import Phrase
from paddock.kube.meta import Manifest

EnvVar = dict[str, Any]
"""An entry of a container's `env`."""


@dataclass(frozen=True, slots=True)
class Notice:
    """That something else is run than what was written: why, and what."""

    said: Phrase


class Framework(Protocol):
    @property
    def container(self) -> str:
        """The name by which users mark the container that trains; without one of this name, the first trains."""
        ...

    @property
    def default_port(self) -> int:
        """The first port of a job's block where the operator chose none: pods have addresses of their own."""
        ...

    def build_environment(self, job: Job, rank: Rank, port: int | None) -> list[EnvVar]:
        """What differs from rank to rank. It wins over the user's entries of the same names. `port`: the first of the
        job's block, None where the default will do."""
        ...

    def build_references(self, job: Job, rank: Rank) -> dict[str, str]:
        """Variables of a rank whose values only the ConfigMap knows: name -> key of `build_endpoints`."""
        ...

    def build_log_environment(self, directory: str) -> list[EnvVar]:
        """What keeps a rank's own log files in `directory`, away from a working directory that ranks share."""
        ...

    def build_ports(self, job: Job, rank: Rank, port: int | None) -> list[Manifest]:
        """The `ports` that the container that trains declares. On the node's own network they are also what keeps two
        ranks that would listen at one port off one node: the scheduler counts them."""
        ...

    def build_service_ports(self, job: Job) -> list[Manifest]:
        """The `ports` of a rank's Service. It is headless, so they open nothing: they say what is where."""
        ...

    def substitute(self, container: Mapping[str, Any], job: Job) -> tuple[Mapping[str, Any], Notice | None]:
        """The container that trains as it should be run where what was written cannot do what was meant."""
        ...

    def needs_addresses(self, job: Job) -> bool:
        """Whether a rank cannot start before the addresses of all are known: then there is a ConfigMap."""
        ...

    def doubt_addresses(self, job: Job, addresses: Mapping[Rank, str]) -> str:
        """Why ranks cannot use these addresses, as a sentence for an event; empty where they can."""
        ...

    def build_endpoints(self, job: Job, addresses: Mapping[Rank, str], port: int) -> dict[str, str]:
        """What all ranks share, as the data of the ConfigMap. The user's entries of the same names win over it."""
        ...
