"""paddock describe"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.rooms import fetch_rooms
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.doubt import fetch_doubt
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output.language import readers_language
from paddock.cli.output.local_times import format_local_time, localize_times
from paddock.cli.output.rows import build_pod_table
from paddock.cli.output.terminal import print_table, stdout
from paddock.cli.verb import Verb
from paddock.jobs.manager import find_other_manager
from paddock.jobs.model import Job, Status
from paddock.jobs.people import explain_change, show_person
from paddock.jobs.sentences.explain import explain, explain_edit
from paddock.jobs.sentences.suspect_phrases import explain_suspects
from paddock.kube.described import read_creator
from paddock.kube.environments import read_notice
from paddock.kube.errors import Forbidden
from paddock.kube.meta import EVENTS, Manifest, Resource, annotations_of, metadata, namespace_of, uid_of
from paddock.kube.readiness import find_unready
from paddock.kube.times import format_duration, read_time
from paddock.views.changes import read_generation
from paddock.views.job_progress import tell_metrics, tell_progress
from paddock.views.manager import explain_manager
from paddock.views.outputs import find_places
from paddock.views.phases import say_state, show_phase
from paddock.views.pods import read_pod_row
from paddock.views.restarts import explain_restarts
from paddock.views.roles import explain_sizes
from paddock.views.rooms import NO_ROOMS, Rooms
from paddock.views.stored import StoredJob
from paddock.words.messages import translate_message
from paddock.words.phrases import Phrase, phrase, render

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

    async def work(client: Client, place: ClusterChoice) -> None:
        stored = await fetch_present(client, place, namespace, job)
        pods = await fetch_pods(client, stored)
        events = await _fetch_events(client, stored)
        if events is not None:
            events += await _fetch_of_probes(client, pods)
        language = readers_language()
        rooms = await fetch_rooms(client, place, [(stored.shown_status.cause, stored.manifest)], namespace) or NO_ROOMS
        for line in build_description(stored, place, language, rooms):
            stdout().print(line)
        if rooms.unseen is not None:
            stdout().print(_label(phrase("Room"), language) + render(rooms.unseen, language))
        for doubt in await fetch_doubt(client, place, stored):
            stdout().print(_label(phrase("Doubt"), language) + render(doubt, language))
        for avoided in explain_suspects(stored.status, place.now()):
            stdout().print(_label(phrase("Avoids"), language) + localize_times(render(avoided, language)))
        for notice in dict.fromkeys(filter(None, map(read_notice, pods))):  # events are kept for an hour
            stdout().print(_label(phrase("Image"), language) + translate_message(notice, language))
        _print_pods(pods, language, rooms)
        _print_events(events, language)

    run_with_client(work)


async def _fetch_events(client: Client, job: StoredJob) -> list[Manifest] | None:
    """None if RBAC forbids it: the other facts are still printed."""
    try:
        return (await client.list(EVENTS, job.key.namespace, fields=f"involvedObject.uid={job.uid}")).items
    except Forbidden:
        return None


_MOST_ASKED = 4
"""Pods whose events are asked for: those of a gang say the same."""


async def _fetch_of_probes(client: Client, pods: Sequence[Manifest]) -> list[Manifest]:
    """The last warning of each pod whose container runs and is not ready: what its probe has said."""
    found = []
    for pod in [each for each in pods if find_unready(each)][:_MOST_ASKED]:
        try:
            asked = await client.list(EVENTS, namespace_of(pod), fields=f"involvedObject.uid={uid_of(pod)}")
        except Forbidden:
            return []
        found += choose_of_probe(asked.items)
    return found


_OF = "of"
"""The pod that an event of these lines is about, where the others are about the job."""


def choose_of_probe(events: Sequence[Manifest]) -> list[Manifest]:
    """Of a pod's events the last one of a probe, which names the pod; empty without one. Pure."""
    of_probes = [each for each in events if each.get("reason") == "Unhealthy"]
    last = max(of_probes, key=lambda each: str(each.get("lastTimestamp") or ""), default=None)
    if last is None:
        return []
    pod = (last.get("involvedObject") or {}).get("name", "")
    return [{**last, _OF: pod}]


def build_description(
    stored: StoredJob, place: ClusterChoice, language: str = "en", rooms: Rooms = NO_ROOMS
) -> list[str]:
    """The lines above the pods; for an invalid job those from its metadata and status."""
    if stored.job is None:
        return build_facts_of_invalid(stored, language)
    return build_facts(stored.job, stored, place, language, rooms)


def build_facts_of_invalid(stored: StoredJob, language: str = "en") -> list[str]:
    """`Why` is the recorded cause, or the problems of the manifest before the first reconcile."""
    status = stored.shown_status
    facts: Mapping[Phrase, Phrase | str] = {
        phrase("Name"): str(stored.key),
        phrase("Kind"): _kind(stored.resource),
        phrase("Manager"): find_other_manager(stored.manifest),
        phrase("Status"): say_state(show_phase(status) or "Pending", language),
        phrase("Why"): explain(status.cause, language) if status.cause else "",
        phrase("Edit"): explain_edit(status) or "",
        phrase("Created"): _moment(read_time(metadata(stored.manifest).get("creationTimestamp"))),
        **_tell_people(stored),
        phrase("Started"): _moment(status.started),
        phrase("Finished"): _moment(status.finished),
    }
    return _lines(facts, language)


