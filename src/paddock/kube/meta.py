"""What all Kubernetes objects have: resource, key, metadata, owner references.

Objects are `Manifest`s, plain dictionaries with the API's JSON. The functions read or build one and never change their
arguments. `Resource` builds the API paths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Manifest = dict[str, Any]
"""A Kubernetes object as JSON: `apiVersion`, `kind`, `metadata`, and the fields of its kind."""


class Key(NamedTuple):
    """Identifies an object of a resource. `namespace` is empty for cluster-scoped objects."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API serves it: `Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")`."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`paddlejobs.batch.paddlepaddle.org`, `pods`: the name in messages and RBAC, and of the CRD."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The request path; without a namespace, the collection over all namespaces."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        return "/" + "/".join(part for part in (*parts, name, subresource) if part)


PODS = Resource("", "v1", "Pod", "pods")
SERVICES = Resource("", "v1", "Service", "services")
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps")
SECRETS = Resource("", "v1", "Secret", "secrets")
EVENTS = Resource("", "v1", "Event", "events")
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
NODES = Resource("", "v1", "Node", "nodes", namespaced=False)
SERVICE_ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts")
VOLUMES = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
BATCH_JOBS = Resource("batch", "v1", "Job", "jobs")
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments")
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases")
CRDS = Resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
RESOURCE_QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGES = Resource("", "v1", "LimitRange", "limitranges")
POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups")
VOLCANO_POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
KUBERNETES_POD_GROUPS = Resource("scheduling.k8s.io", "v1beta1", "PodGroup", "podgroups")
AUTOSCALERS = Resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
ENVIRONMENTS = Resource("paddock.dev", "v1alpha1", "Environment", "environments", namespaced=False)
DATASETS = Resource("paddock.dev", "v1alpha1", "Dataset", "datasets")


def metadata(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata; empty if it is missing or not a mapping."""
    found = manifest.get("metadata")
    # Read some hundred times a job: a dict needs no question to the abstract class, which takes longer than the rest.
    return found if type(found) is dict or isinstance(found, Mapping) else {}


def name_of(manifest: Mapping[str, Any]) -> str:
    return str(metadata(manifest).get("name") or "")


def namespace_of(manifest: Mapping[str, Any]) -> str:
    return str(metadata(manifest).get("namespace") or "")


def key_of(manifest: Mapping[str, Any]) -> Key:
    return Key(namespace_of(manifest), name_of(manifest))


def uid_of(manifest: Mapping[str, Any]) -> str:
    return str(metadata(manifest).get("uid") or "")


def version_of(manifest: Mapping[str, Any]) -> str:
    """The resourceVersion, an opaque string; empty if the object was never stored."""
    return str(metadata(manifest).get("resourceVersion") or "")


def is_newer(version: str, than: str) -> bool:
    """Whether an object's resourceVersion is known to be a later one. Kubernetes calls them comparable as numbers since
    1.35 (KEP-5504), and etcd's always were; of versions that are no numbers nothing is known."""
    return version.isdecimal() and than.isdecimal() and int(version) > int(than)


def labels_of(manifest: Mapping[str, Any]) -> Mapping[str, str]:
    return metadata(manifest).get("labels") or {}


def annotations_of(manifest: Mapping[str, Any]) -> Mapping[str, str]:
    return metadata(manifest).get("annotations") or {}


def is_deleting(manifest: Mapping[str, Any]) -> bool:
    return bool(metadata(manifest).get("deletionTimestamp"))


def owner_reference(owner: Mapping[str, Any]) -> Manifest:
    """A controller's ownerReference to `owner`: garbage collection deletes the children with it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The ownerReference with `controller: true`; Kubernetes allows one."""
    owners: Sequence[Mapping[str, Any]] = metadata(manifest).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def is_controlled_by(manifest: Mapping[str, Any], uid: str) -> bool:
    """Whether the controller has this UID. Never compared by name: a new object can have the name of a deleted one."""
    owner = controller_of(manifest)
    return bool(uid) and owner is not None and owner.get("uid") == uid
