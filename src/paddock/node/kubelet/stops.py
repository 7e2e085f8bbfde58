"""Which containers of a pod are to end now, and until when. Pure.

Source: kubelet's killPodWithSyncResult. All containers that are no side-cars have the pod's grace together. Then the
side-cars end one after the other, the last one that started first, with what is left of it, and two seconds at least. A
preStop hook counts in the grace; a program that was told of its end late because of it has two seconds too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.kube.meta import Manifest
from paddock.kube.side_cars import list_side_cars
from paddock.kube.times import Moment
from paddock.node.runtime.pod_state import PodState, Run

LEAST_GRACE = 2.0
"""Seconds that a container has in any case (kubelet's minimumGracePeriodInSeconds)."""
KILL_AGAIN = 0.2
"""Seconds until SIGKILL is repeated."""


@dataclass(frozen=True, slots=True)
class Stops:
    """Containers by name, as in `pod_plan.PodPlan`."""

    term: tuple[str, ...] = ()
    kill: tuple[str, ...] = ()
    deadlines: Mapping[str, Moment] = field(default_factory=dict)
    """Until when a preStop hook may run."""
    wake: Moment | None = None


def plan_pod_stops(pod: Manifest, state: PodState, since: Moment, grace: float, now: Moment, *, bound: bool) -> Stops:
    """The containers of a pod that ends. `bound`: nothing runs longer than `grace`, whatever its turn."""
    running = {run.container: run for run in state.running}
    ends_at = since + grace
    if bound and now >= ends_at:
        return Stops(kill=tuple(running), wake=now + KILL_AGAIN)
    turn = since
    for stage in _list_stages(pod, state):
        left = [running[name] for name in stage if name in running]
        if left:
            deadline = ends_at if bound or turn == since else max(ends_at, turn + LEAST_GRACE)
            return _stop(pod, [(run, deadline) for run in left], now)
        ends = [run.finished for name in stage if (run := state.runs.get(name)) and run.finished is not None]
        turn = max(turn, *ends, turn)
    return Stops()


def plan_single_stops(pod: Manifest, state: PodState, now: Moment) -> Stops:
    """The containers that a probe or a hook ends, in a pod that goes on."""
    found = [
        (run, run.stopping + run.stop_grace)
        for run in state.running
        if run.stopping is not None and run.stop_grace is not None
    ]
    return _stop(pod, found, now)


def find_hook(pod: Mapping[str, Any], container: str, kind: str) -> Mapping[str, Any] | None:
    """The hook of a container: `kind` is postStart or preStop."""
    for each in _list_containers(pod):
        if each["name"] == container:
            found = (each.get("lifecycle") or {}).get(kind)
            return found if isinstance(found, Mapping) and found else None
    return None


def _stop(pod: Manifest, runs: Sequence[tuple[Run, Moment]], now: Moment) -> Stops:
    term, kill, deadlines, wakes = [], [], {}, []
    for run, deadline in runs:
        kill_at = _find_kill(pod, run, deadline)
        if now >= kill_at:
            kill.append(run.container)
            wakes.append(now + KILL_AGAIN)
        else:
            term.append(run.container)
            deadlines[run.container] = deadline
            wakes.append(kill_at)
    return Stops(tuple(term), tuple(kill), deadlines, min(wakes, default=None))


def _find_kill(pod: Manifest, run: Run, deadline: Moment) -> Moment:
    hook = find_hook(pod, run.container, "preStop")
    # Without grace no hook runs.
    if hook is None or (run.stopping is not None and deadline <= run.stopping):
        return deadline
    return max(deadline, (deadline if run.told is None else run.told) + LEAST_GRACE)


def _list_stages(pod: Manifest, state: PodState) -> Iterator[Sequence[str]]:
    side_cars = list_side_cars(pod["spec"])
    yield [name for name in state.runs if name not in side_cars]
    for name in reversed(side_cars):
        yield [name]


def _list_containers(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    spec = pod.get("spec") or {}
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()
