"""Why a job that failed was not restarted, and what a restart restarts, as sentences. Pure; `jobs.policies.restart` and
`jobs.policies.one_pod` decided it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.labels import RESTART_SCOPE_ANNOTATION
from paddock.jobs.model import CauseRecord, Job, RestartPolicy, RestartScope, Role, Status
from paddock.jobs.policies.one_pod import restarts_alone
from paddock.jobs.rejoining import rejoins
from paddock.jobs.sentences.failure_phrases import names_limit
from paddock.words.phrases import Names, Phrase, phrase


def explain_no_restart(job: Job | None, cause: CauseRecord, manifest: Mapping[str, Any]) -> Phrase | None:
    """`manifest`: the job's own; a restartPolicy that nobody wrote in it is not named as the reason.

    None for a cause that is no failure of a rank, or tells of its limit itself.
    """
    if cause.reason == "BackoffLimitExceeded":
        return None if names_limit(cause.args) else phrase("not restarted, because runPolicy.backoffLimit is 0")
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


def name_scope(job: Job) -> Phrase | None:
    """What starts again when a rank ends too early; None for a job of one rank."""
    if job.size < 2:
        return None
    if job.scope is RestartScope.POD and restarts_alone(job, job.ranks()):
        return phrase(
            "a rank that fails or is lost starts again alone ({annotation}: {scope})",
            annotation=RESTART_SCOPE_ANNOTATION, scope=str(job.scope),
        )  # fmt: skip
    if any(rejoins(job, rank) for rank in job.ranks()):
        said = phrase("a rank that fails or is lost starts again alone, and the others form their group without it")
        return (
            phrase("{said}; with {ranks} all do", said=said, ranks=Names(needed)) if (needed := _needed(job)) else said
        )
    return phrase("all ranks start again together when one fails or is lost")


def explain_restarts(job: Job, status: Status) -> Phrase | None:
    """As `name_scope`, with how often each rank was started again alone in this attempt."""
    scope, alone = name_scope(job), sorted(rank for rank in job.ranks() if status.renewal(rank))
    if scope is None or not alone:
        return scope
    ranks = Names(tuple(f"{rank} ({status.renewal(rank)}×)" for rank in alone))
    return phrase("{scope}; in this attempt {ranks}", scope=scope, ranks=ranks)


def explain_scope(job: Job | None, cause: CauseRecord) -> Phrase | None:
    """Which ranks a restart restarts, and how the other way is chosen; None for any other cause."""
    if job is None or job.size < 2 or cause.reason not in _RESTARTS:
        return None
    if cause.args.get("alone") and job.scope is not RestartScope.POD:
        return phrase("the other ranks run on, and form their group without it until it is back")
    if cause.args.get("alone"):
        return phrase(
            "the other ranks run on, as the annotation {annotation} is {scope}; without it all ranks start again",
            annotation=RESTART_SCOPE_ANNOTATION, scope="Pod",
        )  # fmt: skip
    if any(rejoins(job, rank) for rank in job.ranks()):
        return phrase(
            "all ranks start again together: {ranks} was among those that ended, without which no group forms",
            ranks=Names(_needed(job), "or"),
        )
    if job.network.rendezvous:
        return phrase(
            "all ranks start again together; with the annotation {annotation}: {scope} one would start again alone",
            annotation=RESTART_SCOPE_ANNOTATION, scope="Pod",
        )  # fmt: skip
    return phrase("all ranks start again together")


def _needed(job: Job) -> tuple[str, ...]:
    """The ranks without which the others end, of a job whose others do without each other."""
    return tuple(str(rank) for rank in job.ranks() if not rejoins(job, rank))


_RESTARTS = ("RankRestarted", "SilentRestarted", "PodsDeleted", "PodsLost")


def _writes_policy(manifest: Mapping[str, Any], role: Role) -> bool:
    """Whether the role has a restartPolicy: in its pod template, or beside it (kubeflow.org)."""
    spec = manifest.get("spec") or {}
    roles = next((value for name, value in spec.items() if name.endswith("ReplicaSpecs") and value), spec)
    written: Mapping[str, Any] = next((each for name, each in roles.items() if name.lower() == role.name and each), {})
    pod = (written.get("template") or {}).get("spec") or {}
    return bool(written.get("restartPolicy") or pod.get("restartPolicy"))
