"""One good job in each mode and its world as it should be: tests change one thing and say what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from paddock.jobs.actions import Create, Delete, Plan
from paddock.jobs.apis.success import choose_deciding
from paddock.jobs.conditions import build_refs
from paddock.jobs.model import (
    CauseRecord,
    Child,
    Counts,
    Exit,
    Job,
    Network,
    Observed,
    Phase,
    Pod,
    PodPhase,
    Policies,
    RestartPolicy,
    Role,
    Settings,
    Status,
)
from paddock.jobs.names import config_map_name
from paddock.jobs.plan import plan
from paddock.kube.meta import CONFIG_MAPS, SERVICES, Key, Resource

PADDLE_JOBS = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")
NOW = 1_700_000_000.0
TEMPLATE = {"spec": {"containers": [{"name": "paddle", "image": "paddle:3", "command": ["python", "train.py"]}]}}


TORCH_JOBS = Resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")
TORCH = {"spec": {"containers": [{"name": "pytorch", "image": "torch:2", "command": ["python", "train.py"]}]}}


def build_job(*, ps: int = 0, workers: int = 2, restart: RestartPolicy = RestartPolicy.NEVER, **changes: Any) -> Job:
    """Collective with two workers; with `ps`, parameter servers. Further keywords are fields of `Policies` or `Job`."""
    roles = (Role("worker", workers, TEMPLATE, restart),)
    if ps:
        roles = (Role("ps", ps, TEMPLATE, restart, decides=False, trains=False), *roles)
    names = Policies.__dataclass_fields__
    policies = {name: value for name, value in changes.items() if name in names}
    rest = {name: value for name, value in changes.items() if name not in names}
    job = Job(
        resource=PADDLE_JOBS,
        framework="paddle",
        key=Key("team", "demo"),
        uid="job-uid",
        generation=1,
        mode="PS" if ps else "Collective",
        roles=roles,
        policies=Policies(**policies),
    )
    return replace(job, **rest)


def build_torch_job(
    *, masters: int = 1, workers: int = 2, restart: RestartPolicy = RestartPolicy.ON_FAILURE, **changes: Any
) -> Job:
    """A PyTorchJob, whose Master decides if there is one, or with `success` each rank; keywords as of `build_job`."""
    roles = (Role("master", 1, TORCH), Role("worker", workers, TORCH, decides=not masters))
    job = build_job(resource=TORCH_JOBS, framework="pytorch", network=Network(rendezvous=True), **changes)
    kept = tuple(replace(role, restart=restart) for role in roles[0 if masters else 1 :] if role.replicas)
    return replace(job, mode="Distributed", roles=choose_deciding(kept, job.success))


def build_pods(job: Job, attempt: int = 0, phase: PodPhase = PodPhase.RUNNING, **changes: Any) -> tuple[Pod, ...]:
    """A pod for each rank, running and with an address."""
    return tuple(
        Pod(
            name=f"{job.key.name}-{rank}",
            uid=f"{rank}-of-{attempt}",
            rank=rank,
            attempt=attempt,
            phase=phase,
            address=f"127.0.0.{number}",
            node="laptop",
            started=NOW - 60,
            **{"config_map": config_map_name(job, attempt), **changes},
        )
        for number, rank in enumerate(job.ranks(), 2)
    )


def build_services(job: Job) -> tuple[Child, ...]:
    return tuple(Child(SERVICES, f"{job.key.name}-{rank}", f"service-{rank}") for rank in job.ranks())


def build_config_maps(job: Job, attempt: int = 0) -> tuple[Child, ...]:
    return (Child(CONFIG_MAPS, config_map_name(job, attempt), f"config-{attempt}"),)


def observe(job: Job, pods: Iterable[Pod] | None = None, attempt: int = 0, **changes: Any) -> Observed:
    """All objects of a running job; `pods` replaces its pods."""
    whole = Observed(
        pods=build_pods(job, attempt) if pods is None else tuple(pods),
        services=build_services(job),
        config_maps=build_config_maps(job, attempt),
    )
    return replace(whole, **changes)


def build_status(job: Job, phase: Phase = Phase.RUNNING, **changes: Any) -> Status:
    """The status, recorded a minute ago, of a job whose pods all run."""
    status = Status(
        phase=phase,
        refs=build_refs(job, build_pods(job, changes.get("attempt", 0))),
        mode=job.mode,
        roles={role.name: Counts(wanted=role.replicas, running=role.replicas) for role in job.roles},
        started=NOW - 60,
        observed_generation=job.generation,
    )
    return replace(status, **changes)


def with_pod(pods: Iterable[Pod], rank: str, change: Callable[[Pod], Pod | None]) -> tuple[Pod, ...]:
    """The pods with that of `rank` changed, or left out where `change` gives None."""
    changed = (change(pod) if str(pod.rank) == rank else pod for pod in pods)
    return tuple(pod for pod in changed if pod is not None)


def failed(code: int = 1, ago: float = 5, reason: str = "", message: str = "") -> Callable[[Pod], Pod]:
    return lambda pod: replace(pod, phase=PodPhase.FAILED, exit=Exit(code, reason, message, NOW - ago))


def succeeded(ago: float = 5) -> Callable[[Pod], Pod]:
    return lambda pod: replace(pod, phase=PodPhase.SUCCEEDED, exit=Exit(0, "Completed", "", NOW - ago))


def deleting(pod: Pod) -> Pod:
    return replace(pod, deleting=True)


def gone(_: Pod) -> None:
    return None


def workers_succeeded(pods: Iterable[Pod], ago: float = 5) -> tuple[Pod, ...]:
    return tuple(succeeded(ago)(pod) if pod.rank.role == "worker" else pod for pod in pods)


def judge(job: Job, status: Status, observed: Observed, now: float = NOW) -> Plan:
    """The plan; where a verdict waits for statuses on their way, the one at the end of the wait."""
    planned = plan(job, status, observed, now)
    if planned.status.cause is None or planned.status.cause.reason != "WaitingForStatuses":
        return planned
    assert planned.actions == ()
    assert planned.requeue_after == Settings().status_wait
    return plan(job, planned.status, observed, now + Settings().status_wait)


def created(planned: Plan) -> list[str]:
    """`Pod demo-worker-0`, in the order of the plan."""
    return [f"{action.resource.kind} {action.key.name}" for action in planned.actions if isinstance(action, Create)]


def deleted(planned: Plan) -> list[str]:
    """UIDs, in the order of the plan."""
    return [action.uid for action in planned.actions if isinstance(action, Delete)]


def reason(planned: Plan) -> str:
    return planned.status.cause.reason if planned.status.cause else ""


def cause(name: str, /, since: float = NOW, **args: Any) -> CauseRecord:
    return CauseRecord(name, args, since)
