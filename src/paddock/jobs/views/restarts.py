"""Why a job that failed was not restarted, as a sentence. Pure; `jobs.policies.restart` decided it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.model import CauseRecord, Job, RestartPolicy, Role
from paddock.jobs.text.phrases import Phrase, counted, phrase


def explain_no_restart(job: Job | None, cause: CauseRecord, manifest: Mapping[str, Any]) -> Phrase | None:
    """`manifest`: the job's own; a restartPolicy that nobody wrote in it is not named as the reason.

    None for a cause that is no failure of a rank, or tells of its limit itself.
    """
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
    if job.policies.backoff_limit == 0 and not _writes_policy(manifest, role):
        return phrase(
            "not restarted, because runPolicy.backoffLimit is 0 (`paddock run --restarts N` or the field sets another)"
        )
    return phrase(
        "not restarted, because restartPolicy of {role} is {policy}", role=role.name, policy=str(role.restart)
    )


def _writes_policy(manifest: Mapping[str, Any], role: Role) -> bool:
    """Whether the role has a restartPolicy: in its pod template, or beside it (kubeflow.org)."""
    spec = manifest.get("spec") or {}
    roles = next((value for key, value in spec.items() if key.endswith("ReplicaSpecs") and value), spec)
    written: Mapping[str, Any] = next((each for name, each in roles.items() if name.lower() == role.name and each), {})
    pod = (written.get("template") or {}).get("spec") or {}
    return bool(written.get("restartPolicy") or pod.get("restartPolicy"))


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
