"""A pod as a row of a table: the columns of `kubectl get pods`, and the reason of its state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.jobs.labels import ROLE_LABEL, SPARE_LABEL
from paddock.kube.meta import annotations_of, labels_of, metadata, name_of, namespace_of
from paddock.kube.times import Moment, read_time
from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class PodRow:
    """A pod as a row of a table."""

    namespace: str
    name: str
    ready: int  # how many containers are
    containers: int  # how many there are
    state: str  # kubectl's STATUS, or Spare (`jobs.policies.spares`)
    message: str  # the sentence for the state, on one line
    restarts: int
    created: Moment | None
    address: str
    node: str


def read_pod_row(pod: Mapping[str, Any]) -> PodRow:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    containers = status.get("containerStatuses") or []
    state, message = _read_state(pod)
    if labels_of(pod).get(SPARE_LABEL) == "true" and state != "Terminating":
        state, message = "Spare", _tell_spare(spec, message)
    return PodRow(
        namespace=namespace_of(pod),
        name=name_of(pod),
        ready=sum(1 for each in containers if each.get("ready")),
        containers=len(spec.get("containers") or ()),
        state=state,
        message=" ".join(message.split()),
        restarts=sum(int(each.get("restartCount") or 0) for each in containers),
        created=read_time(metadata(pod).get("creationTimestamp")),
        address=str(status.get("podIP") or ""),
        node=str(spec.get("nodeName") or ""),
    )


def _tell_spare(spec: Mapping[str, Any], message: str) -> str:
    """The sentence for a pod that runs nothing. What the kubelet says of one on a node means nothing: its containers
    never start."""
    if spec.get("nodeName"):
        return str(phrase("holds room for a larger gang; it runs nothing"))
    asked = str(phrase("asks for room for a larger gang; it runs nothing"))
    return f"{asked}: {message}" if message else asked


def _read_state(pod: Mapping[str, Any]) -> tuple[str, str]:
    status = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if metadata(pod).get("deletionTimestamp"):
        return "Terminating", ""
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = each.get("state") or {}
        if waiting := state.get("waiting"):
            return str(waiting.get("reason") or phase), str(waiting.get("message") or "")
        if (ended := state.get("terminated")) and ended.get("exitCode"):
            return str(ended.get("reason") or "Error"), _tell_end(ended)
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return phase, str(condition.get("message") or "")
    return {"Succeeded": "Completed"}.get(phase, phase), str(status.get("message") or "")


def _tell_end(ended: Mapping[str, Any]) -> str:
    """The kubelet's sentence about a program that it could not start, or one line of the program's own, with its exit
    code: its message, or the end of its log, which the kubelet reports of one that failed."""
    message, code = str(ended.get("message") or "").strip(), f"exit code {ended['exitCode']}"
    if ended.get("reason") != "Error" or not message:
        return message or code
    if "\n" not in message:
        return f"{message} ({code})"
    # late, as the expressions that find an error in a log take long to compile, and most listings show none
    from paddock.logs.endings import read_ending

    ending = read_ending(message)
    return f"{said} ({code})" if (said := ending.error or ending.last) else code


def ended_message(pod: Mapping[str, Any]) -> str:
    """The termination message of a container, written by its program or by the kubelet; empty without one."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        if message := ((each.get("state") or {}).get("terminated") or {}).get("message"):
            return " ".join(str(message).split())
    return ""


def rank_name(pod: Mapping[str, Any]) -> str:
    """`worker-0`: the pod's name without the job's."""
    role = labels_of(pod).get(ROLE_LABEL) or annotations_of(pod).get("paddle-resource")
    name = name_of(pod)
    return f"{role}-{name.rpartition('-')[2]}" if role else name
