"""What would become of a job that is not submitted yet: `paddock explain --why-not FILE`.

What is wrong with the file; what `paddock run` would refuse (the name is taken, the script is nowhere), by the checks
of `run` itself; what it would wait for (an image that stands for no environment, room), in the words of the kubelet and
by the scheduler's own function (`app.why_not`). Nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from paddock import __version__
from paddock.app.programs import explain_no_content
from paddock.app.why_not import explain_placement
from paddock.cli.cluster_limits import find_refusals
from paddock.cli.errors import UserError
from paddock.cli.explain import build_next, build_steps
from paddock.cli.places import LOCAL, Flags
from paddock.cli.same_name import explain_taken
from paddock.cli.session import choose_place, talk
from paddock.cli.submission import Checked, explain_refused, find_lacking
from paddock.cli.terminal import stdout
from paddock.cli.validate import Report, build_lines, fetch_report
from paddock.cli.working_directory import read_refusal
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.causes import ImageUnavailable, WaitingForScheduler
from paddock.jobs.explain import explain
from paddock.jobs.model import CauseRecord, Job, Rank, Settings
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.jobs.pods import build_pod, build_pod_group
from paddock.jobs.preflight import Document, find_api, without_server_fields
from paddock.jobs.substitutions import without
from paddock.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound
from paddock.kube.meta import ENVIRONMENTS, NODES, POD_GROUPS, PODS, Manifest, Resource
from paddock.kube.times import Moment

if TYPE_CHECKING:
    from paddock.cli.places import Place
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Answer:
    """`refused`: why `paddock run` would not take it; `waits`: what it would wait for; `lacking`: the devices that no
    node has and without which it would fit, so that `paddock run` leaves them out; `unread`: nodes may not be
    read."""

    job: Job
    refused: Sequence[str | Phrase] = ()
    waits: Sequence[CauseRecord] = ()
    lacking: Sequence[str] = ()
    unread: bool = False


def explain_file(file: str, namespace: str, language: str) -> int:
    """Print the answer for each job of the file; the exit code."""
    report = fetch_report(file)
    if report.problems:
        for line in build_lines([report], language):
            stdout().print(line)
    if report.wrong:
        return 1
    jobs = list(_read_jobs(report, namespace))
    if not jobs:
        raise UserError(f"{report.file}: there is no job in it")

    flags = choose_place().flags

    async def work(client: Client, place: Place) -> list[Answer]:
        fetch = _fetch_answer if place.home is not None else partial(_ask_cluster, place)
        return [await fetch(client, resource, manifest) for resource, manifest in jobs]

    answers = talk(work)
    for answer in answers:
        for line in build_answer(answer, file, language, flags):
            stdout().print(line)
    if flags.options:
        stdout().print(render(_COMPUTED, language))
    return int(any(answer.refused or answer.waits for answer in answers))


def _read_jobs(report: Report, namespace: str) -> Iterator[tuple[Resource, Manifest]]:
    for document in report.documents:
        api = find_api(document)
        if api is not None:
            manifest = without_server_fields(document.manifest)
            metadata = {"namespace": namespace, "uid": "", **manifest["metadata"]}
            metadata["name"] = metadata.get("name") or f"{metadata.get('generateName')}xxxxx"
            manifest = {**manifest, "metadata": metadata}
            yield api.read_job(manifest).resource, manifest


async def _fetch_answer(client: Client, resource: Resource, manifest: Manifest) -> Answer:
    kinds = (PODS, NODES, POD_GROUPS, ENVIRONMENTS)
    pods, nodes, groups, environments = [(await client.list(each)).items for each in kinds]
    job, now = KINDS[resource].read_job(manifest), time.time()
    try:
        taken = explain_taken(resource, await client.get(resource, *job.key), now)
    except NotFound:
        taken = None
    refusal = read_refusal(resource, manifest, environments, Path.cwd())
    room = plan_why_not(job, pods, nodes, groups, now)
    return Answer(
        job,
        [each for each in (taken, refusal) if each is not None],
        [*plan_images(job, environments, now), *([room] if room else [])],
        plan_lacking(resource, manifest, nodes, now) if room else (),
    )


async def _ask_cluster(place: Place, client: Client, resource: Resource, manifest: Manifest) -> Answer:
    """What a cluster says of it in a dry run, and what it would wait for by the nodes and pods that there are, where
    one may read them. Its images, and which of them it can pull, are not known here."""
    job, now = KINDS[resource].read_job(manifest), time.time()
    each = Checked("", Document(manifest), {**manifest, "metadata": _sent(manifest)}, resource)
    refused: list[str | Phrase] = list(find_refusals([each]))
    try:
        await client.create(resource, each.manifest, strict=True, dry_run=True)
    except AlreadyExists:
        taken = explain_taken(resource, await client.get(resource, *job.key), now, place.flags)
        refused += [taken] if taken else []
    except Forbidden:
        raise
    except ApiError as error:
        if error.code >= 500:
            raise
        refused.append(explain_refused(each, error, place.flags))
    try:
        pods, nodes = [(await client.list(kind)).items for kind in (PODS, NODES)]
    except Forbidden:
        return Answer(job, refused, unread=True)
    room = plan_why_not(job, pods, nodes, [], now)
    return Answer(job, refused, [room] if room else [])


def _sent(manifest: Manifest) -> Manifest:
    """The metadata as the file has it: `_read_jobs` fills in what only a stored job has."""
    drawn = {"uid"} | ({"name"} if manifest["metadata"].get("generateName") else set())
    return {key: value for key, value in manifest["metadata"].items() if key not in drawn}


_COMPUTED = phrase(
    "computed by this command, paddock {version}, from the nodes and pods that it may read: the cluster's own "
    "scheduler decides",
    version=__version__,
)


def plan_images(job: Job, environments: Sequence[Manifest], now: Moment) -> list[CauseRecord]:
    """The cause that the operator would record for each image that stands for no environment here. Pure."""
    found: dict[str, CauseRecord] = {}
    for role in job.roles:
        rank = Rank(role.name, 0)
        pod = build_pod(job, rank, 0, None, Settings())
        for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
            message = explain_no_content(str(container.get("image") or ""), pod, environments)
            if message and message not in found:
                found[message] = ImageUnavailable(str(rank), message).record(now)
    return list(found.values())


def plan_lacking(resource: Resource, manifest: Manifest, nodes: list[Manifest], now: Moment) -> tuple[str, ...]:
    """The devices that `paddock run` would leave out: those that no node has, if the job fits without them. Pure."""
    lacking = find_lacking([manifest], nodes)
    for device in lacking:
        manifest = without(manifest, device)[0]
    fits = plan_why_not(KINDS[resource].read_job(manifest), [], nodes, [], now) is None
    return tuple(lacking) if fits else ()


def plan_why_not(
    job: Job, pods: list[Manifest], nodes: list[Manifest], groups: list[Manifest], now: Moment
) -> CauseRecord | None:
    """The cause that the operator would record if the job were submitted now; None if all of its pods fit. Pure."""
    settings = Settings(pod_groups=POD_GROUPS)
    wanted = [build_pod(job, rank, 0, None, settings) for role in job.roles for rank in role.ranks()]
    group = build_pod_group(job, POD_GROUPS)
    waits = explain_placement(wanted, pods, nodes, [*groups, group], now)
    if not waits:
        return None
    return WaitingForScheduler(len(waits), len(wanted), next(iter(waits.values()))).record(now)


def build_answer(answer: Answer, file: str, language: str, flags: Flags = LOCAL) -> list[str]:
    """A sentence for each reason, with what to type; or that it would start. Pure."""
    job = answer.job
    label = f"{job.resource.kind} {job.key}"
    if answer.unread and not answer.refused:
        said = phrase("{job} would be accepted; whether its pods fit is not known: you may not list nodes", job=label)
        return [render(said, language)]
    if not answer.refused and not answer.waits:
        said = phrase("{job} would start now: all of its {count} pods fit", job=label, count=job.size)
        return [render(said, language)]
    refused = [phrase("{job} would be refused: {why}", job=label, why=why) for why in answer.refused]
    lines = [render(each, language) for each in refused]
    for cause in answer.waits:
        why = explain(cause, language)
        if cause.reason == "WaitingForScheduler" and answer.lacking:
            devices = " ".join(f"--without {device}" for device in answer.lacking)
            said = phrase(
                "{job}: paddock submit would wait: {why}; paddock run would train on the CPU ({devices})",
                job=label, why=why, devices=devices,
            )  # fmt: skip
            lines.append(render(said, language))
            continue
        steps = build_steps(cause, job.key.name, job.key.namespace, file, flags)
        lines.append(render(phrase("{job} would wait: {why}", job=label, why=why), language))
        lines += [render(each, language) for each in build_next(steps)]
    return lines
