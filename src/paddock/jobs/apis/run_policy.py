"""`runPolicy` in Kubeflow's shape, for every API group.

An absent limit means no limit. Seconds are whole, as in Kubeflow. Each group has its own values of `cleanPodPolicy`.
`managedBy` has those of Kubeflow's webhook; what it means is decided in `jobs.manager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from paddock.jobs.labels import SILENT_ANNOTATION
from paddock.jobs.manager import Manager
from paddock.jobs.model import CleanPods, Job, OnSilence, Policies, RestartPolicy, Role, Scheduling
from paddock.manifests.fields import Fields
from paddock.words.phrases import Names, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_LARGEST = 2**31 - 1


def read_run_policy(policy: Fields, clean_pods: CleanPods) -> Policies:
    deadline = policy.whole("activeDeadlineSeconds", 1, _LARGEST)
    ttl = policy.whole("ttlSecondsAfterFinished", 0, _LARGEST)
    _check_manager(policy)
    return Policies(
        backoff_limit=policy.whole("backoffLimit", 0, _LARGEST),
        active_deadline=None if deadline is None else float(deadline),
        ttl=None if ttl is None else float(ttl),
        suspend=policy.flag("suspend"),
        clean_pods=clean_pods,
    )


def _check_manager(policy: Fields) -> None:
    """Refuses what Kubeflow's webhook refuses, and says so where somebody else will run the job."""
    manager = policy.choice("managedBy", Manager, Manager.TRAINING_OPERATOR)
    if manager is not Manager.TRAINING_OPERATOR:
        said = phrase(
            "{manager} runs this job: Paddock makes no pods for it and does not write its status", manager=str(manager)
        )
        policy.warn("managedBy", said)


def read_limit_notices(job: Job, path_of: Callable[[Role], str]) -> Iterator[Problem]:
    """A warning if `backoffLimit` is set and a role's restartPolicy Never fails the job at the first failed rank; and
    one if nothing bounds the restarts of a silent job, which no restartPolicy forbids. `path_of`: the path of a role's
    restartPolicy in the manifest."""
    limit, where = job.policies.backoff_limit, "spec.runPolicy.backoffLimit"
    never = [role for role in job.roles if role.restart is RestartPolicy.NEVER]
    restarts = job.silence is not None and job.silence.does is OnSilence.RESTART
    if restarts and limit is None:
        said = phrase(
            "is not set, so a job that is silent again and again is restarted without an end ({annotation}); set it, "
            "to 3 for example",
            annotation=SILENT_ANNOTATION,
        )  # fmt: skip
        yield Problem(where, str(said), severity="warning", said=said)
    if not limit or not never or restarts:
        return
    paths = Names(tuple(map(path_of, never)))
    if len(never) == len(job.roles):
        said = phrase(
            "does nothing: with restartPolicy Never a failed rank fails the job at once; set {paths} to OnFailure, or "
            "remove the limit",
            paths=paths,
        )
    else:
        said = phrase(
            "does nothing for {roles}: with restartPolicy Never a failed rank fails the job at once; set {paths} to "
            "OnFailure to restart the job then too",
            roles=Names(tuple(role.name for role in never)),
            paths=paths,
        )
    yield told(where, said, limit, severity="warning")


def read_scheduling(policy: Fields, roles: Sequence[Role]) -> Scheduling:
    """`schedulingPolicy`: in `spec` with paddle-operator, in `spec.runPolicy` with Kubeflow."""
    size = sum(role.replicas for role in roles)
    return Scheduling(
        min_available=policy.whole("minAvailable", 1, max(size, 1)),
        queue=policy.text("queue"),
        priority_class=policy.text("priorityClass"),
        min_resources=policy.quantities("minResources"),
        schedule_timeout=policy.whole("scheduleTimeoutSeconds", 0, _LARGEST),
    )
