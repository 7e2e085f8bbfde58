"""Why a job that is not submitted yet would not start: `paddock explain --why-not FILE`.

The answer has the problems of the file; what refuses it, by the checks that `paddock run` makes before it writes
(`cli.submit.checks`); and what the job would wait for (an environment, free resources), by the functions of the kubelet
and of the scheduler (`app.why_not`). Writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paddock.app.programs import explain_images
from paddock.app.submitted.lacking import plan_lacking
from paddock.app.why_not import build_wanted, fetch_awaited, plan_hold, plan_images, plan_why_not, without_claims
from paddock.build import BUILD
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.output.job_documents import write_cause
from paddock.cli.output.language import say
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import stdout
from paddock.cli.submit.checks import Refusal, Submission, find_refusals
from paddock.cli.submit.manifest_files import fetch_reading
from paddock.cli.submit.report import build_lines
from paddock.jobs.causes import WaitingForScheduler
from paddock.jobs.model import CauseRecord, Job
from paddock.jobs.sentences.explain import explain
from paddock.kube.errors import Forbidden
from paddock.kube.meta import CLAIMS, ENVIRONMENTS, NODES, POD_GROUPS, PODS, Key, Manifest, Resource, key_of, metadata
from paddock.node.scheduler.pod_request import read_request
from paddock.node.scheduler.shortage import find_shortage
from paddock.submission.documents import Checked
from paddock.submission.missing_secrets import read_brought
from paddock.views.flags import LOCAL, Flags, build_next
from paddock.views.rooms import LIVE_PODS, Rooms, needs_all, read_rooms, with_shortage
from paddock.views.steps import build_steps
from paddock.words.phrases import Phrase, counted, phrase, render

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Answer:
    """Why one job would not start."""

    job: Job
    refused: Sequence[str | Phrase] = ()
    """Why `paddock run` would refuse it."""
    waits: Sequence[CauseRecord] = ()
    """What it would wait for."""
    lacking: Sequence[str] = ()
    """Devices that no node has and without which the job fits, so `paddock run` removes them."""
    defaults: Sequence[Phrase] = ()
    """What the kubelet would say of images that stand for no Environment, where a default is taken in their place."""
    unseen: Phrase | None = None
    """What is not known of the cluster's room, for want of a right."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Nodes and pods of a cluster, listed and read once for all jobs of a file; None for what may not be listed."""

    nodes: list[Manifest] | None
    pods: list[Manifest] | None
    """Those that may hold room, or wait for it."""
    rooms: Rooms


def explain_file(file: str, namespace: str, language: str, output: str = "text") -> int:
    """Prints the answer for each job of the file; the exit code."""
    reading = fetch_reading(file, namespace)
    lines = build_lines([reading], language) if reading.problems else []
    if reading.wrong:
        return _print(build_document([], [], lines, language), lines, output)
    jobs = [each for each in reading.placed if each.job is not None]
    if not jobs:
        raise UserError(phrase("{file}: there is no job in it", file=reading.file))

    flags = choose_place().flags

    async def work(client: Client, place: ClusterChoice) -> tuple[list[Answer], list[Refusal], list[Phrase]]:
        submission = Submission(client, place, list(reading.placed), lambda _: None, runs=True)
        refusals = await find_refusals(submission)
        seen = None if place.home is not None else await _fetch_seen(client)
        answers = [await _fetch_answer(client, reading.placed, each, refusals, seen) for each in jobs]
        others = [each for each in refusals if not any(each.each.document is job.document for job in jobs)]
        return answers, others, submission.left_out

    answers, others, left_out = run_with_client(work)
    lines += [render(said, language) for said in left_out]
    lines += [line for answer in answers for line in build_answer(answer, file, language, flags)]
    lines += [_explain_refused(each.each.label, each.why, language) for each in others]
    lines += [render(_COMPUTED, language)] if flags.options else []
    return _print(build_document(answers, others, lines, language), lines, output)


def _print(document: Mapping[str, Any], lines: Sequence[str], output: str) -> int:
    if output == "json":
        print_line(write_json(document, default=str))
    for line in lines if output != "json" else ():
        stdout().print(line)
    return int(not document["starts"])


def build_document(
    answers: Sequence[Answer], others: Sequence[Refusal], lines: Sequence[str], language: str
) -> dict[str, Any]:
    """What `-o json` has: whether all would start now, each job, the lines of the text. `others`: objects of the file
    that are no jobs and would be refused. Pure."""
    jobs = [_write_answer(each, language) for each in answers]
    refused = [{"object": each.each.label, "why": say(each.why, language)} for each in others]
    starts = bool(jobs) and not refused and all(each["starts"] for each in jobs)
    return {"starts": starts, "jobs": jobs, "refused": refused, "text": list(lines)}


def _write_answer(answer: Answer, language: str) -> dict[str, Any]:
    return {
        "kind": answer.job.resource.kind,
        "namespace": answer.job.key.namespace,
        "name": answer.job.key.name,
        "starts": not answer.refused and not answer.waits,
        "refused": [say(why, language) for why in answer.refused],
        "waits": [write_cause(each, language) for each in answer.waits],
        "lacking": list(answer.lacking),
        "unseen": None if answer.unseen is None else render(answer.unseen, language),
    }


