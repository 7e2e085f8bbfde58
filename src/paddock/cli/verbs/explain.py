"""paddock explain

For a job: the cause that the operator recorded, unchanged, then the next steps. For a file: see `cli.submit.why_not`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.kinds import name_for_kubectl
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import run_with_client
from paddock.cli.output.language import readers_language
from paddock.cli.output.local_times import localize_times
from paddock.cli.output.terminal import stdout
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import Phase, Status
from paddock.jobs.objects.pod_groups import find_priority_class
from paddock.jobs.sentences.explain import explain, explain_edit
from paddock.kube.meta import Resource, name_of, namespace_of, uid_of
from paddock.kube.times import Moment, format_duration
from paddock.views.flags import LOCAL, Flags, build_next
from paddock.views.given_up import read_given_up
from paddock.views.manager import explain_manager
from paddock.views.phases import show_phase
from paddock.views.restarts import explain_no_restart, explain_scope, name_scope
from paddock.views.steps import Step, build_steps
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client


@click.command(name="explain", cls=Verb)
@click.argument("job", required=False, metavar="[JOB]", shell_complete=complete_jobs)
@click.option("--why-not", "file", default=None, metavar="FILE", help="Why the job in FILE would not start now.")
@namespace_option
def command(job: str | None, file: str | None, namespace: str) -> int:
    """Why a job waits, restarts or failed, or why one that is not submitted yet would not start.

    \b
    paddock explain JOB
    paddock explain --why-not job.yaml

    Exit code with --why-not: 0 it would start now, 1 it would wait, be refused or is wrong.
    """
    if (job is None) == (file is None):
        raise UserError(phrase("paddock explain wants one of two: the name of a job, or --why-not FILE"))
    language = readers_language()
    if job:
        return _explain_job(job, namespace, language)
    from paddock.cli.submit.why_not import explain_file

    return explain_file(str(file), namespace, language)


def _explain_job(name: str, namespace: str, language: str) -> int:
    from paddock.cli.follow.doubt import fetch_doubt
    from paddock.cli.follow.gone_jobs import fetch_present
    from paddock.cli.follow.since_completed import find_since
    from paddock.cli.follow.waiting_ranks import fetch_waiting
    from paddock.cli.follow.workloads import fetch_said

    async def work(client: Client, place: ClusterChoice) -> tuple[list[str], str]:
        job = await fetch_present(client, place, namespace, name)
        status = job.shown_status
        lines = build_explanation(job.manifest, status, time.time(), language, place.flags)
        if sizes := _explain_sizes(place, job.manifest):
            lines.insert(2, render(sizes, language))
        since = find_since(place, job) if status.phase is Phase.FAILED else []
        lines[-1:-1] = [render(each, language) for each in since]
        waiting = await fetch_waiting(client, place, job, time.time())
        lines += [render(each, language) for each in (*waiting, *await fetch_doubt(client, place, job))]
        if not waiting and (silent := explain_silence(place, job, time.time())) is not None:
            lines.append(render(silent, language))
        if waiting:
            doctor = Step("paddock doctor {name}{where}", {"name": job.key.name}, job.key.namespace)
            lines += [render(each, language) for each in build_next([doctor], place.flags)]
        lines += [render(each, language) for each in await fetch_said(client, job)]
        if place.home is None and job.status.cause is None and explain_manager(job.manifest) is None:
            lines += [
                render(each, language)
                for each in await _explain_no_cause(client, job.resource, namespace, job.status, place)
            ]
        bad = status.cause if has_failed_rank(status.phase, status.cause) else None
        return lines, explain(bad, language) if bad else ""

    lines, bad = run_with_client(work)
    for line in lines:
        stdout().print(localize_times(line), style="red" if line == bad else "")
    return 0


def _explain_sizes(place: ClusterChoice, manifest: Mapping[str, Any]) -> Phrase | None:
    """How many ranks trained together over time, as this machine's history knows it; a cluster keeps none."""
    if place.home is None:
        return None
    from paddock.app.history import History
    from paddock.cli.output.run_rows import explain_run_sizes

    runs, _ = History(place.home).read(namespace_of(manifest), name_of(manifest))
    run = next((each for each in runs if each.uid == uid_of(manifest)), None)
    return explain_run_sizes(run) if run is not None else None


def explain_silence(place: ClusterChoice, job: StoredJob, now: Moment) -> Phrase | None:
    """Of a job of this machine that runs and prints nothing: since when, and the command that shows where it is."""
    if place.home is None or job.status.phase is not Phase.RUNNING:
        return None
    from paddock.app.history import History

    logs = History(place.home).find_job_logs(*job.key, job.uid)
    printed = [each.modified for each in logs if each.place.attempt == job.status.attempt]
    if not printed or now - max(printed) < _SILENT_SECONDS:
        return None
    return phrase(
        "no rank has printed for {time}: `{command}` shows where each is, `{doctor}` whether that is long for it",
        time=format_duration(now - max(printed)),
        command=f"paddock stacks {job.key.name}{place.flags.of(job.key.namespace)}",
        doctor=f"paddock doctor {job.key.name}{place.flags.of(job.key.namespace)}",
    )


