"""The operator's RBAC rights as one table, each with the request that needs it: the rules of its Roles and ClusterRole.

They are the minimum. Every new kind of request of the operator needs a line here, or clusters with `deploy/` refuse it;
tests/operator/test_rights.py lets an operator live with exactly these rights. `make reference` writes docs/rights.md
from the table. `USERS` has the rights of users. The Roles are built in `install.deployment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from paddock.jobs.apis.registry import SCALED
from paddock.kube.meta import (
    AUTOSCALERS,
    BATCH_JOBS,
    CLAIMS,
    CONFIG_MAPS,
    DATASETS,
    EVENTS,
    KUBERNETES_POD_GROUPS,
    LEASES,
    NODES,
    POD_GROUPS,
    PODS,
    SERVICES,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
)
from paddock.kube.rbac import write_rule

LEASE = "b2a304f2.paddlepaddle.org"
"""Name of the leader's Lease: paddle-operator's, so that it and this operator never both reconcile."""


MOST_SHARDS = 64
"""Into how many shards the namespaces can be divided."""


class Where(Enum):
    """The namespaces in which a right is needed."""

    JOBS = "in each namespace whose jobs are run"
    OWN = "in the operator's own namespace"
    CLUSTER = "of the cluster, in no namespace"


@dataclass(frozen=True, slots=True)
class Right:
    """One right of RBAC."""

    resource: Resource
    verbs: tuple[str, ...]
    request: str  # what the operator asks for with it
    subresource: str = ""
    name: str = ""  # for the object of this name only
    where: Where = Where.JOBS

    @property
    def plural(self) -> str:
        """The resource as a rule of RBAC writes it: `paddlejobs/status`."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


_MIRROR = ("list", "watch")
_TAKEN = "a create was refused, as there is one of this name that the cache lacks: whose is it?"


def build_rights(kinds: Iterable[Resource], *, datasets: bool = False, sharing: bool = False) -> tuple[Right, ...]:
    """The rights of an operator that serves these kinds of job, and Datasets if it does. `sharing`: with `--shards`."""
    served = tuple(kinds)
    of_jobs = (right for kind in served for right in _of_jobs(kind))
    scaling = _OF_SCALING if set(served) & set(SCALED) else ()
    of_datasets = OF_DATASETS if datasets else ()
    return (
        *of_jobs,
        *_OF_CHILDREN,
        *of_datasets,
        *scaling,
        *_OF_THE_CLUSTER,
        *_OF_LEADING,
        *(OF_SHARING if sharing else ()),
    )


def _of_jobs(kind: Resource) -> tuple[Right, ...]:
    return (
        Right(kind, _MIRROR, "the cache of jobs: their events begin reconciles"),
        Right(kind, ("get",), "each reconcile reads its job"),
        Right(
            kind,
            ("patch",),
            "paddle-operator's finalizer is taken off; the annotation paddock.dev/halted; the suspension that "
            "paddock.dev/idle asks for",
        ),
        Right(kind, ("delete",), "a finished job's ttlSecondsAfterFinished has passed"),
        Right(kind, ("patch",), "what is decided is recorded", "status"),
        Right(
            kind,
            ("update",),
            "none; the API server looks for it where owner references block deletion "
            "(OwnerReferencesPermissionEnforcement)",
            "finalizers",
        ),
    )


def _of_pod_groups(resource: Resource, flag: str) -> tuple[Right, ...]:
    return (
        Right(resource, _MIRROR, f"the cache of PodGroups, with {flag}"),
        Right(resource, ("get",), _TAKEN),
        Right(resource, ("create",), f"the gang of a job, with {flag}"),
        Right(resource, ("patch",), "the job was resized"),
        Right(resource, ("delete",), "the job has ended or is suspended"),
    )


_OF_CHILDREN = (
    Right(PODS, _MIRROR, "the cache of pods: what the ranks do"),
    Right(PODS, ("get",), "a pod that the cache lacks is looked for before its absence decides anything"),
    Right(PODS, ("create",), "the ranks"),
    Right(PODS, ("patch",), "a kubelet is told that the ConfigMap of its pod is there"),
    Right(PODS, ("delete",), "a gang restarts, is suspended or cleaned up; a pod on a lost node"),
    Right(SERVICES, _MIRROR, "the cache of Services"),
    Right(SERVICES, ("get",), _TAKEN),
    Right(SERVICES, ("create",), "the ranks' names"),
    Right(SERVICES, ("delete",), "the job has ended, is suspended or has fewer ranks"),
    Right(CONFIG_MAPS, _MIRROR, "the cache of ConfigMaps"),
    Right(CONFIG_MAPS, ("get",), _TAKEN),
    Right(CONFIG_MAPS, ("create",), "the endpoints of an attempt"),
    Right(CONFIG_MAPS, ("delete",), "the endpoints of an earlier attempt"),
    *_of_pod_groups(POD_GROUPS, "--scheduling=scheduler-plugins"),
    *_of_pod_groups(VOLCANO_POD_GROUPS, "--scheduling=volcano"),
    *_of_pod_groups(KUBERNETES_POD_GROUPS, "--scheduling=kubernetes"),
    Right(EVENTS, ("create",), "what `kubectl describe` shows of a job"),
    Right(EVENTS, ("get", "patch"), "what was said before is said again: its count"),
)

_OF_SCALING = (
    Right(AUTOSCALERS, _MIRROR, "the cache of autoscalers"),
    Right(AUTOSCALERS, ("get",), _TAKEN),
    Right(AUTOSCALERS, ("create",), "the autoscaler of an elastic job with metrics"),
    Right(AUTOSCALERS, ("patch",), "its elasticPolicy was edited"),
    Right(AUTOSCALERS, ("delete",), "the job has ended, is suspended or asks for no metrics any more"),
)

