"""Where a pod's log comes from: the question. A node answers it (`paddock.node.logs`); `paddock.app` joins the two."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The query of GET pods/NAME/log (core/v1 PodLogOptions). `container` is filled in: never empty here."""

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: float | None = None
    limit_bytes: int | None = None


class PodLogs(Protocol):
    def read(self, pod: Manifest, options: LogOptions) -> AsyncIterator[bytes]:
        """Chunks of the log; with `follow`, until the container has ended. Raises `kube.errors.BadRequest` with
        kubelet's sentence where there is no log yet (`container "paddle" in pod "x" is waiting to start: …`)."""
        ...