async def _fetch_answer(
    client: Client, placed: Sequence[Checked], each: Checked, refusals: Sequence[Refusal], seen: Seen | None
) -> Answer:
    """What refuses the job among `refusals`, and what it would wait for. `placed`: all documents of the file. `seen`:
    None on a laptop."""
    refused = [refusal.why for refusal in refusals if refusal.each.document is each.document]
    job = _with_name(each)
    if seen is None:
        return replace(await _fetch_local_waits(client, placed, each, job), refused=refused)
    return replace(await _fetch_cluster_waits(client, placed, job, seen), refused=refused)


def _with_name(each: Checked) -> Job:
    """The job; one with generateName gets a name of the same length."""
    assert each.job is not None
    generated = metadata(each.manifest).get("generateName")
    job = each.job
    return job if job.key.name else replace(job, key=Key(job.key.namespace, f"{generated}xxxxx"))


async def _fetch_local_waits(client: Client, placed: Sequence[Checked], each: Checked, job: Job) -> Answer:
    kinds = (PODS, NODES, POD_GROUPS, ENVIRONMENTS, CLAIMS)
    pods, nodes, groups, environments, claims = [(await client.list(kind)).items for kind in kinds]
    now = time.time()
    awaited = await fetch_awaited(client, job, now)
    bound = read_brought(placed, CLAIMS)  # as soon as they are created
    cause = plan_why_not(without_claims(job, bound), pods, nodes, groups, now, claims)
    waits = [*plan_hold(job, now), *awaited, *plan_images(job, environments, now), *([cause] if cause else [])]
    lacking = plan_lacking(each, nodes, now) if cause else ()
    return Answer(job, waits=waits, lacking=lacking, defaults=explain_images(job, environments).defaults)


async def _fetch_cluster_waits(client: Client, placed: Sequence[Checked], job: Job, seen: Seen) -> Answer:
    """The wait by the nodes and pods that can be listed. Whether the cluster can pull the images is not known."""
    now, nodes, pods, rooms = time.time(), seen.nodes, seen.pods, seen.rooms
    if nodes is None or pods is None:
        lacking = _add_shortage(rooms, job, WaitingForScheduler(job.size, job.size).record(now))
        waits = [lacking] if lacking is not None else []
        return Answer(job, waits=[*plan_hold(job, now), *waits], unseen=rooms.unseen)
    claims = await _list(client, CLAIMS, job.key.namespace)
    # A claim that is there may be bound when its first pod is scheduled (its class says so): it is not waited for.
    usable = None if claims is None else {key_of(claim) for claim in claims} | read_brought(placed, CLAIMS)
    cause = plan_why_not(without_claims(job, usable), pods, nodes, [], now, claims or ())
    awaited = await fetch_awaited(client, job, now)
    waits = [] if cause is None else [_add_shortage(rooms, job, cause) or cause]
    return Answer(job, waits=[*plan_hold(job, now), *awaited, *waits])


def _add_shortage(rooms: Rooms, job: Job, cause: CauseRecord) -> CauseRecord | None:
    """The cause with what the job's pods would lack; None where nothing is known to be lacking."""
    if rooms.stock is None:
        return None
    found = find_shortage(rooms.stock, list(map(read_request, build_wanted(job))), needs_all=needs_all(job))
    return None if found is None else with_shortage(cause, found)


async def _fetch_seen(client: Client) -> Seen:
    nodes, pods = await _list(client, NODES), await _list(client, PODS, fields=LIVE_PODS)
    return Seen(nodes, pods, read_rooms(nodes, None if pods is None else map(read_request, pods), ()))


async def _list(client: Client, kind: Resource, namespace: str = "", fields: str = "") -> list[Manifest] | None:
    """None if they cannot be listed (403)."""
    try:
        return (await client.list(kind, namespace, fields=fields)).items
    except Forbidden:
        return None


_COMPUTED = phrase(
    "computed by this command, paddock {version}, from the nodes and pods that it may read: the cluster's own "
    "scheduler decides",
    version=BUILD,
)


def build_answer(answer: Answer, file: str, language: str, flags: Flags = LOCAL) -> list[str]:
    """A sentence for each reason, with what to type; or that it would start. Pure."""
    job = answer.job
    label = f"{job.resource.kind} {job.key}"
    if answer.unseen is not None and not answer.refused and not answer.waits:
        said = phrase("{job} would be accepted; {why}", job=label, why=answer.unseen)
        return [render(said, language)]
    if not answer.refused and not answer.waits:
        said = counted("{job} would start now: its {count} pod fits",
                       "{job} would start now: all of its {count} pods fit", job=label, count=job.size)  # fmt: skip
        return [render(said, language), *(render(each, language) for each in answer.defaults)]
    lines = [_explain_refused(label, why, language) for why in answer.refused]
    lines += [render(each, language) for each in answer.defaults]
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
        steps = build_steps(cause, job.key.name, job.key.namespace, file, local=flags.local)
        lines.append(render(phrase("{job} would wait: {why}", job=label, why=why), language))
        lines += [render(each, language) for each in build_next(steps, flags)]
    return lines


def _explain_refused(label: str, why: str | Phrase, language: str) -> str:
    return render(phrase("{job} would be refused: {why}", job=label, why=why), language)
