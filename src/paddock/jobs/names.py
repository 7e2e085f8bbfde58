"""What a job's objects are called, and what its labels hold: all from its name, its roles and indices.

A job may have any name that Kubernetes takes for a custom resource: up to 253 characters, dots, a digit first. Its pods
may be called so too. Services, host names and values of labels may not: a Service is a DNS-1035 label and a label's
value ends at 63 characters. Where the full name fits it stands as it is, as with paddle-operator; where it does not,
its beginning and a hash of all of it stand for it.

Who writes such a name and who looks for it must ask here, or they miss each other. What a job may be called is checked
in `jobs.apis.names`; the objects are built in `jobs.objects` and `jobs.pods`.
"""

from __future__ import annotations

import re
from hashlib import sha256

from paddock.jobs.model import Job, Rank
from paddock.kube.meta import VOLCANO_POD_GROUPS, Resource

LONGEST_NAME = 253
"""Of a pod, a ConfigMap, a custom resource: a DNS subdomain (Kubernetes, IsDNS1123Subdomain)."""
LONGEST_LABEL = 63
"""Of a Service, a host name, the value of a label."""

_HOST_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DIGITS_OF_HASH = 10


def pod_name(job: Job, rank: Rank) -> str:
    """`<job>-<role>-<index>`."""
    return f"{job.key.name}-{rank}"


def host_name(job: Job, rank: Rank) -> str:
    """The rank's Service, and with it its host name: the pod's name if that is a DNS-1035 label, else a shorter one."""
    name = pod_name(job, rank)
    if len(name) <= LONGEST_LABEL and _HOST_NAME.fullmatch(name):
        return name
    readable = job.key.name.replace(".", "-")
    begun = readable if readable[:1].isalpha() else f"job-{readable}"
    return _shorten(begun, job.key.name, f"-{rank}", LONGEST_LABEL)


def job_label(name: str) -> str:
    """The value of `paddock.dev/job`, by which all pods of the job called `name` are selected."""
    return _fit(name, "", LONGEST_LABEL)


def rank_label(job: Job, rank: Rank) -> str:
    """The pod's name as the value of a label."""
    return _fit(job.key.name, f"-{rank}", LONGEST_LABEL)


def config_map_name(job: Job, attempt: int) -> str:
    """`<job>` for the first attempt, then `<job>-attempt-<n>`."""
    return job.key.name if attempt == 0 else _fit(job.key.name, f"-attempt-{attempt}", LONGEST_NAME)


def pod_group_name(job: Job, resource: Resource) -> str:
    """The job's name, shortened where pods name the group in a label. Volcano's stands in an annotation, with room."""
    return job.key.name if resource.group == VOLCANO_POD_GROUPS.group else job_label(job.key.name)


def _fit(name: str, suffix: str, most: int) -> str:
    whole = name + suffix
    return whole if len(whole) <= most else _shorten(name, name, suffix, most)


def _shorten(begun: str, name: str, suffix: str, most: int) -> str:
    """As much of `begun` as there is room for, then what tells `name` from all others, then `suffix`."""
    tail = f"-{sha256(name.encode()).hexdigest()[:_DIGITS_OF_HASH]}{suffix}"
    return begun[: most - len(tail)].rstrip("-.") + tail
