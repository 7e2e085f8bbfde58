"""One sentence for every cause, with its numbers, and with advice if there is any.

A row builds a `Phrase` from a cause's recorded arguments. They come from the API, and another version may have written
them: a missing argument gives `?`, and no row raises. To add a cause, add a row; `make catalogues` then asks for its
translations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paddock.jobs.text.awaited import find_awaited
from paddock.jobs.text.formats import Joint
from paddock.jobs.text.phrases import Foreign, Names, Phrase, counted, phrase
from paddock.kube.times import format_duration, format_time

Args = Mapping[str, Any]


def _of(args: Args, name: str) -> str | int:
    value = args.get(name, "?")
    return value if isinstance(value, int) else str(value)


def _items(args: Args, name: str) -> tuple[str, ...]:
    found = args.get(name)
    return tuple(map(str, found)) if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _names(args: Args, name: str, joint: Joint = "and") -> Names:
    """The names in `args`; a long list is cut, as a job may have a thousand ranks."""
    return Names(_items(args, name), joint)


def _many(args: Args, name: str) -> int:
    """The number of names, for singular and plural; 1 if it is unknown."""
    return len(_items(args, name)) or 1


def _words(args: Args, name: str) -> str:
    """All names, separated by spaces, as in a command."""
    return " ".join(_items(args, name)) or "?"


def _duration(args: Args, name: str) -> str:
    """`5 min`, which is the same in every language."""
    seconds = args.get(name)
    return format_duration(seconds) if isinstance(seconds, int) else "?"


def _part(args: Args, name: str) -> Phrase:
    """`2 of 4 pods`."""
    return counted("{part} of {count} pod", "{part} of {count} pods", part=_of(args, name), count=_of(args, "wanted"))


def _ranks(args: Args) -> Phrase:
    return counted("{count} rank", "{count} ranks", count=_of(args, "succeeded"))


def _message(args: Args) -> str:
    return str(args.get("message") or "").strip().rstrip(".")


def _said(args: Args, said: Phrase) -> Phrase:
    """`said` with the message of the other program, if there is one."""
    message = _message(args)
    return phrase("{said}: {message}", said=said, message=Foreign(message)) if message else said


def _scheduler(args: Args) -> Phrase:
    """Names first the one object that pods wait for: the number of nodes does not matter then."""
    found = find_awaited(_message(args))
    if found is None:
        return _said(args, phrase("waiting for room for {pods}", pods=_part(args, "pods")))
    return _AWAITED[found.form](found.facts)


def _pod_group(args: Args) -> Phrase:
    pods, name, phase = _part(args, "pods"), _of(args, "name"), args.get("phase")
    if not phase:
        return _said(args, phrase("waiting for room for {pods}: PodGroup {name}", pods=pods, name=name))
    said = phrase("waiting for room for {pods}: PodGroup {name} is {phase}", pods=pods, name=name, phase=str(phase))
    return _said(args, said)


def _unbound(facts: Mapping[str, str]) -> Phrase:
    said = (
        phrase("waiting for the claim {name} to be bound", name=facts["name"])
        if facts["name"]
        else phrase("waiting for a claim of its volumes to be bound")
    )
    return phrase("{said}: {message}", said=said, message=Foreign(facts["why"])) if facts["why"] else said


def _missing_claim(facts: Mapping[str, str]) -> Phrase:
    name, namespace, there, where = (facts[each] for each in ("name", "namespace", "there", "where"))
    said = (
        phrase("waiting for the claim {name}, which namespace {namespace} lacks", name=name, namespace=namespace)
        if namespace
        else phrase("waiting for the claim {name}, which does not exist", name=name)
    )
    if there not in ("", "none"):
        said = phrase("{said}; it has {there}", said=said, there=there)
    return phrase("{said}; one of this name is in {where}", said=said, where=where) if where else said


_AWAITED: Mapping[str, Callable[[Mapping[str, str]], Phrase]] = {
    "missing": _missing_claim,
    "deleted": lambda facts: phrase("waiting for the claim {name}, which is being deleted", name=facts["name"]),
    "unbound": _unbound,
    "group": lambda facts: phrase("waiting for the PodGroup {name}, which does not exist yet", name=facts["name"]),
}


def signal(args: Args) -> int:
    """The signal that ended the program; 0 for none. A shell and the kubelet report 128 + n, PaddlePaddle's launcher
    256 - n for its training process."""
    code = args.get("code")
    if not isinstance(code, int):
        return 0
    return code - 128 if 128 < code < 160 else 256 - code if code in (247, 250) else 0


def _end(args: Args) -> Phrase:
    """How the program ended, in a shell's terms."""
    code, ranks = args.get("code"), _names(args, "ranks", "or")
    if args.get("evicted"):
        return _said(args, phrase("{ranks} was evicted by its node", ranks=ranks))
    if args.get("message"):
        return _said(args, phrase("{ranks} was not started", ranks=ranks))
    if args.get("memory"):
        return phrase("{ranks} ran out of memory and was killed (exit code 137)", ranks=ranks)
    if not isinstance(code, int) or code < 0:
        return phrase("{ranks} failed without an exit code", ranks=ranks)
    if error := _error(args):
        return phrase("{ranks} failed: {error} (exit code {code})", ranks=ranks, error=Foreign(error), code=code)
    if 128 < code < 160:
        return phrase(
            "{ranks} was killed by signal {signal} (exit code {code})", ranks=ranks, signal=signal(args), code=code
        )
    if code in (247, 250):
        return phrase(
            "{ranks} saw its training process killed by signal {signal} (exit code {code})",
            ranks=ranks, signal=signal(args), code=code,
        )  # fmt: skip
    if last := _text(args, "last"):
        return phrase(
            "{ranks} ended with exit code {code}, its last line: {line}", ranks=ranks, code=code, line=Foreign(last)
        )
    return phrase("{ranks} ended with exit code {code}", ranks=ranks, code=code)


