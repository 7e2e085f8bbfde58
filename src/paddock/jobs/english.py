"""The English catalogue: for every cause one sentence, with its numbers, and what to do next where there is something.

Each entry maps a cause's recorded arguments to text. Arguments come from the API and may be those of a newer or older
version: a missing one reads as `?`, and none may raise. Another language is another module like this one
(`jobs.chinese`), named in `jobs.explain.CATALOGUES`; word order and plurals are each catalogue's own, so there is no
shared template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Args = Mapping[str, Any]


def _count(args: Args, name: str, noun: str) -> str:
    number = args.get(name, "?")
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _part(args: Args, name: str) -> str:
    """`2 of 4 pods`."""
    return f"{args.get(name, '?')} of {_count(args, 'wanted', 'pod')}"


def _said(args: Args, introduction: str = ": ") -> str:
    message = str(args.get("message") or "").strip().rstrip(".")
    return f"{introduction}{message}" if message else ""


def _list(args: Args, name: str, joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and 6 more`: a sentence stays one on a job of a thousand ranks."""
    found = args.get(name)
    items = [str(item) for item in found] if isinstance(found, Sequence) and not isinstance(found, str) else []
    if not items:
        return "?"
    if len(items) > 4:
        return f"{', '.join(items[:3])} {joint} {len(items) - 3} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {joint} {items[-1]}"


def _verb(args: Args, name: str, one: str, more: str) -> str:
    found = args.get(name)
    return more if isinstance(found, list | tuple) and len(found) > 1 else one


def signal(args: Args) -> int:
    """The signal that ended it; 0 for none: a program that was killed had no time to write a reason. A shell and the
    kubelet report 128 + n, Paddle's launcher 256 - n of its training process."""
    code = args.get("code")
    if not isinstance(code, int):
        return 0
    return code - 128 if 128 < code < 160 else 256 - code if code in (247, 250) else 0


def _end(args: Args) -> str:
    """How it ended, in words that a shell user knows."""
    code = args.get("code")
    if args.get("message"):
        return f"was not started{_said(args)}"
    if args.get("memory"):
        return "ran out of memory and was killed (exit code 137)"
    if not isinstance(code, int) or code < 0:
        return "failed without an exit code"
    if 128 < code < 160:
        return f"was killed by signal {signal(args)} (exit code {code})"
    if code in (247, 250):
        return f"saw its training process killed by signal {signal(args)} (exit code {code})"
    return f"ended with exit code {code}"


def _failure(args: Args) -> str:
    early = " before the workers were done" if args.get("server") and not args.get("message") else ""
    return f"{_list(args, 'ranks', 'or')} {_end(args)}{early}"


def _remedy(args: Args) -> str:
    if args.get("memory"):
        return "; raise its memory limit or lower the batch size"
    if args.get("message") or signal(args) not in (0, 9):
        return ""
    return "; signal 9 is often the machine's memory" if signal(args) else "; its log has the reason"


def _lost_updates(args: Args) -> str:
    return "" if args.get("message") else ", and what they learned since is lost"


def _restart(args: Args) -> str:
    of = f" of {args['limit']}" if "limit" in args else ""
    delay = f" in {args['delay']} s" if args.get("delay") else ""
    return f"restart {args.get('restart', '?')}{of}{delay}: {_failure(args)}"


def _lost(args: Args) -> str:
    return (
        f"starting all ranks again: {_list(args, 'ranks')} went with the node ({args.get('why', '?')}); "
        "not counted as a restart"
    )


def _nodes(args: Args) -> str:
    """`its node n1 is`, `their nodes n1 and n2 are`."""
    whose = _verb(args, "ranks", "its", "their")
    return f"{whose} {_verb(args, 'nodes', 'node', 'nodes')} {_list(args, 'nodes')} {_verb(args, 'nodes', 'is', 'are')}"


def _words(args: Args, name: str) -> str:
    """All of them, as they are typed."""
    found = args.get(name)
    return " ".join(map(str, found)) if isinstance(found, list | tuple) and found else "?"


def _in_the_way(args: Args) -> str:
    if args.get("former"):
        return f"waiting for what is left of the former job of this name to go: {_list(args, 'objects')}"
    return (
        f"waiting: {_list(args, 'objects')} {_verb(args, 'objects', 'has a name', 'have names')} that this job needs "
        f"and {_verb(args, 'objects', 'belongs', 'belong')} to somebody else; delete what is there or rename the job"
    )


