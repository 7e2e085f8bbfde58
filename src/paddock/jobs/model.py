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
from typing import TYPE_CHECKING, Any

from paddock.jobs.labels import FRAMEWORK_ANNOTATION
from paddock.jobs.launch import NO_LAUNCH, Launch
from paddock.kube.meta import Key, Manifest, Resource
from paddock.kube.times import Moment

if TYPE_CHECKING:
    from paddock.kube.datasets import DatasetStatus
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
    """One kind of rank."""

    name: str
    replicas: int
    template: Mapping[str, Any]
    restart: RestartPolicy = RestartPolicy.NEVER
    decides: bool = True  # the job succeeds when these ranks do
    trains: bool = True  # it is no parameter server
    asked: int | None = None  # replicas of the manifest, where the gang has another size (`policies.fitting`)

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
    """`runPolicy`, in Kubeflow's shape, read in both API groups. None means no limit."""

    backoff_limit: int | None = None  # restarts
    active_deadline: float | None = None  # seconds
    ttl: float | None = None  # seconds after the end
    suspend: bool = False
    clean_pods: CleanPods = CleanPods.ON_COMPLETION
    clean_word: str = field(default="", compare=False)  # the API's own word for it: Kubeflow's None is NEVER

    @property
    def clean_up(self) -> str:
        """The value of `cleanPodPolicy`, as the job's manifest has it."""
        return self.clean_word or str(self.clean_pods)


@dataclass(frozen=True, slots=True)
class Network:
    """How ranks find each other."""

    intranet: Intranet = Intranet.POD_IP
    gloo: int = 0  # withGloo: 0 off, 1 a ring of workers, 2 also one of all
    rendezvous: bool = False  # a rank gets the first rank's address and meets its peers there (Kubeflow), not all


@dataclass(frozen=True, slots=True)
class Scheduling:
    """`schedulingPolicy`: what the job's PodGroup asks for. None and empty mean the default."""

    min_available: int | None = None  # default: every pod
    queue: str = ""
    priority_class: str = ""
    min_resources: Mapping[str, Any] = field(default_factory=dict)
    schedule_timeout: int | None = None  # seconds; default: the scheduler's own


@dataclass(frozen=True, slots=True)
class Mount:
    """A Dataset in the containers of a job (annotation `paddock.dev/datasets`)."""

    dataset: str
    path: str  # absolute, without a slash at its end


@dataclass(frozen=True, slots=True)
class Elasticity:
    """The sizes at which the ranks of `role` may train: from `least` to `most`. A gang that cannot be whole begins
    again with fewer of them, as a new attempt, and grows again when there is room (`jobs.policies`)."""

    role: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Success:
    """Who decides whether the job has succeeded (annotation `paddock.dev/success`)."""

    all_ranks: bool = False
    """Each rank that trains, so `Role.decides` is set for all of them; else the roles that decide in the job's API."""
    end_wait: int | None = None  # of `all_ranks`: seconds that ranks may run after the first good end; None: no bound


class OnSilence(StrEnum):
    """What is done about a job that is silent for too long."""

    TELL = "Tell"
    """Its status and an event say it."""
    RESTART = "Restart"
    """All ranks start again, which counts as a restart."""
    FAIL = "Fail"


@dataclass(frozen=True, slots=True)
class SilenceLimit:
    """How long a job's ranks may print nothing, all of them (annotation `paddock.dev/silent`)."""

    seconds: int
    does: OnSilence = OnSilence.TELL


class OnIdle(StrEnum):
    """What is done about a job whose GPUs do nothing for too long."""

    TELL = "Tell"
    """An event says it."""
    SUSPEND = "Suspend"
    """It is suspended, which counts as no failure; who resumes it begins a new attempt."""


@dataclass(frozen=True, slots=True)
class IdleLimit:
    """For how long a job's GPUs may do nothing, all of them (annotation `paddock.dev/idle`)."""

    seconds: int
    does: OnIdle = OnIdle.TELL


