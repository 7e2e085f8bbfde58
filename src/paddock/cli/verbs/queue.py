"""paddock queue"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.elsewhere import explain_elsewhere, fetch_elsewhere
from paddock.cli.cluster.lookup import fetch_all
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.output import queue_rows
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.rows import with_namespace
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import find_room, print_table, stderr, stdout
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import (
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    name_of,
)
from paddock.node.scheduler.pod_request import read_request
from paddock.node.scheduler.queue import Queue, read_queue
from paddock.submission.admissions import fetch_admissions
from paddock.views.commands import printed_name
from paddock.views.queue_rows import (
    QueueRow,
    add_room,
    explain_capacity,
    explain_kueues_order,
    read_queue_rows,
    read_unfinished,
    settle,
)
from paddock.views.rooms import read_rooms
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class _Found:
    """The queue, as it was read."""

    queue: Queue
    rows: list[QueueRow]
    all_pods: bool  # whether the pods of all namespaces were read
    is_local: bool  # Paddock's own scheduler decides
    elsewhere: int = 0  # jobs that wait or run in other namespaces, where none does in this one
    options: str = ""  # those that name the cluster


@click.command(name="queue", cls=Verb)
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "name"]), default="table", show_default=True,
    help="How to print.",
)  # fmt: skip
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@namespace_option
def command(output: str, all_namespaces: bool, namespace: str) -> None:
    """What runs and what waits for room, in the order in which the scheduler tries them, and why.

    \b
    paddock queue
    paddock queue -A -o json
    paddock --context prod queue

    The first line is what the nodes have, and what of it is free. Jobs whose pods have nodes come first, without a
    position. Then come those that wait for room, by priority, then by age; positions count all namespaces. Then come
    those that wait for something else, as to be resumed. Last, on their own, are those that ask for more than the
    nodes have. NEEDS is what all pods of a job ask for together. Finished
    jobs are in `paddock get` and `paddock history`.

    A job that fits starts before one that does not; once that one has waited for five minutes, those behind it leave
    what it lacks. On a Kubernetes its own scheduler decides, and may have another order.
    """

    async def work(client: Client, place: ClusterChoice) -> _Found:
        found = await _fetch(client, "" if all_namespaces else namespace, is_local=place.home is not None)
        if found.rows or all_namespaces or output != "table":
            return found
        others = [read_unfinished(*each) for each in await fetch_elsewhere(client)]
        return replace(found, elsewhere=len(list(filter(None, others))), options=place.flags.options)

    found = run_with_client(work)
    if output == "json":
        document = queue_rows.build_document(found.rows, found.queue.capacity, time.time(), all_pods=found.all_pods)
        print_line(write_json(document))
    elif output == "name":
        for row in found.rows:
            print_line(printed_name(row.resource, name_of(row.manifest)))
    else:
        _print(found, "" if all_namespaces else namespace)


async def _fetch(client: Client, namespace: str, *, is_local: bool) -> _Found:
    kinds = (PODS, NODES, POD_GROUPS, VOLCANO_POD_GROUPS, PRIORITY_CLASSES)
    jobs, listed = await asyncio.gather(
        fetch_all(client, KINDS, namespace), asyncio.gather(*(_list(client, each) for each in kinds))
    )
    pods, nodes, groups, volcano, classes = listed
    all_pods = pods is not None
    if pods is None:
        pods = (await client.list(PODS, namespace)).items
        groups, volcano = [await _list(client, each, namespace) for each in (POD_GROUPS, VOLCANO_POD_GROUPS)]
    gangs = None if groups is None and volcano is None else [*(groups or ()), *(volcano or ())]
    queue = read_queue(pods, nodes, gangs, classes or (), kinds=KINDS)
    rows = read_queue_rows(jobs, pods, queue)
    if not is_local:
        requests = [read_request(pod) for pod in pods]
        rooms = read_rooms(nodes, requests if all_pods else None, requests)
        admissions = await fetch_admissions(client, [(row.job.cause, row.manifest) for row in rows])
        rows = settle([add_room(row, replace(rooms, admissions=admissions)) for row in rows], queue)
    return _Found(queue, rows, all_pods, is_local)


async def _list(client: Client, resource: Resource, namespace: str = "") -> list[Manifest] | None:
    """None if it may not be listed; empty if the cluster does not serve it."""
    try:
        return (await client.list(resource, namespace)).items
    except Forbidden:
        return None
    except NotFound:
        return []


def _print(found: _Found, namespace: str) -> None:
    now, language = time.time(), readers_language()
    capacity = explain_capacity(found.queue.capacity, all_pods=found.all_pods)
    stdout().print(render(capacity, language))
    if not found.rows:
        said = explain_elsewhere(explain_empty(namespace), found.elsewhere, f"paddock queue -A{found.options}")
        stderr().print(localized(said))
        return

    def build(rows: Sequence[QueueRow], most: int | None = None) -> tuple[list[str], list[list[str]]]:
        header, cells = queue_rows.build_table(rows, now, language, most=most)
        return (header, cells) if namespace else with_namespace([row.manifest for row in rows], header, cells)

    never = [row for row in found.rows if row.never]
    for rows in filter(None, ([row for row in found.rows if not row.never], never)):
        if rows is never:
            stdout().print(localized(phrase("cannot start here:")))
        room = find_room(stdout(), *build(rows))
        print_table(stdout(), *build(rows, room), cut=True)
    if any(row.position for row in found.rows):
        for note in explain_order(is_local=found.is_local, all_pods=found.all_pods, namespace=namespace):
            stderr().print(localized(note))
    if (unknown := explain_kueues_order(found.rows)) is not None:
        stderr().print(localized(unknown))


def explain_empty(namespace: str) -> Phrase:
    """The notice without jobs; `namespace`: empty for all. Pure."""
    if namespace:
        return phrase("nothing waits or runs in namespace {namespace}", namespace=namespace)
    return phrase("nothing waits or runs in any namespace")


def explain_order(*, is_local: bool, all_pods: bool, namespace: str) -> list[Phrase]:
    """What the positions are not. Pure."""
    notes = []
    if not all_pods:
        notes.append(
            phrase(
                "positions count namespace {namespace} alone: you may not list the pods of all namespaces",
                namespace=namespace,
            )
        )
    if not is_local:
        notes.append(phrase("positions are by priority, then by age: the cluster's own scheduler decides"))
    return notes
