"""The jobs of `paddock doctor`: one that is named, also if it is gone, or all that are not well."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from paddock.app.consoles.spool.files import place_of_cluster
from paddock.app.examined_jobs import Looked, Report, look_at_job, look_at_run
from paddock.app.history import History
from paddock.app.home import Home, read_home
from paddock.cli.cluster.lookup import NoJob, fetch_all, fetch_job
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.kept_runs import find_kept
from paddock.cli.output.findings import Subject
from paddock.cli.output.language import localized
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import Phase
from paddock.logs.nearest_line import explain_nearest
from paddock.views.phases import is_cancelled
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, counted, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

_LATELY = 24 * 3600.0
"""Seconds for which a job that has failed is looked at without being named."""
MOST = 20
"""Jobs that are looked at without being named."""
MOST_BYTES = 16 << 20
"""Bytes of the logs of each of them that are read: the first and the last of each log."""


async def examine_job(client: Client, place: ClusterChoice, namespace: str, word: str, report: Report) -> Subject:
    """The job that `word` names; of one that is gone, what the local cluster has kept. Raises `UserError`."""
    try:
        return await _examine(client, place, await fetch_job(client, namespace, word, place.flags), report)
    except NoJob:
        runs = find_kept(History(place.home), namespace, word) if place.home is not None else []
        if not runs:
            raise
    run = runs[-1]
    looked = await look_at_run(History(_home(place)), run, place.flags.of(namespace), report)
    name = f"{run.kind} {run.namespace}/{run.name}"
    return Subject(name, looked.findings, _tell(looked), hint=_tell_nearest(looked))


async def examine_jobs(client: Client, place: ClusterChoice, namespace: str, report: Report) -> list[Subject]:
    """All jobs of the namespace that have not ended, or have failed lately, by name."""
    found = [read_stored(resource, each) for resource, each in await fetch_all(client, KINDS, namespace)]
    now = time.time()
    chosen = sorted((each for each in found if _is_wanted(each, now)), key=lambda each: each.key.name)
    if not chosen:
        looked = phrase(
            "{jobs}, none of which goes on or has failed in the last day",
            jobs=counted("{count} job", "{count} jobs", count=len(found)),
        )
        return [Subject(localized(phrase("namespace {name}", name=namespace)), (), looked)]
    return [await _examine(client, place, each, report, MOST_BYTES) for each in chosen[:MOST]]


def _is_wanted(job: StoredJob, now: float) -> bool:
    status = job.status
    if status.phase is Phase.FAILED or has_failed_rank(status.phase, status.cause):
        return status.finished is None or now - status.finished < _LATELY
    return not status.phase.terminal


async def _examine(
    client: Client, place: ClusterChoice, stored: StoredJob, report: Report, most: int | None = None
) -> Subject:
    name = f"{stored.resource.kind} {stored.key.namespace}/{stored.key.name}"
    options = place.flags.of(stored.key.namespace)
    if stored.job is None:
        explain = f"paddock explain {stored.key.name}{options}"
        why = phrase("its manifest is wrong: `{command}` says where", command=explain)
        return Subject(name, (), phrase("nothing"), why)
    looked = await look_at_job(
        client, stored.job, stored.status, stored.uid,
        history=History(_home(place)), local=place.home is not None, options=options, report=report, most=most,
    )  # fmt: skip
    said = _tell(looked)
    if looked.cut:
        said = phrase(
            "{said}; of {logs} only the first and the last part was read, so numbers of lines are about right: "
            "`{command}` reads all",
            said=said, logs=counted("{count} log", "{count} logs", count=looked.cut),
            command=f"paddock doctor {stored.key.name}{options}",
        )  # fmt: skip
    return Subject(name, looked.findings, said, hint=_advise(stored, options, looked))


def _advise(stored: StoredJob, options: str, looked: Looked) -> Phrase | None:
    """Doctor knows what launchers and frameworks say; what a program says of itself is told elsewhere. That no metric
    was read is nothing wrong with a job, so it is no finding."""
    if is_cancelled(stored.status.phase, stored.status.cause):
        return None
    if stored.status.phase is Phase.FAILED:
        command = f"paddock explain {stored.key.name}{options}"
        return phrase("the job failed for another reason: `{command}`", command=command)
    if stored.status.phase in (Phase.PENDING, Phase.NONE, Phase.SUSPENDED):
        command = f"paddock explain {stored.key.name}{options}"
        return phrase("the job does not run: `{command}` says why", command=command)
    return _tell_nearest(looked)


def _tell_nearest(looked: Looked) -> Phrase | None:
    return explain_nearest(looked.nearest) if looked.nearest else None


def _home(place: ClusterChoice) -> Home:
    """The home of the local cluster; else where a console keeps its copies of the cluster's logs."""
    return place.home or place_of_cluster(read_home(os.environ), place.read_config().server)


def _tell(looked: Looked) -> Phrase:
    return phrase(
        "{pods}, {logs} with {lines}",
        pods=counted("{count} pod", "{count} pods", count=looked.pods),
        logs=counted("{count} log", "{count} logs", count=looked.logs),
        lines=counted("{count} line", "{count} lines", count=looked.lines),
    )
