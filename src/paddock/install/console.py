"""The objects that install the console: an account without rights and without a token, Deployment, Service, and a rule
for who may reach it.

A console that keeps runs and logs (`Keep`) has another account besides, with the rights to read those: in its place a
token is mounted. What it keeps lies in a claim. In a namespace of its own a Role lets everybody whom the cluster knows
forward a port to it, so that who may submit a job can ask for its history; what it shows them is up to their token.

Each reader signs in with a token of their own, which goes along with every request, so the console can do nothing that
its reader could not. It is optional, needs no operator, and has a Namespace of its own, so that it can be removed with
all that was applied. `paddock manifests console` prints deploy/v1/console.yaml from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from paddock.install.deployment import (
    EXAMPLE_IMAGE,
    build_container_security,
    build_network_policy,
    build_pod_security,
)
from paddock.install.rights import build_keeper_rights, build_rules
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest
from paddock.kube.rbac import API_VERSION, GROUP, write_rule

NAMESPACE = "paddle-console"
NAME, ACCOUNT = "paddle-console", "paddle-console-sa"
KEEPER, VISITOR = "paddle-console-keeper", "paddle-console-visitor"
KEPT = "/var/lib/paddock"
"""Where the claim is mounted."""
VISITOR_RIGHTS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType({
    ("", "pods"): ("get", "list"),
    ("", "pods/portforward"): ("get", "create"),
})  # fmt: skip
"""By (API group, resource): what it takes to reach a console through a port that is forwarded to its pod."""
PORT = 8765
CLIENT = "paddock.dev/console-client"
"""The label of a namespace, `"true"`, whose pods may reach the console: that of an Ingress controller."""
_SERVICE_PORT = 80
_TRUST = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where a pod looks for the certificate of its API server. The token that is there in other pods is not here."""
_ROOTS = "kube-root-ca.crt"
"""The ConfigMap in which every namespace has that certificate (Kubernetes 1.20 and later)."""

_LABELS = {"app.kubernetes.io/name": "paddock", "app.kubernetes.io/component": "console"}


_SECRET, _SECRET_KEY = "/etc/paddock/oidc-secret", "client-secret"
_AUTHORITIES, _AUTHORITIES_KEY = "/etc/paddock/oidc-ca", "ca.crt"


@dataclass(frozen=True, slots=True)
class Oidc:
    """An OpenID Connect provider by which readers may sign in."""

    issuer: str
    client: str
    secret: str = ""
    """A Secret of the console's namespace that has the client's under the key `client-secret`; empty for none."""
    scopes: tuple[str, ...] = ()
    authorities: str = ""
    """A ConfigMap with the authorities of the provider's certificate under the key `ca.crt`; empty for the image's."""

    @property
    def args(self) -> list[str]:
        return [
            f"--oidc-issuer={self.issuer}",
            f"--oidc-client-id={self.client}",
            *([f"--oidc-client-secret-file={_SECRET}/{_SECRET_KEY}"] if self.secret else []),
            *(f"--oidc-scope={each}" for each in self.scopes),
            *([f"--oidc-ca={_AUTHORITIES}/{_AUTHORITIES_KEY}"] if self.authorities else []),
        ]

    @property
    def mounts(self) -> list[Manifest]:
        found = ("oidc-secret", self.secret, _SECRET), ("oidc-ca", self.authorities, _AUTHORITIES)
        return [{"name": name, "mountPath": path, "readOnly": True} for name, named, path in found if named]

    @property
    def volumes(self) -> list[Manifest]:
        return [
            *([{"name": "oidc-secret", "secret": {"secretName": self.secret}}] if self.secret else []),
            *([{"name": "oidc-ca", "configMap": {"name": self.authorities}}] if self.authorities else []),
        ]


@dataclass(frozen=True, slots=True)
class Keep:
    """What it keeps of the cluster."""

    claim: str
    """A PersistentVolumeClaim of the console's namespace, which is there already."""
    limits: str = ""
    """`30d,20GiB`; empty for the console's own."""

    @property
    def args(self) -> list[str]:
        return [f"--keep={KEPT}", *([f"--keep-logs={self.limits}"] if self.limits else [])]


def build_console(
    namespace: str = NAMESPACE,
    image: str = EXAMPLE_IMAGE,
    *,
    hosts: Sequence[str] = (),
    behind_tls: bool = False,
    oidc: Oidc | None = None,
    keep: Keep | None = None,
) -> tuple[Manifest, ...]:
    """All objects, in the order in which they must be created. Another namespace is there already. `hosts`: names by
    which browsers reach it. `behind_tls`: a proxy before it ends TLS."""
    args = [*(f"--host={each}" for each in hosts), *(["--behind-tls"] if behind_tls else [])]
    args += [*(oidc.args if oidc else []), *(keep.args if keep else [])]
    return (
        *((_build_namespace(),) if namespace == NAMESPACE else ()),
        *(build_keeper(namespace) if keep else (_build_account(namespace),)),
        _build_service(namespace),
        build_network_policy(NAME, namespace, _LABELS, PORT, CLIENT),
        _build_deployment(namespace, image, args, oidc, keep),
    )


