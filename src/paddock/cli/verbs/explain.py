"""paddock explain

For a job: the cause that the operator recorded, unchanged, then the next steps. For a file: see `cli.submit.why_not`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.kinds import name_for_kubectl
from paddock.cli.cluster.lookup import NoJob
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import run_with_client
from paddock.cli.output.job_documents import build_job, build_run
from paddock.cli.output.language import readers_language, say
from paddock.cli.output.local_times import localize_times
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import stdout
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import Phase, Status
from paddock.jobs.objects.pod_groups import find_priority_class
from paddock.jobs.sentences.explain import explain, explain_edit
from paddock.kube.meta import Key, Resource, name_of, namespace_of, uid_of
from paddock.kube.times import Moment, format_duration
from paddock.views.commands import choose_word, show_key
from paddock.views.flags import LOCAL, Flags, build_next
from paddock.views.given_up import read_given_up
from paddock.views.gpus import shares_gpus
from paddock.views.manager import explain_manager
from paddock.views.phases import say_state, show_phase
from paddock.views.restarts import explain_no_restart, explain_scope, name_scope
from paddock.views.steps import Step, build_steps
from paddock.views.stored import StoredJob, read_stored
from paddock.views.waits import find_wait
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.kube.api import PodApi


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is told of one job."""

    lines: list[str]
    bad: str = ""
    """Which of them tells a failure; empty without one."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """For `-o json`, but for the lines."""


@click.command(name="explain", cls=Verb)
@click.argument("job", required=False, metavar="[JOB]", shell_complete=complete_jobs)
@click.option("--why-not", "file", default=None, metavar="FILE", help="Why the job in FILE would not start now.")
@click.option("--bundle", default=None, metavar="FILE", help="Of the job in this file of paddock bundle, as it was.")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@namespace_option
def command(job: str | None, file: str | None, bundle: str | None, output: str, namespace: str) -> int:
    """Why a job waits, restarts or failed, or why one that is not submitted yet would not start.

    \b
    paddock explain JOB
    paddock explain --why-not job.yaml
    paddock explain --bundle resnet.bundle.tar.gz
    paddock explain JOB -o json    its phase, its cause with all values, what to type next, and the lines of the text

    Exit code with --why-not: 0 it would start now, 1 it would wait, be refused or is wrong.
    """
    if sum(each is not None for each in (job, file, bundle)) != 1:
        raise UserError(
            phrase("paddock explain wants one of three: the name of a job, --why-not FILE, or --bundle FILE")
        )
    language = readers_language()
    if bundle is not None:
        from paddock.cli.cluster.bundled import run_with_bundle

        async def work(client: PodApi, place: ClusterChoice, where: str, name: str) -> Explanation:
            try:
                return await _explain(client, place, where, name, language)
            except NoJob:
                if (gone := _explain_kept(place, where, name, language)) is None:
                    raise
                return gone

        return _print(run_with_bundle(bundle, work), output)
    if job:
        return _print(run_with_client(lambda client, place: _explain(client, place, namespace, job, language)), output)
    from paddock.cli.submit.why_not import explain_file

    return explain_file(str(file), namespace, language, output)


async def _explain(client: PodApi, place: ClusterChoice, namespace: str, name: str, language: str) -> Explanation:
    from paddock.cli.follow.above_limits import fetch_above
    from paddock.cli.follow.doubt import fetch_doubt
    from paddock.cli.follow.gone_jobs import fetch_present
    from paddock.cli.follow.held_ranks import fetch_held
    from paddock.cli.follow.shared_gpus import fetch_gpus
    from paddock.cli.follow.since_completed import find_since
    from paddock.cli.follow.waiting_ranks import fetch_waiting
    from paddock.cli.follow.workloads import fetch_said

    now, job = place.now(), await fetch_present(client, place, namespace, name)
    status, beside = await _add_room(client, place, job)
    word = choose_word(job, name)
    if (hidden := _explain_hidden(place, job, status)) is not None:
        beside = [*beside, hidden]
    lines = build_explanation(job.manifest, status, now, language, place.flags, word, beside)
    steps = find_steps(job.manifest, status, place.flags, word)
    if sizes := _explain_sizes(place, job.manifest):
        lines.insert(2, render(sizes, language))
    since = find_since(place, job, status) if status.phase is Phase.FAILED else []
    held = await fetch_held(client, job, status, place.flags, word) if place.kept is not None else []
    lines[-1:-1] = [render(each, language) for each in (*since, *held)]
    waiting = await fetch_waiting(client, place, job, now)
    lines += [render(each, language) for each in (*waiting, *await fetch_doubt(client, place, job))]
    if place.kept is not None and status.phase in (Phase.RUNNING, Phase.COMPLETED):
        lines += [render(each, language) for each in await fetch_above(client, job)]
    if place.kept is not None and job.job is not None and shares_gpus(job.job):
        lines += [render(each, language) for each in await fetch_gpus(client, job)]
    if not waiting and (silent := explain_silence(place, job, now, word)) is not None:
        lines.append(render(silent, language))
    if waiting:
        doctor = Step("paddock doctor {name}{where}", {"name": word}, job.key.namespace)
        lines += [render(each, language) for each in build_next([doctor], place.flags)]
        steps.append(doctor)
    lines += [render(each, language) for each in await fetch_said(client, job)]
    if status.suspects and not status.phase.terminal:
        from paddock.jobs.sentences.suspect_phrases import explain_suspects  # late: few jobs have any

        lines += [render(each, language) for each in explain_suspects(status, now)]
    if place.kept is None and job.status.cause is None and explain_manager(job.manifest) is None:
        lines += [
            render(each, language)
            for each in await _explain_no_cause(client, job.resource, namespace, job.status, place)
        ]
    bad = status.cause if has_failed_rank(status.phase, status.cause) else None
    document = {
        **build_job(job, status.cause, language),
        "next": [say(place.flags.fill(each), language) for each in steps],
    }
    return Explanation(lines, explain(bad, language) if bad else "", document)


def _explain_kept(place: ClusterChoice, namespace: str, name: str, language: str) -> Explanation | None:
    """How the last run of a job that is gone has ended; None where nothing is kept of it."""
    from paddock.cli.follow.kept_runs import find_kept
    from paddock.cli.output.run_rows import explain_end

    runs = find_kept(place.kept, namespace, name) if place.kept is not None else []
    if not runs:
        return None
    gone = phrase("the job {name} was gone then; this is how its last run ended", name=repr(name))
    return Explanation([explain_end(runs[-1], language), render(gone, language)], "", build_run(runs[-1], language))


def _print(found: Explanation, output: str) -> int:
    if output == "json":
        print_line(write_json({**found.document, "text": found.lines}, default=str))
        return 0
    for line in found.lines:
        stdout().print(localize_times(line), style="red" if line == found.bad else "")
    return 0


async def _add_room(client: PodApi, place: ClusterChoice, job: StoredJob) -> tuple[Status, list[Phrase]]:
    """The status, its cause with what nodes and pods show of a job that waits for room; and what is said beside it."""
    from paddock.cli.cluster.rooms import fetch_rooms

    status = job.shown_status
    rooms = await fetch_rooms(client, place, [(status.cause, job.manifest)], job.key.namespace)
    if rooms is None:
        return status, []
    from paddock.views.rooms import explain_own_words

    cause = rooms.add(status.cause, job.resource, job.manifest)
    return replace(status, cause=cause), [each for each in (explain_own_words(cause), rooms.unseen) if each is not None]


def _explain_hidden(place: ClusterChoice, job: StoredJob, status: Status) -> Phrase | None:
    """Of a rank that failed as a file of the user's own hides a module of Python."""
    error = str(status.cause.args.get("error") or "") if status.cause is not None else ""
    if not error:
        return None
    from paddock.cli.follow.hidden_files import explain_hidden  # late: most jobs have not failed

    return explain_hidden(job.job, error, local=place.home is not None)


