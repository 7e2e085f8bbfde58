"""The image below: read from its registry, for one platform, and what its layers tell. I/O.

What a layer tells is kept by its digest (`~/.cache/paddock/images/layers`), so a base image is downloaded once.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from paddock.images.contents import Contents, join
from paddock.images.errors import ImageError
from paddock.images.layers import Stopped, read_layer
from paddock.images.manifests import (
    Blob,
    Image,
    choose_manifest,
    compute_digest,
    explain_other_platform,
    is_index,
    read_blobs,
    read_image,
    read_json,
)
from paddock.images.platforms import Platform
from paddock.images.references import Reference
from paddock.images.registry import Registry
from paddock.words.phrases import Phrase, phrase

_FORMAT = 1
"""Of what is kept of a layer. Increase it when more is read."""
Advance = Callable[[str, int, int], None]
"""Called with what is done (`downloading`, `packing`, `sending`; else uv's own words, without bytes), the bytes so far
and all of them."""


async def fetch_image(registry: Registry, reference: Reference, platform: Platform) -> Image:
    """Raises `ImageError`."""
    name = str(reference)
    content, media_type = await _fetch(registry, reference.version)
    manifest = read_json(content, name)
    if listed := is_index(manifest, media_type):
        content, media_type = await _fetch(registry, choose_manifest(manifest, platform, name))
        manifest = read_json(content, name)
    config_blob, _ = read_blobs(manifest, name)
    config = read_json(await registry.fetch_blob(config_blob), name)
    image = read_image(compute_digest(content), manifest, media_type, config, name)
    if not listed and (said := explain_other_platform(image, platform, name)):
        raise ImageError(said, is_mistake=True)
    return image


async def _fetch(registry: Registry, version: str) -> tuple[bytes, str]:
    found = await registry.fetch_manifest(version)
    assert found is not None, "it may not lack"
    return found


class Spool:
    """Layers as files in a directory, downloaded once. `keeps`: they are wanted again, to be sent."""

    def __init__(self, registry: Registry, directory: Path, *, keeps: Callable[[Blob], bool]) -> None:
        self._registry, self._directory, self._keeps = registry, directory, keeps

    async def fetch(self, blob: Blob, count: Callable[[int], None]) -> Path:
        place = self._directory / blob.digest.removeprefix("sha256:")
        if not place.exists():
            new = place.with_suffix(".new")
            await self._registry.download(blob, new, count)
            new.replace(place)
        return place

    def drop(self, blob: Blob) -> None:
        if not self._keeps(blob):
            (self._directory / blob.digest.removeprefix("sha256:")).unlink(missing_ok=True)


async def fetch_contents(
    spool: Spool, layers: Sequence[Blob], kept: Path, advance: Advance
) -> tuple[Contents, list[Phrase]]:
    """What is in the image, and what is to be said of layers that could not be read. Raises `ImageError`, OSError."""
    known = {blob.digest: _read_kept(kept, blob) for blob in layers}
    missing = [blob for blob in layers if known[blob.digest] is None]
    whole, done = sum(blob.size for blob in missing), 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        advance("downloading", done, whole)

    unread = 0
    for blob in missing:
        file = await spool.fetch(blob, count)
        found = await _read_aside(file)
        spool.drop(blob)
        unread += found is None
        known[blob.digest] = found or Contents()
        if found is not None:
            _keep(kept, blob, found)
    said = [phrase("{count} of the {all} layers of the base image cannot be read here, so what they have is not known",
                   count=unread, all=len(layers))] if unread else []  # fmt: skip
    return join(each for blob in layers if (each := known[blob.digest]) is not None), said


async def _read_aside(file: Path) -> Contents | None:
    """In a thread, which ends where the caller is cancelled."""
    stopped = threading.Event()
    try:
        return await asyncio.to_thread(read_layer, file, lambda: not stopped.is_set())
    except Stopped:
        return None
    finally:
        stopped.set()


def _read_kept(kept: Path, blob: Blob) -> Contents | None:
    try:
        parsed = json.loads(_place(kept, blob).read_bytes())
        return Contents(**parsed["contents"]) if parsed["format"] == _FORMAT else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _keep(kept: Path, blob: Blob, contents: Contents) -> None:
    place = _place(kept, blob)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, json.dumps({"format": _FORMAT, "contents": asdict(contents)}))


def write_whole(place: Path, text: str) -> None:
    """The file, whole or not at all: another command may write the same one at this moment."""
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _place(kept: Path, blob: Blob) -> Path:
    return kept / f"{blob.digest.removeprefix('sha256:')}.json"
