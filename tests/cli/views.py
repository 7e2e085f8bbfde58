"""Jobs, statuses and pods for the tables of the command line's pure modules."""

from __future__ import annotations

from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CauseRecord, Counts, Job, Phase, Rank, Status
from paddock.logs.printed_lines import read_progress
from paddock.views.followed import FollowedJob

RESOURCE = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")


def build_manifest(*, ps: int = 0, workers: int = 2, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "paddle", "image": "busybox", "command": ["true"]}]}}
    roles = {"worker": {"replicas": workers, "template": template}}
    if ps:
        roles["ps"] = {"replicas": ps, "template": template}
    return {
        "apiVersion": RESOURCE.api_version,
        "kind": RESOURCE.kind,
        "metadata": {"name": "demo", "namespace": "default", "uid": "0123456789", "labels": {}},
        "spec": {**roles, **spec},
    }


def build_job(**changes: Any) -> Job:
    return KINDS[RESOURCE].read_job(build_manifest(**changes))


def build_view(
    *,
    phase: Phase = Phase.RUNNING,
    cause: CauseRecord | None = None,
    line: str = "",
    job: Job | None = None,
    **more: Any,
) -> FollowedJob:
    """A job of two servers and two workers, 12 seconds old; `line` is what worker-0 printed last."""
    job = job or build_job(ps=2)
    counts = {role.name: Counts(wanted=role.replicas, running=role.replicas) for role in job.roles}
    if phase is Phase.COMPLETED:
        counts["worker"] = Counts(wanted=2, succeeded=2)
    status = Status(phase=phase, mode=job.mode, roles=counts, cause=cause, restarts=more.pop("restarts", 0))
    progress = read_progress(line) if line else None
    return FollowedJob(job, status, submitted=100.0, progress={Rank("worker", 0): progress} if progress else {}, **more)


def build_restart(number: int, code: int = 4, **args: Any) -> CauseRecord:
    return CauseRecord("RankRestarted", {"ranks": ["worker-0"], "code": code, "restart": number, "delay": 10, **args})
