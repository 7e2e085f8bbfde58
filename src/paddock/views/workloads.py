"""What Kueue says of jobs that wait for a queue: the conditions of their Workloads, read with the reader's own rights.
Pure.

Sources: kueue, apis/kueue/v1beta2/workload_types.go, pkg/scheduler/flavorassigner. `QuotaReserved=False` has the reason
why a Workload waits; since 0.19 it is one of a ranked list (WaitingForQuota, NoMatchingFlavor, Misconfigured …), before
it was Pending. Of an eviction `Evicted=True` tells why; Kueue sets it back once the Workload has quota again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from paddock.jobs.model import CauseRecord, Job, Status
from paddock.jobs.names import queue_group_name
from paddock.jobs.queued import read_displaced
from paddock.jobs.sentences.cause_args import items_of
from paddock.jobs.sentences.queue_phrases import SAID, More, Said
from paddock.kube.meta import Manifest, Resource, metadata, name_of, namespace_of, uid_of
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.kube.quantities import read_quantity
from paddock.views.stored import read_stored
from paddock.words.phrases import Foreign, Phrase, phrase

_TOLD = (("Evicted", "True"), ("Admitted", "False"), ("QuotaReserved", "False"))
"""Conditions that say why a Workload does not run, the most telling last."""
_HOPELESS = frozenset({"Misconfigured", "ExceedsMaxQuota", "NoMatchingFlavor", "Inadmissible", "Deactivated"})
"""Reasons that last until a person changes something."""
_LACKS = re.compile(
    r"insufficient unused quota for ([^\s,]{1,100}) in flavor ([^\s,]{1,100}), ([^\s,]{1,40}) more needed"
)
_MOST_HOLDERS = 3
_MOST_POD_SETS = 32
"""More than a Workload may have."""

Positions = Mapping[tuple[str, str], int]
"""By namespace and name of a Workload: 1 is the next of its LocalQueue."""


@dataclass(frozen=True, slots=True)
class Admissions:
    """What a reader sees of Kueue's Workloads."""

    by_name: Mapping[tuple[str, str], Manifest] = field(default_factory=dict)
    """By namespace and name."""
    by_owner: Mapping[str, Manifest] = field(default_factory=dict)
    """By the UID of each owner, the newest."""
    by_uid: Mapping[str, Manifest] = field(default_factory=dict)
    holders: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """By namespace and LocalQueue, who holds quota there."""
    positions: Positions = field(default_factory=dict)

    def find(self, job: Job, status: Status) -> Manifest | None:
        """The Workload of the job, or of the pods of its attempt."""
        group = self.by_name.get((job.key.namespace, queue_group_name(job, status.attempt)))
        own = [each for each in (group, self.by_owner.get(job.uid)) if each is not None]
        return max(own, key=_read_age, default=None)

    def add(self, cause: CauseRecord, resource: Resource, manifest: Manifest) -> CauseRecord:
        """The cause of a job that waits for its queue, with what Kueue says of it."""
        if not self.by_name or not waits_for_queue(cause):
            return cause
        stored = read_stored(resource, manifest)
        workload = self.find(stored.job, stored.status) if stored.job is not None else None
        if workload is None:
            return cause
        told = _add_eviction(cause, workload)
        return replace(told, args={**told.args, SAID: self._read_said(told, workload)})

    def _read_said(self, cause: CauseRecord, workload: Manifest) -> Said:
        place, mine = (namespace_of(workload), _read_queue(workload)), _name_owner(workload)
        said = read_said(workload)
        found = (self.by_uid.get(uid) or self.by_owner.get(uid) for uid in items_of(cause.args, "by"))
        preemptor = next((_name_owner(each) for each in found if each is not None), "")
        others = [each for each in self.holders.get(place, ()) if each != mine]
        return replace(
            said,
            holders=tuple(others[:_MOST_HOLDERS]) if said.lacks else (),
            position=self.positions.get((namespace_of(workload), name_of(workload))),
            preemptor=preemptor,
        )


NO_ADMISSIONS = Admissions()


def waits_for_queue(cause: CauseRecord | None) -> bool:
    """Whether a Workload would tell more of this cause."""
    return cause is not None and cause.reason == "WaitingForQueue"


def read_admissions(workloads: Iterable[Manifest], positions: Positions | None = None) -> Admissions:
    """`workloads`: of any namespaces, in any shape."""
    by_name, by_owner, by_uid = {}, dict[str, Manifest](), {}
    holders: dict[tuple[str, str], list[str]] = {}
    for each in sorted(workloads, key=_read_age):
        by_name[namespace_of(each), name_of(each)] = each
        by_uid[uid_of(each)] = each
        by_owner |= dict.fromkeys(map(_read_uid, _read_owners(each)), each)
        told = _read_conditions(each)
        if _holds(told, "QuotaReserved") and not _holds(told, "Finished"):
            holders.setdefault((namespace_of(each), _read_queue(each)), []).append(_name_owner(each))
    by_owner.pop("", None)
    return Admissions(by_name, by_owner, by_uid, holders, positions or {})


def list_queues(waiting: Iterable[tuple[CauseRecord | None, Manifest]]) -> list[tuple[str, str]]:
    """The (namespace, LocalQueue) that these jobs wait for, once each."""
    found = (
        (namespace_of(job), str(cause.args.get("queue") or ""))
        for cause, job in waiting
        if waits_for_queue(cause) and cause
    )
    return list(dict.fromkeys(each for each in found if each[1]))


