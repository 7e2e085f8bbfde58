"""Ends what pods leave behind: stray processes while the node runs, and everything recorded after a crash.

Without a sandbox a program may leave processes in sessions of their own. They are found by the mark in their
environment (`paddock.node.processes`); one that wipes its environment and outlives its parent is not found, which only
bubblewrap prevents.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from paddock.node import processes
from paddock.node.pod_state import PodState
from paddock.node.processes import Process
from paddock.node.records import Records

_TOGETHER = 0.02  # seconds in which requests are gathered for one walk through /proc
_LOOK = 0.02


class Strays:
    """Ends processes of containers that have ended. Many requests at once cost one walk through /proc."""

    def __init__(self, is_running: Callable[[str, str], bool]) -> None:
        self._is_running = is_running
        self._wanted: set[str] = set()
        self._walk: asyncio.Task[None] | None = None

    async def end(self, uid: str) -> None:
        """Returns when every process of the pod's ended containers has been sent SIGKILL."""
        self._wanted.add(uid)
        if self._walk is None:
            self._walk = asyncio.create_task(self._end_all())
        await asyncio.shield(self._walk)

    async def _end_all(self) -> None:
        await asyncio.sleep(_TOGETHER)
        wanted, self._wanted, self._walk = self._wanted, set(), None
        for uid, found in processes.find_marked(wanted).items():
            for pid, container in found:
                if not self._is_running(uid, container):
                    processes.send_signal(pid, signal.SIGKILL)


def end_leftovers(directory: Path, grace: float) -> int:
    """End every process of every recorded pod and remove records, scratch directories and links; how many ended.

    For when no daemon runs any more. SIGTERM first, SIGKILL after `grace` seconds. Blocks for that long at most, and
    a second more.
    """
    records = Records(directory)
    states = records.load()
    found = _find_all(states)
    for process in found:
        processes.send_signal(process.pid, signal.SIGTERM)
    _wait(found, grace)
    deadline = time.monotonic() + 1.0
    while (left := _find_all(states)) and time.monotonic() < deadline:
        for process in left:
            processes.send_signal(process.pid, signal.SIGKILL)
        _wait(left, 0.1)
    for state in states.values():
        records.remove_outside(state)
        records.remove(state)
    return len(found)


def _find_all(states: Mapping[str, PodState]) -> set[Process]:
    found = {
        Process(pid, birth)
        for marked in processes.find_marked(states).values()
        for pid, _ in marked
        if (birth := processes.read_birth(pid)) is not None
    }
    boot = processes.read_boot()
    for state in states.values():
        mains = {Process(run.pid, run.birth) for run in state.running if state.boot == boot}
        found |= {process for process in mains if processes.is_alive(process)}
    return found


def _wait(wanted: set[Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(map(processes.is_alive, wanted)) and time.monotonic() < deadline:
        time.sleep(_LOOK)
