"""What else a cluster is: a scheduler and kubelets that say what pods do, a garbage collector, and a user's hand."""

from __future__ import annotations

from random import Random
from typing import Any

from jobs.simulated.process import JOBS
from jobs.simulated.sentences import KEY, Sentences, attempt_of
from jobs.simulated.store import Store
from paddock.kube.meta import (
    CONFIG_MAPS,
    NODES,
    POD_GROUPS,
    PODS,
    SERVICES,
    Key,
    Manifest,
    Resource,
    controller_of,
    is_deleting,
    key_of,
    name_of,
    uid_of,
)
from paddock.kube.times import format_time

CHILDREN = (PODS, SERVICES, CONFIG_MAPS, POD_GROUPS)
NODE = "node"

_LATEST = 9.0
"""Seconds until a status is told at the latest; a verdict waits for 10."""


class Cluster:
    """One node, which may be out of reach: then nothing on it is started or ended, as far as anybody hears."""

    def __init__(self, store: Store, sentences: Sentences, *, evicted: str = "Evicted") -> None:
        self._store, self._sentences, self._evicted = store, sentences, evicted
        self._unsaid: list[tuple[float, Manifest, Manifest]] = []
        """Ends that no kubelet has told yet: the pod, and its status, since the store's time."""
        self._told: dict[str, Manifest] = {}
        self._addresses = 0
        self._store.create(NODES, {"metadata": {"name": NODE}, "status": {"conditions": [self._ready(True)]}})

    @property
    def reachable(self) -> bool:
        return bool(self._store.get(NODES, Key("", NODE))["status"]["conditions"][0]["status"] == "True")

    def reach(self, reachable: bool) -> None:
        while self._unsaid and not reachable:
            self.tell(0)
        if reachable is not self.reachable:
            self._store.change(NODES, Key("", NODE), {"status": {"conditions": [self._ready(reachable)]}})

    def _ready(self, reachable: bool) -> Manifest:
        """As Kubernetes says it of a node of which nothing is heard."""
        return {
            "type": "Ready",
            "status": "True" if reachable else "Unknown",
            "lastTransitionTime": format_time(self._store.clock()),
        }

    def pick(self, number: int) -> Manifest | None:
        pods = [pod for pod in self._store.all(PODS) if controller_of(pod)]
        return pods[number % len(pods)] if pods else None

    def advance(self, number: int) -> None:
        """A pod is placed and gets its address; or starts, once the ConfigMap that it names is there."""
        pod = self.pick(number)
        if pod is None or is_deleting(pod) or not self.reachable:
            return
        if not pod["spec"].get("nodeName"):
            self._addresses += 1
            address = f"10.0.{self._addresses // 250}.{self._addresses % 250 + 1}"
            self._say(pod, {"phase": "Pending", "podIP": address}, {"nodeName": NODE})
        elif pod["status"]["phase"] == "Pending":
            named = _config_map(pod)
            found = self._store.find(CONFIG_MAPS, Key(key_of(pod).namespace, named)) if named else None
            if found is not None:
                own = controller_of(found) == controller_of(pod)  # else a former job's, or nobody's
                self._told[uid_of(pod)] = (found.get("data") or {}) if own else {}
                self._say(
                    pod, {"phase": "Running", "startTime": self._time(), **_container(pod, {"running": {}}, True)}
                )
                self._look_at_gang(pod)

    def finish(self, number: int, code: int) -> None:
        pod = self.pick(number)
        if pod is not None and self._end(pod, code):
            self.tell(len(self._unsaid) - 1)

    def end_together(self, number: int, code: int) -> None:
        """All programs end at the same time, one of them with `code`; their kubelets tell it later, in any order."""
        running = [pod for pod in self._store.all(PODS) if controller_of(pod)]
        Random(number).shuffle(running)
        for index, pod in enumerate(running):
            self._end(pod, code if index == 0 else 0)

    def tell(self, number: int) -> None:
        """A kubelet gets its status through."""
        if not self._unsaid:
            return
        ended, pod, status = self._unsaid.pop(number % len(self._unsaid))
        there = self._store.find(PODS, key_of(pod))
        if there is not None and uid_of(there) == uid_of(pod) and (there.get("status") or {}).get("phase") == "Running":
            self._sentences.note_told(pod, ended)
            self._say(pod, status)

    def pass_time(self, seconds: float) -> None:
        """Before time goes by: no status is on its way for as long as a verdict waits."""
        while self._unsaid and self._store.steady() + seconds - self._unsaid[0][0] > _LATEST:
            self.tell(0)

    def _end(self, pod: Manifest, code: int) -> bool:
        if (pod.get("status") or {}).get("phase") != "Running" or not self.reachable or self._is_unsaid(pod):
            return False
        if code or "-ps-" in name_of(pod):
            self._sentences.note(pod, "failure")
        self._sentences.note_end(pod, code)
        ended = {"terminated": {"exitCode": code, "finishedAt": self._time()}}
        status = {"phase": "Failed" if code else "Succeeded", **_container(pod, ended, False)}
        self._unsaid.append((self._store.steady(), pod, status))
        return True

    def _is_unsaid(self, pod: Manifest) -> bool:
        return any(uid_of(each) == uid_of(pod) for _, each, _ in self._unsaid)

    def lose(self, number: int) -> None:
        """The node of a pod is lost, or evicts it for what it uses."""
        pod = self.pick(number)
        ended = pod is not None and (
            (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed") or self._is_unsaid(pod)
        )
        if pod is not None and not ended:
            self._sentences.note(pod, "disturbance" if number % 2 else "failure")
            self._say(pod, {"phase": "Failed", "reason": "NodeLost" if number % 2 else self._evicted})

    def delete_by_hand(self, number: int) -> None:
        pod = self.pick(number)
        if pod is not None:
            self._sentences.note(pod, "disturbance")
            self._store.delete(PODS, key_of(pod))

    def reap(self) -> None:
        """Terminating programs have exited."""
        for pod in self._store.all(PODS):
            if is_deleting(pod) and self.reachable:
                self._store.remove(PODS, key_of(pod))

    def collect(self) -> None:
        """Garbage collection: deletes objects without an owner, then their dependents."""
        alive = {uid_of(job) for job in self._store.all(JOBS) if not is_deleting(job)}
        for resource in CHILDREN:
            for child in self._store.all(resource):
                owner = controller_of(child)
                if owner is not None and owner["uid"] not in alive:
                    self._store.delete(resource, key_of(child))
        left = {(controller_of(child) or {}).get("uid") for each in CHILDREN for child in self._store.all(each)}
        for job in self._store.all(JOBS):
            if is_deleting(job) and uid_of(job) not in left:
                self._store.records += 1
                self._store.remove(JOBS, key_of(job))

    def obstruct(self, resource: Resource, name: str) -> None:
        """Another owner creates an object with a name of the job's."""
        meta = {"name": name, "namespace": KEY.namespace}
        manifest = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": {}}
        if self._store.find(resource, Key(KEY.namespace, name)) is None:
            self._store.create(resource, manifest)

    def clear(self) -> None:
        for resource in (PODS, SERVICES, CONFIG_MAPS):
            for child in self._store.all(resource):
                if controller_of(child) is None:
                    self._store.remove(resource, key_of(child))

    def _look_at_gang(self, pod: Manifest) -> None:
        owner, attempt = (controller_of(pod) or {}).get("uid"), attempt_of(pod)
        jobs = [job for job in self._store.all(JOBS) if uid_of(job) == owner]
        if not jobs or (jobs[0].get("status") or {}).get("attempt", 0) != attempt:
            return
        spec = jobs[0]["spec"]
        roles = [role for role in ("ps", "worker") if role in spec]
        wanted = {f"{name_of(jobs[0])}-{role}-{index}" for role in roles for index in range(spec[role]["replicas"])}
        gang = [each for each in self._sentences.pods_of(jobs[0]) if attempt_of(each) == attempt]
        running = {name_of(each): each for each in gang if (each.get("status") or {}).get("phase") == "Running"}
        if len(running) == len(gang) and set(running) == wanted:  # else it is what is left of one that was resized
            self._sentences.judge_running(running, self._told)

    def _say(self, pod: Manifest, status: Manifest, spec: Manifest | None = None) -> None:
        self._store.change(PODS, key_of(pod), {"status": status, **({"spec": spec} if spec else {})})

    def _time(self) -> str:
        return format_time(self._store.clock())


def _container(pod: Manifest, state: Manifest, ready: bool) -> dict[str, Any]:
    name = pod["spec"]["containers"][0]["name"]
    return {"containerStatuses": [{"name": name, "ready": ready, "state": state}]}


def _config_map(pod: Manifest) -> str:
    sources = [entry for each in pod["spec"]["containers"] for entry in each.get("envFrom") or ()]
    return next((str(entry["configMapRef"]["name"]) for entry in sources if "configMapRef" in entry), "")
