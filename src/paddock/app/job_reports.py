"""What this machine sees of the programs of jobs: since when none prints, and where they are then.

The operator asks (`operator.readings.Programs`) for jobs to which it matters; from then on the logs of their pods are
looked at, each for the little that it has grown. A line that only says that its process waits is not heard. Silence is
counted by a steady clock, so the sleep of a laptop is none, and from the first look of this process at a program that
has begun: a cluster that was started again counts anew, and a pod that waits for its room is not silent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from paddock.app.running_logs import RunningLogs
from paddock.jobs.model import Report, Stacks
from paddock.kube.meta import Manifest
from paddock.kube.pod_stacks import PodStacks, only_of
from paddock.kube.times import format_time
from paddock.logs.stack_lines import build_lines
from paddock.logs.stack_places import show_place
from paddock.logs.stacks import fold, merge_places
from paddock.logs.waiting import only_waits
from paddock.node.runtime.pod_files import open_for_writing, open_regular
from paddock.node.runtime.pod_state import PodState
from paddock.node.stacks.taking import NodeStacks

LOOK_SECONDS = 2.0
_LOOK_BYTES = 64 * 1024
"""Of what a log has grown by since the last look; what is longer is heard unread."""
_STACK_BYTES = 64 * 1024
"""Of the stacks of one rank that are written into its log."""
_STACKS_SECONDS = 60.0
"""For the stacks of all ranks of a job."""
_KEPT_SECONDS = 600.0
"""A pod that was asked for, and was never seen to run, is kept for so long."""
_MOST_PLACES, _MOST_RANKS = 3, 3

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Heard:
    """What is known of one pod."""

    at: float
    """When it was last heard, by the steady clock."""
    log: Path | None = None
    size: int = 0
    """Up to where the log was looked at."""
    is_written: bool = False
    """Stacks are being written into it, so its growth is not the program's alone."""
    waits: bool = False
    """Whether its program had not begun when it was asked for last."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """The stacks of a silence: of the one that began `at`."""

    at: float
    stacks: Stacks


class JobReports:
    """`read` may be called by any thread, all else by that of the event loop."""

    def __init__(
        self,
        logs: RunningLogs,
        stacks: NodeStacks,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._logs, self._stacks = logs, stacks
        self._clock, self._wall = clock, wall
        self._lock = threading.Lock()
        self._gangs: dict[frozenset[str], float] = {}
        """When each was asked for last."""
        self._heard: dict[str, _Heard] = {}
        """By pod. One that has ended stays with its gang: what it printed last counts, and that it ended does not."""
        self._taken: dict[frozenset[str], _Taken] = {}
        self.taking: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Looks until cancelled."""
        try:
            while True:
                await self.look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            for task in self.taking:
                task.cancel()

    def read(self, pods: frozenset[str], waiting: Collection[str] = ()) -> Report | None:
        """`waiting`: those of the pods whose program has not begun: that is no silence."""
        with self._lock:
            now = self._clock()
            if pods and pods not in self._gangs:  # with a pod that was made anew it is another gang
                self._gangs = {gang: asked for gang, asked in self._gangs.items() if not gang & pods}
            self._gangs |= {pods: now} if pods else {}
            for uid in pods:
                heard = self._heard.setdefault(uid, _Heard(now))
                if heard.waits or uid in waiting:
                    heard.at, heard.waits = now, uid in waiting
            at = max((self._heard[uid].at for uid in pods), default=None)
            taken = self._taken.get(pods)
        if at is None:
            return None
        return Report(now - at, taken.stacks if taken is not None and taken.at == at else None)

    async def look(self) -> None:
        """Looks at the logs of the pods that were asked for; forgets those that no longer run."""
        with self._lock:
            asked = set(self._heard)
        logs = await self._logs.find(asked)
        await asyncio.to_thread(self._look, logs)
        self._forget(self._logs.list_running().keys())

    def _forget(self, running: Iterable[str]) -> None:
        """The gangs of which nothing runs any more."""
        running, old = set(running), self._clock() - _KEPT_SECONDS
        with self._lock:
            self._gangs = {gang: asked for gang, asked in self._gangs.items() if gang & running or asked >= old}
            kept = frozenset[str]().union(*self._gangs)
            self._heard = {uid: heard for uid, heard in self._heard.items() if uid in kept}
            self._taken = {gang: taken for gang, taken in self._taken.items() if gang in self._gangs}

    def _look(self, logs: Mapping[str, Path]) -> None:
        for uid, log in logs.items():
            with self._lock:
                heard = self._heard.get(uid)
                known = None if heard is None or heard.is_written else (heard.log, heard.size)
            # Outside of the lock: a slow disk must not hold the operator up.
            if heard is None or known is None or (seen := _read_on(log, *known)) is None:
                continue
            size, is_heard = seen
            with self._lock:
                if not heard.is_written and (heard.log, heard.size) == known:
                    heard.log, heard.size = log, size
                    heard.at = self._clock() if is_heard else heard.at

    def take_stacks(self, pods: Mapping[str, str]) -> None:
        asked = frozenset(pods)
        with self._lock:
            at = max((self._heard[uid].at for uid in asked if uid in self._heard), default=None)
            if at is None:
                return
            self._taken[asked] = _Taken(at, Stacks())
        task = asyncio.create_task(self._take_all(asked, at, dict(pods)))
        self.taking.add(task)
        task.add_done_callback(self.taking.discard)

    async def _take_all(self, asked: frozenset[str], at: float, ranks: Mapping[str, str]) -> None:
        found = Stacks(written=True)
        try:
            async with asyncio.timeout(_STACKS_SECONDS):
                found = await self._write_all(ranks)
        except TimeoutError:
            _log.warning("the stacks of %d pods were not taken within %.0f s", len(ranks), _STACKS_SECONDS)
        except Exception:
            _log.exception("the stacks of %d pods were not taken", len(ranks))
        finally:
            with self._lock:
                taken = self._taken.get(asked)
                if taken is not None and taken.at == at:  # else they are of a silence that is over
                    self._taken[asked] = _Taken(at, found)

    async def _write_all(self, ranks: Mapping[str, str]) -> Stacks:
        states = {uid: state for uid, (state, _) in self._logs.list_running().items() if uid in ranks}
        logs = await self._logs.find(states.keys())
        found = await asyncio.gather(*(self._stacks.take(_name_pod(state)) for state in states.values()))
        taken = [
            only_of(pod, logs[uid].parent.name) if uid in logs else pod for uid, pod in zip(states, found, strict=True)
        ]
        pods = dict(zip((ranks[uid] for uid in states), taken, strict=True))
        for uid, pod in zip(states, taken, strict=True):
            await asyncio.to_thread(self._append, uid, ranks[uid], pod, logs.get(uid))
        places = merge_places(fold(pods).groups)[:_MOST_PLACES]
        named = tuple(_name_ranks(labels) for _, labels in places)
        return Stacks(written=True, who=named, places=tuple(show_place(place) for place, _ in places))

    def _append(self, uid: str, rank: str, pod: PodStacks, found: Path | None) -> None:
        """Writes the stacks of a rank to the end of its log. They are not heard. `found`: the log, if no look has known
        it yet."""
        text = build_text(rank, pod, self._wall())
        with self._lock:
            heard = self._heard.get(uid)
            if heard is None or (log := heard.log or found) is None:
                return
            heard.is_written, written = True, 0
        try:
            with os.fdopen(open_for_writing(log, os.O_APPEND), "wb", buffering=0) as writer:
                written = writer.write(text) or 0
        except OSError as error:  # a full disk: what is to be done about the silence is done all the same
            _log.warning("the stack of %s is not written into its log: %s", rank, error)
        finally:
            with self._lock:
                heard.is_written, heard.size = False, heard.size + written


