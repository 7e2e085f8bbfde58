"""What else a cluster is: a scheduler and kubelets that say what pods do, a garbage collector, and a user's hand."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Any

from jobs.simulated.faults import Fault
from jobs.simulated.kubelets import Kubelet, names_config_map
from jobs.simulated.manifests import KEY, KINDS, read_status
from jobs.simulated.sentences import Sentences, attempt_of
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
NODE_NAMES = ("node-0", "node-1")

_OTHER = {
    "apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "name": KEY.name, "uid": "other", "controller": True,
}  # fmt: skip
"""The owner reference of what belongs to a living job of another kind, which another operator runs."""

_LATEST = 9.0
"""Seconds until a status is told at the latest; a verdict waits for 10."""


class Cluster:
    """Nodes, which may be out of reach: then nothing on one is started or ended, as far as anybody hears."""

    def __init__(
        self, store: Store, sentences: Sentences, faults: Collection[Fault], *, evicted: str = "Evicted"
    ) -> None:
        keeps = Fault.KEPT in faults
        self._kubelets = {name: Kubelet(store, keeps=keeps) for name in NODE_NAMES}
        self._store, self._sentences, self._evicted = store, sentences, evicted
        self._unsaid: list[tuple[float, Manifest, Manifest]] = []
        """Ends that no kubelet has told yet: the pod, and its status, since the store's time."""
        self._told: dict[str, Manifest] = {}
        self._addresses = 0
        for name in NODE_NAMES:
            self._store.create(NODES, {"metadata": {"name": name}, "status": {"conditions": [self._ready(True)]}})

    def is_reachable(self, node: str) -> bool:
        found = self._store.get(NODES, Key("", node))
        return bool(found["status"]["conditions"][0]["status"] == "True")

    def reach(self, reachable: bool, node: str) -> None:
        while self._unsaid and not reachable:
            self.tell(0)
        if reachable is not self.is_reachable(node):
            self._store.change(NODES, Key("", node), {"status": {"conditions": [self._ready(reachable)]}})

    def _runs(self, pod: Manifest) -> bool:
        return self.is_reachable(pod["spec"]["nodeName"])

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
        if pod is None or is_deleting(pod):
            return
        if not pod["spec"].get("nodeName"):
            self._place(pod)
        elif pod["status"]["phase"] == "Pending" and self._runs(pod):
            found = self._kubelets[pod["spec"]["nodeName"]].read(pod)
            if found is not None or not names_config_map(pod):
                self._start(pod, found)

    def _place(self, pod: Manifest) -> None:
        ready = [name for name in NODE_NAMES if self.is_reachable(name)]
        if not ready:
            return
        self._addresses += 1
        address = f"10.0.{self._addresses // 250}.{self._addresses % 250 + 1}"
        node = ready[self._addresses % len(ready)]
        self._kubelets[node].register(pod)
        self._say(pod, {"phase": "Pending", "podIP": address}, {"nodeName": node})

    def _start(self, pod: Manifest, found: Manifest | None) -> None:
        """`found`: the ConfigMap, of a pod that names one."""
        own = found is not None and controller_of(found) == controller_of(pod)  # else a former job's, or nobody's
        self._told[uid_of(pod)] = (found.get("data") or {}) if found is not None and own else {}
        if found is not None:
            self._sentences.judge_start(pod, found)
        self._say(pod, {"phase": "Running", "startTime": self._time(), **_container(pod, {"running": {}}, True)})
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
            self._sentences.note_told(pod, ended, well=status["phase"] == "Succeeded")
            self._say(pod, status)

    def pass_time(self, seconds: float) -> None:
        """Before time goes by: no status is on its way for as long as a verdict waits."""
        while self._unsaid and self._store.steady() + seconds - self._unsaid[0][0] > _LATEST:
            self.tell(0)

    def _end(self, pod: Manifest, code: int) -> bool:
        if (pod.get("status") or {}).get("phase") != "Running" or not self._runs(pod) or self._is_unsaid(pod):
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
        ended = pod is not None and (_has_ended(pod) or self._is_unsaid(pod))
        if pod is not None and not ended:
            self._sentences.note(pod, "disturbance" if number % 2 else "failure")
            self._say(pod, {"phase": "Failed", "reason": "NodeLost" if number % 2 else self._evicted})

    def delete_by_hand(self, number: int) -> None:
        pod = self.pick(number)
        if pod is not None:
            self._sentences.note_deletion(pod)
            self._store.delete(PODS, key_of(pod))

    def clear_ended(self, number: int) -> None:
        """One that has ended, whoever finds it in the way. The garbage collector of pods forces it."""
        ended = [pod for pod in self._store.all(PODS) if controller_of(pod) and _has_ended(pod)]
        if ended:
            pod = ended[number % len(ended)]
            self._sentences.note_deletion(pod)
            self._store.delete(PODS, key_of(pod), grace=0 if number % 2 else None)

    def evict_from_lost_nodes(self) -> None:
        """Five minutes after a node was lost, its pods are told to go; nobody confirms it."""
        for pod in self._store.all(PODS):
            if pod["spec"].get("nodeName") and not self._runs(pod) and not is_deleting(pod):
                self._sentences.note_deletion(pod)
                self._store.mark_deleting(PODS, key_of(pod))

    def reap(self) -> None:
        """Terminating programs have exited."""
        for name, kubelet in self._kubelets.items():
            if self.is_reachable(name):
                kubelet.reap()

    def collect(self) -> None:
        """Garbage collection: deletes objects without an owner, then their dependents."""
        alive = {uid_of(job) for job in self._jobs() if not is_deleting(job)} | {_OTHER["uid"]}
        for resource in CHILDREN:
            for child in self._store.all(resource):
                owner = controller_of(child)
                if owner is not None and owner["uid"] not in alive:
                    self._store.delete(resource, key_of(child))
        left = {(controller_of(child) or {}).get("uid") for each in CHILDREN for child in self._store.all(each)}
        for resource in KINDS:
            for job in self._store.all(resource):
                if is_deleting(job) and uid_of(job) not in left:
                    self._store.records += 1
                    self._store.remove(resource, key_of(job))

    def orphan(self) -> None:
        """What the job owns has no owner from now on."""
        for resource in CHILDREN:
            for child in self._store.all(resource):
                self._store.change(resource, key_of(child), {"metadata": {"ownerReferences": []}})

    def give_group_away(self) -> None:
        """The PodGroup of the job's name is that of a living job of another kind."""
        self._store.remove(POD_GROUPS, KEY)
        meta = {"name": KEY.name, "namespace": KEY.namespace, "ownerReferences": [_OTHER]}
        group = {"apiVersion": POD_GROUPS.api_version, "kind": POD_GROUPS.kind, "metadata": meta}
        self._store.create(POD_GROUPS, {**group, "spec": {"minMember": 1}})

    def _jobs(self) -> list[Manifest]:
        return [job for resource in KINDS for job in self._store.all(resource)]

    def obstruct(self, resource: Resource, name: str) -> None:
        """Another owner creates an object with a name of the job's."""
        meta = {"name": name, "namespace": KEY.namespace}
        manifest = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": {}}
        if self._store.find(resource, Key(KEY.namespace, name)) is None:
            self._store.create(resource, manifest)

    def clear(self) -> None:
        for resource in CHILDREN:
            for child in self._store.all(resource):
                if (controller_of(child) or _OTHER)["uid"] == _OTHER["uid"]:
                    self._store.remove(resource, key_of(child))

    def _look_at_gang(self, pod: Manifest) -> None:
        owner, attempt = (controller_of(pod) or {}).get("uid"), attempt_of(pod)
        jobs = [job for job in self._jobs() if uid_of(job) == owner]
        if not jobs or read_status(jobs[0]).attempt != attempt:
            return
        job = self._sentences.read_valid(jobs[0])
        wanted = {f"{name_of(jobs[0])}-{rank}" for rank in job.ranks()} if job is not None else set()
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


def _has_ended(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
