"""Asks the local cluster for the stacks of pods (`kube.pod_stacks`), eight pods at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Manifest, name_of, namespace_of
from paddock.kube.pod_stacks import PodStacks

if TYPE_CHECKING:
    from paddock.kube.api import PodApi

_AT_ONCE = 8


class NoStacks(Exception):
    """The server takes no stacks: it is a Kubernetes, or a local cluster of an older Paddock."""


async def fetch_stacks(client: PodApi, pods: Mapping[str, Manifest]) -> dict[str, PodStacks]:
    """`pods`: by rank; a pod that is gone meanwhile has no processes. Raises `NoStacks`, `ApiError`."""
    some = asyncio.Semaphore(_AT_ONCE)

    async def fetch(pod: Manifest) -> PodStacks:
        path = PODS.path(namespace_of(pod), name_of(pod), "stacks")
        try:
            async with some:
                answer = await client.fetch(path)
        except NotFound as error:
            if str(error).endswith("has no stacks here"):
                raise NoStacks from error
            return PodStacks(name_of(pod))
        return msgspec.convert(answer, PodStacks)

    found = await asyncio.gather(*map(fetch, pods.values()))
    return dict(zip(pods, found, strict=True))