@dataclass(frozen=True, slots=True)
class Job:
    """What the user asked for, defaulted."""

    resource: Resource
    framework: str  # a name of `frameworks.registry`
    key: Key
    uid: str
    generation: int
    mode: str  # the API's word: PS, Collective, Single, Distributed
    roles: tuple[Role, ...]
    network: Network = Network()
    policies: Policies = Policies()
    scheduling: Scheduling = field(default_factory=Scheduling)
    launch: Launch = NO_LAUNCH
    scope: RestartScope | None = None  # None: the annotation does not say
    mounts: tuple[Mount, ...] = ()
    success: Success = Success()
    silence: SilenceLimit | None = None
    idle: IdleLimit | None = None
    hold: int | None = None
    """Seconds that a failed rank is held for a shell, on a laptop (annotation `paddock.dev/hold`)."""
    outputs: str = ""
    """The claim for what its runs write, on a cluster (annotation `paddock.dev/outputs`); empty for none."""
    one_decides: bool = False  # one deciding rank is enough: those of an elastic PyTorchJob end together (Kubeflow)
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

    @property
    def is_plain(self) -> bool:
        """Whether its program trains with no framework, whatever the kind of the job (`FRAMEWORK_ANNOTATION`)."""
        return self.annotations.get(FRAMEWORK_ANNOTATION) == "none"

    def owner(self) -> Manifest:
        """The part of the job's manifest that owner references and events point at."""
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": self.key.name, "namespace": self.key.namespace, "uid": self.uid},
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pods of a role are where, as paddle-operator counts them."""

    wanted: int = 0  # the role's replicas
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
    """The ranks of a role that have succeeded in the recorded attempt. No verdict asks for more (`policies.success`,
    `policies.failed_ranks`): which node a rank ran on is told by its pod alone."""

    indexes: frozenset[int]
    last: Moment | None = None  # when the last of them ended, in whole seconds; None where no pod told
    first: Moment | None = None  # when the first did


@dataclass(frozen=True, slots=True)
class CauseRecord:
    """A cause as it is recorded: `status.cause {reason, args, since}`. `jobs.causes` has the classes behind it."""

    reason: str
    args: Mapping[str, Any] = field(default_factory=dict)
    since: Moment | None = None

    @property
    def is_about_room(self) -> bool:
        """Whether pods wait for a scheduler to give them nodes."""
        return self.reason in ("WaitingForScheduler", "WaitingForPodGroup")

    @property
    def is_told_by_others(self) -> bool:
        """Whether nodes, pods or Kueue may tell a reader more of it than the operator has recorded."""
        return self.is_about_room or self.reason == "WaitingForQueue"


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far the training of an attempt is (`jobs.progress`). It decides nothing."""

    percent: int | None = None
    """Of the whole training, 0 to 100; None where its length is not known."""
    remaining: int | None = None
    """Seconds until its end, at the pace of this attempt; None where that is not known, and once the job has ended."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The last number of each name, all of them finite."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A node on which the rank that failed first has run, and what speaks against it (`policies.suspects`)."""

    reason: str
    """One word, of the last failure there: `DeviceInitialization`."""
    attempts: tuple[int, ...]
    """In which that was, the last few."""
    until: Moment | None = None
    """Before when it is avoided, in whole seconds; None of a node that is only noted."""


