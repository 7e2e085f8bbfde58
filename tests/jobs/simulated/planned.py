"""The plan alone in a hostile little world: pods run, crash and vanish, the cache lags, the operator dies.

The world is the truth; the operator sees an older picture of it, plans, records and acts. It acts before it records,
which is the worse order, and may die in between; deletes may arrive long after they were decided, or a second time, as
those of a leader that was deposed. What must hold whatever happens is written as sentences, which are what a failure
prints.

Smaller and quicker than `simulated.world`, where the whole operator runs: it reaches more states of the plan in as many
steps. Versions with a rule taken out are in `sabotaged`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jobs.gangs import NOW, PADDLE_JOBS, build_job, build_torch_job
from jobs.simulated.faults import FAULTS, Fault
from jobs.simulated.manifests import THEIR_KEYS
from jobs.simulated.sentences import KEEPING, Violation, loses_an_end, read_told_size, runs
from paddock.jobs.actions import Create, Delete, Plan
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.datasets import plan_gate
from paddock.jobs.labels import QUEUE_LABEL
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import (
    Child,
    CleanPods,
    Datasets,
    Elasticity,
    Exit,
    IdleLimit,
    Job,
    Mount,
    Observed,
    OnIdle,
    Phase,
    Pod,
    PodPhase,
    Rank,
    RestartPolicy,
    RestartScope,
    Settings,
    Status,
    Success,
)
from paddock.jobs.objects.pods import config_map_name, needs_config_map, pod_name, read_pod
from paddock.jobs.plan import plan
from paddock.jobs.policies.fates import read_situation
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.idle_gpus import build_suspension, find_watched
from paddock.jobs.rejoining import all_rejoin
from paddock.kube.datasets import DatasetStatus
from paddock.kube.datasets import Phase as DatasetPhase
from paddock.kube.meta import CONFIG_MAPS, POD_GROUPS, PODS, SERVICES, Manifest, Resource, name_of
from paddock.kube.patches import merge_patch

Planner = Callable[..., Plan]

READY = DatasetStatus("team", "words", DatasetPhase.READY, "dataset-words")

SHAPES: dict[str, dict[str, Any]] = {
    "PyTorchJob": {},
    "PyTorchJob, per pod": {"scope": RestartScope.POD},
    "PyTorchJob without a Master": {"masters": 0},
    "elastic PyTorchJob": {"masters": 0, "one_decides": True},
    "elastic PyTorchJob, per pod": {"masters": 0, "one_decides": True, "scope": RestartScope.POD},
    "elastic PyTorchJob by torchrun": {"masters": 0, "one_decides": True, "launch": Launch("auto", Elastic(1, 3))},
    "PyTorchJob, each rank decides": {"success": Success(True)},
    "PyTorchJob, each rank decides, with a bound": {"success": Success(True, 60)},
    "elastic PyTorchJob, all are waited for": {"masters": 0, "one_decides": True, "success": Success(True)},
    "elastic PyTorchJob by torchrun, with a Master": {"launch": Launch("auto", Elastic(2, 4))},
}
"""Jobs besides a PaddleJob, as keywords of `build_torch_job`."""


GATED = ("SchedulingGated", "")
"""Why a pod waits that Kueue holds."""


def demand(holds: object, sentence: str) -> None:
    if not holds:
        raise Violation(sentence)


def read_avoided(manifest: Manifest) -> frozenset[str]:
    affinity = (manifest["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    return frozenset(each["values"][0] for term in terms for each in term.get("matchFields") or ())


class World(RuleBasedStateMachine):
    planner: Planner = staticmethod(plan)
    mounts: tuple[Mount, ...] = ()
    elasticity: Elasticity | None = None
    more: Mapping[str, Any] = MappingProxyType({})
    """Further fields of the job."""
    room = 100
    avoids_nodes = False
    nodes: tuple[str, ...] = ("laptop",)
    beside: tuple[str, ...] = ()
    """The containers of a pod that run on when its program ends."""
    doubts_absences = True
    faults: frozenset[Fault] = FAULTS - {Fault.DROPPED}
    """A status that others cut is judged with the whole operator (`world`): this world has no memory of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.serial = 0
        self.raw: Manifest = {}
        self.kept = Status()
        self.ends: dict[tuple[int, Rank, int], set[str]] = {}
        """What happened to the pods of a rank, by attempt and renewal."""
        self.pods: dict[str, Pod] = {}
        self.children: dict[tuple[str, str], Child] = {}
        self.foreign: dict[str, Child] = {}
        self.dataset: DatasetStatus | None = READY
        self.began_without_data = False
        self.created: set[str] = set()
        self.sizes: dict[str, str] = {}
        """How many ranks the program of a pod is told of, by UID."""
        self.well: dict[tuple[int, str], set[Rank]] = {}
        """The ranks of an attempt and role that have ended well."""
        self.counted: dict[int, set[Rank]] = {}
        """Those of an attempt whose success was recorded."""
        self.latest = 0
        self.end: Status | None = None
        self.last: tuple[Rank, ...] = ()
        """The ranks that the job had when its end was recorded: those that an edit has taken away since or before have
        no time of their own."""
        self.rewritten = False
        self.in_flight: list[tuple[Delete, str]] = []
        self.what_happened: dict[int, set[str]] = {}
        self.replacement_killed = False
        self.trained_again = False
        self.grown_for_no_reason = False
        self.left_its_end = False
        self.lost_an_end = False
        self.uncounted = False
        self.trained_twice = False
        self.cleared_away = False
        self.was_suspended = False
        self.cut_short = False
        self.avoided: dict[str, frozenset[str]] = {}
        """The nodes that the affinity of a pod leaves out, by UID."""

    @initialize(
        ps=st.integers(0, 1),
        workers=st.integers(1, 2),
        restart=st.sampled_from([RestartPolicy.ON_FAILURE, RestartPolicy.ON_FAILURE, *RestartPolicy]),
        limit=st.sampled_from([0, 1, 2, None]),
        clean=st.sampled_from(list(CleanPods)),
        deadline=st.sampled_from([None, None, 300.0]),
        pod_groups=st.sampled_from([None, POD_GROUPS]),
        shared=st.booleans(),
        shape=st.sampled_from([None, None, None, *SHAPES]),
    )
    def begin(
        self,
        shape: str | None,
        ps: int,
        workers: int,
        restart: RestartPolicy,
        limit: int | None,
        clean: CleanPods,
        deadline: float | None,
        pod_groups: Resource | None,
        shared: bool,
    ) -> None:
        policies: dict[str, Any] = {"backoff_limit": limit, "clean_pods": clean, "active_deadline": deadline}
        self.job: Job = (
            build_job(ps=ps, workers=workers, restart=restart, **policies)
            if shape is None
            else build_torch_job(workers=workers, restart=restart, **SHAPES[shape], **policies)
        )
        self.job = replace(self.job, mounts=self.mounts, elasticity=self.elasticity, **self.more)
        self.settings = Settings(pod_groups=pod_groups, shared_network=shared, avoids_nodes=self.avoids_nodes)
        self.pictures = [self.truth()]
        self.seen = 0
        self.go_on(3, "act, record")

    # The operator.

    @rule(order=st.sampled_from(["act, record", "act, crash", "record, crash", "act late, record"]))
    def one_pass(self, order: str) -> None:
        status = self.status()
        observed = self.observe(status)
        planned = self.planner(self.job, status, observed, self.now, self.settings)
        meant = {pod.name: pod.uid for pod in observed.pods}
        new = any(isinstance(action, Create) and action.resource == PODS for action in planned.actions)
        waits = self.job.mounts and plan_gate(self.job, observed.datasets) is not None
        self.began_without_data |= bool(new and waits and not observed.gang(status))
        for action in planned.actions if order != "record, crash" else ():
            if isinstance(action, Create):
                self.create(action.resource, action.manifest)
            elif isinstance(action, Delete):
                self.cleared_away |= any(pod.uid == action.uid and self.is_kept(pod) for pod in observed.pods)
                self.send(order, action, meant.get(action.key.name, ""))
        if order != "act, crash":
            self.record(status, planned.status)
        if "crash" in order:
            self.list_anew(0)
        self.picture()

    def is_kept(self, pod: Pod) -> bool:
        """Whether it is an ended pod of a finished job, which its clean-up policy keeps."""
        end = self.end
        if end is None or not pod.ended or pod.lingers or pod.spare or not end.holds(pod):
            return False
        return pod.rank in fit(self.job, end.gang_size).ranks() and read_situation(self.job, end) in KEEPING

    @rule(rounds=st.integers(1, 6), order=st.sampled_from(["act, record", "act twice, record", "act, crash"]))
    def go_on(self, rounds: int, order: str) -> None:
        """Nothing special happens for a while, so that runs get far."""
        for _ in range(rounds):
            self.hear(2)
            self.one_pass(order)
            self.reap()
            for index in range(4):
                self.advance(index)
            self.now += 4

    @rule(share=st.integers(0, 2))
    def hear(self, share: int) -> None:
        """The cache catches up: not at all, by half, or fully. Events in between are never seen."""
        last = len(self.pictures) - 1
        self.seen = self.seen + (last - self.seen) * share // 2

    @rule(back=st.integers(0, 40))
    def elect(self, back: int) -> None:
        """A new leader lists anew, with a quorum, and begins; without rule 3, from a server that is behind."""
        self.list_anew(back)
        self.one_pass("act, record")

    def list_anew(self, back: int) -> None:
        last = len(self.pictures) - 1
        self.seen = last if self.doubts_absences else max(0, last - back)

    @rule()
    def deliver(self) -> None:
        while self.in_flight:
            self.delete(*self.in_flight.pop())
        self.picture()

    def send(self, order: str, action: Delete, meant: str) -> None:
        if "late" in order or "twice" in order:
            self.in_flight.append((action, meant))
        if "late" not in order:
            self.delete(action, meant)

    def observe(self, status: Status) -> Observed:
        observed = self.pictures[self.seen]
        if not self.doubts_absences:
            return observed
        there = {pod.rank for pod in observed.gang(status)}
        ranks = fit(self.job, status.gang_size).ranks()
        names = {pod_name(self.job, rank) for rank in ranks if rank not in there}
        # An operator's cache has what it created itself, so also pods of ranks that an edit has taken away since.
        known = {pod.uid for pod in observed.pods}
        names |= {name for name in self.created if name in self.pods and self.pods[name].uid not in known}
        live = [self.pods[name] for name in names if name in self.pods]
        return replace(observed, pods=tuple(pod for pod in observed.pods if pod.name not in names) + tuple(live))

    def status(self) -> Status:
        if self.job.resource != PADDLE_JOBS:  # the statuses of other kinds name no pods
            return self.kept
        return PADDLEPADDLE.read_status({"status": self.raw, "spec": {}})

    def record(self, before: Status, after: Status) -> None:
        if before == after:
            return
        if after.gang_size != before.gang_size and not self.rewritten:
            self.judge_size(before, after)
        if after.cause is not None and after.cause.reason == "NodesNotAvoided" and after.cause != before.cause:
            self.judge_avoidance(before, after)
        what = self.what_happened.get(before.attempt)
        if after.attempt > before.attempt:
            self.grown_for_no_reason |= not what
            self.uncounted |= what == {"failure"} and after.restarts == before.restarts
        elif after.renewals != before.renewals and not self.rewritten:
            self.judge_renewals(before, after)
        # An edit after the end is told.
        told: dict[str, Any] = {
            "observed_generation": after.observed_generation, "roles": after.roles, "refs": after.refs,
        }  # fmt: skip
        if self.rewritten:  # what was dropped may be taken up again
            told["attempt"] = after.attempt
        self.left_its_end |= before.phase.terminal and after != replace(before, **told)
        self.lost_an_end |= before.phase.terminal and loses_an_end(before, after) and not self.rewritten
        self.note_record(after)
        if self.job.resource != PADDLE_JOBS:
            self.kept = after
            return
        self.raw = merge_patch(self.raw, PADDLEPADDLE.write_status(self.raw, after, self.now))
        demand(self.status() == after, "what is recorded is what is read back")

    def note_record(self, after: Status) -> None:
        self.latest = max(self.latest, after.attempt)
        if after.phase.terminal and self.end is None:
            self.end, self.last = after, tuple(fit(self.job, after.gang_size).ranks())
        for role, counts in after.roles.items():
            well = self.well.get((after.attempt, role), set())
            if well and counts.succeeded >= len(well):
                # The end of a pod that is being deleted may have been asked for.
                going = {pod.rank for pod in self.pods.values() if pod.deleting}
                self.counted.setdefault(after.attempt, set()).update(well - going)

    def judge_avoidance(self, before: Status, after: Status) -> None:
        seen = {pod.uid: pod for pod in self.pictures[self.seen].pods}
        waiting = [pod for pod in self.pods.values() if not seen.get(pod.uid, pod).node]
        refused = [pod for pod in waiting if self.now - (pod.created or 0) >= 120]
        demand(refused or self.seen < len(self.pictures) - 1, "a suspect is let go for pods that wait for two minutes")
        demand(set(after.suspects) < set(before.suspects), "what is let go is not avoided any more")
        # All that have no node are made anew, also those that have waited for less: they leave out the same nodes.
        for pod in waiting:
            self.note_pod(pod, "avoidance")

    def judge_size(self, before: Status, after: Status) -> None:
        bounds, role = self.job.elasticity, self.job.role("worker")
        assert role is not None
        if after.attempt == before.attempt:
            demand(not after.gang_size and role.wanted <= before.gang_size, "another size is another attempt")
            return
        self.note(before.attempt, "size")
        demand(bounds is not None, "only an elastic gang changes its size by itself")
        if bounds is not None and after.gang_size:
            demand(bounds.least <= after.gang_size < role.wanted, "a smaller gang has a size that is accepted")
        demand(after.attempt == before.attempt + 1, "another size is another attempt")

    def judge_renewals(self, before: Status, after: Status) -> None:
        renewed = [rank for rank in self.job.ranks() if after.renewal(rank) != before.renewal(rank)]
        asked = self.job.scope is RestartScope.POD or all_rejoin(self.job, renewed)
        demand(asked, "a rank starts again alone only on request, or where the others go on without it")
        demand(all(after.renewal(rank) == before.renewal(rank) + 1 for rank in renewed), "renewals are not skipped")
        whats = [self.ends.get((before.attempt, rank, before.renewal(rank)), set()) for rank in renewed]
        edited = "edit" in self.what_happened.get(before.attempt, ())  # ranks that it added have never had a pod
        demand(edited or all(whats), "a rank starts again only for a reason")
        self.uncounted |= all(what == {"failure"} for what in whats) and after.restarts == before.restarts

    def create(self, resource: Resource, manifest: Manifest) -> None:
        name = name_of(manifest)
        if (resource.plural, name) in self.children or (resource == PODS and name in self.pods):
            return  # AlreadyExists
        self.serial += 1
        uid = f"{name}#{self.serial}"
        if resource != PODS:
            self.children[resource.plural, name] = Child(resource, name, uid)
            return
        pod = read_pod({**manifest, "metadata": {**manifest["metadata"], "uid": uid}})
        assert pod is not None
        self.trained_again |= self.status().phase.terminal or self.end is not None
        self.trained_twice |= pod.rank in self.counted.get(pod.attempt, ()) and Fault.CLEARED in self.faults
        self.sizes[uid] = read_told_size(manifest)
        self.avoided[uid] = read_avoided(manifest)
        self.created.add(name)
        self.pods[name] = replace(pod, created=self.now)

    def delete(self, action: Delete, meant: str) -> None:
        """`meant`: the UID of the pod that was seen when this was decided."""
        if action.resource != PODS:
            child = self.children.get((action.resource.plural, action.key.name))
            if child and action.uid in ("", child.uid):
                del self.children[action.resource.plural, child.name]
            return
        pod = self.pods.get(action.key.name)
        if pod is None or action.uid not in ("", pod.uid):
            return  # NotFound, or Conflict: another pod has the name by now
        self.replacement_killed |= pod.uid != meant
        self.cut_short |= self.is_cut_short(pod)
        if pod.phase is PodPhase.PENDING:
            del self.pods[pod.name]
        else:
            self.pods[pod.name] = replace(pod, deleting=True)

    def is_cut_short(self, pod: Pod) -> bool:
        """Whether a container that ran on beside a program that had ended well is ended before its time."""
        end = self.end
        if not pod.lingers or pod.deleting or pod.phase is not PodPhase.SUCCEEDED or pod.exit is None:
            return False
        if end is None or end.phase is not Phase.COMPLETED or not end.holds(pod) or self.was_suspended:
            return False
        # A rank that ended in the last seconds that workers have takes no longer than they.
        if end.cause is None or end.cause.reason == "CompletedWithoutWorkers" or pod.exit.finished is None:
            return False
        there = set(fit(self.job, end.gang_size).ranks()).intersection(self.last)
        return pod.rank in there and self.now - pod.exit.finished < self.settings.end_wait - 1

    # The cluster.

    @rule(index=st.integers(0, 3))
    def advance(self, index: int) -> None:
        """The scheduler places a pod, or the kubelet starts it once its ConfigMap is there."""
        pod = self.pick(index)
        if pod is None or pod.deleting:
            return
        if pod.phase is PodPhase.PENDING:
            if sum(bool(each.node) and not each.ended for each in self.pods.values()) >= self.room:
                return
            node = next((each for each in self.nodes if each not in self.avoided[pod.uid]), None)
            if node is None:
                self.change(pod, waiting=("Unschedulable", "1 node(s) didn't match Pod's node affinity/selector"))
                return
            self.serial += 1
            address = f"127.0.1.{self.serial % 250}"
            self.change(pod, phase=PodPhase.STARTING, address=address, node=node, placed=self.now, waiting=None)
        elif pod.phase is PodPhase.STARTING and pod.spare:
            self.change(pod, waiting=("CreateContainerConfigError", f'configmap "{pod.name}-spare" not found'))
        elif pod.phase is PodPhase.STARTING and self.is_told(pod):
            self.change(pod, phase=PodPhase.RUNNING, started=self.now)

    @rule(index=st.integers(0, 3))
    def fail(self, index: int) -> None:
        self.finish(index, 1)

    @rule(index=st.integers(0, 3), code=st.sampled_from([0, 0, 1, 137, 250, 143]))
    def finish(self, index: int, code: int) -> None:
        pod = self.pick(index)
        if pod is None or pod.phase is not PodPhase.RUNNING:
            return
        if code or pod.rank.role == "ps":
            self.note_pod(pod, "failure")
        else:
            self.note_well(pod)
        phase = PodPhase.FAILED if code else PodPhase.SUCCEEDED
        self.change(pod, phase=phase, exit=Exit(code, finished=float(int(self.now))), lingering=self.beside)

    @rule(index=st.integers(0, 3))
    def lose(self, index: int) -> None:
        pod = self.pick(index)
        if pod is not None and not pod.ended:
            self.note_pod(pod, "disturbance")
            self.change(pod, phase=PodPhase.FAILED, exit=Exit(-1, "NodeLost"))

    @rule(index=st.integers(0, 3))
    def delete_by_hand(self, index: int) -> None:
        pod = self.pick(index)
        if pod is not None:
            self.note_deletion(pod)
            self.change(pod, deleting=True)

    @precondition(lambda self: Fault.CLEARED in self.faults)
    @rule(index=st.integers(0, 3))
    def clear_ended(self, index: int) -> None:
        """A pod that has ended, and all are told of that, is cleared away."""
        ended = [pod for pod in self.pods.values() if pod.ended]
        if ended:
            self.hear(2)
            self.one_pass("act, record")
        pod = self.pods.get(ended[index % len(ended)].name) if ended else None
        if pod is not None:
            self.note_deletion(pod)
            del self.pods[pod.name]
            self.picture()

    def note_deletion(self, pod: Pod) -> None:
        """Of a rank whose success was recorded nothing is lost."""
        counted = pod.ended and pod.rank in self.counted.get(pod.attempt, ())
        if not counted or Fault.CLEARED not in self.faults:
            self.note_pod(pod, "disturbance")

    @precondition(lambda self: Fault.DROPPED in self.faults)
    @rule()
    def drop_keys(self) -> None:
        """Another operator writes the status, without the keys that its types do not have."""
        if self.job.resource == PADDLE_JOBS:
            self.raw = {key: value for key, value in self.raw.items() if key in THEIR_KEYS["PaddleJob"]}
        else:
            phase = Phase.PENDING if self.kept.phase is Phase.STARTING else self.kept.phase
            kept = self.kept
            self.kept = Status(phase, roles=kept.roles, started=kept.started, finished=kept.finished)
        self.rewritten = True
        # Of a success without a pod nothing is left.
        there = {pod.rank for pod in self.pods.values() if pod.ended}
        self.counted = {attempt: ranks & there for attempt, ranks in self.counted.items()}
        for attempt in range(self.latest + 1):
            self.note(attempt, "rewrite")

    @rule()
    def reap(self) -> None:
        self.pods = {name: pod for name, pod in self.pods.items() if not pod.deleting}
        self.picture()

    @rule(seconds=st.sampled_from([0.4, 1, 7, 30]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    # The user.

    @rule(suspend=st.sampled_from([True, False, False, False]))
    def suspend(self, suspend: bool) -> None:
        self.was_suspended |= suspend
        self.edit(policies=replace(self.job.policies, suspend=suspend))

    @rule(workers=st.integers(1, 3))
    def resize(self, workers: int) -> None:
        roles = tuple(replace(role, replicas=workers) if role.name == "worker" else role for role in self.job.roles)
        self.edit(roles=roles)

    @rule(there=st.booleans())
    def foreign_object(self, there: bool) -> None:
        name = pod_name(self.job, self.job.ranks()[0])
        self.foreign = {name: Child(SERVICES, name, "somebody's")} if there else {}
        self.picture()

    def edit(self, **changes: Any) -> None:
        edited = replace(self.job, **changes)
        if edited != self.job:
            self.job = replace(edited, generation=self.job.generation + 1)
            self.note(self.status().attempt, "edit")

    # The truth.

    def truth(self) -> Observed:
        children = list(self.children.values())
        return Observed(
            pods=tuple(self.pods.values()),
            services=tuple(child for child in children if child.resource == SERVICES),
            config_maps=tuple(child for child in children if child.resource == CONFIG_MAPS),
            pod_group=next((child for child in children if child.resource == POD_GROUPS), None),
            foreign=tuple(self.foreign.values()),
            datasets=Datasets({"words": self.dataset} if self.dataset else {}),
        )

    def picture(self) -> None:
        self.pictures.append(self.truth())

    def pick(self, index: int) -> Pod | None:
        pods = list(self.pods.values())
        return pods[index % len(pods)] if pods else None

    def change(self, pod: Pod, **changes: Any) -> None:
        self.pods[pod.name] = replace(pod, **changes)
        self.picture()

    def is_told(self, pod: Pod) -> bool:
        """Whether the ConfigMap that the pod starts with is there, if it needs one."""
        return not needs_config_map(self.job) or ("configmaps", self.config_map(pod)) in self.children

    def config_map(self, pod: Pod) -> str:
        return config_map_name(self.job, pod.attempt)

    def note_well(self, pod: Pod) -> None:
        role = self.job.role(pod.rank.role)
        if role is not None and not role.serves:
            self.well.setdefault((pod.attempt, role.name), set()).add(pod.rank)

    def note(self, attempt: int, what: str) -> None:
        self.what_happened.setdefault(attempt, set()).add(what)

    def note_pod(self, pod: Pod, what: str) -> None:
        self.note(pod.attempt, what)
        self.ends.setdefault((pod.attempt, pod.rank, pod.renewal), set()).add(what)

    # What must hold.

    @invariant()
    def restarts_never_exceed_the_limit(self) -> None:
        limit = getattr(self, "job", None) and self.job.policies.backoff_limit
        if limit is None:
            return
        demand(self.status().restarts <= limit, "restarts never exceed the limit")

    @invariant()
    def one_gang_at_a_time(self) -> None:
        attempts = {pod.attempt for pod in self.pods.values()}
        demand(len(attempts) <= 1, "pods of two attempts never exist at once")
        ranks = [pod.rank for pod in self.pods.values()]
        demand(len(ranks) == len(set(ranks)), "there is at most one pod for each rank")
        ports = {pod.port for pod in self.pods.values() if not pod.spare}
        demand(len(ports) <= 1, "a gang has one port")
        told = {self.sizes[pod.uid] for pod in self.pods.values() if not (pod.spare or pod.deleting or pod.ended)}
        rejoin = hasattr(self, "job") and self.job.launch.elastic is not None  # by torchrun, at any size
        demand(len(told) <= 1 or rejoin, "the pods of a gang are told one size")

    @invariant()
    def nothing_forbidden_happened(self) -> None:
        demand(not self.began_without_data, "no attempt begins before its datasets are ready")
        demand(not self.uncounted, "a failed gang is never made again without being counted")
        demand(not self.replacement_killed, "the replacement is never killed")
        demand(not self.cut_short, "a container beside a program that has succeeded has its time")
        demand(not self.trained_again, "a finished job never trains again")
        demand(not self.trained_twice, "a rank whose success was recorded never trains again in its attempt")
        demand(not self.cleared_away, "an ended pod stays where its clean-up policy keeps it")
        demand(not self.left_its_end, "of what is recorded of a finished job the counts alone follow its pods")
        demand(not self.lost_an_end, "an end that was counted of a finished job counts for ever")
        demand(not self.grown_for_no_reason, "an attempt ends only for a reason")

    def teardown(self) -> None:
        """Calm: nobody disturbs, everything is heard, programs succeed. Every run settles."""
        if not hasattr(self, "job"):
            return
        self.foreign, self.dataset, self.room = {}, READY, 100
        self.doubts_absences = True
        for _ in range(80):
            self.deliver()
            self.reap()
            for index in range(4):
                self.advance(index)
            self.succeed_workers()
            self.hear(2)
            if self.at_rest():
                break
            self.one_pass("act, record")
            self.now += 20
        else:
            demand(False, f"every run settles: {self.status()}")
        self.nothing_forbidden_happened()
        self.clean_up_is_done()
        self.now += 86_400
        demand(self.at_rest(), "a job at rest stays at rest whatever time it is")

    @rule()
    def succeed_workers(self) -> None:
        for pod in list(self.pods.values()):
            if pod.phase is PodPhase.RUNNING and pod.rank.role != "ps":
                self.note_well(pod)
                end = Exit(0, finished=float(int(self.now)))
                self.change(pod, phase=PodPhase.SUCCEEDED, exit=end, lingering=self.beside)

    def at_rest(self) -> bool:
        status = self.status()
        if not status.phase.terminal and status.phase is not Phase.SUSPENDED:
            return False
        planned = self.planner(self.job, status, self.observe(status), self.now, self.settings)
        return planned == Plan(status)

    def clean_up_is_done(self) -> None:
        status, clean = self.status(), self.job.policies.clean_pods
        alive = [pod for pod in self.pods.values() if not pod.ended]
        demand(runs(status) == len(alive), "at rest, the pods that a job says it has are there, and no others")
        if status.phase is Phase.SUSPENDED:
            demand(not self.pods, "a suspended job holds no pods")
        elif status.phase is Phase.FAILED:
            demand(not alive, "no pod of a failed job runs on")
            if clean in (CleanPods.ALWAYS, CleanPods.ON_FAILURE):
                demand(not self.pods, "no pod survives its clean-up policy")
        elif clean in (CleanPods.ALWAYS, CleanPods.ON_COMPLETION):
            demand(not self.pods, "no pod survives its clean-up policy")
        elif clean is CleanPods.RUNNING:
            demand(not any(pod.lingers for pod in self.pods.values()), "a side-car holds no devices of a finished job")
            demand(not alive, "only pods that have ended survive")
        else:
            kept = {role.name for role in self.job.roles if not role.decides or self.job.one_decides}
            demand({pod.rank.role for pod in alive} <= kept, "of a completed job nobody runs on who was to decide")


class WorldWithData(World):
    """A job that mounts a Dataset, which comes and goes."""

    mounts = (Mount("words", "/data"),)

    @rule(phase=st.sampled_from([DatasetPhase.READY, None, *DatasetPhase]), percent=st.integers(0, 2))
    def fetch(self, phase: DatasetPhase | None, percent: int) -> None:
        """It is created, fetched, fetched again, failing, or deleted."""
        self.dataset = phase and replace(READY, phase=phase, percent=percent)
        self.picture()


class WorldWithBadNodes(World):
    """Two nodes that may both be lost, and that pods then avoid: `World.lose`, and an end without a word."""

    avoids_nodes = True
    nodes = ("gpu-1", "gpu-2")

    @rule(index=st.integers(0, 3))
    def crash(self, index: int) -> None:
        self.finish(index, 139)

    @rule()
    def wait_long(self) -> None:
        """For as long as a suspicion lasts."""
        self.now += 3600

    @invariant()
    def no_pod_runs_where_it_is_not_to(self) -> None:
        demand(
            not any(pod.node in self.avoided[pod.uid] for pod in self.pods.values()), "no pod runs where it is not to"
        )


class WorldWithSideCars(World):
    """Pods have other containers, of which some run on after the program, for a while or for ever."""

    beside = ("collector",)

    @rule(there=st.booleans())
    def bring(self, there: bool) -> None:
        """Programs that end from now on have such a container beside them, or none."""
        self.beside = ("collector",) if there else ()

    @rule(index=st.integers(0, 3))
    def end_beside(self, index: int) -> None:
        pod = self.pick(index)
        if pod is not None:
            self.change(pod, lingering=())


class WorldWithRoom(World):
    """An elastic job on machines that come and go."""

    elasticity = Elasticity("worker", 1, 3)
    room = 1

    @rule(room=st.integers(0, 5))
    def make_room(self, room: int) -> None:
        """Pods that have a node keep it."""
        self.room = room

    @rule(room=st.integers(1, 5))
    def go_on_with(self, room: int) -> None:
        """For long enough that a gang takes the size that fits."""
        self.room = room
        for _ in range(4):
            self.go_on(6, "act, record")
            self.now += 20

    @invariant()
    def spares_run_nothing(self) -> None:
        there = [pod for pod in self.pods.values() if pod.spare]
        demand(not any(pod.phase is PodPhase.RUNNING for pod in there), "a spare pod runs nothing")
        demand(not there or self.job.elasticity, "only an elastic job has spare pods")


class WorldWithEverything(WorldWithBadNodes, WorldWithRoom):
    """An elastic job in a queue of Kueue, with a claim for outputs and a limit for idle GPUs, whose nodes may be bad: a
    player of Kueue's plain pods holds each group until it is whole and admitted, and stops it again."""

    room = 100
    more = MappingProxyType(
        {"labels": {QUEUE_LABEL: "team"}, "outputs": "results", "idle": IdleLimit(3600, OnIdle.SUSPEND)}
    )

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        """Whether Kueue admits each group that is whole by itself."""

    def create(self, resource: Resource, manifest: Manifest) -> None:
        there = set(self.pods)
        super().create(resource, manifest)
        for name in set(self.pods) - there:
            pod = self.pods[name]
            gang = [each for each in self.pods.values() if each.name != name and not each.spare and not each.deleting]
            demand(
                pod.spare or all(each.queued == pod.queued for each in gang),
                "the pods of a gang are one group of Kueue's, or none of them is in one",
            )
            claims = [each.get("persistentVolumeClaim") for each in manifest["spec"]["volumes"]]
            demand({"claimName": "results"} in claims, "each pod has the claim for outputs")
            if pod.queued:
                self.pods[name] = replace(pod, waiting=GATED)

    @rule(index=st.integers(0, 3))
    def advance(self, index: int) -> None:
        if self.is_open:
            self.admit()
        pod = self.pick(index)
        if pod is None or pod.waiting != GATED:
            super().advance(index)

    @rule()
    def admit(self) -> None:
        """Kueue admits a group that is whole, all at once."""
        group = self.list_group()
        if len(group) >= fit(self.job, self.status().gang_size).size:
            for pod in group:
                if pod.waiting == GATED:
                    self.change(pod, waiting=None)

    @rule(why=st.sampled_from(["WorkloadEvictedDueToPreempted", "WorkloadEvictedDueToPodsReadyTimeout"]))
    def stop(self, why: str) -> None:
        """Kueue deletes the pods of the group and says why."""
        for pod in self.list_group():
            if not pod.ended:
                self.note_pod(pod, "queue")
                self.change(pod, deleting=True, disrupted=why)

    def list_group(self) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.queued and not pod.deleting]

    @rule(there=st.booleans())
    def label(self, there: bool) -> None:
        self.job = replace(self.job, labels={QUEUE_LABEL: "team"} if there else {})

    @rule()
    def be_idle(self) -> None:
        """Who looks at GPUs (`app.idle_jobs`) finds that those of this job do nothing."""
        watched = find_watched(self.job, self.status(), list(self.pods.values()))
        if watched is None or watched.does is not OnIdle.SUSPEND:
            return
        demand(not self.job.labels, "a job of a queue is not suspended, as Kueue would begin it again")
        self.was_suspended = True
        patch = build_suspension(watched)
        self.edit(
            policies=replace(self.job.policies, suspend=True),
            annotations={**self.job.annotations, **patch["metadata"]["annotations"]},
        )

    def record(self, before: Status, after: Status) -> None:
        super().record(before, after)
        if after.attempt > before.attempt and self.what_happened.get(before.attempt) == {"queue"}:
            same = (after.restarts, after.losses) == (before.restarts, before.losses)
            demand(same, "what Kueue stops is no restart and no loss")
        if after.cause is not None and after.cause.reason == "EvictedByQueue" and after.cause != before.cause:
            demand("queue" in self.what_happened.get(before.attempt, ()), "Kueue is named where it has stopped pods")

    def teardown(self) -> None:
        self.is_open = True
        super().teardown()
