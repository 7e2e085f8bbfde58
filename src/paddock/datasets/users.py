"""Who uses a Dataset: the jobs that name it or its claim, and the pods that mount its claim. Pure.

One answer for all who ask: the command line and the console, which name the users and refuse to delete under them, and
the controller, which keeps the files of a deleted Dataset while a pod mounts them (it knows pods alone). What a job
mounts is read by those who know the kinds of jobs (`views.datasets.read_use`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paddock.kube.datasets import DatasetStatus, read_mounted
from paddock.kube.meta import PODS, Key, Manifest, Resource, controller_of, key_of, uid_of


@dataclass(frozen=True, slots=True)
class User:
    """A job or a pod, and what it mounts."""

    resource: Resource
    key: Key
    uid: str
    phase: str
    """As its own API has it."""
    ended: bool
    """It reads nothing any more; no job that has ended makes another pod."""
    claims: frozenset[str]
    """Of the volumes of a pod, or of the pods that a job makes."""
    names: frozenset[str] = frozenset()
    """Of a job: the Datasets of its annotation paddock.dev/datasets."""
    maker: str = ""
    """Of a pod: the UID of the object that controls it."""

    def uses(self, dataset: DatasetStatus) -> bool:
        """By the name of the Dataset, or by its claim."""
        in_reach = self.key.namespace == dataset.namespace
        return in_reach and (dataset.name in self.names or dataset.claim in self.claims)

    def __str__(self) -> str:
        return f"pod {self.key}" if self.resource is PODS else f"{self.resource.kind} {self.key}"


def read_pod(resource: Resource, pod: Manifest) -> User:
    """A pod that fills a claim mounts nothing in this sense, nor does one that has ended (`kube.datasets`)."""
    phase = str((pod.get("status") or {}).get("phase") or "Pending")
    maker = str((controller_of(pod) or {}).get("uid") or "")
    ended = phase in ("Succeeded", "Failed")
    return User(resource, key_of(pod), uid_of(pod), phase, ended, read_mounted(pod), maker=maker)


def find_users(datasets: Iterable[DatasetStatus], jobs: Iterable[User], pods: Iterable[User]) -> dict[Key, list[User]]:
    """By Dataset those who use it, without pods of a job that is told already. First what has not ended; of that the
    jobs first, whose pods may be made anew. A Dataset that nobody uses has no entry."""
    every = [*jobs, *pods]
    by_claim = group_by_claim(every)
    by_name = _group((Key(each.key.namespace, name), each) for each in every for name in each.names)
    found = {}
    for dataset in datasets:
        key, claim = Key(dataset.namespace, dataset.name), Key(dataset.namespace, dataset.claim)
        users = dict.fromkeys([*by_name.get(key, ()), *by_claim.get(claim, ())])
        told = {each.uid for each in users if not each.ended}
        if left := [each for each in users if not (each.maker and each.maker in told)]:
            found[key] = sorted(left, key=_place)
    return found


def find_holding(users: Iterable[User]) -> list[User]:
    """Those for whom a Dataset is in use: nobody may remove or replace what they read."""
    return [each for each in users if not each.ended]


def group_by_claim(users: Iterable[User]) -> Mapping[Key, list[User]]:
    """By claim those who mount it."""
    return _group((Key(each.key.namespace, claim), each) for each in users for claim in each.claims)


def _group(pairs: Iterable[tuple[Key, User]]) -> dict[Key, list[User]]:
    found: dict[Key, list[User]] = {}
    for key, user in pairs:
        found.setdefault(key, []).append(user)
    return found


def _place(user: User) -> tuple[bool, bool, Key, str]:
    return user.ended, user.resource is PODS, user.key, user.resource.kind
