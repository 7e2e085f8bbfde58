"""paddock get"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.cluster.complete import complete_objects
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.kinds import KINDS_BY_WORD
from paddock.cli.cluster.lookup import explain_near, fetch_all
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.output import rows
from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import print_line, print_notice, write_json
from paddock.cli.output.tables import Table, print_fitted
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.kube.meta import ENVIRONMENTS, PODS, Manifest, Resource, metadata, name_of, uid_of
from paddock.kube.nearness import nearest
from paddock.views.commands import printed_name
from paddock.views.jobs import JobRow, read_job_row
from paddock.words.phrases import NOTHING, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.views.rooms import Rooms

PLURALS = ("jobs", "pods", "environments", "datasets")
_WORDS = {
    "jobs": phrase("jobs"),
    "pods": phrase("pods"),
    "environments": phrase("environments"),
    "datasets": phrase("datasets"),
}
_WIDE_ONLY = ("IP", "NODE")
"""Columns of pods."""
_OUTPUTS = ("table", "wide", "json", "yaml", "name")
_Found = tuple[list[tuple[Resource, Manifest]], "Rooms | None", Phrase | None]
"""The objects, what nodes and pods show, and the notice where there are none."""


@click.command(name="get", cls=Verb)
@click.argument(
    "kind",
    default="jobs",
    metavar="[jobs|pods|environments|datasets]",
    shell_complete=lambda _context, _parameter, start: [each for each in PLURALS if each.startswith(start)],
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_objects)
@click.option("-o", "--output", type=click.Choice(_OUTPUTS), default="table", show_default=True, help="How to print.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@click.option("-l", "--selector", default="", metavar="LABELS", help="Only with these labels: a=b,c!=d.")
@click.option("-w", "--watch", is_flag=True, help="Then print a row again whenever it changes, until Ctrl-C.")
@namespace_option
def command(
    kind: str,
    names: tuple[str, ...],
    output: str,
    all_namespaces: bool,
    selector: str,
    watch: bool,
    namespace: str,
) -> None:
    """List jobs, pods, environments or datasets.

    \b
    paddock get                     the jobs, and why each waits or failed
    paddock get resnet              of this one alone
    paddock get pods -o wide
    paddock get jobs resnet -o yaml
    paddock get -w

    PS counts parameter servers, which kubeflow.org calls Master; MASTER counts the masters of a PyTorchJob.
    """
    resources = KINDS_BY_WORD.get(kind.lower())
    if resources is None:  # the name of a job, as other verbs take it
        near = nearest(kind, PLURALS)
        if near or names:
            raise UserError(
                phrase(
                    "paddock get knows jobs, pods, environments and datasets, not {kind}{hint}",
                    kind=repr(kind), hint=explain_near(near) if near else phrase("; kubectl lists every kind"),
                )
            )  # fmt: skip
        kind, names, resources = "jobs", (kind,), KINDS_BY_WORD["jobs"]

    if resources == (ENVIRONMENTS,) and choose_place().home is None:
        raise UserError(
            phrase(
                "environments belong to the local cluster: on a cluster the image itself is run; leave --context out"
            )
        )

    asked = Asked(kind, names, "" if all_namespaces else namespace, selector, wide=output == "wide")
    if watch:
        if output not in ("table", "wide"):
            raise UserError(phrase("--watch prints rows of a table: leave -o {output} out", output=output))
        _watch(resources, asked)
        return

    async def work(client: Client, place: ClusterChoice) -> _Found:
        where = asked.namespace
        items = await fetch_all(client, resources, where, selector)
        shown = [each for each in items if not names or name_of(each[1]) in names]
        rooms = await _fetch_rooms(client, place, shown, where) if output in ("table", "wide") else None
        ordered = sorted(items, key=lambda each: str(metadata(each[1]).get("creationTimestamp")))
        is_told = not items and not names and output in ("table", "wide")
        return ordered, rooms, await _explain_missing(client, place, asked) if is_told else None

    found, rooms, missing = run_with_client(work)
    if names:
        found = _only(found, names, resources[0], asked.namespace)
    if missing is not None:
        print_notice(render(missing, readers_language()))
        return
    _print(found, kind, output, all_namespaces, bool(names), rooms)
    _tell_unseen(rooms)


async def _explain_missing(client: Client, place: ClusterChoice, asked: Asked) -> Phrase:
    """The notice for an empty result, with the jobs of other namespaces."""
    said = explain_none(_WORDS[_plural(asked.kind)], asked.namespace, asked.selector)
    if not asked.namespace or _plural(asked.kind) != "jobs":
        return said
    from paddock.cli.cluster.elsewhere import count_elsewhere, explain_elsewhere  # late, as `follow.listed` below

    options = place.flags.options + (f" -l {shlex.quote(asked.selector)}" if asked.selector else "")
    count, more = await count_elsewhere(client, asked.selector)
    return explain_elsewhere(said, count, f"paddock get -A{options}", more=more)


async def _fetch_rooms(
    client: Client, place: ClusterChoice, found: Sequence[tuple[Resource, Manifest]], namespace: str
) -> Rooms | None:
    """What nodes and pods of a cluster show, where a job or a pod of these waits for room; and what Kueue says of one
    that waits for its queue."""
    if place.home is not None:
        return None
    waiting = [(KINDS[resource].read_status(each).cause, each) for resource, each in found if resource in KINDS]
    pods = [each for resource, each in found if resource == PODS]
    if not pods and not any(cause is not None and cause.is_told_by_others for cause, _ in waiting):
        return None
    from paddock.cli.cluster.rooms import fetch_rooms

    return await fetch_rooms(client, place, waiting, namespace, pods)


def _tell_unseen(rooms: Rooms | None) -> None:
    if rooms is not None and rooms.unseen is not None:
        print_notice(render(rooms.unseen, readers_language()))


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows that are watched."""

    kind: str
    names: tuple[str, ...]
    namespace: str
    """Empty for all."""
    selector: str
    wide: bool