def _text(args: Args, name: str) -> str:
    return str(args.get(name) or "").strip()


def _error(args: Args) -> str:
    """The error in the log of a rank that ended by itself; what a signal ended has its own sentence."""
    return "" if signal(args) or args.get("memory") or args.get("message") else _text(args, "error")


def _failure(args: Args) -> Phrase:
    end = _end(args)
    if args.get("server") and not args.get("message"):
        return phrase("{failure} before the workers were done", failure=end)
    return end


def _with_remedy(args: Args, said: Phrase) -> Phrase:
    if _error(args) or (_text(args, "last") and not signal(args) and not args.get("memory")):
        return said
    if args.get("evicted"):
        return phrase("{said}; use less of it, or request as much as is used", said=said)
    if args.get("memory"):
        return phrase("{said}; raise its memory limit or lower the batch size", said=said)
    if args.get("message") or signal(args) not in (0, 9):
        return said
    if signal(args):
        return phrase("{said}; signal 9 is often the machine's memory", said=said)
    return phrase("{said}; its log has the reason", said=said)


def _rank_failed(args: Args) -> Phrase:
    if _error(args):
        return _failure(args)
    return _with_remedy(args, phrase("failed: {failure}", failure=_failure(args)))


def _server_ended(args: Args) -> Phrase:
    said = _failure(args) if _error(args) else phrase("failed: {failure}", failure=_failure(args))
    if not args.get("message"):
        said = phrase("{said}, and what they learned since is lost", said=said)
    return _with_remedy(args, said)


def _restart(args: Args) -> Phrase:
    said = _counted_restart(args)
    if not _items(args, "alone"):
        return said
    return phrase("{said}; started again alone: {ranks}", said=said, ranks=_names(args, "alone"))


def _counted_restart(args: Args) -> Phrase:
    restart, failure = _of(args, "restart"), _failure(args)
    if "limit" in args and args.get("delay"):
        return phrase(
            "restart {restart} of {limit} in {delay} s: {failure}",
            restart=restart, limit=_of(args, "limit"), delay=_of(args, "delay"), failure=failure,
        )  # fmt: skip
    if "limit" in args:
        return phrase(
            "restart {restart} of {limit}: {failure}", restart=restart, limit=_of(args, "limit"), failure=failure
        )
    if args.get("delay"):
        return phrase(
            "restart {restart} in {delay} s: {failure}", restart=restart, delay=_of(args, "delay"), failure=failure
        )
    return phrase("restart {restart}: {failure}", restart=restart, failure=failure)


