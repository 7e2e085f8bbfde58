"""The rights of all users: an index of the stored roles and bindings, by subject, that follows each change of them.

A question costs what the asking user's own bindings have, and no more. Source: Kubernetes,
plugin/pkg/auth/authorizer/rbac.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.apiserver.access.attributes import Attributes
from paddock.apiserver.access.rules import allows
from paddock.apiserver.access.users import User, name_account
from paddock.kube.meta import Key, Manifest, labels_of, name_of, namespace_of
from paddock.kube.rbac import GROUP, Rule, Subject, read_role_reference, read_rules, read_subjects
from paddock.kube.selectors import match_selector

KEYS = frozenset(f"{GROUP}/{plural}" for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings"))
"""The storage keys of what is indexed."""


MOST_ASKED = 100_000
"""Selectors of one aggregated role, of those that it takes over and so on, asked about labels of roles, in 0.1 s: what
others wait for is no product of numbers that a user chooses. What is not asked grants nothing."""
_NOWHERE = "-"
"""The name of no namespace."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A RoleBinding, or a ClusterRoleBinding, whose namespace is empty. One of another kind of role grants nothing."""

    key: Key
    role_kind: str
    role: str
    subjects: frozenset[Subject]

    @property
    def role_key(self) -> Key:
        """Of the role, whose namespace is empty for a ClusterRole; a Role of no namespace is none."""
        if self.role_kind == "ClusterRole":
            return Key("", self.role)
        return Key(self.key.namespace or _NOWHERE, self.role if self.role_kind == "Role" else "")

    def describe(self) -> str:
        """As Kubernetes gives the reason of a right."""
        kind = "RoleBinding" if self.key.namespace else "ClusterRoleBinding"
        name = f"{self.key.name}/{self.key.namespace}" if self.key.namespace else self.key.name
        return f'RBAC: allowed by {kind} "{name}" of {self.role_kind} "{self.role}"'


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a question. `reason` says which binding allows it; empty where none does."""

    allowed: bool
    reason: str = ""


def read_binding(manifest: Manifest) -> Binding:
    reference, namespace = read_role_reference(manifest), namespace_of(manifest)
    subjects = frozenset(map(_find_subject, read_subjects(manifest, namespace)))
    return Binding(Key(namespace, name_of(manifest)), reference.kind, reference.name, subjects)


def _find_subject(subject: Subject) -> Subject:
    """A service account is a user of its own name."""
    if subject.kind != "ServiceAccount":
        return subject
    return Subject("User", name_account(Key(subject.namespace, subject.name)))


class Rights:
    """Empty at first; `put` and `remove` keep it as what is stored."""

    def __init__(self, most_asked: int = MOST_ASKED) -> None:
        self._most_asked = most_asked
        self._rules: dict[Key, tuple[Rule, ...]] = {}
        self._labels: dict[Key, Mapping[str, str]] = {}
        """Of the roles of the cluster: no other is taken over, however many a namespace has."""
        self._selectors: dict[Key, tuple[Mapping[str, Any], ...]] = {}
        self._resolved: dict[Key, tuple[Rule, ...]] = {}
        self._bindings: dict[Key, Binding] = {}
        self._of_subject: defaultdict[tuple[Subject, str], dict[Key, None]] = defaultdict(dict)
        """By the namespace of the bindings too: those of other namespaces cost a question nothing."""

    def put(self, plural: str, manifest: Manifest) -> None:
        """A stored role or binding, new or changed."""
        key = Key(namespace_of(manifest), name_of(manifest))
        self.remove(plural, key)
        if plural.endswith("bindings"):
            binding = self._bindings[key] = read_binding(manifest)
            for subject in binding.subjects:
                self._of_subject[subject, key.namespace][key] = None
            return
        self._rules[key] = read_rules(manifest.get("rules"))
        if key.namespace:
            return
        self._labels[key] = labels_of(manifest)
        if selectors := (manifest.get("aggregationRule") or {}).get("clusterRoleSelectors"):
            self._selectors[key] = tuple(each for each in selectors if _is_selector(each))

    def remove(self, plural: str, key: Key) -> None:
        if not plural.endswith("bindings"):
            self._forget(key)
            self._rules.pop(key, None)
            self._labels.pop(key, None)
            self._selectors.pop(key, None)
            return
        if (binding := self._bindings.pop(key, None)) is not None:
            for subject in binding.subjects:
                of_subject = self._of_subject[subject, key.namespace]
                of_subject.pop(key, None)
                if not of_subject:
                    del self._of_subject[subject, key.namespace]

    def _forget(self, role: Key) -> None:
        """What was found of it, and where it may be taken over, of all."""
        if role.namespace:
            self._resolved.pop(role, None)
        else:
            self._resolved.clear()

    def has(self, role: Key) -> bool:
        return role in self._rules

    def find_rules(self, role: Key) -> tuple[Rule, ...]:
        """Of a role; those of a ClusterRole that aggregates others include theirs. None of one that does not exist."""
        if role not in self._resolved:
            self._resolved[role] = tuple(dict.fromkeys((*self._rules.get(role, ()), *self._list_aggregated(role))))
        return self._resolved[role]

    def _list_aggregated(self, role: Key) -> Iterator[Rule]:
        """The rules of the roles that it takes over, of those that they take over, and so on."""
        found, waiting, left = {role}, [role], self._most_asked
        while waiting:
            matches = [match_selector(selector) for selector in self._selectors.get(waiting.pop(), ())]
            for key, labels in self._labels.items() if matches else ():
                left -= len(matches)
                if left < 0:
                    return
                if key not in found and any(match(labels) for match in matches):
                    found.add(key)
                    waiting.append(key)
                    yield from self._rules[key]

    def decide(self, user: User, asked: Attributes) -> Decision:
        """Whether RBAC allows it. Who may do everything is not asked for here (`User.may_everything`)."""
        for binding in self._find_bindings(user, asked.namespace):
            if any(allows(rule, asked) for rule in self.find_rules(binding.role_key)):
                return Decision(True, binding.describe())
        return Decision(False)

    def list_rules(self, user: User, namespace: str) -> tuple[Rule, ...]:
        """All that a user may do in a namespace, and of what has none."""
        bindings = self._find_bindings(user, namespace)
        return tuple(dict.fromkeys(rule for each in bindings for rule in self.find_rules(each.role_key)))

    def _find_bindings(self, user: User, namespace: str) -> Iterator[Binding]:
        """Those of the cluster first, as Kubernetes looks at them."""
        subjects = (Subject("User", user.name), *(Subject("Group", group) for group in user.groups))
        roles = set[Key]()
        for wanted in ("", namespace) if namespace else ("",):
            for subject in subjects:
                for key in self._of_subject.get((subject, wanted), ()):
                    binding = self._bindings[key]
                    # A second binding of one role allows nothing more.
                    if binding.role_key not in roles:
                        roles.add(binding.role_key)
                        yield binding


def _is_selector(selector: Any) -> bool:
    """Whether it can be asked: one that cannot takes over nothing."""
    try:
        match_selector(selector)({})
    except (ValueError, TypeError, AttributeError, KeyError):
        return False
    return True
