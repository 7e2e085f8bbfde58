"""Why the pods of a gang do not all run yet: the first cause of one ranked list that holds, with its numbers.

The scheduler, the kubelet and the embedded cluster put a reason into a pod's status; here the reasons of all pods
become one cause for the job. The causes are in `jobs.causes`; `jobs.plan` decides about other causes of waiting.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from paddock.jobs import causes
from paddock.jobs.causes import Cause
from paddock.jobs.model import CauseRecord, Child, NodeCondition, NodeState, Pod, PodPhase, Refusal
from paddock.kube.meta import VOLCANO_POD_GROUPS
from paddock.kube.quotas import read_exceeded

SCHEDULER = frozenset({"Unschedulable", "SchedulingGated", "SchedulerError"})
_ENVIRONMENT = frozenset({"EnvironmentBuilding"})
_ENVIRONMENT_FAILED = frozenset({"EnvironmentFailed"})
_IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_CONFIGURATION = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
ORDINARY = frozenset({"", "ContainerCreating", "PodInitializing", "Pending"})
_HOLDS_BACK = frozenset({"Pending", "Unknown"})
"""Volcano's phases of a PodGroup that its queue has not admitted, and of one of which some pods have no room."""
PROGRESS = re.compile(r"[,;: ]*\d+(\.\d+)?\s*%.*$", re.DOTALL)


TRIES = (6, 10, 20, 50, 100, 1000)
"""Failed tries that become a cause. The first six take three seconds, ten a minute, then one a minute: a server that is
away for a moment is no cause, and a number that grew at each try would be a write each."""

_REFUSED = tuple(
    each.__name__
    for each in (causes.ObjectsRefused, causes.QuotaExceeded, causes.ObjectsNotCreated, causes.QueueNotInForce)
)
_DIGITS = re.compile(r"\d+")


def plan_refused_cause(refused: Refusal | None, needed: Collection[str]) -> Cause | None:
    """Why objects that are still `needed` do not exist, if the API server has refused or failed to create them."""
    objects = tuple(each for each in refused.objects if each in needed) if refused else ()
    if refused is None or not objects:
        return None
    if not refused.tries:
        return _read_quota(objects, refused.message) or causes.ObjectsRefused(objects, refused.message)
    tries = max((step for step in TRIES if step <= refused.tries), default=0)
    return causes.ObjectsNotCreated(objects, refused.message, tries) if tries else None


def _read_quota(objects: tuple[str, ...], message: str) -> Cause | None:
    found = read_exceeded(message)
    if found is None:
        return None
    names = tuple(found.asked)
    asked, used, hard = (
        tuple(amounts.get(name, "0") for name in names) for amounts in (found.asked, found.used, found.hard)
    )
    return causes.QuotaExceeded(
        objects, found.quota, found.pods, found.fits, names, asked, used, hard, found.never, message
    )


def plan_next_try(objects: Sequence[str], message: str, previous: Refusal | None) -> Refusal:
    """What is remembered of creates that failed again for a reason that may pass. `message`: about the first.

    The cause keeps a message until the server has said another one twice in a row: of a webhook that is down it says
    now that the connection is refused, now that it timed out."""
    if previous is None or not previous.tries:
        return Refusal(tuple(objects), message, 1, message)
    again = _form(message) == _form(previous.last)
    kept = message if again and _form(message) != _form(previous.message) else previous.message
    return Refusal(tuple(objects), kept, previous.tries + 1, message)


def _form(message: str) -> str:
    """The message without its numbers, such as the port of a connection."""
    return _DIGITS.sub("#", message)


def read_recorded_refusal(cause: CauseRecord | None) -> Refusal | None:
    """The refusal behind a recorded cause. An operator that has just started has asked for nothing yet: until it has,
    the cause stays."""
    if cause is None or cause.reason not in _REFUSED:
        return None
    objects, message, tries = cause.args.get("objects"), str(cause.args.get("message") or ""), cause.args.get("tries")
    names = tuple(map(str, objects)) if isinstance(objects, list | tuple) else ()
    return Refusal(names, message, tries if isinstance(tries, int) else 0, message)


def plan_waiting_cause(
    pods: Sequence[Pod],
    wanted: int,
    config_map: str = "",
    *,
    has_config_map: bool = False,
    pod_group: Child | None = None,
    nodes: Mapping[str, NodeCondition] = MappingProxyType({}),
) -> Cause | None:
    """The first cause that holds; None if the gang runs or has run. `pods`: the current attempt's, of `wanted` ranks.

    `config_map`: the name of the attempt's ConfigMap, empty if the job needs none. The order is that of a pod's start:
    created, scheduled, image pulled, address, ConfigMap, started. `nodes`: those that were read, by name.
    """
    waiting = tuple(pod for pod in sorted(pods, key=lambda pod: pod.rank) if pod.waiting and not pod.ended)
    starting = _starting(pods, wanted)
    lacks_config_map = bool(config_map) and not has_config_map and starting is not None
    # The order is that of a pod's way: what follows cannot happen before.
    candidates = (
        _unmade(pods, wanted),
        _unplaced(waiting, pods, wanted, pod_group),
        _silent(pods, nodes),
        _first(waiting, _IMAGE, causes.ImageUnavailable),
        _first(waiting, _ENVIRONMENT_FAILED, causes.EnvironmentFailed),
        _building(waiting, wanted),
        _unaddressed(pods, wanted) if lacks_config_map else None,
        causes.WaitingForConfigMap(config_map) if lacks_config_map else None,
        # A kubelet that has not heard of the attempt's ConfigMap yet complains for a moment, which is no cause.
        _first([pod for pod in waiting if not _misses(pod, config_map)], _CONFIGURATION, causes.ConfigurationWrong),
        _held(waiting),
        starting,
    )
    return next((cause for cause in candidates if cause is not None), None)


