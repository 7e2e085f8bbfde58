"""The containers of failed pods that are held, and the sandboxes that are open in them (`kube.held_pods`).

Several who enter one container are in one sandbox, so they see each other's processes. It ends when the last has left,
when the hold is over, and when the pod is deleted; what was left running in it ends with it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from paddock.kube.errors import BadRequest
from paddock.kube.held_pods import read_held
from paddock.kube.meta import Manifest, name_of, uid_of
from paddock.kube.times import Moment
from paddock.node.kubelet.pod_table import PodTable
from paddock.node.runtime import processes
from paddock.node.runtime.cgroups import Cgroups
from paddock.node.runtime.container_env import CannotStart, ContainerWaiting
from paddock.node.runtime.held import OpenSandbox, open_sandbox
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import ExitWatcher
from paddock.node.runtime.records import Records
from paddock.node.runtime.runs import Runs
from paddock.node.runtime.sandbox import Sandbox, find_sandbox
from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class Entered:
    """A held container with somebody in it; `leave` is called once."""

    state: PodState
    run: Run
    run_file: Path
    directory: str
    leave: Callable[[], None]


@dataclass(slots=True)
class _Open:
    sandbox: OpenSandbox
    ended: asyncio.Event
    visitors: int = 0


class Holds:
    def __init__(
        self,
        pods: PodTable,
        records: Records,
        runs: Runs,
        sandbox: Sandbox,
        cgroups: Cgroups,
        clock: Callable[[], Moment],
        kill_left: Callable[[str], Awaitable[None]],
    ) -> None:
        """`kill_left` ends processes of containers that are not running, by the pod's UID."""
        self._pods, self._records, self._runs, self._sandbox, self._cgroups = pods, records, runs, sandbox, cgroups
        self._clock, self._kill_left = clock, kill_left
        self._watcher = ExitWatcher()
        self._open: dict[tuple[str, str], _Open] = {}
        self._made: dict[asyncio.Event, str] = {}  # by their end, those that are not tidied up yet: the pod's UID
        self._numbers = count()
        self._tasks: set[asyncio.Task[None]] = set()

    def left(self, manifest: Manifest) -> float:
        """Seconds until the hold of the pod is over; 0 of a pod that is not held."""
        until = read_held(manifest)
        return 0.0 if until is None else max(0.0, until - self._clock())

    def is_open(self, uid: str, container: str) -> bool:
        return (uid, container) in self._open

    def has(self, uid: str) -> bool:
        return any(each == uid for each, _ in self._open)

    def enter(self, manifest: Manifest, container: str) -> Entered | None:
        """None of a container that is not held. Raises `BadRequest` where its sandbox cannot be made again."""
        pod = self._pods.get(uid_of(manifest))
        state = pod.state if pod is not None else None
        if not self.left(manifest) or pod is None or state is None or container not in state.runs or pod.gone:
            return None
        key = (state.uid, container)
        if key not in self._open:
            self._open[key] = self._make(manifest, state, state.runs[container])
        found = self._open[key]
        found.visitors += 1
        left = [found]

        def leave() -> None:
            for each in left:
                each.visitors -= 1
                if not each.visitors and self._open.get(key) is each:
                    self._close(key)
            left.clear()

        return Entered(state, found.sandbox.run, found.sandbox.run_file, found.sandbox.directory, leave)

    def _make(self, manifest: Manifest, state: PodState, run: Run) -> _Open:
        pod = self._pods.get(state.uid)
        shared = self._pods.used_by_others(pod) if pod is not None else frozenset[str]()
        # The one that it ran in, where this cluster has another by now.
        same = run.sandbox == self._sandbox.name
        sandbox = self._sandbox if same else find_sandbox(run.sandbox) or self._sandbox
        if pod is not None:
            pod.cleaned_up = False  # its links are used again; where it fails at the second, the first is there
        try:
            made = open_sandbox(self._records, sandbox, self._cgroups, state, run, shared, next(self._numbers))
        except ContainerWaiting as error:
            raise _refuse(manifest, run, error.obstacle.message) from error
        except (OSError, CannotStart) as error:
            raise _refuse(manifest, run, str(error)) from error
        if made is None:
            why = str(phrase("nothing is left of how it was started"))
            raise _refuse(manifest, run, why)
        opened = _Open(made, asyncio.Event())
        self._made[opened.ended] = state.uid
        self._watcher.watch(made.process, lambda: self._on_exit((state.uid, run.container), opened))
        return opened

    def _close(self, key: tuple[str, str]) -> None:
        opened = self._open.pop(key)
        os.close(opened.sandbox.pipe)

    def _on_exit(self, key: tuple[str, str], opened: _Open) -> None:
        if self._open.get(key) is opened:  # by itself: somebody has killed it
            self._close(key)
        task = asyncio.get_running_loop().create_task(self._tidy(key[0], opened))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tidy(self, uid: str, opened: _Open) -> None:
        try:
            processes.reap(opened.sandbox.process.pid)
            await self._kill_left(uid)
            opened.sandbox.run_file.unlink(missing_ok=True)
            opened.sandbox.log.unlink(missing_ok=True)
            self._cgroups.remove(uid, opened.sandbox.run)
            pod = self._pods.get(uid)
            if self.has(uid) or pod is None or pod.state is None:
                return
            self._records.remove_links(pod.state, self._pods.used_by_others(pod))
            pod.cleaned_up = True
            await asyncio.to_thread(self._records.remove_memory, pod.state)
        finally:
            del self._made[opened.ended]
            opened.ended.set()

    async def end(self, uid: str) -> None:
        """Ends all that is open in the pod."""
        await self._end({uid})

    async def end_all(self) -> None:
        """Ends all that is open, also what its last visitor has just left."""
        await self._end(set(self._made.values()))

    async def _end(self, uids: Collection[str]) -> None:
        waits = [ended for ended, uid in self._made.items() if uid in uids]
        for key in [key for key in self._open if key[0] in uids]:
            self._close(key)
        # A program may have stopped what waits for the pipe.
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await asyncio.gather(*(each.wait() for each in waits))
                return
        for uid in uids:
            await self._kill_left(uid)

    def close(self) -> None:
        """With the kubelet when it is not stopped but dropped: what is open ends by its pipe."""
        for key in list(self._open):
            self._close(key)
        self._watcher.close()
        for task in self._tasks:
            task.cancel()


def _refuse(manifest: Manifest, run: Run, why: str) -> BadRequest:
    said = phrase(
        "container {container} of pod {name} is held, and its sandbox cannot be made again: {why}",
        container=run.container, name=name_of(manifest), why=why,
    )  # fmt: skip
    return BadRequest(str(said))
