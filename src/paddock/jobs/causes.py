"""Every reason why a job waits, restarts, fails, ends or is suspended: one frozen class each, with its numbers.

A cause is data. It is stored as `status.cause {reason, args, since}`, where the reason is the class's name, and
rendered by `jobs.sentences.explain`, so that a command line of another version or language can render it too. Fields
must survive JSON: text, whole numbers, booleans, and tuples of text; None and False are not stored.

To add a cause: a class here, a row in `jobs.sentences.cause_phrases` with all that is said of it, and a cure for the
reference; tests hold them together.
Which of several reasons to wait is shown is decided in `jobs.waiting`, by one ranked list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

from paddock.jobs.model import CauseRecord
from paddock.kube.times import Moment


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Cause:
    """The base of all causes: a reason in CamelCase, arguments that survive JSON, and a record in the status. Each
    class that is derived from it becomes a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    starts_attempt: ClassVar[bool] = False
    """Whether a new attempt follows. Such a cause stays in the status until that attempt's pods are being created."""
    counters: ClassVar[tuple[str, ...]] = ()
    """Arguments that only count how often the same was met, or how far it is: `since` stays while nothing else
    differs."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    @property
    def reason(self) -> str:
        return type(self).__name__

    def args(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        stored = {name: value for name, value in values.items() if value is not None and value is not False}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in stored.items()}

    def record(self, now: Moment, previous: CauseRecord | None = None) -> CauseRecord:
        """The record for the status. `since`: whole seconds, as the API's times; it stays while the cause does."""
        args = self.args()
        # A reconcile that finds what the last one found must write nothing.
        if previous is None or previous.reason != self.reason:
            return CauseRecord(self.reason, args, float(int(now)))
        if dict(previous.args) == args:
            return previous
        counted = {**previous.args, **{name: args[name] for name in self.counters if name in args}}
        return CauseRecord(self.reason, args, previous.since if counted == args else float(int(now)))


# Waiting: nothing is wrong with the program yet.


class InvalidJob(Cause):
    """The edited manifest is not valid; the operator records it, as there is no job to plan for."""

    problems: tuple[str, ...]  # `spec.worker.replicas: found 0, …`


class NoReplicas(Cause):
    """The job has no pods: all its roles have 0 replicas."""


class ObjectInTheWay(Cause):
    """Objects with another owner, or none, have names that the job needs."""

    objects: tuple[str, ...]  # the first of them: `Pod demo-worker-0`
    former: bool = False
    """Their owner is a deleted job of the same name; they are deleted, and pods of it that have other names are waited
    for too, as they hold devices."""
    command: str | None = None  # what a person types to remove what is not deleted


class ObjectsRefused(Cause):
    """The API server refuses to create them: a quota, an admission webhook, a missing right of the operator. The
    operator retries within a minute."""

    objects: tuple[str, ...]  # `Pod demo-worker-0`
    message: str = ""  # the server's sentence about the first


class QuotaExceeded(Cause):
    """A ResourceQuota of the namespace has no room for them. The operator retries within a minute."""

    counters: ClassVar[tuple[str, ...]] = ("used", "hard", "fits", "message")

    objects: tuple[str, ...]  # `Pod demo-worker-0`
    quota: str
    pods: int  # so many have no room together: the whole gang, or 1
    fits: int  # so many of them would have room alone
    names: tuple[str, ...]  # what is exceeded: `requests.cpu`
    asked: tuple[str, ...]  # of each, by these pods
    used: tuple[str, ...]  # by what is there
    hard: tuple[str, ...]  # is allowed
    never: bool = False
    """It has none for them even when nothing else is there."""
    message: str = ""  # the server's sentence


class ObjectsNotCreated(Cause):
    """The API server fails to create them: an admission webhook that does not answer, an overloaded server. The
    operator retries within a minute."""

    counters: ClassVar[tuple[str, ...]] = ("tries",)

    objects: tuple[str, ...]
    message: str = ""  # the server's sentence about the first
    tries: int = 0  # so many in a row, or more


class NoFreePort(Cause):
    """Every block of ports on this machine is taken."""

    first: int
    last: int


class OwnAccountNamed(Cause):
    """The pods of `role` would run under a service account of Paddock itself, or read its token: none is created."""

    role: str
    field: str  # of the role: `template.spec.serviceAccountName`
    name: str  # what it names
    namespace: str
    account: str | None = None  # whose token that is, None where it is the account


