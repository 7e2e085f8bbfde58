"""One sentence for every cause, with its numbers, and with advice if there is any.

A row builds a `Phrase` from a cause's recorded arguments. They come from the API, and another version may have written
them: a missing argument gives `?`, and no row raises. To add a cause, add a row; `make catalogues` then asks for its
translations. Longer rows are below, and in `jobs.sentences.failure_phrases`, `jobs.sentences.node_phrases` and
`jobs.sentences.dataset_phrases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paddock.jobs.sentences.awaited import find_awaited
from paddock.jobs.sentences.cause_args import (
    Args,
    count_of,
    items_of,
    message_of,
    names_of,
    pods_of,
    ranks_of,
    time_of,
    value_of,
    with_message,
)
from paddock.jobs.sentences.dataset_phrases import (
    explain_dataset_failed,
    explain_dataset_missing,
    explain_datasets_unserved,
    explain_waiting_for_dataset,
)
from paddock.jobs.sentences.elastic_phrases import explain_grown, explain_shrunk, explain_smaller
from paddock.jobs.sentences.failure_phrases import (
    explain_echoes,
    explain_failed_rank,
    explain_limit_exceeded,
    explain_loss,
    explain_lost,
    explain_rank_failed,
    explain_restart,
    explain_server_ended,
)
from paddock.jobs.sentences.node_phrases import (
    explain_node_not_ready,
    explain_node_silent,
    explain_node_unknown,
    explain_waiting_for_node,
)
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase


def _scheduler(args: Args) -> Phrase:
    """Names first the one object that pods wait for: the number of nodes does not matter then."""
    found = find_awaited(message_of(args))
    if found is None:
        return with_message(args, _room(args))
    return _AWAITED[found.form](found.facts)


def _room(args: Args) -> Phrase:
    """A scheduler that places pods one by one gives room to a part of a gang, which then keeps it from others."""
    pods = pods_of(args, "pods")
    if not args.get("placed"):
        return phrase("waiting for room for {pods}", pods=pods)
    return counted(
        "waiting for room for {pods}, while {count} other holds room",
        "waiting for room for {pods}, while {count} others hold room",
        pods=pods,
        count=value_of(args, "placed"),
    )


def _pod_group(args: Args) -> Phrase:
    pods, name, phase = pods_of(args, "pods"), value_of(args, "name"), args.get("phase")
    if not phase:
        return with_message(args, phrase("waiting for room for {pods}: PodGroup {name}", pods=pods, name=name))
    said = phrase("waiting for room for {pods}: PodGroup {name} is {phase}", pods=pods, name=name, phase=str(phase))
    return with_message(args, said)


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


def _completed(args: Args, well: Phrase) -> Phrase:
    """`well`: said of a job none of whose ranks failed."""
    failure = explain_failed_rank(args)
    said = well if failure is None else phrase("completed, but {failure}", failure=failure)
    return explain_echoes(args, said)


def _all_completed(args: Args) -> Phrase:
    return _completed(args, phrase("completed: {ranks} succeeded", ranks=ranks_of(args)))


def _awaited(args: Args) -> Phrase:
    names, count = items_of(args, "awaited"), args.get("count")
    if isinstance(count, int) and count > len(names):
        return phrase("the ends of {number} others", number=count)
    return counted("the end of {ranks}", "the ends of {ranks}", ranks=Names(names), count=len(names) or 1)


def _in_the_way(args: Args) -> Phrase:
    objects = names_of(args, "objects")
    if args.get("former"):
        return phrase("waiting for what is left of the former job of this name to go: {objects}", objects=objects)
    said = counted(
        "waiting: {objects} has a name that this job needs and belongs to somebody else; delete what is there or "
        "rename the job",
        "waiting: {objects} have names that this job needs and belong to somebody else; delete what is there or "
        "rename the job",
        objects=objects, count=count_of(args, "objects"),
    )  # fmt: skip
    if not args.get("command"):
        return said
    return phrase("{said}: {command}", said=said, command=value_of(args, "command"))


def _last_ranks(args: Args) -> Phrase:
    ranks, count = names_of(args, "ranks"), count_of(args, "ranks")
    if args.get("seconds") is None:
        return counted(
            "the other ranks have ended well; {ranks} still runs, and is waited for",
            "the other ranks have ended well; {ranks} still run, and are waited for",
            ranks=ranks, count=count,
        )  # fmt: skip
    return counted(
        "the other ranks have ended well; {ranks} still runs, and is ended {seconds} s after the first good end",
        "the other ranks have ended well; {ranks} still run, and are ended {seconds} s after the first good end",
        ranks=ranks, count=count, seconds=value_of(args, "seconds"),
    )  # fmt: skip


def name_first_problem(args: Args) -> Phrase | str:
    """The first problem of an invalid manifest, for a table that says Invalid beside it."""
    problems = items_of(args, "problems") or ("?",)
    if len(problems) == 1:
        return problems[0]
    return phrase("{problem} (and {count} more)", problem=problems[0], count=len(problems) - 1)


def _refused(args: Args) -> Phrase:
    said = phrase("waiting: the API server refuses {objects}", objects=names_of(args, "objects"))
    return phrase("{said}; it is asked again within a minute", said=with_message(args, said))


def _not_created(args: Args) -> Phrase:
    said = phrase("waiting: the API server cannot create {objects}", objects=names_of(args, "objects"))
    return phrase(
        "{said}; tried {tries} times or more, and again within a minute",
        said=with_message(args, said),
        tries=value_of(args, "tries"),
    )


def _own_account(args: Args) -> Phrase:
    named = {each: value_of(args, each) for each in ("role", "field", "name", "namespace")}
    if args.get("account"):
        return phrase(
            "waiting, and no pod is created: {role}.{field} names the Secret {name}, a token of {account}, the service "
            "account of Paddock itself in namespace {namespace}; any other Secret is allowed. Take it out, or create "
            "the job in another namespace",
            **named, account=value_of(args, "account"),
        )  # fmt: skip
    return phrase(
        "waiting, and no pod is created: {role}.{field} is {name}, the service account of Paddock itself in namespace "
        "{namespace}; any other account is allowed, and none at all. Edit it, or create the job in another namespace",
        **named,
    )


def _container_waiting(args: Args) -> Phrase:
    rank, why, message = value_of(args, "rank"), value_of(args, "why"), message_of(args)
    if not message:
        return phrase("waiting for {rank}: {why}", rank=rank, why=why)
    return phrase("waiting for {rank}: {why}, {message}", rank=rank, why=why, message=Foreign(message))


def _servers_kept(args: Args) -> Phrase:
    said = _all_completed(args)
    return counted(
        "{said}; cleanPodPolicy {policy} keeps {kept}, which still runs; delete the job to end it",
        "{said}; cleanPodPolicy {policy} keeps {kept}, which still run; delete the job to end them",
        said=said, kept=names_of(args, "kept"), policy=value_of(args, "policy"), count=count_of(args, "kept"),
    )  # fmt: skip


CAUSE_PHRASES: Mapping[str, Callable[[Args], Phrase]] = {
    "InvalidJob": lambda args: phrase(
        "waiting: the manifest is wrong: {problems}; edit the job", problems=names_of(args, "problems")
    ),
    "NoReplicas": lambda _: phrase(
        "waiting: the job asks for no pod; set the replicas of a role to 1 or more"
    ),
    "ObjectInTheWay": _in_the_way,
    "ObjectsRefused": _refused,
    "ObjectsNotCreated": _not_created,
    "NoFreePort": lambda args: phrase(
        "waiting: every port from {first} to {last} is taken on this machine; end a job that is not needed",
        first=value_of(args, "first"), last=value_of(args, "last"),
    ),
    "OwnAccountNamed": _own_account,
    "WaitingForDataset": explain_waiting_for_dataset,
    "DatasetMissing": explain_dataset_missing,
    "DatasetFailed": explain_dataset_failed,
    "DatasetsUnserved": explain_datasets_unserved,
    "WaitingForOldPods": lambda args: counted(
        "waiting for {count} pod of an earlier attempt to end", "waiting for {count} pods of an earlier attempt to end",
        count=value_of(args, "pods"),
    ),
    "WaitingForNode": explain_waiting_for_node,
    "NodeNotReady": explain_node_not_ready,
    "NodeUnknown": explain_node_unknown,
    "NodeSilent": explain_node_silent,
    "WaitingForPods": lambda args: phrase("waiting for {pods} to be created", pods=pods_of(args, "missing")),
    "WaitingForScheduler": _scheduler,
    "SchedulerSilent": lambda args: phrase(
        "waiting: no scheduler named {scheduler} has looked at {pods} for {seconds} s; it may not be installed",
        scheduler=value_of(args, "scheduler"), pods=pods_of(args, "pods"), seconds=value_of(args, "seconds"),
    ),
    "WaitingForPodGroup": _pod_group,
    "BuildingEnvironment": lambda args: with_message(
        args, phrase("waiting for the environment of {pods} to be built", pods=pods_of(args, "pods"))
    ),
    "EnvironmentFailed": lambda args: with_message(args, phrase("{rank} cannot start", rank=value_of(args, "rank"))),
    "ImageUnavailable": lambda args: with_message(
        args, phrase("waiting for the image of {rank}", rank=value_of(args, "rank"))
    ),
    "ConfigurationWrong": lambda args: with_message(
        args, phrase("waiting: {rank} cannot be started as it is written", rank=value_of(args, "rank"))
    ),
    "ContainerWaiting": _container_waiting,
    "WaitingForAddresses": lambda args: phrase(
        "waiting for the addresses of {pods}", pods=pods_of(args, "missing")
    ),
    "WaitingForConfigMap": lambda args: phrase(
        "waiting for ConfigMap {name}, which tells ranks of each other", name=value_of(args, "name")
    ),
    "PodsStarting": lambda args: counted(
        "{pods} is starting", "{pods} are starting", pods=pods_of(args, "starting"), count=value_of(args, "starting")
    ),
    "WaitingForStatuses": lambda args: phrase(
        "{ended}; waiting up to {seconds} s for {awaited}, then the job is judged",
        ended=counted(
            "{ranks} has ended", "{ranks} have ended", ranks=names_of(args, "ranks"), count=count_of(args, "ranks")
        ),
        seconds=value_of(args, "seconds"), awaited=_awaited(args),
    ),
    "ClockUnsure": lambda args: phrase(
        "a time limit seems to have passed, but the API server's clock has jumped by {time}; nothing is ended or "
        "deleted until it has been steady for up to an hour",
        time=time_of(args, "seconds"),
    ),
    "WaitingForMaster": lambda args: counted(
        "all workers have succeeded; {ranks} still runs, and has {time} to end",
        "all workers have succeeded; {ranks} still run, and have {time} to end",
        ranks=names_of(args, "ranks"), count=count_of(args, "ranks"), time=time_of(args, "seconds"),
    ),
    "WaitingForWorkers": lambda args: counted(
        "the job has succeeded; {ranks} still runs, and has {seconds} s to end",
        "the job has succeeded; {ranks} still run, and have {seconds} s to end",
        ranks=names_of(args, "ranks"), count=count_of(args, "ranks"), seconds=value_of(args, "seconds"),
    ),
    "WaitingForLastRanks": _last_ranks,
    "RankRestarted": explain_restart,
    "PodsDeleted": lambda args: explain_loss("PodsDeleted", args),
    "PodsLost": lambda args: explain_loss("PodsLost", args),
    "GangShrunk": explain_shrunk,
    "GangGrown": explain_grown,
    "RunsSmaller": explain_smaller,
    "Resized": lambda args: counted(
        "starting all ranks again: the job was resized to {count} pod",
        "starting all ranks again: the job was resized to {count} pods",
        count=value_of(args, "wanted"),
    ),
    "PortsDiffer": lambda args: phrase(
        "starting all ranks again: pods were given different ports ({ports}) and would never meet",
        ports=names_of(args, "ports"),
    ),
    "AddressesChanged": lambda args: explain_loss("AddressesChanged", args),
    "Resumed": lambda _: phrase("resumed: starting all ranks again"),
    "PodsAdopted": lambda args: phrase(
        "taken over with its pods, of attempt {attempt}", attempt=value_of(args, "attempt")
    ),
    "WaitingForQueue": lambda args: phrase(
        "waits for Kueue's queue {queue} to admit it, and holds no devices", queue=value_of(args, "queue")
    ),
    "Suspended": lambda _: phrase("suspended, holds no pods; set runPolicy.suspend to false to go on"),
    "Deleting": lambda _: phrase("being deleted, together with its pods"),
    "Completed": _all_completed,
    "CompletedServersKept": _servers_kept,
    "CompletedWithoutMaster": lambda args: phrase(
        "completed: all workers succeeded; {ranks} ran {time} longer",
        ranks=names_of(args, "ranks"), time=time_of(args, "seconds"),
    ),
    "CompletedWithoutWorkers": lambda args: counted(
        "{said}; {ranks} still ran {seconds} s later, and was ended",
        "{said}; {ranks} still ran {seconds} s later, and were ended",
        said=_completed(args, phrase("completed")), ranks=names_of(args, "ranks"), count=count_of(args, "ranks"),
        seconds=value_of(args, "seconds"),
    ),
    "RankFailed": explain_rank_failed,
    "ServerEnded": explain_server_ended,
    "BackoffLimitExceeded": explain_limit_exceeded,
    "DeadlineExceeded": lambda args: phrase(
        "failed: still active {seconds} s after it began; raise runPolicy.activeDeadlineSeconds or train less",
        seconds=value_of(args, "seconds"),
    ),
    "Cancelled": lambda args: (
        phrase("cancelled by {who}", who=value_of(args, "who")) if args.get("who") else phrase("cancelled")
    ),
    "LostTooOften": lambda args: phrase(
        "failed: the pods were lost {limit} times in a row, through no fault of the program; the last time {loss}; "
        "look at the nodes, then create the job again",
        limit=value_of(args, "limit"), loss=explain_lost(str(args.get("last")), args),
    ),
}  # fmt: skip
"""By the name of the cause's class in `jobs.causes`."""
