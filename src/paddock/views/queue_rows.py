"""The queue of jobs as rows, and one sentence about what the nodes have. Pure.

How a job stands with the scheduler is read in `node.scheduler.queue`, why it waits in `views.jobs`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from paddock.jobs.labels import ATTEMPT_LABEL
from paddock.jobs.sentences.queue_phrases import SAID, Said
from paddock.kube.meta import Manifest, Resource, controller_of, is_deleting, labels_of, uid_of
from paddock.kube.pod_amounts import Amounts, read_pod_amounts
from paddock.kube.quantities import format_bytes
from paddock.kube.times import Moment
from paddock.node.scheduler.gpus import SharedGpu
from paddock.node.scheduler.queue import Capacity, Queue
from paddock.views.gpus import weigh_pod
from paddock.views.jobs import JobRow, read_job_row
from paddock.views.rooms import Rooms, find_shortage_of
from paddock.views.stored import StoredJob, read_stored
from paddock.views.waits import find_wait
from paddock.words.amounts import say_amount, say_number, sort_resources
from paddock.words.phrases import Phrase, counted, phrase

Unfinished = tuple[JobRow, StoredJob]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A job that waits or runs."""

    resource: Resource
    manifest: Manifest
    job: JobRow
    ranks: int  # the pods that it wants; 0 for a job that cannot be read
    needs: Amounts = field(default_factory=dict)  # their requests; empty for a job that cannot be read
    position: int | None = None  # its place among those that can start; None if no pod of it waits for a node
    priority: int = 0
    since: Moment | None = None  # since when it waits; None for one whose pods are on nodes
    stored: StoredJob | None = None  # as it was read

    @property
    def never(self) -> bool:
        """Whether it cannot start here, whoever ends."""
        shortage = find_shortage_of(self.job.cause)
        said = self.job.cause and self.job.cause.args.get(SAID)
        return (shortage is not None and shortage.is_never) or (isinstance(said, Said) and said.hopeless)


def read_queue_rows(
    jobs: Iterable[tuple[Resource, Manifest]], pods: Sequence[Manifest], queue: Queue
) -> list[QueueRow]:
    """First the jobs whose pods are on nodes, then those in the scheduler's queue in its order, then those that cannot
    start here, then those that wait for something else (suspended, before a restart, without an operator), by age.
    Finished jobs are left out."""
    return build_queue_rows([read_unfinished(resource, manifest) for resource, manifest in jobs], pods, queue)


def read_unfinished(resource: Resource, manifest: Manifest) -> Unfinished | None:
    """None for a job that has ended."""
    job = read_job_row(resource, manifest)
    return None if job.phase.terminal else (job, read_stored(resource, manifest))


def build_queue_rows(jobs: Iterable[Unfinished | None], pods: Iterable[Manifest], queue: Queue) -> list[QueueRow]:
    """The same of jobs that are read."""
    return add_needs(order_queue(jobs, queue), pods, queue)


def order_queue(jobs: Iterable[Unfinished | None], queue: Queue) -> list[QueueRow]:
    """The same without what the jobs need, which takes most of the time: a page shows a hundred of them."""
    return settle([_build_row(job, stored, queue) for job, stored in filter(None, jobs)], queue)


def settle(rows: Iterable[QueueRow], queue: Queue) -> list[QueueRow]:
    """In their order. Those that cannot start here have no position, and who is behind them moves up: also once it is
    known what they lack."""
    known = list(rows)
    ahead = sorted(row.position for row in known if row.never and row.position)
    settled = [
        replace(row, position=None if row.never else row.position - bisect(ahead, row.position))
        if row.position
        else row
        for row in known
    ]
    return sorted(settled, key=lambda row: _order(row, queue))


def add_needs(rows: Sequence[QueueRow], pods: Iterable[Manifest], queue: Queue) -> list[QueueRow]:
    """The rows with what their jobs need. `pods`: all that there are."""
    own: dict[str, list[Manifest]] = {uid_of(row.manifest): [] for row in rows}
    for pod in pods:
        if (owner := controller_of(pod)) and owner["uid"] in own:
            own[owner["uid"]].append(pod)
    shared = queue.capacity is not None and queue.capacity.says_gpus
    return [
        row
        if row.stored is None
        else replace(row, needs=_read_needs(row.stored, own[uid_of(row.manifest)], shared=shared))
        for row in rows
    ]


def add_room(row: QueueRow, rooms: Rooms) -> QueueRow:
    """The row with what nodes and pods show of a job that waits for room."""
    cause = rooms.add(row.job.cause, row.resource, row.manifest)
    return row if cause is row.job.cause else replace(row, job=replace(row.job, cause=cause))


