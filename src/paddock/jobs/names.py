"""The names of a job's objects and the values of its labels, from the job's name, roles and indices.

A job's name is any name of a custom resource: up to 253 characters, dots, a digit first. Names of pods follow the same
rule. Services and host names are DNS-1035 labels, and a label's value has at most 63 characters. A name that fits is
used as it is, as in paddle-operator; a name that does not fit is cut, and a hash of the whole name is added.

Code that writes or looks up such a name must use this module, so that both agree. A job's name is checked in
`jobs.apis.names`; the objects are built in `jobs.objects.children` and `jobs.objects.pods`.
"""

from __future__ import annotations

import re

from paddock.jobs.model import Job, Rank
from paddock.kube.meta import POD_GROUPS, Resource
from paddock.kube.validation.names import DNS1035_LABEL, DNS_LABEL, DNS_SUBDOMAIN

LONGEST_NAME = DNS_SUBDOMAIN.longest
"""Characters of the name of a pod, a ConfigMap or a custom resource."""
LONGEST_LABEL = DNS_LABEL.longest
"""Characters of the name of a Service, a host name or the value of a label."""

OUTPUT_VOLUME = "paddock-output"
"""The volume of a pod that has the run's output directory, on a laptop."""

_POD_NAME = re.compile(r".+-(?P<role>[a-z]+)-(?P<index>\d{1,9})")
_DIGITS_OF_HASH = 10


def pod_name(job: Job, rank: Rank) -> str:
    """`<job>-<role>-<index>`."""
    return f"{job.key.name}-{rank}"


def read_pod_name(name: str) -> Rank | None:
    """The rank in a name of `pod_name`; None for a name of another form."""
    match = _POD_NAME.fullmatch(name)
    return Rank(match["role"], int(match["index"])) if match else None


def host_name(job: Job, rank: Rank) -> str:
    """The rank's Service and host name: the pod's name if that is a DNS-1035 label, else a shortened one."""
    name = pod_name(job, rank)
    if DNS1035_LABEL.allows(name):
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
    """`<job>-<hash of the UID>-<n>`: a name that is never used again. A kubelet keeps an immutable ConfigMap, by its
    name, as long as any pod of its node refers to it, so the pods of a later job would be given the one of a former job
    (kubernetes/kubernetes#119733). Pods that are there name theirs (`objects.children.find_config_map`)."""
    return _fit(job.key.name, f"-{_hash(job.uid, 8)}-{attempt}", LONGEST_NAME)


def former_config_map_name(job: Job, attempt: int) -> str:
    """The name in the pods of paddle-operator, `<job>`, and in those of Paddock until 0.1: of the first attempt
    `<job>`, then `<job>-attempt-<n>`."""
    return job.key.name if attempt == 0 else _fit(job.key.name, f"-attempt-{attempt}", LONGEST_NAME)


def queue_group_name(job: Job, attempt: int) -> str:
    """Kueue's name of the pods of one attempt, a label's value. A later job of this name has other groups."""
    return _fit(job.key.name, f"-{_hash(job.uid, 5)}-{attempt}", LONGEST_LABEL)


def pod_group_name(job: Job, resource: Resource) -> str:
    """The job's name, shortened for groups that pods name in a label (the scheduler-plugins'). Volcano's name is in an
    annotation and Kubernetes' own in a field, which may be long."""
    return job_label(job.key.name) if resource.group == POD_GROUPS.group else job.key.name


def _fit(name: str, suffix: str, most: int) -> str:
    whole = name + suffix
    return whole if len(whole) <= most else _shorten(name, name, suffix, most)


def _shorten(begun: str, name: str, suffix: str, most: int) -> str:
    """The beginning of `begun`, a hash of `name`, and `suffix`: at most `most` characters."""
    tail = f"-{_hash(name, _DIGITS_OF_HASH)}{suffix}"
    return begun[: most - len(tail)].rstrip("-.") + tail


def _hash(text: str, digits: int) -> str:
    from hashlib import sha256  # late: a list of jobs makes no names

    return sha256(text.encode()).hexdigest()[:digits]


def dataset_volume_name(dataset: str, number: int = 1) -> str:
    """The volume of a Dataset in a pod, a DNS label: `dataset-<name>`, or a shortened one for a name with dots or of
    more than 55 characters. `number`: from the second on it is added, where a template has that name."""
    name, suffix = f"dataset-{dataset}", "" if number == 1 else f"-{number}"
    if DNS_LABEL.allows(name + suffix):
        return name + suffix
    return _shorten(name.replace(".", "-"), dataset, suffix, LONGEST_LABEL)


METRICS_DIRECTORY = ".metrics"
"""In a run's output directory: the files that PADDOCK_METRICS names. Hidden, so that a program may have a `metrics`
of its own there."""


def metrics_file(rank: str, attempt: int) -> str:
    """The name of the file that PADDOCK_METRICS names for a rank (`worker-0`); each attempt has another, as it begins
    anew, or from a checkpoint."""
    return f"{rank}-attempt-{attempt}.jsonl"


def output_name(name: str, uid: str) -> str:
    """The name of a job's output directory. It has a part of the UID, so a later job of the same name has another."""
    return f"{name}-{uid[:8]}"
