"""What the registry lacks of an image, and sending that alone. I/O.

A blob that is there is not sent again; one of another repository of the same registry is mounted; of another registry
it is copied, a file at a time. The manifest comes last, so an image is there whole or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from paddock.images.base import Advance, Spool
from paddock.images.building import Built, open_both
from paddock.images.errors import ImageError
from paddock.images.manifests import DOCKER_MANIFEST, OCI_MANIFEST, Blob
from paddock.images.registry import Registry
from paddock.words.phrases import phrase

_AT_ONCE = 6
"""Questions after blobs. Bytes go one blob at a time."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a push has moved."""

    bytes: int = 0
    """Of blobs that were sent."""
    blobs: int = 0
    """How many those were."""
    there: int = 0
    """Blobs that the registry had, or took from another repository of its own."""


async def send(built: Built, advance: Advance) -> Sent:
    """Raises `ImageError`, OSError."""
    async with AsyncExitStack() as stack:
        source, sink = await open_both(built.recipe, stack)
        if await sink.fetch_manifest(built.digest, may_lack=True) is not None:
            if built.recipe.target.tag:  # it may stand for another one now
                await sink.put_manifest(built.tag, built.manifest, media_type_of(built))
            return Sent(there=len(built.base.layers) + len(built.files))
        return await _Sending(built, source, sink, advance).send()


class _Sending:
    def __init__(self, built: Built, source: Registry, sink: Registry, advance: Advance) -> None:
        self._built, self._source, self._sink, self._advance = built, source, sink, advance
        self._done = self._whole = 0

    async def send(self) -> Sent:
        built = self._built
        own = [*(each.blob for each in built.layers), built.config]
        below = list({each.digest: each for each in built.base.layers if is_distributed(each)}.values())
        lacking = await self._find_lacking([*below, *own])
        copied = [each for each in below if each in lacking and not await self._mount(each)]
        sent = [*copied, *(each for each in own if each in lacking)]
        self._whole = sum(each.size for each in sent)
        spool = Spool(self._source, built.spool, keeps=lambda blob: False)
        for each in copied:
            file = await spool.fetch(each, lambda size: None)
            await self._sink.upload(each, file, self._count)
            spool.drop(each)
        for each in sent[len(copied) :]:
            await self._sink.upload(each, built.files[each.digest], self._count)
        await self._put_manifest()
        return Sent(self._whole, len(sent), len(below) + len(own) - len(sent))

    async def _find_lacking(self, blobs: Sequence[Blob]) -> set[Blob]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def lacks(blob: Blob) -> bool:
            async with places:
                return not await self._sink.has_blob(blob.digest)

        answers = await asyncio.gather(*map(lacks, blobs))
        return {blob for blob, lacking in zip(blobs, answers, strict=True) if lacking}

    async def _mount(self, blob: Blob) -> bool:
        base, target = self._source.repository, self._sink.repository
        return base.host == target.host and base.name != target.name and await self._sink.mount(blob, base.name)

    def _count(self, size: int) -> None:
        self._done += size
        self._advance("sending", self._done, self._whole)

    async def _put_manifest(self) -> None:
        built, sink = self._built, self._sink
        await sink.put_manifest(built.tag, built.manifest, media_type_of(built))
        if await sink.fetch_manifest(built.digest, may_lack=True) is None:
            raise ImageError(
                phrase("{registry} took the manifest and does not have it under {digest}: it has changed it, or keeps "
                       "it for later", registry=sink.host, digest=built.digest)
            )  # fmt: skip


def media_type_of(built: Built) -> str:
    """Of its manifest. Pure."""
    return OCI_MANIFEST if built.base.is_oci else DOCKER_MANIFEST


def is_distributed(blob: Blob) -> bool:
    """Layers of Windows and of some vendors lie where their makers say, and in no other registry. Pure."""
    return "nondistributable" not in blob.media_type and "foreign" not in blob.media_type
