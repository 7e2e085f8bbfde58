"""The informers of the operator: one view of jobs and children (`jobs.objects.observation.View`), and the
ports of pods.

One cache for each resource, or for each resource and namespace if the operator watches single namespaces: it sends no
request to others, as it may have no rights there. Caches keep only what a plan reads: jobs whole; of what belongs to a
job the fields, labels and annotations that are read, each by its name; of all other ConfigMaps, Services and pods the
identity. Any tenant may make thousands of a megabyte each: nothing is kept of them whose size he chooses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from paddock.controllers.cache import Cache, Index, decode_object
from paddock.install import deployment
from paddock.jobs.manager import find_other_manager
from paddock.jobs.objects.observation import CHILD_ANNOTATIONS, owner_in, read_group_status, read_held_port
from paddock.jobs.objects.observed import RANK_ANNOTATIONS, RANK_LABELS, list_claims, read_finalizers
from paddock.jobs.objects.pod_groups import read_members
from paddock.jobs.objects.schedulers import WHO_SERVES
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import (
    AUTOSCALERS,
    CONFIG_MAPS,
    KUBERNETES_POD_GROUPS,
    POD_GROUPS,
    PODS,
    SERVICES,
    Key,
    Manifest,
    Resource,
    annotations_of,
    controller_of,
    is_deleting,
    labels_of,
    namespace_of,
    uid_of,
)
from paddock.kube.times import exponential_backoff
from paddock.operator.resource_time import trim_amounts

_OWNER, _PLACE, _PORT = "owner", "place", "port"
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 5.0
OnChange = Callable[[Resource, Manifest], None]
Trim = Callable[[Manifest], Manifest]

_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")
_READ_METADATA = ("creationTimestamp", "deletionGracePeriodSeconds")
_READ_ANNOTATIONS = RANK_ANNOTATIONS | CHILD_ANNOTATIONS
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller")
_LONGEST = 253
"""Characters of a name (RFC 1123). No value that is read is longer, and what is longer means nothing."""
_MOST_PORTS = 4
"""Ports that one job holds: that of its attempt, and of former ones whose pods are going. Its owner can write any
number of them on pods."""
_MOST_RESOURCES, _LONGEST_MESSAGE = 64, 4096
"""Of a PodGroup: what its minResources names, and why it is not placed."""
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_log = logging.getLogger(__name__)


class Informers:
    """`on_change` gets every added, changed or deleted job and child. `namespaces`: those to watch; "" is all.
    `on_served` is called when a kind is served that was not."""

    def __init__(
        self,
        api: Api,
        jobs: Iterable[Resource],
        pod_groups: Resource | None,
        on_change: OnChange,
        namespaces: Sequence[str] = ("",),
        *,
        autoscalers: Resource | None = None,
        on_served: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_served = on_served
        self._unserved: dict[tuple[Resource, str], str] = {}
        self.jobs = tuple(jobs)
        self._autoscalers = autoscalers
        self._no_autoscalers: dict[str, str] = {}
        self.optional = tuple(each for each in (*self.jobs, pod_groups, autoscalers) if each is not None)
        self.namespaces = ("",) if "" in namespaces else tuple(dict.fromkeys(namespaces))
        self._logged: set[str] = set()
        self._caches: dict[Resource, dict[str, Cache]] = {
            resource: {name: self._build_cache(api, resource, on_change, name) for name in self.namespaces}
            for resource in (PODS, SERVICES, CONFIG_MAPS, *self.optional)
        }

    async def follow(self) -> None:
        """Keep all caches up to date until cancelled."""
        async with asyncio.TaskGroup() as group:
            for resource, caches in self._caches.items():
                for namespace, cache in caches.items():
                    group.create_task(self._mirror(resource, namespace, cache))

    async def synced(self) -> None:
        """Returns once all caches are synced."""
        for cache in chain.from_iterable(caches.values() for caches in self._caches.values()):
            await cache.synced.wait()

    def unsynced(self) -> tuple[str, ...]:
        """The plurals of the resources whose caches are not synced."""
        return tuple(
            resource.plural
            for resource, caches in self._caches.items()
            if not all(cache.synced.is_set() for cache in caches.values())
        )

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        cache = self._find(resource, key.namespace)
        return None if cache is None else cache.get(key)

    def version(self, resource: Resource, key: Key) -> str:
        """As `Cache.version`."""
        cache = self._find(resource, key.namespace)
        return "" if cache is None else cache.version(key)

    def keys(self, resource: Resource) -> list[Key]:
        return [key for cache in self._caches[resource].values() for key in cache.keys()]  # noqa: SIM118 - no mapping

    def children(self, resource: Resource, owner: Resource, key: Key) -> list[Manifest]:
        cache = self._find(resource, key.namespace)
        return [] if cache is None else cache.find(_OWNER, _name_owner(owner.group, owner.kind, key))

    def take(self, owner: Resource, key: Key) -> Children:
        """The children of a job at this moment, to be read on any thread."""
        found = {each: self._find(each, key.namespace) for each in (PODS, SERVICES, CONFIG_MAPS)}
        name = _name_owner(owner.group, owner.kind, key)
        return Children(
            self, {each: [] if cache is None else cache.find_undecoded(_OWNER, name) for each, cache in found.items()}
        )

    def assume(self, resource: Resource, manifest: Manifest) -> bool:
        """As `Cache.assume`."""
        cache = self._find(resource, namespace_of(manifest))
        return cache is not None and cache.assume(manifest)

    def assume_deleting(self, resource: Resource, key: Key, uid: str, time: str) -> None:
        if (cache := self._find(resource, key.namespace)) is not None:
            cache.assume_deleting(key, uid, time)

    def held_ports(self, *, excluding: str) -> frozenset[int]:
        """First ports of the blocks that unfinished pods of existing jobs hold, without those of the job with the UID
        `excluding`."""
        ports: dict[str, set[int]] = {}
        for value in chain.from_iterable(cache.values(_PORT) for cache in self._caches[PODS].values()):
            port, _, place = value.partition(" ")
            ports.setdefault(place, set()).add(int(port))
        return frozenset(
            port
            for place, held in ports.items()
            if place.partition(" ")[2] != excluding and self._is_job(place)
            for port in sorted(held)[:_MOST_PORTS]
        )

    def _is_job(self, place: str) -> bool:
        return any(cache.has(_PLACE, place) for job in self.jobs for cache in self._caches[job].values())

    def autoscalers(self, namespace: str) -> Resource | None:
        """The resource of HorizontalPodAutoscalers; None in a namespace where they are not served, or not allowed."""
        return None if self.watched_as(namespace) in self._no_autoscalers else self._autoscalers

    def why_no_autoscalers(self, namespace: str) -> str:
        """The server's answer where it refused to serve them; else empty."""
        return self._no_autoscalers.get(self.watched_as(namespace), "")

    def watched_as(self, namespace: str) -> str:
        """The namespace of the cache that holds this one; "" for all."""
        return "" if "" in self.namespaces else namespace

    def _build_cache(self, api: Api, resource: Resource, on_change: OnChange, namespace: str) -> Cache:
        indexes: dict[str, Index] = {_OWNER: _owners}
        if resource == PODS:
            indexes[_PORT] = _ports
        if resource in self.jobs:
            indexes[_PLACE] = _places
        return Cache(
            api,
            resource,
            namespace,
            on_change=lambda manifest: on_change(resource, manifest),
            # The metrics follow the phase of a job, whoever recorded it.
            on_confirmed=lambda manifest: on_change(resource, manifest) if resource in self.jobs else None,
            indexes=indexes,
            trim=_choose_trim(resource, self.jobs),
            on_listed=lambda: self._tell_of_return(resource, namespace),
        )

    def _tell_of_return(self, resource: Resource, namespace: str) -> None:
        """Jobs that wait for a kind try again after ever longer times: here they are queued at once."""
        sentence = self._unserved.pop((resource, namespace), "")
        if sentence:
            self._logged.discard(sentence)
            _log.info("%s is served now", resource.qualified)
            self._on_served()

    def _find(self, resource: Resource, namespace: str) -> Cache | None:
        """Compare the result with None: an empty cache is false, as it has a length."""
        return self._caches.get(resource, {}).get(self.watched_as(namespace))

    async def _mirror(self, resource: Resource, namespace: str, cache: Cache) -> None:
        """Run one cache. A kind that is not served, or not allowed, is tried again: both may change. An optional kind
        that is not served counts as synced, with no objects; where autoscalers are refused, the operator does without
        them until it is started again."""
        tries = 0
        while True:
            try:
                await cache.run()
            except (NotFound, Forbidden, Unauthorized) as error:
                sentence = explain_unwatched(resource, namespace, error, job=resource in self.jobs)
                if isinstance(error, NotFound):
                    tries = tries if (resource, namespace) in self._unserved else 0
                    self._unserved[resource, namespace] = sentence
                    cache.clear()
                if sentence not in self._logged:
                    _log.warning("%s", sentence)
                self._logged.add(sentence)
                # A token that is not taken may be renewed; only the kind and the right may lack for good.
                if resource == AUTOSCALERS and not isinstance(error, Unauthorized):
                    self._no_autoscalers[namespace] = error.message
                    cache.synced.set()
                    return
                if isinstance(error, NotFound) and resource in self.optional:
                    cache.synced.set()
            tries += 1
            await asyncio.sleep(exponential_backoff(tries, _FIRST_DELAY, _LONGEST_DELAY))


