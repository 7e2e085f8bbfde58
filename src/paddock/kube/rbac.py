"""RBAC as values: a rule, the role that a binding names and its subjects, read from manifests and written. Pure.

Source: rbac.authorization.k8s.io/v1. What a user may do is in `apiserver.access`, what the operator needs in
`install.rights`; nobody else knows these forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from paddock.kube.meta import Key, Manifest, Resource

GROUP = "rbac.authorization.k8s.io"
API_VERSION = f"{GROUP}/v1"
AGGREGATE_TO = f"{GROUP}/aggregate-to-"
"""How the label begins by which Kubernetes' own role of that name takes over a ClusterRole."""
ROLES = Resource(GROUP, "v1", "Role", "roles")
ROLE_BINDINGS = Resource(GROUP, "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLES = Resource(GROUP, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)

ALL = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """rbac/v1 PolicyRule."""

    verbs: frozenset[str]
    groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Empty: of any name."""
    paths: frozenset[str] = frozenset()
    """Of what is no resource, `/healthz`, or `/healthz/*` for all below it."""

    def concerns(self, verb: str, group: str, resource: str) -> bool:
        """Whether it allows the verb on objects of a resource (`pods`, `pods/log`), be it on those of some names."""
        return has(self.verbs, verb) and has(self.groups, group) and not self.resources.isdisjoint(_names_of(resource))

    def allows(self, verb: str, group: str, resource: str, name: str = "") -> bool:
        """The same of one object; `name` is empty where none is named, as for create, list and watch."""
        return self.concerns(verb, group, resource) and (not self.names or name in self.names)

    def allows_path(self, verb: str, path: str) -> bool:
        return has(self.verbs, verb) and any(covers_path(each, path) for each in self.paths)

    def build(self) -> Manifest:
        """As in a SelfSubjectRulesReview."""
        fields = zip(_FIELDS, (self.verbs, self.groups, self.resources, self.names, self.paths), strict=True)
        return {name: sorted(values) for name, values in fields if values}


_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def has(found: frozenset[str], wanted: str) -> bool:
    return ALL in found or wanted in found


def _names_of(resource: str) -> set[str]:
    """How rules name a resource: `*`, `pods/log`, `*/log`."""
    _, found, subresource = resource.partition("/")
    return {ALL, resource} | ({f"*/{subresource}"} if found else set())


def covers_path(have: str, asked: str) -> bool:
    return have in (ALL, asked) or (have.endswith("*") and asked.startswith(have.removesuffix("*")))


def read_rules(rules: Any) -> tuple[Rule, ...]:
    """The rules of a role or of a review, whatever stands there."""
    return tuple(Rule(*(_texts(each.get(field)) for field in _FIELDS)) for each in _mappings(rules))


def write_rule(group: str, resources: Iterable[str], verbs: Iterable[str], *, names: Sequence[str] = ()) -> Manifest:
    """A rule of a manifest, in the order in which people write one."""
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": list(resources), **named, "verbs": list(verbs)}


def write_path_rule(paths: Iterable[str], verbs: Iterable[str]) -> Manifest:
    return {"verbs": list(verbs), "nonResourceURLs": list(paths)}


class RoleReference(NamedTuple):
    """The role of a binding. `kind` is empty for one of another API group, which grants nothing."""

    kind: str
    name: str


def read_role_reference(binding: Mapping[str, Any]) -> RoleReference:
    reference = binding.get("roleRef") or {}
    ours = reference.get("apiGroup") in (None, "", GROUP)
    return RoleReference(str(reference.get("kind")) if ours else "", str(reference.get("name")))


def write_role_reference(kind: str, name: str) -> Manifest:
    return {"apiGroup": GROUP, "kind": kind, "name": name}


class Subject(NamedTuple):
    """Whom a binding names: a User, a Group, or a ServiceAccount, which alone has a namespace."""

    kind: str
    name: str
    namespace: str = ""


def read_subjects(binding: Mapping[str, Any], namespace: str) -> Iterator[Subject]:
    """Subjects of another API group than Kubernetes' own are nobody. `namespace`: of the binding, for accounts that
    name none."""
    for each in _mappings(binding.get("subjects")):
        kind, name, group = str(each.get("kind")), str(each.get("name")), each.get("apiGroup")
        if kind == "ServiceAccount" and group in (None, ""):
            yield Subject(kind, name, str(each.get("namespace") or namespace))
        elif kind in ("User", "Group") and group in (None, "", GROUP):
            yield Subject(kind, name)


def write_account(account: Key) -> Manifest:
    """A service account as a subject."""
    return {"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}


def write_group(name: str) -> Manifest:
    return {"apiGroup": GROUP, "kind": "Group", "name": name}


def _mappings(value: Any) -> Iterable[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list | tuple) else ()


def _texts(value: Any) -> frozenset[str]:
    return frozenset(str(each) for each in value) if isinstance(value, list | tuple) else frozenset()
