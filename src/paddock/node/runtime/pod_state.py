"""The kubelet's own state of one pod: its address, its GPUs and the runs of its containers. Pure.

`node.runtime.records` keeps these values on disk, and `node.kubelet.pod_plan` decides from them. A container has at
most two runs here, the latest and the previous one: `state` and `lastState` of a container status need no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from paddock.kube.times import Moment

LOST = "Lost"
DELETED = "Deleted"
DEADLINE = "DeadlineExceeded"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a container cannot start yet: reason and message of its waiting state."""

    reason: str
    message: str = ""
    notice: str = ""
    """What is to be said of the image that it waits for (`node.runtime.images`)."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a container."""

    container: str
    number: int
    """0 for the first one; it grows with each restart."""
    started: Moment
    pid: int = 0
    """The process to wait for (the sandbox's own, not the program); 0 while only the start is recorded, and the run's
    file tells the rest (`node.runtime.run_files`)."""
    birth: int = 0
    """Its start time in clock ticks after boot, which detects a reused pid."""
    sandbox: str = ""
    """The name of its sandbox."""
    ooms: int = 0
    """The kernel's count of out-of-memory kills at the start."""
    finished: Moment | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    notice: str = ""
    """What is to be said of its image (`node.runtime.images`)."""
    unhooked: bool = False
    """Its postStart has not ended yet: until then it has not started, and no later container starts."""
    unstarted: bool = False
    """Its startupProbe has not passed yet."""
    unready: bool = False
    """Its readinessProbe has not passed yet, or fails since."""
    stopping: Moment | None = None
    """Since when the kubelet ends it."""
    stop_grace: float | None = None
    """Seconds from `stopping` to SIGKILL, where a probe or a hook ends it alone, and not its pod."""
    told: Moment | None = None
    """When it was sent SIGTERM, after its preStop."""

    @property
    def running(self) -> bool:
        return self.finished is None

    @property
    def up(self) -> bool:
        """Started, as a status says it: what comes after it may start."""
        return self.running and not self.unhooked and not self.unstarted

    @property
    def ready(self) -> bool:
        return self.up and not self.unready

    @property
    def succeeded(self) -> bool:
        return self.finished is not None and self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Ending:
    """Why all containers of the pod must end, and since when. `grace` (seconds) shortens the pod's own grace period;
    None keeps it."""

    reason: str
    message: str
    since: Moment
    grace: float | None = None


@dataclass(frozen=True, slots=True)
class PodState:
    """One pod on this machine."""

    uid: str
    namespace: str
    name: str
    address: str
    accepted: Moment
    boot: str = ""
    """The machine's boot id."""
    gpus: tuple[int, ...] = ()
    runs: dict[str, Run] = field(default_factory=dict)
    earlier: dict[str, Run] = field(default_factory=dict)
    ending: Ending | None = None
    outside: tuple[str, ...] = ()
    """Its paths outside its scratch directory: links at mount paths, memory-backed volumes."""
    held: Moment | None = None
    """Until when it is held, of one that has failed (`kube.held_pods`)."""

    @property
    def running(self) -> list[Run]:
        return [run for run in self.runs.values() if run.running]

    def with_run(self, run: Run) -> PodState:
        """The state with a new or changed `run`. A new run moves the previous one to `earlier`."""
        known = self.runs.get(run.container)
        earlier = self.earlier
        if known is not None and known.number != run.number:
            earlier = {**earlier, run.container: known}
        return replace(self, runs={**self.runs, run.container: run}, earlier=earlier)

    def without_run(self, run: Run) -> PodState:
        """The state before the start of `run`, of which nothing has come."""
        runs = {name: known for name, known in self.runs.items() if name != run.container}
        earlier = {name: known for name, known in self.earlier.items() if name != run.container}
        before = self.earlier.get(run.container)
        return replace(self, runs=runs if before is None else {**runs, run.container: before}, earlier=earlier)

    def with_outside(self, paths: Iterable[str]) -> PodState:
        return replace(self, outside=tuple(dict.fromkeys((*self.outside, *paths))))
