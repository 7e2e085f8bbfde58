"""The list of jobs: what each one does, why, and what would help; those with trouble first.

/?q=bert&phase=Failed&kind=PaddleJob&namespace=team&sort=-created&columns=name,ready,owner&page=2
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.console.actions.bulk import MARK, MOST
from paddock.console.addresses import address_of_job, name_kind
from paddock.console.backend import Printing, Spark, Sparks
from paddock.console.charts.sparks import draw_spark
from paddock.console.feed import Cache, Topic, may_see_none
from paddock.console.heads import give_advice
from paddock.console.page_context import PageContext, Screen
from paddock.console.rooms import SECONDS as ROOM_SECONDS
from paddock.console.rooms import add_room, look_for_room, waits_for_room
from paddock.console.screens.listed import link_to
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import Phase
from paddock.jobs.people import show_person
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import Manifest, Resource, uid_of
from paddock.kube.times import Moment
from paddock.views.job_progress import tell_progress
from paddock.views.jobs import JobRow, build_why, read_job_row, tell_ready
from paddock.views.listing import (
    COLUMNS,
    SORTS,
    Filter,
    Listed,
    Order,
    choose_part,
    count_phases,
    count_trouble,
    cut_part,
    measure_duration,
    read_columns,
    read_order,
    sort_jobs,
)
from paddock.views.numbers import format_number
from paddock.views.ranks import total_asked
from paddock.views.stored import read_stored
from paddock.words.phrases import Foreign, Names, Phrase, phrase

ON_A_PAGE = 100
SECONDS, SOON = 10.0, 1.0
"""Until the list looks again at what running jobs have printed; and while logs are being read."""
_PRINTING = (Phase.RUNNING, Phase.RESTARTING)
_LIVING = (*_PRINTING, Phase.PENDING, Phase.STARTING)
_LONGEST_WHY = 160
"""Columns."""
_ROWS_IN_A_STEP = 20
MOST_LOSSES = 300
MOST_NAMESPACES = 200
"""Proposed in the field."""
COLUMN_NAMES: Mapping[str, Phrase] = {
    "ready": phrase("Ready"),
    "duration": phrase("Duration"),
    "age": phrase("Age"),
    "created": phrase("Created"),
    "resources": phrase("Asks for"),
    "owner": phrase("Owner"),
}
_KEPT = ("phase", "sort", "columns")
"""Of the address: the form of the filter sends them along."""


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [Topic(resource, query.get("namespace", "")) for resource in KINDS]


async def build(page: PageContext) -> Mapping[str, Any]:
    query = page.query
    wanted = read_filter(query)
    topics = list_topics(page.path, query)
    for topic in topics:
        await page.read_ahead(topic, read_job_row)
    found: list[Listed] = [(topic.resource, row) for topic in topics for row in page.read(topic, read_job_row)]
    await asyncio.sleep(0)  # between steps of 10,000 jobs each, of which none may keep others waiting for 50 ms
    fitting = [each for each in found if wanted.matches(each, any_phase=True)]
    await asyncio.sleep(0)
    chosen = [each for each in fitting if wanted.matches(each)] if wanted.phase else fitting
    await asyncio.sleep(0)
    order, columns = read_order(query.get("sort", "")), read_columns(query.get("columns", ""))
    losses = _look_at_losses(page, fitting) if order.key == "loss" else None
    known = {uid: spark.last for uid, spark in losses.items()} if losses else None
    shown = sort_jobs(chosen, order, page.now, known)
    await asyncio.sleep(0)
    counts, mark = count_phases(fitting), mark_title(fitting, page.now)
    await asyncio.sleep(0)
    part = choose_part(query.get("page", ""), len(shown), ON_A_PAGE)
    told, unseen = await add_rooms(page, topics, cut_part(shown, part))
    rows, again = await build_rows(page, told, columns, losses)
    return {
        "rows": rows,
        "with_losses": page.backend.sparks is not None,
        "again": again or (ROOM_SECONDS if any(waits_for_room(page, row.cause) for _, row in told) else 0.0),
        "counts": counts,
        "mark": mark,
        "all": len(fitting),
        "total": len(shown),
        "part": part,
        "wanted": wanted,
        "filtered": any((wanted.phase, wanted.kind, wanted.namespace, wanted.text)),
        "kinds": sorted({resource.kind for resource in KINDS}),
        "namespaces": sorted({row.namespace for _, row in found})[:MOST_NAMESPACES],
        "link": link_to(query),
        "errors": _tell_errors(page, topics),
        "unseen": unseen,
        "hidden": may_see_none(_error_of(page, each) for each in topics),
        "most_chosen": MOST,
        "may": {verb for verb in ("patch", "delete") if await _may_with_any(page, verb, told)},
        **build_choices(page, order, columns),
    }


def read_filter(query: Mapping[str, str]) -> Filter:
    return Filter(query.get("phase", ""), query.get("kind", ""), query.get("namespace", ""), query.get("q", ""))


def build_choices(page: PageContext, order: Order, columns: Sequence[str]) -> Mapping[str, Any]:
    """What the list says of its order and columns, and offers instead."""
    return {
        "order": str(order),
        "heads": {key: (order.turn(key), _name_direction(order, key)) for key in SORTS},
        "columns": columns,
        "offered": [(each, page.say(COLUMN_NAMES[each]), each in columns) for each in COLUMNS],
        "kept": [(name, page.query[name]) for name in _KEPT if page.query.get(name)],
    }


def _name_direction(order: Order, key: str) -> str:
    """As `aria-sort` has it; empty for a column by which the list is not sorted."""
    if order.key != key:
        return ""
    return "descending" if order.falling else "ascending"


def mark_title(found: Sequence[Listed], now: Moment) -> Mapping[str, Any]:
    """What the tab says before its title, `(2✕ 5▶)`, with the name of its icon: how many jobs have failed lately or
    cannot begin, and how many run; empty where there are neither. `lives`: some will change by themselves. Pure."""
    bad, run = count_trouble(found, now)
    said = " ".join(f"{count}{sign}" for count, sign in ((bad, "✕"), (run, "▶")) if count)
    lives = any(row.state in _LIVING for _, row in found)
    icon = "failed" if bad else "running" if run else ""
    return {"text": f"({said})" if said else "", "icon": icon, "lives": lives}


def _look_at_losses(page: PageContext, fitting: Sequence[Listed]) -> Mapping[str, Spark]:
    """Of the newest `MOST_LOSSES` jobs that print: each log that has grown is read again."""
    if page.backend.sparks is None:
        return {}
    newest = sorted(fitting, key=lambda each: -(each[1].created or 0.0))
    return page.backend.sparks(page.identity).look(_list_printing(newest)[:MOST_LOSSES])


async def add_rooms(
    page: PageContext, topics: Sequence[Topic], shown: Sequence[Listed]
) -> tuple[list[Listed], list[str]]:
    """The jobs with what nodes and pods show of those that wait for room; and what the reader may not see of it."""
    waiting = [(resource, row) for resource, row in shown if waits_for_room(page, row.cause)]
    if not waiting:
        return [*shown], []
    manifests = {uid_of(each): each for topic in topics for each in page.objects(topic)}
    asked = [(row.cause, resource, manifests.get(row.uid, {})) for resource, row in waiting]
    told = await add_room(rooms := await look_for_room(page, topics[0], asked), asked)
    causes = {row.uid: cause for (_, row), cause in zip(waiting, told, strict=True)}
    found = [(each, replace(row, cause=causes.get(row.uid, row.cause))) for each, row in shown]
    return found, [page.say(rooms.unseen)] if rooms.unseen is not None else []


async def build_rows(
    page: PageContext,
    shown_part: Sequence[Listed],
    columns: Collection[str],
    losses: Mapping[str, Spark] | None = None,
) -> tuple[list[Mapping[str, Any]], float]:
    """What the table shows of these jobs of the page's cluster, and after how many seconds it looks again. `losses`:
    where they have been looked at already."""
    sparks = page.backend.sparks(page.identity) if page.backend.sparks else None
    if losses is None:
        losses = sparks.look(_list_printing(shown_part)) if sparks else {}
    asked = await _tell_asked(page, shown_part) if "resources" in columns else {}
    rights = await _find_rights(page, shown_part)
    rows: list[Mapping[str, Any]] = []
    for number, each in enumerate(shown_part):
        if number % _ROWS_IN_A_STEP == 0:
            await asyncio.sleep(0)
        row = _build_row(page, *each, losses, rights.get((each[0], each[1].namespace), ()))
        rows.append({**row, "asked": asked.get(each[1].uid, "")})
    return rows, _look_again(shown_part, sparks)


async def _find_rights(page: PageContext, shown_part: Sequence[Listed]) -> Mapping[tuple[Resource, str], set[str]]:
    """The verbs that buttons beside a cause need, and the reader may use, by kind and namespace."""
    places = {(resource, row.namespace) for resource, row in shown_part if row.cause}
    return {place: {verb for verb in ("patch", "create") if await page.may(verb, *place)} for place in places}


async def _may_with_any(page: PageContext, verb: str, shown_part: Sequence[Listed]) -> bool:
    """Whether the reader may do this with one of these jobs: who may, most often may with the first."""
    for place in dict.fromkeys((resource, row.namespace) for resource, row in shown_part):
        if await page.may(verb, *place):
            return True
    return False


async def _tell_asked(page: PageContext, shown_part: Sequence[Listed]) -> Mapping[str, str]:
    """The requests of all ranks, by the job's UID. In a thread, as a manifest may be long."""
    wanted = {row.uid for _, row in shown_part}
    manifests = [
        (topic.resource, each) for topic in page.caches for each in page.objects(topic) if uid_of(each) in wanted
    ]
    return await asyncio.to_thread(_read_asked, manifests, page.language)


