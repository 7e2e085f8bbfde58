"""Special rules of pods, namespaces, claims and CustomResourceDefinitions. Pure; the general rules are in `strategy`.

Source: Kubernetes, registry/core/pod strategy and storage, kubelet's qos, apiextensions' establishing controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from paddock.apiserver.admission import priorities
from paddock.apiserver.objects.strategy import DeleteOptions, invalid
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.event_forms import NEW_EVENTS, check_new
from paddock.kube.calls import PatchKind
from paddock.kube.errors import BadRequest, Conflict, Forbidden
from paddock.kube.meta import PODS, PRIORITY_CLASSES, Manifest, is_deleting, metadata, name_of, uid_of
from paddock.kube.patches import apply_patch
from paddock.kube.times import format_time

PROTECTED_NAMESPACES = frozenset({"default", "kube-system"})
CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_DEFAULT_GRACE = 30
_MOST_GRACE = 2**31 - 1
"""Seconds: 68 years. A grace period may have 64 bits, and the time of its end must be one that can be written."""


def prepare_for_create(served: ServedResource, created: Manifest, now: float) -> Manifest:
    """The new object with the fields that the server sets on create, for some built-in kinds."""
    group, kind = served.resource.group, served.resource.kind
    if (group, kind) == ("", "Pod"):
        return created | {"status": {"phase": "Pending", "qosClass": qos_class(created.get("spec") or {})}}
    if (group, kind) == ("", "Namespace"):
        # Kubernetes sets this label since 1.21.
        labels = {**(metadata(created).get("labels") or {}), "kubernetes.io/metadata.name": name_of(created)}
        # `garbage` removes this finalizer when the namespace is empty, as Kubernetes' namespace controller does.
        spec = {**(created.get("spec") or {}), "finalizers": ["kubernetes"]}
        return created | {
            "metadata": created["metadata"] | {"labels": labels}, "spec": spec, "status": {"phase": "Active"},
        }  # fmt: skip
    if (group, kind) == ("", "PersistentVolumeClaim"):
        return created | {"status": {"phase": "Pending"}}
    if (group, kind) == ("", "PersistentVolume"):
        return created | {"status": {"phase": "Available"}}
    if (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return establish(created, now)
    if served.resource == NEW_EVENTS and (causes := list(check_new(created))):
        raise invalid(served, name_of(created), causes)
    return created


def establish(crd: Manifest, now: float) -> Manifest:
    """The CRD with status Established: its kinds are served from this write on."""
    spec = crd["spec"]
    names = deepcopy(spec["names"])
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", names["kind"] + "List")
    before = crd.get("status") or {}
    # The old time stays, because a new one would make a change of every write of an unchanged CRD.
    served_from = next(
        (old["lastTransitionTime"] for old in before.get("conditions") or () if old.get("lastTransitionTime")),
        format_time(now),
    )
    storage = [version["name"] for version in spec["versions"] if version.get("storage")]
    # Versions stay listed that objects were ever stored in, as in Kubernetes.
    stored = [*(before.get("storedVersions") or []), *storage]
    conditions = [
        _condition("NamesAccepted", "NoConflicts", "no conflicts found", served_from),
        _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", served_from),
    ]
    # The finalizer holds the CRD until `garbage` has deleted its objects, which nobody could reach afterwards.
    meta = crd["metadata"]
    finalizers = meta.get("finalizers") or []
    if not is_deleting(crd) and CRD_FINALIZER not in finalizers:
        meta = meta | {"finalizers": [*finalizers, CRD_FINALIZER]}
    status = {"acceptedNames": names, "conditions": conditions, "storedVersions": list(dict.fromkeys(stored))}
    return crd | {"metadata": meta, "spec": spec | {"names": names}, "status": status}


def _condition(type: str, reason: str, message: str, since: str, status: str = "True") -> Manifest:
    return {"type": type, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def qos_class(spec: Mapping[str, Any]) -> str:
    """Guaranteed: every container limits CPU and memory and requests as much. BestEffort: no requests or limits."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    limits = [_amounts(resource.get("limits")) for resource in resources]
    requests = [_amounts(resource.get("requests")) for resource in resources]
    if not any(limits) and not any(requests):
        return "BestEffort"
    full = all(set(limit) == {"cpu", "memory"} for limit in limits)
    same = all(
        all(limit.get(k) == v for k, v in request.items()) for limit, request in zip(limits, requests, strict=True)
    )
    return "Guaranteed" if full and same else "Burstable"


def _amounts(resources: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: amount for name, amount in (resources or {}).items() if name in ("cpu", "memory") and amount}


def keep_admitted(served: ServedResource, current: Manifest, updated: Manifest) -> None:
    """What policies wrote at the creation of an object stays, where an update says nothing of it. In place."""
    if served.resource == PODS:
        priorities.keep_priority(current, updated)


