"""Frameworks: what a rank of each must find in its environment, and nothing of any one of them.

A module of this package satisfies `Framework` by itself: functions at top level, no class. Which there are is in
`frameworks.registry`; adding one is a new module here and one line there. How pods are made is in `jobs.pods`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from paddock.jobs.model import Job, Rank

EnvVar = dict[str, Any]
"""An entry of a container's `env`."""


class Framework(Protocol):
    @property
    def container(self) -> str:
        """The name by which users mark the container that trains; without one of this name, the first trains."""
        ...

    @property
    def default_port(self) -> int:
        """The first port of a job's block where the operator chose none: pods have addresses of their own."""
        ...

    def build_environment(self, job: Job, rank: Rank) -> list[EnvVar]:
        """What differs from rank to rank. It wins over the user's entries of the same names."""
        ...

    def needs_addresses(self, job: Job) -> bool:
        """Whether a rank cannot start before the addresses of all are known: then there is a ConfigMap."""
        ...

    def build_endpoints(self, job: Job, addresses: Mapping[Rank, str], port: int) -> dict[str, str]:
        """What all ranks share, as the data of the ConfigMap. The user's entries of the same names win over it."""
        ...