def _completed(args: Args) -> Phrase:
    said = phrase("completed: {ranks} succeeded", ranks=_ranks(args))
    if not _items(args, "failed"):
        return said
    return phrase(
        "{said}; {failed} failed less than 10 s before the last of them, or after it", said=said,
        failed=_names(args, "failed"),
    )  # fmt: skip


def _pods_lost(args: Args) -> Phrase:
    why, ranks, count = str(_of(args, "why")), _names(args, "ranks"), _many(args, "ranks")
    if why in _PREEMPTED:
        return counted(
            "{ranks} was preempted by another pod ({why})", "{ranks} were preempted by other pods ({why})",
            ranks=ranks, count=count, why=why,
        )  # fmt: skip
    if why == "EvictionByEvictionAPI":
        return counted(
            "{ranks} was evicted on request, as by kubectl drain ({why})",
            "{ranks} were evicted on request, as by kubectl drain ({why})",
            ranks=ranks, count=count, why=why,
        )  # fmt: skip
    if why in _REFUSED or why.startswith("OutOf"):
        return counted(
            "{ranks} was refused by its node ({why})", "{ranks} were refused by their nodes ({why})",
            ranks=ranks, count=count, why=why,
        )  # fmt: skip
    return phrase("{ranks} went with the node ({why})", ranks=ranks, why=why)


_PREEMPTED = ("Preempting", "Preempted", "PreemptionByScheduler")
_REFUSED = ("NodeAffinity", "UnexpectedAdmissionError", "TopologyAffinityError")

_LOSSES: Mapping[str, Callable[[Args], Phrase]] = {
    "PodsDeleted": lambda args: counted(
        "{ranks} was deleted", "{ranks} were deleted", ranks=_names(args, "ranks"), count=_many(args, "ranks")
    ),
    "PodsLost": _pods_lost,
    "AddressesChanged": lambda _: phrase("pods have other addresses than their peers were told"),
}  # fmt: skip


def _lost(reason: str, args: Args) -> Phrase:
    found = _LOSSES.get(reason)
    return phrase("{reason}", reason=reason) if found is None else found(args)


def _loss(reason: str, args: Args) -> Phrase:
    said = _lost(reason, args)
    if _items(args, "alone"):
        return _lost_alone(said, args)
    if "loss" in args:
        return phrase(
            "starting all ranks again: {loss}; not counted as a restart, and loss {number} of {limit} in a row",
            loss=said, number=_of(args, "loss"), limit=_of(args, "limit"),
        )  # fmt: skip
    return phrase("starting all ranks again: {loss}; not counted as a restart", loss=said)


def _lost_alone(loss: Phrase, args: Args) -> Phrase:
    ranks = _names(args, "alone")
    if "loss" in args:
        return phrase(
            "starting {ranks} again alone: {loss}; not counted as a restart, and loss {number} of {limit} in a row",
            ranks=ranks, loss=loss, number=_of(args, "loss"), limit=_of(args, "limit"),
        )  # fmt: skip
    return phrase("starting {ranks} again alone: {loss}; not counted as a restart", ranks=ranks, loss=loss)


def _nodes(args: Args) -> Phrase:
    """`its node n1 is`, `their nodes n1 and n2 are`."""
    nodes, count = _names(args, "nodes"), _many(args, "nodes")
    if _many(args, "ranks") > 1:
        return counted("their node {nodes} is", "their nodes {nodes} are", nodes=nodes, count=count)
    return counted("its node {nodes} is", "its nodes {nodes} are", nodes=nodes, count=count)


def _waiting_for_node(args: Args) -> Phrase:
    return counted(
        "waiting for {ranks} to go: {nodes} lost; {seconds} s after that, and after its grace, it is deleted by force",
        "waiting for {ranks} to go: {nodes} lost; {seconds} s after that, and after their grace, they are deleted by "
        "force",
        ranks=_names(args, "ranks"), nodes=_nodes(args), seconds=_of(args, "seconds"), count=_many(args, "ranks"),
    )  # fmt: skip


