"""Whether a job has room in its namespace, before it is sent: by the LimitRanges, which change and bound its pods, and
by the ResourceQuotas, which count them; and whether a node is large enough. Pure, but for `fetch_room`.

A job whose pods the API server would refuse as the namespace is now, whatever else runs there, is refused with what is
allowed; one that only has to wait for others is told so, with what would fit. What may not be read is not known, and
nothing is said of it: the operator says why pods are refused (`jobs.causes.QuotaExceeded`).

The amounts that are advised are for ranks that all ask for the same, as those of a typed command do.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from paddock.jobs.model import Job, Role
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.limit_ranges import Bound, Broken, LimitRange, count_steps, fill_limits, find_broken, read_limit_range
from paddock.kube.meta import LIMIT_RANGES, PODS, RESOURCE_QUOTAS, Manifest
from paddock.kube.quantities import read_amounts, read_quantity
from paddock.kube.quotas import (
    Exceeded,
    Quota,
    explain_gang,
    explain_refused,
    read_exceeded,
    read_quota,
    read_unspecified,
)
from paddock.script.variables import change_trained
from paddock.words.amounts import (
    round_down,
    say_amount,
    say_bare_amount,
    say_of_quota,
    sort_resources,
    split_quota_name,
)
from paddock.words.phrases import Foreign, Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api
    from paddock.submission.documents import Checked

GPU = "nvidia.com/gpu"
_OPTIONS = {"cpu": "--cpus", "memory": "--memory", GPU: "--gpus"}
_USUAL = {"cpu": Fraction(1), "memory": Fraction(2 * 2**30)}
"""What is advised for a rank that says nothing, where as much is left."""
_MOST_STEPS = 50_000
"""Of `_count_steps`, 50 ms or less: a job of more is not looked at, as it and what bounds it are both somebody's."""
_MOST_TOLD = 20
"""Faults that are told of one job."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a namespace lets pods have; empty for what may not be read."""

    namespace: str
    quotas: Sequence[Quota] = ()
    ranges: Sequence[LimitRange] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of a job's room before it is sent."""

    refused: tuple[Phrase, ...] = ()
    """Why its pods would be refused, whatever else runs."""
    told: tuple[Phrase, ...] = ()
    """What happens to it that it does not say: defaults, a wait."""
    wants_cpu_limit: bool = False
    """The namespace wants a limit of CPUs, or has one for pods without; the ranks ask for CPUs and have none."""


@dataclass(frozen=True, slots=True)
class _Pod:
    """The pods of a role, which are alike, as the LimitRanges leave them."""

    role: str
    count: int
    manifest: Manifest
    written: Manifest
    """As the job has them."""


async def fetch_room(api: Api, namespace: str) -> Room:
    """Raises `ApiError` where the server does not answer."""
    quotas = [read_quota(each) for each in await _list(api, RESOURCE_QUOTAS, namespace)]
    return Room(namespace, quotas, [read_limit_range(each) for each in await _list(api, LIMIT_RANGES, namespace)])


async def _list(api: Api, resource: Any, namespace: str) -> Sequence[Manifest]:
    try:
        return (await api.list(resource, namespace)).items
    except (Forbidden, NotFound):
        return ()


async def fetch_judgements(api: Api, checked: Iterable[Checked]) -> list[tuple[Checked, Judgement]]:
    """Of each job of a file or of a form. Raises `ApiError` where the server does not answer."""
    rooms: dict[str, Room] = {}
    found = []
    for each in checked:
        if each.job is None:
            continue
        if each.key.namespace not in rooms:
            rooms[each.key.namespace] = await fetch_room(api, each.key.namespace)
        found.append((each, judge(each.job, rooms[each.key.namespace], typed=False)))
    return found


