"""What the screens and actions of one backend answer: pages, their live streams, data, forms, buttons.

Each request has its session (`signed_in.SESSION`) before it comes here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any

from aiohttp import web

from paddock.console import security
from paddock.console.actions.registry import ACTIONS
from paddock.console.addresses import find_meant, put_below, put_kind, split_place
from paddock.console.answers import (
    NOTICES,
    SIGNED_OUT,
    SIGNED_OUT_HERE,
    read_form,
    redirect,
    send,
    takes_gzip,
)
from paddock.console.api_errors import say_error
from paddock.console.backend import Backend, Identity
from paddock.console.bounds import Full, OpenPages
from paddock.console.feed import Caches, Feed, Topic
from paddock.console.live import UNSEEN, EventStream, note_seen, render_main_notice, send_changes, write_event
from paddock.console.page_context import Action, Answer, Missing, PageContext, Redirect, Screen
from paddock.console.pages import render_notice, render_page
from paddock.console.preferences import offer_preferences, read_language
from paddock.console.reader_locks import PerReaderLock
from paddock.console.screens.registry import SCREENS
from paddock.console.signed_in import SESSION, SignedIn
from paddock.console.token_sign_in import say_ended
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Unauthorized, Unavailable
from paddock.kube.meta import Resource
from paddock.words.phrases import Phrase

RETRY_SECONDS = "5"
"""After which a browser asks again for a page of an API that does not answer."""
_SEEN = "seen"
"""Of the address of a stream: the digest of what its page shows."""
_OURS = ("place", "context")
"""Variables of an address that no screen has in its path."""
_log = logging.getLogger(__name__)

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Routes:
    """`root`: where they begin within a session, in a console of several clusters. `clock`: the time that pages show
    ages by. `build_feed`: of an API, and of those of several clusters."""

    def __init__(
        self,
        backend: Backend,
        signed_in: SignedIn,
        open_pages: OpenPages,
        clock: Callable[[], float],
        *,
        root: str = "",
        screens: Sequence[Screen] = SCREENS,
        actions: Sequence[Action] = ACTIONS,
        build_feed: Callable[[Api, Mapping[str, Api]], Feed] = Feed,
    ) -> None:
        self.backend = backend
        self.screens, self.actions = screens, actions
        self._signed_in, self._open_pages, self._clock, self._root = signed_in, open_pages, clock, root
        self._build_feed = build_feed
        self._feeds: dict[str, Feed] = {}
        self._locks = PerReaderLock()

    def forget(self, identity: Identity) -> None:
        if feed := self._feeds.pop(identity.id, None):
            feed.close()

    def close(self) -> None:
        for feed in self._feeds.values():
            feed.close()

    # -- answers

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Redirects an address without its last slash."""
        return redirect(put_below(self._root_of(request), "/"))

    async def show(self, screen: Screen, request: web.Request) -> web.StreamResponse:
        if meant := find_meant(request.match_info.get("kind", "")):
            return await self._lead(meant, request)
        lock = self._locks.of(request[SESSION].identity.id) if screen.receive else nullcontext()
        async with lock, self._open(request, screen) as caches:
            page = self.page_for(request, caches)
            text = render_page(screen, page, await screen.build(page), self._frame(request))
        return web.Response(text=note_seen(text) if screen.live else text, content_type="text/html")

    async def _lead(self, meant: Sequence[Resource], request: web.Request) -> web.Response:
        """To the job whose kind an address has as people write it: of several kinds, to the first that has the job."""
        path, root, address = request.match_info, self._root_of(request), request.rel_url
        topics = {Topic(each, path["namespace"], fields=f"metadata.name={path['name']}"): each for each in meant}
        async with self._feed(request).open(list(topics)) as caches:
            kind = next((topics[topic] for topic, cache in caches.items() if cache.objects), meant[0])
        inside = put_kind(address.raw_path.removeprefix(root), kind)
        return redirect(str(address.with_path(root + inside, encoded=True).with_query(address.query)))

    async def answer(
        self, screen: Screen, build: Callable[[PageContext], Awaitable[Answer | Redirect]], request: web.Request
    ) -> web.StreamResponse:
        async with self._open(request, screen) as caches:
            page = self.page_for(request, caches)
            built = await build(page)
        if isinstance(built, Redirect):
            return redirect(put_below(page.root, built.address))
        return await send(request, built)

    async def receive(self, screen: Screen, request: web.Request) -> web.StreamResponse:
        """What a form sends to its own page."""
        assert screen.receive is not None
        posted = await read_form(request)
        async with self._locks.of(request[SESSION].identity.id), self._open(request, screen) as caches:
            page = self.page_for(request, caches)
            found = await screen.receive(page, posted)
            if isinstance(found, Redirect):
                return redirect(put_below(page.root, found.address))
            text = render_page(screen, page, found, self._frame(request))
        return web.Response(text=text, content_type="text/html")

    async def perform(self, action: Action, request: web.Request) -> web.StreamResponse:
        posted = await read_form(request)
        page = self.page_for(request)
        found = await action.perform(page, posted)
        if isinstance(found, Redirect):
            return redirect(put_below(page.root, found.address))
        return self.notice(request, 409, Missing(found))

    async def follow(self, screen: Screen, request: web.Request) -> web.StreamResponse:
        """The page's <main> again whenever it differs, as a stream of events. Raises `Full`."""
        with self._open_pages.hold(request[SESSION].identity):
            topics, feed = screen.topics(request.match_info, _read_query(request)), self._feed(request)
            answer = web.StreamResponse(headers={**security.HEADERS, "Cache-Control": "no-store"})
            answer.content_type = "text/event-stream"
            stream = EventStream(answer, packed=takes_gzip(request))
            await answer.prepare(request)
            async with feed.open(topics) as caches:
                seen = request.headers.get("Last-Event-ID") or request.query.get(_SEEN, "")
                look = partial(self.page_for, request, caches)
                sending = send_changes(stream, screen, look, feed.changes(topics), seen)
                if not await self._is_ended_first(request, sending):
                    return answer
            await stream.write(write_event(render_main_notice(self.page_for(request), self.ended)))
            await stream.end()
            return answer

    async def _is_ended_first(self, request: web.Request, sending: Coroutine[Any, Any, None]) -> bool:
        """Sends until the reader has gone, or until the session has ended."""
        tasks = [asyncio.ensure_future(each) for each in (sending, self._signed_in.wait_for_end(request))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if self.backend.token_login and tasks[0].done() and isinstance(tasks[0].exception(), Unauthorized):
                await self._signed_in.expel(request[SESSION].identity)
                return True
            if tasks[0].done():
                tasks[0].result()
            return not tasks[0].done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # -- errors

    @property
    def ended(self) -> Phrase:
        """What is said of a session that is over."""
        if self.backend.token_login:
            return say_ended(self.backend.provider.host if self.backend.provider else "")
        return SIGNED_OUT if self.backend.local else SIGNED_OUT_HERE

    def explain(self, request: web.Request, error: Exception) -> web.Response:
        """The page that says why there is no other; no traceback reaches a reader."""
        if isinstance(error, web.HTTPException):
            return self.notice(request, error.status)
        if isinstance(error, Missing):
            return self.notice(request, 404, error)
        if isinstance(error, Full):
            return self.notice(request, error.status, Missing(error.said))
        if isinstance(error, ApiError):
            answer = self.notice(request, error.code, Missing(say_error(error)))
            if isinstance(error, Unavailable) and request.method == "GET":
                answer.headers["Refresh"] = RETRY_SECONDS
            return answer
        if isinstance(error, ConnectionError):  # the reader has gone on before this was answered
            return web.Response(status=499)
        _log.error("%s %s failed", request.method, split_place(request.path)[1], exc_info=error)
        return self.notice(request, 500)

    def notice(self, request: web.Request, status: int, missing: Missing | None = None) -> web.Response:
        page = self.page_for(request)
        # a button's address is below that of the page which has the button
        back = request.path.rpartition("/")[0] if request.method == "POST" and SESSION in request else ""
        said = page.say(missing.said if missing else NOTICES.get(status, NOTICES[500]))
        return self.render(request, "notice.html", status, {"status": status, "said": said, "back": back})

    def render(self, request: web.Request, template: str, status: int, built: Mapping[str, Any]) -> web.Response:
        """A page that is no screen."""
        text = render_notice(template, self.page_for(request), {**self._frame(request), **built})
        return web.Response(text=text, content_type="text/html", status=status)

    # -- what they are made of

    @asynccontextmanager
    async def _open(self, request: web.Request, screen: Screen) -> AsyncIterator[Caches]:
        """The screen's caches. Raises `Unauthorized` where the API does not know the reader, and `Unavailable` where it
        does not answer and never has: then nothing is known."""
        await self._signed_in.look(request[SESSION].identity)
        async with self._feed(request).open(screen.topics(request.match_info, _read_query(request))) as caches:
            for topic, cache in caches.items():
                if isinstance(cache.error, Unauthorized) and not topic.cluster:
                    raise cache.error
            is_known = not caches or any(cache.synced.is_set() for cache in caches.values())
            if not is_known and self.page_for(request, caches).silent_since:
                raise Unavailable("")
            yield caches

    def _feed(self, request: web.Request) -> Feed:
        identity = request[SESSION].identity
        if identity.id not in self._feeds:
            clusters = {name: cluster.connect(identity) for name, cluster in self.backend.clusters.items()}
            self._feeds[identity.id] = self._build_feed(self.backend.connect(identity), clusters)
        return self._feeds[identity.id]

    def page_for(self, request: web.Request, caches: Caches | None = None) -> PageContext:
        session = request.get(SESSION)
        identity = session.identity if session else Identity()
        path = {name: value for name, value in request.match_info.items() if name not in _OURS}
        return PageContext(
            self.backend, identity, self.backend.connect(identity), read_language(request),
            path, _read_query(request), caches or {}, self._clock(), self._root_of(request),
        )  # fmt: skip

    def _root_of(self, request: web.Request) -> str:
        """The root of the pages; a reader who has not signed in has none."""
        session = request.get(SESSION)
        return session.root + self._root if session else ""

    def _frame(self, request: web.Request) -> Mapping[str, Any]:
        """What the frame of every page shows."""
        root = self._root_of(request)
        query = request.rel_url.update_query({_SEEN: UNSEEN}).query
        inside = _stream_path(request.rel_url.raw_path.removeprefix(root))
        stream = str(request.rel_url.with_path(root + inside, encoded=True).with_query(query))
        menu = [screen for screen in self.screens if screen.in_menu] if root else []
        return {"menu": menu, "stream": stream, **offer_preferences(request)}


def add_routes(router: web.UrlDispatcher, prefix: str, like: Routes, find: Callable[[web.Request], Routes]) -> None:
    """Below `prefix`, for backends with the screens and actions of `like`. `find`: whose a request is."""

    def to(answer: Callable[..., Awaitable[web.StreamResponse]], *about: Any) -> _Handler:
        async def respond(request: web.Request) -> web.StreamResponse:
            return await answer(find(request), *about, request)

        return respond

    router.add_get(prefix, to(Routes.begin))
    for screen in like.screens:
        router.add_get(prefix + screen.path, to(Routes.show, screen))
        if screen.receive is not None:
            router.add_post(prefix + screen.path, to(Routes.receive, screen))
        if screen.live:
            router.add_get(prefix + _stream_path(screen.path), to(Routes.follow, screen))
        for name, build in screen.answers.items():
            router.add_get(f"{prefix}{screen.path}/{name}", to(Routes.answer, screen, build))
    for action in like.actions:
        router.add_post(prefix + action.path, to(Routes.perform, action))


def _read_query(request: web.Request) -> Mapping[str, str]:
    """Checkboxes of one name send it several times: their values are joined by commas."""
    return {name: ",".join(request.query.getall(name)) for name in request.query if name != _SEEN}


def _stream_path(path: str) -> str:
    return "/live" + path.rstrip("/")
