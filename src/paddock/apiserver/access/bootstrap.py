"""The roles and bindings that each cluster has from the start, as kube-apiserver makes them: those that people and
manifests name. Pure.

Source: Kubernetes, plugin/pkg/auth/authorizer/rbac/bootstrappolicy. `admin`, `edit` and `view` have the kinds that are
served here, and what other roles add to them by label.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.apiserver.access.users import AUTHENTICATED, MASTERS
from paddock.kube.meta import Manifest
from paddock.kube.rbac import (
    AGGREGATE_TO,
    ALL,
    API_VERSION,
    GROUP,
    write_group,
    write_path_rule,
    write_role_reference,
    write_rule,
)

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
        _role("cluster-admin", [write_rule(ALL, [ALL], [ALL]), write_path_rule([ALL], [ALL])]),
    )
    yield (
        "clusterroles",
        _role(
            "system:discovery",
            [
                write_path_rule(
                    (
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
                    ),
                    ["get"],
                )
            ],
        ),
    )
    yield "clusterroles", _role("system:basic-user", [
        write_rule("authorization.k8s.io", _REVIEWS, ["create"]),
        write_rule("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
    ])  # fmt: skip
    for name, rules in _USERS.items():
        yield "clusterroles", _role(name, rules, aggregates=name)
    for role, group in (
        ("cluster-admin", MASTERS), ("system:basic-user", AUTHENTICATED), ("system:discovery", AUTHENTICATED),
    ):  # fmt: skip
        yield "clusterrolebindings", _bind(role, group)


_VIEW = [
    write_rule("", _VIEWED, _READ),
    write_rule("apps", ["deployments", "deployments/scale", "deployments/status"], _READ),
    write_rule("metrics.k8s.io", ["pods"], _READ),
    write_rule("events.k8s.io", ["events"], _READ),
]
_EDIT = [
    *_VIEW,
    write_rule("", ["pods/attach", "pods/exec", "pods/portforward", "secrets"], _READ),
    write_rule("", _EDITED, _WRITE),
    write_rule("", ["pods/eviction", "serviceaccounts/token"], ["create"]),
    write_rule("apps", ["deployments", "deployments/scale"], _WRITE),
    write_rule("coordination.k8s.io", ["leases"], (*_READ, *_WRITE)),
    write_rule("events.k8s.io", ["events"], _WRITE),
]
_ADMIN = [
    *_EDIT,
    write_rule(GROUP, ["rolebindings", "roles"], (*_READ, *_WRITE)),
    write_rule("authorization.k8s.io", ["localsubjectaccessreviews"], ["create"]),
]
_USERS = {"view": _VIEW, "edit": _EDIT, "admin": _ADMIN}
_INCLUDES = {"view": ("view",), "edit": ("view", "edit"), "admin": ("view", "edit", "admin")}
"""What each of them takes over by label: who may edit may view."""


def _role(name: str, rules: list[Manifest], *, aggregates: str = "") -> Manifest:
    role: Manifest = {
        "apiVersion": API_VERSION, "kind": "ClusterRole", "rules": rules,
        "metadata": {"name": name, "labels": dict(_LABELS)},
    }  # fmt: skip
    if aggregates:
        labels = (f"{AGGREGATE_TO}{each}" for each in _INCLUDES[aggregates])
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}} for label in labels]}
    return role


def _bind(role: str, group: str) -> Manifest:
    return {
        "apiVersion": API_VERSION, "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": dict(_LABELS)},
        "roleRef": write_role_reference("ClusterRole", role),
        "subjects": [write_group(group)],
    }  # fmt: skip