def judge(job: Job, room: Room, *, typed: bool) -> Judgement:
    """`typed`: the job was made of a typed command, so options say what it asks for. Raises `ValueError` for amounts
    that are none, which its manifest's checks refuse."""
    roles = [role for role in job.roles if role.replicas]
    if sum(_count_steps(role.template["spec"], room) for role in roles) > _MOST_STEPS:
        return Judgement()
    pods = [_fill(role, room.ranges) for role in roles]
    wants = typed and any(_lacks_cpu_limit(each, room) for each in pods)
    if wants or not pods:
        return Judgement(wants_cpu_limit=wants)
    size = sum(each.count for each in pods)
    wrong = islice((said for pod in pods for said in _explain_pod(pod, room, size, typed=typed)), _MOST_TOLD)
    refused, told = tuple(dict.fromkeys(wrong)), tuple(_explain_defaults(pods[0], room))
    if refused or job.elasticity is not None:
        return Judgement(refused, told)
    for exceeded in _find_exceeded(pods, room):
        said = _explain_exceeded(exceeded, pods, room, typed=typed)
        if exceeded.never and not job.policies.suspend:
            refused += (said,)
        else:
            told += (said,)
    return Judgement(refused, told)


def _count_steps(spec: Mapping[str, Any], room: Room) -> int:
    containers = sum(len(spec.get(section) or ()) for section in ("containers", "initContainers"))
    return count_steps(spec, room.ranges) + containers * 10 * (1 + len(room.quotas))


def _fill(role: Role, ranges: Sequence[LimitRange]) -> _Pod:
    spec = dict(role.template["spec"])
    for section in ("containers", "initContainers"):
        if section in spec:
            spec[section] = [_read_resources(each) for each in spec[section]]
    written: Manifest = {"metadata": {}, "spec": spec}
    filled: Manifest = {"metadata": {}, "spec": {**spec, **{
        section: [copy.deepcopy(each) for each in spec[section]] for section in ("containers", "initContainers")
        if section in spec
    }}}  # fmt: skip
    fill_limits(filled, ranges)
    return _Pod(role.name, role.replicas, filled, written)


def _read_resources(container: Mapping[str, Any]) -> Manifest:
    """What quotas and LimitRanges read of a container. A limit is a request too where none is written: the API server
    does that before it looks at any LimitRange."""
    resources = {name: dict(amounts or {}) for name, amounts in (container.get("resources") or {}).items()
                 if name in ("requests", "limits")}  # fmt: skip
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **resources.get("requests", {})}
    kept = {name: container[name] for name in ("name", "restartPolicy") if name in container}
    return {**kept, **({"resources": resources} if resources else {})}


def _containers(pod: Manifest) -> list[Manifest]:
    spec = pod["spec"]
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _amounts(container: Mapping[str, Any], section: str) -> dict[str, Fraction]:
    return read_amounts((container.get("resources") or {}).get(section))


def _lacks_cpu_limit(pod: _Pod, room: Room) -> bool:
    """Whether ranks ask for CPUs, have no limit of them, and a quota wants one or a LimitRange has a lower one."""
    is_wanted = any("limits.cpu" in _find_unspecified(pod, quota) for quota in room.quotas)
    for before, after in zip(_containers(pod.written), _containers(pod.manifest), strict=True):
        asked, limit = _amounts(before, "requests").get("cpu"), _amounts(after, "limits").get("cpu")
        has_own = "cpu" in _amounts(before, "limits")
        if asked is not None and not has_own and (is_wanted if limit is None else limit < asked):
            return True
    return False


def with_cpu_limits(manifest: Mapping[str, Any], job: Job) -> Manifest:
    """The manifest with a limit of the CPUs that each trained container asks for."""

    def limit(container: Mapping[str, Any]) -> Mapping[str, Any]:
        resources = container.get("resources") or {}
        asked = (resources.get("requests") or {}).get("cpu")
        limits = {"cpu": asked, **(resources.get("limits") or {})}
        return {**container, "resources": {**resources, "limits": limits}} if asked is not None else container

    return change_trained(manifest, job, limit)


