"""Where --queue and --priority stand for the cluster that a job goes to: Kueue's queue, Volcano's, or none.

Which of them there is tells the server's discovery, which every user may read. Whether Kueue takes a job of this kind
as a job, which it suspends, or by its pods is a setting of Kueue that no API shows: so it is tried, by a dry run that
goes through its webhooks. What may not be read is not known, and nothing is refused for it.

Source: Kueue, keps/369-job-interface (suspend) and 976-plain-pods; Volcano, PodGroup `spec.queue`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from paddock.kube import kueue
from paddock.kube.api import is_served
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import PRIORITY_CLASSES, Manifest, Resource, name_of
from paddock.kube.nearness import nearest
from paddock.script.queues import by_pods, by_suspend, with_volcano, with_workload_priority, without_priority
from paddock.words.phrases import Names, Phrase, phrase
from paddock.words.sentences import perhaps

if TYPE_CHECKING:
    from paddock.kube.api import Api, PodApi


class System(Enum):
    """What has the queues of a cluster."""

    KUEUE = "Kueue"
    VOLCANO = "Volcano"


_GROUPS = {System.KUEUE: kueue.GROUP, System.VOLCANO: "scheduling.volcano.sh"}


@dataclass(frozen=True, slots=True)
class Queues:
    """What there is for a job that waits in a queue."""

    system: System | None
    """None: the cluster has no queues."""
    known: Collection[str] | None = None
    """The names of the queues that the job's namespace may use; None where they may not be listed."""
    has_workload_class: bool = False
    """Whether Kueue has a WorkloadPriorityClass of the name of --priority."""
    has_class: bool = True
    """Whether there is a PriorityClass of that name, or that is not known."""
    suspends: bool | None = None
    """Whether Kueue takes the job by suspending it; None where that is not known."""


async def fetch_queues(api: PodApi, manifest: Manifest, resource: Resource, queue: str, priority: str) -> Queues:
    """What the server has for a job of this manifest. Raises `ApiError` where it does not answer."""
    versions = read_versions(await api.fetch("/apis"))
    for system in System:
        if system in versions:
            try:
                return await _fetch_of(system, versions[system], api, manifest, resource, queue, priority)
            except NotFound:  # the group without queues: the embedded API has Volcano's PodGroups alone
                continue
    return Queues(None)


async def _fetch_of(
    system: System, version: str, api: PodApi, manifest: Manifest, resource: Resource, queue: str, priority: str
) -> Queues:
    """Raises `NotFound` where the server has the group of the system, and no queues."""
    namespace = str(manifest["metadata"].get("namespace") or "")
    if system is System.VOLCANO:
        listed = Resource(_GROUPS[system], version, "Queue", "queues", namespaced=False)
        return Queues(system, await _fetch_names(api, (listed,), "") if queue else None)
    return Queues(
        system,
        await _fetch_names(api, kueue.LOCAL_QUEUES, namespace) if queue else None,
        has_workload_class=bool(priority) and await _is_there(api, kueue.WORKLOAD_PRIORITIES, priority) is True,
        has_class=not priority or await _is_there(api, (PRIORITY_CLASSES,), priority) is not False,
        suspends=await _is_suspended(api, manifest, resource) if queue else None,
    )


def read_versions(groups: Mapping[str, Any]) -> dict[System, str]:
    """The version that the server prefers, of each system that it has: of its document `/apis`. Pure."""
    preferred = {
        str(each.get("name")): str((each.get("preferredVersion") or {}).get("version") or "")
        for each in groups.get("groups") or ()
    }
    return {system: preferred[group] for system, group in _GROUPS.items() if preferred.get(group)}


