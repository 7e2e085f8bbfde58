"""paddock get"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from paddock.jobs.frameworks.registry import order_columns
from paddock.kube.meta import ENVIRONMENTS, Manifest, Resource, metadata, name_of, uid_of
from paddock.kube.nearness import nearest
from paddock.views.commands import printed_name
from paddock.views.jobs import JobRow, read_job_row
from paddock.words.phrases import NOTHING, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client

PLURALS = ("jobs", "pods", "environments", "datasets")
_WORDS = {
    "jobs": phrase("jobs"),
    "pods": phrase("pods"),
    "environments": phrase("environments"),
    "datasets": phrase("datasets"),
}
_WIDE_ONLY = {"pods": ("IP", "NODE")}
_OUTPUTS = ("table", "wide", "json", "yaml", "name")


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
    paddock get pods -o wide
    paddock get jobs resnet -o yaml
    paddock get -w

    PS counts parameter servers, which kubeflow.org calls Master; MASTER counts the masters of a PyTorchJob.
    """
    resources = KINDS_BY_WORD.get(kind.lower())
    if resources is None:
        near = nearest(kind, PLURALS)
        hint = explain_near(near) if near else _explain_unknown(kind, names)
        raise UserError(
            phrase(
                "paddock get knows jobs, pods, environments and datasets, not {kind}{hint}", kind=repr(kind), hint=hint
            )
        )

    if resources == (ENVIRONMENTS,) and choose_place().home is None:
        raise UserError(
            phrase(
                "environments belong to the local cluster: on a cluster the image itself is run; leave --context out"
            )
        )

    if watch:
        if output not in ("table", "wide"):
            raise UserError(phrase("--watch prints rows of a table: leave -o {output} out", output=output))
        _watch(resources, Asked(kind, names, "" if all_namespaces else namespace, selector, wide=output == "wide"))
        return

    async def work(client: Client, place: ClusterChoice) -> list[tuple[Resource, Manifest]]:
        where = "" if all_namespaces else namespace
        items = await fetch_all(client, resources, where, selector)
        return sorted(items, key=lambda each: str(metadata(each[1]).get("creationTimestamp")))

    found = run_with_client(work)
    if names:
        found = _only(found, names, resources[0])
    if not found and output in ("table", "wide"):
        missing = explain_none(_WORDS[_plural(kind)], "" if all_namespaces else namespace, selector)
        print_notice(render(missing, readers_language()))
        return
    _print(found, kind, output, all_namespaces, bool(names))


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

    printed, columns = AppendedRows(), set[str]()

    def build(changes: Sequence[Change]) -> tuple[list[str], list[list[str]]]:
        found = [(each.resource, each.object) for each in changes]
        header, cells = _table(found, _plural(asked.kind), wide=asked.wide, most=None, columns=columns)
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
            if first and asked.names:  # as without --watch; and as kubectl
                _only([(each.resource, each.object) for each in ordered], asked.names, resources[0])
            for line in tell(ordered, first):
                print_line(line, flush=True)
            if first and not ordered:
                missing = explain_none(_WORDS[_plural(asked.kind)], asked.namespace, asked.selector)
                print_notice(render(missing, readers_language()))
            first = False

    run_with_client(work)


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
    found: list[tuple[Resource, Manifest]], names: tuple[str, ...], resource: Resource
) -> list[tuple[Resource, Manifest]]:
    known = [name_of(item) for _, item in found]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = explain_near(near) if near else NOTHING
            raise UserError(
                phrase("there is no {kind} {name} here{hint}", kind=resource.kind, name=repr(name), hint=hint)
            )
    return [(each, item) for each, item in found if name_of(item) in names]


def _print(found: list[tuple[Resource, Manifest]], kind: str, output: str, everywhere: bool, single: bool) -> None:
    if output in ("json", "yaml"):
        document = found[0][1] if single and len(found) == 1 else _list_of([item for _, item in found])
        _print_document(document, output)
        return
    if output == "name":
        for resource, item in found:
            print_line(printed_name(resource, name_of(item)))
        return

    def build(most: int | None) -> Table:
        header, cells = _table(found, _plural(kind), wide=output == "wide", most=most)
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
) -> tuple[list[str], list[list[str]]]:
    now, language = time.time(), readers_language()
    if kind == "datasets":
        from paddock.cli.output import dataset_rows  # late: `paddock get` needs none of it

        return list(dataset_rows.HEADER), [dataset_rows.build_cells(item, now, language) for _, item in found]
    if kind == "jobs":
        jobs = [read_job_row(*each) for each in found]
        return _table_of_jobs(jobs, now, language, wide=wide, most=most, known=columns)
    from paddock.views.environments import read_environment_row
    from paddock.views.pods import read_pod_row

    tables: dict[str, tuple[tuple[str, ...], Callable[[Manifest], list[str]]]] = {
        "pods": (rows.POD_HEADER, lambda item: rows.build_pod_cells(read_pod_row(item), now, language)),
        "environments": (
            rows.ENVIRONMENT_HEADER,
            lambda item: rows.build_environment_cells(read_environment_row(item), now, language),
        ),
    }
    header, build = tables[kind]
    hidden = () if wide else _WIDE_ONLY.get(kind, ())
    kept = [place for place, name in enumerate(header) if name not in hidden]
    table = [build(item) for _, item in found]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in table]


def _table_of_jobs(
    found: list[JobRow], now: float, language: str, *, wide: bool, most: int | None, known: set[str] | None
) -> tuple[list[str], list[list[str]]]:
    """`known`: the headings of earlier tables, to which those of this one are added."""
    columns = rows.choose_columns(found)
    if known is not None:
        known.update(columns)
        columns = order_columns(known)
    cells = [rows.build_job_cells(row, now, language, columns=columns, wide=wide, most=most) for row in found]
    return list(rows.build_job_header(columns)), cells


def _explain_unknown(word: str, names: tuple[str, ...]) -> Phrase:
    """A word alone may be the name of a job, which other verbs take without its kind."""
    if names:
        return phrase("; kubectl lists every kind")
    return phrase("; kubectl lists every kind, and `paddock get jobs {name}` a job of this name", name=word)


def _list_of(items: list[Manifest]) -> Manifest:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def _print_document(document: Any, output: str) -> None:
    if output == "json":
        print_line(write_json(document))
        return
    from paddock.manifests.yaml_texts import write_yaml

    print_line(write_yaml([document], sort_keys=True), end="")
