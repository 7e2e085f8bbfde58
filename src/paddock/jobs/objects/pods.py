"""Job + rank -> its Pod. It has the labels and annotations of the job's API group too, so that its tools find the pods.

The pod is the user's template with these changes: owner and labels, the rank's environment variables in the container
that trains, host name and network, the PodGroup, the volumes of its Datasets (`jobs.objects.mounted`), and
`restartPolicy: Never`, as only whole gangs restart. Which of the template's own variables are overwritten is decided in
`jobs.variables`.

`read_job` has checked the template. Services, ConfigMaps and PodGroups are in `jobs.objects.children`; pods are read
back in `jobs.objects.observed`. This module exports the functions of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks import EnvVar
from paddock.jobs.frameworks.paddle_servers import build_variables as build_gloo
from paddock.jobs.frameworks.paddle_servers import wait_for_servers
from paddock.jobs.frameworks.registry import FRAMEWORKS, main_container
from paddock.jobs.labels import (
    ATTEMPT_LABEL,
    CONFIG_MAP_ANNOTATION,
    INDEX_LABEL,
    JOB_LABEL,
    PORT_ANNOTATION,
    RENEWAL_LABEL,
    RESUME_ANNOTATION,
    ROLE_LABEL,
    SIZE_ANNOTATION,
    SPARE_LABEL,
    WOKEN_ANNOTATION,
    WORKING_DIRECTORY_ANNOTATION,
)
from paddock.jobs.model import Intranet, Job, Pod, Rank, Role, Settings
from paddock.jobs.names import (
    METRICS_DIRECTORY,
    OUTPUT_VOLUME,
    config_map_name,
    host_name,
    job_label,
    metrics_file,
    output_name,
    pod_group_name,
    pod_name,
)
from paddock.jobs.objects.children import (
    build_config_map,
    build_service,
    find_config_map,
    hash_addresses,
    needs_config_map,
)
from paddock.jobs.objects.mounted import mount_datasets
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.objects.outputs import build_variables, find_claim, mount_outputs
from paddock.jobs.objects.pod_groups import build_pod_group, find_priority_class
from paddock.jobs.objects.schedulers import find_pod_groups, find_scheduler, is_of_volcano
from paddock.jobs.queued import mark_pod
from paddock.jobs.substitutions import SUBSTITUTED_ANNOTATION, is_substituting, substitute, write_original
from paddock.jobs.variables import ATTEMPT, CHECKPOINTS, METRICS, OUTPUTS, UNBUFFERED, merge_variables
from paddock.kube.environments import DEFAULT_ANNOTATION, ENVIRONMENT_ANNOTATION, PATH_ANNOTATION, write_default
from paddock.kube.gpu_shares import GPUS_ANNOTATION, SHARE_ANNOTATION
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.kube.meta import KUBERNETES_POD_GROUPS, POD_GROUPS, Key, Manifest, owner_reference

__all__ = [
    "RankPod",
    "RankService",
    "build_config_map",
    "build_pod",
    "build_pod_group",
    "build_service",
    "config_map_name",
    "find_config_map",
    "hash_addresses",
    "host_name",
    "main_container",
    "needs_config_map",
    "output_directory",
    "pod_group_name",
    "pod_name",
    "read_pod",
    "working_directory",
]

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
DEFAULT_CONTAINER_ANNOTATION = "kubectl.kubernetes.io/default-container"
WORKING_DIRECTORY_VOLUME = "paddock-working-directory"
_HANDED_ON = (
    ENVIRONMENT_ANNOTATION, PATH_ANNOTATION, WORKING_DIRECTORY_ANNOTATION, RESUME_ANNOTATION, SHARE_ANNOTATION
)  # fmt: skip
"""Annotations of a job that its pods carry too."""


def build_pod(
    job: Job,
    rank: Rank,
    attempt: int,
    port: int | None,
    settings: Settings,
    renewal: int = 0,
    claims: Mapping[str, str] = MappingProxyType({}),
    config_map: str = "",
    *,
    queued: bool = True,
) -> Manifest:
    """The pod of `rank` in `attempt`. `port`: the first port of the job's block, None for the default. `renewal`: which
    pod of the rank in this attempt it is (`Status.renewals`). `claims`: as in `mount_datasets`. `config_map`: the name
    of the attempt's ConfigMap (`find_config_map`), empty for that of a new attempt. `queued`: not of an attempt whose
    other pods were made without the marks of Kueue's group (`jobs.queued.is_left_alone`)."""
    config_map = config_map or config_map_name(job, attempt)
    role = job.role(rank.role)
    assert role is not None, f"{rank} is no rank of {job.key}"
    metadata = _metadata(job, role, rank, attempt, port, settings)
    if queued:
        mark_pod(job, attempt, settings, metadata["labels"], metadata["annotations"])
    if renewal:
        metadata["labels"][RENEWAL_LABEL] = str(renewal)
    if needs_config_map(job):
        metadata["annotations"][CONFIG_MAP_ANNOTATION] = config_map
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": mount_datasets(job, _spec(job, role, rank, attempt, port, settings, config_map), claims),
    }