async def _fetch_names(api: PodApi, versions: kueue.Versions, namespace: str) -> list[str] | None:
    """None where they may not be listed. Raises `NotFound` where the server has no such kind."""
    try:
        found = await kueue.list_served(api, versions, namespace)
    except Forbidden:
        # A server looks at rights first: it also forbids to list a kind that it does not have.
        for resource in versions:
            if await is_served(api, resource):
                return None
        found = None
    if found is None:
        raise NotFound(f"{versions[0].qualified} is not served")
    return sorted(map(name_of, found))


async def _is_there(api: Api, versions: kueue.Versions, name: str) -> bool | None:
    """None where it may not be read."""
    for resource in versions:
        try:
            await api.get(resource, "", name)
        except NotFound:  # the object, or the version
            continue
        except Forbidden:
            return None
        return True
    return False


async def _is_suspended(api: Api, manifest: Manifest, resource: Resource) -> bool | None:
    """Whether a job of this manifest would be suspended as it is created; None where the server refuses it."""
    name = name_of(manifest) or str(manifest["metadata"].get("generateName") or "")
    metadata = {**by_suspend(manifest)["metadata"], "name": f"{name[:40].rstrip('-.')}-tried"}
    tried = {**by_suspend(manifest), "metadata": metadata}
    try:
        made = await api.create(resource, tried, dry_run=True)
    except ApiError:
        return None
    return bool(((made.get("spec") or {}).get("runPolicy") or {}).get("suspend"))


def place_in_queue(manifest: Mapping[str, Any], queues: Queues, queue: str, priority: str) -> Manifest:
    """The manifest, which has the queue as Kueue's and the priority as a PriorityClass, as this cluster reads them.
    Pure."""
    if queues.system is System.VOLCANO:
        return with_volcano(manifest, queue, priority)
    if queues.system is None:
        return dict(manifest)
    placed = dict(manifest)
    if queue and queues.suspends is not None:
        placed = by_suspend(manifest) if queues.suspends else by_pods(manifest)
    if queues.has_workload_class:
        placed = with_workload_priority(placed, priority)
        if not queues.has_class:
            placed = without_priority(placed)
    return placed


def explain_no_queue(queues: Queues, queue: str, namespace: str) -> Phrase | None:
    """Why a job cannot wait in this queue; None if it can, or that is not known. Pure."""
    if queues.system is None:
        return phrase(
            "--queue {queue}: this cluster has neither Kueue nor Volcano, which have queues: leave --queue out",
            queue=queue,
        )
    if queues.known is None or queue in queues.known:
        return None
    title, where = _name_place(queues.system, namespace)
    if not queues.known:
        return phrase(
            "--queue {queue}: {where} has no {kind} at all: whoever administers the cluster makes one, or leave "
            "--queue out",
            queue=queue, where=where, kind=title,
        )  # fmt: skip
    return phrase(
        "--queue {queue}: {where} has no {kind} of this name; it has {known}{perhaps}",
        queue=queue, where=where, kind=title, known=Names(tuple(queues.known)),
        perhaps=perhaps(nearest(queue, queues.known)),
    )  # fmt: skip


def explain_unknown_queue(queues: Queues, queue: str, namespace: str) -> Phrase | None:
    """That nobody knows whether there is a queue of this name; None where it is known. Pure."""
    if queues.system is None or queues.known is not None:
        return None
    title, where = _name_place(queues.system, namespace)
    return phrase(
        "--queue {queue}: you may not list the {kind}s of {where}, so whether there is one of this name is not known "
        "here; without it the job waits",
        queue=queue, kind=title, where=where,
    )  # fmt: skip


def _name_place(system: System, namespace: str) -> tuple[str, str]:
    """What the queues of a system are called, and where they are."""
    return ("LocalQueue", namespace) if system is System.KUEUE else ("Queue", "Volcano")


def explain_queue_left_out(queue: str) -> Phrase:
    """What is said of a queue on a laptop."""
    return phrase(
        "--queue {queue} is left out: the local cluster has no queues; its jobs begin by their priority, then in the "
        "order in which they came",
        queue=queue,
    )
