"""A hostile little world around two real operators: what may happen in it, and that it comes to rest when it is let be.

`ACTIONS` is the whole list of what may happen, each with the largest numbers that it takes. Whoever chooses, Hypothesis
(`test_simulation`) or a seed (`run_seed`), chooses from it. The sentences that must hold are in `sentences`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from jobs.simulated.cluster import CHILDREN, NODE_NAMES, Cluster
from jobs.simulated.faults import FAULTS, Fault
from jobs.simulated.loop import Spinning, VirtualLoop
from jobs.simulated.manifests import (
    KEY,
    THEIR_KEYS,
    WRONG,
    Start,
    build_manifest,
    build_pod_spec,
    build_role,
    choose_start,
    read_status,
)
from jobs.simulated.process import ERRORS, Perform, Process, Sabotage
from jobs.simulated.sentences import Sentences, Violation, attempt_of, runs
from jobs.simulated.store import Store
from paddock.controllers.clock import HOLD
from paddock.jobs.labels import ROLE_LABEL
from paddock.jobs.model import Phase, Settings
from paddock.kube.errors import ApiError
from paddock.kube.meta import CONFIG_MAPS, POD_GROUPS, PODS, SERVICES, Manifest, is_deleting, labels_of, uid_of
from paddock.operator.election import RENEW_PERIOD
from paddock.operator.metrics import UNMEASURED, Measures

EPOCH = 1_700_000_000.0

HOLDS_NOTHING = Sabotage()
_DAY = 86_400.0
_DAYS = 10**9
LOSSES = 2
"""The bound of losses in a row: few, so that runs reach it."""

HEARD = 90.0
"""Seconds, once nothing is held back any more, until each end that its kubelet has told is recorded, and a failure is
judged: a verdict waits for 20, and who met errors for as long as `controllers.queue.LONGEST_DELAY`."""

SILENCE = 150.0
"""For so much longer at most a watch may have died in silence: two bookmarks and a half."""

_SET_BACK = 7200.0


class World:
    """Raises `Violation` as soon as a sentence does not hold."""

    def __init__(
        self,
        start: Start,
        sabotage: Sabotage = HOLDS_NOTHING,
        measures: Measures = UNMEASURED,
        faults: Collection[Fault] = FAULTS,
    ) -> None:
        self.faults = frozenset(faults)
        self.loop = VirtualLoop()
        self._skew = 0.0
        self.store = Store(lambda: EPOCH + self.loop.now + self._skew, self.loop.time)
        self.sentences = Sentences(self.store, LOSSES, self.faults)
        evicted = "Preempting" if sabotage.forgives_evictions else "Evicted"
        self.cluster = Cluster(self.store, self.sentences, self.faults, evicted=evicted)
        self.in_flight: list[Perform] = []
        self._start, self._kind = start, start.api.resource
        settings = Settings(
            pod_groups=POD_GROUPS if start.gangs else None,
            shared_network=start.shared,
            status_wait=0.0 if sabotage.hears_no_end_out else Settings().status_wait,
            loss_limit=_DAYS if sabotage.bounds_no_losses else LOSSES,
        )
        self.processes = [Process(self.store, self.loop, settings, sabotage, measures) for _ in range(2)]
        self.processes[0].lead.take()
        self.store.tell = self._tell
        # Who leads has led for a while when the job comes, as mostly.
        self.after()
        self._advance(2)
        self._submit()
        self.after()

    def act(self, name: str, *numbers: int) -> None:
        if ACTIONS[name].may_happen(self.faults):
            ACTIONS[name].does(self, *numbers)
            self.after()

    def after(self) -> None:
        self.loop.drain()
        for process in self.processes:
            process.client.write_what_was_recorded()
            self.sentences.demand(not process.ended(), f"no operator ends by itself: {process.ended()}")
            self.sentences.demand(not process.client.bugs, f"no pass raises: {process.client.bugs}")
            if process.client.dead:
                self.in_flight += process.crash()
        self.loop.drain()
        if self.sentences.broken:
            raise Violation(self.sentences.broken)

    def close(self) -> None:
        self.loop.close()

    def _tell(self, resource: Any) -> None:
        for process in self.processes:
            process.tell(resource)

    @property
    def job(self) -> Manifest | None:
        return self.store.find(self._kind, KEY)

    def _submit(self) -> None:
        if self.job is None:
            self.store.records += 1
            self.store.create(self._kind, build_manifest(self._start))

    # What may happen.

    def go_on(self, rounds: int) -> None:
        """Nothing special for a while, so that runs get far."""
        for _ in range(rounds + 1):
            self._be_kind(8 * rounds)
            self.after()
            self.cluster.reap()
            for number in range(4):
                self.cluster.advance(number)
            self.after()
            self._advance(4)

    def _advance(self, seconds: float) -> None:
        self.cluster.pass_time(seconds)
        self.after()
        self.loop.advance(seconds)
        if seconds >= RENEW_PERIOD:
            for process in self.processes:
                if process.alive:
                    process.client.read_date()

    def _be_kind(self, back: int) -> None:
        """To whoever leads. A standby may go on lagging, and dying between two requests is never excluded."""
        if not any(process.lead.leads for process in self.processes):
            self.elect(back // 8 % 2, back)
        for process in self.processes:
            if process.lead.leads:
                process.hear_all()
                process.client.serve_all()

    def wait(self, number: int) -> None:
        self._advance((0.4, 1, 7, 35, 120)[number])

    def begin(self, which: int, back: int) -> None:
        if not self.processes[which].alive:
            self.processes[which].start(back)

    def elect(self, which: int, back: int) -> None:
        """The other leads no more; what it has begun goes on."""
        self.begin(which, back)
        self.processes[1 - which].lead.leads = False
        self.processes[which].lead.take()

    def crash(self, which: int, after: int) -> None:
        """Now, or between two of its next requests."""
        if after:
            self.processes[which].client.dies_in = after - 1
        elif self.processes[which].alive:
            self.in_flight += self.processes[which].crash()

    def deliver(self, number: int) -> None:
        """A request of a process that is dead arrives after all; once in a while twice."""
        if self.in_flight:
            index = number % len(self.in_flight)
            perform = self.in_flight[index] if number % 3 == 0 else self.in_flight.pop(index)
            try:
                perform()
            except ApiError:
                pass

    def lose_requests(self) -> None:
        self.in_flight.clear()

    def slow(self, which: int) -> None:
        self.processes[which].client.slow = True

    def serve(self, which: int, number: int) -> None:
        self.processes[which].client.serve(number)

    def refuse(self, which: int, fault: int, more: int) -> None:
        self.processes[which].client.faults.extend([ERRORS[fault]] * (more + 1))

    def hold(self, which: int, kind: int) -> None:
        watch = self.processes[which].watch(kind)
        if watch is not None:
            watch.held = True

    def hear(self, which: int, kind: int, events: int) -> None:
        watch = self.processes[which].watch(kind)
        if watch is not None:
            watch.pull(events + 1 if events < 4 else None)

    def cut(self, which: int, kind: int) -> None:
        watch = self.processes[which].watch(kind)
        if watch is not None:
            watch.cut()

    def deafen(self, which: int, kind: int) -> None:
        self.processes[which].deafen(kind)

    def end_together(self, number: int, code: int) -> None:
        """Mostly all end well. Often one kubelet is quicker than the others."""
        self.cluster.end_together(number, (0, 0, 0, 1)[code])
        if number % 2:
            self.cluster.tell(number)

    def finish_unheard(self, number: int, code: int) -> None:
        """A program ends after the watch of whoever leads has died."""
        for process in self.processes:
            if process.lead.leads and process.alive:
                process.deafen(list(process.client.watches).index(PODS))
        self.cluster.finish(number, code)

    def clear_ended(self, number: int) -> None:
        """One program ends well, its end is told, and somebody clears the pod away."""
        self.cluster.finish(number, 0)
        self._advance(2)
        self.cluster.clear_ended(number)

    def suspend(self, number: int) -> None:
        self._edit({"runPolicy": {"suspend": number == 0}})

    def edit_unheard(self, what: int) -> None:
        """What somebody does comes late to whoever leads."""
        for process in self.processes:
            if process.lead.leads and process.alive:
                process.client.watches[self._kind].held = True
        (lambda: self.suspend(0), lambda: self.suspend(1), lambda: self.resize(1), lambda: self.remove(0))[what]()

    def resize(self, workers: int) -> None:
        self._edit(build_role(self._start, "worker", {"replicas": workers + 1}))

    def spoil(self, number: int) -> None:
        """An edit that is not valid; or it is put right."""
        template = {"template": {"spec": WRONG if number else build_pod_spec(self._start)}}
        edited = build_role(self._start, "worker", template)
        if number and self.job is not None:
            self.store.change(self._kind, KEY, {"spec": edited})
        elif not number:  # what was edited meanwhile is followed from now on
            self._edit(edited)

    def set_clock(self, number: int) -> None:
        """Somebody sets the API server's clock."""
        self._skew += (_SET_BACK, -_SET_BACK, 90.0)[number]
        self.sentences.jumped_at = self.loop.now

    def _edit(self, spec: Manifest) -> None:
        before = self.job
        if before is not None and self.store.change(self._kind, KEY, {"spec": spec}) is not before:
            self.sentences.note_attempt(uid_of(before), read_status(before).attempt, "edit")
            if "suspend" in spec.get("runPolicy", {}):
                self.sentences.note_suspension(uid_of(before), spec["runPolicy"]["suspend"])

    def rewrite(self, keys: Callable[[Manifest], Manifest]) -> None:
        """Somebody else writes the status: `keys` gives what is to be changed of it."""
        job = self.job
        if job is None or not job.get("status"):
            return
        emptied = self.store.change(self._kind, KEY, {"status": keys(job["status"])})
        if emptied is not job:
            self.store.records += 1
            self.sentences.note_rewrite(uid_of(job), emptied=not emptied["status"])

    def drop_keys(self) -> None:
        theirs = THEIR_KEYS[self._start.kind]
        self.rewrite(lambda status: {key: None for key in status if key not in theirs})

    def obstruct(self, kind: int) -> None:
        resource, name = ((PODS, "demo-worker-0"), (SERVICES, "demo-worker-0"), (CONFIG_MAPS, "demo"))[kind]
        self.cluster.obstruct(resource, name)

    def remove(self, foreground: int) -> None:
        if self.job is not None:
            self.store.records += 1
            if foreground:
                self.store.mark_deleting(self._kind, KEY)
            else:
                self.store.remove(self._kind, KEY)

    def remove_from_lost_node(self) -> None:
        """Somebody deletes the job, in the foreground, as its node does nothing."""
        self.cluster.reach(False, NODE_NAMES[-1])
        self.remove(1)

    def submit_again(self) -> None:
        self._submit()

    def submit_other(self, ps: int, workers: int) -> None:
        """In place of the job one of its name with other roles, as by `kubectl replace --force`."""
        self.remove(0)
        self.after()
        self._start = replace(self._start, ps=ps, workers=workers + 1)
        self._advance(2)
        self._submit()

    def submit_beside(self, orphaned: int) -> None:
        """In place of the job one of its name, whose PodGroup is another job's; or one that was deleted without what it
        owned."""
        self.remove(0)
        self.after()
        if not orphaned:
            self.cluster.give_group_away()
        elif Fault.ORPHANED in self.faults:
            self.cluster.orphan()
        self._advance(2)
        self._submit()

    # What must be so in the end.

    def settle(self) -> None:
        """Calm: nobody disturbs, everything is heard, programs succeed. Every run comes to rest."""
        self.cluster.clear()
        self._find_nodes()
        if self.job is not None and not read_status(self.job).last_valid:
            self.spoil(0)  # nobody has ever seen what it asked for
        for process in self.processes:
            process.client.dies_in = None
            if process.alive:
                process.hear_all()
                process.client.serve_all()
        while self.in_flight:
            self.deliver(1)
        self._demand_noticed()
        for watch in (watch for process in self.processes for watch in process.client.watches.values()):
            watch.deafen(0)
        # Nothing is forced while the clock is doubted, for twice `HOLD` at most; and a pod that should go by a time
        # of before it was set back is late only then.
        for _ in range(100 + int((2 * HOLD + 3 * _SET_BACK) / 20)):
            sent = self._sent()
            if self.job is None:  # nobody forces what is left of it
                self._find_nodes()
            self.cluster.collect()
            self.go_on(0)
            for number in range(4):
                pod = self.cluster.pick(number)
                if pod is not None and labels_of(pod)[ROLE_LABEL] != "ps":
                    self.cluster.finish(number, 0)
            self.after()
            self._advance(20)
            self.after()
            # Who leads may have died between two of its requests, and nothing is sent because nobody leads.
            if self._sent() == sent and self._ended() and self._is_led():
                break
        else:
            raise Violation(f"every run settles: {(self.job or {}).get('status')}")
        self._demand_clean_up()
        self._demand_rest()

    def _find_nodes(self) -> None:
        """Lost nodes are back; or one is never again, as far as there are others."""
        deleted = self.job is not None and is_deleting(self.job)
        lost = self.job is not None and (Fault.LOST_DELETED if deleted else Fault.LOST) in self.faults
        for name in NODE_NAMES[: 1 if lost else None]:
            self.cluster.reach(True, name)
        self.cluster.evict_from_lost_nodes()

    def _demand_noticed(self) -> None:
        """What happened while watches lagged is known soon after they do no more."""
        self._be_kind(0)
        for _ in range(3):  # what has just ended is told one after the other
            self._advance(4)
        before = self.sentences.ends_of(self.job)
        self._advance(HEARD + (SILENCE if Fault.DEAF in self.faults else 0.0))
        self.after()
        if self.job is None or is_deleting(self.job):
            return
        status, demand = read_status(self.job), self.sentences.demand
        if status.phase.terminal or status.phase is Phase.SUSPENDED:
            return
        for role, counts in status.roles.items():
            ended = [pod for pod in before if labels_of(pod)[ROLE_LABEL] == role and attempt_of(pod) == status.attempt]
            demand(counts.succeeded + counts.failed >= len(ended), "an end is recorded soon after it was told")
        failed = [pod for pod in before if pod["status"]["phase"] == "Failed" and attempt_of(pod) == status.attempt]
        demand(not failed, "a failure is judged soon after it was told")
        self.after()

    def _is_led(self) -> bool:
        return any(process.alive and process.lead.leads for process in self.processes)

    def _sent(self) -> int:
        return sum(process.client.sent for process in self.processes)

    def _ended(self) -> bool:
        if any(is_deleting(pod) for pod in self.store.all(PODS)):
            return False
        if self.job is None:
            return not any(self.store.all(resource) for resource in CHILDREN)
        status = read_status(self.job)
        return not is_deleting(self.job) and (status.phase.terminal or status.phase is Phase.SUSPENDED)

    def _demand_rest(self) -> None:
        """But for its time to live, after which nothing of it is left."""
        mortal = self.job is not None and self._start.ttl is not None and read_status(self.job).phase.terminal
        before = self._sent()
        self.loop.advance(_DAY)
        self.after()
        if mortal:
            self.sentences.demand(self.job is None, "a finished job goes when its time is over")
        else:
            self.sentences.demand(self._sent() == before, "at rest nothing is asked and nothing is written")
        self.after()

    def _demand_clean_up(self) -> None:
        job = self.sentences.read_valid(self.job) if self.job is not None else None
        if self.job is None or job is None:
            return
        demand, status = self.sentences.demand, read_status(self.job)
        pods = self.sentences.pods_of(self.job)
        alive = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
        clean, ended = job.policies.clean_pods.value, status.phase.value
        demand(runs(status) == len(alive), "at rest, the pods that a job says it has are there, and no others")
        if status.phase is Phase.SUSPENDED:
            demand(not pods, "a suspended job holds no pods")
        elif clean == "Always" or (clean, ended) in (("OnFailure", "Failed"), ("OnCompletion", "Completed")):
            demand(not pods, "no pod survives its clean-up policy")
        elif ended == "Failed" or clean == "Running":
            demand(not alive, "no pod of a failed job runs on")
        else:
            kept = {role.name for role in job.roles if not role.decides}
            running = {labels_of(pod)[ROLE_LABEL] for pod in alive}
            demand(running <= kept, "of a completed job nobody runs on who was to decide")
        demand(not self.store.all(POD_GROUPS), "a job that is over holds no place in a queue")
        self.after()


