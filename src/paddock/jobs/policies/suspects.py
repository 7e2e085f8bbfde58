"""Nodes on which attempts of this job have failed: the next attempts are placed elsewhere for a while, where they can.

A node is noted where the rank that failed first ran on it (`policies.root_cause`), and says either of these:

- a signature of the machine: the node was lost, the kubelet could not give the pod its devices, the driver or a GPU
  reported a fault (Xid, ECC), CUDA could not be initialized. Once is enough. Words of a program count only where its
  role asks for devices: on a node without a GPU they are the job's own fault.
- nothing that the program chose: a signal, an eviction, an end without an exception. Twice on one node is enough. What
  an exception says is the program's, on whatever node, and so is the memory that a program uses. What an init container
  ends with is about what it prepares, such as the claim for outputs.

Such a node is a suspect for `AVOID_SECONDS`. The pods of the next attempts get a node affinity that leaves it out, in
addition to what their template asks for. It is a wish of this job alone: nothing is written on the node.

It never keeps a job from training. A pod that waits for a node for `WAIT_SECONDS` while suspects are avoided has the
scheduler's word against it: then the oldest suspicion ends, and a new attempt begins without it. So it does where a
suspicion has run out meanwhile, as the affinity of a pod does not change. A role whose template names its node avoids
none. The only node of a laptop is never a suspect (`Settings.avoids_nodes`). docs/decisions/0084. PURE.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.jobs import causes
from paddock.jobs.labels import AVOID_ANNOTATION
from paddock.jobs.model import Job, Pod, PodPhase, Rank, Role, Settings, Status, Suspect
from paddock.jobs.policies.root_cause import Death, Kind, find_root_cause
from paddock.jobs.policies.verdict import Verdict, plan_new_gang
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment

AVOID_SECONDS = 3600.0
"""How long a node is avoided since its last failure."""
WAIT_SECONDS = 120.0
"""For which a pod waits for another node before a suspect is let go."""
MOST = 16
"""Nodes that are noted: of more the ones whose failure is oldest are forgotten. The affinity of each pod has them."""
MOST_ATTEMPTS = 5
"""Of a node, the last."""

EVENT = "NodeAvoided"
"""The reason of the event that a node is avoided from now on."""
LOST, ALLOCATION, FAULT, MEMORY, DEVICE, FIRST = (
    "NodeLost",
    "DevicesNotAllocated",
    "DeviceFault",
    "DeviceMemory",
    "DeviceInitialization",
    "FailedFirst",
)
"""Reasons of a `Suspect`; `jobs.sentences.suspect_phrases` says them."""

_OF_KUBELET: Mapping[str, str] = {
    "NodeLost": LOST,
    "DeletionByTaintManager": LOST,
    "DeletionByPodGC": LOST,
    "UnexpectedAdmissionError": ALLOCATION,
}
"""Reasons of `root_cause.FREE` that are the node's; a drain or a preemption is somebody's decision."""

_SIGNATURES: Sequence[tuple[str, bool, re.Pattern[str]]] = (
    (MEMORY, True, re.compile(r"[Uu]ncorrectable (?:NVLink|ECC)|cudaErrorECCUncorrectable")),
    (FAULT, True, re.compile(r"\bXid\b|fallen off the bus|GPU is lost|device handle for GPU")),
    (
        DEVICE,
        True,
        re.compile(
            r"CUDA unknown error|CUDA driver initialization failed|system not yet initialized|nvidia-container-cli"
            r"|Failed to initialize NVML"
        ),
    ),
    # A program brings these on itself by CUDA_VISIBLE_DEVICES, or by a fork after CUDA has begun.
    (
        DEVICE,
        False,
        re.compile(
            r"no CUDA-capable device|No CUDA GPUs are available|CUDA-capable device\(s\) is/are busy or unavailable"
            r"|CUDA error(?::|\(3\),) initialization error"
        ),
    ),
)
"""In the last words of a program, or of a kubelet that could not start it, and whether once is enough. Source: texts of
CUDA's runtime (driver_types.h), of torch (c10/cuda/CUDAFunctions.cpp) and PaddlePaddle, which repeat them, NVIDIA's
Xid errors, libnvidia-container."""
_LONGEST = 4096
"""Characters of such words that are read: the kubelet keeps as many (types.go, TerminationMessagePath)."""
_MOST_READ = 16
"""Of ranks that failed first in the same second."""

HOSTNAME = "kubernetes.io/hostname"
_NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is to be done about pods that wait while suspects are avoided."""

    verdict: Verdict | None = None
    left: float | None = None
    """Seconds until that may change; None where no pod waits so."""


