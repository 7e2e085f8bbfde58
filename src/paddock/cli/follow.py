"""Follow a job to its end: its status, its pods, every line that they print, and the environment they wait for.

Reads only. Connections may break and the cluster may be killed meanwhile: `client.follow` goes on by itself, and
`rank_log` reads a log again from where it broke off. The answer is a `View`, from which `display` makes the words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paddock.cli.building import Builds
from paddock.cli.display import View, build_live_line
from paddock.cli.jobs_view import ended_message, rank_name, read_environment
from paddock.cli.places import Flags, Place
from paddock.cli.rank_log import follow_lines
from paddock.cli.screen import Screen
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.complaints import find_complaint
from paddock.jobs.explain import explain
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import CauseRecord, Phase, Rank
from paddock.jobs.phrases import Phrase
from paddock.jobs.pods import read_pod
from paddock.jobs.progress import read_progress
from paddock.kube.meta import ENVIRONMENTS, PODS, Manifest, Resource, is_controlled_by, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.client.client import Client

_DRAIN = 3.0
"""Seconds that the last lines of ended ranks have to arrive after the job has ended."""
_PAINT = 0.125


class Gone(Exception):
    """The job was deleted while it was followed."""


class Follower:
    """One followed job. `shows` chooses the ranks whose lines are printed; progress is read from all of them.

    `raw` leaves out the ranks' names; `tail` cuts what they have printed before; `on_view` hears of each new status;
    causes of the reasons in `untold` are not told, as the caller does that.
    """

    def __init__(
        self,
        client: Client,
        place: Place,
        resource: Resource,
        job: Manifest,
        screen: Screen,
        shows: Callable[[Rank], bool],
        *,
        tail: int | None = None,
        raw: bool = False,
        on_view: Callable[[View], None] = lambda _: None,
        untold: frozenset[str] = frozenset(),
    ) -> None:
        self._client, self._place, self._resource = client, place, resource
        self._api = KINDS[resource]
        self._uid, self._namespace, self._name = uid_of(job), namespace_of(job), name_of(job)
        read = self._api.read_job(job)
        self.view = View(read, self._api.read_status(job), time.time())
        self._screen, self._shows, self._tail, self._on_view = screen, shows, tail, on_view
        self._worth_a_line = _WORTH_A_LINE - untold
        self._raw = raw
        self._width = max((len(str(rank)) for rank in read.ranks()), default=0)
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._streamed: set[Rank] = set()
        self._ended = asyncio.Event()
        self._running: set[str] = set()
        self._awaited = asyncio.Event()
        self._environments: set[str] = set()
        self._builds = Builds(screen)
        self._said = ""

    async def run(self) -> View:
        """Until the job has ended. Raises `Gone`, `ApiError`."""
        parts = (self._follow_job(), self._follow_pods(), self._follow_environments(), self._paint())
        tasks = [asyncio.create_task(part) for part in parts]
        ended = asyncio.create_task(self._ended.wait())
        try:
            done, _ = await asyncio.wait([*tasks, ended], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._drain()
            return self.view
        finally:
            every = (*tasks, ended, *self._streams.values())
            for task in every:
                task.cancel()
            await asyncio.gather(*every, return_exceptions=True)

    async def _drain(self) -> None:
        """The last lines of ranks that have ended; servers that are kept running print on, and are not waited for.

        The pods' watch may be behind the job's: a rank that has succeeded has a log, heard of or not yet.
        """
        deadline = time.monotonic() + _DRAIN
        while self._unheard() and time.monotonic() < deadline:  # noqa: ASYNC110 - once, and for a moment
            await asyncio.sleep(0.02)
        waiting = [task for uid, task in self._streams.items() if uid not in self._running]
        if waiting:
            await asyncio.wait(waiting, timeout=max(0.0, deadline - time.monotonic()))

    def _unheard(self) -> set[Rank]:
        if self.view.status.phase is not Phase.COMPLETED:
            return set()
        return {rank for role in self.view.job.roles if role.decides for rank in role.ranks()} - self._streamed

    async def _follow_job(self) -> None:
        async for event in self._client.follow(self._resource, self._namespace, fields=f"metadata.name={self._name}"):
            if event.type == "SYNCED" or uid_of(event.object) != self._uid:
                continue
            if event.type == "DELETED":
                raise Gone
            status = self._api.read_status(event.object)
            self.view = replace(self.view, status=status, ended=time.time() if status.phase.terminal else None)
            self._say_why()
            self._on_view(self.view)
            if status.phase.terminal:
                self._ended.set()

    def _say_why(self) -> None:
        """A line for each new reason to wait or to start again; what passes in a moment is for the live line."""
        status = self.view.status
        worth = status.cause is not None and status.cause.reason in self._worth_a_line and not status.phase.terminal
        sentence = explain(status.cause, self._screen.language) if worth and status.cause else ""
        if sentence and sentence != self._said:
            self._screen.talk(sentence)
            for step in _steps(status.cause, self._name, self._namespace, self._place.flags):
                self._screen.talk(step)
        self._said = sentence or self._said

    async def _follow_pods(self) -> None:
        async for event in self._client.follow(PODS, self._namespace):
            pod = event.object
            if event.type == "DELETED":  # after a broken connection it comes with its identity alone
                self._running.discard(uid_of(pod))
            if event.type == "SYNCED" or not is_controlled_by(pod, self._uid):
                continue
            read = read_pod(pod)
            if read is not None:
                self._note(pod, read.rank, event.type == "DELETED" or read.ended)

    def _main_status(self, pod: Manifest) -> Manifest:
        """The status of the container that trains; empty before there is one."""
        statuses: list[Manifest] = (pod.get("status") or {}).get("containerStatuses") or []
        return statuses[main_container(self.view.job, statuses)] if statuses else {}

    def _note(self, pod: Manifest, rank: Rank, ended: bool) -> None:
        uid, container = uid_of(pod), self._main_status(pod)
        state = container.get("state") or {}
        if message := ended_message(pod):
            self.view = replace(self.view, messages={**self.view.messages, rank: message})
        if self._place.home is not None:
            self._note_environment(state.get("waiting") or {})
        if ended:
            self._running.discard(uid)
        elif "running" in state:
            self._running.add(uid)
        if uid not in self._streams and _has_run(state):
            self._streams[uid] = asyncio.create_task(self._stream(pod, str(container.get("name") or ""), rank))
            self._streamed.add(rank)

    async def _stream(self, pod: Manifest, container: str, rank: Rank) -> None:
        async for lines in follow_lines(self._client, self._place, pod, container, self._tail, self._screen.talk):
            self._show(rank_name(pod), rank, lines)

    def _show(self, label: str, rank: Rank, lines: list[str]) -> None:
        for progress in filter(None, map(read_progress, lines)):
            self.view = replace(self.view, progress={**self.view.progress, rank: progress})
        if rank not in self.view.complaints and (complaint := find_complaint(lines)) and complaint.is_fatal:
            self.view = replace(self.view, complaints={**self.view.complaints, rank: complaint})
        if self._shows(rank):
            self._screen.rank_lines("" if self._raw else label, self._width, lines)

    def _note_environment(self, waiting: Mapping[str, Any]) -> None:
        if named := read_environment(str(waiting.get("message") or "")):
            self._environments.add(named)
            self._awaited.set()

    async def _follow_environments(self) -> None:
        """From the moment that a pod waits for one."""
        await self._awaited.wait()
        async for event in self._client.follow(ENVIRONMENTS):
            if event.type == "SYNCED" or (name := name_of(event.object)) not in self._environments:
                continue
            self._builds.show(name, event.object.get("status") or {})

    async def _paint(self) -> None:
        while True:
            line = build_live_line(self.view, time.time(), self._screen.language)
            self._screen.status(self._builds.live or line)
            await asyncio.sleep(_PAINT)


def _steps(cause: CauseRecord | None, name: str, namespace: str, flags: Flags) -> list[Phrase]:
    """What to type, where the job waits for the user alone and nothing tells it later."""
    from paddock.cli.explain import build_next, build_steps

    if cause is None or cause.reason not in ("ImageUnavailable", "EnvironmentFailed"):
        return []
    return build_next(build_steps(cause, name, namespace, flags=flags))


_WORTH_A_LINE = frozenset(
    {"RankRestarted", "PodsDeleted", "PodsLost", "WaitingForScheduler", "ImageUnavailable", "EnvironmentFailed",
     "ConfigurationWrong", "ObjectInTheWay", "ObjectsRefused", "NoFreePort", "Suspended", "Resized", "Resumed",
     "ContainerWaiting"}
)  # fmt: skip


def _has_run(state: Mapping[str, Any]) -> bool:
    """Whether there is a log: not of a container whose program could not even be started."""
    return "running" in state or ("terminated" in state and state["terminated"].get("reason") != "StartError")
