"""paddock explain

Of a job: the cause that its operator recorded, first and as it is; then what to type. Of a file: what is wrong with it,
and whether its pods would find a place now, decided by the scheduler's own function (`app.why_not`).
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.errors import UserError
from paddock.cli.language import readers_language
from paddock.cli.names import complete_jobs
from paddock.cli.session import namespace_option, talk
from paddock.cli.terminal import stdout
from paddock.cli.validate import Report, build_lines, fetch_report
from paddock.jobs.explain import explain
from paddock.jobs.model import CauseRecord, Job, Settings, Status
from paddock.jobs.phrases import phrase, render
from paddock.kube.meta import NODES, POD_GROUPS, PODS, Manifest
from paddock.kube.times import Moment, format_duration

if TYPE_CHECKING:
    from paddock.app.home import Home
    from paddock.client.client import Client


@click.command(name="explain")
@click.argument("job", required=False, metavar="[JOB]", shell_complete=complete_jobs)
@click.option("--why-not", "file", default=None, metavar="FILE", help="Why the job in FILE would not start now.")
@namespace_option
def command(job: str | None, file: str | None, namespace: str) -> int:
    """Why a job waits, restarts or failed, or why one that is not submitted yet would not start.

    \b
    paddock explain JOB
    paddock explain --why-not job.yaml

    Exit code with --why-not: 0 it would start now, 1 it would wait or is wrong.
    """
    if (job is None) == (file is None):
        raise UserError("paddock explain wants one of two: the name of a job, or --why-not FILE")
    language = readers_language()
    return _explain_job(job, namespace, language) if job else _explain_file(str(file), namespace, language)


def _explain_job(name: str, namespace: str, language: str) -> int:
    from paddock.cli.find import fetch_job
    from paddock.jobs.apis.registry import KINDS

    async def work(client: Client, place: Home) -> list[str]:
        resource, manifest = await fetch_job(client, namespace, name)
        status = KINDS[resource].read_status(manifest)
        return build_explanation(manifest, status, time.time(), language)

    for line in talk(work):
        stdout().print(line)
    return 0


def build_explanation(manifest: Mapping[str, Any], status: Status, now: Moment, language: str) -> list[str]:
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
    lines.append(render(by, language))
    steps = build_steps(cause, name, namespace)
    return [*lines, *(render(phrase("next: {step}", step=step), language) for step in steps)]


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


_KUBECTL = "KUBECONFIG=$(paddock kubeconfig) kubectl"
"""A plain kubectl may speak to another cluster."""
_LACKS = re.compile(r"Insufficient ([\w.-]+/[\w.-]+)")
_LABELS = re.compile(r"affinity/selector \((?:on [^:]+: )?([\w./-]+=[\w.-]+(?:, [\w./-]+=[\w.-]+)*); node has")


def build_steps(cause: CauseRecord, name: str, namespace: str, file: str = "") -> list[str]:
    """What to type next, for causes where there is something. `file`: of a job that is not submitted yet. Pure."""
    where = "" if namespace == "default" else f" -n {namespace}"
    if cause.reason == "WaitingForScheduler":
        again = f"paddock run {file}" if file else f"paddock delete {name}{where} && paddock run FILE"
        return list(_steps_to_room(str(cause.args.get("message") or ""), again))
    ranks = cause.args.get("ranks")
    if isinstance(ranks, list | tuple) and ranks:
        role, _, index = str(ranks[0]).rpartition("-")
        return [f"paddock logs {name}{where} --role {role} --rank {index}"]
    patch = '{"spec":{"runPolicy":{"suspend":false}}}'
    table = {
        "BuildingEnvironment": "paddock get environments",
        "CompletedServersKept": f"paddock delete {name}{where}",
        "Suspended": f"{_KUBECTL} patch paddlejob {name}{where} --type merge -p {shlex.quote(patch)}",
        "InvalidJob": f"{_KUBECTL} edit paddlejob {name}{where}",
        "NoFreePort": "paddock get -A",
        "NoReplicas": f"{_KUBECTL} edit paddlejob {name}{where}",
    }
    return [table[cause.reason]] if cause.reason in table else []


def _steps_to_room(message: str, run: str) -> Iterator[str]:
    if labels := _LABELS.search(message):
        yield f"{_KUBECTL} label nodes --all {labels[1].replace(', ', ' ')}"
    for device in dict.fromkeys(_LACKS.findall(message)):
        yield f"{run} --without {device}"


def _explain_file(file: str, namespace: str, language: str) -> int:
    report = fetch_report(file)
    if report.problems:
        for line in build_lines([report], language):
            stdout().print(line)
    if report.wrong:
        return 1
    jobs = list(_read_jobs(report, namespace))
    if not jobs:
        raise UserError(f"{report.file}: there is no job in it")

    async def work(client: Client, place: Home) -> list[tuple[Job, CauseRecord | None]]:
        pods, nodes, groups = [(await client.list(each)).items for each in (PODS, NODES, POD_GROUPS)]
        return [(job, plan_why_not(job, pods, nodes, groups, time.time())) for job in jobs]

    found = talk(work)
    for job, cause in found:
        for line in build_answer(job, cause, file, language):
            stdout().print(line)
    return int(any(cause is not None for _, cause in found))


def _read_jobs(report: Report, namespace: str) -> Iterator[Job]:
    from paddock.jobs.preflight import find_api, without_server_fields

    for document in report.documents:
        api = find_api(document)
        if api is not None:
            manifest = without_server_fields(document.manifest)
            metadata = {"namespace": namespace, "uid": "", **manifest["metadata"]}
            metadata["name"] = metadata.get("name") or f"{metadata.get('generateName')}xxxxx"
            yield api.read_job({**manifest, "metadata": metadata})


def plan_why_not(
    job: Job, pods: list[Manifest], nodes: list[Manifest], groups: list[Manifest], now: Moment
) -> CauseRecord | None:
    """The cause that the operator would record if the job were submitted now; None if all of its pods fit. Pure."""
    from paddock.app.why_not import explain_placement
    from paddock.jobs.causes import WaitingForScheduler
    from paddock.jobs.pods import build_pod, build_pod_group

    settings = Settings(pod_groups=POD_GROUPS)
    wanted = [build_pod(job, rank, 0, None, settings) for role in job.roles for rank in role.ranks()]
    group = build_pod_group(job, POD_GROUPS)
    waits = explain_placement(wanted, pods, nodes, [*groups, group], now)
    if not waits:
        return None
    return WaitingForScheduler(len(waits), len(wanted), next(iter(waits.values()))).record(now)


def build_answer(job: Job, cause: CauseRecord | None, file: str, language: str) -> list[str]:
    label = f"{job.resource.kind} {job.key}"
    if cause is None:
        said = phrase("{job} would start now: all of its {count} pods fit", job=label, count=job.size)
        return [render(said, language)]
    said = phrase("{job} would wait: {why}", job=label, why=explain(cause, language))
    steps = build_steps(cause, job.key.name, job.key.namespace, file)
    return [
        render(said, language),
        *(render(phrase("next: {step}", step=step), language) for step in steps),
    ]
