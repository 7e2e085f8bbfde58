"""paddock describe"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.cells import cell_len

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.rooms import fetch_rooms
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.doubt import fetch_doubt
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output.job_documents import build_job, write_moment
from paddock.cli.output.language import readers_language, say
from paddock.cli.output.local_times import format_local_time, localize_times
from paddock.cli.output.rows import build_pod_cells, build_pod_table
from paddock.cli.output.streams import print_line, write_json
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
from paddock.views.commands import show_key
from paddock.views.job_progress import tell_metrics, tell_progress
from paddock.views.manager import explain_manager
from paddock.views.outputs import find_places
from paddock.views.phases import say_state, show_phase
from paddock.views.pods import read_pod_row
from paddock.views.restarts import explain_restarts
from paddock.views.roles import explain_sizes
from paddock.views.rooms import NO_ROOMS, Rooms
from paddock.views.stored import StoredJob
from paddock.words.formats import format_of
from paddock.words.messages import translate_message
from paddock.words.phrases import Foreign, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client

_LABEL = 11
"""Columns of a line's name."""


@dataclass(frozen=True, slots=True)
class Description:
    """All that is told of one job."""

    job: StoredJob
    pods: Sequence[Manifest]
    events: Sequence[Manifest] | None
    """None where they may not be read."""
    rooms: Rooms
    place: ClusterChoice
    doubts: Sequence[Phrase]

    @property
    def remarks(self) -> list[tuple[Phrase, Phrase | str]]:
        """What is told below the facts, each with its label."""
        notices = dict.fromkeys(filter(None, map(read_notice, self.pods)))  # events are kept for an hour
        unseen = [self.rooms.unseen] if self.rooms.unseen is not None else []
        return [
            *((phrase("Room"), each) for each in unseen),
            *((phrase("Doubt"), each) for each in self.doubts),
            *((phrase("Avoids"), each) for each in explain_suspects(self.job.status, self.place.now())),
            *((phrase("Image"), phrase("{said}", said=Foreign(each))) for each in notices),
        ]


