"""What a decision is made from: Job, Role, Rank, Status, Observed, Settings. Frozen; nothing here decides.

A `Job` is the user's manifest, with defaults, independent of its API group. `Status` is what the operator has recorded.
`Observed` is what exists now. `plan` maps the three and a moment to a `Plan` (`jobs.actions`).

Two numbers differ: `Status.attempt` names the gang and only grows; `Status.restarts` counts the attempts that the
program itself ended, and `backoffLimit` is compared with it alone (docs/architecture.md, "Attempts and restarts").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from typing import Any

from paddock.jobs.launch import NO_LAUNCH, Launch
from paddock.kube.datasets import DatasetStatus
from paddock.kube.meta import Key, Manifest, Resource
from paddock.kube.times import Moment
from paddock.words.problems import Problem

PORTS_IN_BLOCK = 20
"""TRAINER_PORTS_NUM of paddle-operator: a job may use its port and the 19 after it."""


class Phase(StrEnum):
    """A job's phase, in paddle-operator's words where it has them. Invalid: its manifest has never been one that can
    run; an edit ends that."""

    NONE = ""
    INVALID = "Invalid"
    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TERMINATING = "Terminating"

    @property
    def terminal(self) -> bool:
        """Final: cause and times stay, the counts alone follow the pods, and the job never trains again."""
        return self in (Phase.COMPLETED, Phase.FAILED)


class RestartPolicy(StrEnum):
    """Whether a failed rank restarts the gang. EXIT_CODE is Kubeflow's: 128 and above restart, others fail the job."""

    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ALWAYS = "Always"
    EXIT_CODE = "ExitCode"


class RestartScope(StrEnum):
    """What restarts when a rank fails: the whole gang, or the pod alone (annotation `paddock.dev/restart-scope`)."""

    GANG = "Gang"
    POD = "Pod"


class CleanPods(StrEnum):
    """Which end of a job (completed, failed) deletes its pods and services; values of paddle-operator's cleanPodPolicy.

    RUNNING is Kubeflow's: at both ends pods that still run are deleted, and ended pods stay with their logs.
    """

    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"
    RUNNING = "Running"


