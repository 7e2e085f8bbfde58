"""Why a job that failed was not restarted, as a sentence. Pure; `jobs.policies.restart` decided it."""

from __future__ import annotations

from paddock.jobs.model import CauseRecord, Job, RestartPolicy
from paddock.jobs.text.phrases import Phrase, counted, phrase


def explain_no_restart(job: Job | None, cause: CauseRecord) -> Phrase | None:
    """None for a cause that is no failure of a rank, or tells of its limit itself."""
    if cause.reason == "BackoffLimitExceeded":
        return _explain_limit(cause.args.get("limit"))
    ranks = cause.args.get("ranks")
    if job is None or cause.reason not in ("RankFailed", "ServerEnded") or not ranks:
        return None
    role = job.role(str(ranks[0]).rpartition("-")[0])
    if role is None:
        return None
    if role.restart is RestartPolicy.EXIT_CODE:
        return phrase(
            "not restarted, because restartPolicy ExitCode of {role} restarts after exit codes from 128 on, not {code}",
            role=role.name, code=cause.args.get("code", "?"),
        )  # fmt: skip
    return phrase(
        "not restarted, because restartPolicy of {role} is {policy}", role=role.name, policy=str(role.restart)
    )


def _explain_limit(limit: object) -> Phrase | None:
    if not isinstance(limit, int):
        return None
    if limit == 0:
        return phrase("not restarted, because runPolicy.backoffLimit is 0")
    return counted(
        "not restarted again, because it was restarted {count} time, as often as runPolicy.backoffLimit allows",
        "not restarted again, because it was restarted {count} times, as often as runPolicy.backoffLimit allows",
        count=limit,
    )
