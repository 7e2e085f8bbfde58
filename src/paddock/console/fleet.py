"""Several clusters in one console: a list of all their jobs, and below `/c/CONTEXT/` the pages of each.

The console in front admits each request, by its host, its origin and its one session. Below it each cluster has a
console of its own with its own world, so rights, watches, logs and actions of two clusters never meet.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

from aiohttp import web

from paddock.console.addresses import PLACES, address_of_place
from paddock.console.answers import go_on
from paddock.console.feed import Feed
from paddock.console.screens import guide
from paddock.console.screens.clusters import build_choice, build_list
from paddock.console.server import SESSION, Console
from paddock.console.world import World
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.errors import NotFound
from paddock.kube.meta import Resource

LINGER_SECONDS = 3600.0
"""For which the watches of the list outlive its last page: what a cluster showed last is not forgotten when it falls
silent and the page is opened again."""
WAIT_SECONDS = 1.5
"""For clusters that do not answer; the page follows when they do."""


class _NoApi(Api):
    """Of the pages that are of no cluster: they ask nothing."""

    async def send(self, call: Call[T]) -> T:
        raise NotFound("this page is of no cluster")

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        yield Event("SYNCED", {})


class Fleet:
    """Serves several worlds, by context, in this order. None of them has a `door`: who sees the list is one user, with
    the rights of a kubeconfig on each cluster. The other parameters are those of `Console`."""

    def __init__(
        self,
        worlds: Mapping[str, World],
        key: bytes,
        hosts: frozenset[str] = frozenset(),
        *,
        cookie: str = SESSION,
        clock: Callable[[], float] = time.time,
    ) -> None:
        api = _NoApi()
        world = World("", False, lambda _: api, places=worlds)
        screens = (build_list(worlds), build_choice(worlds), guide.SCREEN)
        feed = partial(Feed, linger=LINGER_SECONDS, wait=WAIT_SECONDS)
        self._front = Console(
            world, key, hosts, cookie=cookie, clock=clock, screens=screens, actions=(), build_feed=feed
        )
        self._consoles = [self._front]
        self.application: web.Application = self._front.application
        self.application.router.add_get(PLACES, _show_all)
        for context, each in worlds.items():
            root = address_of_place(context)
            console = Console(each, key, hosts, cookie=cookie, clock=clock, root=root)
            self.application.add_subapp(root, console.application)
            self._consoles.append(console)

    def make_link(self, now: float, path: str = "/") -> str:
        """See `Console.make_link`."""
        return self._front.make_link(now, path)

    async def close(self) -> None:
        for each in self._consoles:
            await each.close()


async def _show_all(_: web.Request) -> web.StreamResponse:
    return go_on("/")