def _watch(resources: Sequence[Resource], asked: Asked) -> None:
    """Ends by Ctrl-C, or an error of the API."""
    from paddock.cli.follow.listed import Change, follow_listed  # late: `paddock get` alone needs none of it
    from paddock.cli.output.appended_rows import AppendedRows

    printed, columns = AppendedRows(readers_language()), set[str]()
    seen = _Seen()

    def build(changes: Sequence[Change]) -> tuple[list[str], list[list[str]]]:
        found = [(each.resource, each.object) for each in changes]
        table = _plural(asked.kind)
        header, cells = _table(found, table, wide=asked.wide, most=None, columns=columns, rooms=seen.rooms)
        return (header, cells) if asked.namespace else rows.with_namespace([each for _, each in found], header, cells)

    def tell(changes: Sequence[Change], first: bool) -> list[str]:
        wanted = [each for each in changes if not asked.names or name_of(each.object) in asked.names]
        if not wanted:
            return []
        header, cells = build(wanted)
        if first:
            return printed.begin(header, {uid_of(each.object): row for each, row in zip(wanted, cells, strict=True)})
        (change,), (row,) = wanted, cells
        if change.deleted:
            word = render(phrase("gone"), readers_language())
            return printed.remove(uid_of(change.object), header, row, word)
        return printed.add(uid_of(change.object), header, row)

    async def work(client: Client, place: ClusterChoice) -> None:
        first = True
        async for changes in follow_listed(client, resources, asked.namespace, asked.selector):
            ordered = sorted(changes, key=lambda each: str(metadata(each.object).get("creationTimestamp")))
            if time.monotonic() >= seen.until:
                found = [(each.resource, each.object) for each in ordered]
                await seen.look(client, place, found, asked.namespace)
            if first and asked.names:  # as without --watch; and as kubectl
                _only([(each.resource, each.object) for each in ordered], asked.names, resources[0], asked.namespace)
            for line in tell(ordered, first):
                print_line(line, flush=True)
            if first and not ordered:
                print_notice(render(await _explain_missing(client, place, asked), readers_language()))
            first = False

    run_with_client(work)


@dataclass(slots=True)
class _Seen:
    """What `--watch` knows of nodes and pods: looked at again with a change, and not more often than this."""

    rooms: Rooms | None = None
    until: float = 0.0

    async def look(
        self, client: Client, place: ClusterChoice, found: Sequence[tuple[Resource, Manifest]], namespace: str
    ) -> None:
        before = self.rooms
        self.rooms = await _fetch_rooms(client, place, found, namespace)
        if self.rooms is not None:
            self.until = time.monotonic() + _LOOK_SECONDS
            if before is None or before.unseen != self.rooms.unseen:
                _tell_unseen(self.rooms)


_LOOK_SECONDS = 10.0


def explain_none(kind: Phrase | str, namespace: str, selector: str) -> Phrase:
    """The notice for an empty result; `namespace`: empty for all. Pure."""
    if selector and namespace:
        return phrase(
            "no {kind} with labels {selector} in namespace {namespace}",
            kind=kind, selector=selector, namespace=namespace,
        )  # fmt: skip
    if selector:
        return phrase("no {kind} with labels {selector}", kind=kind, selector=selector)
    if namespace:
        return phrase("no {kind} in namespace {namespace}", kind=kind, namespace=namespace)
    return phrase("no {kind}", kind=kind)


