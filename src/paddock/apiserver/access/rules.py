"""The rules of RBAC (`kube.rbac`): whether one allows what is asked for, and which rules cover others. Pure.

Source: Kubernetes, rbac/v1 and its evaluation helpers; escalation is prevented as by pkg/registry/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from paddock.apiserver.access.attributes import Attributes
from paddock.kube.meta import Manifest
from paddock.kube.rbac import Rule, covers_path, has

_MOST_COMPARED = 50_000
"""Pairs of rules: what others wait for is no product of numbers that a user chooses."""


def allows(rule: Rule, asked: Attributes) -> bool:
    """Whether one rule allows what is asked for."""
    if asked.path:
        return rule.allows_path(asked.verb, asked.path)
    return rule.allows(asked.verb, asked.group, asked.whole_resource, asked.name)


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
    if part.paths:
        (path,) = part.paths
        return has(have.verbs, verb) and any(covers_path(each, path) for each in have.paths)
    (group,), (resource,) = part.groups, part.resources
    return have.concerns(verb, group, resource) and (not have.names or (bool(part.names) and part.names <= have.names))
