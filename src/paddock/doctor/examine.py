"""All questions put to one case: the findings, those that are wrong first, causes before effects. Pure.

What follows from another finding is not told again: who mends the cause has mended it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from paddock.doctor.asked import Asked, Machine, RankSeen
from paddock.doctor.case import Case
from paddock.doctor.devices import check_devices
from paddock.doctor.elastic import check_elastic
from paddock.doctor.ended import check_ended
from paddock.doctor.failed import check_failed
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.idle_gpus import check_idle_gpus
from paddock.doctor.launch_block import LaunchLog
from paddock.doctor.needs import check_needs
from paddock.doctor.network import check_network
from paddock.doctor.nodes import check_nodes
from paddock.doctor.servers import check_servers
from paddock.doctor.silence import check_silence
from paddock.doctor.started import check_started
from paddock.doctor.waiting import check_waiting
from paddock.jobs.model import CauseRecord
from paddock.logs.stacks import Folded

CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    check_needs,
    check_nodes,
    check_elastic,
    check_devices,
    check_servers,
    check_network,
    check_started,
    check_ended,
    check_failed,
    check_waiting,
    check_silence,
    check_idle_gpus,
)
"""Causes before effects."""

_AFTER_ALL = frozenset({"never-started", "waits-for-peers", "waits-for-ended-rank", "silent-for-long"})
"""Effects of whatever else is wrong."""
_BESIDE = "not-ready"
"""What is told whatever else is found, and explains none of it: a program that hangs answers no probe."""
LAST_RESORT = "program-failed"
"""What is told of a failure where nothing else that is wrong explains it."""
_WRONG_WHEEL = frozenset({
    "cpu-wheel-on-gpu-machine", "cpu-wheel-with-devices", "cpu-wheel-with-visible-devices", "cpu-wheel-asked-for-gpu",
    "devices-are-labels", "gpu-wheel-without-gpu", "driver-too-old",
})  # fmt: skip
NOT_TOGETHER = frozenset({
    "nodes-differ-from-replicas",
    "hosts-disagree", "same-rank-twice", "run-check-needs-two-nodes", "waits-for-nodes-that-nobody-starts",
    "elastic-without-etcd",
})  # fmt: skip
"""Why ranks cannot meet, by what they were told."""
_NAMES = frozenset({"name-is-loopback", "own-name-is-unknown"})
_FOLLOWS: Mapping[str, frozenset[str]] = {
    "waits-for-nodes-that-nobody-starts": frozenset({"nodes-differ-from-replicas"}),
    "each-node-trains-alone": frozenset({"nodes-differ-from-replicas"}),
    "processes-are-not-devices": _WRONG_WHEEL,
    "cpu-wheel-asked-for-gpu": frozenset({"cpu-wheel-on-gpu-machine"}),
    "no-parallel-environment": _WRONG_WHEEL | {"old-launcher", "each-node-trains-alone"},
    "nobody-serves-the-master": NOT_TOGETHER,
    "master-is-not-reached": NOT_TOGETHER,
    "master-has-gone": NOT_TOGETHER,
    "peer-was-lost": _NAMES | {"nobody-hosts-the-store", "server-was-lost"},
    "store-is-not-reached": _NAMES,
    "server-was-lost": frozenset({"heter-is-not-reached"}),
    "server-was-never-reached": frozenset({"heter-is-not-reached"}),
    "waits-for-address": _NAMES | NOT_TOGETHER | {"name-is-loopback", "peer-name-is-unknown", "port-is-taken"},
    "module-is-missing": frozenset({"etcd3-is-missing"}),
    "old-arguments": frozenset({"old-launcher"}),
    "argument-not-in-effect": NOT_TOGETHER | {"each-node-trains-alone"},
}
"""What follows from which: dropped where one of these is told."""


def examine(
    asked: Asked, logs: Mapping[str, LaunchLog], ranks: Mapping[str, RankSeen] | None = None,
    machine: Machine | None = None, cause: CauseRecord | None = None, stacks: Folded | None = None, *,
    has_failed: bool = False,
) -> tuple[Finding, ...]:  # fmt: skip
    """`logs`: by rank of a job, by host of a log alone. `ranks`: what the cluster says of the ranks of a job. `cause`:
    what its status says. `stacks`: where its ranks are, where somebody has looked. `has_failed`: whether the job
    has."""
    case = Case(asked, logs, ranks or {}, machine or Machine(), cause, has_failed, stacks or Folded())
    found = [each for check in CHECKS for each in check(case)]
    kept = [each for each in found if not _follows(each, found)]
    return tuple(sorted(kept, key=lambda each: each.severity is not Severity.WRONG))


def _follows(finding: Finding, found: Sequence[Finding]) -> bool:
    if finding.check == LAST_RESORT:
        return any(each.severity is Severity.WRONG for each in found if each is not finding and not _is_effect(each))
    others = {each.check for each in found if not _is_effect(each)}
    if finding.check in _AFTER_ALL:
        before = [each for each in found if each.check in _AFTER_ALL]
        return bool(others) or finding is not before[0]
    return not _FOLLOWS.get(finding.check, frozenset()).isdisjoint(others)


def _is_effect(finding: Finding) -> bool:
    return finding.check in _AFTER_ALL or finding.check in (LAST_RESORT, _BESIDE)


def name_logs(logs: Sequence[LaunchLog]) -> dict[str, LaunchLog]:
    """The launchers of a log by their hosts; those of one host are numbered."""
    named: dict[str, LaunchLog] = {}
    for log in logs:
        name, number = log.source, 2
        while name in named:
            name, number = f"{log.source or 'launcher'} ({number})", number + 1
        named[name] = log
    return named
