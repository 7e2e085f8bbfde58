"""Kills orphan processes of pods while the node runs, and all recorded processes when no daemon runs.

Without a sandbox a program may leave processes in sessions of their own. They are found by the pod UID in their
environment (`node.runtime.processes`), and while its first process lives as the descendants of that. A process that
clears its environment and outlives its parent is not found; only bubblewrap prevents this. Whether a run's first
process lives is never asked of environments: the record and the run's file tell it (`node.runtime.runs`).
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from paddock.kube.times import Moment
from paddock.node.runtime import processes
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import Process
from paddock.node.runtime.records import Records
from paddock.node.runtime.runs import Runs, Trace
from paddock.node.runtime.sandbox import Plain

# Requests of this time share one scan of /proc, because containers of a job often end together.
_BATCH_SECONDS = 0.02
_POLL_SECONDS = 0.02


class OrphanProcesses:
    """Kills the processes that ended containers left. Concurrent requests share one scan of /proc."""

    def __init__(self, is_running: Callable[[str, str], bool]) -> None:
        self._is_running = is_running
        self._wanted: set[str] = set()
        self._scan: asyncio.Task[None] | None = None

    async def kill(self, uid: str) -> None:
        """Returns when every process of the pod's ended containers has been sent SIGKILL."""
        self._wanted.add(uid)
        if self._scan is None:
            self._scan = asyncio.create_task(self._kill_all())
        # A cancelled caller must not stop the scan that others wait for.
        await asyncio.shield(self._scan)

    async def _kill_all(self) -> None:
        await asyncio.sleep(_BATCH_SECONDS)
        wanted, self._wanted, self._scan = self._wanted, set(), None
        for uid, found in processes.find_pod_processes(wanted).items():
            for pid, container in found:
                if not self._is_running(uid, container):
                    processes.send_signal(pid, signal.SIGKILL)


def end_leftovers(directory: Path, grace: float, now: Moment | None = None) -> int:
    """Ends all processes of recorded pods, removes records, scratch directories and links, returns how many ended.

    What is held longer than `now` keeps its record and its files. Only when no daemon runs. SIGTERM first, SIGKILL
    after `grace` seconds. Blocks for at most one second more.
    """
    records = Records(directory)
    states = records.load()
    runs = Runs(records, Plain())
    found = _find_all(runs, states)
    for process in found:
        processes.send_signal(process.pid, signal.SIGTERM)
    _wait(found, grace)
    deadline = time.monotonic() + 1.0
    # Repeated, because a program may start others between the scan and the signal.
    while (left := _find_all(runs, states)) and time.monotonic() < deadline:
        for process in left:
            processes.send_signal(process.pid, signal.SIGKILL)
        _wait(left, 0.1)
    now = time.time() if now is None else now
    held = [state for state in states.values() if state.held is not None and now < state.held]
    kept = frozenset(path for state in held for path in state.outside)
    for state in states.values():
        if state in held:
            records.remove_links(state, frozenset())
            records.remove_memory(state)
            continue
        records.remove_outside(state)
        records.remove_copies(state.outside, kept)
        records.remove(state)
    return len(found)


def _find_all(runs: Runs, states: Mapping[str, PodState]) -> set[Process]:
    found = {pid for marked in processes.find_pod_processes(states).values() for pid, _ in marked}
    boot = processes.read_boot()
    for state in states.values():
        # Pids and births of another boot mean nothing.
        for run in state.running if state.boot == boot else ():
            main = _find_main(runs, state, run)
            if main is not None and processes.is_alive(main):
                found |= {main.pid, *processes.find_descendants(main.pid)}
    births = {pid: processes.read_birth(pid) for pid in found}
    return {Process(pid, birth) for pid, birth in births.items() if birth is not None}


def _find_main(runs: Runs, state: PodState, run: Run) -> Process | None:
    if run.pid:
        return Process(run.pid, run.birth)
    deadline = time.monotonic() + 1.0
    while (found := runs.trace(state, run)) is Trace.STARTING and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return found if isinstance(found, Process) else None


def _wait(wanted: set[Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(map(processes.is_alive, wanted)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
