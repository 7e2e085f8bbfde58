"""paddock usage"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from paddock.app.home import may_answer
from paddock.app.prometheus import Address, PrometheusError, find_address, query
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_all
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import choose_place, connect, run
from paddock.cli.output.language import localized
from paddock.cli.output.periods import read_window
from paddock.cli.output.streams import print_line, print_notice, write_json
from paddock.cli.output.tables import print_fitted
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import PODS
from paddock.kube.validation.names import DNS_LABEL
from paddock.views import usage_rows
from paddock.views.stored import read_stored
from paddock.views.usage import (
    By,
    Held,
    Window,
    group_pods,
    read_run,
    read_series,
    read_stored_job,
    sum_rows,
    write_query,
)
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.app.home import Home
    from paddock.cli.cluster.places import ClusterChoice

_COLUMNS: Mapping[str, tuple[By, ...]] = {
    "": (By.NAMESPACE, By.KIND),
    By.NAMESPACE: (By.NAMESPACE,),
    By.KIND: (By.KIND,),
    By.NAME: (By.NAMESPACE, By.KIND, By.NAME),
    By.PERSON: (By.PERSON,),
}


@dataclass(frozen=True, slots=True)
class _Found:
    """What was held, and who says so."""

    held: Sequence[Held]
    source: str
    jobs: int | None
    said: Phrase


@click.command(name="usage", cls=Verb)
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="How far to look back: 24h, 30d, 4w.")
@click.option(
    "--by", type=click.Choice([str(each) for each in By]), default=None,
    help="What a line is about (default: namespace and kind). namespace is of all namespaces.",
)  # fmt: skip
@click.option(
    "--prometheus", envvar="PADDOCK_PROMETHEUS", metavar="URL",
    help="Ask this Prometheus, which scrapes the operator (or PADDOCK_PROMETHEUS, with --context).",
)  # fmt: skip
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="json: also memory.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces.")
@namespace_option
@click.pass_context
def command(
    context: click.Context,
    since: str,
    by: str | None,
    prometheus: str | None,
    output: str,
    all_namespaces: bool,
    namespace: str,
) -> None:
    """Hours of GPUs and cores that jobs have held.

    \b
    paddock usage
    paddock usage --since 7d --by name
    paddock --context prod usage -A --prometheus http://127.0.0.1:9090

    A pod holds its requests, from when it has a node until it has ended, whether it works or not; one that asks for
    nothing counts in POD-HOURS alone. On this machine the runs of the history count. On a Kubernetes a Prometheus that
    scrapes the operator knows also what deleted jobs have held; without one, the jobs that are still there count, and
    it is said so. A Prometheus knows namespaces and kinds, neither names nor persons.
    """
    seconds = read_window(since)
    now = time.time()
    window = Window(now - seconds, now)
    where = "" if all_namespaces or by == By.NAMESPACE else namespace
    address = _read_prometheus(context, prometheus)
    if address is not None:
        found = _ask(address, seconds, where, by)
    elif (place := choose_place()).home is not None:
        found = _read_history(place.home, window, where)
    else:
        found = run(_read_jobs(place, window, where))
    columns = _COLUMNS[by or ""]
    rows = sum_rows(found.held, columns)
    if output == "json":
        print_line(write_json(usage_rows.build_document(rows, columns, window, found.source, found.jobs), indent=2))
        return
    if rows:
        print_fitted(lambda _: usage_rows.build_table(rows, columns), cut=False)
        if len(rows) > 1:
            print_notice(localized(usage_rows.explain_total(rows, since.strip())))
        if unasked := usage_rows.explain_unasked(rows):
            print_notice(localized(unasked))
    elif where:
        print_notice(localized(phrase("no job of namespace {namespace} has held anything", namespace=where)))
    else:
        print_notice(localized(phrase("no job has held anything")))
    print_notice(localized(found.said))


def _read_prometheus(context: click.Context, text: str | None) -> Address | None:
    """That of the variable counts for a Kubernetes alone. Raises `UserError`."""
    is_typed = context.get_parameter_source("prometheus") is ParameterSource.COMMANDLINE
    if not text or not (is_typed or choose_place().home is None):
        return None
    try:
        return find_address(text, os.environ)
    except PrometheusError as error:
        raise UserError(error.said) from None


def _ask(address: Address, seconds: int, namespace: str, by: str | None) -> _Found:
    """Raises `UserError` for what no Prometheus knows, `Failed` where it does not answer as it should."""
    if by in (By.NAME, By.PERSON):
        raise UserError(
            phrase(
                "a Prometheus knows namespaces and kinds alone, as metrics name neither jobs nor persons: leave "
                "--prometheus out (and PADDOCK_PROMETHEUS) for --by {by}, which counts the jobs that are still there",
                by=by,
            )
        )
    if namespace and not DNS_LABEL.allows(namespace):  # it stands in a query
        raise UserError(
            phrase(
                "{name} is not a valid name for a namespace: a-z, 0-9 and - are allowed, at most 63",
                name=repr(namespace),
            )
        )
    try:
        series = asyncio.run(query(address, write_query(f"{seconds}s", namespace)))
    except PrometheusError as error:
        raise Failed(error.said) from None
    said = phrase(
        "by the Prometheus at {url}, also of deleted jobs; what the operator did not count yet is missing, and what "
        "Prometheus keeps no more",
        url=address.url,
    )
    return _Found(read_series(series), "prometheus", None, said)


def _read_history(home: Home, window: Window, namespace: str) -> _Found:
    from paddock.app.held_runs import read_held_runs

    runs, said = read_held_runs(home, window.since, namespace)
    is_up = may_answer(home)
    held = [read_run(run, job, used, window, is_up=is_up) for run, job, used in runs]
    return _Found(held, "runs", len(held), said)


async def _read_jobs(place: ClusterChoice, window: Window, namespace: str) -> _Found:
    async with connect(place) as client:
        jobs, pods = await asyncio.gather(fetch_all(client, KINDS, namespace), client.list(PODS, namespace))
    of_jobs = group_pods(pods.items)
    held = [read_stored_job(read_stored(resource, job), of_jobs, window) for resource, job in jobs]
    return _Found(held, "jobs", len(held), usage_rows.explain_jobs(len(held)))
