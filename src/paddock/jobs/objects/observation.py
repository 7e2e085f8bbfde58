"""The children of one job as they are now: owned, or foreign. PURE.

Owned: the controller's owner reference has the UID of the job. A name proves nothing, as names are used again. Foreign:
an object with a name that the job needs and another owner, or none; the job waits until it is gone. One exception: a
PodGroup that no controller owns is used, as Volcano's documents tell users to create their own; but not one that
Paddock has made and that has lost its owner, as it asks for what another job needed. Former: a pod whose controller is
a deleted job of this kind and name.

Objects come from a `View`: in the operator the caches (`operator.informers`), in a test a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from paddock.jobs.actions import Action, Create, Delete, Plan
from paddock.jobs.datasets import find_named
from paddock.jobs.labels import ADDRESSES_ANNOTATION, AUTOSCALER_ANNOTATION, POD_GROUP_ANNOTATION, PORT_ANNOTATION
from paddock.jobs.model import Child, Datasets, Job, NodeCondition, NodeState, Observed, Pod, Status
from paddock.jobs.objects import pods
from paddock.jobs.objects.observed import read_finalizers
from paddock.jobs.objects.pod_groups import read_members
from paddock.kube.datasets import DatasetStatus
from paddock.kube.meta import (
    CONFIG_MAPS,
    POD_GROUPS,
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

CHILD_ANNOTATIONS = frozenset({ADDRESSES_ANNOTATION, AUTOSCALER_ANNOTATION, POD_GROUP_ANNOTATION})
"""The annotations of children beside pods that are read here; a cache must keep them, and may drop all others."""

_NOT_PLACED = (("Unschedulable", "True"), ("PodGroupInitiallyScheduled", "False"))
_NODE_STATES = {"True": NodeState.READY, "Unknown": NodeState.SILENT}


class View(Protocol):
    """Jobs and their children, as cached."""

    def get(self, resource: Resource, key: Key) -> Manifest | None: ...

    def children(self, resource: Resource, owner: Resource, key: Key) -> Iterable[Manifest]:
        """The objects of `resource` whose controller is of the kind `owner`, whatever its version, and has this name,
        whatever its UID."""
        ...


def read_observed(
    job: Job,
    attempt: int,
    view: View,
    *,
    pod_groups: Resource | None,
    autoscalers: Resource | None = None,
    known: Observed | None = None,
) -> Observed:
    """The children of the job, and what is `known` beside them. `attempt` is the recorded one: its ConfigMap's name is
    among those that the job needs."""
    found = _read_pod_group(job, pod_groups, view)
    group = found if found is not None and _is_usable(found, job) else None
    scaler = view.get(autoscalers, job.key) if autoscalers else None
    own, former = _read_ranks(job, view)
    in_the_way = (_read_child(pod_groups, found, job),) if pod_groups and found and not group else ()
    return replace(
        known or Observed(),
        pods=own,
        former=former,
        services=_read_children(SERVICES, _owned(SERVICES, job, view), job),
        config_maps=_read_children(CONFIG_MAPS, _owned(CONFIG_MAPS, job, view), job),
        pod_group=_read_child(pod_groups, group, job) if pod_groups and group else None,
        autoscaler=_read_child(autoscalers, scaler, job) if autoscalers and scaler else None,
        foreign=(*in_the_way, *_read_foreign(job, pods.find_config_map(job, attempt, own), view)),
    )


class DatasetView(Protocol):
    """Datasets, as cached."""

    def get(self, key: Key) -> DatasetStatus | None: ...

    def names(self, namespace: str) -> Iterable[str]: ...

    def unserved(self, namespace: str) -> str | None:
        """Why none is seen in a namespace, as in `model.Datasets`."""
        ...


def read_datasets(job: Job, view: DatasetView) -> Datasets:
    """The Datasets that the job names."""
    names, namespace = find_named(job), job.key.namespace
    if not names:
        return Datasets()
    if (unserved := view.unserved(namespace)) is not None:
        return Datasets(unserved=unserved)
    found = {name: status for name in names if (status := view.get(Key(namespace, name))) is not None}
    missing = any(mount.dataset not in found for mount in job.mounts)
    return Datasets(found, tuple(view.names(namespace)) if missing else ())


def read_pods(job: Job, view: View) -> tuple[Pod, ...]:
    """The pods of the job."""
    return tuple(pod for each in _owned(PODS, job, view) if (pod := pods.read_pod(each)))


def read_leaving(job: Job, view: View) -> tuple[Pod, ...]:
    """The pods of the job, and of former jobs of its name, that are being deleted."""
    leaving = (pods.read_pod(pod) for pod in _named_after(PODS, job, view) if is_deleting(pod))
    return tuple(pod for pod in leaving if pod)


def needed_names(job: Job, config_map: str) -> Iterable[tuple[Resource, str]]:
    """Every name that nobody else may have, besides that of the PodGroup. `config_map`: that of the attempt."""
    for rank in job.ranks():
        yield PODS, pods.pod_name(job, rank)
        yield SERVICES, pods.host_name(job, rank)
    if pods.needs_config_map(job):
        yield CONFIG_MAPS, config_map


def read_held_port(pod: Mapping[str, Any]) -> int | None:
    """The first port of the block that this pod holds; None once it has ended. The annotation may have any value."""
    written = annotations_of(pod).get(PORT_ANNOTATION, "")
    port = int(written) if _PORT.fullmatch(written) else 0
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return port if 0 < port <= _LAST_PORT and not ended else None


def read_planned_port(action: Action) -> int | None:
    """The first port of the block of a pod that is to be created."""
    return action.recipe.port if isinstance(action, Create) and isinstance(action.recipe, pods.RankPod) else None


def missing_pods(job: Job, status: Status, observed: Observed) -> tuple[str, ...]:
    """Names of recorded pods that the view does not have. A live GET must confirm it before it decides. The pod of a
    rank that has succeeded decides nothing any more."""
    present = {pod.rank for pod in observed.gang(status)}
    absent = (rank for rank in job.ranks() if rank not in present and not status.has_succeeded(rank))
    return tuple(pods.pod_name(job, rank) for rank in absent)


def _named_after(resource: Resource, job: Job, view: View) -> Iterable[Manifest]:
    return view.children(resource, job.resource, job.key)


def _owned(resource: Resource, job: Job, view: View) -> list[Manifest]:
    """Only of the job's namespace: an owner reference across namespaces is invalid (Kubernetes)."""
    return [child for child in _named_after(resource, job, view) if is_controlled_by(child, job.uid)]


