"""The operator's RBAC rights as one table, with the reason of each: the rules of its ClusterRole and Role.

They are the minimum. Every new kind of request of the operator needs a line here, or clusters with `deploy/` refuse it;
tests/kubernetes/test_rights.py checks this. `USERS` has the rights of users. The Roles are built in
`jobs.install.deployment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from paddock.kube.meta import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NODES,
    POD_GROUPS,
    PODS,
    SERVICES,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
)

LEASE = "b2a304f2.paddlepaddle.org"
"""Name of the leader's Lease: paddle-operator's, so that it and this operator never both reconcile."""


class Where(Enum):
    """The namespaces in which a right is needed."""

    JOBS = "wherever there are jobs"
    OWN = "in the operator's own namespace"
    CLUSTER = "of the cluster, in no namespace"


@dataclass(frozen=True, slots=True)
class Right:
    """One right of RBAC. `name`: for the object of this name only."""

    resource: Resource
    verbs: tuple[str, ...]
    reason: str
    subresource: str = ""
    name: str = ""
    where: Where = Where.JOBS

    @property
    def plural(self) -> str:
        """As a rule of RBAC writes it: `paddlejobs/status`."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


_MIRROR = ("get", "list", "watch")


def build_rights(kinds: Iterable[Resource]) -> tuple[Right, ...]:
    """The rights of an operator that serves these kinds of job."""
    return (*(right for kind in kinds for right in _of_jobs(kind)), *_OF_CHILDREN, *_OF_THE_CLUSTER, *_OF_LEADING)


def _of_jobs(kind: Resource) -> tuple[Right, ...]:
    return (
        Right(kind, (*_MIRROR, "patch", "delete"), "patch: a former operator's finalizer is taken off; delete: TTL"),
        Right(kind, ("patch",), "what is decided is recorded", "status"),
        Right(
            kind, ("update",), "owner references block deletion (OwnerReferencesPermissionEnforcement)", "finalizers"
        ),
    )


_OF_CHILDREN = (
    Right(PODS, (*_MIRROR, "create", "patch", "delete"), "the ranks; patch: a kubelet is told of their ConfigMap"),
    Right(SERVICES, (*_MIRROR, "create", "delete"), "the ranks' names"),
    Right(CONFIG_MAPS, (*_MIRROR, "create", "delete"), "the endpoints of an attempt"),
    Right(POD_GROUPS, (*_MIRROR, "create", "patch", "delete"), "gangs; patch: a resized job's"),
    Right(VOLCANO_POD_GROUPS, (*_MIRROR, "create", "patch", "delete"), "gangs of Volcano; patch: a resized job's"),
    Right(EVENTS, ("get", "create", "patch"), "what `kubectl describe` shows; get, patch: the count of a repeated one"),
)

_OF_THE_CLUSTER = (
    Right(NODES, ("get",), "a pod that cannot end as its node is gone is deleted by force", where=Where.CLUSTER),
)

_OF_LEADING = (
    Right(LEASES, ("create",), "one operator leads; RBAC cannot name what is not there yet", where=Where.OWN),
    Right(LEASES, ("get", "update"), "one operator leads", name=LEASE, where=Where.OWN),
)


def allows(rights: Iterable[Right], verb: str, resource: Resource, subresource: str = "", name: str = "") -> bool:
    """Whether a right covers a request. `name`: empty for create, list and watch."""
    return any(
        verb in right.verbs
        and (right.resource.group, right.resource.plural) == (resource.group, resource.plural)
        and right.subresource == subresource
        and right.name in ("", name)
        for right in rights
    )


def build_rules(rights: Iterable[Right]) -> list[Manifest]:
    """The `rules` of a Role or ClusterRole: resources of one group with the same verbs share a rule."""
    rules: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for right in rights:
        rules.setdefault((right.resource.group, right.verbs, right.name), []).append(right.plural)
    return [
        {
            "apiGroups": [group],
            "resources": plurals,
            **({"resourceNames": [name]} if name else {}),
            "verbs": list(verbs),
        }
        for (group, verbs, name), plurals in rules.items()
    ]


USERS: Mapping[str, Sequence[str]] = {
    "editor": ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    "viewer": _MIRROR,
}
"""Users' verbs on jobs, by the names of Kubebuilder's two roles."""

AGGREGATED: Mapping[str, str] = {"editor": "edit", "viewer": "view"}
"""Our role -> the ClusterRole of Kubernetes that aggregates it (`admin` gets it through `edit`)."""


def build_user_rules(kinds: Sequence[Resource], user: str) -> list[Manifest]:
    """The rules of one of `USERS`; the subresource `status` needs its own rule."""
    rules: list[Manifest] = []
    for kind in kinds:
        rules.append({"apiGroups": [kind.group], "resources": [kind.plural], "verbs": list(USERS[user])})
        rules.append({"apiGroups": [kind.group], "resources": [f"{kind.plural}/status"], "verbs": ["get"]})
    return rules