class Intranet(StrEnum):
    """How ranks address each other."""

    POD_IP = "PodIP"
    SERVICE = "Service"
    HOST = "Host"


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """A pod's identity within the job: role in the API's own spelling (`worker`, `ps`) and index from 0."""

    role: str
    index: int

    def __str__(self) -> str:
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of rank. `decides`: the job succeeds when these ranks do. `trains`: not a parameter server. `asked`: the
    replicas of the manifest, where the gang has another size (`jobs.policies.fitting`)."""

    name: str
    replicas: int
    template: Mapping[str, Any]
    restart: RestartPolicy = RestartPolicy.NEVER
    decides: bool = True
    trains: bool = True
    asked: int | None = None

    @property
    def wanted(self) -> int:
        """The replicas of the manifest."""
        return self.replicas if self.asked is None else self.asked

    @property
    def serves(self) -> bool:
        """The deciding ranks need these as long as they run, so an earlier end is a failure, whatever its exit code."""
        return not self.decides and not self.trains

    def ranks(self) -> tuple[Rank, ...]:
        return tuple(Rank(self.name, index) for index in range(self.replicas))

    def ends(self) -> tuple[Rank, ...]:
        """The first rank and the last. Frameworks tell no ranks of a role apart but the first one, and all by their
        number: what the last one has, all others but the first have."""
        return tuple(Rank(self.name, index) for index in sorted({0, self.replicas - 1}) if self.replicas)


@dataclass(frozen=True, slots=True)
class Policies:
    """`runPolicy`, in Kubeflow's shape, read in both API groups. Seconds; None means no limit. `clean_word`: the API's
    word for `clean_pods`, where it has another one (Kubeflow's None is NEVER)."""

    backoff_limit: int | None = None
    active_deadline: float | None = None
    ttl: float | None = None
    suspend: bool = False
    clean_pods: CleanPods = CleanPods.ON_COMPLETION
    clean_word: str = field(default="", compare=False)

    @property
    def clean_up(self) -> str:
        """The value of `cleanPodPolicy`, as the job's manifest has it."""
        return self.clean_word or str(self.clean_pods)


@dataclass(frozen=True, slots=True)
class Network:
    """How ranks find each other. `gloo`: 0 off, 1 a ring of workers, 2 also one of all (withGloo). `rendezvous`: a
    rank gets the address of the first rank and meets its peers there (Kubeflow), instead of the addresses of all."""

    intranet: Intranet = Intranet.POD_IP
    gloo: int = 0
    rendezvous: bool = False


@dataclass(frozen=True, slots=True)
class Scheduling:
    """`schedulingPolicy`: what the job's PodGroup asks for. None and empty mean the default: every pod, no queue, the
    scheduler's own timeout (`schedule_timeout` in seconds)."""

    min_available: int | None = None
    queue: str = ""
    priority_class: str = ""
    min_resources: Mapping[str, Any] = field(default_factory=dict)
    schedule_timeout: int | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """A Dataset in the containers of a job (annotation `paddock.dev/datasets`). `path`: absolute, without a slash at
    its end."""

    dataset: str
    path: str


@dataclass(frozen=True, slots=True)
class Elasticity:
    """The sizes at which the ranks of `role` may train: from `least` to `most`. A gang that cannot be whole begins
    again with fewer of them, as a new attempt, and grows again when there is room (`jobs.policies`)."""

    role: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Success:
    """Who decides whether the job has succeeded (annotation `paddock.dev/success`). `all_ranks`: each rank that trains,
    so `Role.decides` is set for all of them; else the roles that decide in the job's API. `end_wait`: with `all_ranks`,
    the seconds that ranks may run after the first has ended well; None: as long as they want."""

    all_ranks: bool = False
    end_wait: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """What the user asked for, defaulted. `mode` is the API's word for it (PS, Collective, Single). `one_decides`: the
    job succeeds when one deciding rank does, as the ranks of an elastic PyTorchJob end together (Kubeflow)."""

    resource: Resource
    framework: str
    key: Key
    uid: str
    generation: int
    mode: str
    roles: tuple[Role, ...]
    network: Network = Network()
    policies: Policies = Policies()
    scheduling: Scheduling = field(default_factory=Scheduling)
    launch: Launch = NO_LAUNCH
    scope: RestartScope | None = None
    mounts: tuple[Mount, ...] = ()
    success: Success = Success()
    one_decides: bool = False
    elasticity: Elasticity | None = None
    warnings: tuple[Problem, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    created: Moment | None = None
    deleting: bool = False

    def role(self, name: str) -> Role | None:
        return next((role for role in self.roles if role.name == name), None)

    def ranks(self) -> tuple[Rank, ...]:
        return tuple(rank for role in self.roles for rank in role.ranks())

    def number_of(self, rank: Rank) -> int:
        """The place of the rank in `ranks`, from 0."""
        before = takewhile(lambda role: role.name != rank.role, self.roles)
        return sum(role.replicas for role in before) + rank.index

    @property
    def size(self) -> int:
        return sum(role.replicas for role in self.roles)

    def owner(self) -> Manifest:
        """The part of the job's manifest that owner references and events point at."""
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": self.key.name, "namespace": self.key.namespace, "uid": self.uid},
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pods of a role are where, as paddle-operator counts them. `wanted` is the role's replicas."""

    wanted: int = 0
    pending: int = 0
    starting: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0

    @property
    def ready(self) -> str:
        """`2/2`, the column of paddle-operator v0.2: running of wanted."""
        return f"{self.running}/{self.wanted}"


@dataclass(frozen=True, slots=True, order=True)
class PodRef:
    """A pod that a status names."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Successes:
    """The ranks of a role that have succeeded in the recorded attempt, by their indexes. `first`, `last`: when the
    first and the last of them ended, in whole seconds; None where no pod told. No verdict asks for more
    (`policies.success`, `policies.failed_ranks`): which node a rank ran on is told by its pod alone."""

    indexes: frozenset[int]
    last: Moment | None = None
    first: Moment | None = None


@dataclass(frozen=True, slots=True)
class CauseRecord:
    """A cause as it is recorded: `status.cause {reason, args, since}`. `jobs.causes` has the classes behind it."""

    reason: str
    args: Mapping[str, Any] = field(default_factory=dict)
    since: Moment | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """What was recorded of a job. Decisive: attempt, restarts, a terminal phase, suspend, the size of the gang
    (architecture.md, rule 1).

    `losses`: gangs in a row that were lost through no fault of the program (`policies.restart`). `refs`: pods of the
    attempt by role, for kinds of job that list them; empty where they do not. `problem`: an edit that is not valid and
    therefore not followed. `last_valid`: the spec that is followed (`apis.last_valid`). `renewals`: how often the pod
    of a rank was replaced alone in this attempt, by rank (`worker-1`), with `RestartScope.POD`; a rank without an entry
    never was. `renewed`: when the last of them was. `delays`: before when the next pod of such a rank is not created,
    whatever is recorded of others meanwhile. `gang_size`: the ranks of the elastic role that the attempt has, where
    these are fewer than the manifest asks for; else 0. `gang_loss`: of an elastic job, Kubernetes' reason for the last
    loss of pods, or the name of its cause; empty if there was none since the job began or was edited. `succeeded`: the
    ranks that have succeeded in this attempt, by role (`jobs.successes`). `unknown_phase`: what a later version has
    recorded as the phase, which is NONE here; nothing is decided on such a status."""

    phase: Phase = Phase.NONE
    mode: str = ""
    attempt: int = 0
    restarts: int = 0
    roles: Mapping[str, Counts] = field(default_factory=dict)
    cause: CauseRecord | None = None
    started: Moment | None = None
    finished: Moment | None = None
    observed_generation: int = 0
    refs: Mapping[str, tuple[PodRef, ...]] = field(default_factory=dict)
    losses: int = 0
    problem: CauseRecord | None = None
    last_valid: str = ""
    renewals: Mapping[str, int] = field(default_factory=dict)
    renewed: Moment | None = None
    delays: Mapping[str, Moment] = field(default_factory=dict)
    gang_size: int = 0
    gang_loss: str = ""
    succeeded: Mapping[str, Successes] = field(default_factory=dict)
    unknown_phase: str = ""

    def decisive(self) -> tuple[Any, ...]:
        """What must be recorded before it is acted on: the next reconcile compares these."""
        terminal = self.phase if self.phase.terminal else None
        renewals = tuple(sorted(self.renewals.items()))
        return (self.attempt, self.restarts, terminal, self.phase is Phase.SUSPENDED, renewals, self.gang_size)

    @property
    def sizes(self) -> dict[str, int]:
        """The recorded size of the gang, by role; without roles that have no ranks."""
        return {name: counts.wanted for name, counts in self.roles.items() if counts.wanted}

    def renewal(self, rank: Rank) -> int:
        return self.renewals.get(str(rank), 0)

    def has_succeeded(self, rank: Rank) -> bool:
        known = self.succeeded.get(rank.role)
        return known is not None and rank.index in known.indexes

    def find_succeeded(self) -> set[Rank]:
        return {Rank(role, index) for role, known in self.succeeded.items() for index in known.indexes}

    def holds(self, pod: Pod) -> bool:
        """Whether the pod is the recorded one of its rank: of this attempt, and not replaced since."""
        return pod.attempt == self.attempt and pod.renewal == self.renewal(pod.rank)

    def with_(self, **changes: Any) -> Status:
        return replace(self, **changes)


class PodPhase(StrEnum):
    PENDING = "Pending"
    STARTING = "Starting"  # on a node, not all containers up
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a pod's program ended. `code` as a shell reports it (137: signal 9); `reason` is Kubernetes' (OOMKilled)."""

    code: int
    reason: str = ""
    message: str = ""
    finished: Moment | None = None

    @property
    def signal(self) -> int | None:
        return self.code - 128 if 128 < self.code < 160 else None


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of the job as it is now. `waiting`: why it does not run yet: (reason, message) of scheduler or kubelet.

    `gone_by`: when a pod that is being deleted should be gone, with its grace period (deletionTimestamp). `forced`: it
    is being deleted without grace. `disrupted`: why the cluster evicts it (condition DisruptionTarget). `woken`: it has
    the annotation that makes its kubelet look for the ConfigMap again (`policies.wake`). `unheard`: since when its node
    is not ready, of a pod that ran. `scheduler`: the name of the one that is to place it; `looked_at`: a scheduler has
    written its condition PodScheduled. `renewal`: which of the pods of its rank in this attempt it is, 0 the first.
    `lingers`: its program has ended, and another container of it runs on, so it holds its devices. `spare`: it holds
    room for a larger gang and runs nothing (`policies.spares`). `placed`: since when it has its node. `config_map`:
    the name of the ConfigMap that it waits for, empty where it does not say (`objects.children.find_config_map`).
    `size`: how many ranks its gang has, as it was told (`jobs.objects.pods`); empty on pods of other operators.
    """

    name: str
    uid: str
    rank: Rank
    attempt: int
    phase: PodPhase = PodPhase.PENDING
    address: str = ""
    node: str = ""
    exit: Exit | None = None
    waiting: tuple[str, str] | None = None
    deleting: bool = False
    port: int | None = None
    started: Moment | None = None
    gone_by: Moment | None = None
    forced: bool = False
    disrupted: str = ""
    woken: bool = False
    scheduler: str = ""
    created: Moment | None = None
    looked_at: bool = False
    unheard: Moment | None = None
    renewal: int = 0
    lingers: bool = False
    spare: bool = False
    placed: Moment | None = None
    config_map: str = ""
    size: str = ""

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    @property
    def cleared(self) -> bool:
        """Somebody has deleted it since its rank succeeded: the record alone tells of it (`jobs.successes`)."""
        return not self.uid


@dataclass(frozen=True, slots=True)
class Child:
    """A Service, ConfigMap or PodGroup of the job: enough to know that it is there and to delete it by UID.

    `owned` is False for a PodGroup that the user created: it is used, and never changed or deleted; and for whatever
    has another controller or none, which is in the way (`Observed.foreign`). `members`: a
    PodGroup's minMember or minCount, None where it was not read; `min_resources`: the names in its minResources.
    `addresses`: of a ConfigMap, the hash of the addresses in it
    (`jobs.objects.children`); empty where it holds names, or comes from another operator. `former`: its controller is
    a deleted job of the same kind and name. `asked`: of an autoscaler or a PodGroup, the hash of what it was asked for.
    `phase` and `message`: of a PodGroup, what its scheduler says of it.
    """

    resource: Resource
    name: str
    uid: str
    deleting: bool = False
    owned: bool = True
    members: int | None = None
    min_resources: tuple[str, ...] = ()
    addresses: str = ""
    former: bool = False
    asked: str = ""
    phase: str = ""
    message: str = ""


class NodeState(StrEnum):
    """The state of a node whose pod should be gone, or have started, by now."""

    READY = "ready"
    NOT_READY = "not ready"  # reported by its kubelet, which lives
    SILENT = "silent"  # its kubelet has stopped reporting
    GONE = "gone"
    UNKNOWN = "unknown"  # this operator may not read nodes


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """`since`: its lastTransitionTime, where Kubernetes has one."""

    state: NodeState
    since: Moment | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the API server did not create at the last reconcile: `objects` (`Pod demo-worker-0`), and its message about
    the first of them. `tries`: 0 if it refuses them until a person changes something; else how many times in a row it
    failed. `last`: what it said at the last of these times; `message` is what it has said twice."""

    objects: tuple[str, ...]
    message: str
    tries: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """When spare pods were asked for last (`jobs.policies.spares`), and what the API server said of the first that it
    refused; empty if it refused none. A quota says so that there is no room."""

    at: Moment
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Datasets:
    """The Datasets that a job names, by name, as far as they exist (`found`). `known`: names of its namespace, read
    only where one is missing. `unserved`: why this operator sees none: the server's answer, or empty where it was
    started without Datasets; None where it sees them."""

    found: Mapping[str, DatasetStatus] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    unserved: str | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What exists now: the objects whose owner UID is the job's; `foreign`, other objects with a name that the job
    needs; and `former`, the pods of deleted jobs of its kind and name, whatever their ranks.

    `taken_ports` are first ports of blocks that other unfinished jobs hold, and ports that this machine listens on.
    `nodes`: by name, the nodes of pods that should be gone by now (`policies.lost`), or should have started
    (`policies.lost`); no other node is read.
    `refused`: what the API server refused at the last reconcile, if anything; `asked`: for spare pods. `clock_off`:
    seconds by which readings of its clock disagree with the time that has gone by (`controllers.clock`), 0 if they do
    not. `autoscaler`: the job's HorizontalPodAutoscaler. `datasets`: the Datasets that the job names.
    """

    pods: tuple[Pod, ...] = ()
    services: tuple[Child, ...] = ()
    config_maps: tuple[Child, ...] = ()
    pod_group: Child | None = None
    autoscaler: Child | None = None
    foreign: tuple[Child, ...] = ()
    former: tuple[Pod, ...] = ()
    taken_ports: frozenset[int] = frozenset()
    nodes: Mapping[str, NodeCondition] = field(default_factory=dict)
    refused: Refusal | None = None
    asked: Asked | None = None
    clock_off: int = 0
    datasets: Datasets = Datasets()

    def of_attempt(self, attempt: int) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.attempt == attempt)

    def gang(self, status: Status) -> tuple[Pod, ...]:
        """The recorded pods: those of the attempt, without pods whose rank has had another since."""
        return tuple(pod for pod in self.pods if status.holds(pod) and not pod.spare)


@dataclass(frozen=True, slots=True)
class Settings:
    """How this operator was started: what a plan may depend on besides the job.

    `pod_groups`: the resource of the PodGroups to make, or None to make none (always set on a laptop).
    `gang_scheduler`: the name of the scheduler that places their pods; empty where any name does (a laptop).
    `output_root`: a directory of the node where each job has its own; None on a cluster, where volumes do that.
    `shared_network`: pods share the machine's network, so each job needs ports of its own (a laptop).
    `substitutes`: a command that cannot work is replaced, unless the job's annotation decides (a laptop).
    `scheduler_wait`: seconds until a scheduler that says nothing is taken for absent (`policies.silence`).
    `status_wait`: seconds that a verdict waits for statuses on their way (`policies.ending`).
    `master_wait`: seconds that a deciding Master may run after all workers have succeeded (`policies.success`).
    `end_wait`: seconds that workers may run after the deciding ranks have succeeded (`policies.ending`).
    `loss_limit`: losses in a row after which the job fails (`policies.restart`).
    `elastic_wait`: seconds that an elastic gang waits to be whole before it begins smaller (`policies.elastic_size`).
    `elastic_settle`: seconds that a smaller gang runs before it asks for more room, and that it waits for the rest of
    that room.
    `autoscalers`: the resource of HorizontalPodAutoscalers; None to make none (a laptop, or a cluster without it).
    `datasets`: Datasets are watched, and jobs wait for those that they name (`jobs.datasets`).
    `own_accounts`: the service accounts of Paddock itself, which no pod of a job may have (`kube.service_accounts`).
    """

    pod_groups: Resource | None = None
    gang_scheduler: str = ""
    output_root: str | None = None
    shared_network: bool = False
    substitutes: bool = False
    scheduler_wait: float = 60.0
    status_wait: float = 10.0
    master_wait: float = 300.0
    end_wait: float = 30.0
    loss_limit: int = 100
    elastic_wait: float = 30.0
    elastic_settle: float = 60.0
    autoscalers: Resource | None = None
    datasets: bool = False
    own_accounts: frozenset[Key] = frozenset()
