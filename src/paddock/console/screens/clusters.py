"""The jobs of several clusters in one list, and the choice of the cluster for a new one.

A cluster that does not answer keeps the rows that it showed last, marked as old; the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.console.addresses import address_of_cluster, put_below
from paddock.console.feed import Cache, Topic, may_see_none
from paddock.console.page_context import SILENT_SECONDS, PageContext, Screen
from paddock.console.screens.jobs import (
    MOST_NAMESPACES,
    ON_A_PAGE,
    add_rooms,
    build_choices,
    build_rows,
    mark_title,
    read_filter,
)
from paddock.console.screens.listed import link_to
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.times import Moment, format_duration
from paddock.views.jobs import read_job_row
from paddock.views.listing import (
    Listed,
    choose_part,
    count_phases,
    cut_part,
    read_columns,
    read_order,
    sort_jobs,
)
from paddock.words.phrases import Foreign, Names, Phrase, phrase

SECONDS = 5.0
"""Until the list looks again which clusters answer, and what running jobs have printed."""

ROOM_SECONDS = 1.5
"""That the list waits for what nodes and pods of one cluster show."""


def list_topics(clusters: Iterable[str], query: Mapping[str, str]) -> list[Topic]:
    """A topic for each kind on each cluster; also where the reader wants to see some alone, as counts are over all."""
    return [Topic(each, query.get("namespace", ""), cluster=context) for context in clusters for each in KINDS]


async def build(page: PageContext) -> Mapping[str, Any]:
    query = page.query
    wanted, order, columns = (
        read_filter(query),
        read_order(query.get("sort", "")),
        read_columns(query.get("columns", "")),
    )
    context = query.get("cluster", "")
    for topic in list_topics(page.backend.clusters, query):
        await page.read_ahead(topic, read_job_row)
    found = {name: _read(page, name) for name in page.backend.clusters}
    fitting = {name: [each for each in jobs if wanted.matches(each, any_phase=True)] for name, jobs in found.items()}
    chosen = [each for name, jobs in fitting.items() if context in ("", name) for each in jobs]
    owners = {id(row): name for name, jobs in found.items() for _, row in jobs}
    labels = label_clusters(page.backend.clusters)
    await asyncio.sleep(0)
    shown = sort_jobs((each for each in chosen if wanted.matches(each)), order, page.now)
    part = choose_part(query.get("page", ""), len(shown), ON_A_PAGE)
    silent = {name: since for name in page.backend.clusters if (since := _find_silence(page, name))}
    return {
        "rows": await _build_rows(page, cut_part(shown, part), columns, owners, silent, labels),
        "with_losses": any(each.sparks is not None for each in page.backend.clusters.values()),
        "hidden": False,
        "counts": count_phases(chosen),
        "mark": mark_title(chosen, page.now),
        "all": len(chosen),
        "clusters": [(name, labels[name], len(jobs), name in silent) for name, jobs in fitting.items()],
        "everywhere": sum(map(len, fitting.values())),
        "total": len(shown),
        "part": part,
        "wanted": wanted,
        "cluster": context,
        "is_unknown": context in silent and not found[context],
        "filtered": any((wanted.phase, wanted.kind, wanted.namespace, wanted.text, context)),
        "kinds": sorted({resource.kind for resource in KINDS}),
        "namespaces": sorted({row.namespace for jobs in found.values() for _, row in jobs})[:MOST_NAMESPACES],
        "link": link_to(query),
        "unseen": (),
        "errors": [page.say(each) for name in page.backend.clusters for each in _tell(page, name, silent.get(name))],
        **build_choices(page, order, columns),
    }


def _read(page: PageContext, context: str) -> list[Listed]:
    topics = list_topics([context], page.query)
    return [(topic.resource, row) for topic in topics for row in page.read(topic, read_job_row)]


async def _build_rows(
    page: PageContext,
    shown_part: Sequence[Listed],
    columns: Collection[str],
    owners: Mapping[int, str],
    silent: Collection[str],
    labels: Mapping[str, str],
) -> list[Mapping[str, Any]]:
    """In the order of the page. `owners`: the cluster of each row, by its identity."""
    made: dict[int, Mapping[str, Any]] = {}
    for name in page.backend.clusters:
        own = [each for each in shown_part if owners[id(each[1])] == name]
        caches = {topic: cache for topic, cache in page.caches.items() if topic.cluster == name}
        backend = page.backend.clusters[name]
        here = replace(page, backend=backend, api=backend.connect(page.identity), caches=caches)
        told_rows = own if name in silent else await _add_rooms(here, list_topics([name], page.query), own)
        rows, _ = await build_rows(here, told_rows, columns)
        root, told = address_of_cluster(name), {"cluster": name, "label": labels[name], "is_old": name in silent}
        for (_, job), row in zip(own, rows, strict=True):
            advice = [replace(each, address=put_below(root, each.address)) for each in row["advice"]]
            made[id(job)] = {**row, **told, "root": root, "address": put_below(root, row["address"]), "advice": advice}
    return [made[id(row)] for _, row in shown_part]


async def _add_rooms(page: PageContext, topics: Sequence[Topic], own: Sequence[Listed]) -> Sequence[Listed]:
    """As the cluster's own list says it. One that falls silent meanwhile keeps the other clusters waiting no longer."""
    try:
        async with asyncio.timeout(ROOM_SECONDS):
            return (await add_rooms(page, topics, own))[0]
    except TimeoutError:
        return own


