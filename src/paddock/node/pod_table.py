"""All pods of this node at once: what one holds and another must not get. In memory; pure but for being changed.

Addresses, GPUs and links at mount paths are handed out here, each to one pod, until that pod is over.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from paddock.kube.meta import Manifest, is_deleting, name_of, namespace_of, version_of
from paddock.kube.times import Moment
from paddock.node.addresses import plan_address
from paddock.node.container_env import NotReady
from paddock.node.devices import GPU_RESOURCE, Gpu, NotEnoughGpus, plan_gpus
from paddock.node.names import address_of
from paddock.node.pod_plan import is_terminal
from paddock.node.pod_state import Obstacle, PodState, Run
from paddock.node.requests import read_pod_amounts


@dataclass(slots=True)
class KnownPod:
    """A pod of this node: the object as last seen, and what is known of it here. Either may come first.

    `gone`: the object is deleted. `tidy`: nothing of it is left in places that all share. `strays`: a container has
    ended and may have left processes. `signalled`: containers that have been sent SIGTERM. `told`: its events.
    `quiet_until`, by the event loop's clock: when its status may say Running.
    """

    uid: str
    manifest: Manifest | None = None
    state: PodState | None = None
    gone: bool = False
    tidy: bool = False
    strays: bool = False
    obstacles: dict[str, Obstacle] = field(default_factory=dict)
    signalled: set[str] = field(default_factory=set)
    told: set[tuple[str, str, str]] = field(default_factory=set)
    quiet_until: float = 0.0

    @property
    def running(self) -> list[Run]:
        return self.state.running if self.state is not None else []

    @property
    def is_over(self) -> bool:
        return self.manifest is not None and is_terminal(self.manifest)


class PodTable:
    """The known pods by UID."""

    def __init__(self) -> None:
        self._pods: dict[str, KnownPod] = {}

    def __iter__(self) -> Iterator[KnownPod]:
        return iter(list(self._pods.values()))

    @property
    def uids(self) -> Collection[str]:
        return self._pods.keys()

    def get(self, uid: str) -> KnownPod | None:
        return self._pods.get(uid)

    def add(self, pod: KnownPod) -> KnownPod:
        self._pods[pod.uid] = pod
        return pod

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def waiting(self, namespace: str) -> list[KnownPod]:
        """The pods of a namespace (all, where it is empty) with a container that could not be started."""
        return [
            pod
            for pod in self._pods.values()
            if pod.obstacles and pod.manifest is not None and namespace in ("", namespace_of(pod.manifest))
        ]

    def plan_state(self, pod: KnownPod, manifest: Manifest, now: Moment, boot: str) -> PodState:
        """What a pod begins with: an address of its own. One that was over when it was first seen needs none."""
        over = is_terminal(manifest) or is_deleting(manifest)
        taken = {other.state.address for other in self._pods.values() if other.state is not None}
        address = address_of(manifest) or ("" if over else plan_address(taken, zlib.crc32(pod.uid.encode())))
        return PodState(pod.uid, namespace_of(manifest), name_of(manifest), address, now, boot)

    def plan_gpus(self, pod: KnownPod, manifest: Manifest, gpus: Collection[Gpu]) -> tuple[int, ...]:
        """The GPUs for a pod: those it has, or free ones. `NotReady` if there are not enough."""
        count = int(read_pod_amounts(manifest["spec"]).get(GPU_RESOURCE, 0))
        if pod.state is not None and count == len(pod.state.gpus):
            return pod.state.gpus
        others = (other for other in self._others(pod) if not other.is_over)
        try:
            return plan_gpus(count, gpus, {other.uid: other.state.gpus for other in others if other.state is not None})
        except NotEnoughGpus as error:
            raise NotReady(str(error), "CreateContainerError") from error

    def used_by_others(self, pod: KnownPod) -> frozenset[str]:
        """The paths outside their own directories that other pods have still in use."""
        others = (other.state for other in self._others(pod) if not other.tidy)
        return frozenset(path for state in others if state is not None for path in state.outside)

    def find_run(self, uid: str, container: str) -> Run | None:
        """The run of a container that has not ended."""
        pod = self._pods.get(uid)
        return next((run for run in pod.running if run.container == container), None) if pod is not None else None

    def is_running(self, uid: str, container: str, number: int) -> bool:
        run = self.find_run(uid, container)
        return run is not None and run.number == number

    def _others(self, pod: KnownPod) -> Iterator[KnownPod]:
        return (other for other in self._pods.values() if other is not pod)


def read_place(manifest: Manifest) -> tuple[str, bool]:
    """What others may know a pod by: its address, and whether it still has it."""
    return address_of(manifest), is_terminal(manifest)


def is_older(manifest: Manifest, known: Manifest) -> bool:
    """Whether an event was overtaken by the answer to our own write. Versions of this API are numbers."""
    ours, theirs = version_of(known), version_of(manifest)
    return ours.isdecimal() and theirs.isdecimal() and int(theirs) <= int(ours)