def _read_asked(manifests: Sequence[tuple[Resource, Manifest]], language: str) -> Mapping[str, str]:
    jobs = [(each, read_stored(resource, each).job) for resource, each in manifests]
    return {uid_of(each): total_asked(job, language) for each, job in jobs if job is not None}


def _tell_errors(page: PageContext, topics: Sequence[Topic]) -> list[str]:
    """Why some jobs are not shown. A kind that is not served has none; only if all are not, that is told."""
    errors = {topic: error for topic in topics if (error := _error_of(page, topic))}
    hidden = tuple(topic.resource.qualified for topic, error in errors.items() if isinstance(error, Forbidden))
    if errors and len(errors) == len(topics) and all(isinstance(each, NotFound) for each in errors.values()):
        command = f"paddock manifests crd | {page.backend.kubectl} apply -f -"
        said = [phrase("this cluster has no kind of training job yet: `{command}` installs them", command=command)]
    else:
        said = [
            phrase("{kinds} are not shown: {why}", kinds=topic.resource.qualified, why=Foreign(error.message))
            for topic, error in errors.items()
            if not isinstance(error, NotFound | Forbidden)
        ]
    if hidden and not may_see_none(_error_of(page, each) for each in topics):
        said.append(phrase("{kinds} are not shown: your rights do not allow it", kinds=Names(hidden)))
    return [page.say(each) for each in said]