def build_facts(
    job: Job, stored: StoredJob, place: ClusterChoice, language: str = "en", rooms: Rooms = NO_ROOMS
) -> list[str]:
    """One line for each known fact, with its name in the first column."""
    status = stored.shown_status
    cause = rooms.add(status.cause, stored.resource, stored.manifest)
    attempt = phrase(
        "{attempt}, restarts {restarts} ({limit})",
        attempt=status.attempt, restarts=status.restarts, limit=_limit(job),
    )  # fmt: skip
    facts: Mapping[Phrase, Phrase | str] = {
        phrase("Name"): str(job.key),
        phrase("Kind"): _kind(job.resource),
        phrase("Mode"): say_state(job.mode, language),
        phrase("Manager"): find_other_manager(stored.manifest),
        phrase("Status"): say_state(show_phase(status) or "Pending", language),
        phrase("Why"): explain(cause, language) if cause else explain_manager(stored.manifest) or "",
        phrase("Edit"): explain_edit(status) or "",
        phrase("Created"): _moment(job.created),
        **_tell_people(stored),
        phrase("Started"): _moment(status.started),
        phrase("Finished"): _moment(status.finished),
        phrase("Attempt"): attempt,
        phrase("Progress"): tell_progress(status.progress) or "",
        phrase("Metrics"): tell_metrics(status.progress),
        phrase("Restarts"): explain_restarts(job, status) or "",
        phrase("Sizes"): explain_sizes(job) or "",
        phrase("Launch"): _launch(job),
        phrase("Clean-up"): f"cleanPodPolicy {job.policies.clean_up}",
        phrase("Without"): annotations_of(stored.manifest).get("paddock.dev/without", ""),
        phrase("Outputs"): _outputs(job, stored, place),
    }
    roles = [_label(phrase("Role"), language) + render(each, language) for each in _roles(job, status)]
    return _lines(facts, language) + roles


def _tell_people(stored: StoredJob) -> Mapping[Phrase, Phrase | str]:
    annotations = annotations_of(stored.manifest)
    return {
        phrase("By"): show_person(read_creator(annotations)),
        phrase("Change"): explain_change(annotations, read_generation(stored.manifest)) or "",
    }


def _lines(facts: Mapping[Phrase, Phrase | str], language: str) -> list[str]:
    said = [(name, text if isinstance(text, str) else render(text, language)) for name, text in facts.items()]
    return [_label(name, language) + localize_times(text) for name, text in said if text]


def _kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}/{resource.version}"


def _launch(job: Job) -> str:
    """What the manifest, or its default, says of the processes of a pod and of an elastic job: in the field's words."""
    said = [f"nprocPerNode {job.launch.processes}"] if job.launch.processes else []
    if elastic := job.launch.elastic:
        said.append(f"elasticPolicy {elastic.least}:{elastic.most}")
    return ", ".join(said)


def _outputs(job: Job, stored: StoredJob, place: ClusterChoice) -> str:
    if place.home is None:
        return ", ".join(find_places(job))
    return str(place.find_outputs(stored) or "")


def _label(name: Phrase, language: str) -> str:
    """The label, padded to one width in terminal columns (a Chinese character has two)."""
    text = render(phrase("{label}:", label=name), language)
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
        yield phrase("{role}, {counts}; restartPolicy {policy}", role=role.name, counts=told, policy=str(role.restart))


def _limit(job: Job) -> Phrase:
    limit = job.policies.backoff_limit
    return phrase("no limit") if limit is None else phrase("at most {count}", count=limit)


def _moment(moment: float | None) -> Phrase | str:
    if moment is None:
        return ""
    return phrase("{time} ({age} ago)", time=format_local_time(moment), age=format_duration(time.time() - moment))


def _print_pods(pods: list[Manifest], language: str, rooms: Rooms) -> None:
    label = _label(phrase("Pods"), language)
    if not pods:
        stdout().print(label + render(phrase("none"), language))
        return
    stdout().print(label.rstrip())
    now = time.time()
    header, cells = build_pod_table([read_pod_row(pod, rooms) for pod in pods], now, language)
    rows = [["  " + first, *others] for first, *others in cells]
    print_table(stdout(), ("  NAME", *header[1:]), rows, cut=False)


def tell_event(event: Mapping[str, Any], language: str) -> str:
    """Its message, behind the name of the pod that it is of. Pure."""
    said = translate_message(str(event.get("message") or ""), language)
    return render(phrase("{said}: {message}", said=str(event[_OF]), message=said), language) if _OF in event else said


def _print_events(events: list[Manifest] | None, language: str) -> None:
    label = _label(phrase("Events"), language)
    nothing = phrase("none") if events is not None else phrase("you may not read them")
    stdout().print(label.rstrip() if events else label + render(nothing, language))
    now = time.time()
    for event in sorted(events or (), key=lambda each: str(each.get("lastTimestamp"))):
        last = read_time(event.get("lastTimestamp"))
        age = "" if last is None else format_duration(now - last)
        times = f" (x{event['count']})" if int(event.get("count") or 1) > 1 else ""
        said = localize_times(tell_event(event, language))
        stdout().print(f"  {age:<6}{event.get('type', ''):<8} {event.get('reason', ''):<20} {said}{times}")
