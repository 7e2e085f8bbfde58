"""The objects that install the admission webhook: its account and rights, Service, Deployment, configuration.

It is optional, and installed beside the operator, whose Namespace it shares. `paddock manifests webhook` prints
deploy/v1/webhook.yaml from here. The configuration has no certificate: the process writes its own into it.
"""

from __future__ import annotations

from paddock.install.deployment import Installation, build_container_security, build_pod_security
from paddock.install.rights import Right, Where, build_rules
from paddock.jobs.apis.registry import KINDS
from paddock.kube import rbac
from paddock.kube.meta import Key, Manifest, Resource

CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
CHECKED = tuple(KINDS)
"""The kinds that it checks by default."""

NAME, ACCOUNT, ROLE, BINDING = (
    "paddle-webhook",
    "paddle-webhook-sa",
    "paddle-webhook-role",
    "paddle-webhook-rolebinding",
)
"""`NAME`: of the Deployment, the Service and the configuration."""
WEBHOOK = "validate.paddlejobs.paddock.dev"
"""What a refusal is signed with."""
PORT, PATH = 9443, "/review"
TIMEOUT_SECONDS = 5

_LABELS = {"app.kubernetes.io/name": "paddock", "app.kubernetes.io/component": "webhook"}
_NAMESPACE_LABEL = "kubernetes.io/metadata.name"


def build_webhook_rights(name: str) -> tuple[Right, ...]:
    """All rights of the process. `name`: of the configuration."""
    request = "its certificate is kept in the configuration, by which the API server trusts it"
    return (Right(CONFIGURATIONS, ("get", "update"), request, name=name, where=Where.CLUSTER),)


def build_webhook(installation: Installation) -> tuple[Manifest, ...]:
    """All objects, in the order in which they must be created."""
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(ACCOUNT, installation.namespace)},
        *_build_rights(installation),
        _build_service(installation),
        _build_deployment(installation),
        _build_configuration(installation),
    )


def _build_rights(installation: Installation) -> tuple[Manifest, Manifest]:
    role = installation.cluster_name(ROLE)
    rights = build_webhook_rights(installation.cluster_name(NAME))
    return (
        {
            "apiVersion": rbac.API_VERSION,
            "kind": "ClusterRole",
            "metadata": _metadata(role),
            "rules": build_rules(rights),
        },
        {
            "apiVersion": rbac.API_VERSION,
            "kind": "ClusterRoleBinding",
            "metadata": _metadata(installation.cluster_name(BINDING)),
            "roleRef": rbac.write_role_reference("ClusterRole", role),
            "subjects": [rbac.write_account(Key(installation.namespace, ACCOUNT))],
        },
    )


def _build_service(installation: Installation) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(NAME, installation.namespace),
        "spec": {"selector": dict(_LABELS), "ports": [{"name": "https", "port": 443, "targetPort": "https"}]},
    }


def _build_deployment(installation: Installation) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(NAME, installation.namespace),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": dict(_LABELS)},
            "template": {
                "metadata": {"labels": dict(_LABELS)},
                "spec": {
                    "serviceAccountName": ACCOUNT,
                    "securityContext": build_pod_security(),
                    "containers": [_build_container(installation)],
                },
            },
        },
    }


def _build_container(installation: Installation) -> Manifest:
    name = installation.cluster_name(NAME)
    return {
        "name": "webhook",
        "image": installation.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["paddock", "webhook"],
        "args": [f"--configuration={name}", f"--bind-address=:{PORT}"],
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": _probe("/healthz", delay=15, period=20),
        "readinessProbe": _probe("/readyz", delay=1, period=5),
        "resources": {
            "requests": {"cpu": "20m", "memory": "96Mi"},
            "limits": {"cpu": "1", "memory": "300Mi"},
        },
        "securityContext": build_container_security(),
    }


def _build_configuration(installation: Installation) -> Manifest:
    """It fails open: a webhook that does not answer stops no training, and the operator says of a wrong job what is
    wrong."""
    service = {"name": NAME, "namespace": installation.namespace, "path": PATH, "port": 443}
    return {
        "apiVersion": CONFIGURATIONS.api_version,
        "kind": CONFIGURATIONS.kind,
        "metadata": _metadata(installation.cluster_name(NAME)),
        "webhooks": [
            {
                "name": WEBHOOK,
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": service},
                "rules": [
                    {
                        "apiGroups": [kind.group],
                        "apiVersions": [kind.version],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": [kind.plural],
                        "scope": "Namespaced",
                    }
                    for kind in installation.kinds
                ],
                "namespaceSelector": {"matchExpressions": [_select_namespaces(installation)]},
                "matchPolicy": "Equivalent",
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "timeoutSeconds": TIMEOUT_SECONDS,
            }
        ],
    }


def _select_namespaces(installation: Installation) -> Manifest:
    if installation.watched:
        return {"key": _NAMESPACE_LABEL, "operator": "In", "values": list(installation.watched)}
    return {"key": _NAMESPACE_LABEL, "operator": "NotIn", "values": ["kube-system"]}


def _probe(path: str, *, delay: int, period: int) -> Manifest:
    request = {"path": path, "port": "https", "scheme": "HTTPS"}
    return {"httpGet": request, "initialDelaySeconds": delay, "periodSeconds": period}


def _metadata(name: str, namespace: str = "") -> Manifest:
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": dict(_LABELS)}