class Children:
    """A `View` of one job: its children as they were at one moment. Other objects are as they are now."""

    def __init__(self, informers: Informers, bodies: Mapping[Resource, Sequence[bytes]]) -> None:
        self._informers = informers
        self._bodies = bodies

    def __len__(self) -> int:
        return sum(map(len, self._bodies.values()))

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return self._informers.get(resource, key)

    def children(self, resource: Resource, owner: Resource, key: Key) -> list[Manifest]:
        return [decode_object(body) for body in self._bodies[resource]]


def explain_unwatched(resource: Resource, namespace: str, error: ApiError, *, job: bool) -> str:
    """A sentence for the log: why a kind cannot be watched, and what to do. The server's message on a missing right
    names the right and the account."""
    name = resource.qualified
    if isinstance(error, NotFound) and job:
        file = "`kubectl create -f deploy/v1/crd.yaml` or " if resource in deployment.KINDS else ""
        kinds = "" if resource in deployment.KINDS else f" --kinds {name}"
        return (
            f"{name} is not installed in this cluster: waiting for it. Install it with {file}`paddock manifests crd"
            f"{kinds} | kubectl create -f -`"
        )
    where = f"in namespace {namespace}" if namespace else "in all namespaces"
    if resource == AUTOSCALERS and not isinstance(error, Unauthorized):
        refused = f" {where}" if isinstance(error, Forbidden) else ""
        return (
            f"{name} of {resource.version} cannot be watched{refused}, so no autoscaler is made for "
            f"elasticPolicy.metrics until the operator is started again: {error.message}"
        )
    if resource == KUBERNETES_POD_GROUPS and isinstance(error, NotFound):
        return f"{name} is not served by this cluster as {resource.version}, waiting for it: {WHO_SERVES}"
    if isinstance(error, NotFound):
        return f"{name} is not served by this cluster: waiting for it. Is the scheduler that it belongs to installed?"
    said = f"cannot watch {name} {where}, trying again: {error.message}."
    if isinstance(error, Unauthorized):
        return f"{said} The token or certificate of the operator is not taken by this cluster"
    if namespace:
        command = f"paddock manifests operator --image IMAGE --jobs-in {namespace}"
        return f"{said} `{command}` prints the rights that it needs there"
    return (
        f"{said} deploy/v1/operator-all-namespaces.yaml has the rights that it needs "
        "(`paddock manifests operator --image IMAGE -A`); with --namespace it watches single namespaces alone"
    )