def _build_account(namespace: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(ACCOUNT, namespace),
        "automountServiceAccountToken": False,
    }


def build_keeper(namespace: str = NAMESPACE) -> tuple[Manifest, ...]:
    """The account of a console that keeps, with its rights in all namespaces; and, in the console's own namespace, in
    which nothing else runs, the right of everybody to reach it."""
    account = {"kind": "ServiceAccount", "name": KEEPER, "namespace": namespace}
    everybody = {"apiGroup": GROUP, "kind": "Group", "name": "system:authenticated"}
    role = {
        "apiVersion": API_VERSION,
        "kind": "Role",
        "metadata": _metadata(VISITOR, namespace),
        "rules": [write_rule(group, (plural,), verbs) for (group, plural), verbs in VISITOR_RIGHTS.items()],
    }
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(KEEPER, namespace)},
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": KEEPER, "labels": dict(_LABELS)},
            "rules": build_rules(build_keeper_rights(KINDS)),
        },
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": KEEPER, "labels": dict(_LABELS)},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": KEEPER},
            "subjects": [account],
        },
        *((role, _bind_visitors(namespace, everybody)) if namespace == NAMESPACE else ()),
    )


def _bind_visitors(namespace: str, everybody: Manifest) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "RoleBinding",
        "metadata": _metadata(VISITOR, namespace),
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": VISITOR},
        "subjects": [everybody],
    }


def _build_namespace() -> Manifest:
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": _LABELS | restricted}}


def _build_service(namespace: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(NAME, namespace),
        "spec": {"selector": dict(_LABELS), "ports": [{"name": "http", "port": _SERVICE_PORT, "targetPort": "http"}]},
    }


def _build_deployment(
    namespace: str, image: str, args: Sequence[str], oidc: Oidc | None, keep: Keep | None
) -> Manifest:
    """One replica: sessions are in its memory. A new pod is there before the old one ends; of a console that keeps, the
    old one ends first, as a claim may be mounted on one node alone and one process writes into it."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(NAME, namespace),
        "spec": {
            "replicas": 1,
            **({"strategy": {"type": "Recreate"}} if keep else {}),
            "selector": {"matchLabels": dict(_LABELS)},
            "template": {
                "metadata": {"labels": dict(_LABELS)},
                "spec": {
                    "serviceAccountName": KEEPER if keep else ACCOUNT,
                    "automountServiceAccountToken": keep is not None,
                    "securityContext": _build_security(keep),
                    "containers": [_build_container(image, args, oidc, keep)],
                    "volumes": [
                        *(() if keep else ({"name": "trust", "configMap": {"name": _ROOTS}},)),
                        {"name": "tmp", "emptyDir": {"sizeLimit": "2Gi"}},
                        *(oidc.volumes if oidc else ()),
                        *([{"name": "kept", "persistentVolumeClaim": {"claimName": keep.claim}}] if keep else []),
                    ],
                },
            },
        },
    }


def _build_security(keep: Keep | None) -> Manifest:
    """`fsGroup`: a new volume belongs to root."""
    security = build_pod_security()
    if keep is None:
        return security
    return {**security, "fsGroup": security["runAsGroup"], "fsGroupChangePolicy": "OnRootMismatch"}


def _build_container(image: str, args: Sequence[str], oidc: Oidc | None, keep: Keep | None) -> Manifest:
    return {
        "name": "console",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["paddock", "console"],
        "args": ["--serve", f"--bind-address=:{PORT}", *args],
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108 - the pod's own volume
        "ports": [{"name": "http", "containerPort": PORT}],
        "livenessProbe": _probe(delay=15, period=20),
        "readinessProbe": _probe(delay=1, period=5),
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "securityContext": build_container_security(),
        "volumeMounts": [
            *(() if keep else ({"name": "trust", "mountPath": _TRUST, "readOnly": True},)),
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - logs that are kept while the pod lives
            *(oidc.mounts if oidc else ()),
            *([{"name": "kept", "mountPath": KEPT}] if keep else []),
        ],
    }


def _probe(*, delay: int, period: int) -> Manifest:
    """Whether the process answers; an API server that is down makes no console better by a restart."""
    return {"httpGet": {"path": "/healthz", "port": "http"}, "initialDelaySeconds": delay, "periodSeconds": period}


def _metadata(name: str, namespace: str) -> Manifest:
    return {"name": name, "namespace": namespace, "labels": dict(_LABELS)}
