"""What jobs have held of their nodes, and for how long: GPU-hours and core-hours, as rows. Pure.

Three things tell it, each of its own: a Prometheus that scrapes the operator (`operator.resource_time`), which also has
jobs that are deleted; the jobs of a cluster that are still there, with their pods; and the runs that a laptop keeps.
All of them count what pods ask for, from when they have nodes until they have ended, not what they make of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from paddock.history.records import RunRecord
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import CREATED_BY_ANNOTATION
from paddock.jobs.model import Job, Role
from paddock.kube.accelerators import is_accelerator, is_counted
from paddock.kube.gpu_shares import GPU
from paddock.kube.meta import Manifest, annotations_of, controller_of
from paddock.kube.times import Moment, read_time
from paddock.views.gpus import weigh_pod
from paddock.views.stored import StoredJob

Seconds = Mapping[str, float]
"""By resource: amount × seconds, of cores, bytes and devices."""

METRIC = "paddock_resource_seconds_total"
"""Of the operator; a test holds it to `operator.job_metrics`."""
_LAG = 600.0
"""Seconds by which what a rank used is recorded late, at most (`node.usage.samples`: samples are merged in long
runs)."""
_SHORTEST = 0.5
"""Seconds that a time counts that ended in the second in which it began: times of the API have whole seconds."""


class By(StrEnum):
    """What a row is about."""

    NAMESPACE = "namespace"
    KIND = "kind"
    NAME = "name"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Held:
    """What one job has held, or all jobs of a namespace and kind."""

    namespace: str
    kind: str
    """In full: `paddlejobs.batch.paddlepaddle.org`."""
    seconds: Seconds
    name: str = ""
    """Empty where that is not known."""
    person: str = ""
    """Who has submitted it; empty where nobody recorded that."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is asked about."""

    since: Moment
    now: Moment

    def clip(self, begin: Moment, end: Moment) -> float:
        """The seconds of this time that are in the window. What was short may have ended before it began: one of the
        two moments may have whole seconds."""
        if begin - 1 < end < begin + _SHORTEST:
            end = begin + _SHORTEST
        return max(0.0, min(end, self.now) - max(begin, self.since))


@dataclass(frozen=True, slots=True)
class Row:
    """What was held together by all that share the key."""

    key: tuple[str, ...]
    """The values of the columns that were asked for: (`team`, `paddlejobs.kubeflow.org`)."""
    seconds: Seconds
    jobs: int = 0
    """How many there are; 0 where that is not known."""


def sum_rows(held: Iterable[Held], by: Sequence[By]) -> list[Row]:
    """Sorted by what was held, of the accelerators first; without those that held nothing."""
    sums: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    jobs: dict[tuple[str, ...], int] = defaultdict(int)
    for each in held:
        key = tuple(str(getattr(each, column)) for column in by)
        for resource, amount in each.seconds.items():
            sums[key][resource] += amount
        jobs[key] += bool(each.name) and any(each.seconds.values())
    rows = [Row(key, dict(seconds), jobs[key]) for key, seconds in sums.items() if any(seconds.values())]
    return sorted(rows, key=lambda row: (-_add_up_devices(row.seconds), -row.seconds.get("cpu", 0.0), row.key))


def list_devices(rows: Iterable[Row]) -> list[str]:
    """The accelerators that have a column; NVIDIA's GPUs always have one, so that it is seen that none was held."""
    found = {name for row in rows for name in row.seconds if is_accelerator(name)}
    return [*([GPU] if GPU in found or not found else []), *sorted(found - {GPU})]


def _add_up_devices(seconds: Seconds) -> float:
    return sum(amount for name, amount in seconds.items() if is_accelerator(name))


def add_up(rows: Iterable[Row]) -> Row:
    """The sum of all."""
    total: dict[str, float] = defaultdict(float)
    jobs = 0
    for row in rows:
        jobs += row.jobs
        for resource, amount in row.seconds.items():
            total[resource] += amount
    return Row((), dict(total), jobs)


# What tells it.


def write_query(window: str, namespace: str = "") -> str:
    """PromQL for the sums of a time (`30d`), by namespace, kind and resource. `namespace`: empty for all; it stands in
    quotes here, so the caller has checked that it is a name (RFC 1123)."""
    wanted = f'{{namespace="{namespace}"}}' if namespace else ""
    return f"sum by (namespace, kind, resource) (increase({METRIC}{wanted}[{window}]))"


def read_series(series: Iterable[tuple[Mapping[str, str], float]]) -> list[Held]:
    """Of the answer to `write_query`; series that are none of ours are left out."""
    sums: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for labels, value in series:
        namespace, kind, resource = (labels.get(name, "") for name in ("namespace", "kind", "resource"))
        if namespace and kind and is_counted(resource) and 0 <= value < float("inf"):
            sums[namespace, kind][resource] = value
    return [Held(namespace, kind, seconds) for (namespace, kind), seconds in sums.items()]


def group_pods(pods: Iterable[Manifest]) -> Mapping[str, Sequence[Manifest]]:
    """By the UID of their controller, which of a rank's pod is its job."""
    found: dict[str, list[Manifest]] = defaultdict(list)
    for pod in pods:
        found[str((controller_of(pod) or {}).get("uid") or "")].append(pod)
    return found


