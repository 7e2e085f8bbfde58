"""Warnings about fields and kinds that are stored as in Kubernetes but have no effect in this cluster. Pure.

Without a warning a readiness probe or a user id would seem to work. The list follows what the node leaves out
(`node.kubelet.kubelet`); a field that the node implements is removed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from paddock.kube.meta import Manifest, Resource

_IDLE_KINDS: Mapping[tuple[str, str], str] = {
    ("apps", "deployments"): "Deployments are stored and nothing acts on them in this cluster",
    ("rbac.authorization.k8s.io", "roles"): "Roles are stored and not enforced in this cluster",
    ("rbac.authorization.k8s.io", "rolebindings"): "RoleBindings are stored and not enforced in this cluster",
    ("rbac.authorization.k8s.io", "clusterroles"): "ClusterRoles are stored and not enforced in this cluster",
    ("rbac.authorization.k8s.io", "clusterrolebindings"): (
        "ClusterRoleBindings are stored and not enforced in this cluster"
    ),
}
_MOST = 100
_POD_FIELDS = ("ephemeralContainers", "runtimeClassName", "topologySpreadConstraints")
_AFFINITIES = ("podAffinity", "podAntiAffinity")
_CONTAINER_FIELDS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "volumeDevices")


def explain_unhonoured(resource: Resource, manifest: Manifest) -> tuple[str, ...]:
    """One warning for each kind or field of an object that has no effect here."""
    if sentence := _IDLE_KINDS.get((resource.group, resource.plural)):
        return (sentence,)
    if (resource.group, resource.plural) != ("", "pods"):
        return ()
    paths = islice(_find_in_pod(manifest.get("spec") or {}), _MOST)
    return tuple(f"{path} is not honoured in this cluster" for path in paths)


def _find_in_pod(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from _given(spec, _POD_FIELDS, "spec")
    yield from _given(spec.get("affinity") or {}, _AFFINITIES, "spec.affinity")
    yield from _find_security(spec, "spec")
    for section in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(section) or ()):
            path = f"spec.{section}[{index}]"
            yield from _given(container, _CONTAINER_FIELDS, path)
            yield from _find_security(container, path)
            if section == "initContainers":
                yield from _given(container, ("restartPolicy",), path)


def _find_security(holder: Mapping[str, Any], path: str) -> Iterator[str]:
    context = holder.get("securityContext") or {}
    yield from _given(context, tuple(context), f"{path}.securityContext")


def _given(holder: Mapping[str, Any], fields: Sequence[str], path: str) -> Iterator[str]:
    for field in fields:
        value = holder.get(field)
        # False and empty values ask for nothing, but 0 may: runAsUser 0 is root.
        if value not in (None, "", [], {}) and value is not False:
            yield f"{path}.{field}"
