"""What the operator of a local cluster sees of the programs that its node runs (`operator.readings.Programs`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddock.app.job_progress import JobProgresses
from paddock.app.job_reports import JobReports
from paddock.jobs.model import Job, JobProgress, Pod, PodPhase, Report


@dataclass(frozen=True, slots=True)
class NodePrograms:
    """Both look at the logs of pods, each at its own pace."""

    reports: JobReports
    progresses: JobProgresses

    def read_report(self, job: Job, pods: Sequence[Pod]) -> Report | None:
        waiting = {pod.uid for pod in pods if pod.phase is PodPhase.PENDING}
        return self.reports.read(frozenset(pod.uid for pod in pods), waiting)

    def read_progress(self, job: Job, attempt: int, pods: Sequence[Pod]) -> JobProgress | None:
        return self.progresses.read(job, attempt, pods)

    def take_stacks(self, pods: Mapping[str, str]) -> None:
        self.reports.take_stacks(pods)