class WaitingForDataset(Cause):
    """A Dataset that the job mounts is not there yet. Numbers as in its status; 0 for what is not known."""

    counters: ClassVar[tuple[str, ...]] = ("dataset", "percent", "done", "total", "message", "more")

    dataset: str
    percent: int = 0
    done: int = 0  # bytes
    total: int = 0  # bytes
    message: str = ""  # why nothing is fetched yet
    more: int = 0  # others that are not there


class DatasetMissing(Cause):
    """A Dataset that the job mounts does not exist, or is being deleted."""

    dataset: str
    namespace: str
    nearest: str = ""  # a similar name of the namespace, empty without one
    known: tuple[str, ...] = ()  # some of its names
    deleting: bool = False


class DatasetFailed(Cause):
    """A Dataset that the job mounts could not be fetched."""

    dataset: str
    message: str = ""  # its own, with what to do
    retries: bool = False  # it is tried again by itself


class DatasetsUnserved(Cause):
    """The job mounts a Dataset, and this operator sees none: it was started without, or the server refuses them."""

    dataset: str
    message: str = ""  # the server's answer


class WaitingForOldPods(Cause):
    """Pods of an earlier attempt still exist, and the new pods need their names; or its PodGroup does."""

    pods: int
    names: tuple[str, ...] = ()  # of the first pods; those with finalizers alone where there are any
    finalizers: tuple[str, ...] = ()  # what keeps the first of these, or the PodGroup
    group: str = ""  # the PodGroup, where no pod is there any more


class WaitingForNode(Cause):
    """Overdue pods on nodes that are unreachable or deleted."""

    ranks: tuple[str, ...]
    nodes: tuple[str, ...]
    seconds: int  # until the pods are deleted by force


class NodeNotReady(Cause):
    """Overdue pods on nodes that report NotReady themselves: their kubelets run, so no pod is deleted by force."""

    ranks: tuple[str, ...]
    nodes: tuple[str, ...]
    namespace: str
    pods: tuple[str, ...]  # their names


class NodeUnknown(Cause):
    """Overdue pods on nodes that this operator has no right to read, so no pod is deleted by force."""

    ranks: tuple[str, ...]
    nodes: tuple[str, ...]
    namespace: str
    pods: tuple[str, ...]  # their names


class NodeSilent(Cause):
    """Pods that do not start, or are not heard of any more, as their nodes are not ready."""

    ranks: tuple[str, ...]
    nodes: tuple[str, ...]
    state: str  # a `NodeState`
    moment: int | None = None  # since when, in seconds since the epoch


class WaitingForPods(Cause):
    """Pods that are not created yet: `missing` of `wanted`."""

    missing: int
    wanted: int


class WaitingForScheduler(Cause):
    """Pods that are not scheduled."""

    pods: int
    wanted: int
    message: str = ""  # the scheduler's
    placed: int = 0  # pods of the gang that have a node, and hold their room while the others wait


class SchedulerSilent(Cause):
    """Pods that the scheduler which they name has not looked at: it may not be installed."""

    scheduler: str
    pods: int
    wanted: int
    seconds: int  # since they were created


class WaitingForPodGroup(Cause):
    """Pods that are not scheduled because of their PodGroup: its queue has not admitted it, or not all of its pods have
    room."""

    pods: int
    wanted: int
    name: str
    phase: str = ""
    message: str = ""


class BuildingEnvironment(Cause):
    """The image stands for an Environment that is being built."""

    pods: int
    wanted: int
    message: str = ""  # names it, without the percentage


class EnvironmentFailed(Cause):
    """The image stands for an Environment whose build failed."""

    rank: str
    message: str = ""  # its name, the reason and what to do


class ImageUnavailable(Cause):
    """An image that cannot be pulled."""

    rank: str
    message: str = ""


class ConfigurationWrong(Cause):
    """A container that cannot be created: its Secret or ConfigMap does not exist."""

    rank: str
    message: str = ""


class ContainerWaiting(Cause):
    """Any other waiting reason of a container."""

    rank: str
    why: str  # the kubelet's reason
    message: str = ""


class WaitingForAddresses(Cause):
    """Pods without an address; the ConfigMap of endpoints needs the addresses of all pods."""

    missing: int
    wanted: int


class WaitingForConfigMap(Cause):
    """All addresses are known; the ConfigMap of endpoints is being created."""

    name: str


class PodsStarting(Cause):
    """Pods whose containers are not all ready: `starting` of `wanted`."""

    starting: int
    wanted: int
    unready: str | None = None
    """The first rank whose containers all run while one is not ready by its probe, where each starting pod is so."""
    container: str | None = None  # that one's


