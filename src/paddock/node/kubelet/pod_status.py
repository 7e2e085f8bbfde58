"""A pod's status, from the state of its containers: phase, conditions, container statuses. Pure.

Source: kubelet's generateAPIPodStatus and getPhase. Fields of other writers are kept: foreign conditions, qosClass. The
lastTransitionTime of a condition changes only with its status, so a reconcile that changes nothing writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from paddock.kube.environments import DEFAULT_CONDITION
from paddock.kube.meta import Manifest
from paddock.kube.side_cars import is_side_car, list_side_cars
from paddock.kube.times import Moment, format_time
from paddock.node.runtime.pod_state import DELETED, LOST, Ending, Obstacle, PodState, Run
from paddock.words.phrases import phrase

HOST_ADDRESS = "127.0.0.1"


def build_pod_status(
    pod: Manifest, state: PodState, waiting: Mapping[str, Obstacle], now: Moment, ending: Ending | None = None
) -> Manifest:
    """The whole status. `waiting`: why containers do not run, by name; `ending`: set once all containers have ended."""
    inits, mains = pod["spec"].get("initContainers") or (), pod["spec"]["containers"]
    if ending is not None and _was_over(pod, state, ending):
        ending = None
    phase = _ended_phase(pod, state, ending) if ending else _phase(pod, state)
    status: Manifest = dict(pod.get("status") or {})
    status |= {
        "phase": phase,
        "hostIP": HOST_ADDRESS,
        "hostIPs": [{"ip": HOST_ADDRESS}],
        "podIP": state.address,
        "podIPs": [{"ip": state.address}],
        "startTime": format_time(state.accepted),
        "containerStatuses": [_container_status(item, pod, state, waiting) for item in mains],
    }
    if inits:
        status["initContainerStatuses"] = [_container_status(item, pod, state, waiting, init=True) for item in inits]
    for key in ("reason", "message"):
        status.pop(key, None)
    if ending is not None and ending.reason != DELETED:
        status |= {"reason": ending.reason, "message": ending.message}
    status["conditions"] = _with_notice(_conditions(pod, status, state, now), state, waiting, now)
    return status


def build_status_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> Manifest:
    """The JSON merge patch from `old` to `new`; empty if they are equal."""
    patch: Manifest = {key: value for key, value in new.items() if old.get(key) != value}
    return patch | {key: None for key in old if key not in new}


def is_initialized(pod: Manifest, state: PodState) -> bool:
    """Whether a container has been started: then no init container is waited for any more."""
    return any(container["name"] in state.runs for container in pod["spec"]["containers"])


def judge_phase(pod: Manifest, state: PodState) -> str:
    """The phase by all containers but the side-cars that run on: Succeeded or Failed while these are still to end."""
    spec = pod["spec"]
    policy, inits = spec.get("restartPolicy") or "Always", spec.get("initContainers") or ()
    firsts = [state.runs.get(container["name"]) for container in inits if not is_side_car(container)]
    if policy == "Never" and any(run is not None and not run.running and not run.succeeded for run in firsts):
        return "Failed"
    if not all(run is not None and run.succeeded for run in firsts):
        return "Pending"
    if not is_initialized(pod, state) and not all(_is_up(state, name) for name in list_side_cars(spec)):
        return "Pending"
    runs = [state.runs.get(container["name"]) for container in spec["containers"]]
    known = [run for run in runs if run is not None]
    if len(known) < len(runs):
        return "Running" if known and any(run.running for run in known) else "Pending"
    if any(run.running for run in known) or policy == "Always":
        return "Running"
    if all(run.succeeded for run in known):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _phase(pod: Manifest, state: PodState) -> str:
    phase = judge_phase(pod, state)
    if phase in ("Succeeded", "Failed") and state.running:
        return "Running" if is_initialized(pod, state) else "Pending"
    return phase


def _was_over(pod: Manifest, state: PodState, ending: Ending) -> bool:
    """Whether only side-cars still ran when the pod was to end: how it ended was decided then."""
    names = list_side_cars(pod["spec"])
    if not names or ending.reason == DELETED or judge_phase(pod, state) not in ("Succeeded", "Failed"):
        return False
    return all(
        run.finished is not None and run.finished < ending.since and run.reason != LOST
        for run in state.runs.values()
        if run.container not in names
    )


def _ended_phase(pod: Manifest, state: PodState, ending: Ending) -> str:
    if ending.reason != DELETED:
        return "Failed"
    if not state.runs:
        return str((pod.get("status") or {}).get("phase") or "Pending")
    runs = [state.runs.get(container["name"]) for container in pod["spec"]["containers"]]
    return "Succeeded" if all(run is not None and run.succeeded for run in runs) else "Failed"


def _container_status(
    container: Manifest, pod: Manifest, state: PodState, waiting: Mapping[str, Obstacle], *, init: bool = False
) -> Manifest:
    name = container["name"]
    run, earlier = state.runs.get(name), state.earlier.get(name)
    obstacle = waiting.get(name)
    if run is not None and not run.running and obstacle is not None:
        current, last = _waiting(obstacle), _terminated(run, state.uid)
    elif run is not None:
        current, last = _run_state(run, state.uid), _terminated(earlier, state.uid) if earlier else {}
    else:
        current, last = _waiting(obstacle or _first_wait(pod, state, init=init)), {}
    ready = run is not None and (run.succeeded if init and not is_side_car(container) else run.ready)
    status = {
        "name": name,
        "image": container.get("image") or "",
        "imageID": "",
        "ready": ready,
        "started": run is not None and run.up,
        "restartCount": run.number if run is not None else 0,
        "state": current,
        "lastState": last,
    }
    if run is not None:
        status["containerID"] = _container_id(state.uid, run)
    return status


def _first_wait(pod: Manifest, state: PodState, *, init: bool) -> Obstacle:
    """What kubelet shows for a container that has not been started yet."""
    if pod["spec"].get("initContainers"):
        return Obstacle("PodInitializing")
    return Obstacle("ContainerCreating")


def _waiting(obstacle: Obstacle) -> Manifest:
    message = {"message": obstacle.message} if obstacle.message else {}
    return {"waiting": {"reason": obstacle.reason, **message}}


def _run_state(run: Run, uid: str) -> Manifest:
    if run.running:
        return {"running": {"startedAt": format_time(run.started)}}
    return _terminated(run, uid)


def _terminated(run: Run, uid: str) -> Manifest:
    reason = {LOST: "ContainerStatusUnknown", "": "Completed" if run.exit_code == 0 else "Error"}
    ended: Manifest = {
        "exitCode": run.exit_code,
        "reason": reason.get(run.reason, run.reason),
        "startedAt": format_time(run.started),
        "finishedAt": format_time(run.finished or run.started),
        "containerID": _container_id(uid, run),
    }
    if 128 < run.exit_code < 160:  # a shell's exit code of a signal (128 + number); only signals up to 31 have names
        ended["signal"] = run.exit_code - 128
    if run.message:
        ended["message"] = run.message
    return {"terminated": ended}


def _container_id(uid: str, run: Run) -> str:
    return f"paddock://{uid}/{run.container}/{run.number}"


def _conditions(pod: Manifest, status: Manifest, state: PodState, now: Moment) -> list[Manifest]:
    phase, inits = status["phase"], pod["spec"].get("initContainers") or ()
    undone = [] if is_initialized(pod, state) else [item["name"] for item in inits if not _is_done(state, item)]
    runs_on = [*(item for item in inits if is_side_car(item)), *pod["spec"]["containers"]]
    unready = [item["name"] for item in runs_on if not _is_ready(state, item["name"])]
    over = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase)
    unready_why = (
        over or "ContainersNotReady",
        "" if over else str(phrase("containers with unready status: {names}", names=_names(unready))),
    )
    wanted = {
        "PodScheduled": ("True", "", ""),
        "Initialized": (
            "False",
            "ContainersNotInitialized",
            str(phrase("containers with incomplete status: {names}", names=_names(undone))),
        )
        if undone
        else ("True", "PodCompleted" if phase == "Succeeded" else "", ""),
        "ContainersReady": ("False", *unready_why) if unready else ("True", "", ""),
        "Ready": ("False", *unready_why) if unready else ("True", "", ""),
    }
    old: list[Manifest] = list(status.get("conditions") or ())
    known = {condition.get("type"): condition for condition in old}
    ours = [_condition(kind, *values, known.get(kind), now) for kind, values in wanted.items()]
    return [condition for condition in old if condition.get("type") not in wanted] + ours


def _with_notice(
    conditions: list[Manifest], state: PodState, waiting: Mapping[str, Obstacle], now: Moment
) -> list[Manifest]:
    """With what is to be said of the images, as a condition. What was said while a container waited stays until one
    runs, as it may wait for something else in between."""
    notices = [*(run.notice for run in state.runs.values()), *(obstacle.notice for obstacle in waiting.values())]
    said = list(filter(None, notices))
    if not said and not state.runs:
        return conditions
    others = [each for each in conditions if each.get("type") != DEFAULT_CONDITION]
    if not said:
        return others
    known = next((each for each in conditions if each.get("type") == DEFAULT_CONDITION), None)
    return [*others, _condition(DEFAULT_CONDITION, "True", "", said[0], known, now)]


def _condition(
    kind: str, status: str, reason: str, message: str, known: Mapping[str, Any] | None, now: Moment
) -> Manifest:
    moved = known is None or known.get("status") != status
    since = format_time(now) if known is None or moved else known.get("lastTransitionTime")
    condition: Manifest = {"type": kind, "status": status, "lastTransitionTime": since or format_time(now)}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def _is_done(state: PodState, container: Manifest) -> bool:
    """Of an init container: the next one may start."""
    run = state.runs.get(container["name"])
    return run is not None and (run.up if is_side_car(container) else run.succeeded)


def _is_up(state: PodState, name: str) -> bool:
    run = state.runs.get(name)
    return run is not None and run.up


def _is_ready(state: PodState, name: str) -> bool:
    run = state.runs.get(name)
    return run is not None and run.ready


def _names(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"
