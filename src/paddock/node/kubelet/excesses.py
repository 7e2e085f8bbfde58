"""Containers that have more than they may, where the system does not bound them: told once, and ended where that was
asked for, or where they take the machine.

Who measures (`node.usage.meter`) says what is too much. The end is recorded before the first signal, so that its reason
is known whoever sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from paddock.controllers.events import EventSink, build_event
from paddock.kube.container_ends import ABOVE_LIMIT, write_memory_end, write_processes_end
from paddock.kube.meta import Manifest, controller_of, namespace_of, uid_of
from paddock.kube.quantities import format_bytes
from paddock.kube.times import Moment
from paddock.node.kubelet.pod_events import COMPONENT
from paddock.node.kubelet.pod_table import PodTable
from paddock.node.runtime.bounds import Bounds, Excess
from paddock.node.runtime.cgroups import Cgroups
from paddock.node.runtime.containers import find_container, read_memory_limit
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import Records
from paddock.node.runtime.runs import OUT_OF_MEMORY, TOO_MANY_PROCESSES, Runs
from paddock.words.phrases import phrase

NOT_ENFORCED = "MemoryLimitNotEnforced"
_AGAIN = 0.1
"""Seconds between two signals to what does not end, as a program may have forked meanwhile."""

_MOST_TOLD = 1000
"""Of whom it is remembered that they were told, until those are forgotten that are gone. A job may have no pod for a
moment, between two attempts."""


class Excesses:
    """Of one node. `enforces`: whether a container above its limit of memory is to be ended, now."""

    def __init__(
        self,
        pods: PodTable,
        records: Records,
        runs: Runs,
        cgroups: Cgroups,
        sink: EventSink,
        *,
        enforces: Callable[[], bool],
        clock: Callable[[], Moment],
    ) -> None:
        self._pods, self._records, self._runs, self._cgroups, self._sink = pods, records, runs, cgroups, sink
        self._enforces, self._clock = enforces, clock
        self._told_owners: set[str] = set()
        self._told_runs: set[tuple[str, str, int]] = set()
        self._ending: dict[str, asyncio.Task[None]] = {}

    async def tell_unenforced(self, pod: Manifest, container: Manifest) -> None:
        """At the start of a container with a limit that nothing enforces: once for all pods of a job."""
        owner = controller_of(pod)
        uid = str(owner.get("uid")) if owner else uid_of(pod)
        if self._cgroups.limits_memory or read_memory_limit(container) is None or uid in self._told_owners:
            return
        if len(self._told_owners) >= _MOST_TOLD:
            self._told_owners &= {
                found for each in self._pods if each.manifest for found in _list_owners(each.manifest)
            }
        self._told_owners.add(uid)
        about = _about(pod)
        said = phrase(
            "memory limits are not enforced here, as this user may make no control groups: a container above its limit "
            "is told, and after `{command}` ended",
            command="paddock up --enforce-limits",
        )
        await self._write(about, NOT_ENFORCED, str(said), "Normal")

    def find_bounds(self, state: PodState, run: Run) -> Bounds:
        """What is watched of a run."""
        pod = self._pods.get(state.uid)
        if pod is None or pod.manifest is None:
            return Bounds()
        memory = processes = None
        if not self._cgroups.has(state.uid, run, "memory"):
            memory = read_memory_limit(find_container(pod.manifest, run.container))
        if not self._cgroups.has(state.uid, run, "pids"):
            processes = self._cgroups.most
        return Bounds(memory, processes)

    async def take(self, state: PodState, run: Run, excess: Excess) -> None:
        """Tells of it once, and ends the run where it must be."""
        pod = self._pods.get(state.uid)
        if pod is None or pod.manifest is None or pod.state is None or pod.state.ending is not None:
            return
        known = self._pods.find_run(state.uid, run.container)
        if known is None or known.number != run.number:
            return
        if known.reason:  # it is being ended, maybe since an earlier kubelet
            self._kill_until_ended(state.uid, known)
            return
        bounds = self.find_bounds(state, run)
        if excess.processes is not None and bounds.processes is not None:
            message = write_processes_end(excess.processes, bounds.processes)
            self._end(state.uid, replace(known, reason=TOO_MANY_PROCESSES, message=message))
        elif excess.memory is not None and bounds.memory is not None:
            await self._take_memory(pod.manifest, known, excess.memory, bounds.memory)

    async def _take_memory(self, pod: Manifest, run: Run, used: int, limit: int) -> None:
        if self._enforces():
            self._end(uid_of(pod), replace(run, reason=OUT_OF_MEMORY, message=write_memory_end(used, limit)))
            return
        key = (uid_of(pod), run.container, run.number)
        if key in self._told_runs:
            return
        if len(self._told_runs) >= _MOST_TOLD:
            self._told_runs = {each for each in self._told_runs if self._pods.is_running(*each)}
        self._told_runs.add(key)
        said = phrase(
            "uses {used}, its limit is {limit}: a cluster would have ended it (OOMKilled)",
            used=format_bytes(used), limit=format_bytes(limit),
        )  # fmt: skip
        await self._write(pod, ABOVE_LIMIT, str(said), "Warning")

    def _end(self, uid: str, run: Run) -> None:
        pod = self._pods.get(uid)
        if pod is None or pod.state is None:
            return
        pod.state = pod.state.with_run(run)
        self._records.try_save(pod.state)
        self._kill_until_ended(uid, run)

    def _kill_until_ended(self, uid: str, run: Run) -> None:
        key = f"{uid}/{run.container}/{run.number}"
        if key not in self._ending:
            task = self._ending[key] = asyncio.create_task(self._kill(uid, run))
            task.add_done_callback(lambda _: self._ending.pop(key, None))

    async def _kill(self, uid: str, run: Run) -> None:
        while (pod := self._pods.get(uid)) is not None and self._pods.is_running(uid, run.container, run.number):
            if pod.state is not None:
                self._runs.kill(pod.state, run)
            await asyncio.sleep(_AGAIN)

    async def _write(self, about: Manifest, reason: str, message: str, kind: str) -> None:
        await self._sink.write(build_event(about, reason, message, self._clock(), component=COMPONENT, type=kind))

    def close(self) -> None:
        for task in list(self._ending.values()):
            task.cancel()


def _list_owners(pod: Manifest) -> tuple[str, ...]:
    owner = controller_of(pod)
    return (uid_of(pod), str(owner.get("uid"))) if owner else (uid_of(pod),)


def _about(pod: Manifest) -> Manifest:
    """The pod's controller, if it has one: then its pods, which all say the same, have one event."""
    owner = controller_of(pod)
    if owner is None:
        return pod
    about = {"namespace": namespace_of(pod), "name": owner["name"], "uid": owner["uid"]}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "metadata": about}