def avoids(job: Job, settings: Settings) -> bool:
    return settings.avoids_nodes and job.annotations.get(AVOID_ANNOTATION) != "false"


def note(
    job: Job, status: Status, deaths: Collection[Death], gang: Iterable[Pod], now: Moment, settings: Settings
) -> Mapping[str, Suspect]:
    """What is recorded of nodes with the end of this gang. `gang`: its pods, by which the ranks have nodes."""
    if not avoids(job, settings):
        return {}
    first = find_root_cause(deaths)[:_MOST_READ]
    ranks = {death.rank for death in first}
    nodes = {pod.rank: pod.node for pod in gang if pod.node and pod.rank in ranks}
    noted = {name: each for name, each in status.suspects.items() if each.until is None or each.until > now}
    for node, (reason, enough) in _accuse(job, first, nodes).items():
        before = noted[node].attempts if node in noted else ()
        attempts = tuple(dict.fromkeys((*before, status.attempt)))[-MOST_ATTEMPTS:]
        # A rank that starts again alone fails twice in one attempt.
        is_suspect = enough or bool(before)
        noted[node] = Suspect(reason, attempts, float(int(now + AVOID_SECONDS)) if is_suspect else None)
    kept = sorted(noted, key=lambda name: (noted[name].attempts[-1:], name))[-MOST:]
    return {name: noted[name] for name in sorted(kept)}


def _accuse(job: Job, first: Sequence[Death], nodes: Mapping[Rank, str]) -> dict[str, tuple[str, bool]]:
    """The nodes of those that failed first: for what, and whether once is enough."""
    found = [(nodes.get(death.rank, ""), _read_signature(job, death)) for death in first]
    told = {node: signature for node, signature in found if node and signature is not None}
    where = {node for node, _ in found}
    if told or len(where) != 1 or "" in where or not all(map(_is_unexplained, first)):
        return told
    return {where.pop(): (FIRST, False)}


def _read_signature(job: Job, death: Death) -> tuple[str, bool] | None:
    """None where the end says nothing of the machine."""
    if death.kind is Kind.LOST:
        return (_OF_KUBELET[death.why], True) if death.why in _OF_KUBELET else None
    role = job.role(death.rank.role)
    if role is None or not _asks_for_devices(role):
        return None
    words = (death.message or death.log)[-_LONGEST:]
    return next(((reason, enough) for reason, enough, pattern in _SIGNATURES if pattern.search(words)), None)


def _is_unexplained(death: Death) -> bool:
    if death.kind in (Kind.SIGNAL, Kind.EVICTED):
        return True
    if death.initial:  # a claim that is full or may not be written, a download that fails: so it is on each node
        return False
    return death.kind is Kind.ERROR and not death.server and not death.kubelet and not death.ending.error


def _asks_for_devices(role: Role) -> bool:
    """Whether a container of the role asks for an extended resource of some vendor: `nvidia.com/gpu`."""
    for container in role.template["spec"].get("containers") or ():
        resources = container.get("resources") or {}
        asked = (*(resources.get("limits") or ()), *(resources.get("requests") or ()))
        if any("/" in name for name in asked):
            return True
    return False


def list_avoided(job: Job, status: Status, now: Moment, settings: Settings) -> tuple[str, ...]:
    """The nodes that pods which are made now avoid."""
    if not status.suspects or not avoids(job, settings):
        return ()
    return tuple(name for name, each in status.suspects.items() if _is_avoided(each, now))


def _is_avoided(suspect: Suspect, now: Moment) -> bool:
    # A time that lies further ahead is that of a clock which has been set back since.
    return suspect.until is not None and now < suspect.until <= now + 2 * AVOID_SECONDS


