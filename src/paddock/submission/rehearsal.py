"""A job's manifest -> the manifest of its rehearsal: the same ranks as processes of one laptop, for two steps. Pure.

What makes a job's ranks find each other stays as it is: roles, environment, ports, launcher, its options. What a laptop
cannot have is taken out (devices and other requests, places, queues) or replaced (`submission.rehearsed_pods`: volumes,
Secrets), and each of it is told, as what was taken out was not rehearsed. The first failure ends the job, a deadline
ends one that nobody follows any more, and it has another name, so that it replaces nothing.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.labels import (
    ELASTIC_ANNOTATION,
    KUEUE_ANNOTATION,
    RESTART_SCOPE_ANNOTATION,
    RESUME_ANNOTATION,
    SILENT_ANNOTATION,
)
from paddock.jobs.model import Job
from paddock.jobs.program_ranks import count_processes
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.gpu_shares import SHARE_ANNOTATION
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.kube.meta import CONFIG_MAPS, ENVIRONMENTS, SECRETS, Manifest, annotations_of
from paddock.launches.containers import find_launch
from paddock.launches.launch import Launch
from paddock.launches.launchers import PADDLE, TORCHRUN, Means
from paddock.submission.documents import Checked
from paddock.submission.rehearsed_pods import Draft, Here, Replaced, name_brought, name_rehearsal, rewrite_pod
from paddock.views.clones import build_clone

VARIABLE = "PADDOCK_REHEARSAL"
"""Set in each container of a rehearsal: the number of steps that are wanted, so that a program may shorten itself."""
KEPT_SECONDS = 600
"""How long a rehearsal stays that nobody follows any more, beyond its own time."""
_SENT = (CONFIG_MAPS, SECRETS, ENVIRONMENTS)
_QUEUES = ("kueue.x-k8s.io/", "scheduling.volcano.sh/", "volcano.sh/", "scheduling.k8s.io/", "scheduling.x-k8s.io/")
"""What labels and annotations of queues and gang schedulers begin with."""
_ANNOTATIONS = (ELASTIC_ANNOTATION, HOLD_ANNOTATION, KUEUE_ANNOTATION, RESTART_SCOPE_ANNOTATION,
                RESUME_ANNOTATION, SHARE_ANNOTATION, SILENT_ANNOTATION)  # fmt: skip
_POLICIES = ("backoffLimit", "cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "schedulingPolicy",
             "managedBy")  # fmt: skip
_SPEC = ("elastic", "schedulingPolicy", "cleanPolicy")
_SILENT = frozenset(
    {"backoffLimit", "cleanPodPolicy", "cleanPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds"}
)
"""They say what becomes of a job that ends; of a rehearsal nothing stays, and its first failure ends it."""
_NEVER, _AT_ONCE = re.compile(r"(?!)"), re.compile("")
_OF_PADDLE = frozenset({"PADDLE_NPROC_PER_NODE", "PADDLE_DEVICES"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed."""

    steps: int
    seconds: float
    """How long the ranks may run."""
    workers: int | None = None
    """At most so many; None for those of the manifest."""
    named: Collection[str] = ()
    """Volumes or their sources (`imagenet`, the name of a claim) that are replaced though they are there."""
    namespace: str = "default"
    """Where it runs if the namespace of the manifest is not here."""
    directory: str = "/tmp/rehearsal"  # noqa: S108 - the caller's own directory, below which nothing is made here
    """The absolute path below which each replaced volume has a directory."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is submitted, and how it differs from what was written."""

    documents: tuple[Checked, ...]
    """With exactly one job."""
    left_out: tuple[str, ...] = ()
    """`PodGroup resnet`: documents of the file that are not sent."""
    kept: tuple[str, ...] = ()
    """The names of the file's Environments of which one is here, which is used as it is."""
    resources: Mapping[str, Fraction] = field(default_factory=dict)
    """What all pods of the manifest ask for together, none of which is asked for."""
    taken_out: tuple[str, ...] = ()
    """The names of fields, labels and annotations: `nodeSelector`."""
    replaced: tuple[Replaced, ...] = ()
    missing: tuple[str, ...] = ()
    """`Secret wandb`: what containers read and is not here, so that they do without."""
    images: tuple[str, ...] = ()
    workers: tuple[int, int] | None = None
    """Those of the manifest, and those that are started, where these are fewer."""
    processes: tuple[str, int] | None = None
    """By which option or variable a pod is told to start so many processes, those that it would start on devices."""

    @property
    def job(self) -> Checked:
        return next(each for each in self.documents if each.is_job)

    @property
    def devices(self) -> Mapping[str, Fraction]:
        """Extended resources: `nvidia.com/gpu`."""
        return {name: amount for name, amount in self.resources.items() if "/" in name}