def _only(
    found: list[tuple[Resource, Manifest]], names: tuple[str, ...], resource: Resource, namespace: str
) -> list[tuple[Resource, Manifest]]:
    """Raises `UserError` for a name that is not among them. `namespace`: empty for all."""
    known = [name_of(item) for _, item in found]
    for name in names:
        if name not in known:
            near, where = nearest(name, known), _tell_where(resource, namespace, name)
            hint = explain_near(near) if near else where
            raise UserError(
                phrase("there is no {kind} {name} here{hint}", kind=_name_one(resource), name=repr(name), hint=hint)
            )
    return [(each, item) for each, item in found if name_of(item) in names]


def _name_one(resource: Resource) -> Phrase | str:
    return phrase("job") if resource in KINDS else resource.kind


def _tell_where(resource: Resource, namespace: str, name: str) -> Phrase:
    """Where a job that is not listed may be. Raises `UserError` for one that is gone, with what is kept of it."""
    if resource not in KINDS or not namespace:
        return NOTHING
    from paddock.cli.follow.gone_jobs import explain_gone  # late: a name that is there needs none of it

    place = choose_place()
    if gone := explain_gone(place, namespace, name):
        raise UserError(gone)
    return phrase("; `{command}` lists all jobs", command=f"paddock get -A{place.flags.options}")


def _print(
    found: list[tuple[Resource, Manifest]],
    kind: str,
    output: str,
    everywhere: bool,
    single: bool,
    rooms: Rooms | None = None,
) -> None:
    if output in ("json", "yaml"):
        document = found[0][1] if single and len(found) == 1 else _list_of([item for _, item in found])
        _print_document(document, output)
        return
    if output == "name":
        for resource, item in found:
            print_line(printed_name(resource, name_of(item)))
        return

    def build(most: int | None) -> Table:
        header, cells = _table(found, _plural(kind), wide=output == "wide", most=most, rooms=rooms)
        return rows.with_namespace([item for _, item in found], header, cells) if everywhere else (header, cells)

    print_fitted(build, cut=output != "wide", red=_find_red(found, kind))


def _find_red(found: list[tuple[Resource, Manifest]], kind: str) -> frozenset[int]:
    """The rows of jobs that have completed, but for a rank that failed."""
    if _plural(kind) != "jobs":
        return frozenset()
    statuses = enumerate(KINDS[resource].read_status(job) for resource, job in found)
    return frozenset(number for number, status in statuses if has_failed_rank(status.phase, status.cause))


def _plural(kind: str) -> str:
    resource = KINDS_BY_WORD[kind.lower()][0]
    return "jobs" if resource in KINDS else resource.plural


def _table(
    found: list[tuple[Resource, Manifest]],
    kind: str,
    *,
    wide: bool,
    most: int | None,
    columns: set[str] | None = None,
    rooms: Rooms | None = None,
) -> tuple[list[str], list[list[str]]]:
    now, language = time.time(), readers_language()
    if kind == "datasets":
        from paddock.cli.output import dataset_rows  # late: `paddock get` needs none of it

        return list(dataset_rows.HEADER), [dataset_rows.build_cells(item, now, language) for _, item in found]
    if kind == "jobs":
        jobs = [_read_row(each, rooms) for each in found]
        return _table_of_jobs(jobs, now, language, wide=wide, most=most, known=columns)
    from paddock.views.environments import read_environment_row
    from paddock.views.pods import read_pod_row

    if kind == "environments":
        read = [read_environment_row(item) for _, item in found]
        return list(rows.ENVIRONMENT_HEADER), [rows.build_environment_cells(each, now, language) for each in read]
    known = set() if columns is None else columns
    pods = [read_pod_row(item, rooms) for _, item in found]
    header, cells = rows.build_pod_table(pods, now, language, gpus=rows.GPU in known)
    known.update({rows.GPU} & set(header))
    kept = [place for place, name in enumerate(header) if wide or name not in _WIDE_ONLY]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in cells]


def _read_row(each: tuple[Resource, Manifest], rooms: Rooms | None) -> JobRow:
    row = read_job_row(*each)
    return row if rooms is None else replace(row, cause=rooms.add(row.cause, *each))


def _table_of_jobs(
    found: list[JobRow], now: float, language: str, *, wide: bool, most: int | None, known: set[str] | None
) -> tuple[list[str], list[list[str]]]:
    """`known`: the headings of earlier tables, to which those of this one are added."""
    columns = rows.choose_columns(found, known or ())
    if known is not None:
        known.update(columns)
    cells = [rows.build_job_cells(row, now, language, columns=columns, wide=wide, most=most) for row in found]
    return list(rows.build_job_header(columns)), cells


def _list_of(items: list[Manifest]) -> Manifest:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def _print_document(document: Any, output: str) -> None:
    if output == "json":
        print_line(write_json(document))
        return
    from paddock.manifests.yaml_texts import write_yaml

    print_line(write_yaml([document], sort_keys=True), end="")