@click.command(name="describe", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@namespace_option
def command(job: str, output: str, namespace: str) -> None:
    """Everything about one job: its state and why, its ranks, its events.

    \b
    paddock describe resnet
    paddock describe resnet -o json    the same in values
    """

    async def work(client: Client, place: ClusterChoice) -> Description:
        stored = await fetch_present(client, place, namespace, job)
        pods = await fetch_pods(client, stored)
        events = await _fetch_events(client, stored)
        if events is not None:
            events += await _fetch_of_probes(client, pods)
        rooms = await fetch_rooms(client, place, [(stored.shown_status.cause, stored.manifest)], namespace) or NO_ROOMS
        return Description(stored, pods, events, rooms, place, await fetch_doubt(client, place, stored))

    found, language = run_with_client(work), readers_language()
    if output == "json":
        print_line(write_json(build_document(found, language), default=str))
        return
    for line in build_description(found.job, found.place, language, found.rooms):
        stdout().print(line)
    for label, said in found.remarks:
        stdout().print(_label(label, language) + localize_times(say(said, language)))
    _print_pods(found.pods, language, found.rooms)
    _print_events(found.events, language)


def build_document(found: Description, language: str) -> dict[str, Any]:
    """What `-o json` has: the job's values, the lines of the text with their labels, pods and events."""
    stored = found.job
    status = stored.shown_status
    rows = [read_pod_row(pod, found.rooms) for pod in found.pods]
    facts = [*list_facts(stored, found.place, language, found.rooms), *found.remarks]
    return {
        **build_job(stored, found.rooms.add(status.cause, stored.resource, stored.manifest), language),
        "facts": [{"about": say(label, "en"), "text": say(said, language)} for label, said in facts],
        "progress": msgspec.to_builtins(status.progress),
        "roles": {name: msgspec.to_builtins(counts) for name, counts in status.roles.items()},
        "pods": [
            {
                "name": row.name, "ready": row.ready, "containers": row.containers, "status": row.state,
                "restarts": row.restarts, "created": write_moment(row.created), "ip": row.address or None,
                "node": row.node or None, "gpus": None if row.gpus is None else say(row.gpus, language),
                "why": build_pod_cells(row, time.time(), language)[-1],
            }
            for row in rows
        ],
        "events": None if found.events is None else [
            {
                "last": event.get("lastTimestamp"), "type": event.get("type", ""), "reason": event.get("reason", ""),
                "message": tell_event(event, language), "count": int(event.get("count") or 1),
            }
            for event in _sort_events(found.events)
        ],
    }  # fmt: skip


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
    """The lines above the pods."""
    facts = list_facts(stored, place, language, rooms)
    return [_label(name, language) + localize_times(text) for name, text in facts]


def list_facts(
    stored: StoredJob, place: ClusterChoice, language: str = "en", rooms: Rooms = NO_ROOMS
) -> list[tuple[Phrase, str]]:
    """Each with its label; of an invalid job those from its metadata and status. Roles have a label in common."""
    job = stored.job
    if job is None:
        facts = [*_list_facts_of_invalid(stored, language).items()]
    else:
        facts = [*_list_facts(job, stored, place, language, rooms).items()]
        facts += [(phrase("Role"), each) for each in _roles(job, stored.shown_status)]
    return [(name, text) for name, said in facts if (text := say(said, language))]


def _list_facts_of_invalid(stored: StoredJob, language: str) -> Mapping[Phrase, Phrase | str]:
    """`Why` is the recorded cause, or the problems of the manifest before the first reconcile."""
    status = stored.shown_status
    return {
        phrase("Name"): show_key(stored.key),
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


def _list_facts(
    job: Job, stored: StoredJob, place: ClusterChoice, language: str, rooms: Rooms
) -> Mapping[Phrase, Phrase | str]:
    """An empty text for what is not known."""
    status = stored.shown_status
    cause = rooms.add(status.cause, stored.resource, stored.manifest)
    counts: dict[str, Any] = {"restarts": status.restarts, "limit": _limit(job)}
    attempt = phrase("0 (the first), restarts {restarts} ({limit})", **counts)
    if status.attempt:
        attempt = phrase("{attempt}, restarts {restarts} ({limit})", attempt=status.attempt, **counts)
    return {
        phrase("Name"): show_key(job.key),
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


def _tell_people(stored: StoredJob) -> Mapping[Phrase, Phrase | str]:
    annotations = annotations_of(stored.manifest)
    return {
        phrase("By"): show_person(read_creator(annotations)),
        phrase("Change"): explain_change(annotations, read_generation(stored.manifest)) or "",
    }


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


def _print_pods(pods: Sequence[Manifest], language: str, rooms: Rooms) -> None:
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


def _sort_events(events: Sequence[Manifest]) -> list[Manifest]:
    return sorted(events, key=lambda each: str(each.get("lastTimestamp")))


def _say_age(event: Manifest, language: str) -> str:
    last = read_time(event.get("lastTimestamp"))
    return "" if last is None else format_of(language).say_duration(format_duration(time.time() - last))


def _print_events(events: Sequence[Manifest] | None, language: str) -> None:
    label = _label(phrase("Events"), language)
    nothing = phrase("none") if events is not None else phrase("you may not read them")
    stdout().print(label.rstrip() if events else label + render(nothing, language))
    found = _sort_events(events or ())
    ages = [_say_age(event, language) for event in found]
    width = max((5, *map(cell_len, ages))) + 1
    for age, event in zip(ages, found, strict=True):
        times = f" (x{event['count']})" if int(event.get("count") or 1) > 1 else ""
        said = localize_times(tell_event(event, language))
        age += " " * (width - cell_len(age))
        stdout().print(f"  {age}{event.get('type', ''):<8} {event.get('reason', ''):<20} {said}{times}")
