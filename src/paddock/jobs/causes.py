"""Every reason why a job waits, restarts, fails, ends or stands still: one frozen class each, with its numbers.

A cause is data. It is stored as `status.cause {reason, args, since}`, where the reason is the class's name, and
rendered by `jobs.explain`, so that a command line of another version or another language says the same thing.
Fields must survive JSON: text, whole numbers, booleans, and tuples of text; what is None or False is not stored.

To add a cause: a class here, a line in `CAUSES`, and a sentence in each catalogue (a test holds the three together).
Which of several reasons to wait is shown is decided in `jobs.waiting`, by one ranked list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from paddock.jobs.model import CauseRecord
from paddock.kube.times import Moment


@dataclass(frozen=True, slots=True)
class Cause:
    """What all causes have: a reason in CamelCase, arguments that survive JSON, and a record in the status."""

    pods_will_be_made: ClassVar[bool] = False
    """The cause of a new attempt. It stays in the status until the pods of that attempt are being made."""

    @property
    def reason(self) -> str:
        return type(self).__name__

    def args(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        stored = {name: value for name, value in values.items() if value is not None and value is not False}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in stored.items()}

    def record(self, now: Moment, previous: CauseRecord | None = None) -> CauseRecord:
        """As it goes into the status. `since` is whole seconds, as the API writes times, and stays while the cause
        does: a pass that finds what the last one found writes nothing."""
        args = self.args()
        if previous is not None and previous.reason == self.reason and dict(previous.args) == args:
            return previous
        return CauseRecord(self.reason, args, float(int(now)))


# Waiting: nothing is wrong with the program yet.


@dataclass(frozen=True, slots=True)
class InvalidJob(Cause):
    """The manifest as it was edited cannot be read; recorded by the operator, as there is no job to plan for.
    `problems`: `spec.worker.replicas: found 0, …`."""

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoReplicas(Cause):
    """The job asks for no pod at all."""


@dataclass(frozen=True, slots=True)
class ObjectInTheWay(Cause):
    """Objects of somebody else have names that the job needs. `objects`: `Pod demo-worker-0`. `former`: all are those
    of a job of the same name that is gone, and go by themselves."""

    objects: tuple[str, ...]
    former: bool = False


@dataclass(frozen=True, slots=True)
class ObjectsRefused(Cause):
    """The API server will not make them: a quota, an admission webhook, a right that the operator lacks. It is asked
    again within a minute. `objects`: `Pod demo-worker-0`; `message`: the server's own sentence about the first."""

    objects: tuple[str, ...]
    message: str = ""


@dataclass(frozen=True, slots=True)
class NoFreePort(Cause):
    """Every block of ports on this machine is taken."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class WaitingForOldPods(Cause):
    """Pods of an earlier attempt still hold the names."""

    pods: int


@dataclass(frozen=True, slots=True)
class WaitingForNode(Cause):
    """Pods that should be gone, on nodes that are silent or gone. After `seconds` they are deleted by force."""

    ranks: tuple[str, ...]
    nodes: tuple[str, ...]
    seconds: int


@dataclass(frozen=True, slots=True)
class NodeNotReady(Cause):
    """Pods that should be gone, on nodes that say themselves that they are not ready: their kubelets live, and nothing
    is forced. `pods`: their names."""

    ranks: tuple[str, ...]
    nodes: tuple[str, ...]
    namespace: str
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeUnknown(Cause):
    """Pods that should be gone, on nodes that this operator may not ask after, so that nothing is forced.
    `pods`: their names."""

    ranks: tuple[str, ...]
    nodes: tuple[str, ...]
    namespace: str
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitingForPods(Cause):
    """Pods that are not made yet, of so many."""

    missing: int
    wanted: int


@dataclass(frozen=True, slots=True)
class WaitingForScheduler(Cause):
    """Pods that no node takes, and the scheduler's own sentence about it."""

    pods: int
    wanted: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class BuildingEnvironment(Cause):
    """The image stands for an environment that is being built. `message` names it, without its progress."""

    pods: int
    wanted: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentFailed(Cause):
    """The image stands for an environment that cannot be built. `message` names it, and says why and what to do."""

    rank: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ImageUnavailable(Cause):
    """An image that cannot be had as things are."""

    rank: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ConfigurationWrong(Cause):
    """A container that cannot be made as it is written: a Secret or ConfigMap that is not there."""

    rank: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ContainerWaiting(Cause):
    """Any other reason that the kubelet gives, with its name."""

    rank: str
    why: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class WaitingForAddresses(Cause):
    """Pods without an address; the ranks' ConfigMap of endpoints needs all of them."""

    missing: int
    wanted: int