def grace_period(served: ServedResource, current: Manifest, options: DeleteOptions) -> int:
    """The grace period of a deletion in seconds: 0 for everything but pods that run on a node."""
    if served.qualified_kind != "Pod":
        return 0
    spec, status = current.get("spec") or {}, current.get("status") or {}
    # No kubelet would end such a pod: it has no node yet, or its containers have ended.
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        # Kubernetes turns a negative grace period into 1 second.
        return min(options.grace, _MOST_GRACE) if options.grace >= 0 else 1
    return min(int(spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE)), _MOST_GRACE)


def check_deletable(served: ServedResource, name: str) -> None:
    if served.resource == PRIORITY_CLASSES:
        priorities.check_deletable(name)
    if served.qualified_kind == "Namespace" and name in PROTECTED_NAMESPACES:
        raise Forbidden(
            f'namespaces "{name}" is forbidden: this namespace may not be deleted', kind="namespaces", name=name
        )


def bind_pod(pod: Manifest, binding: Any, now: float) -> Manifest:
    """The pod with the node of a core/v1 Binding. `Conflict` if it is bound, being deleted, or has another UID."""
    name = name_of(pod)
    target = binding.get("target") if isinstance(binding, Mapping) else None
    node = target.get("name") if isinstance(target, Mapping) else None
    if not node or not isinstance(node, str) or target.get("kind", "Node") != "Node":  # type: ignore[union-attr]
        raise BadRequest(
            f'a Binding of pod {name} wants {{"target": {{"kind": "Node", "name": …}}}}: found target {target!r}'
        )
    prefix = f'Operation cannot be fulfilled on pods/binding "{name}"'
    if uid_of(binding) not in ("", uid_of(pod)):
        raise Conflict(
            f"{prefix}: Precondition failed: UID in precondition: {uid_of(binding)},"
            f" UID in object meta: {uid_of(pod)}",
            kind="pods", name=name,
        )  # fmt: skip
    if is_deleting(pod):
        raise Conflict(f"{prefix}: pod {name} is being deleted, cannot be assigned to a host", kind="pods", name=name)
    if bound := pod["spec"].get("nodeName"):
        raise Conflict(f'{prefix}: pod {name} is already assigned to node "{bound}"', kind="pods", name=name)
    status = dict(pod.get("status") or {})
    others = [condition for condition in status.get("conditions") or () if condition.get("type") != "PodScheduled"]
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": format_time(now),
    }
    status["conditions"] = [*others, scheduled]
    meta = dict(pod["metadata"])
    for field in ("labels", "annotations"):
        if added := metadata(binding).get(field):
            meta[field] = {**(meta.get(field) or {}), **added}
    return pod | {"metadata": meta, "spec": pod["spec"] | {"nodeName": node}, "status": status}


def read_scale(served: ServedResource, manifest: Manifest) -> Manifest:
    """The autoscaling/v1 Scale of an object, read by the paths of its kind."""
    # A built-in kind (Deployment) names no paths of its own.
    paths = served.scale or {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    named = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    meta = {key: manifest["metadata"][key] for key in named if key in manifest["metadata"]}
    status: Manifest = {"replicas": value_at(manifest, paths.get("statusReplicasPath") or "") or 0}
    if selector := value_at(manifest, paths.get("labelSelectorPath") or ""):
        status["selector"] = selector
    return {
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta,
        "spec": {"replicas": value_at(manifest, paths["specReplicasPath"]) or 0}, "status": status,
    }  # fmt: skip


def apply_scale(served: ServedResource, manifest: Manifest, scale: Any) -> Manifest:
    """The object with the replicas of a Scale."""
    if not isinstance(scale, Mapping):
        raise BadRequest(f"the body is not a Scale: found {type(scale).__name__}, wanted an object")
    spec = scale.get("spec")
    replicas = (spec.get("replicas") or 0) if isinstance(spec, Mapping) else None
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        raise BadRequest(f"spec.replicas of a Scale is a number of 0 or more: found {replicas!r}")
    path = (served.scale or {}).get("specReplicasPath") or ".spec.replicas"
    scaled = deepcopy(manifest)
    parts = path.strip(".").split(".")
    place: Any = scaled
    for part in parts[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise BadRequest(f"{path} does not exist in the object: {part} is no object")
    place[parts[-1]] = replicas
    if version := metadata(scale).get("resourceVersion"):
        scaled["metadata"]["resourceVersion"] = version
    return scaled


def value_at(manifest: Any, path: str) -> Any:
    """The value at a dotted path (`.spec.replicas`), or None."""
    for part in filter(None, path.split(".")):
        manifest = manifest.get(part) if isinstance(manifest, Mapping) else None
    return manifest if path else None


def patch_scale(scale: Manifest, patch: Any, kind: PatchKind) -> Manifest:
    """A patch of the Scale itself. A Scale has no lists, so a strategic patch is a merge patch."""
    return apply_patch(scale, patch, "merge" if kind == "strategic" else kind)
