"""The objects that install the operator on a cluster: Namespace, ServiceAccount, RBAC, PriorityClass, NetworkPolicy,
Deployment.

Names are paddle-operator's, so that its documented commands work and `kubectl apply` replaces its installation. The
RBAC rules are in `install.rights`, the CRDs in `install.crd`. `paddock manifests` (cli/verbs/manifests.py)
prints the files in `deploy/` from here; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from paddock.install.rights import AGGREGATED, OF_LOGS, Where, build_rights, build_rules, build_user_rules
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube import rbac
from paddock.kube.meta import DATASETS, Key, Manifest, Resource
from paddock.version import __version__

NAMESPACE = "paddle-system"
EXAMPLE_IMAGE = f"registry.example/paddock:{__version__}"
"""What the files in `deploy/` and the chart have where the reader's own image belongs. Nobody has published one, and no
registry has this name (RFC 2606): a pod of it waits with ErrImagePull, and never runs somebody else's program."""
KINDS = (PADDLEPADDLE.resource,)
"""The kinds that an operator on a cluster serves by default. A cluster may already have an operator of kubeflow.org."""

IMAGE_VARIABLE = "PADDOCK_IMAGE"
"""The operator's own image, which a program in a container cannot find out: pods that fetch datasets run it too."""

NOTICES_DIRECTORY, NOTICES_KEY = "/etc/paddock/notices", "routes.yaml"
"""Where the Secret of notices is mounted, and its key. A file alone (subPath) would never be replaced."""
METRICS_PORT, HEALTH_PORT = 8080, 8081
METRICS_CLIENT = "paddock.dev/metrics-client"
"""The label of a namespace, `"true"`, whose pods may read the operator's metrics."""
USER = 65532
"""UID of distroless images and of paddle-operator."""

ACCOUNT, LEADER_ROLE, LEADER_BINDING = (
    "paddle-manager-sa",
    "paddle-leader-election-role",
    "paddle-leader-election-rolebinding",
)
ROLE, BINDING = "paddle-manager-role", "paddle-manager-rolebinding"
LOGS_ROLE, LOGS_BINDING = "paddle-logs-role", "paddle-logs-rolebinding"
DEPLOYMENT, CONTAINER = "paddle-controller-manager", "manager"
PRIORITY_CLASS = "paddle-manager-priority"
LABELS = {"control-plane": "controller-manager"}
"""paddle-operator's, by which the Deployment selects its pods. Other operators have the same label."""
OURS = {"app.kubernetes.io/name": "paddock", "app.kubernetes.io/component": "operator"}
"""Kubernetes' recommended labels, on every object. Services, budgets and affinities select the pods by them."""
VERSION = {"app.kubernetes.io/version": __version__}

_PRIORITY = 1_000_000
"""Above pods of jobs, which have 0 if nobody says otherwise; below Kubernetes' own, from 2,000,000,000 on."""
_GRACE_SECONDS = 20
"""Running reconciles have 10 s; then events are sent and the Lease is released."""


class Scope(StrEnum):
    """NAMESPACE: nothing of the cluster's own, so that who administers namespaces alone can install it: not the
    Namespace, not the right to read nodes (no pod of a lost node is deleted by force), not the roles of users."""

    CLUSTER = "cluster"
    NAMESPACE = "namespace"


@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed, and how."""

    namespace: str = NAMESPACE
    watched: tuple[str, ...] = (NAMESPACE,)
    """The namespaces whose jobs are reconciled; empty for all."""
    image: str = EXAMPLE_IMAGE
    kinds: tuple[Resource, ...] = KINDS
    scope: Scope = Scope.CLUSTER
    old: bool = False
    """For Kubernetes before 1.16."""
    datasets: bool = False
    """It fetches Datasets."""
    datasets_image: str = ""
    """The image that fetches them; empty: its own."""
    shards: int = 1
    """Into how many parts the namespaces are shared out among all replicas; 1: one leads, the others stand by."""
    replicas: int = 1
    """Of the operator."""
    notices: str = ""
    """The Secret of its namespace with the routes of notices, under the key routes.yaml; empty: it sends none. It need
    not be there yet."""
    prometheus: str = ""
    """The address of a Prometheus that knows what GPUs do; empty: it asks none."""

    @property
    def arguments(self) -> list[str]:
        """The arguments of `paddock operator` that differ from its defaults. By default it listens on localhost only,
        which the kubelet and Prometheus cannot reach."""
        kinds = ",".join(kind.qualified for kind in self.kinds)
        return [
            "--leader-elect",
            *([f"--shards={self.shards}"] if self.shards > 1 else []),
            *([f"--namespace={','.join(self.watched)}"] if self.watched else []),
            *([f"--kinds={kinds}"] if self.kinds != KINDS else []),
            *(["--datasets"] if self.datasets else []),
            *([f"--datasets-image={self.datasets_image}"] if self.datasets_image else []),
            *([f"--notices={NOTICES_DIRECTORY}/{NOTICES_KEY}"] if self.notices else []),
            *([f"--prometheus={self.prometheus}"] if self.prometheus else []),
            f"--metrics-bind-address=:{METRICS_PORT}",
            f"--health-probe-bind-address=:{HEALTH_PORT}",
        ]

    def cluster_name(self, name: str) -> str:
        """The name of a cluster-scoped object: paddle-operator's in the default namespace, else with the namespace
        appended, so that two installations do not collide."""
        return name if self.namespace == NAMESPACE else f"{name}-{self.namespace}"

    def name_in(self, namespace: str, name: str) -> str:
        """The name of an object in a watched namespace: with the operator's namespace appended in any other."""
        return name if self.namespace == namespace else f"{name}-{self.namespace}"


