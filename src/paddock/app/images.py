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

    def resolve(self, image: str, pod: Manifest) -> Image | Preparing | Unavailable:
        match self._environments.resolve(image, pod):
            case answers.Ready(environment, command, files):
                return Image(image, environment, command, files)
            case answers.Preparing(message):
                return Preparing(message)
            case answers.Unavailable(message, reason):
                return Unavailable(message, reason)

    async def changed(self) -> None:
        await self._environments.changed()
