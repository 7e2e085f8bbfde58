"""Kinds that stand beside a job in its file: its rights, quota, queue, network. They are sent as they are written.

The laptop's API serves few of them; what it does not serve is left out there (`submission.dry_run`).
"""

from __future__ import annotations

from paddock.kube.meta import DEPLOYMENTS, LIMIT_RANGES, RESOURCE_QUOTAS, Resource

_RBAC, _KUEUE, _PROMETHEUS = "rbac.authorization.k8s.io", "kueue.x-k8s.io", "monitoring.coreos.com"


def _of_cluster(group: str, version: str, kind: str, plural: str) -> Resource:
    return Resource(group, version, kind, plural, namespaced=False)


COMPANIONS: tuple[Resource, ...] = (
    RESOURCE_QUOTAS,
    LIMIT_RANGES,
    Resource(_RBAC, "v1", "Role", "roles"),
    Resource(_RBAC, "v1", "RoleBinding", "rolebindings"),
    _of_cluster(_RBAC, "v1", "ClusterRole", "clusterroles"),
    _of_cluster(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings"),
    Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
    Resource("networking.k8s.io", "v1", "Ingress", "ingresses"),
    Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    _of_cluster("storage.k8s.io", "v1", "StorageClass", "storageclasses"),
    *(
        each
        for version in ("v1beta1", "v1beta2")
        for each in (
            Resource(_KUEUE, version, "LocalQueue", "localqueues"),
            _of_cluster(_KUEUE, version, "ClusterQueue", "clusterqueues"),
            _of_cluster(_KUEUE, version, "ResourceFlavor", "resourceflavors"),
            _of_cluster(_KUEUE, version, "WorkloadPriorityClass", "workloadpriorityclasses"),
        )
    ),
    _of_cluster("scheduling.volcano.sh", "v1beta1", "Queue", "queues"),
    Resource(_PROMETHEUS, "v1", "PodMonitor", "podmonitors"),
    Resource(_PROMETHEUS, "v1", "ServiceMonitor", "servicemonitors"),
)
"""Kinds that train nothing, so they are known in any file."""

SERVICES: tuple[Resource, ...] = (
    DEPLOYMENTS,
    Resource("apps", "v1", "StatefulSet", "statefulsets"),
    Resource("apps", "v1", "DaemonSet", "daemonsets"),
)
"""Kinds that run programs, known beside a job alone: a TensorBoard, say. Without a job its writer may mean training."""
