"""One reader's look at one page, as its screen sees it, and what a screen is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.client.own_name import fetch_own_name
from paddock.console.addresses import CLUSTERS
from paddock.console.backend import Backend, Identity
from paddock.console.feed import Cache, Caches, Reader, T, Topic
from paddock.kube.api import Api
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import Moment, format_duration
from paddock.words.formats import format_of
from paddock.words.phrases import Foreign, Phrase, phrase, render

SILENT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PageContext:
    """One reader's request for one page."""

    backend: Backend
    identity: Identity
    api: Api
    """With the reader's rights."""
    language: str
    path: Mapping[str, str]
    """The variables of the screen's path: `{"name": "mnist"}`."""
    query: Mapping[str, str]
    caches: Caches
    """Of the screen's topics."""
    now: Moment
    """When the page is rendered."""
    root: str = ""
    """Where the pages of this session and cluster begin: `/s/PLACE`, or in a console of several `/s/PLACE/c/prod`.
    Screens write addresses without it: whoever sends a page puts it before them. Empty for who has not signed in."""

    @property
    def is_one_of_several(self) -> bool:
        """Whether the console has other clusters as well."""
        return CLUSTERS in self.root

    def say(self, said: Phrase | str) -> str:
        """The sentence in the reader's language."""
        return render(said, self.language)

    def say_duration(self, seconds: float) -> str:
        return format_of(self.language).say_duration(format_duration(seconds))

    def translate(self, said: str) -> str:
        """A text of another program, in the reader's language as far as its form is known."""
        return self.say(phrase("{said}", said=Foreign(said)))

    async def fetch_who(self) -> str:
        """Who acts on this page, as the API names them; empty where that is not known."""
        return self.identity.name or await fetch_own_name(self.api, local=self.backend.local)

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

    async def read_ahead(self, topic: Topic, reader: Reader[T]) -> None:
        """Before `read`, of a topic that may have thousands of objects; see `Cache.read_ahead`."""
        await self.caches.get(topic, Cache()).read_ahead(topic, reader)

    def objects(self, topic: Topic) -> list[Manifest]:
        """The objects of one of the screen's topics; none before they are there."""
        return list(self.caches.get(topic, Cache()).objects.values())


class Missing(Exception):
    """What this page is about does not exist. The phrase says what to look at instead."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A regular file that is open for reading; whoever sends it closes it."""

    descriptor: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What is no page: data for a script of ours, a file."""

    body: bytes | AsyncIterator[bytes] | OpenFile
    """In pieces it is sent as it is read. Of a file a browser may ask for a part."""
    content_type: str = "application/json"
    file_name: str = ""
    """Under which the browser keeps it; empty for what it shows."""
    status: int = 200
    policy: str = ""
    """The Content-Security-Policy of what others wrote, in place of the console's own."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """What was asked for is done: the browser goes on to this address (303)."""

    address: str


@dataclass(frozen=True, slots=True)
class Action:
    """What a button does: a form without a page of its own."""

    name: str
    path: str
    """Where the form is sent: below the address of its object."""
    perform: Callable[[PageContext, Mapping[str, str]], Awaitable[Redirect | Phrase]]
    """Does it with the reader's rights and what the form was sent with -> where to go on, or why not, which the reader
    sees with a way back. Raises `Missing`, and `ApiError` where the API refuses."""


@dataclass(frozen=True, slots=True)
class Screen:
    """One kind of page."""

    name: str
    """Of its template."""
    path: str
    """Of its address, as aiohttp has it."""
    title: Phrase
    topics: Callable[[Mapping[str, str], Mapping[str, str]], Sequence[Topic]]
    """(variables of the path, query) -> the objects that it looks at."""
    build: Callable[[PageContext], Awaitable[Mapping[str, Any]]]
    """The names of its template. Raises `Missing`."""
    live: bool = True
    """Rendered again when its objects change; one that is not is rendered once, as a form."""
    in_menu: bool = False
    every: float = 0.0
    """Seconds after which a live one is rendered again although no object changed, as logs grow; 0 for never. A name
    `again` of what `build` returned goes before it."""
    answers: Mapping[str, Callable[[PageContext], Awaitable[Answer | Redirect]]] = field(default_factory=dict)
    """What else is asked for below its path, by name."""
    receive: Callable[[PageContext, Mapping[str, str]], Awaitable[Mapping[str, Any] | Redirect]] | None = None
    """(page, what a form of it was sent with) -> the names of the template once more, or where to go on."""
