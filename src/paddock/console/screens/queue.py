"""The queue: which jobs wait, in the order in which the scheduler tries them, what each asks for, and why it waits.

/queue?namespace=team        the jobs of one namespace, for who may not look into all
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import address_of_job
from paddock.console.feed import Topic
from paddock.console.page_context import PageContext, Screen
from paddock.console.rooms import look_for_room
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase
from paddock.kube.errors import Forbidden
from paddock.kube.kueue import WORKLOADS
from paddock.kube.meta import (
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    name_of,
    namespace_of,
)
from paddock.kube.quantities import read_quantity
from paddock.kube.times import read_time
from paddock.node.scheduler.queue import Queue, read_queue
from paddock.views.queue_rows import (
    QueueRow,
    add_needs,
    add_room,
    explain_capacity,
    explain_kueues_order,
    order_queue,
    read_unfinished,
    settle,
)
from paddock.views.rooms import link_holders, read_rooms, read_waiting, speaks_of_room
from paddock.views.short_sentences import explain_briefly
from paddock.views.workloads import waits_for_queue
from paddock.words.amounts import say_amount, sort_resources
from paddock.words.phrases import Foreign, Phrase, phrase

_WORKLOADS = WORKLOADS[0]
ON_A_PAGE = 100
SUSPENDED_ON_A_PAGE = 20
"""The list of jobs has all of them."""
_LONGEST_WHY = 200
"""Columns."""
_STATES = ("Finished", "Evicted", "Admitted", "QuotaReserved")
"""Conditions of a Workload, the last word first."""
_OF_CLUSTER = (PODS, NODES, PRIORITY_CLASSES)
"""All pods count: those of other namespaces hold room, and are before one in the queue."""
_OF_NAMESPACE = (*KINDS, POD_GROUPS, VOLCANO_POD_GROUPS, _WORKLOADS)


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    namespace = query.get("namespace", "")
    found = [*(Topic(each, namespace) for each in _OF_NAMESPACE), *map(Topic, _OF_CLUSTER)]
    return [*found, Topic(PODS, namespace)] if namespace else found


async def build(page: PageContext) -> Mapping[str, Any]:
    for kind in KINDS:
        await page.read_ahead(_topic(page, kind), read_unfinished)
    await page.read_ahead(_find_pods(page), read_waiting)
    namespace, pods = page.query.get("namespace", ""), page.objects(_find_pods(page))
    queue, all_pods = _read_queue(page, pods)
    jobs = [job for kind in KINDS for job in page.read(_topic(page, kind), read_unfinished)]
    running, waiting, suspended = _sort_out(order_queue(jobs, queue), queue)
    shown = settle(await _add_rooms(page, add_needs(waiting[:ON_A_PAGE], pods, queue), all_pods=all_pods), queue)
    never = [row for row in shown if row.never]
    addresses = {
        (row.job.namespace, row.job.name): address_of_job(row.resource, row.job.namespace, row.job.name)
        for row in (*running, *waiting)
    }
    return {
        "capacity": page.say(explain_capacity(queue.capacity, all_pods=all_pods)),
        "waiting": [_build_row(page, row, addresses) for row in shown if not row.never],
        "never": [_build_row(page, row, addresses) for row in never],
        "suspended": [_build_row(page, row) for row in add_needs(suspended[:SUSPENDED_ON_A_PAGE], pods, queue)],
        "running": [_build_row(page, row) for row in add_needs(running[:ON_A_PAGE], pods, queue)],
        "all_waiting": len(waiting) - len(never),
        "all_suspended": len(suspended),
        "all_running": len(running),
        "notes": [page.say(each) for each in (*_list_notes(page, waiting, all_pods), *_list_kueues(shown))],
        "prioritized": any(row.priority for row in waiting),
        "groups": [_build_group(page, group) for group in _list_groups(page)][:ON_A_PAGE],
        "workloads": [_build_workload(page, each) for each in page.objects(_topic(page, _WORKLOADS))][:ON_A_PAGE],
        "namespace": namespace,
        "command": f"paddock queue{f' -n {shlex.quote(namespace)}' if namespace else ' -A'}{page.backend.options}",
        "hidden": all(_is_forbidden(page, _topic(page, each)) for each in KINDS),
    }


def _topic(page: PageContext, resource: Resource) -> Topic:
    """Of the page's namespace, or of all."""
    return Topic(resource, page.query.get("namespace", ""))


