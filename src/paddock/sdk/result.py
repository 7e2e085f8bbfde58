"""How a job that Python has run ended, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paddock.jobs.logs.progress import Progress
from paddock.jobs.model import Phase
from paddock.jobs.text.explain import explain
from paddock.jobs.views.followed import FollowedJob
from paddock.jobs.views.stored import StoredJob

__all__ = ["Progress", "Result", "build_result"]

ReadLog = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Result:
    """`phase`: `Completed`, `Failed`, `Suspended`; `Pending` of a job that was not followed (detach). `cause`: the
    sentence that says why, empty for a job that completed. `seconds`: from the submission to the end, 0 before it.
    `metrics`: the last progress that each rank printed, by its name (`worker-0`). `outputs`: the directory of the job's
    outputs, None on a cluster or where there are none."""

    name: str
    namespace: str
    phase: str
    cause: str = ""
    seconds: float = 0.0
    metrics: Mapping[str, Progress] = field(default_factory=dict)
    outputs: Path | None = None
    _read_log: ReadLog = field(default=lambda _: "", repr=False, compare=False)

    @property
    def succeeded(self) -> bool:
        return self.phase == Phase.COMPLETED

    def log(self, rank: str = "worker-0") -> str:
        """All that a rank has printed so far. Raises `PaddockError` where it is gone, or the job has no such rank."""
        return self._read_log(rank)


def build_result(
    job: StoredJob, view: FollowedJob | None, outputs: Path | None, read_log: ReadLog, language: str
) -> Result:
    """`view`: None for a job that was not followed. Pure."""
    if view is None:
        return Result(job.key.name, job.key.namespace, Phase.PENDING, outputs=outputs, _read_log=read_log)
    status = view.status
    why = explain(status.cause, language) if status.cause and status.phase is not Phase.COMPLETED else ""
    return Result(
        job.key.name,
        job.key.namespace,
        str(status.phase or Phase.PENDING),
        why,
        view.seconds,
        {str(rank): progress for rank, progress in view.progress.items()},
        outputs,
        read_log,
    )
