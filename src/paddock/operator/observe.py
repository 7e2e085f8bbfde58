"""What is there now of one job: its manifest's children, sorted into ours and in our way. PURE.

Ours is what a controller's ownerReference with the job's UID says is ours; names alone prove nothing, as they are used
again. What has a name that the job needs and another owner, or none, is foreign: the job waits for it to go. One
exception: a PodGroup of the job's name is taken whoever made it, as Volcano's documents have users make their own.

Where objects come from is a `View`: in the operator its caches (`operator.views`), in a test a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from paddock.jobs import pods
from paddock.jobs.labels import ADDRESSES_ANNOTATION, PORT_ANNOTATION
from paddock.jobs.model import Child, Delete, Job, NodeCondition, NodeState, Observed, Plan, Pod, Status
from paddock.kube.meta import (
    CONFIG_MAPS,
    PODS,
    SERVICES,
    Key,
    Manifest,
    Resource,
    annotations_of,
    controller_of,
    is_controlled_by,
    is_deleting,
    metadata,
    name_of,
    namespace_of,
    uid_of,
)
from paddock.kube.times import read_time

_PORT = re.compile(r"[0-9]{1,5}")
_LAST_PORT = 65535

_NODE_STATES = {"True": NodeState.READY, "Unknown": NodeState.SILENT}


class View(Protocol):
    """The children of all jobs, as far as this process has heard."""

    def get(self, resource: Resource, key: Key) -> Manifest | None: ...

    def owned(self, resource: Resource, uid: str) -> Iterable[Manifest]:
        """What the object of this UID controls."""
        ...


def read_observed(
    job: Job, attempt: int, view: View, *, pod_groups: Resource | None, taken_ports: frozenset[int] = frozenset()
) -> Observed:
    """`attempt` is the recorded one: its ConfigMap's name is among those that the job needs."""
    group = _read_pod_group(job, pod_groups, view)
    ranks = [pods.read_pod(pod) for pod in _owned(PODS, job, view)]
    return Observed(
        pods=tuple(sorted((pod for pod in ranks if pod), key=lambda pod: (pod.rank, pod.attempt))),
        services=_children(SERVICES, _owned(SERVICES, job, view), job),
        config_maps=_children(CONFIG_MAPS, _owned(CONFIG_MAPS, job, view), job),
        pod_group=_read_child(pod_groups, group, job) if pod_groups and group else None,
        foreign=_read_foreign(job, attempt, view),
        taken_ports=taken_ports,
    )


def read_leaving(job: Job, view: View) -> tuple[Pod, ...]:
    """Its pods that are being deleted. Most passes meet none."""
    leaving = (pods.read_pod(pod) for pod in _owned(PODS, job, view) if is_deleting(pod))
    return tuple(pod for pod in leaving if pod)


def needed_names(job: Job, attempt: int) -> Iterable[tuple[Resource, str]]:
    """Every name that nobody else may have."""
    for rank in job.ranks():
        yield PODS, pods.pod_name(job, rank)
        yield SERVICES, pods.host_name(job, rank)
    if pods.needs_config_map(job):
        yield CONFIG_MAPS, pods.config_map_name(job, attempt)


def read_held_port(pod: Mapping[str, Any]) -> int | None:
    """The port whose block this pod still holds: none once it has ended. Anybody may write anything there."""
    written = annotations_of(pod).get(PORT_ANNOTATION, "")
    port = int(written) if _PORT.fullmatch(written) else 0
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return port if 0 < port <= _LAST_PORT and not ended else None


def missing_pods(job: Job, status: Status, observed: Observed) -> tuple[str, ...]:
    """Names of this attempt's pods that the view does not show: to be doubted before anything is made of it."""
    there = {pod.name for pod in observed.of_attempt(status.attempt)}
    return tuple(name for rank in job.ranks() if (name := pods.pod_name(job, rank)) not in there)


def _owned(resource: Resource, job: Job, view: View) -> list[Manifest]:
    """An owner is of its children's namespace (Kubernetes). Who names a job's UID elsewhere is none of its children."""
    return [child for child in view.owned(resource, job.uid) if namespace_of(child) == job.key.namespace]


def _read_pod_group(job: Job, pod_groups: Resource | None, view: View) -> Manifest | None:
    if pod_groups is None:
        return None
    return view.get(pod_groups, Key(job.key.namespace, pods.pod_group_name(job, pod_groups)))


def _read_child(resource: Resource, manifest: Mapping[str, Any], job: Job) -> Child:
    members = (manifest.get("spec") or {}).get("minMember")
    return Child(
        resource,
        name_of(manifest),
        uid_of(manifest),
        deleting=is_deleting(manifest),
        owned=is_controlled_by(manifest, job.uid),
        members=members if isinstance(members, int) else None,
        addresses=str(annotations_of(manifest).get(ADDRESSES_ANNOTATION) or ""),
        former=_is_of_a_former_job(manifest, job),
    )


def _is_of_a_former_job(manifest: Mapping[str, Any], job: Job) -> bool:
    """Names of jobs are unique, so a controller of this one's kind and name, but another UID, is gone."""
    owner = owner_in(manifest, {(job.resource.group, job.resource.kind): job.resource})
    return owner == (job.resource, job.key) and not is_controlled_by(manifest, job.uid)


def _children(resource: Resource, manifests: Iterable[Manifest], job: Job) -> tuple[Child, ...]:
    return tuple(sorted((_read_child(resource, found, job) for found in manifests), key=lambda child: child.name))


def _read_foreign(job: Job, attempt: int, view: View) -> tuple[Child, ...]:
    found = []
    for resource, name in needed_names(job, attempt):
        there = view.get(resource, Key(job.key.namespace, name))
        if there is not None and not is_controlled_by(there, job.uid):
            found.append(_read_child(resource, there, job))
    return tuple(found)


def removes_foreign(observed: Observed, decided: Plan) -> bool:
    """Whether something goes that is not this job's: what a former job of its name has left."""
    foreign = {child.uid for child in observed.foreign}
    return any(isinstance(action, Delete) and action.uid in foreign for action in decided.actions)


def read_node(manifest: Mapping[str, Any]) -> NodeCondition:
    """True and False are its kubelet's word; Unknown is what Kubernetes writes when it hears nothing of that. Of a node
    without the condition nothing was heard since it was made (Kubernetes' node lifecycle controller)."""
    conditions = (manifest.get("status") or {}).get("conditions") or ()
    ready: Mapping[str, Any] = next((each for each in conditions if each.get("type") == "Ready"), {})
    state = _NODE_STATES.get(str(ready.get("status", "Unknown")), NodeState.NOT_READY)
    since = ready.get("lastTransitionTime") or metadata(manifest).get("creationTimestamp")
    return NodeCondition(state, read_time(since))


def owner_in(manifest: Mapping[str, Any], kinds: Mapping[tuple[str, str], Resource]) -> tuple[Resource, Key] | None:
    """The job that controls this child, if its kind is among `kinds`, by (API group, kind)."""
    owner = controller_of(manifest)
    if owner is None:
        return None
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    resource = kinds.get((group, str(owner.get("kind"))))
    return None if resource is None else (resource, Key(namespace_of(manifest), str(owner.get("name"))))