@dataclass(frozen=True, slots=True)
class Status:
    """What was recorded of a job. Decisive: attempt, restarts, a terminal phase, suspend, the size of the gang
    (architecture.md, rule 1)."""

    phase: Phase = Phase.NONE
    mode: str = ""
    attempt: int = 0  # the number of the gang
    restarts: int = 0  # attempts that the program itself ended
    roles: Mapping[str, Counts] = field(default_factory=dict)
    cause: CauseRecord | None = None
    started: Moment | None = None  # when all pods ran for the first time
    finished: Moment | None = None
    observed_generation: int = 0
    refs: Mapping[str, tuple[PodRef, ...]] = field(default_factory=dict)
    """Pods of the attempt by role, for kinds of job that list them; empty where they do not."""
    losses: int = 0  # gangs in a row that were lost through no fault of the program (`policies.restart`)
    problem: CauseRecord | None = None  # an edit that is not valid and therefore not followed
    last_valid: str = ""  # the spec that is followed (`apis.last_valid`)
    renewals: Mapping[str, int] = field(default_factory=dict)
    """How often the pod of a rank (`worker-1`) was replaced alone in this attempt; without an entry it never was."""
    renewed: Moment | None = None  # when the last of them was
    delays: Mapping[str, Moment] = field(default_factory=dict)
    """Before when the next pod of such a rank is not created, whatever is recorded of others meanwhile."""
    gang_size: int = 0  # ranks of the elastic role in this attempt, where fewer than the manifest asks for; else 0
    gang_loss: str = ""
    """Of an elastic job: Kubernetes' reason for the last loss of pods, or the name of its cause; empty if there was
    none since the job began or was edited."""
    succeeded: Mapping[str, Successes] = field(default_factory=dict)  # in this attempt, by role (`jobs.successes`)
    progress: JobProgress | None = None  # how far the training is, of the last attempt that told; never decisive
    suspects: Mapping[str, Suspect] = field(default_factory=dict)  # by the name of the node
    unknown_phase: str = ""  # the phase of a later version, which is NONE here; nothing is decided on such a status

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
    """How a pod's program ended."""

    code: int  # as a shell reports it (137: signal 9)
    reason: str = ""  # Kubernetes' (OOMKilled)
    message: str = ""
    finished: Moment | None = None
    initial: bool = False  # of an init container, so the rank's program has not begun

    @property
    def signal(self) -> int | None:
        return self.code - 128 if 128 < self.code < 160 else None


@dataclass(frozen=True, slots=True)
class Displaced:
    """For whom Kueue took the room of a job (`jobs.queued`)."""

    by: tuple[str, ...] = ()  # the UIDs of the other Workload and of its job, as far as they are told
    due: str = ""  # Kueue's words where priority is not why: `reclamation within the cohort`