@dataclass(frozen=True, slots=True)
class RankPod:
    """The `Recipe` of a rank's pod, with the arguments of `build_pod`."""

    job: Job
    rank: Rank
    attempt: int
    port: int | None
    settings: Settings
    renewal: int = 0
    claims: Mapping[str, str] = field(default_factory=dict)
    config_map: str = ""
    queued: bool = True

    @property
    def key(self) -> Key:
        return Key(self.job.key.namespace, pod_name(self.job, self.rank))

    def build(self) -> Manifest:
        return build_pod(
            self.job,
            self.rank,
            self.attempt,
            self.port,
            self.settings,
            self.renewal,
            self.claims,
            self.config_map,
            queued=self.queued,
        )


@dataclass(frozen=True, slots=True)
class RankService:
    """The `Recipe` of a rank's Service."""

    job: Job
    rank: Rank

    @property
    def key(self) -> Key:
        return Key(self.job.key.namespace, host_name(self.job, self.rank))

    def build(self) -> Manifest:
        return build_service(self.job, self.rank)


def output_directory(job: Job, settings: Settings) -> str | None:
    """The job's output directory on the node, which all its attempts share; None on a cluster, which has volumes."""
    if settings.output_root is None:
        return None
    return f"{settings.output_root.rstrip('/')}/{job.key.namespace}/{output_name(job.key.name, job.uid)}"


def working_directory(job: Job, settings: Settings) -> str | None:
    """The directory in which the job's programs start, on a laptop; None if the job names none."""
    path = job.annotations.get(WORKING_DIRECTORY_ANNOTATION, "").rstrip("/")
    return path if settings.output_root is not None and path.startswith("/") else None


_NOT_OF_TEMPLATES = (
    SPARE_LABEL, RENEWAL_LABEL, PORT_ANNOTATION, WOKEN_ANNOTATION, CONFIG_MAP_ANNOTATION, DEFAULT_ANNOTATION,
    HOLD_ANNOTATION, GPUS_ANNOTATION,
)  # fmt: skip
"""Labels and annotations by which an operator reads of a pod what it has decided itself."""


def _metadata(job: Job, role: Role, rank: Rank, attempt: int, port: int | None, settings: Settings) -> Manifest:
    name = pod_name(job, rank)
    template: Mapping[str, Any] = role.template.get("metadata") or {}
    containers = role.template["spec"]["containers"]
    trained = containers[main_container(job, containers)]
    of_group = KINDS[job.resource].build_pod_labels(job, rank)
    labels = {
        **_read_own(template, "labels"),
        **of_group.labels,
        JOB_LABEL: job_label(job.key.name),
        ROLE_LABEL: role.name,
        INDEX_LABEL: str(rank.index),
        ATTEMPT_LABEL: str(attempt),
    }
    annotations = {
        DEFAULT_CONTAINER_ANNOTATION: trained["name"],
        **{key: job.annotations[key] for key in _HANDED_ON if key in job.annotations},
        **_read_own(template, "annotations"),
        **of_group.annotations,
        SIZE_ANNOTATION: write_size(job),
    }
    if settings.environments and (default := FRAMEWORKS[job.framework].find_default_environment(job)):
        annotations[DEFAULT_ANNOTATION] = write_default(trained["name"], default)
    if substitute(job, trained, settings)[1] is not None:
        annotations[SUBSTITUTED_ANNOTATION] = write_original(trained)
    # Where the node keeps files: on a cluster no kubelet does.
    if settings.output_root is not None and job.hold is not None:
        annotations[HOLD_ANNOTATION] = f"{job.hold}s"
    if port is not None:
        annotations[PORT_ANNOTATION] = str(port)
    if find_pod_groups(job, settings) == POD_GROUPS:
        labels[POD_GROUP_LABEL] = pod_group_name(job, POD_GROUPS)
    elif is_of_volcano(job, settings):
        annotations |= _volcano_annotations(job, role)
    return {
        "name": name,
        "namespace": job.key.namespace,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [owner_reference(job.owner())],
    }


