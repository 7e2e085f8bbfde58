"""What must hold whatever happens, judged at every write that an operator gets through. A failure prints the sentence.

A write that was asked for before the record moved on is late: it may have been under way when its sender crashed, or
was deposed. What late writes leave behind is cleaned up, and only that may be demanded of them. Somebody's edit, or the
end of a job, may be unknown to its operator for a moment (`RACE`), and no longer. An operator that has just begun to
lead, and whose watch is behind, may make pods of a gang before the last pod of the one before is gone:
those wait for their ConfigMap, which needs the name of every rank.
"""

from __future__ import annotations

from jobs.simulated.faults import Fault
from jobs.simulated.manifests import KEY, KINDS, read_job, read_status
from jobs.simulated.store import Store, Write
from paddock.controllers.clock import HOLD
from paddock.jobs.labels import ATTEMPT_LABEL, JOB_LABEL, PORT_ANNOTATION, ROLE_LABEL
from paddock.jobs.model import Counts, Job, Phase, Status
from paddock.jobs.objects.observation import find_children, read_observed
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.plan import plan
from paddock.jobs.policies.fates import Situation, State, read_situation, read_state
from paddock.jobs.policies.success import SAME_TIME
from paddock.kube.meta import (
    PODS,
    Key,
    Manifest,
    Resource,
    annotations_of,
    controller_of,
    is_controlled_by,
    is_deleting,
    labels_of,
    name_of,
    uid_of,
)
from paddock.kube.times import read_time
from paddock.operator.freshness import PROVEN_SECONDS
from paddock.words.problems import InvalidJob

_VERDICTS = frozenset({
    "Completed", "CompletedServersKept", "RankFailed", "ServerEnded", "RankRestarted", "BackoffLimitExceeded",
    "PodsLost", "PodsDeleted", "LostTooOften",
})  # fmt: skip
"""Causes that tell how ranks ended."""

RACE = PROVEN_SECONDS + 1.0
"""Seconds for which a pod may be made of a job that was suspended, or is gone. Times of objects are whole seconds."""

KEEPING = (Situation.COMPLETED_KEPT, Situation.COMPLETED_STOPPED, Situation.FAILED_KEPT)
"""Of a finished job, whose ended pods stay."""

_OF_GROUPS = frozenset({Fault.GROUPS, Fault.ORPHANED})
_SIZES = ("WORLD_SIZE", "PADDLE_TRAINERS_NUM")


class Violation(AssertionError):
    """A rule that did not hold."""


