"""Several clusters in one console: a list of all their jobs, and below `/c/CONTEXT/` the pages of each.

The console admits each request, by its host, its origin and its one session. Behind that each cluster has routes of its
own with its own backend, so rights, watches, logs and actions of two clusters never meet.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

from paddock.console.backend import Backend
from paddock.console.feed import Feed
from paddock.console.screens import guide
from paddock.console.screens.clusters import build_choice, build_list
from paddock.console.server import Console
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


def build_fleet(
    backends: Mapping[str, Backend],
    key: bytes,
    hosts: frozenset[str] = frozenset(),
    *,
    clock: Callable[[], float] = time.time,
) -> Console:
    """A console of several backends, by context, in this order. None of them has a `token_login`: who sees the list is
    one user, with the rights of a kubeconfig on each cluster. The other parameters are those of `Console`."""
    api = _NoApi()
    backend = Backend("", False, lambda _: api, clusters=backends)
    screens = (build_list(backends), build_choice(backends), guide.SCREEN)
    feed = partial(Feed, linger=LINGER_SECONDS, wait=WAIT_SECONDS)
    console = Console(backend, key, hosts, clock=clock, screens=screens, actions=(), build_feed=feed)
    console.add_clusters(backends)
    return console
