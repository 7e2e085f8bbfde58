"""What Kueue says of a job: the conditions of its Workload, in Kueue's words. Pure.

Source: kueue, apis/kueue/v1beta2/workload_types.go. `QuotaReserved=False` has the reason why a Workload waits; since
0.19 it is one of a ranked list (WaitingForQuota, NoMatchingFlavor, Misconfigured …), before it was Pending.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from paddock.jobs.model import Job, Status
from paddock.jobs.names import queue_group_name
from paddock.kube.meta import Manifest, Resource, metadata, name_of
from paddock.words.phrases import Foreign, Phrase, phrase

WORKLOADS = tuple(Resource("kueue.x-k8s.io", version, "Workload", "workloads") for version in ("v1beta2", "v1beta1"))
"""The versions that are asked for, the newest first."""
_TOLD = (("Evicted", "True"), ("Admitted", "False"), ("QuotaReserved", "False"))
"""Conditions that say why a Workload does not run, the most telling last."""


def find_workload(job: Job, status: Status, workloads: Iterable[Manifest]) -> Manifest | None:
    """The Workload of the job, or of the pods of its attempt; of several the newest."""
    group = queue_group_name(job, status.attempt)
    found = [each for each in workloads if name_of(each) == group or job.uid in map(_read_uid, _read_owners(each))]
    return max(found, key=lambda each: str(metadata(each).get("creationTimestamp") or ""), default=None)


def explain_workload(workload: Mapping[str, Any] | None) -> Phrase:
    """What it waits for. A Workload may have any shape."""
    if workload is None:
        return phrase("Kueue has made no Workload for it yet: is its integration for this kind of job on?")
    name = name_of(workload)
    status = workload.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    known = [each for each in conditions if isinstance(each, Mapping)] if isinstance(conditions, list) else []
    told = [each for kind in _TOLD for each in known if (each.get("type"), each.get("status")) == kind]
    if not told:
        return phrase("Kueue says nothing yet in its Workload {name}", name=name)
    reason, message = str(told[-1].get("reason") or ""), " ".join(str(told[-1].get("message") or "").split())
    return phrase("Kueue says in its Workload {name}: {said}", name=name, said=Foreign(f"{reason}: {message}"))


def _read_owners(workload: Mapping[str, Any]) -> list[Any]:
    owners = metadata(workload).get("ownerReferences")
    return owners if isinstance(owners, list) else []


def _read_uid(owner: object) -> str:
    return str(owner.get("uid")) if isinstance(owner, Mapping) else ""