def _error_of(page: PageContext, topic: Topic) -> ApiError | None:
    return page.caches.get(topic, Cache()).error


def _list_printing(shown_part: Sequence[Listed]) -> list[Printing]:
    """The jobs that have printed something."""
    return [
        Printing(resource, row.namespace, row.name, row.uid, row.phase.terminal)
        for resource, row in shown_part
        if row.phase.terminal or row.phase in _PRINTING
    ]


def _look_again(shown_part: Sequence[Listed], sparks: Sparks | None) -> float:
    """Seconds; 0 where changes of the jobs tell of everything."""
    if sparks is None:
        return 0.0
    return SOON if sparks.reading else SECONDS if any(row.phase in _PRINTING for _, row in shown_part) else 0.0


def _measure(page: PageContext, row: JobRow) -> str:
    duration = measure_duration(row, page.now)
    return "" if duration is None else page.say_duration(duration)


def _build_spark(spark: Spark | None) -> Mapping[str, str]:
    if spark is None:
        return {}
    return {
        "points": draw_spark(spark.values),
        "first": format_number(spark.values[0]),
        "last": format_number(spark.last),
    }


def tell_far(spark: Spark) -> Phrase | None:
    """How far the last line with a loss was. Steps that have an end are counted anew in each epoch. Pure."""
    if spark.step is None:
        return None if spark.epoch is None else phrase("epoch {epoch}", epoch=spark.epoch)
    if not spark.steps:
        return phrase("step {step}", step=spark.step)
    if spark.epoch is None:
        return phrase("step {step}/{steps}", step=spark.step, steps=spark.steps)
    return phrase("epoch {epoch}, {step}/{steps}", epoch=spark.epoch, step=spark.step, steps=spark.steps)


def _build_row(
    page: PageContext, resource: Resource, row: JobRow, losses: Mapping[str, Spark], may: Collection[str]
) -> Mapping[str, Any]:
    """`may`: the verbs that the reader may use here."""
    given = give_advice(page, row.cause, resource, row.namespace, row.name)
    advice = [each for each in given if each.right in ("", *may)]
    spark = losses.get(row.uid)
    return {
        "name": row.name,
        "namespace": "" if row.namespace == "default" else row.namespace,
        "address": address_of_job(resource, row.namespace, row.name),
        "kind": resource.kind,
        "compared": f"{row.namespace}/{name_kind(resource)}/{row.name}",
        "phase": row.state,
        "ready": [(name, tell_ready(counts, row.phase)) for name, counts in row.roles.items()],
        "attempt": row.attempt,
        "restarts": row.restarts,
        "created": row.created,
        "duration": _measure(page, row),
        "began": row.started if row.started and not row.phase.terminal else None,
        "owner": row.owner or ("" if page.backend.local else page.say(show_person(row.creator))),
        "description": _build_title(page, row),
        "mark": row.uid[:MARK],
        "ended": row.phase.terminal,
        "why": build_why(row, page.language, most=_LONGEST_WHY),
        "bad": has_failed_rank(row.phase, row.cause),
        "advice": advice[:1],
        "progress": page.say(tell_progress(row.progress) or ""),
        "far": page.say((spark and tell_far(spark)) or ""),
        "spark": _build_spark(spark),
    }


def _build_title(page: PageContext, row: JobRow) -> str:
    """What is read when the pointer rests on the name. A laptop has one person."""
    if page.backend.local or not row.creator:
        return row.description
    by = page.say(phrase("submitted by {who}", who=show_person(row.creator)))
    return f"{row.description} · {by}" if row.description else by


SCREEN = Screen("jobs", "/", phrase("Jobs"), list_topics, build, in_menu=True)