async def _explain_no_cause(
    client: Client, resource: Resource, namespace: str, status: Status, place: ClusterChoice
) -> list[Phrase]:
    """Without a recorded cause: the operators that could record one, and all versions."""
    from paddock.cli.cluster.operators import explain_no_status, fetch_versions

    versions = await fetch_versions(client, namespace)
    untaken = [await explain_no_status(client, resource, namespace, place.flags)] if not status.phase else []
    return [*untaken, versions]


def build_explanation(
    manifest: Mapping[str, Any], status: Status, now: Moment, language: str, flags: Flags = LOCAL
) -> list[str]:
    """The lines about a job: its name, the cause, who recorded it and when, next steps. Pure."""
    metadata = manifest.get("metadata") or {}
    name, namespace = str(metadata.get("name")), str(metadata.get("namespace"))
    edit = explain_edit(status)
    head = [f"{manifest.get('kind')} {namespace}/{name}: {show_phase(status) or 'Pending'}"]
    head += [render(edit, language)] if edit is not None else []
    cause, manager = status.cause, explain_manager(manifest)
    if manager is not None and cause is None:
        return [*head, render(phrase("{said}: no operator of Paddock acts on it", said=manager), language)]
    if cause is None and status.problem is not None:
        steps = build_steps(status.problem, name, namespace, local=flags.local, kind=_name_kind(manifest))
        return [
            *head,
            *_about_restarts(manifest, status, language),
            *(render(each, language) for each in build_next(steps, flags)),
        ]
    if cause is None:
        said = _WITHOUT_CAUSE.get(str(status.phase), _UNSEEN)
        scope = _about_restarts(manifest, status, language) if manager is None else []
        return [*head, render(said, language), *scope]
    end = _about_restarts(manifest, status, language) if manager is None else []
    if cause.reason == _FOR_ROOM and flags.local and _has_priority(manifest):
        end.append(render(_NO_PREEMPTION, language))
    lines = [*head, explain(cause, language), *end]
    if cause.reason == "InvalidJob":
        lines = [
            *head,
            render(phrase("the manifest is wrong; edit the job:"), language),
            *_problems(manifest, language),
        ]
    age = format_duration(max(now - cause.since, 0)) if cause.since else "?"
    recorded = (manifest.get("status") or {}).get("cause")
    by = phrase("recorded by the operator in status.cause: {reason}, {age} ago", reason=cause.reason, age=age)
    if read_given_up(manifest) == cause:
        by = phrase("`paddock run` gave the job up for it and suspended it: {reason}, {age} ago",
                    reason=cause.reason, age=age)  # fmt: skip
    lines.append(render(by if recorded or cause.since is not None else _READ_HERE, language))
    if manager is not None:
        # Its manager has copied the status of a job elsewhere: what to type there does not help here.
        return [*lines, render(manager, language)]
    steps = build_steps(cause, name, namespace, local=flags.local, kind=_name_kind(manifest))
    return [*lines, *(render(each, language) for each in build_next(steps, flags))]


def _about_restarts(manifest: Mapping[str, Any], status: Status, language: str) -> list[str]:
    """Why the job ended instead of starting again; or which of its ranks start again: now, or, of a running job whose
    manifest decides it, when one fails."""
    if status.cause is None and status.phase is not Phase.RUNNING:
        return []
    job = read_stored(_find_kind(manifest), dict(manifest)).job
    if status.cause is None:
        scope = name_scope(job) if job is not None and job.network.rendezvous else None
        return [render(scope, language)] if scope else []
    failed = status.phase is Phase.FAILED
    why = explain_no_restart(job, status.cause, manifest) if failed else explain_scope(job, status.cause)
    return [render(why, language)] if why else []


def _has_priority(manifest: Mapping[str, Any]) -> bool:
    """Whether a job names a PriorityClass, for itself or in its templates."""
    job = read_stored(_find_kind(manifest), dict(manifest)).job
    return job is not None and bool(find_priority_class(job))


def _name_kind(manifest: Mapping[str, Any]) -> str:
    return name_for_kubectl(_find_kind(manifest))


def _find_kind(manifest: Mapping[str, Any]) -> Resource:
    version, kind = manifest.get("apiVersion"), manifest.get("kind")
    return next((each for each in KINDS if (each.api_version, each.kind) == (version, kind)), next(iter(KINDS)))


_READ_HERE = phrase("read by this command: no operator has looked at the job yet")
_FOR_ROOM = "WaitingForScheduler"
_NO_PREEMPTION = phrase(
    "its priority puts it before the others in the queue, and ends none of them: on a laptop there is no preemption"
)
_UNSEEN = phrase("no operator has looked at the job yet")
_SILENT_SECONDS = 120.0
"""Without a line of any rank, after which that is told. It may be no fault: an epoch can take an hour."""
_WITHOUT_CAUSE = {
    "Running": phrase("running: all of its pods run"),
    "Completed": phrase("completed"),
    "Failed": phrase("failed: whoever ran it recorded no reason; its events may have one"),
}


def _problems(manifest: Mapping[str, Any], language: str) -> list[str]:
    from paddock.preflight import Document, check

    problems = check(Document(dict(manifest)))
    return [f"  {each.path}: {render(each.said or each.message, language)}" for each in problems if _is_error(each)]


def _is_error(problem: Any) -> bool:
    return bool(problem.severity == "error")