OF_DATASETS = (
    Right(DATASETS, _MIRROR, "the cache of Datasets: what is to be fetched, and which jobs wait"),
    Right(DATASETS, ("get",), "the finalizers that are there, before one is added or taken off"),
    Right(DATASETS, ("patch",), "the finalizer that holds a Dataset while pods mount it"),
    Right(DATASETS, ("patch",), "how far it is", "status"),
    Right(
        DATASETS,
        ("update",),
        "none; the API server looks for it where owner references block deletion "
        "(OwnerReferencesPermissionEnforcement)",
        "finalizers",
    ),
    Right(CLAIMS, ("get",), "whether the claim of a Dataset is there, and bound"),
    Right(
        CLAIMS,
        ("list",),
        "whether the claims of Datasets are there still; of a source claim://NAME that is not there: the nearest name",
    ),
    Right(CLAIMS, ("create",), "the claim of a Dataset"),
    Right(CLAIMS, ("delete",), "the Dataset was deleted"),
    Right(BATCH_JOBS, ("list",), "the Jobs of a Dataset, and how far they are"),
    Right(BATCH_JOBS, ("create",), "the Job that fetches into the claim"),
    Right(BATCH_JOBS, ("delete",), "the Dataset was deleted or has another source; a failed Job is tried again"),
    Right(PODS, ("get",), "the last lines that the pod of that Job has printed: its progress", "log"),
    Right(EVENTS, ("list",), "why a claim has no volume, and why a pod that fetches does not start"),
)
"""With `--datasets` alone. No right to read Secrets: a pod that fetches gets its Secret from the kubelet."""

OF_LOGS = (
    Right(PODS, ("get",), "the last line that each rank of a job with paddock.dev/silent has printed, and when", "log"),
)
"""Of the Role that `paddock manifests logs` prints, and of no other. What programs print may be confidential, so who
installs the operator decides on it. Whether the operator has the right, it asks by a SelfSubjectAccessReview, which
Kubernetes allows every account (`system:basic-user`)."""


def build_keeper_rights(kinds: Iterable[Resource]) -> tuple[Right, ...]:
    """The rights of a console that keeps runs and logs of these kinds of job (`paddock manifests console --keep`): an
    account of its own, not the operator's. Its readers have none by it: each is shown what the API lets their own
    token see."""
    return (
        *(Right(kind, _MIRROR, "the record of each run: how it stands, and that it is deleted") for kind in kinds),
        Right(PODS, _MIRROR, "which pods of jobs run, end or are about to go"),
        Right(PODS, ("get",), "what the ranks have printed", "log"),
    )


_OF_THE_CLUSTER = (
    Right(
        NODES,
        ("get",),
        "whether the node of a pod that does not start or end is lost; without this right no pod is deleted by force",
        where=Where.CLUSTER,
    ),
)

_OF_LEADING = (
    Right(LEASES, ("create",), "the first operator leads; RBAC cannot name what is not there yet", where=Where.OWN),
    Right(LEASES, ("get", "update"), "who leads, and that it still does", name=LEASE, where=Where.OWN),
)

OF_SHARING = (
    Right(LEASES, ("list",), "who else is there, and who leads which shard", where=Where.OWN),
    Right(LEASES, ("get", "update"), "the shards that it leads, and that it is there", where=Where.OWN),
    Right(LEASES, ("delete",), "the sign that it is there, as it ends; that of another that is gone", where=Where.OWN),
)
"""With `--shards` alone. RBAC can name no Leases here: each operator has one, whose name is the process's own."""


def allows(rights: Iterable[Right], verb: str, resource: Resource, subresource: str = "", name: str = "") -> bool:
    """Whether a right covers a request. `name`: empty for create, list and watch."""
    return any(
        verb in right.verbs
        and (right.resource.group, right.resource.plural) == (resource.group, resource.plural)
        and right.subresource == subresource
        and right.name in ("", name)
        for right in rights
    )


_ORDER = ("get", "list", "watch", "create", "update", "patch", "delete")


def build_rules(rights: Iterable[Right]) -> list[Manifest]:
    """The `rules` of a Role or ClusterRole: resources of one group with the same verbs share a rule."""
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for right in rights:
        verbs.setdefault((right.resource.group, right.plural, right.name), set()).update(right.verbs)
    rules: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (group, plural, name), found in verbs.items():
        rules.setdefault((group, tuple(sorted(found, key=_ORDER.index)), name), []).append(plural)
    return [
        write_rule(group, plurals, ordered, names=(name,) if name else ())
        for (group, ordered, name), plurals in rules.items()
    ]


USERS: Mapping[str, Sequence[str]] = {
    "editor": ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    "viewer": ("get", *_MIRROR),
}
"""Users' verbs on jobs, by the names of Kubebuilder's two roles."""

AGGREGATED: Mapping[str, str] = {"editor": "edit", "viewer": "view"}
"""Our role -> the ClusterRole of Kubernetes that aggregates it (`admin` gets it through `edit`)."""


def build_user_rules(kinds: Sequence[Resource], user: str) -> list[Manifest]:
    """The rules of one of `USERS`; the subresource `status` needs its own rule."""
    rules: list[Manifest] = []
    for kind in kinds:
        rules.append(write_rule(kind.group, (kind.plural,), USERS[user]))
        rules.append(write_rule(kind.group, (f"{kind.plural}/status",), ("get",)))
    return rules