def read_stored_job(stored: StoredJob, pods: Mapping[str, Sequence[Manifest]], window: Window) -> Held:
    """Of a job that has ended, from when all its ranks first ran until its end; of another, of its pods that are there:
    those of former attempts are gone. `pods`: by `group_pods`."""
    found: dict[str, float] = defaultdict(float)
    begun, ended = stored.status.started, stored.status.finished
    if stored.job is not None and begun is not None and ended is not None:
        for role in stored.job.roles:
            _add(found, _weigh_role(stored.job, role), role.replicas * window.clip(begun, ended))
    else:
        for pod in pods.get(stored.uid, ()):
            _add(found, _weigh(pod, stored.manifest), measure_pod(pod, window))
    person = annotations_of(stored.manifest).get(CREATED_BY_ANNOTATION, "")
    return Held(stored.key.namespace, stored.resource.qualified, dict(found), stored.key.name, person)


def measure_pod(pod: Mapping[str, Any], window: Window) -> float:
    """Seconds of the window in which the pod had its node and had not ended."""
    status = pod.get("status") or {}
    conditions = status.get("conditions") or ()
    scheduled = next((each for each in conditions if each.get("type") == "PodScheduled"), None) or {}
    placed = read_time(scheduled.get("lastTransitionTime")) if scheduled.get("status") == "True" else None
    begun = placed if placed is not None else read_time(status.get("startTime"))
    if begun is None or not (pod.get("spec") or {}).get("nodeName"):
        return 0.0
    if status.get("phase") not in ("Succeeded", "Failed"):
        return window.clip(begun, window.now)
    states = [(each.get("state") or {}).get("terminated") or {} for each in status.get("containerStatuses") or ()]
    ends = [end for each in states if (end := read_time(each.get("finishedAt"))) is not None]
    return window.clip(begun, max(ends)) if ends else 0.0


def read_run(
    run: RunRecord, job: Job | None, used: Mapping[int, Moment], window: Window, *, is_up: bool = True
) -> Held:
    """Of a run that a laptop keeps. `job`: its manifest; None where it cannot be read. The others: `list_times`."""
    found: dict[str, float] = defaultdict(float)
    if job is not None:
        for begun, ended, ranks in list_times(run, used, window.now, is_up=is_up):
            for role in job.roles:
                _add(found, _weigh_role(job, role), _count_ranks(job, role, ranks) * window.clip(begun, ended))
    return Held(run.namespace, _qualify(run), dict(found), run.name, run.annotations.get(CREATED_BY_ANNOTATION, ""))


def list_times(
    run: RunRecord, used: Mapping[int, Moment], now: Moment, *, is_up: bool
) -> list[tuple[Moment, Moment, int | None]]:
    """From when until when each attempt had its nodes, and how many ranks trained together last; None: all.

    `used`: when a rank of an attempt was last seen to use something, by the attempt's number: one that used nothing
    from then on was suspended, or its machine was off. Without it that is not known, as of logs that are pruned.
    `is_up`: the cluster is, so that an unfinished run goes on."""
    ranks = {size.attempt: size.ranks for size in run.sizes}
    last = run.ended if run.ended is not None else now if is_up else None
    ends = [*(each.begun for each in run.attempts[1:]), last]
    found = []
    for attempt, end in zip(run.attempts, ends, strict=False):
        seen = used.get(attempt.number)
        begun = next((each for each in (attempt.placed, attempt.started) if each is not None), None)
        if begun is None:  # nobody saw it begin
            begun = attempt.begun if seen is not None else None
        if end is None or (seen is not None and seen + _LAG < end):
            end = seen
        if begun is not None and end is not None and end > begun - 1:
            found.append((begun, end, ranks.get(attempt.number)))
    return found


def _count_ranks(job: Job, role: Role, ranks: int | None) -> int:
    """Of an elastic role, as many as trained; of others, all."""
    if ranks is None or job.elasticity is None or job.elasticity.role != role.name:
        return role.replicas
    return min(role.replicas, max(0, ranks - (job.size - role.replicas)))


def _qualify(run: RunRecord) -> str:
    known = (each for each in KINDS if (each.api_version, each.kind) == (run.api_version, run.kind))
    return next((each.qualified for each in known), f"{run.kind.lower()}.{run.api_version.partition('/')[0]}")


def _weigh_role(job: Job, role: Role) -> Mapping[str, Fraction]:
    return _weigh(role.template, {"metadata": {"annotations": job.annotations}})


def _weigh(pod: Mapping[str, Any], job: Mapping[str, Any]) -> Mapping[str, Fraction]:
    """What a pod, or the template of one, asks for of what is counted."""
    try:
        amounts = weigh_pod(pod, annotations_of(dict(job)))
    except ValueError:  # of a manifest that no server has read
        return {}
    return {name: amount for name, amount in amounts.items() if is_counted(name)}


def _add(found: dict[str, float], amounts: Mapping[str, Fraction], seconds: float) -> None:
    for name, amount in amounts.items():
        found[name] += float(amount) * seconds