def explain_kueues_order(rows: Iterable[QueueRow]) -> Phrase | None:
    """What is not known of jobs that wait for a queue of Kueue's; None where each has its place in it, or none waits so
    with what Kueue says."""
    said = [row.job.cause.args.get(SAID) for row in rows if row.job.cause is not None]
    if all(each.position is not None or each.hopeless for each in said if isinstance(each, Said)):
        return None
    return phrase(
        "places in Kueue's queues are not known: its visibility API is not served here, or you may not read it "
        "(localqueues/pendingworkloads of visibility.kueue.x-k8s.io)"
    )


def _order(row: QueueRow, queue: Queue) -> tuple[int, int, Moment, str]:
    placed = row.manifest["metadata"].get("uid") in queue.placed
    group = 1 if row.position else 2 if row.never else 0 if placed else 3
    return group, row.position or 0, row.job.created or 0.0, row.job.name


def _build_row(job: JobRow, stored: StoredJob, queue: Queue) -> QueueRow:
    standing = queue.waiting.get(stored.uid)
    since = None
    if standing is not None or stored.uid not in queue.placed:
        since = find_wait(stored.manifest, job.cause) or (standing.since if standing else None)
    return QueueRow(
        resource=stored.resource,
        manifest=stored.manifest,
        job=job,
        ranks=stored.job.size if stored.job else 0,
        position=standing.position if standing else None,
        priority=standing.priority if standing else 0,
        since=since,
        stored=stored,
    )


def _read_needs(stored: StoredJob, pods: Sequence[Manifest], *, shared: bool) -> Amounts:
    """The requests of the pods, to which a cluster may have added some; while they are not all there, of the
    templates. `shared`: whether pods can share GPUs."""
    if stored.job is None:
        return {}
    own = [
        pod
        for pod in pods
        if not is_deleting(pod) and labels_of(pod).get(ATTEMPT_LABEL, "0") == str(stored.status.attempt)
    ]
    if len(own) == stored.job.size:
        return read_needs(own, shared=shared)
    # Each template is read once: a thousand jobs of 300 ranks may wait.
    return _sum_needs(((role.template, role.replicas) for role in stored.job.roles), stored.job.annotations, shared)


def read_needs(pods: Iterable[Mapping[str, Any]], *, shared: bool = False) -> dict[str, Fraction]:
    """The sum of what these pods occupy, by resource, without their number. One with an amount that is no quantity adds
    nothing: such a pod is never placed. `shared`: whether pods can share GPUs."""
    return _sum_needs(((pod, 1) for pod in pods), {}, shared)


def _sum_needs(
    pods: Iterable[tuple[Mapping[str, Any], int]], annotations: Mapping[str, str], shared: bool
) -> dict[str, Fraction]:
    """The same of so many pods of each template; `annotations`: of their job."""
    total: dict[str, Fraction] = {}
    for pod, count in pods:
        try:
            amounts = weigh_pod(pod, annotations) if shared else read_pod_amounts(pod.get("spec") or {})
        except ValueError:
            continue
        for name, amount in amounts.items():
            total[name] = total.get(name, Fraction(0)) + amount * count
    total.pop("pods", None)
    return total


def explain_capacity(capacity: Capacity | None, *, all_pods: bool = True) -> Phrase | str:
    """`2 CPUs: 1 free; 24 GiB: 20 GiB free; no GPU`. `all_pods`: without the pods of all namespaces nothing is known to
    be free."""
    if capacity is None:
        return phrase(
            "what the nodes have is not known: you lack the right `list nodes`, which an administrator of the cluster "
            "grants"
        )
    shown = [name for name in sort_resources(capacity.amounts) if name in ("cpu", "memory") or "/" in name]
    parts: list[Phrase | str] = [
        _say_free(name, *capacity.amounts[name], all_pods) for name in shown if capacity.amounts[name][1]
    ]
    parts += [_say_shared(each) for each in capacity.shared if all_pods]
    if not any("/" in name and capacity.amounts[name][1] for name in shown):
        parts.append(phrase("no GPU"))
    said = reduce(lambda first, rest: phrase("{first}; {rest}", first=first, rest=rest), parts)
    if capacity.nodes != 1:
        said = counted("{count} node: {said}", "{count} nodes: {said}", count=capacity.nodes, said=said)
    if not all_pods:
        said = phrase(
            "{said}; what is free of it is not known: you lack the right `list pods` in all namespaces, which an "
            "administrator of the cluster grants",
            said=said,
        )
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


def _say_shared(gpu: SharedGpu) -> Phrase:
    free = max(0, gpu.shares - gpu.taken)
    return phrase("GPU {index}: {free} of {shares} shares free", index=gpu.index, free=free, shares=gpu.shares)


def _say_free(name: str, free: Fraction, has: Fraction, known: bool) -> Phrase | str:
    amount = say_amount(name, has)
    if not known:
        return amount
    left = format_bytes(free) if name == "memory" else say_number(free)
    return phrase("{amount}: {free} free", amount=amount, free=left)
