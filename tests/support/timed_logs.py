"""A node that prints, as a Kubernetes serves it: lines with times, followed, broken off, of the container before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from paddock.apiserver.http.pod_logs import LogOptions
from paddock.kube.errors import BadRequest
from paddock.kube.meta import Manifest, name_of


@dataclass
class Container:
    """`lines`: seconds since the epoch and text. `over`: it prints no more. `breaks`: a stream breaks off in the middle
    of this line, once. `before`: what it printed before it was started again."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    over: bool = False
    breaks: int | None = None
    before: list[tuple[float, str]] = field(default_factory=list)
    streams: int = 0


class TimedLogs:
    """The containers by the names of their pods. `plain`: this node knows no times."""

    def __init__(self, *, plain: bool = False) -> None:
        self.containers: dict[str, Container] = {}
        self.plain = plain
        self._news = asyncio.Event()

    def print(self, pod: str, *texts: str, at: float | None = None) -> None:
        for text in texts:
            self.of(pod).lines.append((time.time() if at is None else at, text))
        self.tell()

    def end(self, pod: str) -> None:
        self.of(pod).over = True
        self.tell()

    def restart(self, pod: str) -> None:
        found = self.of(pod)
        found.before, found.lines = found.lines, []
        self.tell()

    def of(self, pod: str) -> Container:
        return self.containers.setdefault(pod, Container())

    def tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def read(self, pod: Manifest, options: LogOptions) -> AsyncIterator[bytes]:
        found = self.of(name_of(pod))
        if options.timestamps and self.plain:
            raise BadRequest("this node keeps no time for each line of a log, so timestamps are not available")
        if options.previous and not found.before:
            raise BadRequest("previous terminated container not found")
        found.streams += 1
        lines = found.before if options.previous else found.lines
        least = time.time() - options.since_seconds - 1 if options.since_seconds else 0.0
        place = 0
        while True:
            news = self._news
            while place < len(lines):
                moment, text = lines[place]
                if found.breaks == place:
                    found.breaks = None
                    yield self._write(moment, text, options)[:-2]
                    raise ConnectionResetError
                if moment >= least:
                    yield self._write(moment, text, options)
                place += 1
            if found.over or options.previous or not options.follow or lines is not found.lines:
                return
            await news.wait()

    def _write(self, moment: float, text: str, options: LogOptions) -> bytes:
        if not options.timestamps:
            return f"{text}\n".encode()
        whole = int(moment)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        return f"{stamp}.{round((moment - whole) * 1e9):09d}Z {text}\n".encode()
