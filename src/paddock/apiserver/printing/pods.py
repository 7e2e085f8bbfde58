"""The row of `kubectl get pods`: status, restarts, node and others.

Source: printPod in Kubernetes' pkg/printers/internalversion. The status is the pod's phase; the first init container
that has not completed (a side-car: started) overrides it, then the first container with a reason, and last the pod's
deletion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.apiserver.printing.cells import NONE, Cells, Object, age, condition, part
from paddock.kube.meta import is_deleting
from paddock.kube.side_cars import list_side_cars
from paddock.kube.times import Moment, format_duration, read_time


def print_pod(pod: Object, now: Moment) -> Cells:
    spec, status = part(pod, "spec"), part(pod, "status")
    statuses = status.get("containerStatuses") or ()
    inits, names = status.get("initContainerStatuses") or (), list_side_cars(spec)
    side_cars = [one for one in inits if one.get("name") in names]
    started, reason = _read_init(pod, names)
    shown = inits if not started else [*side_cars, *statuses]
    if started:
        reason = _read_containers(pod, reason)
    ready = sum(1 for one in statuses if started and one.get("ready") and "running" in part(one, "state"))
    ready += sum(1 for one in side_cars if one.get("started") and one.get("ready"))
    ips = status.get("podIP") or NONE
    gates = spec.get("readinessGates") or ()
    passed = sum(1 for gate in gates if condition(pod, gate.get("conditionType", "")).get("status") == "True")
    return [
        f"{ready}/{len(spec.get('containers') or ()) + len(names)}",
        _read_deletion(pod, reason),
        _print_restarts(shown, now),
        age(pod, now),
        ips,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{passed}/{len(gates)}" if gates else NONE,
    ]


def _read_init(pod: Object, side_cars: Sequence[str]) -> tuple[bool, str]:
    """Whether the init containers have completed and the side-cars have started, and the status so far."""
    status = part(pod, "status")
    reason = status.get("reason") or status.get("phase") or ""
    if condition(pod, "PodScheduled").get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    total = len(part(pod, "spec").get("initContainers") or ())
    for index, one in enumerate(status.get("initContainerStatuses") or ()):
        state = part(one, "state")
        ended, waiting = state.get("terminated"), part(state, "waiting").get("reason")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if one.get("name") in side_cars and one.get("started"):
            continue
        if ended is not None:
            reason = f"Init:{_terminated_reason(ended)}"
        # PodInitializing is kubelet's reason for every container that waits its turn, so the count says more.
        elif waiting and waiting != "PodInitializing":
            reason = f"Init:{waiting}"
        else:
            reason = f"Init:{index}/{total}"
        return condition(pod, "Initialized").get("status") == "True", reason
    return True, reason


def _terminated_reason(ended: Mapping[str, Any]) -> str:
    if reason := ended.get("reason"):
        return str(reason)
    signal = ended.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode', 0)}"


def _read_containers(pod: Object, reason: str) -> str:
    """The reason of the first container that has one. A running container beside a completed one counts as running."""
    running = False
    # The last assignment wins, so the walk goes backwards to let the first container decide.
    for one in reversed(part(pod, "status").get("containerStatuses") or ()):
        state = part(one, "state")
        if waiting := part(state, "waiting").get("reason"):
            reason = waiting
        elif (ended := state.get("terminated")) is not None:
            reason = _terminated_reason(ended)
        elif one.get("ready") and state.get("running") is not None:
            running = True
    if reason == "Completed" and running:
        return "Running" if condition(pod, "Ready").get("status") == "True" else "NotReady"
    return reason


def _read_deletion(pod: Object, reason: str) -> str:
    status = part(pod, "status")
    if not is_deleting(pod):
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _print_restarts(statuses: Sequence[Object], now: Moment) -> str:
    """`3 (5m ago)`: the number of restarts and the age of the last one."""
    count = sum(one.get("restartCount") or 0 for one in statuses)
    ends = [read_time(part(one, "lastState", "terminated").get("finishedAt")) for one in statuses]
    last = max((end for end in ends if end is not None), default=None)
    return f"{count} ({format_duration(now - last)} ago)" if count and last is not None else str(count)
