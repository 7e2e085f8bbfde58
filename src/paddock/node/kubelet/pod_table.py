"""All pods of this node, and what each holds exclusively: address, GPUs, links at mount paths. In memory, no I/O."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from paddock.kube.gpu_shares import GPU, find_shares, read_indices
from paddock.kube.meta import Manifest, annotations_of, is_deleting, name_of, namespace_of, version_of
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.kube.times import Moment
from paddock.node.kubelet.pod_plan import is_terminal
from paddock.node.runtime.addresses import plan_address
from paddock.node.runtime.container_env import ContainerWaiting
from paddock.node.runtime.gpus import GPU_RESOURCE, Gpu, Holding, NotEnoughGpus, plan_gpus
from paddock.node.runtime.hosts import address_of
from paddock.node.runtime.mounts import is_copy
from paddock.node.runtime.pod_state import Obstacle, PodState, Run
from paddock.node.runtime.processes import Process


@dataclass(slots=True)
class KnownPod:
    """A pod of this node: its object as last seen, and its local state. Either may come first."""

    uid: str
    manifest: Manifest | None = None
    state: PodState | None = None
    gone: bool = False  # the object is deleted
    cleaned_up: bool = False  # what it created outside its directory is removed
    emptied: bool = False  # its /tmp is removed too: until then it may be held
    may_have_orphans: bool = False  # a container has ended and may have left processes
    starting: bool = False  # a start is under way
    obstacles: dict[str, Obstacle] = field(default_factory=dict)
    told: dict[str, set[Process]] = field(default_factory=dict)
    """The processes that have been sent SIGTERM, of each container that has been."""
    outlived: set[str] = field(default_factory=set)  # containers whose first process has ended, and others live on
    cut: set[str] = field(default_factory=set)  # containers whose processes were killed when their grace was over
    published: set[tuple[str, str, str]] = field(default_factory=set)  # its events
    hides_running_until: float = 0.0  # no status Running is written before, by the event loop's clock
    adopted: bool = False  # an earlier kubelet started it, and its object is not known yet
    without_message: set[str] = field(default_factory=set)  # containers of an adopted pod that ended so far
    hidden: frozenset[str] = frozenset()  # values of Secrets that no message may have; in memory alone

    @property
    def running(self) -> list[Run]:
        return self.state.running if self.state is not None else []

    @property
    def untraced(self) -> list[Run]:
        """The runs of which only the start is recorded."""
        return [run for run in self.running if not run.pid]

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
        """The pods with a container that could not be started, or that is just tried; an empty namespace means all."""
        return [
            pod
            for pod in self._pods.values()
            if (pod.obstacles or pod.starting)
            and pod.manifest is not None
            and namespace in ("", namespace_of(pod.manifest))
        ]

    def plan_state(self, pod: KnownPod, manifest: Manifest, now: Moment, boot: str) -> PodState:
        """The first state of a pod: its own address, or none if it has ended before or is being deleted."""
        over = is_terminal(manifest) or is_deleting(manifest)
        taken = {other.state.address for other in self._pods.values() if other.state is not None}
        address = address_of(manifest) or ("" if over else plan_address(taken, zlib.crc32(pod.uid.encode())))
        return PodState(pod.uid, namespace_of(manifest), name_of(manifest), address, now, boot)

    def plan_gpus(self, pod: KnownPod, manifest: Manifest, gpus: Collection[Gpu]) -> tuple[int, ...]:
        """The indices of the pod's GPUs: those that it has, or free ones. `ContainerWaiting` if there are too few."""
        count = int(read_pod_amounts(manifest["spec"]).get(GPU_RESOURCE, 0))
        if pod.state is not None and count == len(pod.state.gpus):
            return pod.state.gpus
        others = [_read_holding(other) for other in self._others(pod) if not other.is_over]
        own = _read_choice(manifest)
        try:
            return plan_gpus(count, gpus, others, own.indices if own.is_chosen else (), own.shares)
        except NotEnoughGpus as error:
            raise ContainerWaiting(str(error), "CreateContainerError") from error

    def used_by_others(self, pod: KnownPod) -> frozenset[str]:
        """The paths outside their own directories that other pods still use. A copy is used while the pod is there, as
        it may be entered when it has ended."""
        others = ((other.state, other.cleaned_up) for other in self._others(pod))
        return frozenset(
            path for state, gone in others if state is not None for path in state.outside if not gone or is_copy(path)
        )

    def find_run(self, uid: str, container: str) -> Run | None:
        """The current run of a running container."""
        pod = self._pods.get(uid)
        return next((run for run in pod.running if run.container == container), None) if pod is not None else None

    def list_running(self) -> list[tuple[PodState, Run]]:
        """The containers whose process is known and runs now, each with its pod."""
        known = (pod for pod in self._pods.values() if pod.state is not None)
        return [(pod.state, run) for pod in known if pod.state is not None for run in pod.running if run.pid]

    def recall_run(self, uid: str, container: str, number: int) -> Run | None:
        """A run of a pod whose object is there, whether it runs or has ended; None if it is too long ago."""
        state = pod.state if (pod := self._pods.get(uid)) is not None else None
        known = () if state is None else (state.runs.get(container), state.earlier.get(container))
        return next((run for run in known if run is not None and run.number == number), None)

    def is_running(self, uid: str, container: str, number: int) -> bool:
        run = self.find_run(uid, container)
        return run is not None and run.number == number

    def _others(self, pod: KnownPod) -> Iterator[KnownPod]:
        return (other for other in self._pods.values() if other is not pod)


def _read_holding(pod: KnownPod) -> Holding:
    """What another pod has, or will have once it starts."""
    chosen = _read_choice(pod.manifest) if pod.manifest is not None else Holding(())
    has = pod.state.gpus if pod.state is not None else ()
    if not has or tuple(has) == chosen.indices:
        return chosen
    return Holding(has, is_chosen=pod.manifest is None)


def _read_choice(manifest: Manifest) -> Holding:
    """The GPUs that the scheduler has chosen for a pod."""
    indices = read_indices(manifest)
    try:
        amounts = read_pod_amounts(manifest["spec"])
    except ValueError:  # such a pod is never placed
        return Holding((), is_chosen=False)
    # As the scheduler counts them: in a copied manifest there may be those of another pod.
    if not indices or len(indices) != int(amounts.get(GPU, 0)):
        return Holding((), is_chosen=False)
    return Holding(indices, find_shares(annotations_of(manifest), amounts))


def read_address_state(manifest: Manifest) -> tuple[str, bool]:
    """The pod's address, and whether it has ended: a change of either changes the hosts files of others."""
    return address_of(manifest), is_terminal(manifest)


def is_older(manifest: Manifest, known: Manifest) -> bool:
    """Whether `manifest` is not newer than `known`: an event may arrive after the response to our own later write. The
    embedded API's resourceVersions are numbers."""
    ours, theirs = version_of(known), version_of(manifest)
    return ours.isdecimal() and theirs.isdecimal() and int(theirs) <= int(ours)
