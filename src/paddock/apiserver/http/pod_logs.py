"""The protocol for reading pod logs. The node implements it (`node.runtime.logs`); `app` connects the two."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The query of GET pods/NAME/log (core/v1 PodLogOptions). `container` is never empty here."""

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: float | None = None
    limit_bytes: int | None = None


class PodLogs(Protocol):
    def read(self, pod: Manifest, options: LogOptions) -> AsyncIterator[bytes]:
        """Yields chunks of the log; with `follow`, until the container ends. Raises `kube.errors.BadRequest` with
        kubelet's message if there is no log yet (`container "paddle" in pod "x" is waiting to start: …`)."""
        ...