def _read_on(log: Path, known: Path | None, size: int) -> tuple[int, bool] | None:
    """How long the log is, and whether something is heard in what it has grown by; None for no regular file. A log that
    was not looked at before (`known`) is heard."""
    try:
        file = open_regular(log)
    except OSError:
        return None
    with os.fdopen(file, "rb") as reader:
        now = os.fstat(reader.fileno()).st_size
        if known != log:
            return now, True
        if now == size:
            return now, False
        new = os.pread(reader.fileno(), _LOOK_BYTES, size) if 0 < now - size <= _LOOK_BYTES else b""
        return now, not only_waits(new)


def build_text(rank: str, pod: PodStacks, now: float) -> bytes:
    """What is written into the log of a rank, in whole lines."""
    folded = fold({rank: pod})
    without = [f"no stack of {label}: {why}" for label, why in folded.without]
    lines = [
        f"no rank prints; the stack of {rank} at {format_time(now)}:",
        *build_lines(folded, "en", whole=True),
        *without,
    ]
    text = "".join(f"paddock: {line}\n" for line in lines if line).encode()
    cut = text[:_STACK_BYTES]
    return cut if len(cut) == len(text) else cut[: cut.rfind(b"\n") + 1] + b"paddock: the rest is cut off\n"


def _name_ranks(labels: tuple[str, ...]) -> str:
    """`worker-0, worker-1`; `worker-0, worker-1, worker-2, … (64)`, which is the same in every language."""
    named = ", ".join(labels[:_MOST_RANKS])
    return named if len(labels) <= _MOST_RANKS else f"{named}, … ({len(labels)})"


def _name_pod(state: PodState) -> Manifest:
    return {"metadata": {"name": state.name, "namespace": state.namespace, "uid": state.uid}}
