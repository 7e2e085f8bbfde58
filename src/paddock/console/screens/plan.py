"""What the operator would do with a job now: what it would record, create and delete, and when it looks again.

The console computes it with the function that the operator decides with, from what it sees; it does nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddock.build import BUILD
from paddock.console.addresses import JOB
from paddock.console.feed import Cache, Caches, Topic
from paddock.console.heads import (
    build_head,
    find_job,
    list_group_topics,
    list_job_topics,
    list_pod_topics,
    tell_missing,
)
from paddock.console.page_context import PageContext, Screen
from paddock.install.rights import LEASE
from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import Settings
from paddock.jobs.names import job_label
from paddock.jobs.objects.observation import find_children
from paddock.kube.meta import (
    AUTOSCALERS,
    CONFIG_MAPS,
    DATASETS,
    LEASES,
    PODS,
    SERVICES,
    Key,
    Manifest,
    Resource,
    key_of,
)
from paddock.preflight import explain_problem
from paddock.views.foresight import Foresight, foresee, tell_emptiness
from paddock.views.manager import explain_manager
from paddock.views.operators import Leader, explain_no_operator, read_leader
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Foreign, Phrase, phrase

EVERY = 5.0
"""Seconds: time alone changes a plan too."""
_CHILDREN = (SERVICES, CONFIG_MAPS)
_LEASES = Topic(LEASES, fields=f"metadata.name={LEASE}")


def list_topics(path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    pods = list_pod_topics(path)
    services = [Topic(SERVICES, path["namespace"], topic.labels) for topic in pods]
    maps = Topic(CONFIG_MAPS, path["namespace"], f"{JOB_LABEL}={job_label(path['name'])}")  # no other operator's
    scaler = Topic(AUTOSCALERS, path["namespace"], fields=f"metadata.name={path['name']}")
    datasets = Topic(DATASETS, path["namespace"])
    others = (maps, *list_group_topics(path), scaler, datasets, _LEASES)
    return [*list_job_topics(path, query), *pods, *services, *others]


class _Seen:
    """The job's children in the page's caches, as the operator sees them in its own."""

    def __init__(self, caches: Caches) -> None:
        self._found: dict[Resource, dict[Key, Manifest]] = {}
        for topic, cache in caches.items():
            self._found.setdefault(topic.resource, {}).update({key_of(each): each for each in cache.objects.values()})

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return self._found.get(resource, {}).get(key)

    def children(self, resource: Resource, owner: Resource, key: Key) -> Iterable[Manifest]:
        return find_children(self._found.get(resource, {}).values(), owner, key)


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, manifest = find_job(page)
    if manifest is None:
        raise tell_missing(page)
    stored = read_stored(resource, manifest)
    leaders = None if page.backend.local else _read_leaders(page)
    absent = None if page.backend.local else _tell_absence(page, stored, leaders)
    settings = page.backend.settings or _choose_settings(leaders)
    hindrance = _find_hindrance(page, stored)
    found = None
    if hindrance is None and stored.job is not None:
        found = foresee(stored, stored.job, _Seen(page.caches), settings, page.now, page.language)
    return {
        "head": await build_head(page, resource, manifest),
        "absent": page.say(absent) if absent else "",
        "hindrance": page.say(hindrance) if hindrance else "",
        "problems": [explain_problem(each, page.language) for each in stored.problems],
        "plan": found,
        "nothing": tell_emptiness(found, stored.status, page.language) if found else "",
        "events": _show_events(page, found),
        "versions": page.say(_tell_versions(page, leaders)),
    }


def _read_leaders(page: PageContext) -> list[Leader] | None:
    """None where the reader may not see them."""
    cache = page.caches.get(_LEASES, Cache())
    return None if cache.error else [read_leader(each) for each in cache.objects.values()]


def _choose_settings(leaders: Sequence[Leader] | None) -> Settings:
    return next((each.settings for each in leaders or ()), Settings())


def _tell_absence(page: PageContext, stored: StoredJob, leaders: Sequence[Leader] | None) -> Phrase | None:
    """Why no operator would do it; None where one serves this job. `leaders` that nobody may read say nothing."""
    if leaders is None or any(_serves(each, stored, page.now) for each in leaders):
        return None
    namespace = stored.key.namespace
    return explain_no_operator(leaders, stored.resource, namespace, page.backend.kubectl, page.now)


def _serves(leader: Leader, stored: StoredJob, now: float) -> bool:
    watched = not leader.namespaces or stored.key.namespace in leader.namespaces
    return watched and leader.serves(stored.resource) and not leader.is_gone(now)


def _find_hindrance(page: PageContext, stored: StoredJob) -> Phrase | None:
    """Why nothing can be computed: another one decides, the manifest is wrong, or its pods are not shown."""
    if manager := explain_manager(stored.manifest):
        return phrase("{said}: no operator of Paddock acts on it", said=manager)
    if stored.job is None:
        return phrase("the manifest is wrong, so nothing is done with the job until it is edited")
    for topic, cache in page.caches.items():
        if topic.resource in (PODS, *_CHILDREN) and cache.error:
            return phrase(
                "{kinds} are not shown: {why}", kinds=topic.resource.qualified, why=Foreign(cache.error.message)
            )
    return None


def _show_events(page: PageContext, found: Foresight | None) -> list[Mapping[str, Any]]:
    return [
        {"type": each.type, "reason": each.reason, "said": page.say(phrase("{said}", said=Foreign(each.message)))}
        for each in (found.events if found else ())
    ]


def _tell_versions(page: PageContext, leaders: Sequence[Leader] | None) -> Phrase:
    """Which program computed it, and which one would act."""
    if page.backend.local:
        return phrase("computed here, by paddock {version}, which runs this cluster too", version=BUILD)
    names = ", ".join(each.version or "?" for each in leaders or ()) or "?"
    return phrase("computed here, by paddock {version}; the operator's version: {other}", version=BUILD, other=names)


SCREEN = Screen("plan", f"{JOB}/plan", phrase("Plan"), list_topics, build, every=EVERY)
