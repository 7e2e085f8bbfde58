"""The roles and bindings that each cluster has from the start, as kube-apiserver makes them: those that people and
manifests name. Pure.

Source: Kubernetes, plugin/pkg/auth/authorizer/rbac/bootstrappolicy. `admin`, `edit` and `view` have the kinds that are
served here, and what other roles add to them by label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddock.apiserver.access.rights import GROUP
from paddock.apiserver.access.users import AUTHENTICATED, MASTERS
from paddock.kube.meta import Manifest

_API_VERSION = f"{GROUP}/v1"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
_VIEWED = (
    "configmaps", "endpoints", "events", "limitranges", "namespaces", "persistentvolumeclaims",
    "persistentvolumeclaims/status", "pods", "pods/log", "pods/stacks", "pods/status", "resourcequotas",
    "resourcequotas/status", "serviceaccounts", "services", "services/status",
)  # fmt: skip
_EDITED = (
    "configmaps", "events", "persistentvolumeclaims", "pods", "pods/attach", "pods/exec", "pods/portforward", "secrets",
    "serviceaccounts", "services",
)  # fmt: skip


def build_defaults() -> Iterator[tuple[str, Manifest]]:
    """(plural, object)."""
    yield (
        "clusterroles",
        _role("cluster-admin", [_rule(["*"], ["*"], ["*"]), {"verbs": ["*"], "nonResourceURLs": ["*"]}]),
    )
    yield (
        "clusterroles",
        _role(
            "system:discovery",
            [
                _open(
                    "/api",
                    "/api/*",
                    "/apis",
                    "/apis/*",
                    "/healthz",
                    "/livez",
                    "/openapi",
                    "/openapi/*",
                    "/readyz",
                    "/version",
                    "/version/",
                )
            ],
        ),
    )
    yield "clusterroles", _role("system:basic-user", [
        _rule(["create"], ["authorization.k8s.io"], _REVIEWS),
        _rule(["create"], ["authentication.k8s.io"], ["selfsubjectreviews"]),
    ])  # fmt: skip
    for name, rules in _USERS.items():
        yield "clusterroles", _role(name, rules, aggregates=name)
    for role, group in (
        ("cluster-admin", MASTERS), ("system:basic-user", AUTHENTICATED), ("system:discovery", AUTHENTICATED),
    ):  # fmt: skip
        yield "clusterrolebindings", _bind(role, group)


def _rule(verbs: Sequence[str], groups: Sequence[str], resources: Sequence[str]) -> Manifest:
    return {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}


def _open(*paths: str) -> Manifest:
    return {"verbs": ["get"], "nonResourceURLs": list(paths)}


_VIEW = [
    _rule(_READ, [""], _VIEWED),
    _rule(_READ, ["apps"], ["deployments", "deployments/scale", "deployments/status"]),
    _rule(_READ, ["metrics.k8s.io"], ["pods"]),
    _rule(_READ, ["events.k8s.io"], ["events"]),
]
_EDIT = [
    *_VIEW,
    _rule(_READ, [""], ["pods/attach", "pods/exec", "pods/portforward", "secrets"]),
    _rule(_WRITE, [""], _EDITED),
    _rule(["create"], [""], ["pods/eviction", "serviceaccounts/token"]),
    _rule(_WRITE, ["apps"], ["deployments", "deployments/scale"]),
    _rule((*_READ, *_WRITE), ["coordination.k8s.io"], ["leases"]),
    _rule(_WRITE, ["events.k8s.io"], ["events"]),
]
_ADMIN = [
    *_EDIT,
    _rule((*_READ, *_WRITE), [GROUP], ["rolebindings", "roles"]),
    _rule(["create"], ["authorization.k8s.io"], ["localsubjectaccessreviews"]),
]
_USERS = {"view": _VIEW, "edit": _EDIT, "admin": _ADMIN}
_INCLUDES = {"view": ("view",), "edit": ("view", "edit"), "admin": ("view", "edit", "admin")}
"""What each of them takes over by label: who may edit may view."""


def _role(name: str, rules: list[Manifest], *, aggregates: str = "") -> Manifest:
    role: Manifest = {
        "apiVersion": _API_VERSION, "kind": "ClusterRole", "rules": rules,
        "metadata": {"name": name, "labels": dict(_LABELS)},
    }  # fmt: skip
    if aggregates:
        labels = (f"rbac.authorization.k8s.io/aggregate-to-{each}" for each in _INCLUDES[aggregates])
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}} for label in labels]}
    return role


def _bind(role: str, group: str) -> Manifest:
    return {
        "apiVersion": _API_VERSION, "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": dict(_LABELS)},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group}],
    }  # fmt: skip
