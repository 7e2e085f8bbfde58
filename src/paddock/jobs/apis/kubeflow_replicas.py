"""The replica types of the kinds of kubeflow.org: the keys of their replica specs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paddock.jobs.apis import MOST_PODS
from paddock.jobs.model import RestartPolicy


@dataclass(frozen=True, slots=True)
class ReplicaType:
    """A key of a kind's replica specs, and the role that it stands for."""

    name: str  # the key
    role: str  # its `Role.name`
    is_master: bool = False
    """These ranks decide whether the job has succeeded, where there are any, and their pods have Kubeflow's label
    `job-role: master`."""
    trains: bool = True  # as in `Role`
    restart: RestartPolicy = RestartPolicy.ON_FAILURE  # the default restartPolicy
    least: int = 1  # replicas that are allowed
    most: int = MOST_PODS


def find_masters(types: Iterable[ReplicaType]) -> frozenset[str]:
    """The roles that decide whether a job has succeeded."""
    return frozenset(each.role for each in types if each.is_master)
