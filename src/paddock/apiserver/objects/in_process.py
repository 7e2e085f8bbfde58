"""The embedded cluster's API in process: an implementation of `kube.api.Api` without HTTP, TLS or a token.

Operator, scheduler and kubelet of the laptop call it; `http.server` serves the same objects over HTTPS.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import cast

import msgspec

from paddock.apiserver.admission.priorities import build_system_classes
from paddock.apiserver.objects import builtin_strategies
from paddock.apiserver.objects.access import make_defaults
from paddock.apiserver.objects.garbage import Collector
from paddock.apiserver.objects.reads import PIECE_BYTES
from paddock.apiserver.objects.strategy import DeleteOptions
from paddock.apiserver.objects.writes import Objects, WriteOptions
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.expiry import Expiry
from paddock.apiserver.storage.hub import WatchEvent, select
from paddock.apiserver.storage.records import Stored, in_version, storage_key
from paddock.apiserver.storage.store import Store
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, Delete, Get, List, Listing, Patch, Replace, T
from paddock.kube.errors import BadRequest, NotFound, Unavailable
from paddock.kube.meta import PRIORITY_CLASSES, Manifest, Resource
from paddock.kube.times import format_time

_decode = msgspec.json.Decoder(Manifest).decode


class LocalApi(Api):
    """The API on a store. Create it with `open`."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._collecting = asyncio.ensure_future(Collector(objects).run())
        self._expiring = asyncio.ensure_future(Expiry(objects.store, objects.clock).run())

    @classmethod
    async def open(cls, directory: Path, *, clock: Callable[[], float] = time.time) -> LocalApi:
        """Opens the store in `directory`, which is created if need be, for this user only. `Unavailable` or
        `InternalError` if it cannot be used."""
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.chmod(directory, 0o700)  # noqa: PTH101 - one call, and follows no link that mkdir did not
        except OSError as error:
            raise Unavailable(f"{directory} cannot be used for the cluster's state: {error.strerror}") from error
        store = Store(directory / "store.sqlite")
        store.open()
        try:
            objects = Objects(store, clock)
            objects.make_default_namespaces()
            objects.furnish_namespaces()
            make_defaults(objects)
            objects.make_missing([(storage_key(PRIORITY_CLASSES), each) for each in build_system_classes()])
            objects.quotas.recount()
            store.mark(format_time(clock()))
        except BaseException:
            store.close()
            raise
        return cls(objects)

    async def close(self) -> None:
        """Ends all watches; a write that is under way is still committed."""
        for task in (self._collecting, self._expiring):
            task.cancel()
        await asyncio.gather(self._collecting, self._expiring, return_exceptions=True)
        self.objects.worker.close()
        await self.objects.rules.close()
        self.objects.hub.close()
        self.objects.store.close()

    async def send(self, call: Call[T]) -> T:
        try:
            return await self._answer(call)
        except UnicodeEncodeError as error:  # a lone surrogate, which no request over HTTP can hold
            raise BadRequest(f"{error.object!r:.200} is no text of Unicode: it cannot be written as UTF-8") from error

    async def _answer(self, call: Call[T]) -> T:
        answer: Manifest | Listing | None = None
        match call:
            case Get():
                answer = _decode(self.objects.get(self.objects.served(call.resource), call.namespace, call.name))
            case List():
                answer = await self._list(call)
            case Create():
                answer = await self._create(call)
            case Replace():
                answer = await self._replace(call)
            case Patch():
                answer = await self._patch(call)
            case Delete():
                await self._delete(call)
            case _:
                raise TypeError(f"{call} is none of the calls of a Kubernetes API")
        return cast("T", answer)

    async def _list(self, call: List) -> Listing:
        served = self.objects.served(call.resource)
        selection = select(call.resource, call.namespace, labels=call.labels, fields=call.fields)
        page = self.objects.page(served, selection)
        version = call.resource.api_version
        items = [_decode(in_version(stored.body, stored.version, version)) async for stored in _slowly(page.items)]
        return Listing(items, str(page.ending.revision))

    async def _create(self, call: Create) -> Manifest:
        served = self.objects.served(call.resource)
        options = _write_options(call)
        if call.subresource == "binding" and call.subresource in served.subresources:
            answer = await self.objects.bind(
                served, call.manifest, namespace=call.namespace, name=call.name, options=options
            )
        elif call.subresource:
            raise NotFound(f"{call.resource.plural}/{call.subresource} cannot be created here")
        else:
            answer = await self.objects.create(
                served, call.manifest, namespace=call.namespace, options=options, size=_size(call.manifest)
            )
        return _decode(answer.body)

    async def _replace(self, call: Replace) -> Manifest:
        served = self._served(call)
        if not call.name:
            raise BadRequest(f"metadata.name of the {call.resource.kind} is missing: which one shall be replaced?")
        if call.subresource == "scale":
            answer = await self.objects.scale(
                served, lambda _: call.manifest,
                namespace=call.namespace, name=call.name, options=_write_options(call),
            )  # fmt: skip
        else:
            answer = await self.objects.replace(
                served, call.manifest,
                namespace=call.namespace, name=call.name, subresource=call.subresource,
                options=_write_options(call), size=_size(call.manifest),
            )  # fmt: skip
        return _decode(answer.body)

    async def _patch(self, call: Patch) -> Manifest:
        served = self._served(call)
        if call.subresource == "scale":
            answer = await self.objects.scale(
                served,
                lambda scale: builtin_strategies.patch_scale(scale, call.patch, call.kind),
                namespace=call.namespace,
                name=call.name,
            )
        else:
            answer = await self.objects.patch(
                served, call.patch, call.kind,
                namespace=call.namespace, name=call.name, subresource=call.subresource, size=_size(call.patch),
                options=_write_options(call),
            )  # fmt: skip
        return _decode(answer.body)

    async def _delete(self, call: Delete) -> None:
        delete = DeleteOptions(uid=call.uid, grace=call.grace, propagation=call.propagation)
        served = self.objects.served(call.resource)
        await self.objects.delete(served, namespace=call.namespace, name=call.name, delete=delete)

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        """A slow consumer is never disconnected: unread changes stay in memory. A kind whose CRD is deleted and created
        again is followed further. Ends when the API closes."""
        served = self.objects.served(resource)
        key = storage_key(resource)
        selection = select(resource, namespace, labels=labels, fields=fields)
        version = resource.api_version
        # No await between the list and the subscription, so that no change is lost between them.
        page = self.objects.page(served, selection)
        subscription = self.objects.hub.subscribe(key, selection)
        try:
            async for stored in _slowly(page.items):
                yield Event("ADDED", _decode(in_version(stored.body, stored.version, version)))
            page.items.clear()
            yield Event("SYNCED", {})
            while not subscription.lost:
                for seen in await subscription.read():
                    yield _event(seen, version)
        finally:
            self.objects.hub.leave(key, subscription)

    def _served(self, call: Replace | Patch) -> ServedResource:
        served = self.objects.served(call.resource)
        if call.subresource and call.subresource not in served.subresources:
            raise NotFound(
                f"the server could not find the requested resource: {call.resource.plural} has no {call.subresource}"
            )
        return served


async def _slowly(items: list[Stored]) -> AsyncIterator[Stored]:
    """The objects of a list, with turns for others in between: decoding them all takes long."""
    size = 0
    for stored in items:
        size += len(stored.body)
        if size > PIECE_BYTES:
            size = 0
            await asyncio.sleep(0)
        yield stored


def _write_options(call: Create | Replace | Patch) -> WriteOptions:
    return WriteOptions("Strict" if call.strict else "Ignore", call.dry_run)


def _size(manifest: object) -> int:
    return len(msgspec.json.encode(manifest))


def _event(seen: WatchEvent, version: str) -> Event:
    change = seen.change
    body = change.deselected if seen.type == "DELETED" and change.type != "DELETED" else change.body
    return Event(seen.type, _decode(in_version(body, change.version, version)))  # type: ignore[arg-type]