def _by_force(args: Args) -> str:
    return f"kubectl -n {_of(args, 'namespace')} delete pod --force --grace-period=0 {_words(args, 'pods')}"


def _node_not_ready(args: Args) -> Phrase:
    ranks, nodes, count, command = _names(args, "ranks"), _nodes(args), _many(args, "nodes"), _by_force(args)
    if _many(args, "ranks") > 1:
        return counted(
            "waiting for {ranks} to go: {nodes} not ready, but not lost, and has to end them by itself; if it never "
            "does: {command}",
            "waiting for {ranks} to go: {nodes} not ready, but not lost, and have to end them by themselves; if they "
            "never do: {command}",
            ranks=ranks, nodes=nodes, count=count, command=command,
        )  # fmt: skip
    return counted(
        "waiting for {ranks} to go: {nodes} not ready, but not lost, and has to end it by itself; if it never does: "
        "{command}",
        "waiting for {ranks} to go: {nodes} not ready, but not lost, and have to end it by themselves; if they never "
        "do: {command}",
        ranks=ranks, nodes=nodes, count=count, command=command,
    )  # fmt: skip


def _node_unknown(args: Args) -> Phrase:
    return counted(
        "waiting for {ranks} to go, long overdue; this operator may not ask whether {nodes} ready, so if it is lost: "
        "{command}",
        "waiting for {ranks} to go, long overdue; this operator may not ask whether {nodes} ready, so if they are "
        "lost: {command}",
        ranks=_names(args, "ranks"), nodes=_nodes(args), count=_many(args, "nodes"), command=_by_force(args),
    )  # fmt: skip


def _node_silent(args: Args) -> Phrase:
    ranks, nodes, moment = _names(args, "ranks"), _names(args, "nodes"), args.get("moment")
    said = _SILENT.get(str(args.get("state")), _SILENT["not ready"])(ranks, nodes, _many(args, "nodes"))
    if isinstance(moment, int):
        said = phrase("{said} since {time}", said=said, time=format_time(moment))
    return phrase("{said}; if that lasts, Kubernetes deletes the pod, and all ranks start again", said=said)


_SILENT: Mapping[str, Callable[[Names, Names, int], Phrase]] = {
    "silent": lambda ranks, nodes, count: counted(
        "waiting for {ranks}: node {nodes} has not reported",
        "waiting for {ranks}: nodes {nodes} have not reported",
        ranks=ranks, nodes=nodes, count=count,
    ),
    "not ready": lambda ranks, nodes, count: counted(
        "waiting for {ranks}: node {nodes} has not been ready",
        "waiting for {ranks}: nodes {nodes} have not been ready",
        ranks=ranks, nodes=nodes, count=count,
    ),
    "gone": lambda ranks, nodes, count: counted(
        "waiting for {ranks}: node {nodes} is gone",
        "waiting for {ranks}: nodes {nodes} are gone",
        ranks=ranks, nodes=nodes, count=count,
    ),
}  # fmt: skip


def _awaited(args: Args) -> Phrase:
    names, count = _items(args, "awaited"), args.get("count")
    if isinstance(count, int) and count > len(names):
        return phrase("the ends of {number} others", number=count)
    return counted("the end of {ranks}", "the ends of {ranks}", ranks=Names(names), count=len(names) or 1)


def _in_the_way(args: Args) -> Phrase:
    objects = _names(args, "objects")
    if args.get("former"):
        return phrase("waiting for what is left of the former job of this name to go: {objects}", objects=objects)
    return counted(
        "waiting: {objects} has a name that this job needs and belongs to somebody else; delete what is there or "
        "rename the job",
        "waiting: {objects} have names that this job needs and belong to somebody else; delete what is there or "
        "rename the job",
        objects=objects, count=_many(args, "objects"),
    )  # fmt: skip


def name_first_problem(args: Args) -> Phrase | str:
    """The first problem of an invalid manifest, for a table that says Invalid beside it."""
    problems = _items(args, "problems") or ("?",)
    if len(problems) == 1:
        return problems[0]
    return phrase("{problem} (and {count} more)", problem=problems[0], count=len(problems) - 1)