def _explain_sizes(place: ClusterChoice, manifest: Mapping[str, Any]) -> Phrase | None:
    """How many ranks trained together over time, as this machine's history knows it; a cluster keeps none."""
    if place.kept is None:
        return None
    from paddock.cli.output.run_rows import explain_run_sizes

    runs, _ = place.kept.read(namespace_of(manifest), name_of(manifest))
    run = next((each for each in runs if each.uid == uid_of(manifest)), None)
    return explain_run_sizes(run) if run is not None else None


def explain_silence(place: ClusterChoice, job: StoredJob, now: Moment, word: str = "") -> Phrase | None:
    """Of a job of this machine that runs and prints nothing: since when, and the command that shows where it is.
    `word`: as in `build_steps`."""
    if place.kept is None or job.status.phase is not Phase.RUNNING:
        return None
    logs = place.kept.find_job_logs(*job.key, job.uid)
    printed = [each.modified for each in logs if each.place.attempt == job.status.attempt]
    if not printed or now - max(printed) < _SILENT_SECONDS:
        return None
    return phrase(
        "no rank has printed for {time}: `{command}` shows where each is, `{doctor}` whether that is long for it",
        time=format_duration(now - max(printed)),
        command=f"paddock stacks {word or job.key.name}{place.flags.of(job.key.namespace)}",
        doctor=f"paddock doctor {word or job.key.name}{place.flags.of(job.key.namespace)}",
    )


