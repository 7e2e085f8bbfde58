"""The objects that somebody looks at, kept up to date by one watch for each topic and reader.

A page names its topics. The first page that needs one starts its watch, all others share it, and it ends some time
after the last page has gone, so a reader who goes from the list to a job and back waits for nothing. A change after a
quiet time wakes its pages at once; those that follow within `GATHER_SECONDS` wake them once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from paddock.kube.api import Api, PodApi
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.kueue import find_others
from paddock.kube.meta import Key, Manifest, Resource, key_of
from paddock.kube.validation.names import DNS_LABEL

T = TypeVar("T")
_NO_CLUSTERS: Mapping[str, Api] = {}
Reader: TypeAlias = Callable[[Resource, Manifest], T]

GATHER_SECONDS = 0.25
LINGER_SECONDS = 30.0
READ_IN_A_STEP = 50
"""Objects, of which one takes half a millisecond at most: a job with its templates."""
DOUBT_SECONDS = 5.0
"""After which a reader who saw these objects, and is refused, is refused again or not: a server that has just begun may
not have read its rules yet."""
AGAIN_SECONDS = 15.0
"""After which it is asked again whether this reader may see them, as long as somebody looks."""
SYNC_SECONDS = 5.0
"""How long the first page of a topic waits for its objects; then it is shown without them, and follows."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a watch selects."""

    resource: Resource
    namespace: str = ""
    """Empty: all of them."""
    labels: str = ""
    fields: str = ""
    cluster: str = ""
    """By its context; empty in a console of one."""


@dataclass(slots=True)
class Cache:
    """The objects of a topic."""

    objects: dict[Key, Manifest] = field(default_factory=dict)
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    """All that existed have come."""
    error: ApiError | None = None
    """Why there are none, where no retry helps: the reader may not see them, or the kind is not served."""
    read: dict[Reader[Any], dict[Key, tuple[Manifest, Any]]] = field(default_factory=dict)
    """What readers made of each object, with the object that it was made of."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What else a screen knows of these objects, for all its pages of this reader."""

    def each(self, topic: Topic, reader: Reader[T]) -> list[T]:
        """What a pure function makes of each object. It is called for those that have changed since: to read a thousand
        jobs takes a hundred times as long as to ask whether they are the same."""
        known, now = self.read.get(reader, {}), {}
        for key, manifest in self.objects.items():
            found = known.get(key)
            same = found is not None and found[0] is manifest
            now[key] = found if same and found else (manifest, reader(topic.resource, manifest))
        self.read[reader] = now
        return [made for _, made in now.values()]

    def refuse(self, error: ApiError) -> None:
        """What this reader may not see any more is not shown any more, neither what was made of it."""
        if isinstance(error, Forbidden):
            self.objects.clear()
            self.read.clear()
            self.notes.clear()
        self.error = error
        self.synced.set()

    async def read_ahead(self, topic: Topic, reader: Reader[T]) -> None:
        """Reads what `each` would read, in steps, between which others have their turn: the first look at ten thousand
        jobs takes a second."""
        unread = [key for key, manifest in self.objects.items() if self._is_unread(reader, key, manifest)]
        for begin in range(0, len(unread), READ_IN_A_STEP):
            for key in unread[begin : begin + READ_IN_A_STEP]:
                if (manifest := self.objects.get(key)) is not None:
                    self.read.setdefault(reader, {})[key] = (manifest, reader(topic.resource, manifest))
            await asyncio.sleep(0)

    def _is_unread(self, reader: Reader[Any], key: Key, manifest: Manifest) -> bool:
        found = self.read.get(reader, {}).get(key)
        return found is None or found[0] is not manifest


Caches = Mapping[Topic, Cache]


@dataclass(slots=True)
class _Watched:
    cache: Cache
    task: asyncio.Task[None]
    begun: float
    """By the loop's clock."""
    readers: int = 0
    ending: asyncio.TimerHandle | None = None


