"""The ranks of a job with their pods, as rows; those with trouble first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from paddock.jobs.model import Job, Pod, PodPhase, Rank, Status
from paddock.jobs.objects.observed import read_pod
from paddock.kube.meta import Manifest, Resource, is_controlled_by, is_deleting
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.kube.times import Moment, read_time
from paddock.views.jobs import tell_ready
from paddock.views.pods import PodRow, rank_name, read_pod_row
from paddock.words.amounts import say_amount, sort_resources
from paddock.words.formats import format_of
from paddock.words.phrases import Phrase, render


class JobPod(NamedTuple):
    """A pod, parsed once for all that a page shows of it."""

    manifest: Manifest
    pod: Pod | None
    """None for a pod of no rank."""


def read_job_pod(_resource: Resource, manifest: Manifest) -> JobPod:
    return JobPod(manifest, read_pod(manifest))


@dataclass(frozen=True, slots=True)
class RankRow:
    """One pod of the job, or a rank without one."""

    rank: str  # `worker-0`
    pod: PodRow | None  # None for a rank without one
    attempt: int | None = None  # None where the pod does not say
    old: bool = False  # of an earlier attempt, or about to go
    restarts: int = 0
    asked: str = ""  # `1 CPU, 2.0 GiB`
    images: tuple[str, ...] = ()
    begun: Moment | None = None  # since when its program runs, or ran
    ended: Moment | None = None  # None while it runs; without a pod: when it printed last
    state: str = ""  # without a pod: how it ended (`views.kept_ranks`)
    said: Phrase | None = None  # without a pod: why


def build_rank_rows(
    job: Job | None, status: Status, pods: Iterable[JobPod], uid: str, language: str = "en"
) -> list[RankRow]:
    """`pods`: of the job's namespace; those that the job controls count. Ranks that the job wants and has no pod for
    have a row too, until it has ended; one that has succeeded needs none."""
    rows = [(each.pod, _build_row(each, status, language)) for each in pods if is_controlled_by(each.manifest, uid)]
    held = {pod.rank for pod, row in rows if pod is not None and not row.old}
    wanted = () if job is None or status.phase.terminal else job.ranks()
    missing = [rank for rank in wanted if rank not in held and not status.has_succeeded(rank)]
    found = [*rows, *((None, RankRow(str(rank), None)) for rank in missing)]
    places = {role.name: place for place, role in enumerate(job.roles)} if job else {}
    return [row for pod, row in sorted(found, key=lambda each: _order(places, *each))]


def _build_row(each: JobPod, status: Status, language: str) -> RankRow:
    manifest, pod, row = each.manifest, each.pod, read_pod_row(each.manifest)
    spec = manifest.get("spec") or {}
    begun, ended = _read_times(manifest)
    return RankRow(
        rank=str(pod.rank) if pod else rank_name(manifest),
        pod=row,
        attempt=pod.attempt if pod else None,
        old=is_deleting(manifest) or (pod is not None and not status.holds(pod)),
        restarts=row.restarts + (pod.renewal if pod else 0),
        asked=tell_amounts(spec, 1, language),
        images=tuple(dict.fromkeys(str(one.get("image") or "") for one in spec.get("containers") or ())),
        begun=begun,
        ended=ended,
    )


def _read_times(pod: Manifest) -> tuple[Moment | None, Moment | None]:
    """When the first of its containers began, and when the last one ended; None while one runs."""
    states = [each.get("state") or {} for each in (pod.get("status") or {}).get("containerStatuses") or ()]
    ends = [each.get("terminated") or {} for each in states]
    begun = [read_time((each.get("running") or end).get("startedAt")) for each, end in zip(states, ends, strict=True)]
    ended = [read_time(end.get("finishedAt")) for end in ends]
    known, over = [each for each in begun if each is not None], [each for each in ended if each is not None]
    return min(known, default=None), max(over) if over and len(over) == len(states) else None


_TROUBLE: Mapping[PodPhase, int] = {
    PodPhase.FAILED: 0,
    PodPhase.PENDING: 1,
    PodPhase.STARTING: 2,
    PodPhase.RUNNING: 3,
    PodPhase.SUCCEEDED: 4,
}
_LAST = 5


def _order(places: Mapping[str, int], pod: Pod | None, row: RankRow) -> tuple[bool, int, int, str, int]:
    """Ranks of the attempt first; by trouble; then by role as the job has them, and index. Spare pods are no
    trouble."""
    rank = pod.rank if pod else _read_rank(row.rank)
    trouble = _LAST if pod and pod.spare else _TROUBLE[pod.phase] if pod else 1
    return row.old, trouble, places.get(rank.role, len(places)), rank.role, rank.index


def _read_rank(name: str) -> Rank:
    role, _, index = name.rpartition("-")
    return Rank(role, int(index)) if index.isdecimal() and len(index) < 9 else Rank(name, 0)


def tell_amounts(spec: Mapping[str, Any], times: int = 1, language: str = "en") -> str:
    """What so many pods of this spec occupy: `4 CPUs, 2.0 GiB, 1 GPU`, in the words of the queue; empty where it asks
    nothing, or what cannot be read."""
    try:
        return _write({name: amount * times for name, amount in read_pod_amounts(spec).items()}, language)
    except (ValueError, TypeError, AttributeError):  # a user's template has any shape
        return ""


def _write(amounts: Mapping[str, Fraction], language: str) -> str:
    """Without the number of pods, which Kubernetes counts as a resource."""
    names = [name for name in sort_resources(amounts) if name != "pods"]
    return format_of(language).comma.join(render(say_amount(name, amounts[name]), language) for name in names)


@dataclass(frozen=True, slots=True)
class RoleRow:
    """A role as a row of a table."""

    name: str
    replicas: int
    ready: str
    counts: tuple[tuple[str, int], ...]  # (word of the API, number), those that are not 0
    restart: str
    image: str
    command: tuple[str, ...]  # of the container that trains, as its list has it
    asked: str  # of one rank
    asked_in_all: str  # of all of the role


def total_asked(job: Job, language: str = "en") -> str:
    """The requests of all ranks of the job."""
    total: dict[str, Fraction] = {}
    for role in job.roles:
        try:
            amounts = read_pod_amounts(role.template["spec"])
        except (ValueError, TypeError, AttributeError):
            return ""
        for name, amount in amounts.items():
            total[name] = total.get(name, Fraction(0)) + amount * role.replicas
    return _write(total, language)


def build_role_rows(
    job: Job, status: Status, containers: Sequence[Mapping[str, Any]], language: str = "en"
) -> list[RoleRow]:
    """`containers`: of each role the one that trains, in the order of the roles."""
    return [_build_role(job, status, *each, language) for each in zip(range(len(job.roles)), containers, strict=True)]


def _build_role(job: Job, status: Status, place: int, container: Mapping[str, Any], language: str) -> RoleRow:
    role = job.roles[place]
    counts = status.roles.get(role.name)
    words = ("pending", "starting", "running", "succeeded", "failed")
    spec = role.template["spec"]
    return RoleRow(
        name=role.name,
        replicas=role.replicas,
        ready=tell_ready(counts, status.phase) if counts else f"0/{role.replicas}",
        counts=tuple((word, number) for word in words if counts and (number := getattr(counts, word))),
        restart=str(role.restart),
        image=str(container.get("image") or ""),
        command=tuple(map(str, (*(container.get("command") or ()), *(container.get("args") or ())))),
        asked=tell_amounts(spec, 1, language),
        asked_in_all=tell_amounts(spec, role.replicas, language),
    )
