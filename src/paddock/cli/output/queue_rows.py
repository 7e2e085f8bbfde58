"""The queue of jobs as lines of a table, as JSON, and one line about what the nodes have. Pure.

How a job stands with the scheduler is read in `app.queue`, why it waits in `jobs.views.jobs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from paddock.app.queue import Capacity, Queue, read_needs
from paddock.cli.output.rows import build_why, format_age
from paddock.jobs.labels import ATTEMPT_LABEL
from paddock.jobs.model import Phase
from paddock.jobs.text.explain import explain
from paddock.jobs.text.phrases import Phrase, counted, phrase, render
from paddock.jobs.views.jobs import JobRow, read_job_row
from paddock.jobs.views.stored import StoredJob, read_stored
from paddock.kube.meta import Manifest, Resource, is_controlled_by, is_deleting, labels_of
from paddock.kube.quantities import format_bytes, format_quantity
from paddock.kube.times import Moment

HEADER = ("POSITION", "NAME", "PHASE", "RANKS", "NEEDS", "WAITS", "WHY")
_PRIORITY = 1
"""The column before which PRIORITY stands, where a job has one."""
_NONE = "-"
_GPU = "nvidia.com/gpu"

Amounts = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A job that waits or runs. `position`: its place in the scheduler's queue; None if no pod of it waits for a node.
    `ranks`: the pods that it wants, and `needs`: their requests, both empty for a job that cannot be read. `since`:
    since when it waits; None for one whose pods are on nodes."""

    resource: Resource
    manifest: Manifest
    job: JobRow
    ranks: int
    needs: Amounts
    position: int | None = None
    priority: int = 0
    since: Moment | None = None


def read_queue_rows(
    jobs: Iterable[tuple[Resource, Manifest]], pods: Sequence[Manifest], queue: Queue
) -> list[QueueRow]:
    """First the jobs whose pods are on nodes, then those in the scheduler's queue in its order, then those that wait
    for something else (suspended, before a restart, without an operator), by age. Finished jobs are left out."""
    rows = [_read_row(read_stored(resource, manifest), pods, queue) for resource, manifest in jobs]
    return sorted((row for row in rows if not row.job.phase.terminal), key=lambda row: _order(row, queue))


def _order(row: QueueRow, queue: Queue) -> tuple[int, int, Moment, str]:
    group = 1 if row.position else 0 if row.manifest["metadata"].get("uid") in queue.placed else 2
    return group, row.position or 0, row.job.created or 0.0, row.job.name


def _read_row(stored: StoredJob, pods: Sequence[Manifest], queue: Queue) -> QueueRow:
    job = read_job_row(stored.resource, stored.manifest)
    standing = queue.waiting.get(stored.uid)
    since = standing.since if standing else None
    if standing is None and stored.uid not in queue.placed:
        since = (job.cause.since if job.cause else None) or job.created
    return QueueRow(
        resource=stored.resource,
        manifest=stored.manifest,
        job=job,
        ranks=stored.job.size if stored.job else 0,
        needs=_read_needs(stored, pods),
        position=standing.position if standing else None,
        priority=standing.priority if standing else 0,
        since=since,
    )


def _read_needs(stored: StoredJob, pods: Sequence[Manifest]) -> Amounts:
    """Of the pods, to which a cluster may have added requests; while they are not all there, of the templates."""
    if stored.job is None:
        return {}
    own = [
        pod["spec"]
        for pod in pods
        if is_controlled_by(pod, stored.uid)
        and not is_deleting(pod)
        and labels_of(pod).get(ATTEMPT_LABEL, "0") == str(stored.status.attempt)
    ]
    asked = [(role.template.get("spec") or {}) for role in stored.job.roles for _ in role.ranks()]
    return read_needs(own if len(own) == len(asked) else asked)