class _Truth:
    """What an operator would see whose watches are never behind."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return self._store.find(resource, key)

    def children(self, resource: Resource, owner: Resource, key: Key) -> list[Manifest]:
        return find_children(self._store.all(resource), owner, key)


class Sentences:
    """`note` says what happened to an attempt, so that its end can be told from an end for no reason."""

    def __init__(self, store: Store, losses: int, faults: frozenset[Fault]) -> None:
        self._faults = faults
        self.broken: str = ""
        self.jumped_at = -HOLD
        """When somebody set the server's clock last, on the loop's own clock."""
        self.waits: list[float] = []
        """Seconds that each verdict on an end waited for other statuses."""
        self._losses = losses
        self._ends: dict[tuple[str, int], dict[str, tuple[int, float]]] = {}
        """Of each attempt's programs, by pod: the exit code, and when, by the server's clock."""
        self._told: dict[tuple[str, int], dict[str, tuple[float, float]]] = {}
        """Of those whose status has been told: when the program ended and when it was told, on the loop's own clock."""
        self._valid: dict[str, Job] = {}
        self._begun: dict[str, float] = {}
        """When all ranks of a job first ran, and when it ended, on the loop's own clock; by UID and word."""
        self._store = store
        self._happened: dict[tuple[str, int], set[str]] = {}
        self._late: set[str] = set()
        self._well: dict[tuple[str, int], dict[str, str]] = {}
        """Of each attempt's pods that ended well, as was told: the role, by name."""
        self._counted: dict[tuple[str, int], dict[str, float]] = {}
        """Those of them that a recorded status has counted."""
        self._latest: dict[str, int] = {}
        """The latest attempt that was recorded of a job, by UID, whatever somebody else has written since."""
        self._finished: dict[str, Status] = {}
        """How a job has ended, by UID."""
        self._rewritten: set[str] = set()
        """The UIDs of jobs whose status was written by somebody else."""
        self._suspended: dict[str, float] = {}
        """Since when somebody wants a job to be suspended, by UID."""
        store.audit = self.judge

    def demand(self, holds: object, sentence: str) -> None:
        """The first that breaks is kept: an operator would survive an exception."""
        if not holds and not self.broken:
            self.broken = sentence

    def note(self, pod: Manifest, what: str) -> None:
        owner = controller_of(pod) or {}
        self.note_attempt(str(owner.get("uid")), attempt_of(pod), what)

    def note_deletion(self, pod: Manifest) -> None:
        """Somebody deletes a pod. Of one whose success was recorded nothing is lost."""
        if self._counted_at(pod) is None:
            self.note(pod, "disturbance")

    def _counted_at(self, pod: Manifest) -> float | None:
        """When the success of its rank was recorded."""
        if Fault.CLEARED not in self._faults:
            return None
        attempt = (str((controller_of(pod) or {}).get("uid")), attempt_of(pod))
        return self._counted.get(attempt, {}).get(name_of(pod))

    def note_rewrite(self, uid: str, *, emptied: bool) -> None:
        """Another client writes the status. Of one that it has emptied, nothing is known any more."""
        self._rewritten.add(uid)
        for attempt in range(self._latest.get(uid, 0) + 1):
            self.note_attempt(uid, attempt, "rewrite")
        # Of a success without a pod nothing is left.
        there = {name_of(pod) for pod in self._store.all(PODS) if is_controlled_by(pod, uid)}
        for known, counted in self._counted.items():
            if known[0] == uid:
                self._counted[known] = {name: when for name, when in counted.items() if name in there and not emptied}
        if emptied:
            self._finished.pop(uid, None)

    def note_attempt(self, uid: str, attempt: int, what: str) -> None:
        self._happened.setdefault((uid, attempt), set()).add(what)

    def note_suspension(self, uid: str, suspended: bool) -> None:
        """What the manifest says from now on."""
        if suspended:
            self._suspended.setdefault(uid, self._store.steady())
        else:
            self._suspended.pop(uid, None)

    def note_end(self, pod: Manifest, code: int) -> None:
        """A program has ended, whether or not anybody knows."""
        owner = controller_of(pod) or {}
        ends = self._ends.setdefault((str(owner.get("uid")), attempt_of(pod)), {})
        ends[name_of(pod)] = (code, self._store.clock())

    def note_told(self, pod: Manifest, ended: float, *, well: bool) -> None:
        """The status of a program that ended has come to the API server."""
        owner = controller_of(pod) or {}
        attempt = (str(owner.get("uid")), attempt_of(pod))
        self._told.setdefault(attempt, {})[name_of(pod)] = (ended, self._store.steady())
        if well:
            self._well.setdefault(attempt, {})[name_of(pod)] = labels_of(pod)[ROLE_LABEL]

    def _note_counted(self, uid: str, after: Status) -> None:
        """As many as have ended well are counted of a role: then each of them is."""
        well = self._well.get((uid, after.attempt), {})
        for role, counts in after.roles.items():
            names = {name for name, each in well.items() if each == role}
            if names and counts.succeeded >= len(names):
                known = self._counted.setdefault((uid, after.attempt), {})
                known.update(dict.fromkeys(names - known.keys(), self._store.steady()))

    def _is_heard_out(self, attempt: tuple[str, int]) -> bool:
        """Whether the ends that are not told yet had their time, after the first that was told and the last that
        happened of those that were."""
        told, ends = self._told.get(attempt, {}), self._ends.get(attempt, {})
        if not told or len(told) == len(ends):
            return False
        since = max(min(moment for _, moment in told.values()), max(ended for ended, _ in told.values()))
        return self._store.steady() - since >= SAME_TIME - 1

    def judge(self, write: Write) -> None:
        late = write.issued != self._store.records
        if write.resource in KINDS:
            self._judge_job(write)
        elif write.verb == "create" and write.resource == PODS and write.after:
            self._judge_create(write.after, late, write)
        elif write.verb == "delete" and write.before:
            self._judge_delete(write)

    def _judge_job(self, write: Write) -> None:
        if write.before is not None and write.verb == "delete":
            self._judge_expiry(write, uid_of(write.before))
        if write.verb == "delete" or write.before is None or write.after is None:
            self._store.records += 1
            return
        before, after = read_status(write.before), read_status(write.after)
        uid = uid_of(write.after)
        if before.decisive() != after.decisive():
            self._store.records += 1
        job = self.read_valid(write.after)
        limit = job.policies.backoff_limit if job is not None else None
        self._note_times(uid, before, after)
        if job is not None and before.decisive() != after.decisive():
            self._judge_end(job, before, after, write)
            self._note_wait(before, after)
        self.demand(after.losses <= self._losses, "losses in a row never exceed their limit")
        self.demand(limit is None or after.restarts <= limit, "restarts never exceed the limit")
        self.demand(after.attempt >= before.attempt, "an attempt never goes back")
        latest = max(before.attempt, self._latest.get(uid, 0))  # what somebody else has dropped is taken up again
        self.demand(after.attempt <= latest + 1, "attempts are not skipped")
        self._latest[uid] = max(latest, after.attempt)
        self._note_counted(uid, after)
        if after.phase.terminal:
            self._finished.setdefault(uid, after)
        if before.phase.terminal:
            final = after == before.with_(
                attempt=after.attempt if uid in self._rewritten else before.attempt,
                observed_generation=after.observed_generation,
                last_valid=after.last_valid,
                roles=after.roles,
                refs=after.refs,
                finished=after.finished if self._cannot_be(before, write) else before.finished,
            )
            self.demand(final, "of what is recorded of a finished job the counts alone follow its pods")
            kept = not loses_an_end(before, after)
            self.demand(kept or uid in self._rewritten, "an end that was counted of a finished job counts for ever")
        if after.attempt > before.attempt:
            self._judge_new_attempt(uid, before, after)

    def _cannot_be(self, before: Status, write: Write) -> bool:
        """Whether the end that was recorded is to come, or before the job was made, by more than clocks may differ: it
        was recorded while the clock was set otherwise, and the time to live is counted from a new one."""
        created = read_time(write.after["metadata"]["creationTimestamp"]) if write.after else None
        if before.finished is None or created is None:
            return False
        return before.finished < created - 300 or before.finished > self._store.clock() + 300

    def read_valid(self, manifest: Manifest) -> Job | None:
        """The job as it is supervised: an edit that is not valid is not followed."""
        try:
            self._valid[uid_of(manifest)] = read_job(manifest)
        except InvalidJob:
            pass
        return self._valid.get(uid_of(manifest))

    def _note_wait(self, before: Status, after: Status) -> None:
        """An operator that was away, or was slow, made others wait longer: that is no wait of the rule."""
        if after.cause is None or after.cause.reason not in _VERDICTS:
            return
        waited = before.cause is not None and before.cause.reason == "WaitingForStatuses"
        since = before.cause.since if before.cause is not None and waited else None
        self.waits.append(0.0 if since is None else min(max(0.0, self._store.clock() - since), 2.0 * SAME_TIME))

    def _note_times(self, uid: str, before: Status, after: Status) -> None:
        now, clock = self._store.steady(), self._store.clock()
        if after.started is not None and before.started is None:
            self._begun[f"{uid} began"] = now - max(0.0, clock - after.started)
        if after.finished is not None and before.finished is None:
            self._begun[f"{uid} ended"] = now

    def _is_early(self, what: str, limit: float | None, write: Write) -> bool:
        """Whether so many seconds have not gone by, though somebody who watched the clock being set believes it."""
        now, since = self._store.steady(), self._begun.get(what)
        watched = write.read_since < self.jumped_at and now - self.jumped_at < HOLD
        return watched and limit is not None and since is not None and now - since < limit - 2

    def _judge_expiry(self, write: Write, uid: str) -> None:
        job = self._valid.get(uid)
        early = job is not None and self._is_early(f"{uid} ended", job.policies.ttl, write)
        self.demand(not early, "no job is deleted because somebody has set a clock")

    def _judge_end(self, job: Job, before: Status, after: Status, write: Write) -> None:
        reason = after.cause.reason if after.cause is not None else ""
        if reason == "DeadlineExceeded":
            early = self._is_early(f"{job.uid} began", job.policies.active_deadline, write)
            self.demand(not early, "no job fails because somebody has set a clock")
            return
        again = after.attempt > before.attempt or after.phase is Phase.FAILED
        what = self._happened.get((job.uid, before.attempt), set())
        ends = self._ends.get((job.uid, before.attempt), {})
        if not again or write.blind or what - {"failure"} or len(ends) != job.size:
            return
        if self._is_heard_out((job.uid, before.attempt)):
            return
        times = [moment for _, moment in ends.values()]
        well = {code for code, _ in ends.values()} == {0} and int(max(times)) - int(min(times)) < SAME_TIME
        self.demand(not well, "a gang whose ranks all ended well at the same time has succeeded")

    def _judge_new_attempt(self, uid: str, before: Status, after: Status) -> None:
        what = self._happened.get((uid, before.attempt))
        self.demand(what, "an attempt ends only for a reason")
        edited = {"edit", "rewrite"} & (what or set())  # ranks that it added, or made up, have never had a pod
        if after.cause is not None and after.cause.reason == "PodsDeleted" and not edited:
            gone = self._deleted(uid, before.attempt)
            self.demand(set(after.cause.args["ranks"]) <= gone, "only pods that went are said to have been deleted")
        counted = after.restarts > before.restarts
        self.demand(what != {"failure"} or counted, "a failed gang is never made again without being counted")
        self.demand(not counted or (what and "failure" in what), "what is nobody's fault is not counted")

    def _deleted(self, uid: str, attempt: int) -> set[str]:
        """Ranks of which a pod of this attempt was deleted, or was told to go."""
        events = (event for event in self._store.logs[PODS] if event.type == "DELETED" or is_deleting(event.object))
        pods = (event.object for event in events if is_controlled_by(event.object, uid))
        return {name_of(pod).removeprefix(f"{KEY.name}-") for pod in pods if attempt_of(pod) == attempt}

    def _judge_create(self, pod: Manifest, late: bool, write: Write) -> None:
        job, uid = self._owner(pod), str((controller_of(pod) or {}).get("uid"))
        if late:
            self._late.add(uid_of(pod))
            return
        if job is None:
            self.demand(write.asked - self._store.gone[uid] <= RACE, "no pod is made for a job that is gone")
            return
        unheard = write.asked - self._suspended.get(uid, write.asked)
        self.demand(unheard <= RACE, "who suspends a job is heard before its next pods are made")
        status = read_status(job)
        over = status.phase.terminal or uid in self._finished
        self.demand(not over, "a finished job never trains again")
        # A request that was on its way before the record creates a pod once the one of then is gone.
        counted = self._counted_at(pod)
        again = counted is not None and write.asked > counted
        self.demand(not again, "a rank whose success was recorded never trains again in its attempt")
        self.demand(status.phase is not Phase.SUSPENDED, "a suspended job gets no pods")
        unknown = uid in self._rewritten and not write.sure  # what somebody has just written, and nobody heard of
        self.demand(unknown or attempt_of(pod) == status.attempt, "no pod is made of an attempt that is not recorded")
        gang = [each for each in self.pods_of(job) if uid_of(each) not in self._late]
        alone = {attempt_of(each) for each in gang} == {status.attempt}
        self.demand(alone or write.blind, "a gang is gone before the next is made")
        if len({annotations_of(each).get(PORT_ANNOTATION) for each in self.pods_of(job)}) > 1:
            self.note(pod, "ports")
        if write.sure:
            self._judge_beginning(job, pod, gang, write)

    def _judge_beginning(self, job: Manifest, pod: Manifest, gang: list[Manifest], write: Write) -> None:
        """Of who has seen all that there is. What came within the last second is not judged."""
        before = write.asked - 1.0
        told = {read_told_size(each) for each in gang if not is_deleting(each) and attempt_of(each) == attempt_of(pod)}
        self.demand(len(told) <= 1, "the pods of a gang are told one size")
        first = len(gang) == 1 and not attempt_of(pod)
        former = [each for each in self._store.all(PODS) if self._is_former(each, job, before)]
        if Fault.FORMER in self._faults:
            self.demand(not (first and former), "the first pod of a job waits for all pods of a former one")
        group = write.group
        known = group is not None and self._store.made[uid_of(group)] <= before
        if not first or group is None or not known or not self._faults & _OF_GROUPS:
            return
        owned = controller_of(group) is not None or JOB_LABEL in labels_of(group)
        self.demand(not owned or is_controlled_by(group, uid_of(job)), "a gang is placed by a PodGroup of its own")

    def _is_former(self, pod: Manifest, job: Manifest, before: float) -> bool:
        owner = controller_of(pod)
        same = owner is not None and (owner["kind"], owner["name"]) == (job["kind"], name_of(job))
        return same and not is_controlled_by(pod, uid_of(job)) and self._store.made[uid_of(pod)] <= before

    def judge_start(self, pod: Manifest, told: Manifest) -> None:
        """A pod starts with this ConfigMap. No operator keeps a kubelet from somebody else's of that name."""
        owner = controller_of(told)
        if owner is None or Fault.KEPT not in self._faults:
            return
        own = owner == controller_of(pod) and attempt_of(told) == attempt_of(pod)
        self.demand(own, "a pod that starts reads the endpoints of its own attempt")

    def _judge_delete(self, write: Write) -> None:
        assert write.before is not None
        owner = controller_of(write.before)
        # It may have lost its owner when the request was on its way, or a moment before that.
        orphaned = self._store.orphaned.get(uid_of(write.before))
        unheard = orphaned is not None and write.asked - orphaned <= RACE
        self.demand(owner is not None or unheard, "what is somebody else's is left alone")
        job = self._owner(write.before)
        if job is None or write.resource != PODS:
            return
        if write.sure and write.issued == self._store.records:
            self._judge_clearing(write.before, job)
        status = read_status(job)
        doomed = is_deleting(write.before)  # by somebody else; on a lost node the operator ends what they began
        in_use = not status.phase.terminal and status.phase is not Phase.SUSPENDED and not doomed
        self.demand(not in_use or attempt_of(write.before) != status.attempt, "the replacement is never killed")

    def _judge_clearing(self, pod: Manifest, manifest: Manifest) -> None:
        end, job = self._finished.get(uid_of(manifest)), self.read_valid(manifest)
        if end is None or job is None or is_deleting(manifest) or attempt_of(pod) != end.attempt:
            return
        ended = read_state(read_pod(pod), self._store.clock()) is State.ENDED  # and nothing of it runs on
        kept = read_situation(job, end) in KEEPING
        self.demand(not (ended and kept), "an ended pod stays where its clean-up policy keeps it")

    def judge_running(self, pods: dict[str, Manifest], told: dict[str, Manifest]) -> None:
        """`pods` by rank's name, all running; `told`: the ConfigMap's data that each started with, by UID.

        What is asked of a server before a pod goes may be done after it has come again: a ConfigMap, or a pod. Such a
        gang is made anew by whoever looks at it next (`policies.addresses`)."""
        data = [told[uid_of(pod)] for pod in pods.values()]
        if not all(data):
            return  # a ConfigMap of somebody else, which came between: no operator can keep a kubelet from it
        if self._is_to_be_made_anew(next(iter(pods.values()))):
            return
        self.demand(all(each == data[0] for each in data), "a gang was told one and the same list")
        hosts = {pod["status"]["podIP"] for name, pod in pods.items() if "-worker-" in name} | set(pods)
        listed = [endpoint.rpartition(":") for endpoint in data[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")]
        self.demand(all(host in hosts for host, _, _ in listed), "the endpoints of a gang that runs are its own")
        ports = {annotations_of(pod).get(PORT_ANNOTATION, data[0]["PADDLE_PORT"]) for pod in pods.values()}
        self.demand(ports == {port for _, _, port in listed}, "a gang that runs has one port, and knows it")

    def _is_to_be_made_anew(self, pod: Manifest) -> bool:
        owner = self._owner(pod)
        if owner is None or is_deleting(owner):
            return True
        job, status = self.read_valid(owner), read_status(owner)
        if job is None:
            return True
        observed = read_observed(job, status.attempt, _Truth(self._store), pod_groups=None)
        return plan(job, status, observed, self._store.clock()).status.attempt > status.attempt

    def pods_of(self, job: Manifest) -> list[Manifest]:
        return [pod for pod in self._store.all(PODS) if is_controlled_by(pod, uid_of(job))]

    def ends_of(self, job: Manifest | None) -> list[Manifest]:
        """The job's pods that have ended and stay, as far as their kubelets have told."""
        pods = [] if job is None else self.pods_of(job)
        return [pod for pod in pods if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")]

    def _owner(self, pod: Manifest) -> Manifest | None:
        jobs = (job for resource in KINDS for job in self._store.all(resource))
        return next((job for job in jobs if is_controlled_by(pod, uid_of(job))), None)


def loses_an_end(before: Status, after: Status) -> bool:
    """Whether a role has fewer ends, or another size, than before."""
    return any(
        (old := before.roles[name]).wanted != (new := after.roles.get(name, Counts())).wanted
        or new.succeeded < old.succeeded
        or new.failed < old.failed
        for name in before.roles
    )


def runs(status: Status) -> int:
    """How many pods have not ended, as the status tells."""
    return sum(counts.pending + counts.starting + counts.running for counts in status.roles.values())


def read_told_size(pod: Manifest) -> str:
    """How many ranks the program is told that there are; empty where its ConfigMap tells it."""
    entries = [entry for each in pod["spec"]["containers"] for entry in each.get("env") or ()]
    return next((str(entry.get("value")) for entry in entries if entry["name"] in _SIZES), "")


def attempt_of(pod: Manifest) -> int:
    return int(labels_of(pod).get(ATTEMPT_LABEL, 0))
