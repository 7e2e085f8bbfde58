"""paddock describe"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from paddock.app.home import Home
from paddock.cli import jobs_view as view
from paddock.cli.find import fetch_job, fetch_pods, find_outputs
from paddock.cli.names import complete_jobs
from paddock.cli.session import namespace_option, talk
from paddock.cli.terminal import print_table, stdout
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.explain import explain
from paddock.jobs.model import Job, Status
from paddock.kube.meta import EVENTS, Manifest, annotations_of, uid_of
from paddock.kube.times import format_duration, format_time, read_time

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="describe")
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@namespace_option
def command(job: str, namespace: str) -> None:
    """Everything about one job: its state and why, its ranks, its events.

    \b
    paddock describe resnet
    """

    async def work(client: Client, place: Home) -> None:
        resource, manifest = await fetch_job(client, namespace, job)
        pods = await fetch_pods(client, manifest)
        events = (await client.list(EVENTS, namespace, fields=f"involvedObject.uid={uid_of(manifest)}")).items
        api = KINDS[resource]
        _print_facts(api.read_job(manifest), api.read_status(manifest), manifest, place)
        _print_pods(pods)
        _print_events(events)

    talk(work)


def _print_facts(job: Job, status: Status, manifest: Manifest, place: Home) -> None:
    facts = {
        "Name": str(job.key),
        "Kind": f"{job.resource.kind}.{job.resource.group}/{job.resource.version}",
        "Mode": job.mode,
        "Status": str(status.phase or "Pending"),
        "Why": explain(status.cause) if status.cause else "",
        "Created": _moment(job.created),
        "Started": _moment(status.started),
        "Finished": _moment(status.finished),
        "Attempt": f"{status.attempt}, restarts {status.restarts} ({_limit(job)})",
        "Clean-up": f"cleanPodPolicy {job.policies.clean_pods}",
        "Without": annotations_of(manifest).get("paddock.dev/without", ""),
        "Outputs": str(find_outputs(place, manifest) or ""),
    }
    for name, text in facts.items():
        if text:
            stdout().print(f"{name + ':':<11}{text}")
    for role in job.roles:
        counts = status.roles.get(role.name)
        text = "no pods yet" if counts is None else (
            f"{counts.wanted} wanted: {counts.pending} pending, {counts.starting} starting, {counts.running} running, "
            f"{counts.succeeded} succeeded, {counts.failed} failed"
        )  # fmt: skip
        stdout().print(f"{'Role:':<11}{role.name}, {text}; restartPolicy {role.restart}")


def _limit(job: Job) -> str:
    limit = job.policies.backoff_limit
    return "no limit" if limit is None else f"at most {limit}"


def _moment(moment: float | None) -> str:
    return "" if moment is None else f"{format_time(moment)} ({format_duration(time.time() - moment)} ago)"


def _print_pods(pods: list[Manifest]) -> None:
    if not pods:
        stdout().print("Pods:      none")
        return
    stdout().print("Pods:")
    rows = [["  " + row[0], *row[1:]] for row in (view.pod_row(pod, time.time()) for pod in pods)]
    print_table(stdout(), ("  NAME", *view.POD_HEADER[1:]), rows, cut=False)


def _print_events(events: list[Manifest]) -> None:
    stdout().print("Events:" if events else "Events:    none")
    now = time.time()
    for event in sorted(events, key=lambda each: str(each.get("lastTimestamp"))):
        last = read_time(event.get("lastTimestamp"))
        age = "" if last is None else format_duration(now - last)
        times = f" (x{event['count']})" if int(event.get("count") or 1) > 1 else ""
        stdout().print(
            f"  {age:<6}{event.get('type', ''):<8} {event.get('reason', ''):<20} {event.get('message', '')}{times}"
        )