def explain_cpu_limits(namespace: str) -> Phrase:
    return phrase("{namespace} wants a limit of CPUs: that of each rank is what it asks for", namespace=namespace)


def _find_unspecified(pod: _Pod, quota: Quota) -> Mapping[str, Sequence[str]]:
    """What a quota wants containers to say, by the field of their resources, and they do not."""
    return read_unspecified(explain_refused(PODS, pod.manifest, None, [quota]) or "")


def _explain_pod(pod: _Pod, room: Room, count: int, *, typed: bool) -> Iterator[Phrase]:
    for each in room.ranges:
        for broken in find_broken(pod.manifest["spec"], each.limits):
            yield _explain_broken(broken, pod, each.name, room.namespace, typed=typed)
    for container in _containers(pod.manifest):
        asked, limits = _amounts(container, "requests"), _amounts(container, "limits")
        for name in sort_resources({name: None for name in asked if asked[name] > limits.get(name, asked[name])}):
            yield phrase(
                "{field} is {found}, and the limit that {namespace} has for pods without one is {limit}: write a limit "
                "too",
                field=_name_field(pod, name, "requests", typed=typed), found=say_amount(name, asked[name]),
                namespace=room.namespace, limit=say_amount(name, limits[name]),
            )  # fmt: skip
    for quota in room.quotas:
        if missing := _find_unspecified(pod, quota):
            yield _explain_unspecified(missing, pod, quota, room, count, typed=typed)


def _name_field(pod: _Pod, name: str, section: str, *, typed: bool) -> str:
    """`--cpus`, or `worker.resources.requests.cpu`."""
    if typed and name in _OPTIONS:
        return _OPTIONS[name]
    return f"{pod.role}.resources.{section}.{name}"


def _explain_broken(broken: Broken, pod: _Pod, name: str, namespace: str, *, typed: bool) -> Phrase:
    field = _name_field(pod, broken.resource, f"{broken.section}s", typed=typed)
    args: dict[str, Any] = {"field": field, "range": name, "namespace": namespace}
    if broken.bound is Bound.RATIO:
        return phrase(
            "{field}: the LimitRange {range} of {namespace} refuses it: {message}", message=Foreign(str(broken)), **args
        )
    args["allowed"] = say_amount(broken.resource, broken.allowed.amount)
    if broken.type != "Container":
        args["field"] = phrase("{field} of a pod's containers together", field=field)
    if broken.found is None and broken.bound is Bound.LEAST:
        return phrase("{field} is not set: the LimitRange {range} of {namespace} wants {allowed} at least", **args)
    if broken.found is None:
        return phrase("{field} is not set: the LimitRange {range} of {namespace} wants {allowed} at most", **args)
    args["found"] = say_amount(broken.resource, broken.found.amount)
    if broken.bound is Bound.LEAST:
        return phrase("{field} is {found}: the LimitRange {range} of {namespace} wants {allowed} at least", **args)
    return phrase("{field} is {found}: the LimitRange {range} of {namespace} allows {allowed} at most", **args)


def _explain_unspecified(
    missing: Mapping[str, Sequence[str]], pod: _Pod, quota: Quota, room: Room, count: int, *, typed: bool
) -> Phrase:
    """With amounts that fit."""
    advised: dict[str, str] = {}
    for field in missing:
        section, resource = split_quota_name(field)
        left = [_left(quota, name) for name in quota.hard if split_quota_name(name) == (section, resource)]
        if amount := round_down(resource, min(_USUAL.get(resource, Fraction(1)), *(each / count for each in left))):
            advised[field] = amount
    fields = Names(tuple(f"resources.{each}" for each in missing))
    args: dict[str, Any] = {"quota": quota.name, "namespace": room.namespace, "fields": fields}
    if typed and (options := _write_options({split_quota_name(field)[1]: amount for field, amount in advised.items()})):
        return phrase(
            "the quota {quota} of {namespace} takes no rank that does not say what it asks for ({fields}): {options} "
            "fits",
            options=options, **args,
        )  # fmt: skip
    examples = Names(tuple(f"resources.{field}: {amount}" for field, amount in advised.items()))
    if not advised:
        return phrase("the quota {quota} of {namespace} takes no pod without {fields}", **args)
    return phrase(
        "the quota {quota} of {namespace} takes no pod without {fields}: in the containers of {role}, {examples} fits",
        role=pod.role, examples=examples, **args,
    )  # fmt: skip


