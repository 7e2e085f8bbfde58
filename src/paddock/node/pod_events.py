"""The events of pods: what `kubectl describe pod` shows at its end. `read_notes` decides which are due, and is pure.

They are read from the status as it stands a moment later, never from what happened: what was over soon is not told, as
the wait for a ConfigMap that is made with the pod. Many pods cost one gathering, and no pod waits for its events.
The words are kubelet's, with one sentence more where it has none: why a pod was ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from paddock.kube.api import Api
from paddock.kube.meta import Manifest, is_deleting, name_of, namespace_of, uid_of
from paddock.node.notices import build_notice, publish_all
from paddock.node.pod_table import PodTable
from paddock.node.turns import Gathered

COMPONENT = "paddock-kubelet"
_LATER = 1.0  # seconds after which a pod's events are looked for
_PASSING = ("", "ContainerCreating", "PodInitializing", "EnvironmentBuilding")
_START_ERROR = "StartError"


class Note(NamedTuple):
    """An event to be: its `kind` is Normal or Warning."""

    reason: str
    message: str
    kind: str = "Warning"


def read_notes(pod: Manifest) -> list[Note]:
    """All that is to be told of a pod as it is, and each only once of one pod."""
    status = pod.get("status") or {}
    everyone = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    notes = [note for found in everyone for note in _read_container(pod, found)]
    if status.get("reason") and status.get("message"):
        notes.append(Note(str(status["reason"]), str(status["message"])))
    return notes


def _read_container(pod: Manifest, found: Manifest) -> Iterator[Note]:
    name, state, last = found["name"], found.get("state") or {}, found.get("lastState") or {}
    ended = [run["terminated"] for run in (last, state) if "terminated" in run]
    failures = [run.get("message") or "" for run in ended if run.get("reason") == _START_ERROR]
    if "running" in state or len(ended) > len(failures):
        yield Note("Started", f"Started container {name}", "Normal")
    waiting = state.get("waiting") or {}
    reason, message = str(waiting.get("reason") or ""), str(waiting.get("message") or "")
    if reason not in (*_PASSING, "CrashLoopBackOff") and message:
        failures.append(message)
    yield from (Note("Failed", f"Error: {failure}") for failure in dict.fromkeys(failures))
    if reason == "CrashLoopBackOff":
        who = f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
        yield Note("BackOff", f"Back-off restarting failed container {name} in pod {who}")
    if "running" in state and is_deleting(pod):
        yield Note("Killing", f"Stopping container {name}", "Normal")


class PodEvents:
    """Publishes the events of the pods of a table. Needs a running event loop."""

    def __init__(self, api: Api, pods: PodTable, clock: Callable[[], float] = time.time) -> None:
        self._api = api
        self._pods = pods
        self._clock = clock
        self._changed: set[str] = set()
        self._gathered = Gathered(_LATER, self._publish)

    def ask(self, uid: str) -> None:
        """The pod's status has changed."""
        self._changed.add(uid)
        self._gathered.ask()

    def close(self) -> None:
        self._gathered.close()

    async def _publish(self) -> None:
        changed, self._changed = self._changed, set()
        notices = [notice for uid in changed for notice in self._build(uid)]
        await publish_all(self._api, notices)

    def _build(self, uid: str) -> list[Manifest]:
        pod = self._pods.get(uid)
        if pod is None or pod.manifest is None:
            return []
        fresh = [note for note in read_notes(pod.manifest) if note not in pod.told]
        pod.told.update(fresh)
        now, about = self._clock(), pod.manifest
        return [build_notice(about, it.reason, it.message, now, component=COMPONENT, kind=it.kind) for it in fresh]
