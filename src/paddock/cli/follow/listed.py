"""What `paddock get -w` follows: the objects of some kinds, first all that are there, then each change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import Key, Manifest, Resource, key_of


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it is now."""

    resource: Resource
    object: Manifest
    deleted: bool = False


async def follow_listed(
    api: Api, resources: Sequence[Resource], namespace: str, labels: str
) -> AsyncIterator[Sequence[Change]]:
    """First all objects at once, then changes one by one, without end. A kind that is not served has none; raises
    `Forbidden` where no kind may be listed, and what ends a watch for good."""
    heard: asyncio.Queue[tuple[Resource, Change | ApiError | None]] = asyncio.Queue()

    async def follow(resource: Resource) -> None:
        where = namespace if resource.namespaced else ""
        try:
            async with aclosing(api.follow(resource, where, labels=labels)) as events:  # type: ignore[type-var]
                async for event in events:
                    is_change = event.type in ("ADDED", "MODIFIED", "DELETED")
                    change = Change(resource, event.object, event.type == "DELETED") if is_change else None
                    if is_change or event.type == "SYNCED":
                        heard.put_nowait((resource, change))
        except ApiError as error:
            heard.put_nowait((resource, error))

    tasks = [asyncio.create_task(follow(each)) for each in resources]
    try:
        yield await _collect(heard, resources)
        while True:
            _, found = await heard.get()
            if isinstance(found, ApiError):
                raise found
            if found is not None:
                yield [found]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _collect(
    heard: asyncio.Queue[tuple[Resource, Change | ApiError | None]], resources: Sequence[Resource]
) -> list[Change]:
    """What is there until all kinds have been listed."""
    first: dict[tuple[Resource, Key], Change] = {}  # a kind may change while another is listed
    open_kinds, refused = set(resources), []
    while open_kinds:
        resource, found = await heard.get()
        if isinstance(found, Change):
            first[resource, key_of(found.object)] = found
            continue
        if isinstance(found, Forbidden):
            refused.append(found)
        elif isinstance(found, ApiError) and not isinstance(found, NotFound):
            raise found
        open_kinds.discard(resource)
    if len(refused) == len(resources):
        raise refused[0]
    return [each for each in first.values() if not each.deleted]
