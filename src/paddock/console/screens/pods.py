"""The pods of a job: where they are, what they ask for, why they wait; those with trouble first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.feed import Topic
from paddock.console.heads import build_head, find_job, list_job_topics, list_pod_topics, tell_missing
from paddock.console.page_context import PageContext, Screen
from paddock.console.pod_words import say_why
from paddock.console.screens.listed import link_to
from paddock.views.listing import choose_part, cut_part
from paddock.views.ranks import RankRow, build_rank_rows, read_job_pod
from paddock.views.stored import read_stored
from paddock.words.phrases import phrase

ON_A_PAGE = 100


def list_topics(path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [*list_job_topics(path, query), *list_pod_topics(path)]


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, job = find_job(page)
    if job is None:
        raise tell_missing(page)
    stored = read_stored(resource, job)
    pods = [pod for topic in list_pod_topics(page.path) for pod in page.read(topic, read_job_pod)]
    rows = [row for row in build_rank_rows(stored.job, stored.status, pods, stored.uid, page.language) if row.pod]
    part = choose_part(page.query.get("page", ""), len(rows), ON_A_PAGE)
    head, labels = await build_head(page, resource, job), list_pod_topics(page.path)[0].labels
    return {
        "head": head,
        "rows": [_show(page, row, head.address) for row in cut_part(rows, part)],
        "total": len(rows),
        "part": part,
        "link": link_to(page.query),
        "kubectl": f"{page.backend.kubectl} get pods -n {stored.key.namespace} -l {labels}",
    }


def _show(page: PageContext, row: RankRow, address: str) -> Mapping[str, Any]:
    assert row.pod is not None
    why = say_why(page, row.pod)
    return {"row": row, "pod": row.pod, "why": why, "log": f"{address}/logs?rank={row.rank}"}


SCREEN = Screen("pods", f"{JOB}/pods", phrase("Pods"), list_topics, build)
