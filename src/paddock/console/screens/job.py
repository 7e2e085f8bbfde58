"""A job: why it is as it is, first; what may be done with it; its attempts, ranks and roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from paddock.console.addresses import ENVIRONMENT, JOB, address_of_dataset, read_whole
from paddock.console.backend import KeptRun
from paddock.console.feed import Cache, Topic
from paddock.console.heads import build_head, explain_right, find_job, list_job_topics, list_pod_topics, tell_missing
from paddock.console.page_context import Answer, PageContext, Screen
from paddock.console.rank_table import RankTable, build_gone_table, build_rank_table
from paddock.console.rooms import SECONDS as ROOM_SECONDS
from paddock.console.rooms import waits_for_room
from paddock.console.screens.job_rows import point_at_error, show_attempts, show_rank, show_role
from paddock.console.screens.listed import link_to
from paddock.console.screens.share import read_printed, write_share
from paddock.console.step_buttons import Of, build_again, build_clone
from paddock.jobs.model import Job
from paddock.jobs.people import explain_change, show_person
from paddock.jobs.sentences.suspect_phrases import explain_suspects
from paddock.jobs.substitutions import SUBSTITUTED_ANNOTATION, WITHOUT_ANNOTATION, read_original
from paddock.kube.described import read_creator
from paddock.kube.environments import ENVIRONMENT_ANNOTATION, read_notice
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import (
    DATASETS,
    PODS,
    SERVICES,
    Manifest,
    Resource,
    annotations_of,
    is_controlled_by,
    metadata,
    name_of,
    uid_of,
)
from paddock.kube.times import read_time
from paddock.preflight import explain_problem
from paddock.views.changes import read_generation
from paddock.views.commands import JobCommand, list_commands
from paddock.views.datasets import read_dataset_row, read_use, say_amount
from paddock.views.job_progress import list_metrics, tell_progress
from paddock.views.listing import choose_part, cut_part
from paddock.views.outputs import find_places, trained_container
from paddock.views.ranks import JobPod, build_role_rows, read_job_pod, total_asked
from paddock.views.restarts import explain_restarts
from paddock.views.roles import explain_sizes
from paddock.views.sizes import merge_sizes
from paddock.views.stored import StoredJob, read_stored
from paddock.views.timeline import build_timeline
from paddock.words.phrases import Foreign, Names, Phrase, phrase, render
from paddock.words.problems import Problem

RANKS_ON_A_PAGE = 100
_ATTEMPTS = 10
_SIZES = 12


def list_topics(path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    pods = list_pod_topics(path)
    services = (Topic(SERVICES, each.namespace, each.labels) for each in pods)
    return [*list_job_topics(path, query), *pods, *services, Topic(DATASETS, path["namespace"])]


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, manifest = find_job(page)
    run = await _find_run(page, resource, manifest)
    if manifest is None:
        if run is None:
            raise tell_missing(page)
        return await _build_gone(page, resource, run)
    stored = read_stored(resource, manifest)
    pods = [pod for topic in list_pod_topics(page.path) for pod in page.read(topic, read_job_pod)]
    created = read_time(metadata(manifest).get("creationTimestamp"))
    run = run or KeptRun()
    table = await build_rank_table(page, stored, pods, run, read_whole(page.query.get("at", "")))
    attempts = build_timeline(stored.status, created, run.begun, run.causes, pods, stored.uid, page.now, run.steps)
    past = merge_sizes(run.sizes)
    may_enter = await page.may("create", PODS, stored.key.namespace, "exec")
    head = await build_head(page, resource, manifest)
    address = head.address
    return {
        "head": replace(head, advice=point_at_error(page, head, table)),
        "gone": False,
        "again": ROOM_SECONDS if waits_for_room(page, stored.status.cause) else 0.0,
        "buttons": await _build_buttons(page, stored, address),
        "attempts": show_attempts(page, attempts[:_ATTEMPTS]),
        "more_attempts": max(0, len(attempts) - _ATTEMPTS),
        "past_sizes": past[-_SIZES:] if len(past) > 1 else (),
        **_show_ranks(page, Of(resource, *stored.key), table, stored.status.attempt, may_enter=may_enter),
        "written": _find_written(pods, stored.uid),
        "notice": _find_notice(page, pods, stored.uid),
        "datasets": _list_datasets(page, resource, manifest),
        **_show_job(page, stored, manifest),
    }


async def _build_gone(page: PageContext, resource: Resource, run: KeptRun) -> Mapping[str, Any]:
    """Of a job that was deleted: what is kept of its ranks."""
    table = await build_gone_table(page, run, read_whole(page.query.get("at", "")))
    job = Of(resource, page.path["namespace"], page.path["name"])
    ranks = _show_ranks(page, job, table, max(table.attempts, default=0))
    return {"head": await build_head(page, resource, None), "gone": True, "job": None, **ranks}


def _show_ranks(
    page: PageContext, job: Of, table: RankTable, latest: int, *, may_enter: bool = False
) -> Mapping[str, Any]:
    """`latest`: the job's last attempt. `may_enter`: whether the reader may run commands in its pods."""
    part = choose_part(page.query.get("page", ""), len(table.rows), RANKS_ON_A_PAGE)
    return {
        "table": table,
        "latest": latest,
        "ranks": [show_rank(page, job, latest, each, may_enter=may_enter) for each in cut_part(table.rows, part)],
        "echoes": [show_rank(page, job, latest, each, may_enter=may_enter) for each in table.echoes[:RANKS_ON_A_PAGE]],
        "total": len(table.rows),
        "part": part,
        "link": link_to(page.query),
    }


