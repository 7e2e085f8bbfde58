"""What ran: the runs of one job, also of one that is gone, and those of all jobs. On a cluster, of which no runs are
kept, the jobs that there are.

/jobs/NAMESPACE/KIND/NAME/runs
/runs?q=TEXT&tag=TAG&owner=NAME&end=Failed&sort=-began
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.feed import Cache, Topic, may_see_none
from paddock.console.heads import build_head, find_job, list_job_topics, tell_missing
from paddock.console.page_context import PageContext, Screen
from paddock.console.screens.run_rows import build_table, choose, find_resource, list_runs
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import ApiError, Forbidden
from paddock.views.runs import RunFilter
from paddock.words.phrases import phrase


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, job = find_job(page)
    namespace, name = page.path["namespace"], page.path["name"]
    found = await list_runs(page, list_job_topics(page.path, page.query), namespace, name)
    found = replace(found, runs=[run for run in found.runs if find_resource(run) == resource])
    if job is None and not found.runs:
        raise tell_missing(page)
    chosen = await choose(page, found, RunFilter())
    head = await build_head(page, resource, job)
    return {"head": head, "filtered": False, **build_table(page, found, chosen, names=False)}


def list_all_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [Topic(resource, query.get("namespace", "")) for resource in KINDS]


async def build_all(page: PageContext) -> Mapping[str, Any]:
    query = page.query
    wanted = RunFilter(
        query.get("q", ""), query.get("namespace", ""), query.get("tag", ""), query.get("owner", ""),
        query.get("end", ""),
    )  # fmt: skip
    topics = list_all_topics(page.path, query)
    found = await list_runs(page, topics, wanted.namespace)
    chosen = await choose(page, found, wanted)
    errors = [page.caches.get(topic, Cache()).error for topic in topics]
    return {
        "wanted": wanted,
        "filtered": wanted != RunFilter(),
        "hidden": page.backend.runs is None and may_see_none(errors),
        "errors": _tell_errors(page, errors) if page.backend.runs is None else [],
        **build_table(page, found, chosen, names=True),
    }


def _tell_errors(page: PageContext, errors: Sequence[ApiError | None]) -> list[str]:
    """Of a cluster whose jobs cannot be listed at all; the list of jobs says more."""
    known = [each for each in errors if each is not None and not isinstance(each, Forbidden)]
    if len(known) < len(errors):
        return []
    return [page.say(phrase("the jobs of this cluster are not shown: its API does not list them"))]


SCREEN = Screen("runs", f"{JOB}/runs", phrase("Runs"), list_job_topics, build)
ALL = Screen("all_runs", "/runs", phrase("Runs"), list_all_topics, build_all, in_menu=True)
