"""paddock explain

Of a job: the cause that its operator recorded, first and as it is; then what to type. Of a file: see `cli.why_not`.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.context_options import namespace_option
from paddock.cli.errors import UserError
from paddock.cli.jobs_view import read_environment, read_given_up, read_status
from paddock.cli.language import readers_language
from paddock.cli.names import complete_jobs
from paddock.cli.places import LOCAL, Flags
from paddock.cli.session import talk
from paddock.cli.terminal import stdout
from paddock.cli.verb import Verb
from paddock.jobs.explain import explain
from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import CauseRecord, Status
from paddock.jobs.names import job_label
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.kube.meta import Resource
from paddock.kube.times import Moment, format_duration

if TYPE_CHECKING:
    from paddock.cli.places import Place
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
        raise UserError("paddock explain wants one of two: the name of a job, or --why-not FILE")
    language = readers_language()
    if job:
        return _explain_job(job, namespace, language)
    from paddock.cli.why_not import explain_file

    return explain_file(str(file), namespace, language)


def _explain_job(name: str, namespace: str, language: str) -> int:
    from paddock.cli.find import fetch_job

    async def work(client: Client, place: Place) -> list[str]:
        resource, manifest = await fetch_job(client, namespace, name, place.flags)
        status = read_status(resource, manifest)
        lines = build_explanation(manifest, status, time.time(), language, place.flags)
        if place.home is None and status.cause is None:
            lines += [
                render(each, language) for each in await _explain_place(client, resource, namespace, status, place)
            ]
        return lines

    for line in talk(work):
        stdout().print(line)
    return 0


async def _explain_place(
    client: Client, resource: Resource, namespace: str, status: Status, place: Place
) -> list[Phrase]:
    """Where nothing is recorded: who could record it, of which version, and which this command is."""
    from paddock.cli.leases import explain_untaken, fetch_versions

    versions = await fetch_versions(client, namespace)
    untaken = [await explain_untaken(client, resource, namespace, place.flags)] if not status.phase else []
    return [*untaken, versions]


def build_explanation(
    manifest: Mapping[str, Any], status: Status, now: Moment, language: str, flags: Flags = LOCAL
) -> list[str]:
    """The lines about a job: which, why, who says so since when, what to type. Pure."""
    metadata = manifest.get("metadata") or {}
    name, namespace = str(metadata.get("name")), str(metadata.get("namespace"))
    head = f"{manifest.get('kind')} {namespace}/{name}: {status.phase or 'Pending'}"
    cause = status.cause
    if cause is None:
        said = phrase("nothing is recorded: {why}", why=_WITHOUT_CAUSE.get(str(status.phase), _UNSEEN))
        return [head, render(said, language), render(_COMPUTED, language)]
    lines = [head, explain(cause, language)]
    if cause.reason == "InvalidJob":
        lines = [head, render(phrase("the manifest is wrong; edit the job:"), language), *_problems(manifest, language)]
    age = format_duration(max(now - cause.since, 0)) if cause.since else "?"
    by = phrase("recorded by the operator in status.cause: {reason}, {age} ago", reason=cause.reason, age=age)
    if read_given_up(manifest) == cause:
        by = phrase("`paddock run` gave the job up for it and suspended it: {reason}, {age} ago",
                    reason=cause.reason, age=age)  # fmt: skip
    lines.append(render(by, language))
    steps = build_steps(cause, name, namespace, flags=flags)
    return [*lines, *(render(each, language) for each in build_next(steps))]


_COMPUTED = phrase("computed by this command: the operator records a cause only where something is to be told")
_UNSEEN = phrase("no operator has looked at the job yet")
_WITHOUT_CAUSE = {
    "Running": phrase("all of its pods run"),
    "Completed": phrase("it completed"),
    "Failed": phrase("it failed, and whoever ran it left no reason; its events may have one"),
}


def _problems(manifest: Mapping[str, Any], language: str) -> list[str]:
    from paddock.jobs.preflight import Document, check

    problems = check(Document(dict(manifest)))
    return [f"  {each.path}: {render(each.said or each.message, language)}" for each in problems if _is_error(each)]


def _is_error(problem: Any) -> bool:
    return bool(problem.severity == "error")


_LACKS = re.compile(r"Insufficient ([\w.-]+/[\w.-]+)")
_NO_ENVIRONMENT = re.compile(r'image "([^"]+)" stands for no environment')
_LABELS = re.compile(r"affinity/selector \((?:on [^:]+: )?([\w./-]+=[\w.-]+(?:, [\w./-]+=[\w.-]+)*); node has")


def build_steps(
    cause: CauseRecord, name: str, namespace: str, file: str = "", flags: Flags = LOCAL
) -> list[str | Phrase]:
    """What to type next, for causes where there is something. `file`: of a job that is not submitted yet; `flags`: of
    the place it is on. Pure."""
    where, kubectl = flags.of(namespace), flags.kubectl
    on = where.removeprefix(flags.options)
    if cause.reason == "WaitingForScheduler":
        again = f"paddock run {file}" if file else f"paddock delete {name}{where} && paddock run FILE"
        return list(_steps_to_room(str(cause.args.get("message") or ""), f"{again}{flags.options}", flags))
    if cause.reason == "ImageUnavailable":
        if flags.options:
            return [f"{kubectl}{on} describe pods -l {JOB_LABEL}={job_label(name)}"]
        unknown = _NO_ENVIRONMENT.search(str(cause.args.get("message") or ""))
        return [f"paddock env create NAME -r requirements.txt --image {_quote(unknown[1])}"] if unknown else []
    if cause.reason == "EnvironmentFailed":
        environment = read_environment(str(cause.args.get("message") or ""))
        return [f"paddock env build {environment}"] if environment else []
    ranks = cause.args.get("ranks")
    if isinstance(ranks, list | tuple) and ranks:
        role, _, index = str(ranks[0]).rpartition("-")
        return [f"paddock logs {name}{where} --role {role} --rank {index}"]
    patch = '{"spec":{"runPolicy":{"suspend":false}}}'
    table = {
        "BuildingEnvironment": "paddock get environments",
        "CompletedServersKept": f"paddock delete {name}{where}",
        "Suspended": f"{kubectl} patch paddlejob {name}{on} --type merge -p {shlex.quote(patch)}",
        "InvalidJob": f"{kubectl} edit paddlejob {name}{on}",
        "NoFreePort": f"paddock get -A{flags.options}",
        "NoReplicas": f"{kubectl} edit paddlejob {name}{on}",
    }
    return [table[cause.reason]] if cause.reason in table else []


def build_next(steps: Sequence[str | Phrase]) -> list[Phrase]:
    """`next:` the first, `then:` the others."""
    return [phrase("then: {step}", step=step) if index else phrase("next: {step}", step=step)
            for index, step in enumerate(steps)]  # fmt: skip


def _quote(image: str) -> str:
    """Always in quotes: who types it puts a * into it."""
    return f"'{image}'" if shlex.quote(image) == image else shlex.quote(image)


def _steps_to_room(message: str, run: str, flags: Flags) -> Iterator[str | Phrase]:
    """The local cluster is this machine, so all of its nodes may have the label. On a cluster a label says which nodes
    have a device: on all of them it would send pods to nodes without one."""
    if labels := _LABELS.search(message):
        wanted = labels[1].replace(", ", " ")
        if flags.options:
            command = f"{flags.kubectl} label node NODE {wanted}"
            yield phrase("{command}  # where a node NODE has what the label says", command=command)
        else:
            yield f"{flags.kubectl} label nodes --all {wanted}"
    for device in dict.fromkeys(_LACKS.findall(message)):
        yield f"{run} --without {device}"