def plan_rehearsal(documents: Sequence[Checked], asked: Asked, here: Here) -> Rehearsal:
    """The rehearsal of the one job of `documents`, which has no errors. Nothing of the arguments is changed."""
    each = next(each for each in documents if each.is_job)
    job = each.job
    assert job is not None
    brought = {(other.resource.kind, other.key.name) for other in documents if other.resource in (CONFIG_MAPS, SECRETS)}
    draft = Draft(here, frozenset(brought), asked.named, asked.directory, _read_name(each.manifest))
    manifest, workers, processes = _rewrite(each.manifest, job, asked, draft)
    sent, left_out, kept = list[Checked](), list[str](), list[str]()
    namespace = each.key.namespace
    if namespace not in here.namespaces and namespace != asked.namespace:
        draft.take_out(f"namespace {namespace}")
        namespace = asked.namespace
    for other in documents:
        if other is each:
            sent.append(each.with_manifest(_place(manifest, namespace)))
        elif other.resource == ENVIRONMENTS and other.key.name in here.environments:
            kept.append(other.key.name)
        elif other.resource in _SENT:
            sent.append(_rename(other, namespace, draft.name))
        else:
            left_out.append(f"{other.resource.kind} {other.key.name}".strip())
    return Rehearsal(
        tuple(sent), tuple(left_out), tuple(kept), dict(draft.resources), tuple(draft.taken_out),
        tuple(draft.replaced.values()), tuple(draft.missing), tuple(draft.images), workers, processes,
    )  # fmt: skip


def _read_name(manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "")