def build_operator(installation: Installation) -> tuple[Manifest, ...]:
    """All objects, in the order in which they must be created."""
    whole = installation.scope is Scope.CLUSTER
    return (
        *((_build_namespace(installation),) if whole else ()),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(ACCOUNT, installation.namespace)},
        *_build_own_rights(installation),
        *_build_job_rights(installation),
        *(_build_cluster_rights(installation) if whole else ()),
        *(_build_user_rights(installation) if whole else ()),
        *((_build_priority_class(installation),) if whole else ()),
        build_network_policy(DEPLOYMENT, installation.namespace, OURS, METRICS_PORT, METRICS_CLIENT),
        _build_deployment(installation),
    )


def build_log_rights(installation: Installation) -> tuple[Manifest, ...]:
    """The right to logs, which is no part of `build_operator`: a Role in each namespace whose jobs are reconciled, or a
    ClusterRole for those of all."""
    rules = build_rules(OF_LOGS)
    if not installation.watched:
        role, binding = installation.cluster_name(LOGS_ROLE), installation.cluster_name(LOGS_BINDING)
        return _bound(role, binding, rules, installation, "")
    return tuple(
        each
        for namespace in installation.watched
        for each in _bound(
            installation.name_in(namespace, LOGS_ROLE),
            installation.name_in(namespace, LOGS_BINDING),
            rules,
            installation,
            namespace,
        )
    )


def _build_namespace(installation: Installation) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": installation.namespace, "labels": {**LABELS, **OURS}},
    }


def _build_own_rights(installation: Installation) -> tuple[Manifest, ...]:
    """The Role for the Leases."""
    rules = _build_rules(installation, Where.OWN)
    return _bound(LEADER_ROLE, LEADER_BINDING, rules, installation, installation.namespace)


def _build_job_rights(installation: Installation) -> Iterator[Manifest]:
    """A Role in each namespace whose jobs are reconciled."""
    rules = _build_rules(installation, Where.JOBS)
    for namespace in installation.watched:
        role, binding = installation.name_in(namespace, ROLE), installation.name_in(namespace, BINDING)
        yield from _bound(role, binding, rules, installation, namespace)


def _build_cluster_rights(installation: Installation) -> tuple[Manifest, ...]:
    """The ClusterRole: what no namespace has, and the rights for jobs only if those of all namespaces are reconciled.
    It has one name in either case, so that `kubectl apply` takes away what is not needed any more."""
    places = (Where.CLUSTER,) if installation.watched else (Where.JOBS, Where.CLUSTER)
    role, binding = installation.cluster_name(ROLE), installation.cluster_name(BINDING)
    return _bound(role, binding, _build_rules(installation, *places), installation, "")


def _build_rules(installation: Installation, *places: Where) -> list[Manifest]:
    """The rules of one place after those of another, as the chart has them."""
    rights = build_rights(installation.kinds, datasets=installation.datasets, sharing=installation.shards > 1)
    return [rule for place in places for rule in build_rules(right for right in rights if right.where is place)]


def _bound(
    role: str, binding: str, rules: list[Manifest], installation: Installation, namespace: str
) -> tuple[Manifest, Manifest]:
    """A role of these rules, and its binding to the operator's account. `namespace`: empty for the whole cluster."""
    kind = "Role" if namespace else "ClusterRole"
    account = rbac.write_account(Key(installation.namespace, ACCOUNT))
    return (
        {"apiVersion": rbac.API_VERSION, "kind": kind, "metadata": _metadata(role, namespace), "rules": rules},
        {
            "apiVersion": rbac.API_VERSION,
            "kind": f"{kind}Binding",
            "metadata": _metadata(binding, namespace),
            "roleRef": rbac.write_role_reference(kind, role),
            "subjects": [account],
        },
    )


def _build_user_rights(installation: Installation) -> tuple[Manifest, ...]:
    """ClusterRoles of users, aggregated to Kubernetes' `edit` and `view`."""
    kinds = (*installation.kinds, *((DATASETS,) if installation.datasets else ()))
    return tuple(
        {
            "apiVersion": rbac.API_VERSION,
            "kind": "ClusterRole",
            "metadata": _metadata(
                installation.cluster_name(f"paddlejob-{user}-role"), labels=_aggregated(installation, whose)
            ),
            "rules": build_user_rules(kinds, user),
        }
        for user, whose in AGGREGATED.items()
    )


