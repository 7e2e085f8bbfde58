"""The rules of RBAC: what one allows, and which rules cover others. Pure.

Source: Kubernetes, rbac/v1 and its evaluation helpers; escalation is prevented as by pkg/registry/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from paddock.apiserver.access.attributes import Attributes
from paddock.kube.meta import Manifest

ALL = "*"
_MOST_COMPARED = 50_000
"""Pairs of rules: what others wait for is no product of numbers that a user chooses."""


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

    def allows(self, asked: Attributes) -> bool:
        if not _has(self.verbs, asked.verb):
            return False
        if asked.path:
            return any(_covers_path(path, asked.path) for path in self.paths)
        resources = {ALL, asked.whole_resource} | ({f"*/{asked.subresource}"} if asked.subresource else set())
        return (
            _has(self.groups, asked.group)
            and not self.resources.isdisjoint(resources)
            and (not self.names or asked.name in self.names)
        )

    def build(self) -> Manifest:
        """As in a SelfSubjectRulesReview."""
        fields = {
            "verbs": self.verbs, "apiGroups": self.groups, "resources": self.resources, "resourceNames": self.names,
            "nonResourceURLs": self.paths,
        }  # fmt: skip
        return {name: sorted(values) for name, values in fields.items() if values}


def read_rules(role: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole, whatever stands there."""
    return tuple(Rule(*(_texts(each.get(field)) for field in _FIELDS)) for each in _mappings(role.get("rules")))


_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def find_uncovered(wanted: Sequence[Rule], have: Sequence[Rule]) -> Manifest | None:
    """The first part of `wanted` that no rule of `have` allows, as a rule; None where all is covered. Who grants a role
    must hold what it grants. A role with more parts than can be compared counts as not covered."""
    held, left = frozenset(have), _MOST_COMPARED
    for rule in wanted:
        if rule in held:  # as it stands: each of its parts is covered
            continue
        for part in _split(rule):
            left -= 1 + len(have)
            if left < 0:
                return rule.build()
            if not any(_covers(each, part) for each in have):
                return part.build()
    return None


def _split(rule: Rule) -> Iterator[Rule]:
    """One rule for each verb, group, resource and name: one rule of `have` allows each of them, or none does."""
    for verb, path in product(rule.verbs, rule.paths):
        yield Rule(frozenset({verb}), paths=frozenset({path}))
    for verb, group, resource, name in product(rule.verbs, rule.groups, rule.resources, rule.names or ("",)):
        names = frozenset({name} if name else ())
        yield Rule(frozenset({verb}), frozenset({group}), frozenset({resource}), names)


def _covers(have: Rule, part: Rule) -> bool:
    """Whether a rule allows all that `part`, of one verb, group, resource and name, allows."""
    (verb,) = part.verbs
    if not _has(have.verbs, verb):
        return False
    if part.paths:
        (path,) = part.paths
        return any(_covers_path(each, path) for each in have.paths)
    (group,), (resource,) = part.groups, part.resources
    _, found, subresource = resource.partition("/")
    covering = {ALL, resource} | ({f"*/{subresource}"} if found else set())
    return (
        _has(have.groups, group)
        and not have.resources.isdisjoint(covering)
        and (not have.names or (bool(part.names) and part.names <= have.names))
    )


def _covers_path(have: str, asked: str) -> bool:
    return have in (ALL, asked) or (have.endswith("*") and asked.startswith(have.removesuffix("*")))


def _has(found: frozenset[str], wanted: str) -> bool:
    return ALL in found or wanted in found


def _mappings(value: Any) -> Iterable[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else ()


def _texts(value: Any) -> frozenset[str]:
    return frozenset(str(each) for each in value) if isinstance(value, list) else frozenset()
