"""paddock describe"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len

from paddock.cli import jobs_view as view
from paddock.cli.cluster_limits import find_places
from paddock.cli.context_options import namespace_option
from paddock.cli.find import fetch_job, fetch_pods
from paddock.cli.jobs_view import read_status
from paddock.cli.language import readers_language
from paddock.cli.names import complete_jobs
from paddock.cli.places import Place
from paddock.cli.session import talk
from paddock.cli.terminal import print_table, stdout
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.explain import explain
from paddock.jobs.model import CauseRecord, Job, Status
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.jobs.problems import InvalidJob
from paddock.kube.errors import Forbidden
from paddock.kube.meta import EVENTS, Manifest, Resource, annotations_of, key_of, metadata, namespace_of, uid_of
from paddock.kube.times import format_duration, format_time, read_time

if TYPE_CHECKING:
    from paddock.client.client import Client

_LABEL = 11
"""Columns of a line's name."""


@click.command(name="describe", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@namespace_option
def command(job: str, namespace: str) -> None:
    """Everything about one job: its state and why, its ranks, its events.

    \b
    paddock describe resnet
    """

    async def work(client: Client, place: Place) -> None:
        resource, manifest = await fetch_job(client, namespace, job, place.flags)
        pods = await fetch_pods(client, manifest)
        events = await _fetch_events(client, manifest)
        language = readers_language()
        for line in build_description(resource, manifest, place, language):
            stdout().print(line)
        _print_pods(pods, language)
        _print_events(events, language)

    talk(work)


async def _fetch_events(client: Client, job: Manifest) -> list[Manifest] | None:
    """None where one may not read them: the rest is told all the same."""
    try:
        return (await client.list(EVENTS, namespace_of(job), fields=f"involvedObject.uid={uid_of(job)}")).items
    except Forbidden:
        return None


def build_description(resource: Resource, manifest: Manifest, place: Place, language: str = "en") -> list[str]:
    """The lines above the pods. Kubernetes takes jobs that the operator cannot read (`kubectl create`, `patch`): of
    such a one what its metadata and its status say."""
    api = KINDS[resource]
    status = read_status(resource, manifest)
    try:
        job = api.read_job(manifest)
    except InvalidJob as invalid:
        return build_facts_of_invalid(resource, manifest, status, invalid, language)
    return build_facts(job, status, manifest, place, language)


def build_facts_of_invalid(
    resource: Resource, manifest: Manifest, status: Status, invalid: InvalidJob, language: str = "en"
) -> list[str]:
    """Why it waits is what was recorded; before an operator has looked, the problems themselves."""
    problems = tuple(f"{each.path}: {each.message}" for each in invalid.problems)
    cause = status.cause or CauseRecord(InvalidJob.__name__, {"problems": problems}, 0.0)
    facts: Mapping[Phrase, Phrase | str] = {
        phrase("Name"): str(key_of(manifest)),
        phrase("Kind"): _kind(resource),
        phrase("Status"): str(status.phase or "Pending"),
        phrase("Why"): explain(cause, language),
        phrase("Created"): _moment(read_time(metadata(manifest).get("creationTimestamp"))),
        phrase("Started"): _moment(status.started),
        phrase("Finished"): _moment(status.finished),
    }
    return _lines(facts, language)


def build_facts(job: Job, status: Status, manifest: Manifest, place: Place, language: str = "en") -> list[str]:
    """A line for each thing that is known, with its name in a column of its own."""
    attempt = phrase(
        "{attempt}, restarts {restarts} ({limit})",
        attempt=status.attempt, restarts=status.restarts, limit=_limit(job),
    )  # fmt: skip
    facts: Mapping[Phrase, Phrase | str] = {
        phrase("Name"): str(job.key),
        phrase("Kind"): _kind(job.resource),
        phrase("Mode"): job.mode,
        phrase("Status"): str(status.phase or "Pending"),
        phrase("Why"): explain(status.cause, language) if status.cause else "",
        phrase("Created"): _moment(job.created),
        phrase("Started"): _moment(status.started),
        phrase("Finished"): _moment(status.finished),
        phrase("Attempt"): attempt,
        phrase("Clean-up"): f"cleanPodPolicy {job.policies.clean_pods}",
        phrase("Without"): annotations_of(manifest).get("paddock.dev/without", ""),
        phrase("Outputs"): _outputs(job, manifest, place),
    }
    roles = [_label(phrase("Role"), language) + render(each, language) for each in _roles(job, status)]
    return _lines(facts, language) + roles


def _lines(facts: Mapping[Phrase, Phrase | str], language: str) -> list[str]:
    said = [(name, text if isinstance(text, str) else render(text, language)) for name, text in facts.items()]
    return [_label(name, language) + text for name, text in said if text]


def _kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}/{resource.version}"


def _outputs(job: Job, manifest: Manifest, place: Place) -> str:
    if place.home is None:
        return ", ".join(find_places(job))
    return str(place.find_outputs(manifest) or "")


def _label(name: Phrase, language: str) -> str:
    """Of one width, also where a character takes two columns."""
    text = f"{render(name, language)}:"
    return text + " " * max(1, _LABEL - cell_len(text))


def _roles(job: Job, status: Status) -> Iterator[Phrase]:
    for role in job.roles:
        counts = status.roles.get(role.name)
        told = phrase("no pods yet") if counts is None else phrase(
            "{wanted} wanted: {pending} pending, {starting} starting, {running} running, {succeeded} succeeded, "
            "{failed} failed",
            wanted=counts.wanted, pending=counts.pending, starting=counts.starting, running=counts.running,
            succeeded=counts.succeeded, failed=counts.failed,
        )  # fmt: skip
        if counts is not None and status.phase.terminal:  # its pods may be gone: the counts are history
            told = phrase("as it stood at the end: {counts}", counts=told)
        yield phrase("{role}, {counts}; restartPolicy {policy}", role=role.name, counts=told, policy=str(role.restart))


def _limit(job: Job) -> Phrase:
    limit = job.policies.backoff_limit
    return phrase("no limit") if limit is None else phrase("at most {count}", count=limit)


def _moment(moment: float | None) -> Phrase | str:
    if moment is None:
        return ""
    return phrase("{time} ({age} ago)", time=format_time(moment), age=format_duration(time.time() - moment))


def _print_pods(pods: list[Manifest], language: str) -> None:
    label = _label(phrase("Pods"), language)
    if not pods:
        stdout().print(label + render(phrase("none"), language))
        return
    stdout().print(label.rstrip())
    rows = [["  " + row[0], *row[1:]] for row in (view.pod_row(pod, time.time()) for pod in pods)]
    print_table(stdout(), ("  NAME", *view.POD_HEADER[1:]), rows, cut=False)


def _print_events(events: list[Manifest] | None, language: str) -> None:
    label = _label(phrase("Events"), language)
    nothing = phrase("none") if events is not None else phrase("not yours to read")
    stdout().print(label.rstrip() if events else label + render(nothing, language))
    now = time.time()
    for event in sorted(events or (), key=lambda each: str(each.get("lastTimestamp"))):
        last = read_time(event.get("lastTimestamp"))
        age = "" if last is None else format_duration(now - last)
        times = f" (x{event['count']})" if int(event.get("count") or 1) > 1 else ""
        stdout().print(
            f"  {age:<6}{event.get('type', ''):<8} {event.get('reason', ''):<20} {event.get('message', '')}{times}"
        )