def _choose_trim(resource: Resource, jobs: Sequence[Resource]) -> Trim:
    if resource in jobs:
        return _keep_job
    if resource.plural == POD_GROUPS.plural:
        return _keep_group
    kinds = {(job.group, job.kind): job for job in jobs}
    keep = _keep_rank if resource == PODS else _keep_child
    return lambda child: keep(child) if owner_in(child, kinds) else _keep_identity(child)


def _read_owner(manifest: Mapping[str, Any]) -> Manifest | None:
    """The reference to the controller. The API bounds none of its fields: one that is longer than any name leads to
    nothing."""
    found = controller_of(manifest) or {}
    kept = {name: found[name] for name in _OWNER_FIELDS if name in found}
    return kept if kept and all(len(str(value)) <= _LONGEST for value in kept.values()) else None


def _uid_of_owner(manifest: Mapping[str, Any]) -> str:
    return str((controller_of(manifest) or {}).get("uid") or "")


def _owners(manifest: Manifest) -> list[str]:
    """By the name, as the pods of a former job are found by it too."""
    if (owner := controller_of(manifest)) is None:
        return []
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    return [_name_owner(group, str(owner.get("kind")), Key(namespace_of(manifest), str(owner.get("name"))))]


def _name_owner(group: str, kind: str, owner: Key) -> str:
    return f"{group} {kind} {owner.namespace} {owner.name}"


