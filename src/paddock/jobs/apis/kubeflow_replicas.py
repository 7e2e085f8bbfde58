"""The replica types of the kinds of kubeflow.org: the keys of their replica specs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paddock.jobs.apis import MOST_PODS
from paddock.jobs.model import RestartPolicy


@dataclass(frozen=True, slots=True)
class ReplicaType:
    """A key of a kind's replica specs and its `Role.name`. `is_master`: these ranks decide whether the job has
    succeeded, where there are any, and their pods have Kubeflow's label `job-role: master`. `trains`: as in `Role`.
    `restart`: the default restartPolicy. `least` and `most`: the replicas that are allowed."""

    name: str
    role: str
    is_master: bool = False
    trains: bool = True
    restart: RestartPolicy = RestartPolicy.ON_FAILURE
    least: int = 1
    most: int = MOST_PODS


def find_masters(types: Iterable[ReplicaType]) -> frozenset[str]:
    """The roles that decide whether a job has succeeded."""
    return frozenset(each.role for each in types if each.is_master)
