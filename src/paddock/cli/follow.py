"""Follow a job to its end: its status, its pods, and every line that they print. Reads only.

Connections may break and the cluster may be killed meanwhile: `client.follow` goes on by itself, and a log is read
again from the byte where it broke off. The answer is a `View`, from which `display` makes the words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from paddock.cli.display import View, build_live_line
from paddock.cli.jobs_view import rank_name
from paddock.cli.log_lines import Lines
from paddock.cli.screen import Screen
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.explain import explain
from paddock.jobs.model import Phase, Rank
from paddock.jobs.pods import read_pod
from paddock.jobs.progress import read_progress
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import PODS, Manifest, Resource, is_controlled_by, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.client.client import Client

_DRAIN = 3.0
"""Seconds that the last lines of ended ranks have to arrive after the job has ended."""


class Gone(Exception):
    """The job was deleted while it was followed."""


class Follower:
    """One followed job. `shows` chooses the ranks whose lines are printed; progress is read from all of them."""

    def __init__(
        self, client: Client, resource: Resource, job: Manifest, screen: Screen, shows: Callable[[Rank], bool]
    ) -> None:
        self._client = client
        self._resource = resource
        self._api = KINDS[resource]
        self._uid, self._namespace, self._name = uid_of(job), namespace_of(job), name_of(job)
        read = self._api.read_job(job)
        self.view = View(read, self._api.read_status(job), time.time())
        self._screen, self._shows = screen, shows
        self._width = max(len(str(rank)) for rank in read.ranks())
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._ended = asyncio.Event()
        self._running: set[str] = set()
        self._said = ""

    async def run(self) -> View:
        """Until the job has ended. Raises `Gone`, `ApiError`."""
        tasks = [asyncio.create_task(work) for work in (self._follow_job(), self._follow_pods(), self._paint())]
        try:
            ended = asyncio.create_task(self._ended.wait())
            done, _ = await asyncio.wait([*tasks, ended], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._drain()
            return self.view
        finally:
            for task in (*tasks, *self._streams.values()):
                task.cancel()
            await asyncio.gather(*tasks, *self._streams.values(), return_exceptions=True)

    async def _drain(self) -> None:
        """The last lines of ranks that have ended; servers that are kept running print on, and are not waited for."""
        waiting = [task for uid, task in self._streams.items() if uid not in self._running]
        if waiting:
            await asyncio.wait(waiting, timeout=_DRAIN)

    async def _follow_job(self) -> None:
        async for event in self._client.follow(self._resource, self._namespace, fields=f"metadata.name={self._name}"):
            if event.type == "SYNCED" or uid_of(event.object) != self._uid:
                continue
            if event.type == "DELETED":
                raise Gone
            status = self._api.read_status(event.object)
            self.view = replace(self.view, status=status)
            self._say_why()
            if status.phase.terminal:
                self._ended.set()

    def _say_why(self) -> None:
        """Where there is no live line, a line for each new reason to wait or to start again."""
        status = self.view.status
        sentence = explain(status.cause) if status.cause and not status.phase.terminal else ""
        if sentence and sentence != self._said and status.phase is not Phase.RUNNING:
            reason = status.cause.reason if status.cause else ""
            if reason in _WORTH_A_LINE or (reason == "BuildingEnvironment" and not self._screen.is_live):
                self._screen.talk(sentence)
        self._said = sentence

    async def _follow_pods(self) -> None:
        async for event in self._client.follow(PODS, self._namespace):
            pod = event.object
            if event.type == "SYNCED" or not is_controlled_by(pod, self._uid):
                continue
            read = read_pod(pod)
            if read is None:
                continue
            self._note(pod, read.rank, event.type == "DELETED" or read.ended)

    def _note(self, pod: Manifest, rank: Rank, ended: bool) -> None:
        uid, container = uid_of(pod), _main_container(pod)
        message = ((container.get("state") or {}).get("terminated") or {}).get("message")
        if message:
            self.view = replace(self.view, messages={**self.view.messages, rank: str(message)})
        if ended:
            self._running.discard(uid)
        elif "running" in (container.get("state") or {}):
            self._running.add(uid)
        started = {"running", "terminated"} & set(container.get("state") or {})
        if started and uid not in self._streams:
            name = str(container.get("name") or "")
            self._streams[uid] = asyncio.create_task(self._stream(name_of(pod), name, rank_name(pod), rank))

    async def _stream(self, pod: str, container: str, label: str, rank: Rank) -> None:
        """All lines of one pod. After a broken connection what was seen is skipped."""
        lines = Lines()
        while True:
            skip = lines.seen
            try:
                async for chunk in self._client.stream_log(self._namespace, pod, container=container, follow=True):
                    fresh, skip = chunk[skip:], max(0, skip - len(chunk))
                    for text in lines.feed(fresh):
                        self._show(label, rank, text)
                break
            except NotFound:
                break
            except ApiError:
                await asyncio.sleep(0.5)
        for text in lines.end():
            self._show(label, rank, text)

    def _show(self, label: str, rank: Rank, text: str) -> None:
        progress = read_progress(text)
        if progress:
            self.view = replace(self.view, progress={**self.view.progress, rank: progress})
        if self._shows(rank) and text.strip():
            self._screen.rank_line(label, self._width, text)

    async def _paint(self) -> None:
        while True:
            self._screen.status(build_live_line(self.view, time.time()))
            await asyncio.sleep(0.125)


_WORTH_A_LINE = frozenset(
    {"RankRestarted", "PodsDeleted", "PodsLost", "WaitingForScheduler", "ImageUnavailable", "ConfigurationWrong",
     "ObjectInTheWay", "NoFreePort", "Suspended", "Resized", "Resumed", "ContainerWaiting"}
)  # fmt: skip


def _main_container(pod: Manifest) -> Manifest:
    """The status of the container that trains: `paddle` by name, else the first."""
    statuses: list[Manifest] = (pod.get("status") or {}).get("containerStatuses") or []
    return next((each for each in statuses if each.get("name") == "paddle"), statuses[0] if statuses else {})