def _find_pods(page: PageContext) -> Topic:
    """All pods, or where the reader may not list them, those of the namespace."""
    return _topic(page, PODS) if _is_forbidden(page, Topic(PODS)) else Topic(PODS)


def _sort_out(rows: Sequence[QueueRow], queue: Queue) -> tuple[list[QueueRow], list[QueueRow], list[QueueRow]]:
    """Those on nodes, those that wait or cannot start here, and those that somebody has suspended, which wait for a
    person alone; those that Kueue suspends wait for its queue."""
    running: list[QueueRow] = []
    waiting: list[QueueRow] = []
    suspended: list[QueueRow] = []
    for row in rows:
        is_queued = row.job.cause is not None and row.job.cause.reason == "WaitingForQueue"
        is_suspended = row.job.phase is Phase.SUSPENDED and row.position is None and not is_queued
        (running if _runs(row, queue) else suspended if is_suspended else waiting).append(row)
    return running, waiting, suspended


def _read_queue(page: PageContext, pods: Sequence[Manifest]) -> tuple[Queue, bool]:
    """And whether the pods of all namespaces are known."""
    all_pods = not _is_forbidden(page, Topic(PODS))
    nodes = None if _is_forbidden(page, Topic(NODES)) else page.objects(Topic(NODES))
    topics = [_topic(page, each) for each in (POD_GROUPS, VOLCANO_POD_GROUPS)]
    hidden = all(_is_forbidden(page, each) for each in topics)
    groups = None if hidden else [group for each in topics for group in page.objects(each)]
    return read_queue(
        pods,
        nodes,
        groups,
        page.objects(Topic(PRIORITY_CLASSES)),
        kinds=KINDS,
        requests=page.read(_find_pods(page), read_waiting),
    ), all_pods


async def _add_rooms(page: PageContext, rows: Sequence[QueueRow], *, all_pods: bool) -> Sequence[QueueRow]:
    """The rows with what nodes and pods show of jobs that wait for room. On a laptop the scheduler has said it."""
    rows = await _add_admissions(page, rows)
    if (
        page.backend.local
        or _is_forbidden(page, Topic(NODES))
        or not any(speaks_of_room(row.job.cause) for row in rows)
    ):
        return rows
    nodes, requests = page.objects(Topic(NODES)), page.read(_find_pods(page), read_waiting)

    def add() -> list[QueueRow]:
        rooms = read_rooms(nodes, requests if all_pods else None, requests)
        return [add_room(row, rooms) for row in rows]

    return await asyncio.to_thread(add)


async def _add_admissions(page: PageContext, rows: Sequence[QueueRow]) -> Sequence[QueueRow]:
    """The rows with what Kueue says of those that wait for its queues."""
    queued = [(row.job.cause, row.resource, row.manifest) for row in rows if waits_for_queue(row.job.cause)]
    rooms = await look_for_room(page, _topic(page, _WORKLOADS), queued)
    return [add_room(row, rooms) if waits_for_queue(row.job.cause) else row for row in rows]


def _is_forbidden(page: PageContext, topic: Topic) -> bool:
    cache = page.caches.get(topic)
    return cache is not None and isinstance(cache.error, Forbidden)


def _runs(row: QueueRow, queue: Queue) -> bool:
    return row.position is None and not row.never and (row.manifest.get("metadata") or {}).get("uid") in queue.placed


def _list_notes(page: PageContext, waiting: Sequence[QueueRow], all_pods: bool) -> list[Phrase]:
    """What the positions are not."""
    if not any(row.position for row in waiting):
        return []
    notes = []
    if not all_pods:
        notes.append(phrase("positions count what you may see: you may not list the pods of all namespaces"))
    if not page.backend.local:
        notes.append(phrase("positions are by priority, then by age: the cluster's own scheduler decides"))
    return notes