def _read_ranks(job: Job, view: View) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    """The pods of the job, and of former jobs of its kind and name."""
    found = [(each, pod) for each in _named_after(PODS, job, view) if (pod := pods.read_pod(each))]
    found.sort(key=lambda each: (each[1].rank, each[1].attempt))
    own = {pod.uid for each, pod in found if is_controlled_by(each, job.uid)}
    return (
        tuple(pod for _, pod in found if pod.uid in own),
        tuple(pod for _, pod in found if pod.uid not in own),
    )


def _is_usable(group: Manifest, job: Job) -> bool:
    """Whether a PodGroup is the job's, or one that a user has made for it."""
    if controller_of(group) is not None:
        return is_controlled_by(group, job.uid)
    return POD_GROUP_ANNOTATION not in annotations_of(group)


def _read_pod_group(job: Job, pod_groups: Resource | None, view: View) -> Manifest | None:
    if pod_groups is None:
        return None
    return view.get(pod_groups, Key(job.key.namespace, pods.pod_group_name(job, pod_groups)))


def _read_child(resource: Resource, manifest: Mapping[str, Any], job: Job) -> Child:
    spec, notes = manifest.get("spec") or {}, annotations_of(manifest)
    phase, message = read_group_status(manifest) if resource.plural == POD_GROUPS.plural else ("", "")
    return Child(
        resource,
        name_of(manifest),
        uid_of(manifest),
        deleting=is_deleting(manifest),
        owned=is_controlled_by(manifest, job.uid),
        members=read_members(spec),
        min_resources=tuple(spec.get("minResources") or ()),
        addresses=str(notes.get(ADDRESSES_ANNOTATION) or ""),
        former=_belongs_to_former_job(manifest, job),
        asked=str(notes.get(AUTOSCALER_ANNOTATION) or notes.get(POD_GROUP_ANNOTATION) or ""),
        phase=phase,
        message=message,
        finalizers=read_finalizers(manifest) if resource.plural == POD_GROUPS.plural and is_deleting(manifest) else (),
    )