def _refused(args: Args) -> Phrase:
    said = phrase("waiting: the API server refuses {objects}", objects=_names(args, "objects"))
    return phrase("{said}; it is asked again within a minute", said=_said(args, said))


def _not_created(args: Args) -> Phrase:
    said = phrase("waiting: the API server cannot create {objects}", objects=_names(args, "objects"))
    return phrase(
        "{said}; tried {tries} times or more, and again within a minute",
        said=_said(args, said),
        tries=_of(args, "tries"),
    )


def _container_waiting(args: Args) -> Phrase:
    rank, why, message = _of(args, "rank"), _of(args, "why"), _message(args)
    if not message:
        return phrase("waiting for {rank}: {why}", rank=rank, why=why)
    return phrase("waiting for {rank}: {why}, {message}", rank=rank, why=why, message=Foreign(message))


def _servers_kept(args: Args) -> Phrase:
    return counted(
        "completed: {ranks} succeeded; cleanPodPolicy {policy} keeps {kept}, which still runs; delete the job to end "
        "it",
        "completed: {ranks} succeeded; cleanPodPolicy {policy} keeps {kept}, which still run; delete the job to end "
        "them",
        ranks=_ranks(args), kept=_names(args, "kept"), policy=_of(args, "policy"), count=_many(args, "kept"),
    )  # fmt: skip


def _limit_exceeded(args: Args) -> Phrase:
    if _error(args):  # it stands first: a table shows the beginning
        if args.get("limit") == 0:
            return _failure(args)
        return counted(
            "{failure}; after {count} restart, as many as runPolicy.backoffLimit allows",
            "{failure}; after {count} restarts, as many as runPolicy.backoffLimit allows",
            count=_of(args, "limit"), failure=_failure(args),
        )  # fmt: skip
    said = counted(
        "failed after {count} restart, as many as runPolicy.backoffLimit allows: {failure}",
        "failed after {count} restarts, as many as runPolicy.backoffLimit allows: {failure}",
        count=_of(args, "limit"), failure=_failure(args),
    )  # fmt: skip
    return _with_remedy(args, said)


