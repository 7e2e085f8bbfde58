"""What a run begins with, for its record: the packages of the interpreters of its ranks, its Datasets, the machine.

The kubelet tells of each program that it starts; the reading is done afterwards, one by one, in a thread, so that no
program waits for it. What cannot be read within `_SECONDS` is not known. The first rank of each role is asked, in its
first attempt: the others are started alike. Where the command does not say which interpreter it starts, the processes
of the rank are looked at some times, as long as it runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from paddock.app.interpreters import find_interpreter
from paddock.app.running_interpreters import choose_python, read_pythons
from paddock.datasets.definition import read_definition
from paddock.datasets.sources import BadSource
from paddock.datasets.states import read_recorded
from paddock.doctor.probes.bounded import run_bounded
from paddock.environments.installed import Installed
from paddock.history.package_sets import write_set
from paddock.history.surroundings import DatasetState, MachineState, Surroundings
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import INDEX_LABEL, ROLE_LABEL
from paddock.kube.api import Api
from paddock.kube.datasets import read_claim, read_mounted
from paddock.kube.errors import ApiError
from paddock.kube.meta import DATASETS, Manifest, controller_of, labels_of, name_of, namespace_of, uid_of
from paddock.node.runtime.machine import Machine
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.sandbox import Program
from paddock.node.stacks.processes import Processes

_SECONDS = 10.0
"""For one program: a directory on a network may not answer."""
_MOST_SEEN = 10_000
LOOKS = (1.0, 4.0, 15.0, 40.0, 240.0)
"""Seconds from one look at a rank's processes to the next: an environment may be made first (`uv run`)."""
_MOST_LOOKED_AT = 64
"""Ranks at a time."""
_DRIVER = Path("/sys/module/nvidia/version")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Start:
    """A program that was started."""

    uid: str
    """Of the run's job."""
    role: str
    pod: Manifest
    container: Manifest
    program: Program


def read_start(pod: Manifest, container: Manifest, program: Program) -> Start | None:
    """None for what does not train, or is not the first rank of its role. Pure."""
    labels, owner = labels_of(pod), controller_of(pod)
    role, names = labels.get(ROLE_LABEL, ""), {each.container for each in FRAMEWORKS.values()}
    containers: list[Manifest] = pod["spec"]["containers"]
    main = next((each for each in containers if each.get("name") in names), containers[0])
    if owner is None or not role or labels.get(INDEX_LABEL) != "0" or container.get("name") != main.get("name"):
        return None
    return Start(str(owner.get("uid") or ""), role, pod, container, program)


def read_driver(file: Path = _DRIVER) -> str:
    """The version of NVIDIA's driver, from the file of its module; empty without one."""
    try:
        return file.read_text().strip()
    except (OSError, UnicodeError):
        return ""


def build_machine(machine: Machine, driver: str) -> MachineState:
    gpus = tuple(gpu.name for gpu in machine.gpus)
    return MachineState(machine.name, float(machine.cpus), machine.memory, gpus, driver if gpus else "")


def read_datasets(pod: Manifest, datasets: list[Manifest]) -> dict[str, DatasetState]:
    """Those that a pod mounts, by name. `datasets`: of its namespace. Pure."""
    claims = read_mounted(pod)
    return {name_of(each): _read_dataset(each) for each in datasets if read_claim(each) in claims}


def _read_dataset(manifest: Manifest) -> DatasetState:
    try:
        definition = read_definition(manifest)
    except BadSource:
        return DatasetState()
    state = read_recorded(definition, manifest.get("status") or {})
    if state is None:
        return DatasetState(definition.source.shown)
    return DatasetState(definition.source.shown, state.revision, state.finished, state.size, state.files)


class RunSurroundings:
    """Tells `note` what runs begin with, while `run` runs. `history`: the directory of the records."""

    def __init__(
        self,
        api: Api,
        history: Path,
        machine: MachineState,
        note: Callable[[str, Surroundings], None],
        installed: Installed | None = None,
        *,
        list_running: Callable[[], Sequence[tuple[PodState, Run]]] = list,
        seconds: float = _SECONDS,
        looks: Sequence[float] = LOOKS,
    ) -> None:
        self._list_running, self._seconds, self._looks = list_running, seconds, looks
        self._looking: set[asyncio.Task[None]] = set()
        self._api, self._history, self._machine, self._note = api, history, machine, note
        self._installed = installed or Installed()
        self._seen: dict[tuple[str, str], None] = {}
        self._starts: asyncio.Queue[Start] = asyncio.Queue()

    def on_start(self, pod: Manifest, container: Manifest, program: Program) -> None:
        """Called by the kubelet at each start; returns at once."""
        start = read_start(pod, container, program)
        if start is None or (start.uid, start.role) in self._seen:
            return
        self._seen[start.uid, start.role] = None
        if len(self._seen) > _MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._starts.put_nowait(start)

    async def run(self) -> None:
        """Runs until cancelled."""
        try:
            while True:
                await self._take(await self._starts.get())
        finally:
            for task in self._looking:
                task.cancel()

    async def _take(self, start: Start) -> None:
        try:
            digest = await self._bound(start, lambda: self._read_packages(start))
            packages = {start.role: digest} if digest else {}
            self._note(start.uid, Surroundings(packages, await self._read_datasets(start.pod), self._machine))
        except Exception:
            _log.exception("what run %s began with is not recorded", start.uid)
            return
        if not digest and len(self._looking) < _MOST_LOOKED_AT:
            task = asyncio.create_task(self._look_on(start))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def _bound(self, start: Start, read: Callable[[], str]) -> str:
        """The digest that `read` returns, in a thread; empty where it fails, or takes too long."""
        try:
            return await run_bounded(read, self._seconds)
        except (OSError, ValueError, TimeoutError) as error:
            _log.warning("the packages of %s are not known: %s", start.uid, error or type(error).__name__)
            return ""

    def _read_packages(self, start: Start) -> str:
        """The digest of the set, which is kept; empty where it is not known. In a thread."""
        python = find_interpreter(start.container, start.program)
        return self._keep(python, start.program.environment) if python is not None else ""

    def _keep(self, python: Path, environ: Mapping[str, str]) -> str:
        packages = self._installed.read(python, {"HOME": os.environ.get("HOME", ""), **environ})
        return write_set(self._history, packages) if packages else ""

    async def _look_on(self, start: Start) -> None:
        """Looks at the processes of a rank until they tell its packages, or it has ended."""
        for seconds in self._looks:
            await asyncio.sleep(seconds)
            roots = {
                run.pid: run.container
                for state, run in self._list_running()
                if run.pid and state.uid == uid_of(start.pod) and run.container == start.container.get("name")
            }
            if not roots:
                return
            if digest := await self._bound(start, partial(self._read_running, roots)):
                self._note(start.uid, Surroundings({start.role: digest}))
                return

    def _read_running(self, roots: Mapping[int, str]) -> str:
        """As `_read_packages`, by what runs. In a thread."""
        found = choose_python(read_pythons(Processes().list_of(roots)))
        return self._keep(found.path, found.environ) if found is not None else ""

    async def _read_datasets(self, pod: Manifest) -> dict[str, DatasetState] | None:
        if not read_mounted(pod):
            return {}
        try:
            return read_datasets(pod, list((await self._api.list(DATASETS, namespace_of(pod))).items))
        except ApiError as error:
            _log.warning("the datasets of pod %s are not recorded: %s", name_of(pod), error.message)
            return None
