"""The Datasets that the operator knows, and which change of one queues the jobs that wait for it.

Where the kind is not served, or the operator may not read it, jobs without Datasets are reconciled all the same; those
that name one wait and say why. It is tried again, as both may change: less and less often while no job needs to know,
and soon for one that does. Nothing cheaper tells of it, as the operator has no right to CustomResourceDefinitions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from paddock.controllers.informer import Informer
from paddock.controllers.mirror import Change
from paddock.jobs.datasets import find_relevant
from paddock.kube.api import Api
from paddock.kube.datasets import DatasetStatus, read_status
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import DATASETS, Key
from paddock.kube.times import exponential_backoff

_FIRST_DELAY, _LONGEST_DELAY = 1.0, 300.0
_WANTED_SECONDS = 15.0
"""Between two tries while a job waits for the kind."""

_log = logging.getLogger(__name__)


class WatchedDatasets:
    """`on_change` gets the key of a Dataset whose change may let a job begin, or changes what a waiting job tells.
    `namespaces`: those to watch, "" for all; none where Datasets are switched off (`Settings.datasets`)."""

    def __init__(self, api: Api, namespaces: Iterable[str], on_change: Callable[[Key], None]) -> None:
        self._on_change = on_change
        self._asked: dict[str, asyncio.Event] = {}
        self._refusals: dict[str, str] = {}
        self._tries: dict[str, int] = {}
        self._wanted: dict[str, asyncio.Event] = {}
        self._informers: dict[str, Informer[DatasetStatus]] = {}
        for namespace in namespaces:
            self._asked[namespace] = asyncio.Event()
            self._wanted[namespace] = asyncio.Event()
            self._informers[namespace] = Informer(
                api, DATASETS, read_status, self._take, namespace, on_synced=partial(self._accept, namespace)
            )

    async def follow(self) -> None:
        """Keep them up to date until cancelled."""
        async with asyncio.TaskGroup() as group:
            for namespace, informer in self._informers.items():
                group.create_task(self._mirror(namespace, informer))

    async def settled(self) -> None:
        """Returns once the Datasets of each namespace are known, or refused."""
        for asked in self._asked.values():
            await asked.wait()

    @property
    def is_settled(self) -> bool:
        return all(asked.is_set() for asked in self._asked.values())

    def get(self, key: Key) -> DatasetStatus | None:
        informer = self._find(key.namespace)
        return informer.mirror.objects.get(key) if informer is not None else None

    def names(self, namespace: str) -> Sequence[str]:
        informer = self._find(namespace)
        return tuple(informer.mirror.inside(namespace)) if informer is not None else ()

    def unserved(self, namespace: str) -> str | None:
        """Why none is seen there, as in `model.Datasets`. Who asks needs one, so it is tried again soon."""
        if self._find(namespace) is None:
            return ""
        watched = "" if "" in self._informers else namespace
        if watched in self._refusals:
            self._wanted[watched].set()
        return self._refusals.get(watched)

    def _find(self, namespace: str) -> Informer[DatasetStatus] | None:
        return self._informers.get("") or self._informers.get(namespace)

    def _take(self, change: Change[DatasetStatus]) -> None:
        before, now = (status and find_relevant(status) for status in (change.before, change.now))
        if before != now:
            self._on_change(change.key)

    def _accept(self, namespace: str) -> None:
        self._refusals.pop(namespace, None)
        self._tries[namespace] = 0
        self._asked[namespace].set()

    async def _mirror(self, namespace: str, informer: Informer[DatasetStatus]) -> None:
        while True:
            try:
                await informer.run()
            except (NotFound, Forbidden, Unauthorized) as error:
                self._refuse(namespace, informer, error)
            tries = self._tries[namespace] = self._tries.get(namespace, 0) + 1
            await self._pause(namespace, exponential_backoff(tries, _FIRST_DELAY, _LONGEST_DELAY))

    async def _pause(self, namespace: str, seconds: float) -> None:
        soon, wanted = min(seconds, _WANTED_SECONDS), self._wanted[namespace]
        wanted.clear()
        await asyncio.sleep(soon)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds - soon):
                await wanted.wait()

    def _refuse(self, namespace: str, informer: Informer[DatasetStatus], error: ApiError) -> None:
        informer.synced.clear()  # so that the next list is told by `on_synced`
        if self._refusals.get(namespace) != error.message:
            where = f"in namespace {namespace}" if namespace else "in all namespaces"
            _log.warning(
                "cannot watch %s %s, trying again: %s. Jobs that name Datasets wait; `paddock manifests "
                "--datasets --image IMAGE` prints the kind and the rights that are needed",
                *(DATASETS.qualified, where, error.message),
            )
        self._refusals[namespace] = error.message
        self._asked[namespace].set()