async def answer_share(page: PageContext) -> Answer:
    """The job as one file. Raises `Missing`."""
    resource, manifest = find_job(page)
    if manifest is None:
        raise tell_missing(page)
    stored, built = read_stored(resource, manifest), await build(page)
    run = await _find_run(page, resource, manifest) or KeptRun()
    return await write_share(page, built, await read_printed(page, stored, run, built["table"]))


async def _find_run(page: PageContext, resource: Resource, manifest: Manifest | None) -> KeptRun | None:
    source = page.backend.logs(page.identity) if page.backend.logs else None
    if source is None:
        return None
    uid = uid_of(manifest) if manifest else ""
    try:
        return await source.find(resource, page.path["namespace"], page.path["name"], uid)
    except ApiError:  # who may not read the logs of its pods may still see the job
        return None


async def _build_buttons(page: PageContext, stored: StoredJob, address: str) -> list[Mapping[str, Any]]:
    """With an address: a page, as what cannot be taken back, or wants to be typed, has one."""
    namespace = stored.key.namespace
    found: list[Mapping[str, Any]] = []
    pages = {each: f"{address}/{each}" for each in ("edit", "cancel", "delete")}
    job = Of(stored.resource, *stored.key)
    pages |= {"clone": build_clone(job), "again": build_again(job)}
    for each in list_commands(stored, page.backend.kubectl, page.backend.options):
        may = await page.may(each.verb, stored.resource, namespace)
        refused = None if may else explain_right(each.verb, stored.resource, namespace)
        found.append({**_show_button(page, each, refused), "address": pages.get(each.name, "")})
    return found


def _show_button(page: PageContext, command: JobCommand, refused: Phrase | None) -> Mapping[str, Any]:
    why = refused or command.why_not
    return {
        "name": command.name,
        "title": page.say(command.title),
        "paddock": command.paddock,
        "kubectl": command.kubectl,
        "why_not": page.say(why) if why else "",
        "refused": refused is not None,
    }


def _show_job(page: PageContext, stored: StoredJob, manifest: Manifest) -> Mapping[str, Any]:
    """What the manifest asks for; of one that is wrong, only that."""
    job, status = stored.job, stored.shown_status
    problems = [explain_problem(each, page.language) for each in stored.problems]
    ports = _list_ports(page, stored)
    facts: dict[str, Any] = {
        "status": status,
        "problems": problems,
        "progress": page.say(tell_progress(status.progress) or ""),
        "metrics": list_metrics(status.progress),
        "created": read_time(metadata(manifest).get("creationTimestamp")),
        **_show_people(page, manifest),
        "avoided": [page.say(each) for each in explain_suspects(status, page.now)],
        "without": annotations_of(manifest).get(WITHOUT_ANNOTATION, ""),
        "ports": ports[:_MOST_PORTS],
        "more_ports": len(ports) - _MOST_PORTS,
        "environment": _find_environment(page, manifest),
        "outputs": page.backend.find_outputs(manifest) if page.backend.find_outputs else "",
    }
    if job is None:
        return {**facts, "job": None, "roles": [], "notes": [], "asked": "", "restarts": "", "sizes": "", "places": ()}
    containers = [trained_container(job, role) for role in job.roles]
    return {
        **facts,
        "job": job,
        "roles": [show_role(each) for each in build_role_rows(job, status, containers, page.language)],
        "notes": tell_once(job.warnings, page.language),
        "asked": total_asked(job, page.language),
        "restarts": page.say(explain_restarts(job, status) or ""),
        "sizes": page.say(explain_sizes(job) or ""),
        "places": _list_places(page, job),
    }