def build_table(
    rows: Sequence[QueueRow], now: Moment, language: str = "en", *, most: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Header and lines. PRIORITY is a column where a job in the queue has one. `most`: columns of WHY."""
    header, cells = list(HEADER), [_build_cells(row, now, language, most) for row in rows]
    if any(row.priority for row in rows):
        header.insert(_PRIORITY, "PRIORITY")
        for row, line in zip(rows, cells, strict=True):
            line.insert(_PRIORITY, str(row.priority) if row.position else _NONE)
    return header, cells


def _build_cells(row: QueueRow, now: Moment, language: str, most: int | None) -> list[str]:
    return [
        str(row.position or _NONE),
        row.job.name,
        str(row.job.phase),
        str(row.ranks or _NONE),
        ", ".join(render(say_amount(name, row.needs[name]), language) for name in _sorted(row.needs)) or _NONE,
        _NONE if row.since is None else format_age(row.since, now),
        build_why(row.job, language, most=most),
    ]


def explain_capacity(capacity: Capacity | None, *, all_pods: bool = True) -> Phrase | str:
    """`2 CPUs: 1 free; 24 GiB: 20 GiB free; no GPU`. `all_pods`: without the pods of all namespaces nothing is known to
    be free."""
    if capacity is None:
        return phrase("what the nodes have is not known: you may not list nodes")
    shown = [name for name in _sorted(capacity.amounts) if name in ("cpu", "memory") or "/" in name]
    parts: list[Phrase | str] = [
        _say_free(name, *capacity.amounts[name], all_pods) for name in shown if capacity.amounts[name][1]
    ]
    if not any("/" in name and capacity.amounts[name][1] for name in shown):
        parts.append(phrase("no GPU"))
    said = reduce(lambda first, rest: phrase("{first}; {rest}", first=first, rest=rest), parts)
    if capacity.nodes != 1:
        said = counted("{count} node: {said}", "{count} nodes: {said}", count=capacity.nodes, said=said)
    if not all_pods:
        said = phrase("{said}; what is free of it is not known: you may not list the pods of all namespaces", said=said)
    if capacity.tainted:
        said = counted(
            "{said} ({count} node takes only pods that tolerate its taints)",
            "{said} ({count} nodes take only pods that tolerate their taints)",
            said=said, count=capacity.tainted,
        )  # fmt: skip
    if not capacity.away:
        return said
    return counted(
        "{said} (and {count} node that is not ready or cordoned)",
        "{said} (and {count} nodes that are not ready or cordoned)",
        said=said, count=capacity.away,
    )  # fmt: skip


def _say_free(name: str, free: Fraction, has: Fraction, known: bool) -> Phrase | str:
    amount = say_amount(name, has)
    if not known:
        return amount
    left = format_bytes(free) if name == "memory" else _number(free)
    return phrase("{amount}: {free} free", amount=amount, free=left)


def say_amount(name: str, amount: Fraction) -> Phrase | str:
    """`2 CPUs`, `1.5 CPUs`, `4.0 GiB`, `1 GPU`, `2 example.com/npu`."""
    count = int(amount) if amount.denominator == 1 else _number(amount)
    if name == "cpu":
        return counted("{count} CPU", "{count} CPUs", count=count)
    if name == _GPU:
        return counted("{count} GPU", "{count} GPUs", count=count)
    if name == "memory":
        return format_bytes(amount)
    if name == "ephemeral-storage":
        return phrase("{amount} of disk", amount=format_bytes(amount))
    return f"{format_quantity(amount)} {name}"


def _number(amount: Fraction) -> str:
    return f"{float(amount):g}"


def _sorted(amounts: Mapping[str, Any]) -> list[str]:
    """cpu, memory, then the others by name."""
    first = ("cpu", "memory")
    return sorted(amounts, key=lambda name: (first.index(name) if name in first else len(first), name))


def build_document(
    rows: Sequence[QueueRow], capacity: Capacity | None, now: Moment, *, all_pods: bool = True
) -> dict[str, Any]:
    """For `-o json`. Amounts are Kubernetes' quantities, `waits` seconds; null for what is not known or not there."""
    return {
        "nodes": None if capacity is None else capacity.nodes,
        "resources": None
        if capacity is None
        else {
            name: {"has": format_quantity(has), "free": format_quantity(free) if all_pods else None}
            for name, (free, has) in sorted(capacity.amounts.items())
        },
        "jobs": [_build_job(row, now) for row in rows],
    }


def _build_job(row: QueueRow, now: Moment) -> dict[str, Any]:
    cause = row.job.cause
    return {
        "position": row.position,
        "priority": row.priority if row.position else None,
        "apiVersion": row.resource.api_version,
        "kind": row.resource.kind,
        "namespace": row.job.namespace,
        "name": row.job.name,
        "phase": str(row.job.phase or Phase.PENDING),
        "ranks": row.ranks,
        "needs": {name: format_quantity(amount) for name, amount in sorted(row.needs.items())},
        "waits": None if row.since is None else max(0, round(now - row.since)),
        "cause": cause and {"reason": cause.reason, "args": dict(cause.args), "sentence": explain(cause)},
    }
