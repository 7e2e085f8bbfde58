"""Measures what each container and the node use while pods run, keeps the last for the API, and records it.

Its cost is bounded: one look at the processes of the containers each five seconds, in a thread. A GPU counts as its
pod's alone, as it is given whole.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import psutil

from paddock.kube.times import Moment
from paddock.kube.usage import Usage
from paddock.node.runtime.bounds import NO_BOUNDS, Bounds, Excess, find_excess, is_near
from paddock.node.runtime.machine import Machine
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import Process
from paddock.node.runtime.records import Records
from paddock.node.usage.gpu_usage import GpuMeter
from paddock.node.usage.process_trees import ProcessTrees, Spent
from paddock.node.usage.rates import Reading, begin, is_due, measure
from paddock.node.usage.records import UsageRecord, usage_file
from paddock.node.usage.samples import Sample

_TICK_SECONDS = 1.0

_Place = tuple[str, str, int]
"""Which run: UID of the pod, container, number."""
ListPrograms = Callable[[], Iterable[tuple[str, str, Process]]]
"""The programs of exec that run now, each with its pod's UID and its container."""
Runs = Sequence[tuple[PodState, Run]]
Exceeding = list[tuple[PodState, Run, Excess]]


class Watch(Protocol):
    """Who bounds what containers have, where the system does not."""

    def find_bounds(self, state: PodState, run: Run) -> Bounds: ...

    async def take(self, state: PodState, run: Run, excess: Excess) -> None:
        """Is told with each look that finds too much. Raises nothing."""
        ...


_log = logging.getLogger(__name__)


class Meter:
    """Of one machine. `list_runs`: the runs that go on; `directory`: the node's, with the logs."""

    def __init__(
        self,
        directory: Path,
        machine: Machine,
        list_runs: Callable[[], Runs],
        *,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], Moment] = time.time,
        read_machine: Callable[[], tuple[float, float]] | None = None,
        watch: Watch | None = None,
        list_programs: ListPrograms = tuple,
    ) -> None:
        """`read_machine`: seconds of work of all cores since boot, and bytes in use. `watch`: None for no bounds."""
        self._watch = watch
        self._list_programs = list_programs
        self._records = Records(directory)
        self._machine, self._list_runs, self._clock = machine, list_runs, clock
        self._read_machine = read_machine or read_whole_machine
        self._gpus = GpuMeter(os.environ if environment is None else environment)
        self._trees: ProcessTrees[_Place] = ProcessTrees()
        self._readings: dict[_Place, Reading] = {}
        self._usages: dict[_Place, Usage] = {}
        self._files: dict[_Place, UsageRecord] = {}
        self._node_reading: Reading | None = None
        self._node: Usage | None = None
        self._looked = float("-inf")

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                await self.tick()
                await asyncio.sleep(_TICK_SECONDS)
        finally:
            self._gpus.want(False)

    async def tick(self) -> None:
        """Looks, if it is time to."""
        runs, now = self._list_runs(), self._clock()
        if not is_due(self._looked, [run.started for _, run in runs], now):
            return
        self._looked = now
        self._gpus.want(bool(self._machine.gpus) and any(state.gpus for state, _ in runs))
        self._measure_node(now)
        if runs or self._usages:
            watch = self._watch
            bounds = [NO_BOUNDS if watch is None else watch.find_bounds(*each) for each in runs]
            programs = list(self._list_programs())
            exceeding = await asyncio.to_thread(self._measure_runs, runs, bounds, programs)
            if watch is not None:
                for state, run, excess in exceeding:
                    await watch.take(state, run, excess)

    # What the API asks for

    def read_node(self, name: str) -> Usage | None:
        return self._node if name == self._machine.name else None

    def read_pod(self, uid: str) -> Mapping[str, Usage]:
        return {place[1]: usage for place, usage in list(self._usages.items()) if place[0] == uid}

    # Measuring

    def _measure_node(self, now: Moment) -> None:
        cpu, memory = self._read_machine()
        before, self._node_reading = self._node_reading, Reading(now, cpu, memory)
        found = measure(before, self._node_reading)
        if found is not None:
            # Of a machine that this process may use in part alone, no more than that part is its node's.
            most = float(self._machine.cpus), float(self._machine.memory)
            self._node = Usage(found.at, found.window, min(found.cpu, most[0]), min(found.memory, most[1]))

    def _measure_runs(
        self, runs: Runs, bounds: Sequence[Bounds], programs: Iterable[tuple[str, str, Process]]
    ) -> Exceeding:
        """Those with more than they may have."""
        places = {(state.uid, run.container, run.number): (state, run) for state, run in runs}
        running = {place[:2]: place for place in places}
        beside = {process: running[uid, name] for uid, name, process in programs if (uid, name) in running}
        roots = {place: Process(run.pid, run.birth) for place, (_, run) in places.items()}
        spent = self._trees.look(roots, beside)
        now = self._clock()
        for place, found in spent.items():
            self._take(place, *places[place], found, now)
        for place in [place for place in self._readings if place not in places]:
            for known in (self._readings, self._usages, self._files):
                known.pop(place, None)
        exceeding: Exceeding = []
        for (state, run), bound in zip(runs, bounds, strict=True):
            measured = spent.get((state.uid, run.container, run.number))
            if measured is not None and (excess := self._find_excess(measured, bound)) is not None:
                exceeding.append((state, run, excess))
        return exceeding

    def _find_excess(self, spent: Spent, bounds: Bounds) -> Excess | None:
        held = self._trees.add_up_held(spent.processes) if is_near(bounds, spent.resident) else None
        return find_excess(bounds, held, len(spent.processes))

    def _take(self, place: _Place, state: PodState, run: Run, spent: Spent, now: Moment) -> None:
        reading = Reading(now, spent.cpu, spent.memory)
        usage = measure(self._readings.get(place) or begin(run.started, now), reading)
        self._readings[place] = reading
        if usage is None:
            return
        self._usages[place] = usage
        gpus = self._gpus.read(state.gpus)
        self._record(place, state, run, Sample(now, usage.cpu, usage.memory, gpus.percent, gpus.memory))

    def _record(self, place: _Place, state: PodState, run: Run, sample: Sample) -> None:
        record = self._files.get(place)
        if record is None:
            record = self._files[place] = UsageRecord(usage_file(self._records.log_file(state, run)))
        try:
            record.add(sample)
        except OSError as error:  # a full disk, or logs that were removed
            _log.info("what %s of pod %s uses was not recorded: %s", run.container, state.name, error)


def read_whole_machine() -> tuple[float, float]:
    times, memory = psutil.cpu_times(), psutil.virtual_memory()
    # The time of guests is a part of user already (proc(5)).
    worked = times.user + times.nice + times.system + times.irq + times.softirq
    return worked, float(memory.total - memory.available)