class WaitingForStatuses(Cause):
    """Ranks have ended, and the ends of others may be on their way."""

    ranks: tuple[str, ...]
    """Those that have ended, the likeliest root cause first, some of them where they are many."""
    awaited: tuple[str, ...]  # some of the others
    count: int  # of the others
    seconds: int  # until the job is judged
    code: int | None = None  # of the first rank; None if it was lost
    why: str | None = None  # the kubelet's reason, of the same
    ended: Mapping[str, str] | None = None
    """All that have ended, where these are more than are named: indexes by role, `{worker: "0-599"}`."""


class ClockUnsure(Cause):
    """A limit has passed by the API server's clock, but somebody has set it, or several servers have different ones.
    Nothing is failed or deleted meanwhile."""

    seconds: int  # by which its readings disagree with the time that has gone by


class WaitingForMaster(Cause):
    """All workers have succeeded, and Masters still run."""

    ranks: tuple[str, ...]
    seconds: int  # until the job is completed


class WaitingForWorkers(Cause):
    """The ranks that decide have succeeded, and others still train."""

    ranks: tuple[str, ...]
    seconds: int  # until the job is completed, from `since` on; more while a container of a rank that ended has time
    succeeded: int


class WaitingForContainers(Cause):
    """The job has succeeded, and other containers of ranks that have ended well run on, as one that sends metrics."""

    containers: tuple[str, ...]
    ranks: tuple[str, ...]
    """Those in whose pods they run, at most 3."""
    seconds: int  # until the job is completed, at most: counted from the end of the last of these ranks
    succeeded: int
    more: int | None = None  # how many other ranks


class WaitingForLastRanks(Cause):
    """Ranks have ended well, and others of a job in which each decides still run."""

    ranks: tuple[str, ...]
    seconds: int | None = None
    """Until the job is completed without them, as it names itself (`model.Success.end_wait`); None: without end."""


class NewAttempt(Cause):
    """The gang is recreated, after `delay` seconds."""

    starts_attempt: ClassVar[bool] = True


class JobSilent(Cause):
    """All ranks run, and none has printed for longer than the annotation `paddock.dev/silent` allows."""

    seconds: int  # that are allowed
    who: tuple[str, ...] = field(default=(), kw_only=True)  # `worker-0, worker-1`, for each of `places`
    places: tuple[str, ...] = field(default=(), kw_only=True)  # `all_reduce, train.py:88`; empty without a stack
    stackless: str | None = field(default=None, kw_only=True)
    """`demo -n team`, for `paddock stacks`: of a job whose stacks the operator may not take."""


class Failure(Cause):
    """How the program failed."""

    ranks: tuple[str, ...]  # more than one if they failed in the same second
    code: int | None = None  # the exit code as a shell reports it
    memory: bool = False  # out of memory
    server: bool = False  # a parameter server, which ended before the workers
    message: str | None = field(default=None, kw_only=True)
    """The kubelet's, of an eviction, or of a program that could not be started and so has no log."""
    evicted: bool = field(default=False, kw_only=True)  # its node was short of what it used
    kubelet: str | None = field(default=None, kw_only=True)  # why that has ended it (`kube.container_ends`)
    # Both are None where the end itself is the reason: a signal, memory, an eviction.
    error: str | None = field(default=None, kw_only=True)  # last line of the exception of the first of `ranks`
    last: str | None = field(default=None, kw_only=True)  # without an exception: the last line that it printed
    memory_used: str | None = field(default=None, kw_only=True)  # `2.0 GiB`, of `memory_limit`, where its node tells it
    memory_limit: str | None = field(default=None, kw_only=True)
    processes: int | None = field(default=None, kw_only=True)  # of more than `most_processes`, which its node ended
    most_processes: int | None = field(default=None, kw_only=True)


class RankRestarted(Failure):
    """A rank failed, and its role's policy restarts the gang."""

    starts_attempt: ClassVar[bool] = True
    restart: int = 1  # its number
    limit: int | None = None  # of restarts, if there is one
    delay: int = 0
    alone: tuple[str, ...] | None = None
    """The ranks whose pods are replaced while the others stay (`policies.one_pod`); None for the whole gang."""


class SilentRestarted(Cause):
    """No rank printed for longer than the annotation `paddock.dev/silent` allows, and it says Restart."""

    starts_attempt: ClassVar[bool] = True
    seconds: int  # that are allowed
    who: tuple[str, ...] = field(default=(), kw_only=True)  # as of `JobSilent`
    places: tuple[str, ...] = field(default=(), kw_only=True)
    stackless: str | None = field(default=None, kw_only=True)
    restart: int = field(default=1, kw_only=True)  # its number
    limit: int | None = field(default=None, kw_only=True)  # of restarts, if there is one
    delay: int = field(default=0, kw_only=True)