async def _explain_no_cause(
    client: PodApi, resource: Resource, namespace: str, status: Status, place: ClusterChoice
) -> list[Phrase]:
    """Without a recorded cause: the operators that could record one, and all versions."""
    from paddock.cli.cluster.operators import explain_no_status, fetch_versions

    versions = await fetch_versions(client, namespace, place.now())
    untaken = (
        [await explain_no_status(client, resource, namespace, place.flags, place.now())] if not status.phase else []
    )
    return [*untaken, versions]


def build_explanation(
    manifest: Mapping[str, Any],
    status: Status,
    now: Moment,
    language: str,
    flags: Flags = LOCAL,
    word: str = "",
    beside: Sequence[Phrase] = (),
) -> list[str]:
    """The lines about a job: its name, the cause, what is said `beside` it, who recorded it and when, next steps.
    `word`: as in `build_steps`. Pure."""
    metadata = manifest.get("metadata") or {}
    name, namespace = str(metadata.get("name")), str(metadata.get("namespace"))
    edit = explain_edit(status)
    job = f"{manifest.get('kind')} {show_key(Key(namespace, name))}"
    head = [
        render(phrase("{said}: {why}", said=job, why=say_state(show_phase(status) or "Pending", language)), language)
    ]
    head += [render(edit, language)] if edit is not None else []
    cause, manager = status.cause, explain_manager(manifest)
    if manager is not None and cause is None:
        return [*head, render(phrase("{said}: no operator of Paddock acts on it", said=manager), language)]
    if cause is None and status.problem is not None:
        return [
            *head,
            *_about_restarts(manifest, status, language),
            *_tell_steps(manifest, status, language, flags, word),
        ]
    if cause is None:
        said = _WITHOUT_CAUSE.get(str(status.phase), _UNSEEN)
        scope = _about_restarts(manifest, status, language) if manager is None else []
        return [*head, render(said, language), *scope]
    end = [render(each, language) for each in beside]
    end += _about_restarts(manifest, status, language) if manager is None else []
    if cause.reason == _FOR_ROOM and flags.local and _has_priority(manifest):
        end.append(render(_NOBODY_LOWER, language))
    lines = [*head, explain(cause, language), *end]
    if cause.reason == "InvalidJob":
        lines = [
            *head,
            render(phrase("the manifest is wrong; edit the job:"), language),
            *_problems(manifest, language),
        ]
    age = format_duration(max(now - cause.since, 0)) if cause.since else "?"
    recorded = (manifest.get("status") or {}).get("cause")
    by = phrase("reason {reason}, recorded {age} ago (status.cause of the job)", reason=cause.reason, age=age)
    given_up = read_given_up(manifest) == cause
    if given_up:
        by = phrase("`paddock run` gave the job up for it and suspended it: {reason}, {age} ago",
                    reason=cause.reason, age=age)  # fmt: skip
    by = by if recorded or cause.since is not None else _READ_HERE
    if status.phase is Phase.PENDING and (waits := find_wait(manifest, cause)) is not None:
        # The cause may be younger than the wait, as after an edit of a quota.
        waited = format_duration(max(now - waits, 0))
        by = by if waited == age else phrase("{said}; the job has waited for {age}", said=by, age=waited)
    lines.append(render(by, language))
    if manager is not None:
        # Its manager has copied the status of a job elsewhere: what to type there does not help here.
        return [*lines, render(manager, language)]
    return [*lines, *_tell_steps(manifest, status, language, flags, word)]


def find_steps(manifest: Mapping[str, Any], status: Status, flags: Flags, word: str = "") -> list[Step]:
    """What to type next. `word`: as in `build_steps`. Pure."""
    cause = status.cause or status.problem
    if cause is None or explain_manager(manifest) is not None:
        return []
    name, namespace = name_of(manifest), namespace_of(manifest)
    steps = build_steps(cause, name, namespace, local=flags.local, kind=_name_kind(manifest), word=word)
    if read_given_up(manifest) == cause:  # what it waited for may be there by now, and it is suspended all the same
        steps.append(Step("paddock resume {word}{where}", {"word": word or name}, namespace))
    return steps


def _tell_steps(manifest: Mapping[str, Any], status: Status, language: str, flags: Flags, word: str) -> list[str]:
    return [render(each, language) for each in build_next(find_steps(manifest, status, flags, word), flags)]


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
_NOBODY_LOWER = phrase(
    "its priority puts it before the others, and ends jobs of a lower one where that makes room: there are none, or "
    "they are ending now"
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