def _show_people(page: PageContext, manifest: Manifest) -> Mapping[str, str]:
    """Who has submitted the job and changed it last; a laptop has one person."""
    if page.backend.local:
        return {"creator": "", "changed": ""}
    annotations = annotations_of(manifest)
    changed = explain_change(annotations, read_generation(manifest))
    return {
        "creator": page.say(show_person(read_creator(annotations))),
        "changed": page.say(changed) if changed else "",
    }


def tell_once(problems: Iterable[Problem], language: str) -> list[str]:
    """A line for each sentence, in their order, with all the fields of which it holds: what is wrong with one role is
    often wrong with each. Pure."""
    places: dict[str, list[str]] = {}
    for each in problems:
        places.setdefault(explain_problem(replace(each, path=""), language), []).append(each.path)
    return [
        f"{render(phrase('{said}', said=Names(tuple(found))), language)}: {said}" if found[0] else said
        for said, found in places.items()
    ]


def _find_environment(page: PageContext, manifest: Manifest) -> Mapping[str, str] | None:
    """The Environment that the job names; on a cluster the image itself is run."""
    name = annotations_of(manifest).get(ENVIRONMENT_ANNOTATION, "")
    return {"name": name, "address": ENVIRONMENT.format(name=quote(name))} if name and page.backend.local else None


def _find_written(pods: Sequence[JobPod], uid: str) -> str:
    """The command as it was written, where the pods run another one in its place (`jobs.substitutions`)."""
    own = (each.manifest for each in pods if is_controlled_by(each.manifest, uid))
    written = (annotations_of(pod).get(SUBSTITUTED_ANNOTATION, "") for pod in own)
    return next(filter(None, map(read_original, written)), "")


def _find_notice(page: PageContext, pods: Sequence[JobPod], uid: str) -> str:
    """The kubelet's sentence, where an image of the job stands for no Environment (`kube.environments`)."""
    said = (read_notice(each.manifest) for each in pods if is_controlled_by(each.manifest, uid))
    return page.say(phrase("{said}", said=Foreign(next(filter(None, said), ""))))


def _list_places(page: PageContext, job: Job) -> Sequence[str]:
    """The places in volumes that outlive pods; on a laptop the outputs have a directory of their own."""
    return () if page.backend.local else find_places(job)


def _list_datasets(page: PageContext, resource: Resource, manifest: Manifest) -> list[Mapping[str, Any]]:
    """The datasets that the job uses, and those that it names and that are not there, or are `hidden` from the
    reader."""
    use = read_use(resource, manifest)
    rows = [row for row in page.read(Topic(DATASETS, page.path["namespace"]), read_dataset_row) if use.uses(row.status)]
    found: list[Mapping[str, Any]] = [
        {
            "name": row.key.name,
            "address": address_of_dataset(*row.key),
            "phase": str(row.status.phase),
            "amount": page.say(say_amount(row.status)),
            "hidden": False,
        }
        for row in rows
    ]
    hidden = isinstance(page.caches.get(Topic(DATASETS, page.path["namespace"]), Cache()).error, Forbidden)
    absent = use.names - {row.key.name for row in rows}
    found += [{"name": name, "address": "", "phase": "", "amount": "", "hidden": hidden} for name in absent]
    return sorted(found, key=lambda each: str(each["name"]))


def _list_ports(page: PageContext, stored: StoredJob) -> list[str]:
    """`demo-worker-0:2379`, of its services, in the order of ranks."""
    services = [
        each for topic in page.caches if topic.resource == SERVICES for each in page.objects(topic)
        if is_controlled_by(each, stored.uid)
    ]  # fmt: skip
    found = []
    for each in sorted(services, key=_order_service):
        ports = (each.get("spec") or {}).get("ports") or ()
        numbers = sorted({int(port.get("port") or 0) for port in ports})
        shown = f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 2 else ",".join(map(str, numbers))
        found.append(f"{name_of(each)}:{shown}")
    return found


def _order_service(service: Manifest) -> tuple[str, int]:
    group, _, index = name_of(service).rpartition("-")
    return (group, int(index)) if index.isdecimal() else (name_of(service), 0)


_MOST_PORTS = 8

SCREEN = Screen("job", JOB, phrase("Job"), list_topics, build, answers={"share": answer_share})