class Loss(NewAttempt):
    """The gang was lost through no fault of the program: no restart is counted."""

    delay: int | None = field(default=None, kw_only=True)
    loss: int | None = field(default=None, kw_only=True)  # its number of those in a row, from the second on
    limit: int | None = field(default=None, kw_only=True)  # of losses in a row
    alone: tuple[str, ...] | None = field(default=None, kw_only=True)  # as in `RankRestarted`

    def told(self) -> tuple[tuple[str, ...], str]:
        """The ranks that were lost and Kubernetes' reason, for `LostTooOften`."""
        return (), ""


class PodsDeleted(Loss):
    """Pods of a running gang were deleted."""

    ranks: tuple[str, ...]

    def told(self) -> tuple[tuple[str, ...], str]:
        return self.ranks, ""


class PodsLost(Loss):
    """Pods went with their node, or had to make room."""

    ranks: tuple[str, ...]
    why: str  # NodeLost, PreemptionByScheduler

    def told(self) -> tuple[tuple[str, ...], str]:
        return self.ranks, self.why


class EvictedByQueue(NewAttempt):
    """Kueue has stopped the pods of a gang: nobody's fault. Its LocalQueue `queue` admits the next one."""

    queue: str
    why: str  # Kueue's reason of the eviction (Preempted, PodsReadyTimeout, ClusterQueueStopped)
    by: tuple[str, ...] | None = None  # of a preemption, the UIDs of the other Workload and of its job
    due: str | None = None  # Kueue's words where priority is not why it was preempted
    delay: int | None = field(default=None, kw_only=True)


class Resized(NewAttempt):
    """The replicas were edited: every rank needs the new number."""

    wanted: int


class GangShrunk(NewAttempt):
    """Not all ranks of an elastic `role` had room within `seconds`: `size` of `wanted` begin."""

    role: str
    size: int
    wanted: int
    least: int
    most: int
    seconds: int


class GangGrown(NewAttempt):
    """There is room for more ranks of an elastic `role`: `size` of `wanted` begin."""

    role: str
    size: int
    wanted: int
    least: int
    most: int


class RunsSmaller(Cause):
    """The gang trains with fewer ranks than its manifest asks for."""

    counters: ClassVar[tuple[str, ...]] = ("message", "lacks")

    role: str
    size: int  # its ranks
    least: int
    most: int
    after: str | None = None  # the loss since which it is smaller (`Status.gang_loss`); None if it began so
    lacks: tuple[str, ...] | None = None  # what one more rank needs of what the scheduler finds lacking, `cpu=500m`
    message: str | None = None  # the scheduler's, about the ranks that the gang lacks


class PortsDiffer(NewAttempt):
    """Pods of one attempt have different ports (two reconciles chose them), so they would never connect."""

    ports: tuple[str, ...]


class AddressesChanged(Loss):
    """Running pods have other addresses than the ConfigMap of endpoints."""


class Resumed(NewAttempt):
    """`suspend` was set back to false."""

    who: str | None = field(default=None, kw_only=True)  # by whom, where that is known (`jobs.people`)


class NodesNotAvoided(NewAttempt):
    """Pods found no other node, or the time is over for which these were avoided."""

    nodes: tuple[str, ...]


class PodsAdopted(Cause):
    """The status was lost; the attempt is taken from the labels of the pods."""

    attempt: int


# The end of the job, or its suspension.


class Suspended(Cause):
    """`suspend` is set."""

    who: str | None = field(default=None, kw_only=True)  # by whom, where that is known (`jobs.people`)


class SuspendedIdle(Cause):
    """Paddock has set `suspend`, as the GPUs of all ranks did nothing for `seconds` (annotation `paddock.dev/idle`)."""

    seconds: int


class WaitingForQueue(Cause):
    """Kueue's LocalQueue `queue` has not admitted the job: it is suspended, or its pods have scheduling gates."""

    queue: str
    evicted: str | None = None  # as `why` of the `EvictedByQueue` before it, with its `by` and `due`
    by: tuple[str, ...] | None = None
    due: str | None = None


class QueueNotInForce(Cause):
    """The job is to go by its pods into Kueue's LocalQueue `queue`, and Kueue would not hold them. None was made."""

    queue: str
    message: str | None = None  # what the operator keeps of it for its next try
    objects: tuple[str, ...] = ()


class Deleting(Cause):
    """The job is being deleted; garbage collection deletes its children by their owner references."""


