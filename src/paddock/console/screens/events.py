"""The events of a job, its pods, services and PodGroup; more than 200 are counted by reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.feed import Topic
from paddock.console.heads import (
    build_head,
    find_job,
    list_group_topics,
    list_job_topics,
    list_pod_topics,
    tell_missing,
)
from paddock.console.page_context import PageContext, Screen
from paddock.console.screens.listed import link_to
from paddock.kube.meta import EVENTS, SERVICES
from paddock.views.events import (
    MOST_ROWS,
    EventRow,
    build_event_rows,
    count_by_reason,
    is_about,
    list_owned,
)
from paddock.views.listing import choose_part, cut_part
from paddock.words.phrases import Foreign, phrase

ON_A_PAGE = 200


def list_topics(path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    """Events of the whole namespace: the API has no selector for those of several objects."""
    namespace = path["namespace"]
    children = [each for pods in list_pod_topics(path) for each in (pods, Topic(SERVICES, namespace, pods.labels))]
    return [*list_job_topics(path, query), *children, *list_group_topics(path), Topic(EVENTS, namespace)]


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, job = find_job(page)
    if job is None:
        raise tell_missing(page)
    children = [each for topic in page.caches if topic.resource != EVENTS for each in page.objects(topic)]
    events = Topic(EVENTS, page.path["namespace"])
    owned = list_owned(job, children)
    rows = build_event_rows(each for each in page.objects(events) if is_about(each, owned))
    reason, counted = page.query.get("reason", ""), False
    if reason:
        rows = [row for row in rows if row.reason == reason]
    elif len(rows) > MOST_ROWS:
        rows, counted = count_by_reason(rows), True
    part = choose_part(page.query.get("page", ""), len(rows), ON_A_PAGE)
    error = page.caches[events].error if events in page.caches else None
    return {
        "head": await build_head(page, resource, job),
        "rows": [_show(page, row) for row in cut_part(rows, part)],
        "counted": counted,
        "reason": reason,
        "total": len(rows),
        "part": part,
        "link": link_to(page.query),
        "error": page.say(phrase("{said}", said=Foreign(error.message))) if error else "",
    }


def _show(page: PageContext, row: EventRow) -> Mapping[str, Any]:
    return {"row": row, "said": page.say(phrase("{said}", said=Foreign(row.message)))}


SCREEN = Screen("events", f"{JOB}/events", phrase("Events"), list_topics, build)
