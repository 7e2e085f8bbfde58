"""When the local cluster stops by itself: nothing unfinished, and no client for ten minutes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from paddock.jobs.manager import find_other_manager
from paddock.jobs.model import Phase
from paddock.kube.datasets import Phase as Fetching
from paddock.kube.meta import controller_of, uid_of
from paddock.kube.times import Moment

IDLE_SECONDS = 600.0
"""Seconds without a request of a client."""

_ENDED = frozenset({"Succeeded", "Failed"})
_AT_REST = frozenset(str(phase) for phase in Phase if phase.terminal or phase in (Phase.SUSPENDED, Phase.INVALID))
"""Phases in which nothing happens by itself."""


def is_idle(
    jobs: Iterable[Mapping[str, Any]],
    pods: Iterable[Mapping[str, Any]],
    last_request: Moment,
    now: Moment,
    *,
    datasets: Iterable[Mapping[str, Any]] = (),
    idle_seconds: float = IDLE_SECONDS,
) -> bool:
    """Whether the cluster may stop. Pods that a finished job keeps (cleanPodPolicy: Never) do not keep it up."""
    if now - last_request < idle_seconds or any(_is_fetched(dataset) for dataset in datasets):
        return False
    # Nobody here runs another manager's job, so it would never finish.
    own = [job for job in jobs if not find_other_manager(job)]
    phases = {uid_of(job): str((job.get("status") or {}).get("phase") or "") for job in own}
    finished = {uid for uid, phase in phases.items() if phase in _AT_REST}
    if len(finished) < len(phases):
        return False
    # Parameter servers that a completed job keeps never end by themselves.
    return all(_is_kept(pod, finished) for pod in pods if (pod.get("status") or {}).get("phase") not in _ENDED)


def _is_fetched(dataset: Mapping[str, Any]) -> bool:
    return (dataset.get("status") or {}).get("phase") == Fetching.FETCHING


def _is_kept(pod: Mapping[str, Any], finished: set[str]) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner.get("uid") in finished