def _list_kueues(shown: Sequence[QueueRow]) -> list[Phrase]:
    note = explain_kueues_order(shown)
    return [] if note is None else [note]


_Addresses = Mapping[tuple[str, str], str]
"""Of jobs, by namespace and name."""


def _build_row(page: PageContext, row: QueueRow, addresses: _Addresses | None = None) -> Mapping[str, Any]:
    """`addresses`: without them it is not said why it waits."""
    return {
        "position": row.position,
        "name": row.job.name,
        "namespace": row.job.namespace,
        "address": address_of_job(row.resource, row.job.namespace, row.job.name),
        "phase": str(row.job.phase),
        "ranks": row.ranks,
        "needs": [page.say(say_amount(name, row.needs[name])) for name in sort_resources(row.needs)],
        "priority": row.priority if row.position else None,
        "since": row.since,
        "why": _build_why(page, row, addresses) if addresses is not None else (),
    }


def _build_why(page: PageContext, row: QueueRow, addresses: _Addresses) -> list[tuple[str, str]]:
    """Why it waits, in pieces with the address of the job that each names; empty of one that names none."""
    if row.job.cause is None:
        return []
    said = explain_briefly(row.job.cause, page.language, _LONGEST_WHY)
    return [
        (text, addresses.get((holder.namespace or row.job.namespace, holder.name), "") if holder else "")
        for text, holder in link_holders(said, row.job.cause, page.language)
    ]


def _list_groups(page: PageContext) -> list[Manifest]:
    found = [*page.objects(_topic(page, POD_GROUPS)), *page.objects(_topic(page, VOLCANO_POD_GROUPS))]
    return sorted(found, key=lambda each: (namespace_of(each), name_of(each)))


def _build_group(page: PageContext, group: Manifest) -> Mapping[str, Any]:
    """What is shown of a PodGroup of scheduler-plugins or Volcano: both have these fields."""
    spec, status = group.get("spec") or {}, group.get("status") or {}
    asked = spec.get("minResources") or {}
    conditions = [each for each in status.get("conditions") or () if each.get("status") == "True"]
    said = str(conditions[-1].get("message") or "") if conditions else ""
    return {
        "name": name_of(group),
        "namespace": namespace_of(group),
        "api": str(group.get("apiVersion") or "").partition("/")[0],
        "phase": str(status.get("phase") or "Pending"),
        "least": spec.get("minMember"),
        "running": status.get("running"),
        "asked": [_say_asked(page, name, text) for name, text in sorted(asked.items())],
        "queue": str(spec.get("queue") or ""),
        "said": page.say(phrase("{said}", said=Foreign(said))) if said else "",
    }


def _say_asked(page: PageContext, name: str, text: Any) -> str:
    try:
        return page.say(say_amount(name, read_quantity(text)))
    except ValueError:
        return f"{text} {name}"


def _build_workload(page: PageContext, workload: Manifest) -> Mapping[str, Any]:
    """What is shown of a Workload of Kueue, in any version: which queue has admitted it, or why none has."""
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    conditions = {str(each.get("type")): each for each in status.get("conditions") or ()}
    state = next((name for name in _STATES if _holds(conditions.get(name))), "Pending")
    said = str((conditions.get("QuotaReserved" if state == "Pending" else state) or {}).get("message") or "")
    owners = (workload.get("metadata") or {}).get("ownerReferences") or ()
    return {
        "name": str(owners[0].get("name")) if owners else name_of(workload),
        "namespace": namespace_of(workload),
        "queue": str(spec.get("queueName") or ""),
        "priority": spec.get("priority"),
        "state": state,
        "said": page.say(phrase("{said}", said=Foreign(" ".join(said.split())))) if said else "",
        "created": read_time((workload.get("metadata") or {}).get("creationTimestamp")),
    }


def _holds(condition: Mapping[str, Any] | None) -> bool:
    return condition is not None and condition.get("status") == "True"


SCREEN = Screen("queue", "/queue", phrase("Queue"), list_topics, build, in_menu=True)
