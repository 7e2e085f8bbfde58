"""The plan of one pod: containers to start and to signal, and its status. Pure; the kubelet acts.

    plan_pod(pod, state, obstacles, now) -> PodPlan

The rules are kubelet's: init containers one after the other, then all containers; restarts by `restartPolicy` after a
back-off; side-cars (`kube.side_cars`) start among the init containers, restart always, and end when all others have; a
terminal phase never changes. One rule is ours: a started pod whose processes are gone without an exit code is `Failed`
with reason `Lost`, whatever its restart policy, because the machine or the cluster was stopped and only the owner of
the pod knows whether to start again. A side-car that is lost is started again, as its exit decides nothing.

`paddock.node.kubelet.pod_status` builds the status, `paddock.node.kubelet.stops` says which containers end now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.kube.meta import Manifest, is_deleting, metadata
from paddock.kube.side_cars import is_side_car, list_side_cars
from paddock.kube.times import Moment, exponential_backoff
from paddock.node.kubelet.pod_status import build_pod_status, is_initialized, judge_phase
from paddock.node.kubelet.stops import KILL_AGAIN, Stops, find_hook, plan_pod_stops, plan_single_stops
from paddock.node.runtime.pod_state import DEADLINE, DELETED, LOST, Ending, Obstacle, PodState, Run
from paddock.words.phrases import phrase

DEFAULT_GRACE = 30.0
"""Seconds between SIGTERM and SIGKILL (core/v1, terminationGracePeriodSeconds)."""
FIRST_BACKOFF, LONGEST_BACKOFF = 10.0, 300.0
BACKOFF_RESET = 600.0
"""Seconds: the back-off of a container that ran this long starts from zero again (kubelet's)."""

DEADLINE_MESSAGE = str(phrase("Pod was active on the node longer than the specified deadline"))
STOPPED_MESSAGE = str(phrase("the cluster was stopped while the pod was running"))
LOST_MESSAGE = str(
    phrase("the machine or the cluster was stopped while the pod was running, so nobody saw how it ended")
)


@dataclass(frozen=True, slots=True)
class Start:
    container: str
    number: int


@dataclass(frozen=True, slots=True)
class PodPlan:
    """The whole decision."""

    status: Manifest
    start: tuple[Start, ...] = ()
    term: tuple[str, ...] = ()
    """Containers to signal, in each plan until their processes are gone; the caller sends SIGTERM once."""
    kill: tuple[str, ...] = ()
    """Containers to signal, in each plan until their processes are gone."""
    deadlines: Mapping[str, Moment] = field(default_factory=dict)
    """Of each container in `term`: until when its preStop hook may run. SIGTERM comes after the hook."""
    ending: Ending | None = None
    """Record it before any signal."""
    remove: bool = False
    """Delete the pod object, after its status is written."""
    wake: Moment | None = None
    """The moment to plan again if nothing happens before."""


@dataclass(slots=True)
class _Collected:
    """The starts, times and obstacles of all containers, collected one by one."""

    start: list[Start] = field(default_factory=list)
    wakes: list[Moment] = field(default_factory=list)
    waiting: dict[str, Obstacle] = field(default_factory=dict)


def plan_pod(pod: Manifest, state: PodState, obstacles: Mapping[str, Obstacle], now: Moment) -> PodPlan:
    """The plan of one pod. `obstacles`: why containers cannot start yet, by name. See `PodPlan`."""
    ending = state.ending or find_ending(pod, state, now)
    # A clock that was set back gives no container an hour more: its grace begins anew.
    if ending is not None and ending.since > now:
        ending = replace(ending, since=now)
    if is_terminal(pod):
        return _plan_terminal(pod, state, ending, now)
    if ending is not None:
        return _plan_ending(pod, state, ending, now)
    if judge_phase(pod, state) in ("Succeeded", "Failed"):
        return _plan_over(pod, state, now)
    collected = _Collected()
    if _plan_init_containers(pod, state, obstacles, now, collected):
        _plan_containers(pod, state, obstacles, now, collected)
    stops = plan_single_stops(pod, state, now)
    times = (*collected.wakes, _deadline(pod, state), stops.wake)
    status = build_pod_status(pod, state, collected.waiting, now)
    wake = min((time for time in times if time is not None), default=None)
    return _with_stops(PodPlan(status, start=tuple(collected.start)), stops, wake)


def is_terminal(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def find_ending(pod: Manifest, state: PodState, now: Moment) -> Ending | None:
    """Why the pod has to end now: deleted, lost, or past activeDeadlineSeconds; None if it does not have to."""
    if is_deleting(pod):
        return Ending(DELETED, "", now)
    if is_terminal(pod):
        return None
    side_cars = list_side_cars(pod["spec"])
    lost = [run for run in state.runs.values() if run.reason == LOST and run.container not in side_cars]
    if lost or (not state.runs and _was_started(pod)):
        known = next((run.message for run in lost if run.message), "")
        return Ending(LOST, f"{LOST_MESSAGE}; {known}" if known else LOST_MESSAGE, now)
    deadline = _deadline(pod, state)
    if deadline is not None and now >= deadline:
        return Ending(DEADLINE, DEADLINE_MESSAGE, now)
    return None


def plan_backoff(run: Run) -> float:
    """Seconds between the end of `run` and its restart: none at first, then 10 s doubling to 5 min (kubelet's).

    It depends on the count of restarts only, so a restart of the kubelet does not change it.
    """
    if run.number == 0 or (run.finished is not None and run.finished - run.started >= BACKOFF_RESET):
        return 0.0
    return exponential_backoff(run.number, FIRST_BACKOFF, LONGEST_BACKOFF)


def grace_period(pod: Mapping[str, Any]) -> float:
    """Seconds: the grace period of the deletion, else of the pod's spec, else 30."""
    asked = metadata(pod).get("deletionGracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE if asked is None else float(asked)


def grace_of(pod: Mapping[str, Any], ending: Ending) -> float:
    """Seconds that the containers have, for this ending of the pod."""
    grace = grace_period(pod)
    return grace if ending.grace is None else min(grace, ending.grace)


def _plan_terminal(pod: Manifest, state: PodState, ending: Ending | None, now: Moment) -> PodPlan:
    """A terminal pod keeps its status: kill a process that is left, and remove the object if it is being deleted."""
    status = dict(pod["status"])
    running = tuple(run.container for run in state.running)
    if running:
        return PodPlan(status, kill=running, ending=ending, wake=now + KILL_AGAIN)
    return PodPlan(status, ending=ending, remove=is_deleting(pod))


def _plan_ending(pod: Manifest, state: PodState, ending: Ending, now: Moment) -> PodPlan:
    if not state.runs and ending.reason == DELETED:  # never started, so there is no exit code to report
        return PodPlan(dict(pod.get("status") or {}), ending=ending, remove=True)
    running = tuple(run.container for run in state.running)
    status = build_pod_status(pod, state, {}, now, ending=None if running else ending)
    if not running:
        return PodPlan(status, ending=ending, remove=is_deleting(pod))
    bound = ending.grace is not None or grace_period(pod) == 0
    stops = plan_pod_stops(pod, state, ending.since, grace_of(pod, ending), now, bound=bound)
    return _with_stops(PodPlan(status, ending=ending), stops, stops.wake)


def _plan_over(pod: Manifest, state: PodState, now: Moment) -> PodPlan:
    """All but side-cars has ended for good: they end now, and the phase follows when the last of them has."""
    status = build_pod_status(pod, state, {}, now)
    side_cars = list_side_cars(pod["spec"])
    if not state.running:
        return PodPlan(status)
    ends = [run.finished for run in state.runs.values() if run.finished is not None and run.container not in side_cars]
    stops = plan_pod_stops(pod, state, max(ends, default=now), grace_period(pod), now, bound=False)
    return _with_stops(PodPlan(status), stops, stops.wake)


def _with_stops(plan: PodPlan, stops: Stops, wake: Moment | None) -> PodPlan:
    return replace(plan, term=stops.term, kill=stops.kill, deadlines=stops.deadlines, wake=wake)


def _plan_init_containers(
    pod: Manifest, state: PodState, obstacles: Mapping[str, Obstacle], now: Moment, collected: _Collected
) -> bool:
    """Whether the containers may start: the others have succeeded, and the side-cars have started once. Otherwise the
    first that has not is planned, and the side-cars before it."""
    inits = pod["spec"].get("initContainers") or ()
    begun = [index for index, container in enumerate(inits) if container["name"] in state.runs]
    last = len(inits) if is_initialized(pod, state) else max(begun, default=-1)
    for index, container in enumerate(inits):
        run = state.runs.get(container["name"])
        if is_side_car(container):
            _plan_container(pod, state, container, obstacles, now, collected)
            # One that restarts keeps nothing from going on that has begun.
            if index >= last and (run is None or not run.up):
                return False
        elif run is None or not run.succeeded:
            _plan_container(pod, state, container, obstacles, now, collected)
            return False
    return True


def _plan_containers(
    pod: Manifest, state: PodState, obstacles: Mapping[str, Obstacle], now: Moment, collected: _Collected
) -> None:
    """All together, but none before the postStart hooks of those in front of it have ended."""
    for container in _containers(pod):
        count = len(collected.start)
        _plan_container(pod, state, container, obstacles, now, collected)
        run = state.runs.get(container["name"])
        starts = len(collected.start) > count
        if (starts and find_hook(pod, container["name"], "postStart")) or (run and run.running and run.unhooked):
            return


def _plan_container(
    pod: Manifest,
    state: PodState,
    container: Manifest,
    obstacles: Mapping[str, Obstacle],
    now: Moment,
    collected: _Collected,
) -> None:
    name = container["name"]
    run = state.runs.get(name)
    if run is not None and (run.running or not _restarts(pod, container, run)):
        return
    if run is not None and run.finished is not None:
        delay = plan_backoff(run)
        # A longer wait than any delay has is that of a clock which was set back.
        if 0 < run.finished + delay - now <= 2 * LONGEST_BACKOFF:
            collected.wakes.append(run.finished + delay)
            collected.waiting[name] = _crash_loop(pod, name, delay)
            return
    if obstacle := obstacles.get(name):
        collected.waiting[name] = obstacle
        return
    collected.start.append(Start(name, 0 if run is None else run.number + 1))


def _restarts(pod: Manifest, container: Manifest, run: Run) -> bool:
    if is_side_car(container):
        return True
    policy = pod["spec"].get("restartPolicy") or "Always"
    is_init = container in (pod["spec"].get("initContainers") or ())
    if policy == "Always" and not is_init:
        return True
    return policy != "Never" and not run.succeeded


def _crash_loop(pod: Manifest, container: str, delay: float) -> Obstacle:
    found = metadata(pod)
    who = f"{found.get('name')}_{found.get('namespace')}({found.get('uid')})"
    said = phrase(
        "back-off {time} restarting failed container={name} pod={pod}",
        time=_go_duration(delay), name=container, pod=who,
    )  # fmt: skip
    return Obstacle("CrashLoopBackOff", str(said))


def _go_duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _deadline(pod: Manifest, state: PodState) -> Moment | None:
    seconds = pod["spec"].get("activeDeadlineSeconds")
    return None if seconds is None else state.accepted + float(seconds)


def _was_started(pod: Manifest) -> bool:
    status = pod.get("status") or {}
    return any(
        "running" in (found.get("state") or {}) or "terminated" in (found.get("state") or {})
        for found in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    )


def _containers(pod: Manifest) -> Sequence[Manifest]:
    found: Sequence[Manifest] = pod["spec"]["containers"]
    return found
