"""The common part of `read_job` of every kind: metadata, the limit of pods, and the final check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from paddock.jobs.apis import MOST_PODS, JobApi
from paddock.jobs.apis.elastic import read_elasticity
from paddock.jobs.apis.endpoints import check_endpoints
from paddock.jobs.apis.hold import read_hold
from paddock.jobs.apis.idle import read_idle
from paddock.jobs.apis.outputs import read_outputs
from paddock.jobs.apis.run_policy import read_limit_notices
from paddock.jobs.apis.silent import read_silence
from paddock.jobs.apis.success import choose_deciding, read_success
from paddock.jobs.etcd import meets_at_etcd, survives_losses
from paddock.jobs.frameworks.paddle_servers import waits_for_servers
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import (
    KUEUE_ANNOTATION,
    QUEUE_LABEL,
    RANK_VARIABLES_ANNOTATION,
    RESTART_SCOPE_ANNOTATION,
    SERVERS_FIRST_ANNOTATION,
    SILENT_ANNOTATION,
)
from paddock.jobs.launch import NO_LAUNCH, Launch
from paddock.jobs.model import Job, Network, OnSilence, Policies, RestartScope, Role, Scheduling
from paddock.jobs.mounts import read_mounts
from paddock.jobs.queued import PODS, SUSPEND, misses_queue, starts_alone
from paddock.jobs.substitutions import read_notices
from paddock.jobs.variables import read_variable_notices
from paddock.kube.meta import Key
from paddock.kube.times import read_time
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.problems import InvalidJob
from paddock.words.sentences import wrong


def check_size(spec: Fields, roles: Sequence[Role]) -> None:
    """Adds a problem if the roles have too many pods together. A single role over the limit has its own problem."""
    size = sum(role.replicas for role in roles)
    if size > MOST_PODS and all(role.replicas <= MOST_PODS for role in roles):
        spec.add(wrong("spec", size, phrase("a job of at most {most} pods in all", most=MOST_PODS)))


def build_job(
    api: JobApi,
    metadata: Fields,
    roles: tuple[Role, ...],
    network: Network,
    policies: Policies,
    scheduling: Scheduling,
    launch: Launch = NO_LAUNCH,
    *,
    spec: Fields,
    one_decides: bool = False,
) -> Job:
    """The job of a manifest of `api`. Its manifest may have problems: call `accept` next."""
    if api.framework == "paddle" and all(role.name == "worker" for role in roles):
        etcd = any(map(meets_at_etcd, roles))
        launch = replace(launch, etcd=etcd, survives_losses=etcd and any(map(survives_losses, roles)))
    success = read_success(metadata)
    job = Job(
        resource=api.resource,
        framework=api.framework,
        key=Key(metadata.text("namespace"), metadata.text("name")),
        uid=metadata.text("uid"),
        generation=metadata.whole("generation", 0, 2**63) or 0,
        mode=FRAMEWORKS[api.framework].find_mode(roles),
        roles=choose_deciding(roles, success),
        network=network,
        policies=policies,
        scheduling=scheduling,
        launch=launch,
        scope=read_scope(metadata),
        mounts=read_mounts(metadata, spec.value),
        success=success,
        silence=read_silence(metadata),
        idle=read_idle(metadata),
        hold=read_hold(metadata),
        outputs=read_outputs(metadata, spec.value),
        one_decides=one_decides,
        elasticity=read_elasticity(metadata, spec, roles, api.framework, launch),
        labels=metadata.texts("labels"),
        annotations=metadata.texts("annotations"),
        created=read_time(metadata.text("creationTimestamp")),
        deleting=bool(metadata.text("deletionTimestamp")),
    )
    # Collective is a word of PaddlePaddle's
    return replace(job, mode="Distributed") if job.is_plain and job.mode == "Collective" else job


def read_scope(metadata: Fields) -> RestartScope | None:
    """The annotation `paddock.dev/restart-scope`. Without it the whole gang restarts, as the peers of a lost rank would
    wait for it without end, unless their launchers do without it (`jobs.rejoining`)."""
    annotations = metadata.child("annotations")
    if not annotations.value.get(RESTART_SCOPE_ANNOTATION):
        return None
    return annotations.choice(RESTART_SCOPE_ANNOTATION, RestartScope, RestartScope.GANG)


def accept(job: Job, root: Fields, path_of: Callable[[Role], str], restart_policy: str) -> Job:
    """The job with its warnings. Raises `InvalidJob` if a problem of `root` is an error. `path_of`: the path of a role
    in the manifest; `restart_policy`: the path of its restartPolicy below that."""
    if job.scope is RestartScope.POD and FRAMEWORKS[job.framework].needs_addresses(job):
        said = phrase("has no effect: the ranks of this job are told each other's addresses, so all restart together")
        root.child("metadata").child("annotations").warn(RESTART_SCOPE_ANNOTATION, said)
    if job.silence is not None and job.silence.does is OnSilence.RESTART and job.policies.backoff_limit == 0:
        said = phrase("fails the job where it would restart it: runPolicy.backoffLimit is 0")
        root.child("metadata").child("annotations").warn(SILENT_ANNOTATION, said)
    _check_queue(job, root.child("metadata").child("labels"), root.child("metadata").child("annotations"))
    _check_rank_variables(job, root.child("metadata").child("annotations"))
    _check_servers_first(job, root.child("metadata").child("annotations"))
    if not any(problem.severity == "error" for problem in root.problems.values()):
        check_endpoints(job, root, path_of)
    problems = tuple(root.problems.values())
    if any(problem.severity == "error" for problem in problems):
        raise InvalidJob(problems)
    notices = (*read_notices(job, path_of), *read_variable_notices(job, path_of))
    limits = read_limit_notices(job, lambda role: f"{path_of(role)}.{restart_policy}")
    return replace(job, warnings=(*problems, *notices, *limits))


def _check_rank_variables(job: Job, annotations: Fields) -> None:
    found = job.annotations.get(RANK_VARIABLES_ANNOTATION)
    if found is None or (found == "false" and job.framework == "pytorch" and job.size == 1):
        return
    said = phrase('has no effect: it is "false" on a PyTorchJob of one pod, whose program then has no RANK')
    annotations.warn(RANK_VARIABLES_ANNOTATION, said)


def _check_servers_first(job: Job, annotations: Fields) -> None:
    found = job.annotations.get(SERVERS_FIRST_ANNOTATION)
    if found is None or found == "false" or waits_for_servers(job, "/"):
        return
    said = phrase(
        'has no effect: it is "true" on a job with parameter servers that open their ports by themselves (not '
        "withGloo: 2), for whose ports the other ranks then wait"
    )
    annotations.warn(SERVERS_FIRST_ANNOTATION, said)


def _check_queue(job: Job, labels: Fields, annotations: Fields) -> None:
    """Warns of an annotation for Kueue that does nothing, and of a label that does nothing (`jobs.queued`)."""
    found = job.annotations.get(KUEUE_ANNOTATION)
    if found is None:
        if misses_queue(job):
            said = phrase(
                "has no effect where a rank may start again alone (restart-scope: Pod), as Kueue keeps a pod until "
                "another one replaces it: the job runs outside of the queue"
            )
            labels.warn(QUEUE_LABEL, said)
        return
    if found not in (PODS, SUSPEND):
        annotations.warn(KUEUE_ANNOTATION, phrase("has no effect: the values that Paddock knows are Pods and Suspend"))
    elif not job.labels.get(QUEUE_LABEL):
        said = phrase("has no effect without the label {label}, which names the queue", label=QUEUE_LABEL)
        annotations.warn(KUEUE_ANNOTATION, said)
    elif found == PODS and starts_alone(job):
        said = phrase(
            "has no effect where a rank may start again alone (restart-scope: Pod, or an elasticPolicy of torchrun), "
            "as Kueue keeps a pod until another one replaces it"
        )
        annotations.warn(KUEUE_ANNOTATION, said)
