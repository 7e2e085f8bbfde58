"""Who uses which Environment, and so keeps it from being removed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.environments.images import read_used
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.held_pods import is_live
from paddock.kube.meta import PODS, Key, Manifest, Resource, controller_of, key_of, uid_of
from paddock.kube.times import Moment
from paddock.views.stored import read_stored
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class User:
    """A job that has not ended, or a pod that has not or is held."""

    resource: Resource
    key: Key
    job: str = ""
    """Of a pod: the UID of the job that made it."""

    def __str__(self) -> str:
        return f"pod {self.key}" if self.resource is PODS else f"{self.resource.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job may still create."""

    user: User
    uid: str
    pods: tuple[Manifest, ...]
    """One of each role; none if it has ended, or cannot be read."""


def read_plan(resource: Resource, manifest: Manifest) -> Plan:
    user, uid = User(resource, key_of(manifest)), uid_of(manifest)
    if KINDS[resource].read_status(manifest).phase.terminal:
        return Plan(user, uid, ())
    job = read_stored(resource, manifest).job
    settings = Settings(environments=True)
    made = [build_pod(job, Rank(role.name, 0), 0, None, settings) for role in job.roles] if job else []
    return Plan(user, uid, tuple(made))


def read_users(
    environments: Sequence[Manifest], jobs: Iterable[Plan], pods: Iterable[Manifest], now: Moment
) -> dict[str, list[User]]:
    """The users of each Environment, by its name: first unfinished jobs, whose pods may be recreated, then running
    pods, and those that are held for a shell."""
    found: dict[str, list[User]] = {}
    for job in jobs:
        for name in sorted({name for pod in job.pods for name in read_used(pod, environments)}):
            found.setdefault(name, []).append(job.user)
    for pod in pods:
        if not is_live(pod, now):
            continue
        owner: Mapping[str, str] = controller_of(pod) or {}
        for name in sorted(read_used(pod, environments)):
            found.setdefault(name, []).append(User(PODS, key_of(pod), owner.get("uid", "")))
    return found


def name_users(users: Sequence[object]) -> Phrase | str:
    """The first of at least one user, of an Environment or of a Dataset, and how many there are beside it."""
    if len(users) == 1:
        return str(users[0])
    return phrase("{names} and {count} more", names=str(users[0]), count=len(users) - 1)


def count_users(users: Sequence[User], jobs: Iterable[Plan]) -> list[User]:
    """The jobs, and the pods that none of these jobs made: as a reader counts them."""
    known = {job.uid for job in jobs}
    return [each for each in users if each.resource is not PODS or each.job not in known]
