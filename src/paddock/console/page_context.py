"""One reader's look at one page, as its screen sees it, and what a screen is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.console.addresses import CLUSTERS
from paddock.console.backend import Backend, Identity
from paddock.console.feed import Cache, Caches, Reader, T, Topic
from paddock.kube.api import Api
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import Moment
from paddock.words.phrases import Foreign, Phrase, phrase, render

SILENT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PageContext:
    """`path`: the variables of the screen's path (`{"name": "mnist"}`); `query`: of the address. `api` has the reader's
    rights. `now`: when the page is rendered."""

    backend: Backend
    identity: Identity
    api: Api
    language: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    caches: Caches
    now: Moment
    root: str = ""
    """Where the pages of this session and cluster begin: `/s/PLACE`, or in a console of several `/s/PLACE/c/prod`.
    Screens write addresses without it: whoever sends a page puts it before them. Empty for who has not signed in."""

    @property
    def is_one_of_several(self) -> bool:
        """Whether the console has other clusters as well."""
        return CLUSTERS in self.root

    def say(self, said: Phrase | str) -> str:
        """In the reader's language."""
        return render(said, self.language)

    def translate(self, said: str) -> str:
        """A text of another program, in the reader's language as far as its form is known."""
        return self.say(phrase("{said}", said=Foreign(said)))

    async def may(self, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
        """Whether the reader may do this; see `backend.Rights`."""
        rights = self.backend.rights
        return rights is None or await rights(self.identity).may(verb, resource, namespace, subresource)

    @property
    def silent_since(self) -> Moment | None:
        """Since when the API has not answered, so that what is shown is of that moment. A connection that broke is made
        again at once, which nobody need know."""
        asked = self.backend.silent_since
        since = asked(self.identity) if asked else None
        return since if since is not None and self.now - since >= SILENT_SECONDS else None

    def read(self, topic: Topic, reader: Reader[T]) -> list[T]:
        """What a pure function, of a module, makes of each object of one of the screen's topics; see `Cache.each`."""
        return self.caches.get(topic, Cache()).each(topic, reader)

    def objects(self, topic: Topic) -> list[Manifest]:
        """Those of one of the screen's topics; none before they are there."""
        return list(self.caches.get(topic, Cache()).objects.values())


class Missing(Exception):
    """What this page is about does not exist. The phrase says what to look at instead."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class Answer:
    """What is no page: data for a script of ours, a file. `body` in pieces is sent as it is read."""

    body: bytes | AsyncIterator[bytes]
    content_type: str = "application/json"
    file_name: str = ""
    """Under which the browser keeps it; empty for what it shows."""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """What was asked for is done: the browser goes on to this address (303)."""

    address: str


@dataclass(frozen=True, slots=True)
class Action:
    """What a button does: a form without a page of its own, sent to `path` below its object's address.

    `perform`: does it with the reader's rights and what the form was sent with -> where to go on, or why not, which the
    reader sees with a way back. Raises `Missing`, and `ApiError` where the API refuses."""

    name: str
    path: str
    perform: Callable[[PageContext, Mapping[str, str]], Awaitable[Redirect | Phrase]]


@dataclass(frozen=True, slots=True)
class Screen:
    """`name`: of its template. `path`: of its address, as aiohttp has it. `topics`: what it looks at, of the variables
    of the path and the query. `build`: the names of its template; raises `Missing`. A screen that is not `live` is
    rendered once: a form, or what another stream carries. `every`: seconds after which a live one is rendered again
    although no object changed, as logs grow; 0 for never; a name `again` of what `build` returned goes before it.
    `answers`: what else is asked for below its path, by name. `receive`: what a form of the page was sent with -> the
    names of the template once more, or where to go on."""

    name: str
    path: str
    title: Phrase
    topics: Callable[[Mapping[str, str], Mapping[str, str]], Sequence[Topic]]
    build: Callable[[PageContext], Awaitable[Mapping[str, Any]]]
    live: bool = True
    in_menu: bool = False
    every: float = 0.0
    answers: Mapping[str, Callable[[PageContext], Awaitable[Answer]]] = field(default_factory=dict)
    receive: Callable[[PageContext, Mapping[str, str]], Awaitable[Mapping[str, Any] | Redirect]] | None = None
