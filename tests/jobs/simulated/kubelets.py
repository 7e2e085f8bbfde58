"""The kubelets: which pods each has, and which ConfigMaps it keeps.

`pkg/kubelet/util/manager/watch_based_manager.go`: a kubelet has one item for each namespace and name as long as a pod
that is registered with it refers to the name, and an immutable object is read once. A pod is registered from its
placing until it is gone from the API and its programs have exited; one that was deleted by force while its node was
out of reach stays registered until the node is back.
"""

from __future__ import annotations

from jobs.simulated.store import Store
from paddock.kube.meta import CONFIG_MAPS, PODS, Key, Manifest, is_deleting, key_of, namespace_of, uid_of


class Kubelet:
    """`keeps`: whether it keeps what it has read."""

    def __init__(self, store: Store, *, keeps: bool) -> None:
        self._store, self._keeps = store, keeps
        self._registered: dict[str, Manifest] = {}
        self._kept: dict[Key, Manifest] = {}

    def register(self, pod: Manifest) -> None:
        self._registered[uid_of(pod)] = pod

    def read(self, pod: Manifest) -> Manifest | None:
        """The ConfigMap that the pod starts with, if it is there."""
        name = _config_map(pod)
        if name in self._kept:
            return self._kept[name]
        found = self._store.find(CONFIG_MAPS, name)
        if found is not None and self._keeps:
            self._kept[name] = found
        return found

    def reap(self) -> None:
        """Programs that were told to end have exited."""
        for uid, pod in list(self._registered.items()):
            there = self._store.find(PODS, key_of(pod))
            if there is not None and uid_of(there) == uid:
                if not is_deleting(there):
                    continue
                self._store.remove(PODS, key_of(pod))
            del self._registered[uid]
        named = {_config_map(pod) for pod in self._registered.values()}
        self._kept = {name: kept for name, kept in self._kept.items() if name in named}


def names_config_map(pod: Manifest) -> bool:
    return bool(_config_map(pod).name)


def _config_map(pod: Manifest) -> Key:
    sources = [entry for each in pod["spec"]["containers"] for entry in each.get("envFrom") or ()]
    name = next((str(entry["configMapRef"]["name"]) for entry in sources if "configMapRef" in entry), "")
    return Key(namespace_of(pod), name)
