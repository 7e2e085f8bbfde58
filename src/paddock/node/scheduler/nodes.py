"""Nodes as values, and the filters of a pod on them: node selector, node affinity, taints, readiness. Pure.

A mismatch is a `Fact`: kube-scheduler's words, then what the pod wants and what the node has. Free capacity is in
`paddock.node.scheduler.capacity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from paddock.kube.gpu_shares import read_indices
from paddock.kube.meta import Manifest, labels_of, name_of
from paddock.kube.quantities import read_amounts
from paddock.node.scheduler.pod_request import Request

DEFAULT_PODS = Fraction(110)
"""The most pods on a node whose status has no such number: kubelet's default."""
_MISMATCH = "node(s) didn't match Pod's node affinity/selector"
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Fact(NamedTuple):
    """One reason why a node cannot run a pod. `resource`: the name of the insufficient resource, if that is why."""

    text: str
    detail: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node. `amounts`: its allocatable amounts by resource."""

    name: str
    amounts: Mapping[str, Fraction]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, Any]] = ()
    unschedulable: bool = False
    ready: bool = True
    gpus: tuple[int, ...] = ()
    """Its GPUs, where it says which they are: then each pod is told its own, and they can be shared."""


def read_node(manifest: Manifest) -> Node:
    """Reads a node; without a Ready condition it counts as ready. `ValueError` if an amount is not a quantity."""
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    status: Mapping[str, Any] = manifest.get("status") or {}
    conditions = status.get("conditions") or ()
    ready = [condition.get("status") for condition in conditions if condition.get("type") == "Ready"]
    return Node(
        name=name_of(manifest),
        amounts={"pods": DEFAULT_PODS, **read_amounts(status.get("allocatable") or status.get("capacity"))},
        labels=labels_of(manifest),
        taints=spec.get("taints") or (),
        unschedulable=bool(spec.get("unschedulable")),
        ready=all(state == "True" for state in ready),
        gpus=read_indices(manifest),
    )


def find_orphans(requests: Iterable[Request], nodes: Iterable[Node]) -> list[Request]:
    """Pods that are being deleted and whose node does not exist: no kubelet can confirm their end."""
    known = {node.name for node in nodes}
    return [it for it in requests if it.deleting and it.grace and it.node and it.node not in known]


def explain_mismatch(request: Request, node: Node) -> tuple[Fact, ...]:
    """Every reason, apart from capacity, why this pod cannot run on this node; empty if it can."""
    claims = (Fact(text, detail) for text, detail in request.unbound)
    return (*claims, *_explain_state(request, node), *_explain_taints(request, node), *_explain_labels(request, node))


def _explain_state(request: Request, node: Node) -> Iterator[Fact]:
    if node.unschedulable and not _tolerates(request, _CORDONED):
        yield Fact("node(s) were unschedulable", f"kubectl uncordon {node.name}")
    if not node.ready and not _tolerates(request, _NOT_READY):
        yield Fact("node(s) were not ready")


def _explain_taints(request: Request, node: Node) -> Iterator[Fact]:
    for taint in node.taints:
        if keeps_away(taint) and not _tolerates(request, taint):
            yield Fact(f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value') or ''}}}")


def keeps_away(taint: Mapping[str, Any]) -> bool:
    """Whether pods that do not tolerate it are not placed on its node."""
    return taint.get("effect") != "PreferNoSchedule"


def _tolerates(request: Request, taint: Mapping[str, Any]) -> bool:
    """Source: k8s.io/api core/v1, Toleration.ToleratesTaint."""
    return any(
        toleration.get("effect") in (None, "", taint.get("effect"))
        and toleration.get("key") in (None, "", taint.get("key"))
        and (
            toleration.get("operator") == "Exists"
            or (toleration.get("key") and (toleration.get("value") or "") == (taint.get("value") or ""))
        )
        for toleration in request.tolerations
    )


def _explain_labels(request: Request, node: Node) -> Iterator[Fact]:
    missed = [f"{key}={value}" for key, value in request.selector.items() if node.labels.get(key) != value]
    keys = [key for key, value in request.selector.items() if node.labels.get(key) != value]
    if request.terms is not None and not any(_match_term(term, node) for term in request.terms):
        expressions = [expression for term in request.terms for expression in term.get("matchExpressions") or ()]
        failed = [expression for expression in expressions if not _match_expression(expression, node.labels)]
        missed += [_format_expression(expression) for expression in failed]
        keys += [str(expression.get("key")) for expression in failed]
        missed += [] if failed else ["no term of the affinity matches"]
    if missed:
        has = [f"{key}={node.labels[key]}" for key in dict.fromkeys(keys) if key in node.labels]
        yield Fact(_MISMATCH, f"{', '.join(missed)}; node has {', '.join(has) or 'none'}")


def _match_term(term: Mapping[str, Any], node: Node) -> bool:
    """All requirements of a term must hold. An empty term matches nothing, as in Kubernetes."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    return (
        bool(expressions or fields)
        and all(_match_expression(expression, node.labels) for expression in expressions)
        and all(_match_expression(expression, {"metadata.name": node.name}) for expression in fields)
    )


def _match_expression(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Source: k8s.io/api core/v1, NodeSelectorOperator. Gt and Lt compare integers; other values never match."""
    operator = expression.get("operator")
    values: Sequence[str] = expression.get("values") or ()
    found = labels.get(str(expression.get("key")))
    if operator in ("In", "NotIn"):
        return (found in values) is (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return (found is not None) is (operator == "Exists")
    if operator in ("Gt", "Lt") and found is not None and len(values) == 1:
        try:
            left, right = int(found), int(values[0])
        except ValueError:
            return False
        return left > right if operator == "Gt" else left < right
    return False


def _format_expression(expression: Mapping[str, Any]) -> str:
    values = ", ".join(str(value) for value in expression.get("values") or ())
    return f"{expression.get('key')} {expression.get('operator')}" + (f" [{values}]" if values else "")
