"""A Pod's manifest -> what is known of its rank now: `model.Pod`. Whoever made it: paddle-operator's and Kubeflow's are
read too.

A rank has ended when its training container has, as that one never starts again; what a side-car does afterwards is
not training. Where a status contradicts itself, what the node or the scheduler says of the whole pod (Evicted,
DeadlineExceeded, preempted) explains more than the exit code of the container that it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, PORT_ANNOTATION, ROLE_LABEL, WOKEN_ANNOTATION
from paddock.jobs.model import Exit, Pod, PodPhase, Rank
from paddock.kube.meta import annotations_of, is_deleting, labels_of, metadata, name_of, uid_of
from paddock.kube.times import read_time

NO_EXIT_CODE = -1
"""`Exit.code` of a pod that failed without any program's exit code: evicted before it ran, or its node was lost."""

_ROLE_ANNOTATION, _CONTAINER_ANNOTATION = "paddle-resource", "kubectl.kubernetes.io/default-container"
FOREIGN_ANNOTATIONS = frozenset({_ROLE_ANNOTATION, _CONTAINER_ANNOTATION})
"""Those that are read here and are not ours (`paddock.dev/`): whoever keeps pods for `read_pod` keeps them."""

_NUMBERED_NAME = re.compile(r".+-(?P<role>[a-z]+)-(?P<index>\d{1,9})")
_KUBEFLOW_LABELS = ("training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index")
_DULL_REASONS = frozenset({"ContainerCreating", "PodInitializing"})


def read_pod(manifest: Mapping[str, Any]) -> Pod | None:
    """The rank that this pod is; None for a pod that is no rank of any job."""
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
        exit=_exit(status, main, phase),
        waiting=None if phase in (PodPhase.SUCCEEDED, PodPhase.FAILED) else _waiting(status),
        deleting=is_deleting(manifest),
        port=_number(annotations_of(manifest).get(PORT_ANNOTATION)),
        started=read_time(status.get("startTime")),
        gone_by=read_time(metadata(manifest).get("deletionTimestamp")),
        forced=is_deleting(manifest) and metadata(manifest).get("deletionGracePeriodSeconds") == 0,
        disrupted=_disruption(status)[0],
        woken=WOKEN_ANNOTATION in annotations_of(manifest),
    )


def _rank(manifest: Mapping[str, Any]) -> Rank | None:
    """Our labels, else Kubeflow's, else paddle-operator's annotation with the index at the end of the name."""
    labels = labels_of(manifest)
    for role_label, index_label in (ROLE_LABEL, INDEX_LABEL), _KUBEFLOW_LABELS:
        index = _number(labels.get(index_label))
        if labels.get(role_label) and index is not None:
            return Rank(labels[role_label], index)
    role = annotations_of(manifest).get(_ROLE_ANNOTATION) or labels.get("paddle-res-type")
    match = _NUMBERED_NAME.fullmatch(name_of(manifest))
    if not role or match is None or match["role"] != role:
        return None
    return Rank(role, int(match["index"]))


def _phase(spec: Mapping[str, Any], status: Mapping[str, Any], main: Mapping[str, Any]) -> PodPhase:
    phase = status.get("phase")
    if phase == "Running" and spec.get("restartPolicy") == "Never" and (ended := _terminated(main)):
        return PodPhase.SUCCEEDED if _code(ended) == 0 else PodPhase.FAILED
    if phase in ("Succeeded", "Failed"):
        return PodPhase(phase)
    if phase == "Running":
        return PodPhase.RUNNING if all(map(_is_up, _statuses(status, "containerStatuses"))) else PodPhase.STARTING
    initializing = any("running" in _state(each) for each in _statuses(status, "initContainerStatuses"))
    return PodPhase.STARTING if spec.get("nodeName") and initializing else PodPhase.PENDING


def _is_up(container: Mapping[str, Any]) -> bool:
    ended = _terminated(container)
    return bool(container.get("ready")) or (ended is not None and _code(ended) == 0)


def _exit(status: Mapping[str, Any], main: Mapping[str, Any], phase: PodPhase) -> Exit | None:
    ended = _terminated(main)
    if phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED):
        return None
    whole = _reason_of_pod(status) if phase is PodPhase.FAILED else ("", "")
    if ended is None:
        failed = _failed_init(status)
        if failed is None:
            return Exit(0 if phase is PodPhase.SUCCEEDED else NO_EXIT_CODE, *whole)
        ended = failed
    return Exit(
        code=_code(ended),
        reason=whole[0] or str(ended.get("reason") or ""),
        message=whole[1] or str(ended.get("message") or ""),
        finished=read_time(ended.get("finishedAt")),
    )


def _failed_init(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    ends = (_terminated(each) for each in _statuses(status, "initContainerStatuses"))
    return next((end for end in ends if end is not None and _code(end) != 0), None)


def _reason_of_pod(status: Mapping[str, Any]) -> tuple[str, str]:
    """Why the pod as a whole was ended: `status.reason`, else the condition DisruptionTarget (Kubernetes 1.26)."""
    if status.get("reason"):
        return str(status["reason"]), str(status.get("message") or "")
    return _disruption(status)


def _disruption(status: Mapping[str, Any]) -> tuple[str, str]:
    """Why the cluster takes a pod away: preempted, evicted, its node tainted."""
    for condition in _items(status, "conditions"):
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return str(condition.get("reason") or ""), str(condition.get("message") or "")
    return "", ""


def _waiting(status: Mapping[str, Any]) -> tuple[str, str] | None:
    """The scheduler's word, else a container's, and of those one that says more than that it is being made."""
    for condition in _items(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("reason") or ""), str(condition.get("message") or "")
    found = [
        (str(waiting.get("reason") or ""), str(waiting.get("message") or ""))
        for key in ("initContainerStatuses", "containerStatuses")
        for each in _statuses(status, key)
        if isinstance(waiting := _state(each).get("waiting"), Mapping)
    ]
    return next((each for each in found if each[0] not in _DULL_REASONS), next(iter(found), None))


def _main_status(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status of the container that trains, as `pods.main_container` chose it; empty before there is one."""
    names = [str(each.get("name")) for each in _items(_mapping(manifest, "spec"), "containers")]
    marked = {framework.container for framework in FRAMEWORKS.values()}
    default = annotations_of(manifest).get(_CONTAINER_ANNOTATION)
    first = [name for name in names if name in marked] + [name for name in names if name == default] + names
    statuses = {each.get("name"): each for each in _statuses(_mapping(manifest, "status"), "containerStatuses")}
    return statuses.get(first[0], {}) if first else {}


def _terminated(container: Mapping[str, Any]) -> Mapping[str, Any] | None:
    ended = _state(container).get("terminated")
    return ended if isinstance(ended, Mapping) else None


def _code(ended: Mapping[str, Any]) -> int:
    """The exit code as a shell has it; a runtime that tells the signal alone means 128 + signal."""
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
    """A whole number, written as one or as text (labels); None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value) else None
