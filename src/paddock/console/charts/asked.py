"""What the ranks of a job ask for, as lines in the charts of what they use. Pure.

Source: the requests and limits of the containers in each role's template, summed over one pod; Kubernetes takes a limit
for the request where there is none (core/v1, ResourceRequirements).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from paddock.jobs.model import Role
from paddock.kube.quantities import read_quantity

ASKED = ("cpu", "memory")
"""The charts that have such lines, by the names that Kubernetes has for both."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A line of a chart."""

    roles: tuple[str, ...]
    """Whose pods have it."""
    is_limit: bool
    """Else it is a request."""
    amount: float
    """Of one pod: cores or bytes."""


def read_asked(roles: Iterable[Role], ranks: Collection[str]) -> Mapping[str, list[Asked]]:
    """By chart, the smallest first; equal ones of several roles once. `ranks`: those that are drawn (`worker-0`). A
    request that is its limit as well is the limit alone."""
    drawn = {rank.rpartition("-")[0].lower() for rank in ranks}
    shown = [role for role in roles if role.name.lower() in drawn]
    return {resource: _list_lines(shown, resource) for resource in ASKED}


def _list_lines(roles: Iterable[Role], resource: str) -> list[Asked]:
    found: dict[tuple[float, bool], tuple[str, ...]] = {}
    for role in roles:
        limit, request = (_sum(role.template, kind, resource) for kind in ("limits", "requests"))
        for amount, is_limit in ((limit, True), (request if request != limit else None, False)):
            if amount:
                found[amount, is_limit] = (*found.get((amount, is_limit), ()), role.name)
    return [Asked(names, is_limit, amount) for (amount, is_limit), names in sorted(found.items())]


def _sum(template: Mapping[str, Any], kind: str, resource: str) -> float | None:
    """Of the containers of a pod; None where one of them says nothing: together they have no bound then."""
    containers = (template.get("spec") or {}).get("containers") or ()
    amounts = [((each.get("resources") or {}).get(kind) or {}).get(resource) for each in containers]
    with suppress(ValueError):
        if amounts and None not in amounts:
            return sum(float(read_quantity(each)) for each in amounts if each is not None)
    return None