def read_positions(namespace: str, pending: Iterable[Any]) -> Positions:
    """Of the answer of Kueue's visibility API, which may have any shape."""
    found = {}
    for each in pending:
        place = each.get("positionInLocalQueue") if isinstance(each, Mapping) else None
        if isinstance(place, int) and not isinstance(place, bool) and place >= 0:
            found[namespace, name_of(dict(each))] = place + 1
    return found


def read_said(workload: Mapping[str, Any]) -> Said:
    """What Kueue says of one Workload, without what others tell of it."""
    told = _choose(_read_conditions(workload))
    if told is None:
        return Said()
    reason, message = told
    return Said(
        reason,
        message,
        hopeless=bool(message) and reason in _HOPELESS,
        asks=_read_asks(workload),
        lacks=_read_lacks(message),
    )


def find_workload(job: Job, status: Status, workloads: Iterable[Manifest]) -> Manifest | None:
    """The Workload of the job, or of the pods of its attempt; of several the newest."""
    return read_admissions(workloads).find(job, status)


def explain_workload(workload: Mapping[str, Any] | None) -> Phrase:
    """What it waits for, in Kueue's own words. A Workload may have any shape."""
    if workload is None:
        return phrase("Kueue has made no Workload for it yet: is its integration for this kind of job on?")
    name, told = name_of(dict(workload)), _choose(_read_conditions(workload))
    if told is None:
        return phrase("Kueue says nothing yet in its Workload {name}", name=name)
    return phrase("Kueue says in its Workload {name}: {said}", name=name, said=Foreign(": ".join(told)))


def _choose(conditions: Mapping[str, Mapping[str, Any]]) -> tuple[str, str] | None:
    """Reason and message of the condition that tells most."""
    told = [conditions[kind] for kind, status in _TOLD if conditions.get(kind, {}).get("status") == status]
    if not told:
        return None
    evicted = conditions.get("Evicted", {})
    if evicted.get("status") == "True" and str(evicted.get("reason")) == "Deactivated":  # it is not looked at any more
        told = [evicted]
    return str(told[-1].get("reason") or ""), " ".join(str(told[-1].get("message") or "").split())


def _add_eviction(cause: CauseRecord, workload: Mapping[str, Any]) -> CauseRecord:
    """Of a job that Kueue has stopped by `suspend` its Workload alone tells why."""
    evicted = _read_conditions(workload).get("Evicted", {})
    if cause.args.get("evicted") or evicted.get("status") != "True" or not evicted.get("reason"):
        return cause
    who = read_displaced(str(evicted.get("message") or ""))
    told = {"evicted": str(evicted["reason"]), "by": list(who.by), "due": who.due}
    return replace(cause, args={**cause.args, **told})


def _read_asks(workload: Mapping[str, Any]) -> Mapping[str, Fraction]:
    """What all its pods ask for."""
    spec = workload.get("spec")
    sets = spec.get("podSets") if isinstance(spec, Mapping) else None
    total: dict[str, Fraction] = {}
    for each in (sets if isinstance(sets, list) else [])[:_MOST_POD_SETS]:
        try:
            amounts, count = read_pod_amounts(each["template"]["spec"]), int(each.get("count", 1))
        except (AttributeError, KeyError, TypeError, ValueError):
            return {}
        for name, amount in amounts.items():
            total[name] = total.get(name, Fraction(0)) + amount * count
    total.pop("pods", None)
    return total


def _read_lacks(message: str) -> tuple[More, ...]:
    """Of each resource the least that would do: Kueue names every flavor that it has tried."""
    found: dict[str, More] = {}
    for name, flavor, text in _LACKS.findall(message):
        try:
            more = More(name, read_quantity(text), flavor)
        except ValueError:
            continue
        if name not in found or more.amount < found[name].amount:
            found[name] = more
    return tuple(found.values())


def _read_conditions(workload: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    status = workload.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    listed = conditions if isinstance(conditions, list) else []
    return {str(each.get("type")): each for each in listed if isinstance(each, Mapping)}


def _holds(conditions: Mapping[str, Mapping[str, Any]], kind: str) -> bool:
    return conditions.get(kind, {}).get("status") == "True"


def _read_queue(workload: Mapping[str, Any]) -> str:
    spec = workload.get("spec")
    return str(spec.get("queueName") or "") if isinstance(spec, Mapping) else ""


def _name_owner(workload: Mapping[str, Any]) -> str:
    """The name of its job; of a group of pods, whose owners are they, the group's."""
    owners = [each for each in _read_owners(workload) if isinstance(each, Mapping)]
    job = next((each for each in owners if each.get("kind") != "Pod" and each.get("name")), None)
    return str(job["name"]) if job is not None else name_of(dict(workload))


def _read_age(workload: Manifest) -> str:
    return str(metadata(workload).get("creationTimestamp") or "")


def _read_owners(workload: Mapping[str, Any]) -> list[Any]:
    owners = metadata(workload).get("ownerReferences")
    return owners if isinstance(owners, list) else []


def _read_uid(owner: object) -> str:
    return str(owner.get("uid") or "") if isinstance(owner, Mapping) else ""
