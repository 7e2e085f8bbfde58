"""The list of jobs: what each one does, why, and what would help; those with trouble first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.console.addresses import address_of_job, name_kind
from paddock.console.backend import Printing, Spark, Sparks
from paddock.console.charts.sparks import draw_spark
from paddock.console.feed import Cache, Topic
from paddock.console.heads import give_advice
from paddock.console.page_context import PageContext, Screen
from paddock.console.rooms import SECONDS as ROOM_SECONDS
from paddock.console.rooms import add_room, look_for_room, waits_for_room
from paddock.console.screens.charts import format_number
from paddock.console.screens.listed import link_to
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import Phase
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import Resource, uid_of
from paddock.views.job_progress import tell_progress
from paddock.views.jobs import JobRow, build_why, read_job_row, tell_ready
from paddock.views.listing import Filter, Listed, choose_part, count_phases, cut_part, order_jobs
from paddock.words.phrases import Foreign, Names, Phrase, phrase

ON_A_PAGE = 100
SECONDS, SOON = 10.0, 1.0
"""Until the list looks again at what running jobs have printed; and while logs are being read."""
_PRINTING = (Phase.RUNNING, Phase.RESTARTING)
_LONGEST_WHY = 160
"""Columns."""


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [Topic(resource, query.get("namespace", "")) for resource in KINDS]


async def build(page: PageContext) -> Mapping[str, Any]:
    query = page.query
    wanted = Filter(query.get("phase", ""), query.get("kind", ""), query.get("namespace", ""), query.get("q", ""))
    topics = list_topics(page.path, query)
    found: list[Listed] = [(topic.resource, row) for topic in topics for row in page.read(topic, read_job_row)]
    fitting = [each for each in found if wanted.matches(each, any_phase=True)]
    shown = order_jobs(each for each in fitting if wanted.matches(each))
    part = choose_part(query.get("page", ""), len(shown), ON_A_PAGE)
    told, unseen = await _add_rooms(page, topics, cut_part(shown, part))
    rows, again = build_rows(page, told)
    return {
        "rows": rows,
        "with_losses": page.backend.sparks is not None,
        "again": again or (ROOM_SECONDS if any(waits_for_room(page, row.cause) for _, row in told) else 0.0),
        "counts": count_phases(fitting),
        "all": len(fitting),
        "total": len(shown),
        "part": part,
        "wanted": wanted,
        "filtered": any((wanted.phase, wanted.kind, wanted.namespace, wanted.text)),
        "kinds": sorted({resource.kind for resource in KINDS}),
        "namespaces": sorted({row.namespace for _, row in found}),
        "link": link_to(query),
        "errors": _tell_errors(page, topics),
        "unseen": unseen,
        "hidden": all(isinstance(_error_of(page, each), Forbidden) for each in topics),
    }


async def _add_rooms(
    page: PageContext, topics: Sequence[Topic], shown: Sequence[Listed]
) -> tuple[list[Listed], list[str]]:
    """The jobs with what nodes and pods show of those that wait for room; and what the reader may not see of it."""
    waiting = [(resource, row) for resource, row in shown if waits_for_room(page, row.cause)]
    if not waiting:
        return [*shown], []
    rooms = await look_for_room(page, topics[0], [row.cause for _, row in waiting])
    manifests = {uid_of(each): each for topic in topics for each in page.objects(topic)}
    told = await add_room(rooms, [(row.cause, resource, manifests.get(row.uid, {})) for resource, row in waiting])
    causes = {row.uid: cause for (_, row), cause in zip(waiting, told, strict=True)}
    found = [(each, replace(row, cause=causes.get(row.uid, row.cause))) for each, row in shown]
    return found, [page.say(rooms.unseen)] if rooms.unseen is not None else []


def build_rows(page: PageContext, shown_part: Sequence[Listed]) -> tuple[list[Mapping[str, Any]], float]:
    """What the table shows of these jobs of the page's cluster, and after how many seconds it looks again."""
    sparks = page.backend.sparks(page.identity) if page.backend.sparks else None
    losses = sparks.look(_list_printing(shown_part)) if sparks else {}
    return [_build_row(page, *each, losses) for each in shown_part], _look_again(shown_part, sparks)


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
    # An API asks for rights before it looks whether a kind is served, so a line for each would say little.
    if hidden and len(hidden) < len(topics):
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


def _build_row(page: PageContext, resource: Resource, row: JobRow, losses: Mapping[str, Spark]) -> Mapping[str, Any]:
    advice = give_advice(page, row.cause, resource, row.namespace, row.name)
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
        "why": build_why(row, page.language, most=_LONGEST_WHY),
        "bad": has_failed_rank(row.phase, row.cause),
        "advice": advice[:1],
        "progress": page.say(tell_progress(row.progress) or ""),
        "far": page.say((spark and tell_far(spark)) or ""),
        "spark": _build_spark(spark),
    }


SCREEN = Screen("jobs", "/", phrase("Jobs"), list_topics, build, in_menu=True)