def _left(quota: Quota, name: str) -> Fraction:
    """What is left of a quota; all of it where nothing is."""
    used = quota.used.get(name)
    left = quota.hard[name].amount - (used.amount if used else 0)
    return left if left > 0 else quota.hard[name].amount


def _write_options(amounts: Mapping[str, str]) -> str:
    """`--cpus 1 --memory 2Gi`; empty where an amount has no option."""
    if not all(name in _OPTIONS for name in amounts):
        return ""
    return " ".join(f"{_OPTIONS[name]} {amounts[name]}" for name in sort_resources(amounts))


def _explain_defaults(pod: _Pod, room: Room) -> Iterator[Phrase]:
    """What LimitRanges let the first container ask for that it does not."""
    before, after = _containers(pod.written)[0], _containers(pod.manifest)[0]
    added = {
        section: {
            name: amount
            for name, amount in _amounts(after, section).items()
            if name not in _amounts(before, section) and not _amounts(before, "requests").get(name)
        }
        for section in ("requests", "limits")
    }
    requests, limits = (
        Names(tuple(say_amount(name, amounts[name]) for name in sort_resources(amounts)))
        for amounts in (added["requests"], added["limits"])
    )
    args: dict[str, Any] = {"ranges": Names(tuple(each.name for each in room.ranges)), "namespace": room.namespace}
    if requests.items and limits.items:
        yield phrase(
            "by the LimitRange {ranges} of {namespace} each rank asks for {requests}, and may have {limits} at most",
            requests=requests, limits=limits, **args,
        )  # fmt: skip
    elif requests.items:
        yield phrase(
            "by the LimitRange {ranges} of {namespace} each rank asks for {requests}", requests=requests, **args
        )
    elif limits.items:
        yield phrase(
            "by the LimitRange {ranges} of {namespace} each rank may have {limits} at most", limits=limits, **args
        )


def _find_exceeded(pods: Sequence[_Pod], room: Room) -> Iterator[Exceeded]:
    for quota in room.quotas:
        said = explain_gang([(each.manifest, each.count) for each in pods], [quota])
        if said is not None and (exceeded := read_exceeded(said)) is not None:
            yield exceeded


def _explain_exceeded(exceeded: Exceeded, pods: Sequence[_Pod], room: Room, *, typed: bool) -> Phrase:
    said = Names(tuple(_explain_asked(exceeded, name, pods) for name in _order(_list_told(exceeded))), most=0)
    fitting = {name: _find_fitting(exceeded, name, pods) for name in exceeded.asked}
    by_resource = {split_quota_name(name)[1]: amount for name, amount in fitting.items() if amount}
    options = _write_options(by_resource) if typed and all(fitting.values()) else ""
    args: dict[str, Any] = {"asked": said, "quota": exceeded.quota, "namespace": room.namespace}
    if exceeded.never:
        verdict = phrase("by the quota {quota} of {namespace} it can never start: it asks for {asked}", **args)
    else:
        verdict = phrase(
            "by the quota {quota} of {namespace} it waits until others have ended: it asks for {asked}", **args
        )
    return phrase("{said}; {options} fits", said=verdict, options=options) if options else verdict


def _list_told(exceeded: Exceeded) -> list[str]:
    """The names of a quota without a limit whose request has the same figures, as of --memory."""
    figures = {
        name: (split_quota_name(name)[1], amount, exceeded.hard[name], exceeded.used.get(name, "0"))
        for name, amount in exceeded.asked.items()
    }
    requests = {each for name, each in figures.items() if split_quota_name(name)[0] == "requests"}
    return [name for name, each in figures.items() if split_quota_name(name)[0] != "limits" or each not in requests]