@dataclass(frozen=True, slots=True)
class Action:
    """`most`: the largest of each number that it takes. `weight`: how often it comes, against the others. `faults`: it
    happens in worlds that have one of these; empty for all."""

    does: Callable[..., None]
    most: tuple[int, ...] = ()
    weight: int = 2
    faults: frozenset[Fault] = frozenset()

    def may_happen(self, faults: frozenset[Fault]) -> bool:
        return not self.faults or bool(self.faults & faults)


ACTIONS: dict[str, Action] = {
    "go_on": Action(World.go_on, (4,), 12),
    "wait": Action(World.wait, (4,), 4),
    "begin": Action(World.begin, (1, 30), 6),
    "elect": Action(World.elect, (1, 30), 6),
    "crash": Action(World.crash, (1, 8), 5),
    "deliver": Action(World.deliver, (11,), 4),
    "lose_requests": Action(World.lose_requests, (), 1),
    "slow": Action(World.slow, (1,), 4),
    "serve": Action(World.serve, (1, 3), 16),
    "refuse": Action(World.refuse, (1, len(ERRORS) - 1, 1), 3),
    "hold": Action(World.hold, (1, 5), 6),
    "hear": Action(World.hear, (1, 5, 4), 5),
    "cut": Action(World.cut, (1, 5), 3),
    "deafen": Action(World.deafen, (1, 5), 2, frozenset({Fault.DEAF})),
    "advance": Action(lambda world, number: world.cluster.advance(number), (3,), 12),
    "finish": Action(lambda world, number, code: world.cluster.finish(number, (0, 1, 137, 250)[code]), (3, 3), 5),
    "end_together": Action(World.end_together, (9, 3), 4),
    "tell": Action(lambda world, number: world.cluster.tell(number), (3,), 6),
    "spoil": Action(World.spoil, (2,), 1),
    "set_clock": Action(World.set_clock, (2,), 2),
    "lose": Action(lambda world, number: world.cluster.lose(number), (3,), 2),
    "delete_by_hand": Action(lambda world, number: world.cluster.delete_by_hand(number), (3,), 3),
    "reap": Action(lambda world: world.cluster.reap(), (), 5),
    "finish_unheard": Action(World.finish_unheard, (3, 1), 2, frozenset({Fault.DEAF})),
    "clear_ended": Action(World.clear_ended, (7,), 3, frozenset({Fault.CLEARED})),
    "drop_keys": Action(World.drop_keys, (), 2, frozenset({Fault.DROPPED})),
    "reopen": Action(lambda world: world.rewrite(lambda _: {"phase": "Running"}), (), 2, frozenset({Fault.REOPENED})),
    "empty": Action(lambda world: world.rewrite(dict.fromkeys), (), 4, frozenset({Fault.EMPTIED})),
    "reach": Action(lambda world, number, node: world.cluster.reach(number > 0, NODE_NAMES[node]), (7, 1), 3),
    "collect": Action(lambda world: world.cluster.collect(), (), 2),
    "suspend": Action(World.suspend, (3,), 2),
    "resize": Action(World.resize, (2,), 2),
    "edit_unheard": Action(World.edit_unheard, (3,), 6),
    "obstruct": Action(World.obstruct, (2,), 1),
    "clear": Action(lambda world: world.cluster.clear(), (), 2),
    "remove": Action(World.remove, (1,), 1),
    "remove_from_lost_node": Action(World.remove_from_lost_node, (), 1, frozenset({Fault.LOST_DELETED})),
    "submit_again": Action(World.submit_again, (), 2),
    "submit_other": Action(World.submit_other, (1, 2), 2, frozenset({Fault.FORMER, Fault.KEPT, Fault.LOST})),
    "submit_beside": Action(World.submit_beside, (1,), 2, frozenset({Fault.GROUPS, Fault.ORPHANED})),
}


@dataclass(frozen=True, slots=True)
class Run:
    """How one seed went: its steps, and the sentence that broke, if any. `waits`: seconds that each verdict on an end
    waited for other statuses."""

    seed: int
    steps: int
    broken: str = ""
    story: tuple[str, ...] = ()
    waits: tuple[float, ...] = ()


def run_seed(
    seed: int, length: int = 120, sabotage: Sabotage = HOLDS_NOTHING, faults: Collection[Fault] = FAULTS
) -> Run:
    random, story = Random(seed), list[str]()
    start = choose_start(random)
    world = World(start, sabotage, faults=faults)
    actions = {name: action.weight for name, action in ACTIONS.items() if action.may_happen(world.faults)}
    try:
        for name in random.choices(list(actions), list(actions.values()), k=length):
            numbers = [random.randint(0, most) for most in ACTIONS[name].most]
            story.append(f"{name}({', '.join(map(str, numbers))})")
            world.act(name, *numbers)
        world.settle()
    except (Violation, Spinning) as violation:
        return Run(seed, len(story), str(violation), (str(start), *story))
    finally:
        world.close()
    return Run(seed, len(story), "", (str(start), *story), tuple(world.sentences.waits))