def _aggregated(installation: Installation, whose: str) -> dict[str, str]:
    """With kinds of kubeflow.org also to the roles of Kubeflow's users, as training-operator's kubeflow-training-edit
    and -view are (manifests/overlays/kubeflow)."""
    labels = [f"{rbac.AGGREGATE_TO}{whose}"]
    if any(kind.group == "kubeflow.org" for kind in installation.kinds):
        labels.append(f"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{whose}")
    return dict.fromkeys(labels, "true")


def _build_priority_class(installation: Installation) -> Manifest:
    """Its own: clusters may forbid `system-cluster-critical` outside kube-system."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": _metadata(installation.cluster_name(PRIORITY_CLASS)),
        "value": _PRIORITY,
        # It is bound before pods of jobs, and ends none of them to get a place.
        "preemptionPolicy": "Never",
        "description": "The operator of training jobs: without it, no job that fails is restarted.",
    }


def build_network_policy(name: str, namespace: str, labels: Mapping[str, str], port: int, client: str) -> Manifest:
    """Lets pods of namespaces with the label `client` reach `port` of the pods with `labels`, and no pod their other
    ports. The kubelet's probes and `kubectl port-forward` come from the pods' own node, which Kubernetes never shuts
    out (networking.k8s.io/v1). What they ask is not narrowed: the address of an API server is no pod's."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "podSelector": {"matchLabels": dict(labels)},
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "from": [{"namespaceSelector": {"matchLabels": {client: "true"}}}],
                    "ports": [{"protocol": "TCP", "port": port}],
                }
            ],
        },
    }


def _build_deployment(installation: Installation) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(DEPLOYMENT, installation.namespace, labels={**LABELS, **VERSION}),
        "spec": {
            "replicas": installation.replicas,
            "selector": {"matchLabels": dict(LABELS)},
            "template": {"metadata": _pod_metadata(installation), "spec": _pod_spec(installation)},
        },
    }


def _pod_metadata(installation: Installation) -> Manifest:
    seccomp = {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}}
    return {"labels": {**LABELS, **OURS, **VERSION}, **(seccomp if installation.old else {})}


def _pod_spec(installation: Installation) -> Manifest:
    """Fulfils Kubernetes' Pod Security Standard "restricted". A PriorityClass belongs to the whole cluster, so an
    operator with rights in one namespace has none."""
    whole = installation.scope is Scope.CLUSTER
    return {
        "serviceAccountName": ACCOUNT,
        **({"priorityClassName": installation.cluster_name(PRIORITY_CLASS)} if whole else {}),
        "affinity": {"podAntiAffinity": _apart()},
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": build_pod_security(old=installation.old),
        "containers": [_container(installation)],
        **({"volumes": [_build_notices_volume(installation)]} if installation.notices else {}),
    }


def _build_notices_volume(installation: Installation) -> Manifest:
    """A mounted Secret needs no right of the operator's account."""
    return {"name": "notices", "secret": {"secretName": installation.notices, "optional": True}}


def _apart() -> Manifest:
    """Two of them on two nodes; on one where there is no other."""
    term = {"labelSelector": {"matchLabels": dict(OURS)}, "topologyKey": "kubernetes.io/hostname"}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}


def _container(installation: Installation) -> Manifest:
    """The memory limit is paddle-operator's. Its CPU limit of 100m made it slow; one process can use one core."""
    ports = (("metrics", METRICS_PORT), ("health", HEALTH_PORT))
    return {
        "name": CONTAINER,
        "image": installation.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["paddock", "operator"],
        "args": installation.arguments,
        **({"env": [{"name": IMAGE_VARIABLE, "value": installation.image}]} if installation.datasets else {}),
        "ports": [{"name": name, "containerPort": port} for name, port in ports],
        "livenessProbe": _probe("/healthz", delay=15, period=20),
        "readinessProbe": _probe("/readyz", delay=1, period=5),
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "300Mi"},
        },
        "securityContext": build_container_security(),
        **({"volumeMounts": [dict(_NOTICES_MOUNT)]} if installation.notices else {}),
    }


_NOTICES_MOUNT: Manifest = {"name": "notices", "mountPath": NOTICES_DIRECTORY, "readOnly": True}


def build_pod_security(*, old: bool = False) -> Manifest:
    """`old`: the field of seccomp came with Kubernetes 1.19."""
    seccomp = {} if old else {"seccompProfile": {"type": "RuntimeDefault"}}
    return {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, **seccomp}


def build_container_security() -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _probe(path: str, *, delay: int, period: int) -> Manifest:
    return {"httpGet": {"path": path, "port": "health"}, "initialDelaySeconds": delay, "periodSeconds": period}


def _metadata(name: str, namespace: str = "", labels: Mapping[str, str] = OURS) -> Manifest:
    where = {"namespace": namespace} if namespace else {}
    return {"name": name, **where, "labels": {**labels, **OURS}}