def label_clusters(contexts: Collection[str]) -> Mapping[str, str]:
    """What stands in the table for each: `production` for `arn:aws:eks:eu-west-1:123456789012:cluster/production`, but
    the whole where the ends of two are alike. Pure."""
    ends = [each.rpartition("/")[2] for each in contexts]
    return {each: end if end and ends.count(end) == 1 else each for each, end in zip(contexts, ends, strict=True)}


def _find_silence(page: PageContext, context: str) -> Moment | None:
    """Since when a cluster has not answered; see `PageContext.silent_since`."""
    asked = page.backend.clusters[context].silent_since
    since = asked(page.identity) if asked else None
    return since if since is not None and page.now - since >= SILENT_SECONDS else None


def _tell(page: PageContext, context: str, silent: Moment | None) -> list[Phrase]:
    """What is wrong with a cluster, or with what this reader may see of it."""
    caches = {topic: page.caches.get(topic, Cache()) for topic in list_topics([context], page.query)}
    return tell_cluster(
        context,
        {topic.resource.qualified: cache.error for topic, cache in caches.items() if cache.error},
        len(caches),
        None if silent is None else page.now - silent,
        is_known=any(cache.synced.is_set() for cache in caches.values()),
        namespace=page.query.get("namespace", ""),
    )


def tell_cluster(
    context: str,
    errors: Mapping[str, ApiError],
    kinds: int,
    silent: float | None,
    *,
    is_known: bool,
    namespace: str = "",
) -> list[Phrase]:
    """Pure. `errors`: by the kind that is not shown, of `kinds`; one that is not served has none to show. `silent`:
    seconds for which the cluster has not answered. `is_known`: it has answered before. `namespace`: that was named."""
    if silent is not None:
        age = format_duration(silent)
        if is_known:
            return [
                phrase(
                    "{cluster} has not answered for {age}: its jobs are shown as they were then",
                    cluster=context,
                    age=age,
                )
            ]
        return [
            phrase("{cluster} has not answered for {age}, so nothing is known of its jobs", cluster=context, age=age)
        ]
    if not is_known:
        return [phrase("{cluster} has not answered yet: its jobs come when it does", cluster=context)]
    hidden = tuple(kind for kind, error in errors.items() if isinstance(error, Forbidden))
    sees_none = len(errors) == kinds and may_see_none(errors.values())
    if sees_none and namespace:
        return [
            phrase("{cluster}: you may not look into its namespace {namespace}", cluster=context, namespace=namespace)
        ]
    if sees_none:
        return [
            phrase("{cluster}: you may not look into all of its namespaces: name one in the filter", cluster=context)
        ]
    found = {error.message: error for error in errors.values() if not isinstance(error, NotFound | Forbidden)}
    said = [phrase("{cluster} answers: {why}", cluster=context, why=Foreign(each)) for each in found]
    if hidden:
        said.append(
            phrase(
                "{cluster}: {kinds} are not shown: your rights do not allow it", cluster=context, kinds=Names(hidden)
            )
        )
    if len(errors) == kinds and all(isinstance(each, NotFound) for each in errors.values()):
        said.append(phrase("{cluster} has no kind of training job", cluster=context))
    return said


def build_list(clusters: Collection[str]) -> Screen:
    return Screen(
        "clusters", "/", phrase("Jobs"), lambda _, query: list_topics(clusters, query), build, in_menu=True,
        every=SECONDS,
    )  # fmt: skip


def build_choice(clusters: Collection[str]) -> Screen:
    """Where a new job is to run; its form is a page of that cluster, which checks it there."""

    async def build(page: PageContext) -> Mapping[str, Any]:
        addresses = {name: f"{address_of_cluster(name)}/new" for name in clusters}
        return {"choices": [(name, each, _find_silence(page, name) is not None) for name, each in addresses.items()]}

    return Screen("choice", "/new", phrase("New job"), lambda *_: [], build, live=False, in_menu=True)
