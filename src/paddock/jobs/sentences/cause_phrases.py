"""What is said of every cause: its sentence, whether `paddock run` reports it, the command that comes next, its event.

A sentence is a `Phrase`, built from a cause's recorded arguments. They come from the API, and another version may have
written them: a missing argument gives `?`, and no row raises. To add a cause, add a row; `make catalogues` then asks
for its translations. Longer sentences are in `waiting_phrases`, `failure_phrases` and `elastic_phrases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from paddock.jobs.sentences.cause_args import (
    Args,
    count_of,
    items_of,
    names_of,
    pods_of,
    problems_of,
    ranks_of,
    time_of,
    value_of,
    with_message,
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
from paddock.jobs.sentences.people_phrases import explain_cancelled, explain_resumed, explain_suspended
from paddock.jobs.sentences.queue_phrases import explain_evicted, explain_not_in_force, explain_queue
from paddock.jobs.sentences.silent_phrases import explain_silence, explain_silent_end, explain_silent_restart
from paddock.jobs.sentences.waiting_phrases import (
    explain_awaited_ends,
    explain_container_waiting,
    explain_dataset_failed,
    explain_dataset_missing,
    explain_datasets_unserved,
    explain_in_the_way,
    explain_last_ranks,
    explain_node_not_ready,
    explain_node_silent,
    explain_node_unknown,
    explain_not_created,
    explain_old_pods,
    explain_own_account,
    explain_pod_group,
    explain_quota,
    explain_refused,
    explain_scheduler,
    explain_waiting_for_dataset,
    explain_waiting_for_node,
)
from paddock.words.phrases import Names, Phrase, counted, phrase


class Report(Enum):
    """What `paddock run` prints when a job that it follows gets the cause. The live line shows each."""

    LIVE = "nothing: the wait is short, or the job ends with it and its end is printed"
    LINE = "the sentence, on a line of its own"
    STEPS = "the sentence, and the commands that come next: only the user can resolve it"


LIVE, LINE, STEPS = Report


@dataclass(frozen=True, slots=True)
class Row:
    """What is said of one cause."""

    report: Report
    sentence: Callable[[Args], Phrase]
    """Built from the recorded arguments, without a full stop."""
    command: str = ""
    """The command that comes next, where it is always the same: a text as that of `views.steps.Step`, with the fields
    {name}, {word}, {kind} and {dataset} too. What depends on a message or a rank is built in `views.steps`."""
    event: str = ""  # reason of its own event, of type Normal; else the phase names the event (`jobs.recording`)


_EDIT = "{kubectl} edit {kind} {name}{on}"


def _completed(args: Args, well: Phrase) -> Phrase:
    """`well`: said of a job none of whose ranks failed."""
    failure = explain_failed_rank(args)
    said = well if failure is None else phrase("completed, but {failure}", failure=failure)
    return explain_echoes(args, said)


def _all_completed(args: Args) -> Phrase:
    return _completed(args, phrase("completed: {ranks} succeeded", ranks=ranks_of(args)))


def _servers_kept(args: Args) -> Phrase:
    said = _all_completed(args)
    if not args.get("kept"):  # as a record tells it of a job that is gone
        return said
    return counted(
        "{said}; cleanPodPolicy {policy} keeps {kept}, which still runs; delete the job to end it",
        "{said}; cleanPodPolicy {policy} keeps {kept}, which still run; delete the job to end them",
        said=said, kept=names_of(args, "kept"), policy=value_of(args, "policy"), count=count_of(args, "kept"),
    )  # fmt: skip


def _ranks_and_more(args: Args, more: str) -> Names:
    """`worker-0, worker-1, worker-2 and 7 other ranks`. `more`: the argument with their number."""
    count = args.get(more)
    others = (counted("{count} other rank", "{count} other ranks", count=count),) if isinstance(count, int) else ()
    return Names((*items_of(args, "ranks"), *others))


def _count_containers(args: Args, more: str) -> int:
    """1 for one container of one rank, for singular and plural."""
    return max(count_of(args, "containers"), count_of(args, "ranks") + (more in args))


def _pods_starting(args: Args) -> Phrase:
    said = counted(
        "{pods} is starting", "{pods} are starting", pods=pods_of(args, "starting"), count=value_of(args, "starting")
    )
    if not args.get("unready"):
        return said
    return phrase(
        "{said}: container {name} of {rank} runs, and is not ready by its probe",
        said=said, name=value_of(args, "container"), rank=value_of(args, "unready"),
    )  # fmt: skip


CAUSE_ROWS: Mapping[str, Row] = {
    "InvalidJob": Row(LIVE, lambda args: phrase(
        "waiting: the manifest is wrong: {problems}; edit the job", problems=problems_of(args)
    ), _EDIT),
    "NoReplicas": Row(LIVE, lambda _: phrase(
        "waiting: the job asks for no pod; set the replicas of a role to 1 or more"
    ), _EDIT),
    "ObjectInTheWay": Row(LINE, explain_in_the_way),
    "ObjectsRefused": Row(LINE, explain_refused),
    "QuotaExceeded": Row(STEPS, explain_quota, "{kubectl} describe quota{on}"),
    "ObjectsNotCreated": Row(LINE, explain_not_created),
    "NoFreePort": Row(LINE, lambda args: phrase(
        "waiting: every port from {first} to {last} is taken on this machine; end a job that is not needed",
        first=value_of(args, "first"), last=value_of(args, "last"),
    ), "paddock get -A{options}"),
    "OwnAccountNamed": Row(LINE, explain_own_account, _EDIT),
    "WaitingForDataset": Row(LIVE, explain_waiting_for_dataset, "paddock dataset list{where}"),
    "DatasetMissing": Row(STEPS, explain_dataset_missing, "paddock dataset create {dataset}{where} --from URL"),
    "DatasetFailed": Row(STEPS, explain_dataset_failed, "paddock dataset describe {dataset}{where}"),
    "DatasetsUnserved": Row(LINE, explain_datasets_unserved),
    "WaitingForOldPods": Row(LIVE, explain_old_pods),
    "WaitingForNode": Row(LIVE, explain_waiting_for_node),
    "NodeNotReady": Row(LIVE, explain_node_not_ready),
    "NodeUnknown": Row(LIVE, explain_node_unknown),
    "NodeSilent": Row(LIVE, explain_node_silent),
    "WaitingForPods": Row(LIVE, lambda args: phrase("waiting for {pods} to be created", pods=pods_of(args, "missing"))),
    "WaitingForScheduler": Row(LINE, explain_scheduler),
    "SchedulerSilent": Row(LINE, lambda args: phrase(
        "waiting: no scheduler named {scheduler} has looked at {pods} for {seconds} s; it may not be installed",
        scheduler=value_of(args, "scheduler"), pods=pods_of(args, "pods"), seconds=value_of(args, "seconds"),
    )),
    "WaitingForPodGroup": Row(LINE, explain_pod_group),
    "BuildingEnvironment": Row(LIVE, lambda args: with_message(
        args, phrase("waiting for the environment of {pods} to be built", pods=pods_of(args, "pods"))
    ), "paddock get environments"),
    "EnvironmentFailed": Row(STEPS, lambda args: with_message(
        args, phrase("{rank} cannot start", rank=value_of(args, "rank"))
    )),
    "ImageUnavailable": Row(STEPS, lambda args: with_message(
        args, phrase("waiting for the image of {rank}", rank=value_of(args, "rank"))
    )),
    "ConfigurationWrong": Row(LINE, lambda args: with_message(
        args, phrase("waiting: {rank} cannot be started as it is written", rank=value_of(args, "rank"))
    )),
    "ContainerWaiting": Row(LINE, explain_container_waiting),
    "WaitingForAddresses": Row(LIVE, lambda args: phrase(
        "waiting for the addresses of {pods}", pods=pods_of(args, "missing")
    )),
    "WaitingForConfigMap": Row(LIVE, lambda args: phrase(
        "waiting for ConfigMap {name}, which tells ranks of each other", name=value_of(args, "name")
    )),
    "PodsStarting": Row(LIVE, _pods_starting),
    "WaitingForStatuses": Row(LIVE, lambda args: phrase(
        "{ended}; waiting up to {seconds} s for {awaited}, then the job is judged",
        ended=counted(
            "{ranks} has ended", "{ranks} have ended", ranks=names_of(args, "ranks"), count=count_of(args, "ranks")
        ),
        seconds=value_of(args, "seconds"), awaited=explain_awaited_ends(args),
    )),
    "ClockUnsure": Row(LIVE, lambda args: phrase(
        "a time limit seems to have passed, but the API server's clock has jumped by {time}; nothing is ended or "
        "deleted until it has been steady for up to an hour",
        time=time_of(args, "seconds"),
    )),
    "WaitingForMaster": Row(LINE, lambda args: counted(
        "all workers have succeeded; {ranks} still runs, and has {time} to end",
        "all workers have succeeded; {ranks} still run, and have {time} to end",
        ranks=names_of(args, "ranks"), count=count_of(args, "ranks"), time=time_of(args, "seconds"),
    )),
    "WaitingForWorkers": Row(LINE, lambda args: counted(
        "the job has succeeded; {ranks} still runs, and has {seconds} s to end",
        "the job has succeeded; {ranks} still run, and have {seconds} s to end",
        ranks=names_of(args, "ranks"), count=count_of(args, "ranks"), seconds=value_of(args, "seconds"),
    )),
    "WaitingForContainers": Row(LINE, lambda args: counted(
        "the job has succeeded; container {containers} of {ranks} still runs, and is waited for, at most {time}",
        "the job has succeeded; containers {containers} of {ranks} still run, and are waited for, at most {time}",
        containers=names_of(args, "containers"), ranks=_ranks_and_more(args, "more"),
        count=_count_containers(args, "more"), time=time_of(args, "seconds"),
    )),
    "WaitingForLastRanks": Row(LINE, explain_last_ranks),
    "JobSilent": Row(STEPS, explain_silence, "paddock stacks {word}{where}"),
    "RankRestarted": Row(LINE, explain_restart),
    "SilentRestarted": Row(LINE, explain_silent_restart, "paddock logs {word}{where} --previous"),
    "PodsDeleted": Row(LINE, lambda args: explain_loss("PodsDeleted", args)),
    "PodsLost": Row(LINE, lambda args: explain_loss("PodsLost", args)),
    "GangShrunk": Row(LINE, explain_shrunk, event="Shrunk"),
    "GangGrown": Row(LINE, explain_grown, event="Grown"),
    "RunsSmaller": Row(LIVE, explain_smaller),
    "EvictedByQueue": Row(LINE, explain_evicted, "{kubectl} get workloads.kueue.x-k8s.io{on}", event="Evicted"),
    "Resized": Row(LINE, lambda args: counted(
        "starting all ranks again: the job was resized to {count} pod",
        "starting all ranks again: the job was resized to {count} pods",
        count=value_of(args, "wanted"),
    ), event="Resized"),
    "PortsDiffer": Row(LIVE, lambda args: phrase(
        "starting all ranks again: pods were given different ports ({ports}) and would never meet",
        ports=names_of(args, "ports"),
    )),
    "AddressesChanged": Row(LIVE, lambda args: explain_loss("AddressesChanged", args)),
    "NodesNotAvoided": Row(LINE, lambda args: counted(
        "node {nodes} is not avoided any more, as the pods wait for room: starting all ranks again",
        "nodes {nodes} are not avoided any more, as the pods wait for room: starting all ranks again",
        nodes=names_of(args, "nodes"), count=count_of(args, "nodes"),
    ), event="NodesNotAvoided"),
    "Resumed": Row(LINE, explain_resumed, event="Resumed"),
    "PodsAdopted": Row(LIVE, lambda args: phrase(
        "taken over with its pods, of attempt {attempt}", attempt=value_of(args, "attempt")
    ), event="Adopted"),
    "WaitingForQueue": Row(LINE, explain_queue),
    "QueueNotInForce": Row(
        LINE, explain_not_in_force, "{kubectl} label {kind} {name}{on} kueue.x-k8s.io/queue-name-"
    ),
    "Suspended": Row(LINE, explain_suspended, "paddock resume {word}{where}"),
    "SuspendedIdle": Row(LINE, lambda args: phrase(
        "suspended by paddock.dev/idle, as its GPUs did nothing for {time}; holds no pods, and goes on when resumed",
        time=time_of(args, "seconds"),
    ), "paddock resume {word}{where}"),
    "Deleting": Row(LIVE, lambda _: phrase("being deleted, together with its pods")),
    "Completed": Row(LIVE, _all_completed),
    "CompletedServersKept": Row(LIVE, _servers_kept, "paddock delete {word}{where}"),
    "CompletedWithoutMaster": Row(LIVE, lambda args: phrase(
        "completed: all workers succeeded; {ranks} ran {time} longer",
        ranks=names_of(args, "ranks"), time=time_of(args, "seconds"),
    )),
    "CompletedWithoutWorkers": Row(LIVE, lambda args: counted(
        "{said}; {ranks} still ran {seconds} s later, and was ended",
        "{said}; {ranks} still ran {seconds} s later, and were ended",
        said=_completed(args, phrase("completed")), ranks=names_of(args, "ranks"), count=count_of(args, "ranks"),
        seconds=value_of(args, "seconds"),
    )),
    "CompletedWithoutContainers": Row(LIVE, lambda args: counted(
        "{said}; container {containers} of {ranks} still ran {time} later, and was ended",
        "{said}; containers {containers} of {ranks} still ran {time} later, and were ended",
        said=_completed(args, phrase("completed")), containers=names_of(args, "containers"),
        ranks=_ranks_and_more(args, "others"), count=_count_containers(args, "others"), time=time_of(args, "seconds"),
    )),
    "RankFailed": Row(LIVE, explain_rank_failed),
    "ServerEnded": Row(LIVE, explain_server_ended),
    "SilentFailed": Row(LIVE, explain_silent_end, "paddock logs {word}{where}"),
    "BackoffLimitExceeded": Row(LIVE, explain_limit_exceeded),
    "DeadlineExceeded": Row(LIVE, lambda args: phrase(
        "failed: still active {seconds} s after it began; raise runPolicy.activeDeadlineSeconds or train less",
        seconds=value_of(args, "seconds"),
    )),
    "Cancelled": Row(LIVE, explain_cancelled, event="Cancelled"),
    "LostTooOften": Row(LIVE, lambda args: phrase(
        "failed: the pods were lost {limit} times in a row, through no fault of the program; the last time {loss}; "
        "look at the nodes, then create the job again",
        limit=value_of(args, "limit"), loss=explain_lost(str(args.get("last")), args),
    )),
}  # fmt: skip
"""By the name of the cause's class in `jobs.causes`."""
