"""How a job that Python has run ended, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from paddock.jobs.ended import End
from paddock.jobs.model import Phase, Rank
from paddock.logs.progress import Progress, merge
from paddock.views.followed import FollowedJob
from paddock.views.stored import StoredJob

__all__ = ["Progress", "Result", "build_result"]

ReadLog = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Result:
    """How a job ended, or that it was submitted."""

    name: str
    namespace: str
    phase: str
    """`Completed`, `Failed`, `Cancelled`, `Suspended` (timeout, or an environment that could not be built); `Pending`
    of a job that was not followed (detach)."""
    cause: str = ""
    """The sentence that says why; empty for a job that completed and of which no rank failed, nor by what its launcher
    said."""
    seconds: float = 0.0
    """From the submission to the end, 0 before it."""
    metrics: Mapping[str, Progress] = field(default_factory=dict)
    """The last number of each name that each rank printed, by the rank's name (`worker-0`; of a PyTorchJob `master-0`
    is the first): `result.metrics["worker-0"].val_loss`, and `.others` for those that Paddock has no field for."""
    outputs: Path | None = None
    """The directory of the job's outputs; None on a cluster or where there are none."""
    _read_log: ReadLog = field(default=lambda _: "", repr=False, compare=False)

    @property
    def succeeded(self) -> bool:
        """As `paddock run` exits: it completed, and no rank of it failed."""
        return self.phase == Phase.COMPLETED and not self.cause

    def log(self, rank: str = "") -> str:
        """All that a rank has printed so far, by default the first that trains. Raises `PaddockError` where it is
        gone, or the job has no such rank."""
        return self._read_log(rank)


def build_result(
    job: StoredJob,
    view: FollowedJob | None,
    end: End | None,
    outputs: Path | None,
    read_log: ReadLog,
    written: Mapping[Rank, Progress] = MappingProxyType({}),
) -> Result:
    """`view` and `end`: None for a job that was not followed. `written`: to PADDOCK_METRICS, which counts more than
    what was printed. Pure."""
    if view is None or end is None:
        return Result(job.key.name, job.key.namespace, Phase.PENDING, outputs=outputs, _read_log=read_log)
    printed = view.progress
    metrics = {str(rank): printed[rank] for rank in sorted(printed)}
    for rank in sorted(written):
        metrics[str(rank)] = merge(printed.get(rank, Progress()), written[rank])
    return Result(end.job, end.namespace, end.phase, end.cause, end.seconds, metrics, outputs, read_log)
