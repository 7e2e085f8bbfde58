"""The requests for Datasets: few at one time, and of each namespace a share of these. I/O.

Anybody may have thousands of Datasets, begin them all at once, and have servers and pods that answer slowly. Their
requests go over the connections by which jobs are reconciled, so they wait for those of their own namespace. Of what a
list has, no more is held than is read of it here: anybody may label hundreds of objects of a megabyte so that they are
in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

from msgspec import structs

from paddock.datasets.fetch_jobs import CLAIM_ANNOTATION
from paddock.datasets.job_reading import ReadLog
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, List, T
from paddock.kube.datasets import LABEL
from paddock.kube.meta import Manifest, Resource, annotations_of, controller_of, labels_of, metadata

AT_ONCE, OF_ONE = 16, 4
"""Requests that are on their way at one time, in all and of one namespace."""
LOGS_AT_ONCE, LOGS_OF_ONE = 8, 1
"""The same of reads of logs: whose pod is slow may let one take all of its time."""


class _Turns:
    """One request of a namespace waits for a place, behind one of each other namespace, however many they have."""

    def __init__(self, at_once: int, of_one: int) -> None:
        self._places, self._of_one = asyncio.Semaphore(at_once), of_one
        self._shares: dict[str, tuple[asyncio.Semaphore, asyncio.Lock]] = {}

    @asynccontextmanager
    async def take(self, namespace: str) -> AsyncIterator[None]:
        share, first = self._shares.setdefault(namespace, (asyncio.Semaphore(self._of_one), asyncio.Lock()))
        async with share:
            async with first:
                await self._places.acquire()
            try:
                yield
            finally:
                self._places.release()


class SharedRequests(Api):
    """The same API, each request in its turn. What is followed is no request of a namespace, and has no turn."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._requests, self._logs = _Turns(AT_ONCE, OF_ONE), _Turns(LOGS_AT_ONCE, LOGS_OF_ONE)

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, List):
            call = structs.replace(call, keep=keep_read)  # type: ignore[arg-type]
        async with self._requests.take(call.namespace):
            return await self._api.send(call)

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, labels=labels, fields=fields)

    def share_logs(self, read_log: ReadLog) -> ReadLog:
        """Reads logs in turns of their own: one may take seconds, in which no request waits for it."""

        async def read(namespace: str, pod: str) -> bytes:
            async with self._logs.take(namespace):
                return await read_log(namespace, pod)

        return read


_READ_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
_READ_OF_OWNER = ("apiVersion", "kind", "name", "uid", "controller")
_READ = ("apiVersion", "kind", "type", "reason", "message", "lastTimestamp", "eventTime")
"""The last five: of an Event."""
_LONGEST, _MOST_CLAIMS = 1024, 100
"""Characters of a text, as of the message of an Event (Kubernetes), and claims of a pod. One that mounts more is held
by Kubernetes alone, which removes no claim that a pod mounts."""


def keep_read(found: Manifest) -> Manifest:
    """What is read of the claims, Jobs, pods and Events that are listed for Datasets. Their status is not their
    author's to write, so it is kept whole. Pure."""
    spec = found.get("spec") or {}
    return {
        **_keep(found, _READ),
        "metadata": _keep_metadata(found),
        "spec": {
            **_keep(spec, ("storageClassName",)),
            "podFailurePolicy": bool(spec.get("podFailurePolicy")),
            "volumes": list(_keep_claims(spec)),
        },
        "status": found.get("status") or {},
    }


def _keep(found: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    kept = {name: found[name] for name in names if name in found}
    return {name: value[:_LONGEST] if isinstance(value, str) else value for name, value in kept.items()}


def _keep_metadata(found: Manifest) -> dict[str, Any]:
    owner = controller_of(found)
    return {
        **_keep(metadata(found), _READ_METADATA),
        "labels": _keep(labels_of(found), (LABEL,)),
        "annotations": _keep(annotations_of(found), (CLAIM_ANNOTATION,)),
        "ownerReferences": [_keep(owner, _READ_OF_OWNER)] if owner else [],
    }


def _keep_claims(spec: Mapping[str, Any]) -> Iterator[Manifest]:
    named = ((each.get("persistentVolumeClaim") or {}).get("claimName") for each in spec.get("volumes") or ())
    for claim in islice(filter(None, named), _MOST_CLAIMS):
        yield {"persistentVolumeClaim": {"claimName": claim}}