def keep_away(job: Job, nodes: Collection[str]) -> Job:
    """The job whose pods are placed on none of these nodes, but for roles that name theirs."""
    if not nodes:
        return job
    return replace(job, roles=tuple(_keep_away(role, nodes) for role in job.roles))


def _keep_away(role: Role, nodes: Collection[str]) -> Role:
    spec = role.template["spec"]
    if _names_its_node(spec):
        return role
    return replace(role, template={**role.template, "spec": with_affinity(spec, nodes)})


def _names_its_node(spec: Mapping[str, Any]) -> bool:
    terms = _list_terms(spec)
    wanted = [
        each
        for term in terms
        for each in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))
        if each.get("key") in (HOSTNAME, _NAME_FIELD) and each.get("operator") == "In"
    ]
    return bool(spec.get("nodeName")) or HOSTNAME in (spec.get("nodeSelector") or {}) or bool(wanted)


def with_affinity(spec: Mapping[str, Any], nodes: Collection[str]) -> Manifest:
    """The spec of a pod that is placed on none of these nodes, and else as it says itself. They are named by
    `metadata.name`: a label may say another name than the node has. Such a requirement has one name (Kubernetes,
    ValidateNodeFieldSelectorRequirement). Terms are alternatives, so each gets them; one that asks for nothing matches
    no node, and stays so."""
    ours = [{"key": _NAME_FIELD, "operator": "NotIn", "values": [name]} for name in sorted(nodes)]
    terms = [
        {**term, "matchFields": [*(term.get("matchFields") or ()), *ours]}
        if term.get("matchExpressions") or term.get("matchFields")
        else term
        for term in _list_terms(spec)
    ]
    affinity = spec.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    required = {**(of_nodes.get(_REQUIRED) or {}), "nodeSelectorTerms": terms or [{"matchFields": ours}]}
    return {**spec, "affinity": {**affinity, "nodeAffinity": {**of_nodes, _REQUIRED: required}}}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _list_terms(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    of_nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return [each or {} for each in (of_nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()]


def plan_waiting(job: Job, status: Status, gang: Sequence[Pod], now: Moment, settings: Settings) -> Waiting:
    """Whether a suspect is let go for pods that find no node without it."""
    if not any(each.until is not None for each in status.suspects.values()) or not avoids(job, settings):
        return Waiting()
    stuck = [pod for pod in gang if _is_unplaced(pod)]
    late = [pod for pod in stuck if now - (pod.created or now) >= WAIT_SECONDS]
    avoided = _list_avoided_by(stuck, status)
    over = {name for name in _list_avoided_by(late, status) if not _is_avoided(status.suspects[name], now)}
    if not over and avoided and any(map(_is_blamed, late)):
        over = {min(avoided, key=lambda name: (avoided[name], name))}
    if over:
        kept = {name: each for name, each in status.suspects.items() if name not in over}
        again = plan_new_gang(causes.NodesNotAvoided(tuple(sorted(over))), status.attempt)
        return Waiting(replace(again, suspects=kept))
    moments = [(pod.created or now) + WAIT_SECONDS for pod in stuck] if avoided else []
    return Waiting(left=min((each - now for each in (*moments, *avoided.values()) if each > now), default=None))


def _is_unplaced(pod: Pod) -> bool:
    """Whether a scheduler has found no node for it. One that Kueue holds back has not been looked at."""
    if pod.node or pod.deleting or pod.phase is not PodPhase.PENDING or pod.waiting is None:
        return False
    return pod.waiting[0] == "Unschedulable"


def _list_avoided_by(pods: Collection[Pod], status: Status) -> dict[str, Moment]:
    """The suspects that some of these pods were made to avoid, and until when."""
    first = min((pod.created or 0.0 for pod in pods), default=None)
    until = {name: each.until for name, each in status.suspects.items() if each.until is not None}
    return {} if first is None else {name: moment for name, moment in until.items() if first < moment}


def _is_blamed(pod: Pod) -> bool:
    """Whether the scheduler says that a node does not fit for what the pod says of nodes: `1 node(s) didn't match Pod's
    node affinity/selector` (kube-scheduler, also in the words of Volcano; before 1.21 `node selector`)."""
    said = pod.waiting[1] if pod.waiting is not None else ""
    return "affinity" in said or "node selector" in said