@dataclass(frozen=True, slots=True)
class WaitingForConfigMap(Cause):
    """All addresses are known; the ConfigMap of endpoints is being made."""

    name: str


@dataclass(frozen=True, slots=True)
class PodsStarting(Cause):
    """Pods whose containers are not all up, of so many."""

    starting: int
    wanted: int


# A new attempt: the whole gang is made anew.


@dataclass(frozen=True, slots=True)
class NewAttempt(Cause):
    """The gang ends and is made anew, after `delay` seconds."""

    pods_will_be_made: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Failure(Cause):
    """How the program failed: `ranks`, more than one where times cannot tell which was first; exit `code` as a shell
    reports it; `memory`: it was killed for it; `server`: a parameter server, which should have outlived the workers;
    `message`: of a program that could not even be started, the node's word about it: there is no log to look into."""

    ranks: tuple[str, ...]
    code: int | None = None
    memory: bool = False
    server: bool = False
    message: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class RankRestarted(Failure):
    """A rank failed, and its role's policy restarts the gang: restart so-and-so, of a limit if there is one."""

    pods_will_be_made: ClassVar[bool] = True
    restart: int = 1
    limit: int | None = None
    delay: int = 0


@dataclass(frozen=True, slots=True)
class PodsDeleted(NewAttempt):
    """Somebody deleted pods of a running gang. Not the program's fault: no restart is counted."""

    ranks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PodsLost(NewAttempt):
    """The node went, or took its pods away (`why`: NodeLost, Evicted). No restart is counted."""

    ranks: tuple[str, ...]
    why: str
    delay: int = 0


@dataclass(frozen=True, slots=True)
class Resized(NewAttempt):
    """The replicas were edited: every rank must learn the new number."""

    wanted: int


@dataclass(frozen=True, slots=True)
class PortsDiffer(NewAttempt):
    """Two passes gave pods of one attempt different ports, so they would never meet."""

    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddressesChanged(NewAttempt):
    """Pods that live have other addresses than their peers were told. No restart is counted."""


@dataclass(frozen=True, slots=True)
class Resumed(NewAttempt):
    """`suspend` was taken back."""


@dataclass(frozen=True, slots=True)
class PodsAdopted(Cause):
    """The record was lost, but pods carry an attempt: it is believed."""

    attempt: int


# The end, or a standstill that the user asked for.


@dataclass(frozen=True, slots=True)
class Suspended(Cause):
    """`suspend` is set."""


@dataclass(frozen=True, slots=True)
class Deleting(Cause):
    """The job is being deleted; its children go with it, by their owner references."""


@dataclass(frozen=True, slots=True)
class Completed(Cause):
    """All ranks that decide succeeded."""

    succeeded: int


@dataclass(frozen=True, slots=True)
class CompletedServersKept(Cause):
    """As `Completed`, and the clean-up policy leaves pods running that never end by themselves."""

    succeeded: int
    kept: tuple[str, ...]
    policy: str


@dataclass(frozen=True, slots=True)
class RankFailed(Failure):
    """A rank failed for good: its role's policy does not restart."""


@dataclass(frozen=True, slots=True)
class ServerEnded(Failure):
    """A parameter server ended before the workers did: what they trained since then is lost."""


@dataclass(frozen=True, slots=True)
class BackoffLimitExceeded(Failure):
    """A rank failed and the job has restarted as often as `runPolicy.backoffLimit` allows."""

    limit: int = 0


@dataclass(frozen=True, slots=True)
class DeadlineExceeded(Cause):
    """`runPolicy.activeDeadlineSeconds` passed since all pods ran for the first time."""

    seconds: int


CAUSES: dict[str, type[Cause]] = {
    cause.__name__: cause
    for cause in (
        InvalidJob, NoReplicas, ObjectInTheWay, ObjectsRefused, NoFreePort, WaitingForOldPods, WaitingForNode,
        NodeNotReady, NodeUnknown, WaitingForPods, WaitingForScheduler, BuildingEnvironment, EnvironmentFailed,
        ImageUnavailable, ConfigurationWrong, ContainerWaiting, WaitingForAddresses, WaitingForConfigMap,
        PodsStarting, RankRestarted, PodsDeleted,
        PodsLost, Resized, PortsDiffer, AddressesChanged, Resumed, PodsAdopted, Suspended, Deleting, Completed,
        CompletedServersKept, RankFailed, ServerEnded, BackoffLimitExceeded, DeadlineExceeded,
    )
}  # fmt: skip

NEW_ATTEMPT_REASONS = frozenset(name for name, cause in CAUSES.items() if cause.pods_will_be_made)
