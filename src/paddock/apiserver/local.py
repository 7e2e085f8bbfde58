"""The embedded cluster's API inside its own process: `kube.api.Api` without HTTP, TLS or a token.

Operator, scheduler and kubelet of the laptop are its callers; `server` serves the same objects over HTTPS.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from paddock.apiserver import kinds
from paddock.apiserver.collector import Collector
from paddock.apiserver.expiry import Expiry
from paddock.apiserver.objects import Objects, WriteOptions
from paddock.apiserver.records import in_version, storage_key
from paddock.apiserver.served import ServedResource
from paddock.apiserver.store import Store
from paddock.apiserver.verbs import DeleteOptions
from paddock.apiserver.watches import Seen, read_selection
from paddock.kube.api import Api, Event, Listing, PatchKind
from paddock.kube.errors import BadRequest, NotFound, Unavailable
from paddock.kube.meta import Manifest, Resource, name_of, namespace_of

_decode = msgspec.json.Decoder(Manifest).decode


class LocalApi(Api):
    """Made by `open`. The directory is made if need be, for this user only, and holds the store."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._collecting = asyncio.ensure_future(Collector(objects).run())
        self._expiring = asyncio.ensure_future(Expiry(objects.store, objects.clock).run())

    @classmethod
    async def open(cls, directory: Path, *, clock: Callable[[], float] = time.time) -> LocalApi:
        """`Unavailable` or `InternalError` with a sentence when the directory cannot be used."""
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
        except BaseException:
            store.close()
            raise
        return cls(objects)

    async def close(self) -> None:
        """Ends the followers; a write that is under way is still committed."""
        for task in (self._collecting, self._expiring):
            task.cancel()
        await asyncio.gather(self._collecting, self._expiring, return_exceptions=True)
        self.objects.hub.close()
        self.objects.store.close()

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        return _decode(self.objects.get(self.objects.served(resource), namespace, name))

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        served = self.objects.served(resource)
        selection = read_selection(storage_key(resource), namespace, labels=labels, fields=fields)
        page = self.objects.page(served, selection)
        version = resource.api_version
        items = [_decode(in_version(stored.body, stored.version, version)) for stored in page.items]
        return Listing(items, str(page.revision))

    async def create(
        self,
        resource: Resource,
        manifest: Mapping[str, Any],
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        strict: bool = False,
        dry_run: bool = False,
    ) -> Manifest:
        served = self.objects.served(resource)
        options = WriteOptions("Strict" if strict else "Ignore", dry_run)
        if subresource == "binding" and subresource in served.subresources:
            answer = await self.objects.bind(served, manifest, namespace=namespace, name=name, options=options)
        elif subresource:
            raise NotFound(f"{resource.plural}/{subresource} cannot be created here")
        else:
            answer = await self.objects.create(served, manifest, namespace=namespace, options=options)
        return _decode(answer.body)

    async def replace(
        self, resource: Resource, manifest: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> Manifest:
        served = self._served(resource, subresource)
        name = name_of(manifest)
        if not name:
            raise BadRequest(f"metadata.name of the {resource.kind} is missing: which one shall be replaced?")
        namespace = namespace or namespace_of(manifest)
        if subresource == "scale":
            answer = await self.objects.scale(served, lambda _: manifest, namespace=namespace, name=name)
        else:
            answer = await self.objects.replace(
                served, manifest, namespace=namespace, name=name, subresource=subresource
            )
        return _decode(answer.body)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        kind: PatchKind = "merge",
    ) -> Manifest:
        served = self._served(resource, subresource)
        if subresource == "scale":
            answer = await self.objects.scale(
                served, lambda scale: kinds.patch_scale(scale, patch, kind), namespace=namespace, name=name
            )
        else:
            answer = await self.objects.patch(
                served, patch, kind, namespace=namespace, name=name, subresource=subresource
            )
        return _decode(answer.body)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace: int | None = None,
        propagation: Literal["Background", "Foreground", "Orphan"] = "Background",
    ) -> None:
        delete = DeleteOptions(uid=uid, grace=grace, propagation=propagation)
        await self.objects.delete(self.objects.served(resource), namespace=namespace, name=name, delete=delete)

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        """Never cut, however slow the consumer: what it has not read yet waits in memory. A kind that
        goes and comes back is followed on. Ends when the API closes."""
        served = self.objects.served(resource)
        key = storage_key(resource)
        selection = read_selection(key, namespace, labels=labels, fields=fields)
        version = resource.api_version
        # The list and the subscription fall into one turn of the loop, so that no change is between them.
        page = self.objects.page(served, selection)
        subscription = self.objects.hub.subscribe(key, selection)
        try:
            for stored in page.items:
                yield Event("ADDED", _decode(in_version(stored.body, stored.version, version)))
            page.items.clear()
            yield Event("SYNCED", {})
            while not subscription.lost:
                for seen in await subscription.read():
                    yield _event(seen, version)
        finally:
            self.objects.hub.leave(key, subscription)

    def _served(self, resource: Resource, subresource: str) -> ServedResource:
        served = self.objects.served(resource)
        if subresource and subresource not in served.subresources:
            raise NotFound(f"the server could not find the requested resource: {resource.plural} has no {subresource}")
        return served


def _event(seen: Seen, version: str) -> Event:
    change = seen.change
    body = change.deselected if seen.type == "DELETED" and change.type != "DELETED" else change.body
    return Event(seen.type, _decode(in_version(body, change.version, version)))  # type: ignore[arg-type]