def _order(names: Iterable[str]) -> list[str]:
    named = list(names)
    places = {
        name: place for place, name in enumerate(sort_resources({split_quota_name(each)[1]: 0 for each in named}))
    }
    return sorted(named, key=lambda name: (places[split_quota_name(name)[1]], name))


def _explain_asked(exceeded: Exceeded, name: str, pods: Sequence[_Pod]) -> Phrase:
    """`8 CPUs, 4 each, with 3 of 10 left`"""
    _, resource = split_quota_name(name)
    asked, hard = read_quantity(exceeded.asked[name]), read_quantity(exceeded.hard[name])
    left = max(hard - read_quantity(exceeded.used.get(name, "0")), Fraction(0))
    count, said = _count_asking(name, pods), say_amount(resource, asked)
    if count > 1 and resource != "pods" and (each := asked / count) == _each(name, pods):
        said = phrase("{asked}, {each} each", asked=said, each=say_bare_amount(resource, each))
    return say_of_quota(name, said, left, hard)


def _each(name: str, pods: Sequence[_Pod]) -> Fraction:
    """What one pod of the first role that asks for it counts towards the quota."""
    return next((found for pod in pods if (found := _measure(name, pod))), Fraction(0))


def _measure(name: str, pod: _Pod) -> Fraction:
    section, resource = split_quota_name(name)
    if resource == "pods":
        return Fraction(1)
    return sum((_amounts(each, section).get(resource, Fraction(0)) for each in pod.manifest["spec"]["containers"]),
               Fraction(0))  # fmt: skip


def _count_asking(name: str, pods: Sequence[_Pod]) -> int:
    return sum(pod.count for pod in pods if _measure(name, pod))


def _find_fitting(exceeded: Exceeded, name: str, pods: Sequence[_Pod]) -> str:
    """What each rank may ask for so that all have room now, or, of a job that never has, when nothing else runs."""
    _, resource = split_quota_name(name)
    hard, used = read_quantity(exceeded.hard[name]), read_quantity(exceeded.used.get(name, "0"))
    count = _count_asking(name, pods)
    left = hard if exceeded.never and hard <= used else hard - used
    return round_down(resource, left / count) if resource in _OPTIONS and count and left > 0 else ""


def explain_too_large(job: Job, nodes: Iterable[Manifest], *, is_local: bool) -> Iterator[Phrase]:
    """Of a typed command: the amounts that no node has. A laptop has one node, this machine, for all ranks together."""
    largest: dict[str, Fraction] = {}
    for node in nodes:
        for name, amount in read_amounts((node.get("status") or {}).get("allocatable")).items():
            largest[name] = max(amount, largest.get(name, Fraction(0)))
    pods = [_fill(role, ()) for role in job.roles if role.replicas]
    for name in _USUAL:
        count, each = _count_asking(name, pods), max((_measure(name, pod) for pod in pods), default=Fraction(0))
        if name in largest and each * (count if is_local else 1) > largest[name]:
            yield _explain_too_large(name, each, count, largest[name], is_local=is_local)


def _explain_too_large(name: str, each: Fraction, count: int, largest: Fraction, *, is_local: bool) -> Phrase:
    args: dict[str, Any] = {"option": _OPTIONS[name], "has": say_bare_amount(name, largest)}
    if not is_local:
        return phrase(
            "{option}: each rank asks for {asked}, and the largest node has {has}", asked=say_amount(name, each), **args
        )
    asked = say_amount(name, each * count)
    said = phrase("{option}: the job asks for {asked}, and this machine has {has}", asked=asked, **args)
    near = round_down(name, largest / count)
    return phrase("{said}; {options} fits", said=said, options=f"{_OPTIONS[name]} {near}") if near else said
