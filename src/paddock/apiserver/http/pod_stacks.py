"""The protocol for taking the stacks of a pod. The node implements it (`node.stacks`); `app` connects the two."""

from __future__ import annotations

from typing import Protocol

from paddock.kube.meta import Manifest
from paddock.kube.pod_stacks import PodStacks


class StackTaker(Protocol):
    async def take(self, pod: Manifest) -> PodStacks:
        """What there is now; a pod without a container that runs has no processes."""
        ...