NOBODY = Displaced()


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of the job as it is now."""

    name: str
    uid: str
    rank: Rank
    attempt: int
    phase: PodPhase = PodPhase.PENDING
    address: str = ""
    node: str = ""
    exit: Exit | None = None
    waiting: tuple[str, str] | None = None  # why it does not run yet: (reason, message) of scheduler or kubelet
    deleting: bool = False
    port: int | None = None
    started: Moment | None = None
    gone_by: Moment | None = None  # when a deleted one should be gone, with its grace period (deletionTimestamp)
    forced: bool = False  # it is being deleted without grace
    disrupted: str = ""  # why the cluster or Kueue evicts it (conditions DisruptionTarget, TerminationTarget)
    displaced: Displaced = NOBODY  # for whom, of one that Kueue evicts
    queued: bool = False  # it belongs to a group of Kueue's (`jobs.queued`)
    woken: bool = False  # it has the annotation that makes its kubelet look for the ConfigMap again (`policies.wake`)
    scheduler: str = ""  # the name of the one that is to place it
    created: Moment | None = None
    looked_at: bool = False  # a scheduler has written its condition PodScheduled
    unheard: Moment | None = None  # since when its node is not ready, of a pod that ran
    renewal: int = 0  # which of the pods of its rank in this attempt it is, 0 the first
    lingering: tuple[str, ...] = ()
    """Once its program has ended: its other containers that have not, at most `objects.observed.MOST_LINGERING`. Such a
    pod holds its devices."""
    spare: bool = False  # it holds room for a larger gang and runs nothing (`policies.spares`)
    placed: Moment | None = None  # since when it has its node
    config_map: str = ""  # the one that it waits for, empty where it does not say (`objects.children.find_config_map`)
    finalizers: tuple[str, ...] = ()
    """Of a pod that is being deleted, what keeps it, at most `objects.observed.MOST_FINALIZERS`; else empty."""
    size: str = ""  # how many ranks its gang has, as it was told (`objects.pods`); empty on pods of other operators
    held: Moment | None = None  # of one that has failed: until when it is held for a shell (`kube.held_pods`)
    unready: str = ""
    """The first container that runs and is not ready by its probe, where no other one has still to start."""

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    @property
    def lingers(self) -> bool:
        """Its program has ended, and another container of it has not."""
        return bool(self.lingering)

    @property
    def cleared(self) -> bool:
        """Somebody has deleted it since its rank succeeded: the record alone tells of it (`jobs.successes`)."""
        return not self.uid


@dataclass(frozen=True, slots=True)
class Child:
    """A Service, ConfigMap or PodGroup of the job: enough to know that it is there and to delete it by UID."""

    resource: Resource
    name: str
    uid: str
    deleting: bool = False
    owned: bool = True
    """False for a PodGroup that the user created: it is used, and never changed or deleted; and for whatever has
    another controller or none, which is in the way (`Observed.foreign`)."""
    members: int | None = None  # a PodGroup's minMember or minCount, None where it was not read
    min_resources: tuple[str, ...] = ()  # the names in its minResources
    addresses: str = ""
    """Of a ConfigMap, the hash of the addresses in it (`objects.children`); empty where it holds names, or comes from
    another operator."""
    former: bool = False  # its controller is a deleted job of the same kind and name
    asked: str = ""  # of an autoscaler or a PodGroup, the hash of what it was asked for
    phase: str = ""  # what its scheduler says of a PodGroup
    message: str = ""  # the same
    finalizers: tuple[str, ...] = ()  # of a PodGroup that is being deleted: what keeps it


class NodeState(StrEnum):
    """The state of a node whose pod should be gone, or have started, by now."""

    READY = "ready"
    NOT_READY = "not ready"  # reported by its kubelet, which lives
    SILENT = "silent"  # its kubelet has stopped reporting
    GONE = "gone"
    UNKNOWN = "unknown"  # this operator may not read nodes


@dataclass(frozen=True, slots=True)
class NodeCondition:
    state: NodeState
    since: Moment | None = None  # its lastTransitionTime, where Kubernetes has one


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the API server did not create at the last reconcile."""

    objects: tuple[str, ...]  # `Pod demo-worker-0`
    message: str  # about the first of them; of several tries, what it has said twice
    tries: int = 0  # times in a row that it failed; 0 if it refuses until a person changes something
    last: str = ""  # what it said at the last try


@dataclass(frozen=True, slots=True)
class Asked:
    """When spare pods were asked for last (`policies.spares`)."""

    at: Moment
    refused: str = ""  # what the API server said of the first that it refused; a quota says so that there is no room


@dataclass(frozen=True, slots=True)
class Datasets:
    """The Datasets that a job names."""

    found: Mapping[str, DatasetStatus] = field(default_factory=dict)  # by name, as far as they exist
    known: tuple[str, ...] = ()  # names of its namespace, read only where one is missing
    unserved: str | None = None
    """Why this operator sees none: the server's answer, or empty where it was started without Datasets; else None."""