def _place(namespace: str, uid: str) -> str:
    """The place of a job. An owner is of the namespace of what it owns (Kubernetes), whatever a reference says."""
    return f"{namespace} {uid}"


def _places(job: Manifest) -> list[str]:
    return [_place(namespace_of(job), uid_of(job))]


def _ports(pod: Manifest) -> list[str]:
    """Port and job in one value, so ports are filtered by job without decoding pods."""
    port, owner = read_held_port(pod), _uid_of_owner(pod)
    return [f"{port} {_place(namespace_of(pod), owner)}"] if port is not None and owner else []


def _keep_identity(manifest: Manifest) -> Manifest:
    """The identity of an object of no job: its name may be one that a job needs."""
    return _keep(manifest, _IDENTITY)


def _keep_child(manifest: Manifest) -> Manifest:
    """The metadata that is read, each part by its name."""
    kept = _keep(manifest, (*_IDENTITY, *_READ_METADATA))
    labels = {name: text for name, text in labels_of(manifest).items() if name in RANK_LABELS}
    notes = {name: text[:_LONGEST] for name, text in annotations_of(manifest).items() if name in _READ_ANNOTATIONS}
    owner = _read_owner(manifest)
    kept["metadata"] |= {"labels": labels} if labels else {}
    kept["metadata"] |= {"annotations": notes} if notes else {}
    kept["metadata"] |= {"ownerReferences": [owner]} if owner else {}
    return kept


def _keep(manifest: Manifest, fields: Iterable[str]) -> Manifest:
    found = manifest["metadata"]
    kept = {name: found[name] for name in fields if name in found}
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": kept}


def _keep_rank(pod: Manifest) -> Manifest:
    """Metadata, status and what `jobs.objects.observed.read_pod` reads of the spec; and what the pod holds of its node,
    all containers together (`operator.resource_time`)."""
    spec = pod.get("spec") or {}
    kept = {name: spec[name] for name in ("nodeName", "restartPolicy", "schedulerName") if name in spec}
    kept["containers"] = [{"name": each.get("name")} for each in spec.get("containers") or ()]
    if amounts := trim_amounts(spec):
        kept["resources"] = {"requests": amounts}
    if not spec.get("nodeName") and (claims := list_claims(pod)):  # one of them may be what it waits for
        kept["volumes"] = [{"persistentVolumeClaim": {"claimName": each}} for each in claims]
    child = _keep_child(pod)
    if finalizers := read_finalizers(pod):
        child["metadata"]["finalizers"] = list(finalizers)
    return {**child, "spec": kept, "status": pod.get("status") or {}}


def _keep_group(group: Manifest) -> Manifest:
    """The part of a PodGroup, whoever made it, that `jobs.objects.observation` reads, in a shape that reads the
    same."""
    spec = group.get("spec") or {}
    phase, message = read_group_status(group)
    resources = [name for name in spec.get("minResources") or () if len(name) <= _LONGEST][:_MOST_RESOURCES]
    why = {"type": "Unschedulable", "status": "True", "message": message[:_LONGEST_MESSAGE]}
    child = _keep_child(group)
    if is_deleting(group) and (finalizers := read_finalizers(group)):  # what holds it is told by name
        child["metadata"]["finalizers"] = list(finalizers)
    return {
        **child,
        "spec": {"minMember": read_members(spec), "minResources": dict.fromkeys(resources)},
        "status": {"phase": phase[:_LONGEST], "conditions": [why] if message else []},
    }


def _keep_job(job: Manifest) -> Manifest:
    """All that a reconcile reads; of somebody else's job, whose it is."""
    if manager := find_other_manager(job):
        kept = _keep(job, (*_IDENTITY, "finalizers"))
        return {**kept, "spec": {"runPolicy": {"managedBy": manager}}}
    kept = {name: value for name, value in job["metadata"].items() if name != "managedFields"}
    if _LAST_APPLIED in (notes := annotations_of(job)):
        kept["annotations"] = {name: text for name, text in notes.items() if name != _LAST_APPLIED}
    return {**job, "metadata": kept}
