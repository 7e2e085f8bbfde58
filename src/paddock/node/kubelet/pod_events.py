"""The events of pods, as `kubectl describe pod` shows them. `read_notes` decides which are due, and is pure.

Events are derived from the status `_DELAY` seconds later: what was over by then gets no event, as the wait for a
ConfigMap that is created with the pod. They are written for all pods together, and no pod waits for its events.
Reasons and messages are kubelet's, and one more: why a pod was ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from paddock.controllers.events import EventSink, build_event
from paddock.controllers.tasks import CoalescedTask
from paddock.kube.environments import DEFAULT_CONDITION, read_notice
from paddock.kube.meta import Manifest, controller_of, is_deleting, name_of, namespace_of, uid_of
from paddock.node.kubelet.pod_table import PodTable
from paddock.words.phrases import counted, phrase

COMPONENT = "paddock-kubelet"
_DELAY = 1.0  # seconds from a change of a status to its events
_PASSING = ("", "ContainerCreating", "PodInitializing", "EnvironmentBuilding")
_START_ERROR = "StartError"
_DEFAULT_TAKEN = DEFAULT_CONDITION.rpartition("/")[2]
"""The reason of an event that the pod's controller gets too. All its pods say the same, so it is one event there."""


class Note(NamedTuple):
    """An event to publish. `kind`: Normal or Warning."""

    reason: str
    message: str
    kind: str = "Warning"


def read_notes(pod: Manifest) -> list[Note]:
    """The events that the pod's current status calls for; the caller publishes each once per pod."""
    status = pod.get("status") or {}
    everyone = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    notes = [note for found in everyone for note in _read_container(pod, found)]
    if notice := read_notice(pod):
        notes.append(Note(_DEFAULT_TAKEN, notice))
    if status.get("reason") and status.get("message"):
        notes.append(Note(str(status["reason"]), str(status["message"])))
    return notes


def _read_container(pod: Manifest, found: Manifest) -> Iterator[Note]:
    name, state, last = found["name"], found.get("state") or {}, found.get("lastState") or {}
    ended = [run["terminated"] for run in (last, state) if "terminated" in run]
    failures = [run.get("message") or "" for run in ended if run.get("reason") == _START_ERROR]
    if "running" in state or len(ended) > len(failures):
        yield Note("Started", str(phrase("Started container {name}", name=name)), "Normal")
    waiting = state.get("waiting") or {}
    reason, message = str(waiting.get("reason") or ""), str(waiting.get("message") or "")
    if reason not in (*_PASSING, "CrashLoopBackOff") and message:
        failures.append(message)
    yield from (Note("Failed", str(phrase("Error: {failure}", failure=failure))) for failure in dict.fromkeys(failures))
    if reason == "CrashLoopBackOff":
        who = f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
        yield Note(
            "BackOff", str(phrase("Back-off restarting failed container {name} in pod {pod}", name=name, pod=who))
        )
    if "running" in state and is_deleting(pod):
        yield Note("Killing", str(phrase("Stopping container {name}", name=name)), "Normal")


def build_cut(pod: Manifest, container: str, processes: int, grace: float) -> Note:
    """What is said of processes that were killed at the end of their pod's grace. The reason is the kubelet's."""
    said = counted(
        "{count} process of container {container} of {pod} still ran after the grace of {seconds} s, and was killed",
        "{count} processes of container {container} of {pod} still ran after the grace of {seconds} s, and were killed",
        count=processes, container=container, pod=name_of(pod), seconds=int(grace),
    )  # fmt: skip
    return Note("ExceededGracePeriod", str(said))


def list_subjects(pod: Manifest) -> tuple[Manifest, ...]:
    """The pod and its controller: an event of a pod that goes is read there."""
    return (pod, *_read_owner(pod))


class PodEvents:
    """Publishes the events of the pods of a table. Needs a running event loop."""

    def __init__(self, sink: EventSink, pods: PodTable, clock: Callable[[], float] = time.time) -> None:
        self._sink = sink
        self._pods = pods
        self._clock = clock
        self._changed: set[str] = set()
        self._coalesced = CoalescedTask(_DELAY, self._publish)

    def ask(self, uid: str) -> None:
        """The pod's status has changed."""
        self._changed.add(uid)
        self._coalesced.ask()

    def close(self) -> None:
        self._coalesced.close()

    async def _publish(self) -> None:
        changed, self._changed = self._changed, set()
        await self._sink.write_all([event for uid in changed for event in self._build(uid)])

    def _build(self, uid: str) -> list[Manifest]:
        pod = self._pods.get(uid)
        if pod is None or pod.manifest is None:
            return []
        fresh = [note for note in read_notes(pod.manifest) if note not in pod.published]
        pod.published.update(fresh)
        now = self._clock()
        return [
            build_event(about, it.reason, it.message, now, component=COMPONENT, type=it.kind)
            for it in fresh
            for about in (list_subjects(pod.manifest) if it.reason == _DEFAULT_TAKEN else (pod.manifest,))
        ]


def _read_owner(pod: Manifest) -> Iterator[Manifest]:
    """What an event says of the pod's controller, if it has one."""
    if owner := controller_of(pod):
        about = {"namespace": namespace_of(pod), "name": owner["name"], "uid": owner["uid"]}
        yield {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "metadata": about}
