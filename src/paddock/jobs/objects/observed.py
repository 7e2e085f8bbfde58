"""A Pod's manifest -> the state of its rank: `model.Pod`. Pods of paddle-operator and of Kubeflow are read too.

A rank has ended when its training container has, and as that did, whatever its side-cars do: the container never
restarts. A reason of the whole pod (Evicted, DeadlineExceeded, preempted) takes precedence over a container's exit
code, which follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import (
    ATTEMPT_LABEL,
    CONFIG_MAP_ANNOTATION,
    INDEX_LABEL,
    PORT_ANNOTATION,
    RENEWAL_LABEL,
    ROLE_LABEL,
    SIZE_ANNOTATION,
    SPARE_LABEL,
    WOKEN_ANNOTATION,
)
from paddock.jobs.model import NOBODY, Displaced, Exit, Pod, PodPhase, Rank
from paddock.jobs.queued import GROUP_LABEL, TERMINATION_TARGET, is_stopped, read_displaced
from paddock.kube.held_pods import HOLD_ANNOTATION, read_held
from paddock.kube.meta import annotations_of, controller_of, is_deleting, labels_of, metadata, name_of, uid_of
from paddock.kube.side_cars import list_side_cars
from paddock.kube.times import Moment, read_time

NO_EXIT_CODE = -1
"""`Exit.code` of a pod that failed without an exit code of a program: evicted before it ran, or its node was lost."""

_CONTAINERS = {
    (resource.api_version, resource.kind): FRAMEWORKS[api.framework].container for resource, api in KINDS.items()
}
"""The name of the container that trains, by the apiVersion and kind of a pod's owner."""

RANK_LABELS = frozenset({ROLE_LABEL, INDEX_LABEL, ATTEMPT_LABEL, RENEWAL_LABEL, SPARE_LABEL, GROUP_LABEL}).union(
    *(api.rank_labels for api in KINDS.values())
)
RANK_ANNOTATIONS = frozenset(
    {PORT_ANNOTATION, WOKEN_ANNOTATION, CONFIG_MAP_ANNOTATION, SIZE_ANNOTATION, HOLD_ANNOTATION}
).union(*(api.rank_annotations for api in KINDS.values()))
"""The labels and annotations that `read_pod` reads; a cache of pods must keep them, and may drop all others."""

_NORMAL_REASONS = frozenset({"ContainerCreating", "PodInitializing"})


def read_pod(manifest: Mapping[str, Any]) -> Pod | None:
    """The rank of this pod; None for a pod of no job."""
    rank = _rank(manifest)
    if rank is None:
        return None
    labels, status, spec = labels_of(manifest), _mapping(manifest, "status"), _mapping(manifest, "spec")
    main = _main_status(manifest)
    phase = _phase(spec, status, main)
    return Pod(
        name=name_of(manifest),
        uid=uid_of(manifest),
        rank=rank,
        attempt=_number(labels.get(ATTEMPT_LABEL)) or 0,
        phase=phase,
        address=str(status.get("podIP") or ""),
        node=str(spec.get("nodeName") or ""),
        exit=_exit(spec, status, main, phase),
        waiting=None if phase in (PodPhase.SUCCEEDED, PodPhase.FAILED) else _waiting(manifest),
        deleting=is_deleting(manifest),
        port=_number(annotations_of(manifest).get(PORT_ANNOTATION)),
        started=read_time(status.get("startTime")),
        finalizers=read_finalizers(manifest) if is_deleting(manifest) else (),
        gone_by=read_time(metadata(manifest).get("deletionTimestamp")),
        forced=is_deleting(manifest) and metadata(manifest).get("deletionGracePeriodSeconds") == 0,
        disrupted=_disruption(status)[0],
        displaced=_displaced(status),
        queued=GROUP_LABEL in labels,
        woken=WOKEN_ANNOTATION in annotations_of(manifest),
        scheduler=str(spec.get("schedulerName") or ""),
        created=read_time(metadata(manifest).get("creationTimestamp")),
        looked_at=any(condition.get("type") == "PodScheduled" for condition in _items(status, "conditions")),
        placed=_placed(status),
        unheard=_unheard(status) if phase is PodPhase.RUNNING else None,
        renewal=_number(labels.get(RENEWAL_LABEL)) or 0,
        lingering=_lingering(status, main) if phase in (PodPhase.SUCCEEDED, PodPhase.FAILED) else (),
        spare=labels.get(SPARE_LABEL) == "true",
        config_map=str(annotations_of(manifest).get(CONFIG_MAP_ANNOTATION) or ""),
        size=str(annotations_of(manifest).get(SIZE_ANNOTATION) or ""),
        held=read_held(manifest),
        unready=_unready(status, main) if phase is PodPhase.STARTING else "",
    )


