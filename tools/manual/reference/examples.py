"""A cause of each kind with values as they come, for the sentence that the page shows. Pure.

A cause without a row gets values by the types of its fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from paddock.jobs import causes
from paddock.jobs.causes import CAUSES, Cause
from paddock.jobs.model import CauseRecord

_AT, _PLACES = ("worker-0, worker-1", "worker-2"), ("all_reduce, train.py:88", "read_batch, data.py:41")
_RANK, _POD, _NODE = ("worker-1",), ("resnet-worker-1",), ("node-3",)
_ERROR = "ValueError: Expected input batch_size (32) to match target batch_size (16)."
_GUESSES: Mapping[str, Any] = {
    "tuple[str, ...]": _RANK,
    "tuple[str, ...] | None": None,
    "bool | None": None,
    "int": 3,
    "int | None": None,
    "bool": False,
    "str": "…",
    "str | None": None,
}

EXAMPLES: tuple[Cause, ...] = (
    causes.InvalidJob(("spec.worker.replicas: found 0, a whole number from 1 to 5000 is allowed",)),
    causes.ObjectInTheWay(("ConfigMap resnet",)),
    causes.ObjectsRefused(
        ("Pod resnet-worker-1",), "exceeded quota: team, requested: pods=1, used: pods=8, limited: pods=8"
    ),
    causes.QuotaExceeded(
        ("Pod resnet-worker-0", "Pod resnet-worker-1"), "team", 2, 1, ("requests.cpu",), ("8",), ("4",), ("10",)
    ),
    causes.ObjectsNotCreated(
        ("Pod resnet-worker-1",), 'failed calling webhook "policy.example.com": connection refused', 6
    ),
    causes.NoFreePort(20000, 29999),
    causes.OwnAccountNamed("worker", "template.spec.serviceAccountName", "paddle-manager-sa", "paddle-system"),
    causes.WaitingForDataset("imagenet", 41, 3_200_000_000, 7_800_000_000, "", 1),
    causes.DatasetMissing("imagenet", "team", "imagenet-1k", ("imagenet-1k", "words")),
    causes.DatasetFailed(
        "imagenet",
        "data.example has no https://data.example/imagenet.tar (404 Not Found): correct spec.source.uri",
        retries=False,
    ),
    causes.DatasetsUnserved("imagenet", 'datasets.paddock.dev is forbidden: User "paddle-manager-sa" cannot list'),
    causes.WaitingForOldPods(2),
    causes.WaitingForNode(_RANK, _NODE, 30),
    causes.NodeNotReady(_RANK, _NODE, "team", _POD),
    causes.NodeUnknown(_RANK, _NODE, "team", _POD),
    causes.NodeSilent(_RANK, _NODE, "silent", 1767225600),
    causes.WaitingForPods(1, 4),
    causes.WaitingForScheduler(4, 4, "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."),
    causes.SchedulerSilent("volcano", 4, 4, 60),
    causes.WaitingForQueue("team-a"),
    causes.SuspendedIdle(3600),
    causes.QueueNotInForce("team-a"),
    causes.WaitingForPodGroup(4, 4, "resnet", "Pending", "2/4 tasks in gang unschedulable"),
    causes.BuildingEnvironment(2, 2, "environment paddle: installing"),
    causes.EnvironmentFailed(
        "worker-0",
        "environment team: spec.requirements: no package index here has numppy: check the name, or set spec.indexURL",
    ),
    causes.ImageUnavailable("worker-0", "registry.example.com/team/resnet:latset: not found"),
    causes.ConfigurationWrong("worker-0", 'secret "token" not found'),
    causes.ContainerWaiting("worker-0", "CreateContainerError", "the volume data is not mounted"),
    causes.WaitingForAddresses(1, 4),
    causes.WaitingForConfigMap("resnet"),
    causes.PodsStarting(2, 4),
    causes.WaitingForStatuses(("worker-0",), ("worker-1",), 1, 10, code=1),
    causes.ClockUnsure(3600),
    causes.WaitingForMaster(("master-0",), 300),
    causes.WaitingForWorkers(("worker-2",), 30, 1),
    causes.WaitingForContainers(("metrics-collector",), ("master-0",), 30, 1),
    causes.WaitingForLastRanks(("master-0",), 600),
    causes.JobSilent(1800, who=_AT, places=_PLACES),
    causes.RankRestarted(_RANK, 1, restart=1, limit=3, delay=10, error=_ERROR),
    causes.SilentRestarted(1800, who=_AT, places=_PLACES, restart=1, limit=3, delay=10),
    causes.PodsDeleted(_RANK),
    causes.PodsLost(_RANK, "PreemptionByScheduler"),
    causes.EvictedByQueue("team-a", "Preempted"),
    causes.Resized(8),
    causes.GangShrunk("worker", 2, 3, 1, 3, 30),
    causes.GangGrown("worker", 3, 3, 1, 3),
    causes.RunsSmaller("worker", 2, 1, 3, "DeletionByTaintManager", ("cpu=1",)),
    causes.NodesNotAvoided(("gpu-7",)),
    causes.PortsDiffer(("20000", "20020")),
    causes.PodsAdopted(0),
    causes.Completed(4, failed=_RANK, code=1, error=_ERROR),
    causes.CompletedServersKept(2, ("ps-0", "ps-1"), "Never"),
    causes.CompletedWithoutMaster(("master-0",), 300),
    causes.CompletedWithoutWorkers(("worker-2",), 30),
    causes.CompletedWithoutContainers(("metrics-collector",), ("master-0",), 30),
    causes.RankFailed(_RANK, 1, error=_ERROR),
    causes.ServerEnded(("ps-0",), 137, memory=True, server=True),
    causes.SilentFailed(1800, who=_AT, places=_PLACES),
    causes.BackoffLimitExceeded(_RANK, 1, limit=3, error=_ERROR),
    causes.DeadlineExceeded(86400),
    causes.Cancelled("anna"),
    causes.LostTooOften(100, "PodsLost", _RANK, "NodeLost"),
)

_BY_REASON: Mapping[str, Cause] = {each.reason: each for each in EXAMPLES}


def find_example(reason: str) -> CauseRecord:
    """The record of a cause of this kind."""
    found = _BY_REASON.get(reason) or _guess(CAUSES[reason])
    return CauseRecord(found.reason, found.args())


def _guess(kind: type[Cause]) -> Cause:
    return kind(**{each.name: _GUESSES.get(str(each.type)) for each in fields(kind)})