def _unmade(pods: Sequence[Pod], wanted: int) -> Cause | None:
    missing = wanted - len({pod.rank for pod in pods if not pod.deleting})
    return causes.WaitingForPods(missing, wanted) if missing > 0 else None


def _unplaced(waiting: Sequence[Pod], pods: Sequence[Pod], wanted: int, group: Child | None) -> Cause | None:
    """A pod's own message says more than its PodGroup's, and a scheduler that holds a whole gang back writes none."""
    refused = _with_reason(waiting, SCHEDULER)
    message = _message(refused)
    return (not message and _held_back(pods, wanted, group)) or (
        causes.WaitingForScheduler(len(refused), wanted, message, _count_placed(pods, refused)) if refused else None
    )


def _count_placed(pods: Sequence[Pod], refused: Sequence[Pod]) -> int:
    unplaced = {pod.uid for pod in refused}
    return sum(bool(pod.node) and not pod.ended and not pod.deleting for pod in pods if pod.uid not in unplaced)


def _held_back(pods: Sequence[Pod], wanted: int, group: Child | None) -> Cause | None:
    unplaced = [pod for pod in pods if not pod.node and not pod.ended and not pod.deleting]
    if group is None or group.deleting or not unplaced:
        return None
    # Of scheduler-plugins' phases, those of each gang that is about to be placed say nothing.
    says = group.message or (group.resource.group == VOLCANO_POD_GROUPS.group and group.phase in _HOLDS_BACK)
    return causes.WaitingForPodGroup(len(unplaced), wanted, group.name, group.phase, group.message) if says else None


def _silent(pods: Sequence[Pod], nodes: Mapping[str, NodeCondition]) -> Cause | None:
    found = [(state, pod) for pod in sorted(pods, key=lambda pod: pod.rank) if (state := _node_state(pod, nodes))]
    if not found:
        return None
    first = found[0][0].state
    alike = [(node, pod) for node, pod in found if node.state is first]
    return causes.NodeSilent(
        tuple(str(pod.rank) for _, pod in alike),
        tuple(dict.fromkeys(pod.node for _, pod in alike)),
        first.value,
        min((int(node.since) for node, _ in alike if node.since is not None), default=None),
    )


def _node_state(pod: Pod, nodes: Mapping[str, NodeCondition]) -> NodeCondition | None:
    """The state of a node that is the reason why nothing is heard of its pod."""
    if pod.ended or pod.deleting or not pod.node:
        return None
    if pod.unheard is not None:
        return NodeCondition(NodeState.NOT_READY, pod.unheard)
    node = nodes.get(pod.node)
    lost = node is not None and node.state in (NodeState.SILENT, NodeState.NOT_READY, NodeState.GONE)
    return node if lost and pod.phase is not PodPhase.RUNNING else None


_OfOneRank = type[causes.ImageUnavailable | causes.EnvironmentFailed | causes.ConfigurationWrong]


def _first(waiting: Iterable[Pod], reasons: frozenset[str], cause: _OfOneRank) -> Cause | None:
    """The cause by the first pod that waits for one of these reasons."""
    pods = _with_reason(waiting, reasons)
    return cause(str(pods[0].rank), _message(pods)) if pods else None


def _building(waiting: Sequence[Pod], wanted: int) -> Cause | None:
    # The cause has no percentage: each step would be a write of the job. Commands that show progress read the pod.
    pods = _with_reason(waiting, _ENVIRONMENT)
    return causes.BuildingEnvironment(len(pods), wanted, PROGRESS.sub("", _message(pods))) if pods else None


def _unaddressed(pods: Sequence[Pod], wanted: int) -> Cause | None:
    missing = sum(1 for pod in pods if not pod.address)
    return causes.WaitingForAddresses(missing, wanted) if missing else None


def _held(waiting: Sequence[Pod]) -> Cause | None:
    pods = [pod for pod in waiting if pod.waiting and pod.waiting[0] not in ORDINARY | _CONFIGURATION]
    if not pods or pods[0].waiting is None:
        return None
    why, message = pods[0].waiting
    return causes.ContainerWaiting(str(pods[0].rank), why, message)


def _starting(pods: Iterable[Pod], wanted: int) -> Cause | None:
    starting = sorted(
        (pod for pod in pods if pod.phase in (PodPhase.PENDING, PodPhase.STARTING)), key=lambda pod: pod.rank
    )
    if not starting:
        return None
    # A pod that has not come as far as its probe is the better reason: its image may be on the way.
    if not all(pod.unready for pod in starting):
        return causes.PodsStarting(len(starting), wanted)
    return causes.PodsStarting(len(starting), wanted, str(starting[0].rank), starting[0].unready)


def _misses(pod: Pod, config_map: str) -> bool:
    message = pod.waiting[1] if pod.waiting else ""
    return bool(config_map) and "configmap" in message.lower() and config_map in message


def _with_reason(waiting: Iterable[Pod], reasons: frozenset[str]) -> tuple[Pod, ...]:
    return tuple(pod for pod in waiting if pod.waiting is not None and pod.waiting[0] in reasons)


def _message(pods: Sequence[Pod]) -> str:
    return pods[0].waiting[1] if pods and pods[0].waiting else ""