def _read_own(template: Mapping[str, Any], field: str) -> dict[str, Any]:
    """The labels or annotations of a template's metadata that its pods get."""
    return {key: text for key, text in (template.get(field) or {}).items() if key not in _NOT_OF_TEMPLATES}


def _spec(
    job: Job, role: Role, rank: Rank, attempt: int, port: int | None, settings: Settings, config_map: str
) -> Manifest:
    spec: Manifest = dict(role.template["spec"])
    name = host_name(job, rank)
    spec["hostname"] = spec.get("hostname") or name
    spec["subdomain"] = spec.get("subdomain") or name
    if job.network.intranet is Intranet.HOST:
        spec["hostNetwork"] = True
        spec["dnsPolicy"] = spec.get("dnsPolicy") or "ClusterFirstWithHostNet"
    if scheduler := find_scheduler(job, settings):
        spec["schedulerName"] = spec.get("schedulerName") or scheduler
    if find_pod_groups(job, settings) == KUBERNETES_POD_GROUPS:
        spec["schedulingGroup"] = {"podGroupName": pod_group_name(job, KUBERNETES_POD_GROUPS)}
        # kube-scheduler places no gang of which one pod has another priority than its PodGroup.
        if name := spec.get("priorityClassName") or find_priority_class(job):
            spec["priorityClassName"] = name
    spec["restartPolicy"] = "Never"
    containers = list(spec["containers"])
    main = main_container(job, containers)
    container, _ = substitute(job, containers[main], settings)
    directory, work = output_directory(job, settings), working_directory(job, settings)
    if is_substituting(job, settings):
        container = _with_variables(container, FRAMEWORKS[job.framework].build_substituting(job))
    if settings.shares_network(job):
        container = _with_variables(container, FRAMEWORKS[job.framework].build_free_ports())
    claim = find_claim(job, settings)
    containers[main] = _trained(job, rank, attempt, port, directory, container, config_map, claim)
    if directory is not None:
        _add_volume(spec, OUTPUT_VOLUME, directory, "DirectoryOrCreate")
    if directory is not None and work is not None and not container.get("workingDir"):
        _add_volume(spec, WORKING_DIRECTORY_VOLUME, work, "Directory")
        containers[main] = _started_in(work, job, f"{directory}/log/{rank}", containers[main])
    spec["containers"] = containers
    return mount_outputs(job, wait_for_servers(job, rank, spec, main, config_map, directory), main, claim)


def _add_volume(spec: Manifest, name: str, path: str, kind: str) -> None:
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "hostPath": {"path": path, "type": kind}}]


def _started_in(work: str, job: Job, logs: str, container: Manifest) -> Manifest:
    """The container with `work` as its working directory, mounted at the same path, as programs print paths. All ranks
    share it, so each rank gets its own directory of logs, unless the template sets one."""
    mount = {"name": WORKING_DIRECTORY_VOLUME, "mountPath": work}
    mounts = [*(container.get("volumeMounts") or ()), mount]
    logged = _with_variables(container, FRAMEWORKS[job.framework].build_log_environment(logs))
    return {**logged, "workingDir": work, "volumeMounts": mounts}


def _with_variables(container: Mapping[str, Any], variables: Sequence[EnvVar]) -> Manifest:
    """The container with those variables that it does not set itself."""
    env = list(container.get("env") or ())
    said = {entry["name"] for entry in env}
    more = [entry for entry in variables if entry["name"] not in said]
    return {**container, "env": [*env, *more]} if more else dict(container)