class Feed:
    """The topics of one reader, whose rights `api` has. `linger`: seconds for which a watch outlives its last page;
    `gather`: those between two times that a page is woken. `places`: the APIs of other clusters, by context. `wait`:
    see `SYNC_SECONDS`; from the begin of a watch on, so that an API that does not answer delays the first page and no
    other."""

    def __init__(
        self,
        api: Api,
        clusters: Mapping[str, Api] = _NO_CLUSTERS,
        *,
        linger: float = LINGER_SECONDS,
        gather: float = GATHER_SECONDS,
        wait: float = SYNC_SECONDS,
    ) -> None:
        self._apis, self._linger, self._gather, self._wait = {**clusters, "": api}, linger, gather, wait
        self._watched: dict[Topic, _Watched] = {}
        self._pages: set[tuple[frozenset[Topic], asyncio.Event]] = set()

    @asynccontextmanager
    async def open(self, topics: Iterable[Topic]) -> AsyncIterator[Caches]:
        """The caches of these topics, held up to date meanwhile."""
        held = {topic: self._hold(topic) for topic in dict.fromkeys(topics)}
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(max((each.begun for each in held.values()), default=0.0) + self._wait):
                    for watched in held.values():
                        await watched.cache.synced.wait()
            yield {topic: watched.cache for topic, watched in held.items()}
        finally:
            for topic, watched in held.items():
                self._release(topic, watched)

    async def changes(self, topics: Iterable[Topic]) -> AsyncIterator[None]:
        """At once for the first change of these topics after a quiet time, then once for all within `gather`; without
        end."""
        page, clock = (frozenset(topics), asyncio.Event()), asyncio.get_running_loop().time
        self._pages.add(page)
        woken = -math.inf
        try:
            while True:
                await page[1].wait()
                await asyncio.sleep(max(0.0, woken + self._gather - clock()))
                page[1].clear()
                woken = clock()
                yield
        finally:
            self._pages.discard(page)

    def close(self) -> None:
        for watched in self._watched.values():
            watched.task.cancel()
        self._watched.clear()

    def _hold(self, topic: Topic) -> _Watched:
        watched = self._watched.get(topic)
        if watched is None or watched.task.done():
            cache = _begin(watched.cache if watched else Cache())
            task = asyncio.create_task(self._follow(topic, cache))
            watched = self._watched[topic] = _Watched(cache, task, asyncio.get_running_loop().time())
        watched.readers += 1
        if watched.ending is not None:
            watched.ending.cancel()
            watched.ending = None
        return watched

    def _release(self, topic: Topic, watched: _Watched) -> None:
        """A watch that was refused may have been replaced meanwhile, by one of another page."""
        watched.readers -= 1
        if watched.readers == 0 and self._watched.get(topic) is watched:
            watched.ending = asyncio.get_running_loop().call_later(self._linger, self._end, topic, watched)

    def _end(self, topic: Topic, watched: _Watched) -> None:
        watched.task.cancel()
        if self._watched.get(topic) is watched:
            del self._watched[topic]

    async def _follow(self, topic: Topic, cache: Cache) -> None:
        if topic.namespace and not DNS_LABEL.allows(topic.namespace):  # nothing is there; and an API path ends with it
            cache.synced.set()
            return
        seen, refused = False, 0
        resource, others = topic.resource, find_others(topic.resource)
        while True:
            try:
                async for _ in self._take(replace(topic, resource=resource), topic, cache):
                    seen, refused = True, 0
                return
            except ApiError as raised:
                error = await self._doubt(replace(topic, resource=resource), raised)
                if isinstance(error, NotFound) and not seen and others:
                    resource, others = others[0], others[1:]
                    continue
                was_allowed = seen and isinstance(error, Forbidden)
                refused += 1
                if refused > 1 or not was_allowed:
                    cache.refuse(error)
                    self._wake(topic)
                if not was_allowed:
                    return
            await asyncio.sleep(DOUBT_SECONDS if refused == 1 else AGAIN_SECONDS)

    async def _doubt(self, topic: Topic, error: ApiError) -> ApiError:
        """An API asks for rights before it looks whether a kind is served. What it serves every user may read
        (system:discovery), so of a kind that is not there nobody is told that he lacks a right."""
        api, kind = self._apis[topic.cluster], topic.resource
        if not isinstance(error, Forbidden) or not isinstance(api, PodApi) or not kind.group:
            return error
        try:
            served = await api.fetch(f"/apis/{kind.api_version}")
        except NotFound as missing:
            return missing
        except ApiError:
            return error
        there = {each.get("name") for each in served.get("resources") or ()}
        return error if kind.plural in there else NotFound(f"{kind.qualified} is not served")

    async def _take(self, asked: Topic, topic: Topic, cache: Cache) -> AsyncIterator[None]:
        """Keeps the cache up to date; something for each time that all objects are known. `asked`: the topic in the
        version that the cluster serves. Raises `ApiError`."""
        followed = self._apis[asked.cluster].follow(
            asked.resource, asked.namespace, labels=asked.labels, fields=asked.fields
        )
        before = set(cache.objects)
        async for kind, manifest in followed:
            cache.error = None
            if kind == "SYNCED":
                for key in before:  # what was deleted between two watches
                    cache.objects.pop(key, None)
                cache.synced.set()
            elif kind == "DELETED":
                cache.objects.pop(key_of(manifest), None)
            else:
                before.discard(key_of(manifest))
                cache.objects[key_of(manifest)] = manifest
            if cache.synced.is_set():
                self._wake(topic)
                yield

    def _wake(self, topic: Topic) -> None:
        for topics, changed in self._pages:
            if topic in topics:
                changed.set()


def may_see_none(errors: Iterable[ApiError | None]) -> bool:
    """Whether the reader may not list any of several kinds that the server has. `errors`: of each kind, None for one
    that is listed."""
    found = list(errors)
    return any(isinstance(each, Forbidden) for each in found) and all(
        isinstance(each, Forbidden | NotFound) for each in found
    )


def _begin(before: Cache) -> Cache:
    """The cache of a watch that is tried again. A kind that was not served, or not allowed, is most likely so again: a
    page need not wait to hear it."""
    cache = Cache()
    if isinstance(before.error, NotFound | Forbidden):
        cache.error = before.error
        cache.synced.set()
    return cache