MOST_FINALIZERS = 4
_LONGEST_FINALIZER = 100


def read_finalizers(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The first ones, as a sentence names them: any program may write many, of any length."""
    found = metadata(manifest).get("finalizers")
    return tuple(str(each)[:_LONGEST_FINALIZER] for each in found[:MOST_FINALIZERS]) if isinstance(found, list) else ()


def _rank(manifest: Mapping[str, Any]) -> Rank | None:
    """From Paddock's labels, or from those of another operator of an API group."""
    labels = labels_of(manifest)
    index = _number(labels.get(INDEX_LABEL))
    if labels.get(ROLE_LABEL) and index is not None:
        return Rank(labels[ROLE_LABEL], index)
    return next((rank for api in KINDS.values() if (rank := api.read_rank(manifest)) is not None), None)


def _phase(spec: Mapping[str, Any], status: Mapping[str, Any], main: Mapping[str, Any]) -> PodPhase:
    phase, ended = status.get("phase"), _terminated(main)
    by_container = phase == "Running" or (phase == "Failed" and not _reason_of_pod(status)[0])
    if by_container and ended is not None and spec.get("restartPolicy") == "Never":
        return PodPhase.SUCCEEDED if _code(ended) == 0 else PodPhase.FAILED
    if phase in ("Succeeded", "Failed"):
        return PodPhase(phase)
    if phase == "Running":
        up = all(_is_up(each, main) for each in _statuses(status, "containerStatuses"))
        return PodPhase.RUNNING if up else PodPhase.STARTING
    initializing = any("running" in _state(each) for each in _statuses(status, "initContainerStatuses"))
    return PodPhase.STARTING if spec.get("nodeName") and initializing else PodPhase.PENDING


def _is_up(container: Mapping[str, Any], main: Mapping[str, Any]) -> bool:
    """Whether the container has started; a side-car may have ended since, with any code."""
    ended = _terminated(container)
    return bool(container.get("ready")) or (ended is not None and (container is not main or _code(ended) == 0))


def _unready(status: Mapping[str, Any], main: Mapping[str, Any]) -> str:
    """The first container that runs and is not ready; empty where one does not run yet."""
    found = [each for each in _statuses(status, "containerStatuses") if not _is_up(each, main)]
    runs = status.get("phase") == "Running" and all("running" in _state(each) for each in found)
    return str(found[0].get("name") or "") if found and runs else ""


MOST_LINGERING = 4


def _lingering(status: Mapping[str, Any], main: Mapping[str, Any]) -> tuple[str, ...]:
    """The first of its containers that run, or have still to begin, as one whose image comes late. Init containers that
    restart (Kubernetes' side-cars) do not count: the kubelet ends them by itself."""
    begins = status.get("phase") == "Running"
    found = (
        str(each.get("name") or "")
        for each in _statuses(status, "containerStatuses")
        if "running" in _state(each) or (begins and each is not main and "waiting" in _state(each))
    )
    return tuple(islice(found, MOST_LINGERING))


def _exit(spec: Mapping[str, Any], status: Mapping[str, Any], main: Mapping[str, Any], phase: PodPhase) -> Exit | None:
    ended, initial = _terminated(main), False
    if phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED):
        return None
    whole = _reason_of_pod(status) if phase is PodPhase.FAILED else ("", "")
    if ended is None:
        failed = _failed_init(spec, status)
        if failed is None:
            return Exit(0 if phase is PodPhase.SUCCEEDED else NO_EXIT_CODE, *whole)
        ended, initial = failed, True
    return Exit(
        code=_code(ended),
        reason=whole[0] or str(ended.get("reason") or ""),
        message=whole[1] or str(ended.get("message") or ""),
        finished=read_time(ended.get("finishedAt")),
        initial=initial,
    )