ENGLISH: Mapping[str, Callable[[Args], str]] = {
    "InvalidJob": lambda args: f"waiting: the manifest is wrong: {_list(args, 'problems')}; edit the job",
    "NoReplicas": lambda _: "waiting: the job asks for no pod; set the replicas of a role to 1 or more",
    "ObjectInTheWay": _in_the_way,
    "ObjectsRefused": lambda args: (
        f"waiting: the API server refuses {_list(args, 'objects')}{_said(args)}; it is asked again within a minute"
    ),
    "NoFreePort": lambda args: (
        f"waiting: every port from {args.get('first', '?')} to {args.get('last', '?')} is taken on this machine; "
        "end a job that is not needed"
    ),
    "WaitingForOldPods": lambda args: f"waiting for {_count(args, 'pods', 'pod')} of an earlier attempt to end",
    "WaitingForNode": lambda args: (
        f"waiting for {_list(args, 'ranks')} to go: {_nodes(args)} lost; {args.get('seconds', '?')} s after that, and "
        f"after {_verb(args, 'ranks', 'its grace, it is', 'their grace, they are')} deleted by force"
    ),
    "NodeNotReady": lambda args: (
        f"waiting for {_list(args, 'ranks')} to go: {_nodes(args)} not ready, but not lost, and "
        f"{_verb(args, 'nodes', 'has', 'have')} to end {_verb(args, 'ranks', 'it', 'them')} by "
        f"{_verb(args, 'nodes', 'itself', 'themselves')}; if {_verb(args, 'nodes', 'it never does', 'they never do')}: "
        f"kubectl -n {args.get('namespace', '?')} delete pod --force --grace-period=0 {_words(args, 'pods')}"
    ),
    "NodeUnknown": lambda args: (
        f"waiting for {_list(args, 'ranks')} to go, long overdue; this operator may not ask whether "
        f"{_nodes(args)} ready, so if {_verb(args, 'nodes', 'it is', 'they are')} lost: "
        f"kubectl -n {args.get('namespace', '?')} delete pod --force --grace-period=0 {_words(args, 'pods')}"
    ),
    "WaitingForPods": lambda args: f"waiting for {_part(args, 'missing')} to be created",
    "WaitingForScheduler": lambda args: f"waiting for room for {_part(args, 'pods')}{_said(args)}",
    "BuildingEnvironment": lambda args: (
        f"waiting for the environment of {_part(args, 'pods')} to be built{_said(args)}"
    ),
    "EnvironmentFailed": lambda args: f"{args.get('rank', '?')} cannot start{_said(args)}",
    "ImageUnavailable": lambda args: f"waiting for the image of {args.get('rank', '?')}{_said(args)}",
    "ConfigurationWrong": lambda args: (
        f"waiting: {args.get('rank', '?')} cannot be started as it is written{_said(args)}"
    ),
    "ContainerWaiting": lambda args: f"waiting for {args.get('rank', '?')}: {args.get('why', '?')}{_said(args, ', ')}",
    "WaitingForAddresses": lambda args: f"waiting for the addresses of {_part(args, 'missing')}",
    "WaitingForConfigMap": lambda args: (
        f"waiting for ConfigMap {args.get('name', '?')}, which tells ranks of each other"
    ),
    "PodsStarting": lambda args: f"{_part(args, 'starting')} {'is' if args.get('starting') == 1 else 'are'} starting",
    "RankRestarted": _restart,
    "PodsDeleted": lambda args: (
        f"starting all ranks again: {_list(args, 'ranks')} {_verb(args, 'ranks', 'was', 'were')} deleted; "
        "not counted as a restart"
    ),
    "PodsLost": _lost,
    "Resized": lambda args: f"starting all ranks again: the job was resized to {_count(args, 'wanted', 'pod')}",
    "PortsDiffer": lambda args: (
        f"starting all ranks again: pods were given different ports ({_list(args, 'ports')}) and would never meet"
    ),
    "AddressesChanged": lambda _: (
        "starting all ranks again: pods have other addresses than their peers were told; not counted as a restart"
    ),
    "Resumed": lambda _: "resumed: starting all ranks again",
    "PodsAdopted": lambda args: f"taken over with its pods, of attempt {args.get('attempt', '?')}",
    "Suspended": lambda _: "suspended, holds no pods; set runPolicy.suspend to false to go on",
    "Deleting": lambda _: "being deleted, together with its pods",
    "Completed": lambda args: f"completed: {_count(args, 'succeeded', 'rank')} succeeded",
    "CompletedServersKept": lambda args: (
        f"completed: {_count(args, 'succeeded', 'rank')} succeeded; {_list(args, 'kept')} "
        f"{_verb(args, 'kept', 'is', 'are')} kept running by cleanPodPolicy {args.get('policy', '?')}, "
        "as servers never end by themselves; delete the job to end them"
    ),
    "RankFailed": lambda args: f"failed: {_failure(args)}{_remedy(args)}",
    "ServerEnded": lambda args: f"failed: {_failure(args)}{_lost_updates(args)}{_remedy(args)}",
    "BackoffLimitExceeded": lambda args: (
        f"failed after {_count(args, 'limit', 'restart')}, as many as runPolicy.backoffLimit allows: "
        f"{_failure(args)}{_remedy(args)}"
    ),
    "DeadlineExceeded": lambda args: (
        f"failed: still active {args.get('seconds', '?')} s after it began; raise runPolicy.activeDeadlineSeconds "
        "or train less"
    ),
}
