"""Why a job that is not submitted yet would not start: `paddock explain --why-not FILE`.

The answer has the problems of the file; what `paddock run` would refuse (an existing name, a missing script), by the
checks of `run`; and what the job would wait for (an environment, free resources), by the functions of the kubelet and
of the scheduler (`app.why_not`). Writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.why_not import fetch_awaited, plan_hold, plan_images, plan_why_not, without_claims
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.output.terminal import stdout
from paddock.cli.submit.dry_run import ask_server
from paddock.cli.submit.local_directories import read_refusal
from paddock.cli.submit.manifest_files import fetch_reading
from paddock.cli.submit.replacing import fetch_named
from paddock.cli.submit.report import build_lines
from paddock.cli.submit.submission import drop_devices, explain_refused
from paddock.jobs.model import CauseRecord, Job
from paddock.jobs.sentences.explain import explain
from paddock.kube.errors import AlreadyExists, ApiError, Forbidden
from paddock.kube.meta import CLAIMS, ENVIRONMENTS, NODES, POD_GROUPS, PODS, Key, Manifest, key_of
from paddock.kube.times import Moment
from paddock.submission.devices import find_lacking
from paddock.submission.documents import Checked
from paddock.submission.local_only import find_local_reasons, find_reasons
from paddock.submission.missing_secrets import explain_missing, find_missing_secrets, read_brought
from paddock.submission.same_name import explain_taken
from paddock.version import __version__
from paddock.views.flags import LOCAL, Flags, build_next
from paddock.views.steps import build_steps
from paddock.views.stored import read_stored
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Answer:
    """`refused`: why `paddock run` would refuse the job; `waits`: causes to wait; `lacking`: devices that no node has
    and without which the job fits, so `paddock run` removes them; `unread`: nodes cannot be listed (403)."""

    job: Job
    refused: Sequence[str | Phrase] = ()
    waits: Sequence[CauseRecord] = ()
    lacking: Sequence[str] = ()
    unread: bool = False


def explain_file(file: str, namespace: str, language: str) -> int:
    """Prints the answer for each job of the file; the exit code."""
    reading = fetch_reading(file, namespace)
    if reading.problems:
        for line in build_lines([reading], language):
            stdout().print(line)
    if reading.wrong:
        return 1
    placed = reading.placed
    jobs = list(_read_jobs(placed))
    if not jobs:
        raise UserError(phrase("{file}: there is no job in it", file=reading.file))

    flags = choose_place().flags

    async def work(client: Client, place: ClusterChoice) -> list[Answer]:
        local = place.home is not None
        fetch = partial(_fetch_answer, placed) if local else partial(_ask_cluster, place, placed)
        return [await fetch(client, each) for each in jobs]

    answers = run_with_client(work)
    for answer in answers:
        for line in build_answer(answer, file, language, flags):
            stdout().print(line)
    if flags.options:
        stdout().print(render(_COMPUTED, language))
    return int(any(answer.refused or answer.waits for answer in answers))


def _read_jobs(placed: Sequence[Checked]) -> Iterator[Checked]:
    for each in placed:
        if each.job is not None:
            yield replace(each, job=_with_name(each.job, each.manifest))


def _with_name(job: Job, manifest: Manifest) -> Job:
    """Gives a job with generateName a name of the same length."""
    generated = manifest["metadata"].get("generateName")
    return job if job.key.name else replace(job, key=Key(job.key.namespace, f"{generated}xxxxx"))


async def _fetch_answer(placed: Sequence[Checked], client: Client, each: Checked) -> Answer:
    assert each.job is not None
    kinds = (PODS, NODES, POD_GROUPS, ENVIRONMENTS, CLAIMS)
    pods, nodes, groups, environments, claims = [(await client.list(kind)).items for kind in kinds]
    job, now = each.job, time.time()
    there = await fetch_named(client, each)
    taken, replaced = [explain_taken(stored, now) for stored in there], {stored.uid for stored in there}
    said = await ask_server(client, each, LOCAL)
    refusal = read_refusal(job, environments, Path.cwd())
    secrets = await find_missing_secrets(client, [job], read_brought(placed), replaced)
    awaited = await fetch_awaited(client, job, now)
    bound = read_brought(placed, CLAIMS)  # as soon as they are created
    cause = plan_why_not(without_claims(job, bound), pods, nodes, groups, now, claims)
    others = (why for why in (said, *taken, refusal) if why)
    return Answer(
        job,
        [*find_local_reasons(each), *map(explain_missing, secrets), *others],
        [*plan_hold(job, now), *awaited, *plan_images(job, environments, now), *([cause] if cause else [])],
        plan_lacking(each, nodes, now, claims, bound) if cause else (),
    )


async def _ask_cluster(place: ClusterChoice, placed: Sequence[Checked], client: Client, each: Checked) -> Answer:
    """The result of a server-side dry run, and the wait by the nodes and pods that can be listed. Whether the cluster
    can pull the images is not known."""
    assert each.job is not None
    job, now = each.job, time.time()
    refused: list[str | Phrase] = list(find_reasons(each))
    try:
        await client.create(each.resource, each.manifest, strict=True, dry_run=True)
    except AlreadyExists:
        current = read_stored(each.resource, await client.get(each.resource, *job.key))
        taken = explain_taken(current, now, place.flags)
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
        return Answer(job, refused, plan_hold(job, now), unread=True)
    claims = await _fetch_claims(client, job.key.namespace)
    # A claim that is there may be bound when its first pod is scheduled (its class says so): it is not waited for.
    usable = None if claims is None else {key_of(claim) for claim in claims} | read_brought(placed, CLAIMS)
    cause = plan_why_not(without_claims(job, usable), pods, nodes, [], now, claims or ())
    awaited = await fetch_awaited(client, job, now)
    return Answer(job, refused, [*plan_hold(job, now), *awaited, *([cause] if cause else [])])


async def _fetch_claims(client: Client, namespace: str) -> list[Manifest] | None:
    """The claims of a namespace; None if they cannot be listed (403)."""
    try:
        return (await client.list(CLAIMS, namespace)).items
    except Forbidden:
        return None


_COMPUTED = phrase(
    "computed by this command, paddock {version}, from the nodes and pods that it may read: the cluster's own "
    "scheduler decides",
    version=__version__,
)


def plan_lacking(
    each: Checked, nodes: list[Manifest], now: Moment, claims: Sequence[Manifest] = (), bound: Collection[Key] = ()
) -> tuple[str, ...]:
    """The devices that `paddock run` would leave out: those that no node has, if the job fits without them. `bound`:
    claims that will be there. Pure."""
    assert each.job is not None
    lacking = find_lacking([each.job], nodes)
    (fewer,) = drop_devices([each], lacking)
    fits = fewer.job is not None and not plan_why_not(without_claims(fewer.job, bound), [], nodes, [], now, claims)
    return tuple(lacking) if fits else ()


def build_answer(answer: Answer, file: str, language: str, flags: Flags = LOCAL) -> list[str]:
    """A sentence for each reason, with what to type; or that it would start. Pure."""
    job = answer.job
    label = f"{job.resource.kind} {job.key}"
    if answer.unread and not answer.refused and not answer.waits:
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
        steps = build_steps(cause, job.key.name, job.key.namespace, file, local=flags.local)
        lines.append(render(phrase("{job} would wait: {why}", job=label, why=why), language))
        lines += [render(each, language) for each in build_next(steps, flags)]
    return lines