def _place(manifest: Manifest, namespace: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _rename(each: Checked, namespace: str, job: str) -> Checked:
    """A ConfigMap or Secret with another name, as one of this name may be here and have other values."""
    if each.resource not in (CONFIG_MAPS, SECRETS):
        return each
    metadata = {**each.manifest["metadata"], "name": name_brought(each.key.name, job)}
    return each.with_manifest(_place({**each.manifest, "metadata": metadata}, namespace))


def _rewrite(
    original: Manifest, job: Job, asked: Asked, draft: Draft
) -> tuple[Manifest, tuple[int, int] | None, tuple[str, int] | None]:
    manifest = copy.deepcopy(build_clone(original, name_rehearsal(draft.name)))
    manifest["metadata"].pop("generateName", None)
    _clean_metadata(manifest["metadata"], draft)
    spec = manifest["spec"]
    for name in _SPEC:
        if spec.pop(name, None) is not None and name not in _SILENT:
            draft.take_out(name)
    roles = list(find_roles(spec))
    for _, role in roles:
        draft.count(role)
    processes = _tell_processes(spec, job, dict(roles))
    workers = _reduce(spec, job, roles, asked.workers)
    _set_policies(spec, asked, draft, is_batch="worker" in spec)
    for _, role in roles:
        for container in role["template"]["spec"]["containers"]:
            if rewrite_option(container, "max[-_]restarts", "[0-9]+", "0"):
                draft.take_out("--max_restarts")
        _rewrite_role(role, draft, VARIABLE, str(asked.steps), beside="restartPolicy" in role or "worker" not in spec)
    _replace_datasets(manifest, job, [role for _, role in roles], draft)
    return manifest, workers, processes


def find_roles(spec: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The roles of a spec in either shape: `worker` beside `ps`, or `Worker` below `pytorchReplicaSpecs`. With their
    names as a `Job` has them."""
    for name, value in spec.items():
        if not isinstance(value, dict):
            continue
        if "template" in value:
            yield name.lower(), value
        elif name.endswith("ReplicaSpecs"):
            yield from ((key.lower(), role) for key, role in value.items() if isinstance(role, dict))


def _clean_metadata(metadata: dict[str, Any], draft: Draft) -> None:
    """Takes queues, and what says when and how often a job starts anew, out of labels and annotations."""
    for kind in ("labels", "annotations"):
        for name in list(metadata.get(kind) or ()):
            if name in _ANNOTATIONS or name.startswith(_QUEUES):
                del metadata[kind][name]
                draft.take_out(name)
        if metadata.get(kind) == {}:
            del metadata[kind]


def _rewrite_role(role: dict[str, Any], draft: Draft, variable: str, steps: str, *, beside: bool) -> None:
    """`beside`: the policy of restarts stands beside the template, as in Kubeflow's kinds."""
    template = role["template"]
    if isinstance(template.get("metadata"), dict):
        _clean_metadata(template["metadata"], draft)
    rewrite_pod(template["spec"], draft, variable, steps)
    template["spec"].pop("restartPolicy", None)
    (role if beside else template["spec"])["restartPolicy"] = "Never"
    for name in ("requests", "limits"):  # paddle-operator's sizes of an elastic role
        if role.pop(name, None) is not None:
            draft.take_out(name)


def _set_policies(spec: dict[str, Any], asked: Asked, draft: Draft, *, is_batch: bool) -> None:
    policy = dict(spec.get("runPolicy") or {})
    for name in _POLICIES:
        if policy.pop(name, None) is not None and name not in _SILENT:
            draft.take_out(name)
    policy |= {"backoffLimit": 0, "activeDeadlineSeconds": int(asked.seconds) + KEPT_SECONDS,
               "ttlSecondsAfterFinished": KEPT_SECONDS}  # fmt: skip
    if is_batch:
        spec["cleanPodPolicy"] = "Never"
    else:
        policy["cleanPodPolicy"] = "None"
    spec["runPolicy"] = policy
    if isinstance(elastic := spec.get("elasticPolicy"), dict):
        if elastic.pop("metrics", None) is not None:
            draft.take_out("elasticPolicy.metrics")
        elastic["maxRestarts"] = 0


def _reduce(
    spec: dict[str, Any], job: Job, roles: Sequence[tuple[str, dict[str, Any]]], most: int | None
) -> tuple[int, int] | None:
    """At most so many workers; what counts them follows."""
    worker, before = dict(roles).get("worker"), job.role("worker")
    if worker is None or before is None or most is None or before.replicas <= most:
        return None
    worker["replicas"] = most
    if isinstance(elastic := spec.get("elasticPolicy"), dict):
        for name in ("minReplicas", "maxReplicas"):
            if isinstance(elastic.get(name), int):
                elastic[name] = min(elastic[name], most)
    trains = sum(role.replicas for role in job.roles if role.trains)
    for _, role in roles:
        for container in role["template"]["spec"]["containers"]:
            rewrite_option(container, "nnodes", str(trains), str(trains - before.replicas + most))
    return before.replicas, most


def _tell_processes(spec: dict[str, Any], job: Job, roles: Mapping[str, dict[str, Any]]) -> tuple[str, int] | None:
    """A launcher that counts its devices is told how many processes it would start, as here it finds none."""
    told = None
    for role in job.roles:
        holder = roles.get(role.name)
        count = count_processes(job, role) if holder is not None and role.trains else None
        if holder is None or not count or count < 2:
            continue
        containers = holder["template"]["spec"]["containers"]
        container = containers[main_container(job, containers)]
        launch = find_launch(container)
        if launch is None:
            continue
        said, variables = launch.text(Means.PROCESSES), {entry.get("name") for entry in container.get("env") or ()}
        if said in ("auto", "gpu"):
            rewrite_option(container, "nproc[-_]per[-_]node", str(said), str(count))
            told = ("--nproc_per_node", count)
        elif (
            said == ""
            and launch.launcher is TORCHRUN
            and _counts_devices(spec)
            and "PET_NPROC_PER_NODE" not in variables
        ):
            spec["nprocPerNode"], told = str(count), ("nprocPerNode", count)
        elif said == "" and launch.launcher is PADDLE and launch.text(Means.DEVICES):
            _count_labels(container, launch, count)
            told = ("--nproc_per_node", count)
        elif said == "" and launch.launcher is PADDLE and _sees_devices(launch) and variables.isdisjoint(_OF_PADDLE):
            container.setdefault("env", []).append({"name": "PADDLE_NPROC_PER_NODE", "value": str(count)})
            told = ("PADDLE_NPROC_PER_NODE", count)
    return told


def _counts_devices(spec: Mapping[str, Any]) -> bool:
    """Whether a PyTorchJob leaves it to torchrun how many processes a pod starts."""
    said_elsewhere = (spec.get("elasticPolicy") or {}).get("nProcPerNode")
    return spec.get("nprocPerNode") in (None, "auto", "gpu") and not said_elsewhere


def _sees_devices(launch: Launch) -> bool:
    """Whether PaddlePaddle's launcher starts a process for each device that it sees."""
    return launch.text(Means.DEVICES) == ""


def _count_labels(container: dict[str, Any], launch: Launch, count: int) -> None:
    """`--devices 0,1` is `--nproc_per_node 2`: the launcher starts nothing on devices that are not there."""
    labels = launch.text(Means.DEVICES) or ""
    pattern = re.compile(rf"--(?:devices|gpus|npus|xpus)(=|[ ]+){re.escape(labels)}(?![\w,])")
    for words in (container[key] for key in ("command", "args") if isinstance(container.get(key), list)):
        for place, word in enumerate(words):
            if place and word == labels and words[place - 1] in ("--devices", "--gpus", "--npus", "--xpus"):
                words[place - 1 : place + 1] = ["--nproc_per_node", str(count)]
            elif isinstance(word, str):
                words[place] = pattern.sub(rf"--nproc_per_node\g<1>{count}", word)


def rewrite_option(container: dict[str, Any], option: str, old: str, new: str) -> bool:
    """An option of a launcher with another value, in words or in the text of a shell; whether there is one. `option`,
    without its dashes, and `old` are patterns. What stands behind the program is the program's own."""
    joined, value = re.compile(rf"(--?{option}(?:=|[ ]+)){old}(?![\w.:])"), re.compile(old)
    alone, end = re.compile(rf"--?{option}"), _find_end(container)
    changed = False
    for words in (container[key] for key in ("command", "args") if isinstance(container.get(key), list)):
        for place, word in enumerate(words):
            if not isinstance(word, str):
                continue
            found = end.search(word)
            before = word[: found.start()] if found else word
            if place and value.fullmatch(word) and alone.fullmatch(str(words[place - 1])):
                rewritten = new
            else:
                rewritten = joined.sub(rf"\g<1>{new}", before) + word[len(before) :]
            changed = changed or rewritten != word
            words[place] = rewritten
            if found:
                return changed
    return changed


def _find_end(container: Mapping[str, Any]) -> re.Pattern[str]:
    """The program of a container in its words, behind which a launcher reads nothing. Nothing matches where it is not
    known; without a launcher the first word does."""
    launch = find_launch(container)
    if launch is None or launch.starts:
        return _NEVER
    if launch.launcher is None:
        return _AT_ONCE
    program = launch.program.word.text
    return re.compile(rf"""(?<![^\s'"]){re.escape(program)}(?![^\s'";])""") if program else _NEVER


def _replace_datasets(manifest: Manifest, job: Job, roles: Sequence[dict[str, Any]], draft: Draft) -> None:
    """A Dataset that is not here, or that --data names, is a directory at its path."""
    away = [mount for mount in job.mounts if mount.dataset in draft.named or draft.is_away("Dataset", mount.dataset)]
    if not away:
        return
    for mount in away:
        path = draft.replace(mount.dataset, f"Dataset {mount.dataset}", mount.path)
        for role in roles:
            draft.mount(role["template"]["spec"], f"rehearsal-{mount.dataset}", path, mount.path)
    left = [f"{mount.dataset}:{mount.path}" for mount in job.mounts if mount not in away]
    annotations = {**annotations_of(manifest), MOUNTS_ANNOTATION: ", ".join(left)}
    if not left:
        del annotations[MOUNTS_ANNOTATION]
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    manifest["metadata"] = {**metadata, "annotations": annotations} if annotations else metadata


def count_all_processes(job: Job) -> int:
    """The processes that train or serve, as far as it is known how many a pod starts; one of a pod else."""
    return sum(role.replicas * ((count_processes(job, role) or 1) if role.trains else 1) for role in job.roles)
