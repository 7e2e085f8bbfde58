"""What a job's recorded end means for who waits for it: the exit code is the run's, not the phase's. PURE.

In Kubeflow's API the Master alone decides the phase: a job whose worker failed is Completed all the same. Its work may
be lost. Which ranks count is decided where the end is recorded (`policies.failed_ranks`).
"""

from __future__ import annotations

from paddock.jobs.model import CauseRecord, Phase


def has_failed_rank(outcome: str, cause: CauseRecord | None) -> bool:
    """Whether a rank of a completed job failed or never began (`policies.failed_ranks`): those that decide have
    succeeded, and what the rank was to do may be missing. `outcome`: the job's phase, or the outcome of a run that is
    kept."""
    if outcome != Phase.COMPLETED or cause is None:
        return False
    return bool(cause.args.get("failed") or cause.args.get("unstarted"))


def read_exit_code(outcome: str, cause: CauseRecord | None) -> int:
    """What a command that waits for a job's end exits with: 0 where every rank did its work. `cause`: the recorded
    one."""
    return int(outcome != Phase.COMPLETED or has_failed_rank(outcome, cause))
