"""Connects the kubelet's interface for images (`node.runtime.images`) to `environments`: neither imports the other."""

from __future__ import annotations

from paddock.environments import answers
from paddock.environments.library import Environments
from paddock.kube.meta import Manifest
from paddock.node.runtime.images import Image, Preparing, Unavailable


class EnvironmentImages:
    """Implements `node.runtime.images.Images` with the Environment objects of the cluster."""

    def __init__(self, environments: Environments) -> None:
        self._environments = environments

    def resolve(self, container: Manifest, pod: Manifest) -> Image | Preparing | Unavailable:
        match self._environments.resolve(container, pod):
            case answers.Ready(environment, command, files, notice):
                return Image(str(container.get("image") or ""), environment, command, files, notice)
            case answers.Preparing(message, notice):
                return Preparing(message, notice=notice)
            case answers.Unavailable(message, reason, notice):
                return Unavailable(message, reason, notice)

    async def changed(self) -> None:
        await self._environments.changed()