CAUSE_PHRASES: Mapping[str, Callable[[Args], Phrase]] = {
    "InvalidJob": lambda args: phrase(
        "waiting: the manifest is wrong: {problems}; edit the job", problems=_names(args, "problems")
    ),
    "NoReplicas": lambda _: phrase(
        "waiting: the job asks for no pod; set the replicas of a role to 1 or more"
    ),
    "ObjectInTheWay": _in_the_way,
    "ObjectsRefused": _refused,
    "ObjectsNotCreated": _not_created,
    "NoFreePort": lambda args: phrase(
        "waiting: every port from {first} to {last} is taken on this machine; end a job that is not needed",
        first=_of(args, "first"), last=_of(args, "last"),
    ),
    "WaitingForOldPods": lambda args: counted(
        "waiting for {count} pod of an earlier attempt to end", "waiting for {count} pods of an earlier attempt to end",
        count=_of(args, "pods"),
    ),
    "WaitingForNode": _waiting_for_node,
    "NodeNotReady": _node_not_ready,
    "NodeUnknown": _node_unknown,
    "NodeSilent": _node_silent,
    "WaitingForPods": lambda args: phrase("waiting for {pods} to be created", pods=_part(args, "missing")),
    "WaitingForScheduler": _scheduler,
    "SchedulerSilent": lambda args: phrase(
        "waiting: no scheduler named {scheduler} has looked at {pods} for {seconds} s; it may not be installed",
        scheduler=_of(args, "scheduler"), pods=_part(args, "pods"), seconds=_of(args, "seconds"),
    ),
    "WaitingForPodGroup": _pod_group,
    "BuildingEnvironment": lambda args: _said(
        args, phrase("waiting for the environment of {pods} to be built", pods=_part(args, "pods"))
    ),
    "EnvironmentFailed": lambda args: _said(args, phrase("{rank} cannot start", rank=_of(args, "rank"))),
    "ImageUnavailable": lambda args: _said(
        args, phrase("waiting for the image of {rank}", rank=_of(args, "rank"))
    ),
    "ConfigurationWrong": lambda args: _said(
        args, phrase("waiting: {rank} cannot be started as it is written", rank=_of(args, "rank"))
    ),
    "ContainerWaiting": _container_waiting,
    "WaitingForAddresses": lambda args: phrase(
        "waiting for the addresses of {pods}", pods=_part(args, "missing")
    ),
    "WaitingForConfigMap": lambda args: phrase(
        "waiting for ConfigMap {name}, which tells ranks of each other", name=_of(args, "name")
    ),
    "PodsStarting": lambda args: counted(
        "{pods} is starting", "{pods} are starting", pods=_part(args, "starting"), count=_of(args, "starting")
    ),
    "WaitingForStatuses": lambda args: phrase(
        "{ended}; waiting up to {seconds} s for {awaited}, then the job is judged",
        ended=counted(
            "{ranks} has ended", "{ranks} have ended", ranks=_names(args, "ranks"), count=_many(args, "ranks")
        ),
        seconds=_of(args, "seconds"), awaited=_awaited(args),
    ),
    "ClockUnsure": lambda args: phrase(
        "a time limit seems to have passed, but the API server's clock has jumped by {time}; nothing is ended or "
        "deleted until it has been steady for up to an hour",
        time=_duration(args, "seconds"),
    ),
    "WaitingForMaster": lambda args: counted(
        "all workers have succeeded; {ranks} still runs, and has {time} to end",
        "all workers have succeeded; {ranks} still run, and have {time} to end",
        ranks=_names(args, "ranks"), count=_many(args, "ranks"), time=_duration(args, "seconds"),
    ),
    "WaitingForWorkers": lambda args: counted(
        "the job has succeeded; {ranks} still runs, and has {seconds} s to end",
        "the job has succeeded; {ranks} still run, and have {seconds} s to end",
        ranks=_names(args, "ranks"), count=_many(args, "ranks"), seconds=_of(args, "seconds"),
    ),
    "RankRestarted": _restart,
    "PodsDeleted": lambda args: _loss("PodsDeleted", args),
    "PodsLost": lambda args: _loss("PodsLost", args),
    "Resized": lambda args: counted(
        "starting all ranks again: the job was resized to {count} pod",
        "starting all ranks again: the job was resized to {count} pods",
        count=_of(args, "wanted"),
    ),
    "PortsDiffer": lambda args: phrase(
        "starting all ranks again: pods were given different ports ({ports}) and would never meet",
        ports=_names(args, "ports"),
    ),
    "AddressesChanged": lambda args: _loss("AddressesChanged", args),
    "Resumed": lambda _: phrase("resumed: starting all ranks again"),
    "PodsAdopted": lambda args: phrase(
        "taken over with its pods, of attempt {attempt}", attempt=_of(args, "attempt")
    ),
    "Suspended": lambda _: phrase("suspended, holds no pods; set runPolicy.suspend to false to go on"),
    "Deleting": lambda _: phrase("being deleted, together with its pods"),
    "Completed": _completed,
    "CompletedServersKept": _servers_kept,
    "CompletedWithoutMaster": lambda args: phrase(
        "completed: all workers succeeded; {ranks} ran {time} longer",
        ranks=_names(args, "ranks"), time=_duration(args, "seconds"),
    ),
    "CompletedWithoutWorkers": lambda args: counted(
        "completed; {ranks} still ran {seconds} s later, and was ended",
        "completed; {ranks} still ran {seconds} s later, and were ended",
        ranks=_names(args, "ranks"), count=_many(args, "ranks"), seconds=_of(args, "seconds"),
    ),
    "RankFailed": _rank_failed,
    "ServerEnded": _server_ended,
    "BackoffLimitExceeded": _limit_exceeded,
    "DeadlineExceeded": lambda args: phrase(
        "failed: still active {seconds} s after it began; raise runPolicy.activeDeadlineSeconds or train less",
        seconds=_of(args, "seconds"),
    ),
    "LostTooOften": lambda args: phrase(
        "failed: the pods were lost {limit} times in a row, through no fault of the program; the last time {loss}; "
        "look at the nodes, then create the job again",
        limit=_of(args, "limit"), loss=_lost(str(args.get("last")), args),
    ),
}  # fmt: skip
"""By the name of the cause's class in `jobs.causes`."""