def _trained(
    job: Job,
    rank: Rank,
    attempt: int,
    port: int | None,
    directory: str | None,
    container: Mapping[str, Any],
    config_map: str,
    claim: str,
) -> Manifest:
    """The container that trains, with its rank's environment."""
    framework = FRAMEWORKS[job.framework]
    result: Manifest = dict(container)
    ours = [*framework.build_environment(job, rank, port), {"name": ATTEMPT, "value": str(attempt)}]
    said = {entry["name"] for entry in container.get("env") or ()}
    # Python holds lines back otherwise, and a job would be silent that prints.
    if job.silence is not None and UNBUFFERED not in said.union(entry["name"] for entry in ours):
        ours.append({"name": UNBUFFERED, "value": "1"})
    for name, key in framework.build_references(job, rank).items():
        reference = {"name": config_map, "key": key}
        ours.append({"name": name, "valueFrom": {"configMapKeyRef": reference}})
    if directory is not None:
        places = {
            OUTPUTS: directory,
            CHECKPOINTS: f"{directory}/checkpoint",
            METRICS: f"{directory}/{METRICS_DIRECTORY}/{metrics_file(str(rank), attempt)}",
        }
        ours += [{"name": name, "value": place} for name, place in places.items() if name not in said]
        ours += [each for each in build_gloo(job, directory, attempt) if each["name"] not in said]
        mount = {"name": OUTPUT_VOLUME, "mountPath": directory}
        result["volumeMounts"] = [*(result.get("volumeMounts") or ()), mount]
    if claim:
        ours += build_variables(said)
    result["env"] = merge_variables(job, rank, result.get("env") or (), ours)
    if needs_config_map(job):
        source = {"configMapRef": {"name": config_map}}
        result["envFrom"] = [*(result.get("envFrom") or ()), source]
    if ports := framework.build_ports(job, rank, port):
        result["ports"] = _with_ports(result.get("ports") or (), ports)
    # The kubelet then reports the end of a failed program's log, from which the cause takes its error.
    result.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    return result


def _with_ports(ports: Sequence[Manifest], ours: Sequence[Manifest]) -> list[Manifest]:
    """The user's ports, and those of `ours` whose number and name are not used."""
    taken = {entry.get(key) for entry in ports for key in ("containerPort", "name")} - {None}
    return [*ports, *(entry for entry in ours if taken.isdisjoint(entry.values()))]


def _volcano_annotations(job: Job, role: Role) -> dict[str, str]:
    annotations = {
        "scheduling.k8s.io/group-name": job.key.name,
        "volcano.sh/job-name": job.key.name,
        "volcano.sh/task-spec": role.name,
        "volcano.sh/job-version": "0",
    }
    if job.scheduling.queue:
        annotations["volcano.sh/queue-name"] = job.scheduling.queue
    return annotations


# The size of a gang as text, on its pods: `ps=1,worker=2`. Each rank was started with the number of its peers, so the
# pods themselves tell of which gang they are, whatever is edited, and whatever becomes of the record.


_ROLE = re.compile(r"([A-Za-z][A-Za-z0-9-]*)=([0-9]{1,5})")


def write_size(job: Job) -> str:
    """`job`: as its gang has it (`policies.fitting`)."""
    return ",".join(f"{role.name}={role.replicas}" for role in sorted(job.roles, key=lambda role: role.name))


def find_size(pods: Iterable[Pod]) -> Mapping[str, int]:
    """What these pods say; empty where they say nothing, or several things, as those of a group that was resized within
    its attempt (`jobs.rejoining`)."""
    sizes = find_sizes(pods)
    return sizes[0] if len(sizes) == 1 else {}


def find_sizes(pods: Iterable[Pod]) -> Sequence[Mapping[str, int]]:
    """Each size that these pods say, once: by role, without roles that have no ranks. Spare pods say none."""
    told = sorted({pod.size for pod in pods if not pod.spare})
    sizes = filter(None, map(_read_size, told))
    return list({tuple(sorted(each.items())): each for each in sizes}.values())


def _read_size(told: str) -> Mapping[str, int]:
    """Empty where it is no size."""
    found = [_ROLE.fullmatch(each) for each in told.split(",")]
    return {role[1]: size for role in found if role is not None and (size := int(role[2]))} if all(found) else {}
