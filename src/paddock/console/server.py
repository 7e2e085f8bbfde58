"""The console's HTTP: sign-in, screens, their live streams, static files. One aiohttp application.

Rule: every path but sign-in and static files needs a session; every request that may change something comes from a page
of this console (`security.is_from_elsewhere`). No traceback reaches a reader.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any

from aiohttp import web

from paddock.console import security
from paddock.console.actions.registry import ACTIONS
from paddock.console.addresses import put_below, read_next
from paddock.console.answers import (
    NOTICES,
    go_on,
    pack,
    put_off,
    read_field,
    read_form,
    say_error,
    say_healthy,
    send,
    serve_static,
)
from paddock.console.feed import Caches, Feed
from paddock.console.gate import ENDED, NOT_PRIVATE, Gate
from paddock.console.links import Links, Spent
from paddock.console.live import UNSEEN, note_seen, render_main_notice, send_changes, write_event
from paddock.console.pages import render_notice, render_page
from paddock.console.screens.registry import SCREENS
from paddock.console.tries import TooManyTries, Tries
from paddock.console.turns import Turns
from paddock.console.visit import Action, Answer, Go, Missing, Screen, Visit
from paddock.console.wishes import keep_wishes, offer_wishes, read_language
from paddock.console.world import Identity, World
from paddock.jobs.text.phrases import Phrase, phrase
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Unauthorized, Unavailable

SESSION = "paddock-session"
HEALTH = "/healthz"
RETRY_SECONDS = "5"
"""After which a browser asks again for a page of an API that does not answer."""

_IDENTITY = web.RequestKey("identity", Identity)
_SEEN = "seen"
"""Of the address of a stream: the digest of what its page shows."""
_log = logging.getLogger(__name__)
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Console:
    """Serves one world, by `screens` and `actions`. `key` signs links and sessions; `hosts`: names of its own, besides
    this machine's. `cookie`: its name, as browsers send the cookies of a host to each of its ports. `behind_tls`: a
    proxy before it ends TLS. `clock`: the time that pages show ages by. `spent`: what the key has signed in vain.
    `tries`: how many sign-ins. `root`: where its pages begin, below those of a console of several clusters, which then
    admits its requests (`console.fleet`). `build_feed`: of an API, and of those of several clusters."""

    def __init__(
        self,
        world: World,
        key: bytes,
        hosts: frozenset[str] = frozenset(),
        *,
        cookie: str = SESSION,
        behind_tls: bool = False,
        clock: Callable[[], float] = time.time,
        spent: Spent | None = None,
        tries: Tries | None = None,
        root: str = "",
        screens: Sequence[Screen] = SCREENS,
        actions: Sequence[Action] = ACTIONS,
        build_feed: Callable[[Api, Mapping[str, Api]], Feed] = Feed,
    ) -> None:
        self.world = world
        self._root, self._screens, self._build_feed = root, screens, build_feed
        self.streams = 0
        """Pages that somebody looks at."""
        self.last_request = time.time()
        self._hosts = hosts
        tries = tries or Tries()
        self._links = Links(key, cookie, spent or Spent({}), tries)
        self._gate = Gate(world.door, cookie, self._forget, tries, behind_tls=behind_tls) if world.door else None
        self._clock = clock
        self._feeds: dict[str, Feed] = {}
        self._turns = Turns()
        self.application = web.Application(middlewares=[self._guard], client_max_size=2 * 2**20)
        router = self.application.router
        if root:
            router.add_get("", self._begin)
        else:
            self._add_sign_in()
        for screen in screens:
            router.add_get(screen.path, self._show(screen))
            if screen.receive is not None:
                router.add_post(screen.path, self._receive(screen))
            if screen.live:
                router.add_get(_stream_path(screen.path), self._follow(screen))
            for name, build in screen.answers.items():
                router.add_get(f"{screen.path}/{name}", self._answer(screen, build))
        for action in actions:
            router.add_post(action.path, self._perform(action))

    def _add_sign_in(self) -> None:
        router = self.application.router
        router.add_get("/sign-in", self._sign_in)
        router.add_post("/sign-out", self._sign_out)
        if self._gate:
            router.add_post("/sign-in", self._enter)
            router.add_get(HEALTH, say_healthy)
        router.add_get("/static/{digest}/{name}", serve_static)

    def make_link(self, now: float, path: str = "/") -> str:
        """The address, without host, that signs in once and goes on to `path`."""
        return self._links.make(now, path)

    async def close(self) -> None:
        for feed in self._feeds.values():
            feed.close()

    # -- every request

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        self.last_request = time.time()
        try:
            answer = await self._admit(request, handler)
        except web.HTTPException as error:
            answer = self._notice(request, error.status)
        except Missing as missing:
            answer = self._notice(request, 404, missing)
        except ApiError as error:
            answer = await self._explain(request, error)
        except asyncio.CancelledError:
            raise
        except ConnectionError:  # the reader has gone on before this was answered
            answer = web.Response(status=499)
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            answer = self._notice(request, 500)
        if not answer.prepared:
            is_page = answer.content_type == "text/html"
            answer.headers.update(security.PAGE_HEADERS if is_page else security.HEADERS)
            answer.headers.setdefault("Cache-Control", "no-store")
            keep_wishes(request, answer)
            pack(request, answer)
        return answer

    async def _explain(self, request: web.Request, error: ApiError) -> web.StreamResponse:
        if self._gate and isinstance(error, Unauthorized) and _IDENTITY in request:
            await self._gate.expel(request[_IDENTITY])
            return self._ask_for_token(request, 401, ENDED)
        answer = self._notice(request, error.code, Missing(say_error(error)))
        if isinstance(error, Unavailable) and request.method == "GET":
            answer.headers["Refresh"] = RETRY_SECONDS
        return answer

    async def _admit(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if self._root and _IDENTITY in request:  # the console above has admitted it
            return await handler(request)
        if self._gate:
            await self._gate.prune()
            if request.path == HEALTH:  # a kubelet asks by the address of the pod
                return await handler(request)
        if not security.is_host_served(request.headers.get("Host", ""), self._hosts):
            raise web.HTTPMisdirectedRequest
        if security.is_from_elsewhere(request.method, request.headers):
            raise web.HTTPForbidden
        if any("/" in part or part in (".", "..") for part in request.match_info.values()):
            raise web.HTTPNotFound  # no name is a path, on a disk or in the API
        if request.path.startswith(("/sign-", "/static/")):
            return await handler(request)
        identity = self._identify(request)
        if identity is None:
            return await self._refuse(request)
        request[_IDENTITY] = identity
        return await handler(request)

    def _identify(self, request: web.Request) -> Identity | None:
        return self._gate.identify(request) if self._gate else self._links.identify(request)

    async def _refuse(self, request: web.Request) -> web.StreamResponse:
        """Nobody is signed in. What a form was sent with is shown, so that it can be sent again: nothing is lost."""
        if self._gate and request.method != "POST":
            return self._ask_for_token(request, 401, ENDED if self._gate.was_inside(request) else None)
        said = phrase("you are not signed in, or not any more: `paddock console` opens this console anew")
        if self._gate:
            said = ENDED
        if request.method != "POST":
            return self._notice(request, 401, Missing(said))
        posted = {key: read_field(value) for key, value in (await read_form(request)).items()}
        built = {"posted": posted, "address": str(request.rel_url), "said": self._visit(request, {}).say(said)}
        text = render_notice("lost.html", self._visit(request, {}), {**self._frame(request), **built})
        return web.Response(text=text, content_type="text/html", status=401)

    # -- sign-in

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        assert self._gate
        posted = {key: read_field(value) for key, value in (await read_form(request)).items()}
        following = read_next(posted.get("next", ""))
        try:
            entered = await self._gate.enter(request, posted.get("token", "").strip(), following)
        except TooManyTries as error:
            return put_off(self._ask_for_token(request, 429, error.said, following), error.seconds)
        if isinstance(entered, Phrase):
            return self._ask_for_token(request, 401, entered, following)
        return entered

    def _ask_for_token(
        self, request: web.Request, status: int, said: Phrase | None, following: str = ""
    ) -> web.Response:
        """The page where a reader signs in, and then goes on to `following`, else to what was asked for."""
        assert self._gate
        following = following or read_next(str(request.rel_url))
        visit = self._visit(request, {})
        is_private = self._gate.is_private(request)
        why = said if is_private else NOT_PRIVATE
        built = {"why": visit.say(why) if why else "", "is_private": is_private, "following": following}
        text = render_notice("sign_in.html", visit, {**self._frame(request), **built})
        return web.Response(text=text, content_type="text/html", status=status)

    async def _sign_in(self, request: web.Request) -> web.StreamResponse:
        if self._gate:
            return self._ask_for_token(request, 200, None)
        if not request.query.get("token") or request.method == "HEAD":  # who previews a link does not use it
            return self._notice(request, 200)
        try:
            return self._links.enter(request) or self._notice(request, 401)
        except TooManyTries as error:
            return put_off(self._notice(request, 429, Missing(error.said)), error.seconds)

    async def _sign_out(self, request: web.Request) -> web.StreamResponse:
        answer = go_on("/sign-in")
        if self._gate:
            await self._gate.leave(request, answer)
        else:
            self._links.leave(request, answer)
        return answer

    # -- screens

    async def _begin(self, _: web.Request) -> web.StreamResponse:
        return go_on(f"{self._root}/")

    def _show(self, screen: Screen) -> _Handler:
        async def show(request: web.Request) -> web.StreamResponse:
            turn = self._turns.of(request[_IDENTITY].id) if screen.receive else nullcontext()
            async with turn, self._open(request, screen) as caches:
                visit = self._visit(request, caches)
                text = render_page(screen, visit, await screen.build(visit), self._frame(request))
            return web.Response(text=note_seen(text) if screen.live else text, content_type="text/html")

        return show

    def _answer(self, screen: Screen, build: Callable[[Visit], Awaitable[Answer]]) -> _Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            async with self._open(request, screen) as caches:
                built = await build(self._visit(request, caches))
            return await send(request, built)

        return answer

    def _receive(self, screen: Screen) -> _Handler:
        """What a form sends to its own page."""

        async def receive(request: web.Request) -> web.StreamResponse:
            assert screen.receive is not None
            posted = {key: read_field(value) for key, value in (await read_form(request)).items()}
            async with self._turns.of(request[_IDENTITY].id), self._open(request, screen) as caches:
                visit = self._visit(request, caches)
                found = await screen.receive(visit, posted)
                if isinstance(found, Go):
                    return go_on(put_below(self._root, found.address))
                text = render_page(screen, visit, found, self._frame(request))
            return web.Response(text=text, content_type="text/html")

        return receive

    def _perform(self, action: Action) -> _Handler:
        async def perform(request: web.Request) -> web.StreamResponse:
            posted = {key: read_field(value) for key, value in (await read_form(request)).items()}
            found = await action.perform(self._visit(request, {}), posted)
            if isinstance(found, Go):
                return go_on(put_below(self._root, found.address))
            return self._notice(request, 409, Missing(found))

        return perform

    def _follow(self, screen: Screen) -> _Handler:
        """The page's <main> again whenever it differs, as a stream of events."""

        async def follow(request: web.Request) -> web.StreamResponse:
            topics, feed = screen.topics(request.match_info, _read_query(request)), self._feed(request)
            answer = web.StreamResponse(headers={**security.HEADERS, "Cache-Control": "no-store"})
            answer.content_type = "text/event-stream"
            await answer.prepare(request)
            self.streams += 1
            try:
                async with feed.open(topics) as caches:
                    seen = request.headers.get("Last-Event-ID") or request.query.get(_SEEN, "")
                    look = partial(self._visit, request, caches)
                    sending = send_changes(answer, screen, look, feed.changes(topics), seen)
                    if not await self._is_ended_first(request, sending):
                        return answer
                await answer.write(write_event(render_main_notice(self._visit(request, {}), ENDED)))
            finally:
                self.streams -= 1
                self.last_request = time.time()
            return answer

        return follow

    async def _is_ended_first(self, request: web.Request, sending: Coroutine[Any, Any, None]) -> bool:
        """Sends until the reader has gone, or until the session has ended."""
        if self._gate is None:
            await sending
            return False
        tasks = [asyncio.ensure_future(each) for each in (sending, self._gate.wait_for_end(request))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done() and isinstance(tasks[0].exception(), Unauthorized):
                await self._gate.expel(request[_IDENTITY])
                return True
            if tasks[0].done():
                tasks[0].result()
            return not tasks[0].done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def _open(self, request: web.Request, screen: Screen) -> AsyncIterator[Caches]:
        """The screen's caches. Raises `Unauthorized` where the API does not know the reader, and `Unavailable` where it
        does not answer and never has: then nothing is known."""
        async with self._feed(request).open(screen.topics(request.match_info, _read_query(request))) as caches:
            for topic, cache in caches.items():
                if isinstance(cache.error, Unauthorized) and not topic.place:
                    raise cache.error
            is_known = not caches or any(cache.synced.is_set() for cache in caches.values())
            if not is_known and self._visit(request, caches).silent_since:
                raise Unavailable("")
            yield caches

    def _forget(self, identity: Identity) -> None:
        if feed := self._feeds.pop(identity.id, None):
            feed.close()

    def _feed(self, request: web.Request) -> Feed:
        identity = request[_IDENTITY]
        if identity.id not in self._feeds:
            places = {name: place.connect(identity) for name, place in self.world.places.items()}
            self._feeds[identity.id] = self._build_feed(self.world.connect(identity), places)
        return self._feeds[identity.id]

    def _visit(self, request: web.Request, caches: Caches) -> Visit:
        identity = request.get(_IDENTITY, Identity())
        language = read_language(request)
        return Visit(
            self.world, identity, self.world.connect(identity), language,
            dict(request.match_info), _read_query(request), caches, self._clock(), self._root,
        )  # fmt: skip

    def _frame(self, request: web.Request) -> Mapping[str, Any]:
        """What the frame of every page shows."""
        query = request.rel_url.update_query({_SEEN: UNSEEN}).query
        inside = _stream_path(request.rel_url.raw_path.removeprefix(self._root))
        stream = str(request.rel_url.with_path(self._root + inside, encoded=True).with_query(query))
        menu = [screen for screen in self._screens if screen.in_menu]
        return {"menu": menu, "stream": stream, **offer_wishes(request)}

    def _notice(self, request: web.Request, status: int, missing: Missing | None = None) -> web.Response:
        visit = self._visit(request, {})
        # a button's address is below that of the page which has the button
        back = request.path.rpartition("/")[0] if request.method == "POST" else ""
        said = visit.say(missing.said if missing else NOTICES.get(status, NOTICES[500]))
        built = {"status": status, "said": said, "back": back}
        text = render_notice("notice.html", visit, {**self._frame(request), **built})
        return web.Response(text=text, content_type="text/html", status=status)


def _read_query(request: web.Request) -> Mapping[str, str]:
    """Checkboxes of one name send it several times: their values are joined by commas."""
    return {name: ",".join(request.query.getall(name)) for name in request.query if name != _SEEN}


def _stream_path(path: str) -> str:
    return "/live" + path.rstrip("/")