def _failed_init(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The end of the init container that failed. How a side-car ended is never why."""
    side_cars = list_side_cars({"initContainers": list(_items(spec, "initContainers"))})
    statuses = _statuses(status, "initContainerStatuses")
    ends = (_terminated(each) for each in statuses if each.get("name") not in side_cars)
    return next((end for end in ends if end is not None and _code(end) != 0), None)


def _reason_of_pod(status: Mapping[str, Any]) -> tuple[str, str]:
    """Why the whole pod was ended: `status.reason`, or a condition that tells it."""
    if status.get("reason"):
        return str(status["reason"]), str(status.get("message") or "")
    return _disruption(status)


def _disruption(status: Mapping[str, Any]) -> tuple[str, str]:
    """Why a pod is ended by the cluster: preempted, evicted, its node tainted (DisruptionTarget, Kubernetes 1.26); or
    by Kueue, whose word is about the whole gang."""
    told = {
        str(each.get("type")): (str(each.get("reason") or ""), str(each.get("message") or ""))
        for each in _items(status, "conditions")
        if each.get("type") in (TERMINATION_TARGET, "DisruptionTarget") and each.get("status") == "True"
    }
    return told.get(TERMINATION_TARGET) or told.get("DisruptionTarget") or ("", "")


def _displaced(status: Mapping[str, Any]) -> Displaced:
    reason, message = _disruption(status)
    return read_displaced(message) if is_stopped(reason) else NOBODY


def _unheard(status: Mapping[str, Any]) -> Moment | None:
    """Since when the node of a running pod is not ready. The node lifecycle controller (MarkPodsNotReady) then sets the
    pod's condition Ready to False, and leaves the rest as the kubelet wrote it, which always gives a reason."""
    for condition in _items(status, "conditions"):
        if condition.get("type") == "Ready" and condition.get("status") == "False" and not condition.get("reason"):
            return read_time(condition.get("lastTransitionTime"))
    return None


def _placed(status: Mapping[str, Any]) -> Moment | None:
    """Since when the pod has a node."""
    for condition in _items(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return read_time(condition.get("lastTransitionTime"))
    return None


def _waiting(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """The reason and message of the scheduler, or of a container. Prefers a reason beyond ContainerCreating."""
    status = _mapping(manifest, "status")
    for condition in _items(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("reason") or ""), _name_claims(str(condition.get("message") or ""), manifest)
    # Of a pod that runs, only side-cars can wait there, as they restart.
    keys = ("initContainerStatuses", "containerStatuses")[status.get("phase") == "Running" :]
    found = [
        (str(waiting.get("reason") or ""), str(waiting.get("message") or ""))
        for key in keys
        for each in _statuses(status, key)
        if isinstance(waiting := _state(each).get("waiting"), Mapping)
    ]
    return next((each for each in found if each[0] not in _NORMAL_REASONS), next(iter(found), None))


_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
_MOST_CLAIMS = 8


def _name_claims(message: str, manifest: Mapping[str, Any]) -> str:
    """kube-scheduler does not say which claim is not bound: those of the pod, as the local scheduler writes it."""
    if _UNBOUND not in message or f"{_UNBOUND} (" in message:
        return message
    names = ", ".join(list_claims(manifest))
    return message.replace(_UNBOUND, f"{_UNBOUND} ({names})", 1) if names else message


def list_claims(manifest: Mapping[str, Any]) -> list[str]:
    """The claims that a pod mounts, the first ones; also those that Kubernetes makes for it (`ephemeral`)."""
    found = (
        f"{name_of(manifest)}-{each.get('name')}"
        if "ephemeral" in each
        else _mapping(each, "persistentVolumeClaim").get("claimName")
        for each in _items(_mapping(manifest, "spec"), "volumes")
    )
    return list(islice((str(each) for each in found if each), _MOST_CLAIMS))


def _main_status(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status of the container that trains, as in `frameworks.registry.main_container`; empty before it exists."""
    names = [str(each.get("name")) for each in _items(_mapping(manifest, "spec"), "containers")]
    owner = controller_of(manifest) or {}
    wanted = _CONTAINERS.get((str(owner.get("apiVersion")), str(owner.get("kind"))))
    first = [name for name in names if name == wanted] + names
    statuses = {each.get("name"): each for each in _statuses(_mapping(manifest, "status"), "containerStatuses")}
    return statuses.get(first[0], {}) if first else {}


def _terminated(container: Mapping[str, Any]) -> Mapping[str, Any] | None:
    ended = _state(container).get("terminated")
    return ended if isinstance(ended, Mapping) else None


def _code(ended: Mapping[str, Any]) -> int:
    """The exit code as a shell reports it: 128 + signal, if the runtime reports the signal only."""
    code, signal = _number(ended.get("exitCode")) or 0, _number(ended.get("signal")) or 0
    return code or (128 + signal if signal else 0)


def _state(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(container, "state")


def _statuses(status: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    return list(_items(status, key))


def _items(value: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    found = value.get(key)
    yield from (item for item in (found if isinstance(found, list) else ()) if isinstance(item, Mapping))


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _number(value: Any) -> int | None:
    """A whole number, also as text (labels); None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value) else None
