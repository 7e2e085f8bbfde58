"""Images for tests of a node without environments: every image is this machine with its programs."""

from __future__ import annotations

import asyncio

from paddock.kube.meta import Manifest
from paddock.node.runtime.images import Image


class HostPrograms:
    """An `Images` that resolves every image to this machine."""

    def resolve(self, container: Manifest, pod: Manifest) -> Image:
        return Image(name=str(container.get("image") or ""))

    async def changed(self) -> None:
        await asyncio.Event().wait()
