"""The jobs of `paddock doctor`: one that is named, also if it is gone, or all that are not well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from paddock.app.examined_jobs import MOST_OF_FILES, Looked, Report, look_at_job, look_at_run
from paddock.app.idle_jobs import ReadUses, ask_prometheus
from paddock.app.prometheus import Address, PrometheusError
from paddock.cli.cluster.lookup import NoJob, fetch_all, fetch_job
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.kept_runs import find_kept
from paddock.cli.output.findings import Subject
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_notice
from paddock.doctor.idle_gpus import LONG
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import Phase
from paddock.kube.meta import Key
from paddock.kube.quantities import format_bytes
from paddock.logs.nearest_line import explain_nearest
from paddock.views.commands import choose_word, printed_name
from paddock.views.examined import advise_beyond, tell_cause
from paddock.views.phases import is_cancelled
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, counted, phrase

if TYPE_CHECKING:
    from paddock.kube.api import PodApi

_LATELY = 24 * 3600.0
"""Seconds for which a job that has failed is looked at without being named."""
MOST = 20
"""Jobs that are looked at without being named."""
MOST_BYTES = 16 << 20
"""Bytes of the logs of each of them that are read: the first and the last of each log."""


async def examine_job(
    client: PodApi,
    place: ClusterChoice,
    namespace: str,
    word: str,
    report: Report,
    prometheus: Address | None = None,
) -> Subject:
    """The job that `word` names; of one that is gone, what the local cluster has kept. `prometheus`: knows what the
    GPUs of a cluster do. Raises `UserError`."""
    try:
        stored = await fetch_job(client, namespace, word, place.flags)
        return await _examine(client, place, stored, report, choose_word(stored, word), prometheus=prometheus)
    except NoJob:
        kept = place.kept
        runs = find_kept(kept, namespace, word) if kept is not None else []
        if kept is None or not runs:
            raise
    run = runs[-1]
    looked = await look_at_run(kept, run, place.now(), place.flags.of(namespace), report)
    name = f"{run.kind} {run.namespace}/{run.name}"
    said = _tell_cut(_tell(looked), looked) if looked.cut else _tell(looked)
    return Subject(name, looked.findings, said, hint=_tell_nearest(looked))


async def examine_jobs(
    client: PodApi, place: ClusterChoice, namespace: str, report: Report, prometheus: Address | None = None
) -> list[Subject]:
    """All jobs of the namespace that have not ended, or have failed lately, by name. The rest as `examine_job`."""
    found = [read_stored(resource, each) for resource, each in await fetch_all(client, KINDS, namespace)]
    now = place.now()
    chosen = sorted((each for each in found if _is_wanted(each, now)), key=lambda each: each.key.name)
    if not chosen:
        looked = phrase(
            "{jobs}, none of which goes on or has failed in the last day",
            jobs=counted("{count} job", "{count} jobs", count=len(found)),
        )
        return [Subject(localized(phrase("namespace {name}", name=namespace)), (), looked)]
    known = Counter(each.key for each in found)
    return [
        await _examine(client, place, each, report, _choose_name(each, known), MOST_BYTES, prometheus)
        for each in chosen[:MOST]
    ]


def _choose_name(job: StoredJob, known: Mapping[Key, int]) -> str:
    """As a command names it among these: with its kind where two have its name."""
    return printed_name(job.resource, job.key.name) if known[job.key] > 1 else job.key.name


def _is_wanted(job: StoredJob, now: float) -> bool:
    status = job.status
    if status.phase is Phase.FAILED or has_failed_rank(status.phase, status.cause):
        return status.finished is None or now - status.finished < _LATELY
    return not status.phase.terminal


async def _examine(
    client: PodApi,
    place: ClusterChoice,
    stored: StoredJob,
    report: Report,
    named: str,
    most: int | None = None,
    prometheus: Address | None = None,
) -> Subject:
    """`named`: the job as commands name it."""
    name = f"{stored.resource.kind} {stored.key.namespace}/{stored.key.name}"
    options = place.flags.of(stored.key.namespace)
    if stored.job is None:
        explain = f"paddock explain {named}{options}"
        why = phrase("its manifest is wrong: `{command}` says where", command=explain)
        return Subject(name, (), phrase("nothing"), why)
    looked = await look_at_job(
        client, stored.job, stored.status, stored.uid,
        history=place.kept or place.find_copies(), local=place.kept is not None, now=place.now(), options=options,
        named=named, report=report, most=most, ask_uses=_build_ask(prometheus),
    )  # fmt: skip
    said = _tell(looked)
    if looked.cut and most is None and place.kept is not None and place.home is not None:
        said = _tell_cut(said, looked)
    elif looked.cut and most is None:
        said = phrase(
            "{said}; of {logs} only the first and the last part is kept here, so numbers of lines are about right",
            said=said, logs=counted("{count} log", "{count} logs", count=looked.cut),
        )  # fmt: skip
    elif looked.cut:
        said = phrase(
            "{said}; of {logs} only the first and the last part was read, so numbers of lines are about right: "
            "`{command}` reads more",
            said=said, logs=counted("{count} log", "{count} logs", count=looked.cut),
            command=f"paddock doctor {named}{options}",
        )  # fmt: skip
    cause = tell_cause(stored.status)
    return Subject(
        name, looked.findings, said, cause=cause, hint=_advise(stored, f"paddock explain {named}{options}", looked)
    )


def _build_ask(prometheus: Address | None) -> ReadUses | None:
    """One that does not answer as it should is told, and the rest of the job is looked at all the same."""
    if prometheus is None:
        return None
    ask = ask_prometheus(prometheus, f"{LONG:.0f}s")

    async def ask_or_tell(pods: Mapping[str, Key]) -> Mapping[str, float]:
        try:
            return await ask(pods)
        except PrometheusError as error:
            print_notice(localized(error.said))
            return {}

    return ask_or_tell


def _tell_cut(said: Phrase, looked: Looked) -> Phrase:
    return phrase(
        "{said}; of {logs} only the first and the last part was read, {size} of all together, so numbers of lines are "
        "about right",
        said=said, logs=counted("{count} log", "{count} logs", count=looked.cut), size=format_bytes(MOST_OF_FILES),
    )  # fmt: skip


def _advise(stored: StoredJob, command: str, looked: Looked) -> Phrase | None:
    """`command`: explains the job. That no metric was read is nothing wrong with a job, so it is no finding."""
    if is_cancelled(stored.status.phase, stored.status.cause):
        return None
    return advise_beyond(stored.status, command) or _tell_nearest(looked)


def _tell_nearest(looked: Looked) -> Phrase | None:
    return explain_nearest(looked.nearest) if looked.nearest else None


def _tell(looked: Looked) -> Phrase:
    return phrase(
        "{pods}, {logs} with {lines}",
        pods=counted("{count} pod", "{count} pods", count=looked.pods),
        logs=counted("{count} log", "{count} logs", count=looked.logs),
        lines=counted("{count} line", "{count} lines", count=looked.lines),
    )