class Completion(Cause):
    """The ranks that decide succeeded. How the first of `failed` ended is in the fields of `Failure`. Older records
    have of these `failed`, in no order and with the echoes, and the `code`, where all had the same."""

    failed: tuple[str, ...] | None = field(default=None, kw_only=True)
    """Ranks that failed all the same, so that who waits for the job exits with 1 (`policies.failed_ranks`): the
    likeliest root cause first, at most 5."""
    more: int | None = field(default=None, kw_only=True)  # how many others failed
    code: int | None = field(default=None, kw_only=True)
    memory: bool = field(default=False, kw_only=True)
    server: bool = field(default=False, kw_only=True)
    message: str | None = field(default=None, kw_only=True)
    evicted: bool = field(default=False, kw_only=True)
    kubelet: str | None = field(default=None, kw_only=True)
    error: str | None = field(default=None, kw_only=True)
    last: str | None = field(default=None, kw_only=True)
    memory_used: str | None = field(default=None, kw_only=True)
    memory_limit: str | None = field(default=None, kw_only=True)
    processes: int | None = field(default=None, kw_only=True)  # of more than `most_processes`, which its node ended
    most_processes: int | None = field(default=None, kw_only=True)
    why: str | None = field(default=None, kw_only=True)  # Kubernetes' reason, of one that was lost
    echoes: tuple[str, ...] | None = field(default=None, kw_only=True)
    """Ranks whose failure only followed from the end of others, at most 5."""
    unstarted: tuple[str, ...] | None = field(default=None, kw_only=True)
    """Ranks whose program never began, at most 3; they count as those of `failed` do."""
    unstarted_more: int | None = field(default=None, kw_only=True)  # how many others
    lacked: str | None = field(default=None, kw_only=True)  # what the first of them waited for


class Completed(Completion):
    """All deciding ranks succeeded."""

    succeeded: int  # how many ranks did, but for those that serve


class CompletedServersKept(Completion):
    """As `Completed`, and the clean-up policy keeps pods that still run: servers, which never exit by themselves, or
    workers that the Master did not wait for."""

    succeeded: int
    kept: tuple[str, ...]  # their ranks
    policy: str  # the API's word


class CompletedWithoutMaster(Completion):
    """All workers succeeded, and Masters ran longer."""

    ranks: tuple[str, ...]
    seconds: int


class CompletedWithoutWorkers(Completion):
    """The ranks that decide succeeded, and others still trained later: the clean-up ends them."""

    ranks: tuple[str, ...]
    seconds: int


class CompletedWithoutContainers(Completion):
    """The job has succeeded, and other containers of ranks that had ended still ran later: the clean-up ends them."""

    containers: tuple[str, ...]
    ranks: tuple[str, ...]  # as of `WaitingForContainers`
    seconds: int
    others: int | None = field(default=None, kw_only=True)  # how many other ranks


class RankFailed(Failure):
    """A rank failed for good: its role's policy does not restart."""


class ServerEnded(Failure):
    """A parameter server ended before the workers: their training since then is lost."""

    untrained: bool = field(default=False, kw_only=True)  # no worker had begun


class SilentFailed(Cause):
    """No rank printed for longer than the annotation `paddock.dev/silent` allows."""

    seconds: int  # that are allowed
    who: tuple[str, ...] = field(default=(), kw_only=True)  # as of `JobSilent`
    places: tuple[str, ...] = field(default=(), kw_only=True)
    stackless: str | None = field(default=None, kw_only=True)
    limit: int | None = field(default=None, kw_only=True)  # restarts that were allowed, where they are used up


class BackoffLimitExceeded(Failure):
    """A rank failed and the job has restarted as often as `runPolicy.backoffLimit` allows."""

    limit: int = 0


class DeadlineExceeded(Cause):
    """`runPolicy.activeDeadlineSeconds` passed since all pods ran for the first time."""

    seconds: int


class Cancelled(Cause):
    """Somebody has cancelled the job."""

    who: str = ""  # the user's name, as Paddock has written it; empty where another program has cancelled the job
    claimed: str | None = field(default=None, kw_only=True)  # what that program has written in the annotation, if more


class LostTooOften(Cause):
    """The gang was lost too often in a row (`Loss`), each time soon after it began."""

    limit: int  # losses in a row
    last: str  # the reason of the last one, with its `ranks` and `why`
    ranks: tuple[str, ...] = ()
    why: str = ""


CAUSES: dict[str, type[Cause]] = {
    name: found
    for name, found in globals().copy().items()
    if isinstance(found, type) and issubclass(found, Cause) and not found.__subclasses__()
}
"""Every class of this module that no other is derived from, by its name, in the order above."""

NEW_ATTEMPT_REASONS = frozenset(name for name, cause in CAUSES.items() if cause.starts_attempt)
