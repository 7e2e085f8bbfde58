"""What the ranks that run use now, as rows. Pure.

The numbers are those of metrics.k8s.io, on a laptop and on a cluster; how a GPU is used, and what was used before, is
told by samples: those of the node's record on a laptop, those that the reader has seen on a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from paddock.jobs.model import PodPhase, Rank
from paddock.jobs.objects.observed import read_pod
from paddock.kube.meta import Manifest, controller_of, name_of, namespace_of, uid_of
from paddock.kube.quantities import read_quantity
from paddock.kube.times import Moment, read_time
from paddock.kube.usage import read_usage
from paddock.node.usage.samples import Sample
from paddock.views.gpus import read_pod_shares, tell_gpus
from paddock.words.phrases import Phrase

SHOWN = 24
"""Samples of a rank that are kept and drawn: two minutes of a laptop."""
_GPU = "nvidia.com/gpu"

Order = Literal["name", "cpu", "memory", "gpu"]


@dataclass(frozen=True, slots=True)
class RankUse:
    """A rank that runs. Bytes and cores; NaN: not measured, or not yet."""

    namespace: str
    job: str
    kind: str
    rank: Rank
    pod: str
    uid: str
    """The pod's."""
    node: str
    attempt: int
    cpu_limit: float
    """NaN where a container has none."""
    memory_limit: float
    gpus: int
    share: Phrase | None = None
    """`1/4 of GPU 0`, where it shares one."""
    at: Moment | None = None
    containers: Mapping[str, tuple[float, float]] | None = None
    """Cores and bytes of each; None before the first measurement."""
    samples: Sequence[Sample] = ()
    """The oldest first. On a laptop they are those of the container that trains."""

    @property
    def cpu(self) -> float:
        return math.nan if self.containers is None else sum(cpu for cpu, _ in self.containers.values())

    @property
    def memory(self) -> float:
        return math.nan if self.containers is None else sum(memory for _, memory in self.containers.values())

    @property
    def gpu(self) -> float:
        """Percent of the time in which its GPUs worked."""
        return self.samples[-1].gpu if self.samples else math.nan

    @property
    def gpu_memory(self) -> float:
        return self.samples[-1].gpu_memory if self.samples else math.nan


def read_running(
    pods: Iterable[Manifest], metrics: Iterable[Mapping[str, Any]], samples: Mapping[str, Sequence[Sample]]
) -> list[RankUse]:
    """A row for each rank with a program that runs, init containers too. `samples`: by the UID of the pod. What cannot
    be read is not measured."""
    measured = {(namespace_of(each), name_of(each)): found for each in metrics if (found := _read_measured(each))}
    rows = []
    for pod in pods:
        read, owner = read_pod(pod), controller_of(pod)
        if read is None or owner is None or read.phase not in (PodPhase.RUNNING, PodPhase.STARTING):
            continue
        at, containers = measured.get((namespace_of(pod), name_of(pod)), (None, None))
        rows.append(
            RankUse(
                namespace=namespace_of(pod), job=str(owner.get("name")), kind=str(owner.get("kind")), rank=read.rank,
                pod=read.name, uid=uid_of(pod), node=read.node, attempt=read.attempt,
                cpu_limit=_read_limit(pod, "cpu"), memory_limit=_read_limit(pod, "memory"), gpus=_count_gpus(pod),
                share=tell_gpus(pod) if read_pod_shares(pod) else None,
                at=at, containers=containers, samples=tuple(samples.get(uid_of(pod), ()))[-SHOWN:],
            )
        )  # fmt: skip
    return rows


def _read_measured(metrics: Mapping[str, Any]) -> tuple[Moment, Mapping[str, tuple[float, float]]] | None:
    with suppress(ValueError, TypeError, AttributeError, LookupError):
        at = read_time(metrics.get("timestamp"))
        found = {str(each["name"]): read_usage(each["usage"]) for each in metrics["containers"]}
        return (at, found) if at is not None and found else None
    return None


def _read_limit(pod: Manifest, resource: str) -> float:
    """Of all containers together; NaN where one has none."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    limits = [((each.get("resources") or {}).get("limits") or {}).get(resource) for each in containers]
    with suppress(ValueError):
        if limits and None not in limits:
            return sum(float(read_quantity(each)) for each in limits if each is not None)
    return math.nan


def _count_gpus(pod: Manifest) -> int:
    containers = (pod.get("spec") or {}).get("containers") or ()
    limits = [((each.get("resources") or {}).get("limits") or {}).get(_GPU) or 0 for each in containers]
    with suppress(ValueError):
        return int(sum(read_quantity(each) for each in limits))
    return 0


def sort_rows(rows: Iterable[RankUse], by: Order) -> list[RankUse]:
    """By name; or the highest first, and what is not measured last."""
    named = sorted(rows, key=lambda row: (row.namespace, row.job, row.rank.role, row.rank.index))
    if by == "name":
        return named
    return sorted(named, key=lambda row: -_known(getattr(row, by)))


def _known(value: float) -> float:
    return value if value == value else -1.0


def add_sample(samples: Sequence[Sample], row: RankUse) -> Sequence[Sample]:
    """With what is measured now. What was seen before is none, as metrics-server answers the same for some seconds."""
    if row.at is None or (samples and row.at <= samples[-1].at):
        return samples
    return (*samples, Sample(row.at, row.cpu, row.memory))[-SHOWN:]
