"""A pod as a row of a table: the columns of `kubectl get pods`, and the reason of its state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.jobs.labels import OUTPUTS_CONTAINER, ROLE_LABEL, SPARE_LABEL
from paddock.jobs.model import Exit
from paddock.kube.container_ends import ENDED
from paddock.kube.held_pods import read_held
from paddock.kube.meta import annotations_of, labels_of, metadata, name_of, namespace_of
from paddock.kube.readiness import find_unready
from paddock.kube.side_cars import list_side_cars
from paddock.kube.times import Moment, read_time
from paddock.views.gpus import tell_gpus
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.views.rooms import Rooms


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
    held: Moment | None = None
    """Until when it is held for a shell, which may be over."""
    said: Phrase | None = None
    """What a reader is told in place of `message`: of a scheduler's about room what the pod needs and what is free; of
    a program that has failed its own words, which are in no reader's language but the program's."""
    gpus: Phrase | None = None
    """Which GPUs are its, on a laptop."""


def read_pod_row(pod: Mapping[str, Any], rooms: Rooms | None = None) -> PodRow:
    """`rooms`: what nodes and pods show; without it, or on a laptop, a scheduler's message says what it has."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    side_cars = list_side_cars(spec)
    beside = [each for each in status.get("initContainerStatuses") or () if each.get("name") in side_cars]
    containers = [*beside, *(status.get("containerStatuses") or ())]
    state, message = _read_state(pod)
    said = _say_room(pod, message, rooms) or _say_end(pod, message)
    if labels_of(pod).get(SPARE_LABEL) == "true" and state != "Terminating":
        state, message = "Spare", _tell_spare(spec, message)
        said = None
    return PodRow(
        namespace=namespace_of(pod),
        name=name_of(pod),
        ready=sum(1 for each in containers if each.get("ready")),
        containers=len(spec.get("containers") or ()) + len(side_cars),
        state=state,
        message=" ".join(message.split()),
        restarts=sum(int(each.get("restartCount") or 0) for each in containers),
        created=read_time(metadata(pod).get("creationTimestamp")),
        address=str(status.get("podIP") or ""),
        node=str(spec.get("nodeName") or ""),
        held=read_held(pod),
        said=said,
        gpus=tell_gpus(pod),
    )


def _say_room(pod: Mapping[str, Any], message: str, rooms: Rooms | None) -> Phrase | None:
    """None for a pod that does not wait for a node, or for another reason than room."""
    if not message or (pod.get("spec") or {}).get("nodeName") or message != find_unplaced(pod):
        return None
    from paddock.words.room import explain_room  # late: most pods of a listing have a node
    from paddock.words.shortage import explain_shortage

    if rooms is not None and (shortage := rooms.find_of_pod(dict(pod), message)) is not None:
        return explain_shortage(shortage)
    return explain_room(message)


def find_unplaced(pod: Mapping[str, Any]) -> str:
    """What the scheduler says of a pod that it does not place; empty without it."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message") or "")
    return ""


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
    side_cars = list_side_cars(pod.get("spec") or {})
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = each.get("state") or {}
        # A side-car that does not start keeps a pod from starting; how one ends says nothing of its pod.
        if each.get("name") in side_cars and (phase != "Pending" or "waiting" not in state):
            continue
        if waiting := state.get("waiting"):
            return str(waiting.get("reason") or phase), str(waiting.get("message") or "")
        if (ended := state.get("terminated")) and ended.get("exitCode"):
            return str(ended.get("reason") or "Error"), str(_tell_end(ended))
    if message := find_unplaced(pod):
        return phase, message
    said = str(status.get("message") or "")
    return {"Succeeded": "Completed"}.get(phase, phase), said or _tell_unready(pod, phase)


def _tell_unready(pod: Mapping[str, Any], phase: str) -> str:
    found = find_unready(pod) if phase == "Running" else None
    if found is None:
        return ""
    return str(phrase("container {name} runs, and is not ready by its {probe}", name=found[0], probe=found[1]))


def _say_end(pod: Mapping[str, Any], message: str) -> Phrase | None:
    """The end that `message` tells, as a sentence; None of any other message."""
    status = pod.get("status") or {}
    told = (each for key in ("initContainerStatuses", "containerStatuses") for each in status.get(key) or ())
    ends = (_tell_end(end) for each in told if (end := (each.get("state") or {}).get("terminated")))
    return next((said for said in ends if message and str(said) == message), None)


def _tell_end(ended: Mapping[str, Any]) -> Phrase:
    """The kubelet's sentence about a program that it could not start or has ended, or one line of the program's own,
    with its exit code: its message, or the end of its log, which the kubelet reports of one that failed."""
    message, code = str(ended.get("message") or "").strip(), int(ended.get("exitCode") or 0)
    bare = phrase("exit code {code}", code=code)
    if ended.get("reason") != "Error" or not message:
        return phrase("{said}", said=Foreign(message)) if message else bare
    if message.startswith(ENDED):
        return phrase("{error} ({end})", error=Foreign(message), end=bare)
    if "\n" in message:
        # late, as the expressions that find an error in a log take long to compile, and most listings show none
        from paddock.logs.endings import read_ending

        ending = read_ending(message, killed=Exit(code).signal is not None)
        message = ending.error or ending.last
    return phrase("{error} ({end})", error=message, end=bare) if message else bare


def ended_message(pod: Mapping[str, Any]) -> str:
    """The termination message of a container, written by its program or by the kubelet; empty without one."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        if message := ((each.get("state") or {}).get("terminated") or {}).get("message"):
            return " ".join(str(message).split())
    return ""


def prepared_message(pod: Mapping[str, Any]) -> str:
    """What the container that comes first says of the checkpoints with which a run begins, on a cluster
    (`jobs.objects.outputs`); empty where it says nothing, and where it has failed."""
    for each in (pod.get("status") or {}).get("initContainerStatuses") or ():
        ended = (each.get("state") or {}).get("terminated") or {}
        if str(each.get("name")).startswith(OUTPUTS_CONTAINER) and ended.get("exitCode") == 0:
            return " ".join(str(ended.get("message") or "").split())
    return ""


def rank_name(pod: Mapping[str, Any]) -> str:
    """`worker-0`: the pod's name without the job's."""
    role = labels_of(pod).get(ROLE_LABEL) or annotations_of(pod).get("paddle-resource")
    name = name_of(pod)
    return f"{role}-{name.rpartition('-')[2]}" if role else name
