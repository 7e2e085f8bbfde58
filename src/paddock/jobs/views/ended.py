"""How a followed job ended, for programs: a webhook, a command, a Python call. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.jobs.model import CauseRecord, Phase
from paddock.jobs.text.explain import explain
from paddock.jobs.text.phrases import phrase, render
from paddock.jobs.views.followed import FollowedJob
from paddock.kube.times import format_duration

INTERRUPTED, SUSPENDED, UNKNOWN = "Interrupted", "Suspended", "Unknown"


@dataclass(frozen=True, slots=True)
class End:
    """`phase`: `Completed`, `Failed`; `Suspended` where it was given up or --timeout was over, `Interrupted` where the
    user ended it, `Unknown` where it could not be followed to its end. `cause`: a sentence, empty for a job that
    completed and of which no rank failed. `seconds`: from the submission."""

    job: str
    namespace: str
    phase: str
    cause: str
    seconds: float


def has_failed_rank(outcome: str, cause: CauseRecord | None) -> bool:
    """Whether a rank of a completed job failed (`policies.failed_ranks`): those that decide have succeeded, and what
    the rank was to do may be missing. `outcome`: the job's phase, or the outcome of a run that is kept."""
    return outcome == Phase.COMPLETED and cause is not None and bool(cause.args.get("failed"))


def read_exit_code(outcome: str, cause: CauseRecord | None) -> int:
    """What a command that waits for a job's end exits with: 0 where every rank did its work. `cause`: the recorded
    one."""
    return int(outcome != Phase.COMPLETED or has_failed_rank(outcome, cause))


def format_limit(seconds: float) -> str:
    """A time limit as it is told: `60 s`, `10m`."""
    return f"{seconds:g} s" if seconds < 120 else format_duration(seconds)


def read_end(
    view: FollowedJob, code: int | None, now: float, language: str = "en", *, limit: float | None = None
) -> End:
    """`code`: the exit code of the command that followed it; None if it raised an error. `limit`: of --timeout, in
    seconds, if it is what ended it."""
    status, key = view.status, view.job.key
    phase = str(status.phase) if status.phase.terminal else {130: INTERRUPTED, 1: SUSPENDED}.get(code or 0, UNKNOWN)
    well = read_exit_code(status.phase, status.cause) == 0
    cause = explain(status.cause, language) if status.cause and not well else ""
    if limit is not None:
        late = render(phrase("not completed in {time}", time=format_limit(limit)), language)
        cause = f"{late}: {cause}" if cause else late
    return End(key.name, key.namespace, phase, cause, max(0.0, (view.ended or now) - view.submitted))