def read_group_status(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """The phase of a PodGroup, and why it is not placed: the message of Volcano's condition Unschedulable, or of
    Kubernetes' PodGroupInitiallyScheduled. A scheduler has written them, so they may have any shape."""
    status = manifest.get("status")
    if not isinstance(status, Mapping):
        return "", ""
    conditions = status.get("conditions")
    said = (
        str(each.get("message") or "")
        for each in (conditions if isinstance(conditions, list) else ())
        if isinstance(each, Mapping) and (each.get("type"), each.get("status")) in _NOT_PLACED
    )
    return str(status.get("phase") or ""), " ".join(next(said, "").split())


def _belongs_to_former_job(manifest: Mapping[str, Any], job: Job) -> bool:
    """Whether a deleted job of the same kind and name controls it: names are unique, so another UID means deleted."""
    owner = owner_in(manifest, {(job.resource.group, job.resource.kind): job.resource})
    return owner == (job.resource, job.key) and not is_controlled_by(manifest, job.uid)


def _read_children(resource: Resource, manifests: Iterable[Manifest], job: Job) -> tuple[Child, ...]:
    return tuple(sorted((_read_child(resource, found, job) for found in manifests), key=lambda child: child.name))


def _read_foreign(job: Job, config_map: str, view: View) -> tuple[Child, ...]:
    found = []
    for resource, name in needed_names(job, config_map):
        existing = view.get(resource, Key(job.key.namespace, name))
        if existing is not None and not is_controlled_by(existing, job.uid):
            found.append(_read_child(resource, existing, job))
    return tuple(found)


def removes_foreign(observed: Observed, decided: Plan) -> bool:
    """Whether the plan deletes objects that a former job of this name has left."""
    foreign = {child.uid for child in observed.foreign} | {pod.uid for pod in observed.former}
    return any(isinstance(action, Delete) and action.uid in foreign for action in decided.actions)


def read_node(manifest: Mapping[str, Any]) -> NodeCondition:
    """The Ready condition of a node. The kubelet reports True and False; the node lifecycle controller writes Unknown
    when the kubelet stops reporting. Without the condition, the kubelet has never reported."""
    conditions = (manifest.get("status") or {}).get("conditions") or ()
    ready: Mapping[str, Any] = next((each for each in conditions if each.get("type") == "Ready"), {})
    state = _NODE_STATES.get(str(ready.get("status", "Unknown")), NodeState.NOT_READY)
    since = ready.get("lastTransitionTime") or metadata(manifest).get("creationTimestamp")
    return NodeCondition(state, read_time(since))


def find_children(manifests: Iterable[Manifest], owner: Resource, key: Key) -> list[Manifest]:
    """`View.children` of a view that keeps no index."""
    kinds = {(owner.group, owner.kind): owner}
    return [each for each in manifests if owner_in(each, kinds) == (owner, key)]


def owner_in(manifest: Mapping[str, Any], kinds: Mapping[tuple[str, str], Resource]) -> tuple[Resource, Key] | None:
    """The job that controls this child. `kinds`: the kinds of jobs, by (API group, kind)."""
    owner = controller_of(manifest)
    if owner is None:
        return None
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    resource = kinds.get((group, str(owner.get("kind"))))
    return None if resource is None else (resource, Key(namespace_of(manifest), str(owner.get("name"))))