@dataclass(frozen=True, slots=True)
class Stacks:
    """Where the ranks of a silent job are. They are written into its logs before anything is ended."""

    written: bool = False
    """Or could not be taken: they are asked for once."""
    who: tuple[str, ...] = ()
    """`worker-0, worker-1`, for each of `places`."""
    places: tuple[str, ...] = ()
    """`all_reduce, train.py:88`: the few at which most ranks are; empty where no stack could be taken."""
    forbidden: bool = False
    """Who runs the gang may take none (a cluster), so none was asked for."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was seen of the gang's programs themselves: by the node of a laptop, or on a cluster by an operator that may
    read logs."""

    quiet: float
    """Seconds, by a steady clock, for which certainly none of them has printed anything other than that it waits;
    counted at most since they were first looked at."""
    stacks: Stacks | None = None
    """None until they are asked for in this silence."""
    next_look: float | None = None
    """Seconds until more is known; None where `quiet` grows by itself."""
    unseen: str = ""
    """Why nobody sees what they print, as an event says it; empty where somebody does, and where that is not known
    yet."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What exists now: the objects whose owner UID is the job's, and what is in their way."""

    pods: tuple[Pod, ...] = ()
    services: tuple[Child, ...] = ()
    config_maps: tuple[Child, ...] = ()
    pod_group: Child | None = None
    autoscaler: Child | None = None  # the job's HorizontalPodAutoscaler
    foreign: tuple[Child, ...] = ()  # other objects with a name that the job needs
    former: tuple[Pod, ...] = ()  # pods of deleted jobs of its kind and name, whatever their ranks
    taken_ports: frozenset[int] = frozenset()
    """First ports of blocks that other unfinished jobs hold, and ports that this machine listens on."""
    nodes: Mapping[str, NodeCondition] = field(default_factory=dict)
    """By name, those of pods that should be gone by now, or should have started (`policies.lost`); no other is read."""
    refused: Refusal | None = None  # what the API server refused at the last reconcile, if anything
    asked: Asked | None = None  # the same of spare pods
    clock_off: int = 0
    """Seconds by which readings of the API server's clock disagree with the time that has gone by
    (`controllers.clock`), 0 if they do not."""
    datasets: Datasets = Datasets()
    report: Report | None = None
    """Of a job for which the silence of its programs matters; None also where nobody sees them."""
    progress: JobProgress | None = None
    """How far the programs of the gang are; None where none tells, and where nobody sees them (a cluster)."""

    def of_attempt(self, attempt: int) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.attempt == attempt)

    def gang(self, status: Status) -> tuple[Pod, ...]:
        """The recorded pods: those of the attempt, without pods whose rank has had another since."""
        return tuple(pod for pod in self.pods if status.holds(pod) and not pod.spare)


@dataclass(frozen=True, slots=True)
class Settings:
    """How this operator was started: what a plan may depend on besides the job."""

    pod_groups: Resource | None = None  # the resource of the PodGroups to make, or None to make none; set on a laptop
    gang_scheduler: str = ""  # the name of the scheduler that places their pods; empty where any does (a laptop)
    output_root: str | None = None
    """A directory of the node where each job has its own; None on a cluster, where volumes do that."""
    shared_network: bool = False  # pods share the machine's network, so each job needs ports of its own (a laptop)
    substitutes: bool = False  # a command that cannot work is replaced, unless the job's annotation decides (a laptop)
    scheduler_wait: float = 60.0  # seconds until a scheduler that says nothing is taken for absent (`policies.silence`)
    status_wait: float = 10.0  # seconds that a failure waits for statuses on their way (`policies.ending`)
    master_wait: float = 300.0  # seconds that a Master may run after all workers have succeeded (`policies.success`)
    end_wait: float = 30.0  # seconds that workers may run after the deciding ranks have succeeded (`policies.ending`)
    loss_limit: int = 100  # losses in a row after which the job fails (`policies.restart`)
    elastic_wait: float = 30.0  # seconds that an elastic gang waits to be whole before it begins smaller
    elastic_settle: float = 60.0
    """Seconds that a smaller gang runs before it asks for more room, and that it waits for the rest of that room."""
    autoscalers: Resource | None = None
    """The resource of HorizontalPodAutoscalers; None to make none (a laptop, or a cluster without it)."""
    environments: bool = False  # images stand for Environments, so pods name their framework's default one (a laptop)
    progress_wait: float = 0.0  # seconds between two looks at how far a training is; 0 where nobody sees programs
    datasets: bool = False  # Datasets are watched, and jobs wait for those that they name (`jobs.datasets`)
    avoids_nodes: bool = False
    """Attempts are placed elsewhere than on nodes where earlier ones have failed (a cluster)."""
    quotas: bool = False  # a gang without room in the quotas of its namespace is not begun (a laptop)
    own_accounts: frozenset[Key] = frozenset()  # accounts of Paddock, which no pod has (`kube.service_accounts`)

    def shares_network(self, job: Job) -> bool:
        """Whether pods of the job share their machine's network with those of others."""
        return self.shared_network or job.network.intranet is Intranet.HOST
