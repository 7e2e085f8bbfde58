"""The operator and its plan in hostile little worlds (`simulated`): whatever happens, the sentences hold.

A simulation that cannot fail proves nothing: each of the rules 1, 3 and 4 of docs/architecture.md is taken out, and
each of those by which a job is judged, and must be missed within 20,000 steps. `make simulate` makes a million.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as HypothesisPhase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from jobs.simulated.faults import FAULTS, NOT_YET, Fault
from jobs.simulated.kubelets import Kubelet
from jobs.simulated.manifests import APIS, CLEAN, Start, read_status
from jobs.simulated.planned import (
    SHAPES,
    World,
    WorldWithBadNodes,
    WorldWithData,
    WorldWithEverything,
    WorldWithRoom,
    WorldWithSideCars,
)
from jobs.simulated.sabotaged import ActsAtOnce, BelievesAbsences, DeletesByName
from jobs.simulated.sentences import Violation
from jobs.simulated.world import ACTIONS, Run, Sabotage, run_seed
from jobs.simulated.world import World as OperatorWorld
from paddock.jobs.model import CleanPods, Phase, PodPhase, RestartPolicy
from paddock.kube.calls import Call, Create, Delete
from paddock.kube.meta import CONFIG_MAPS, PODS, Manifest, key_of, uid_of

QUICK = settings(stateful_step_count=60, suppress_health_check=list(HealthCheck), database=None)
STARTS = st.builds(
    Start,
    kind=st.sampled_from(list(APIS)),
    ps=st.integers(0, 1),
    workers=st.integers(1, 2),
    never=st.booleans(),
    limit=st.sampled_from([None, 0, 1, 2]),
    clean=st.sampled_from(CLEAN),
    deadline=st.sampled_from([None, 300]),
    ttl=st.sampled_from([None, 100]),
    intranet=st.sampled_from(["PodIP", "Service"]),
    gangs=st.booleans(),
    shared=st.booleans(),
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Operators that are killed and refused complain, as they should."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Machine(RuleBasedStateMachine):
    """The whole operator; what may happen is `ACTIONS`, from which the rules below are made."""

    world: OperatorWorld | None = None

    @initialize(start=STARTS)
    def submit(self, start: Start) -> None:
        self.world = OperatorWorld(start)

    def teardown(self) -> None:
        if self.world is None:
            return
        try:
            if not self.world.sentences.broken:
                self.world.settle()
        finally:
            self.world.close()


def _build_rule(name: str, most: tuple[int, ...]) -> Callable[..., Any]:
    def act(self: Machine, **numbers: int) -> None:
        assert self.world is not None
        self.world.act(name, *numbers.values())

    act.__name__ = name
    return rule(**{f"number_{index}": st.integers(0, high) for index, high in enumerate(most)})(act)


for _name, _action in ACTIONS.items():
    setattr(Machine, _name, _build_rule(_name, _action.most))

TestWorld = World.TestCase
TestWorld.settings = QUICK
TestWorldWithData = WorldWithData.TestCase
TestWorldWithData.settings = QUICK
TestWorldWithRoom = WorldWithRoom.TestCase
TestWorldWithRoom.settings = QUICK
TestWorldWithBadNodes = WorldWithBadNodes.TestCase
TestWorldWithBadNodes.settings = QUICK
TestWorldWithSideCars = WorldWithSideCars.TestCase
TestWorldWithSideCars.settings = QUICK
TestWorldWithEverything = WorldWithEverything.TestCase
TestWorldWithEverything.settings = QUICK
TestOperator = Machine.TestCase
TestOperator.settings = QUICK


@pytest.mark.slow
@pytest.mark.parametrize("sabotaged", [ActsAtOnce, DeletesByName, BelievesAbsences])
def test_a_plan_with_a_rule_taken_out_is_caught_within_10000_steps(sabotaged: type[World]) -> None:
    search = settings(QUICK, max_examples=160, derandomize=True, phases=[HypothesisPhase.generate])
    with pytest.raises(Violation):
        # What others do besides makes a fault of the plan rarer.
        run_state_machine_as_test(type("Alone", (sabotaged,), {"faults": frozenset()}), settings=search)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Sabotage(records_later=True), id="1-decide-record-act"),
        pytest.param(Sabotage(believes_absences=True), id="3-doubt-an-absence"),
        pytest.param(Sabotage(believes_jobs=True), id="3-read-the-job-live"),
        pytest.param(Sabotage(deletes_by_name=True), id="4-deletes-carry-the-uid"),
        pytest.param(Sabotage(hears_no_end_out=True), id="verdicts-wait-for-statuses"),
        pytest.param(Sabotage(forgets_the_valid_spec=True), id="the-last-valid-spec-is-kept"),
        pytest.param(Sabotage(bounds_no_losses=True), id="losses-are-bounded"),
        pytest.param(Sabotage(forgives_evictions=True), id="evictions-are-counted"),
        pytest.param(Sabotage(believes_the_clock=True), id="a-clock-that-is-set-is-not-believed"),
    ],
)
def test_an_operator_with_a_rule_taken_out_is_caught_within_20000_steps(
    rule: Sabotage, request: pytest.FixtureRequest
) -> None:
    runs = find_violation(20_000, rule, faults=frozenset())
    steps, last = sum(run.steps for run in runs), runs[-1]
    print(f"{request.node.callspec.id}: {steps} steps, seed {last.seed}: {last.broken or 'not caught'}")
    assert last.broken


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        pytest.param(Fault.CLEARED, Sabotage(forgets_successes=True), id="successes-are-recorded"),
        pytest.param(Fault.FORMER, Sabotage(overlooks_former_pods=True), id="former-pods-are-waited-for"),
        pytest.param(Fault.GROUPS, Sabotage(takes_any_group=True), id="a-gang-has-a-pod-group-of-its-own"),
        pytest.param(Fault.LOST, Sabotage(forces_nothing=True), id="pods-on-lost-nodes-are-forced"),
        pytest.param(Fault.DEAF, Sabotage(hears_no_silence=True), id="silence-is-noticed"),
    ],
)
def test_an_operator_with_a_rule_against_a_fault_taken_out_is_caught_within_20000_steps(
    fault: Fault, rule: Sabotage
) -> None:
    assert find_violation(20_000, rule, faults=frozenset({fault}))[-1].broken


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(fault.name for fault in NOT_YET))
def test_a_fault_that_is_not_withstood_yet_is_found(name: str) -> None:
    """Once it is not found any more, take it out of `NOT_YET`."""
    assert find_violation(20_000, faults=frozenset({Fault[name]}))[-1].broken


def test_no_sentence_breaks_in_1000_steps() -> None:
    assert_clean(find_violation(1_000))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_sentence_breaks_in_50000_steps() -> None:
    assert_clean(find_violation(50_000, first=1_000))


@pytest.mark.parametrize("shape", [name for name in SHAPES if "torchrun" not in name])
def test_a_gang_whose_first_pods_were_made_for_a_size_in_between_is_told_one_size(shape: str) -> None:
    """It is resized from 1 to 3, to 1 and to 3 again; who makes the pods of the 1 is killed before it records them."""
    world = World()
    begin(world, shape, workers=1)
    world.resize(3)
    world.go_on(1, "act, record")
    world.resize(1)
    world.go_on(2, "act, crash")
    world.resize(3)
    for _ in range(6):
        world.one_pass("act, record")
        world.one_gang_at_a_time()
        world.go_on(1, "act, record")
        world.one_gang_at_a_time()
    assert (world.status().phase, world.status().attempt) == (Phase.RUNNING, 2)
    world.nothing_forbidden_happened()


def test_ranks_that_no_node_is_left_for_start_again_together() -> None:
    """Both nodes are avoided. One rank has waited for two minutes, the other for less."""
    world = WorldWithBadNodes()
    begin(world, "PyTorchJob, per pod", workers=1)
    world.delete_by_hand(0)
    world.go_on(1, "act, record")
    for rounds in (2, 12):
        world.lose(0)
        world.go_on(rounds, "act, record")
    waited = [world.now - (pod.created or 0) for pod in world.pods.values() if not pod.node]
    assert len(waited) == 2 and waited[0] != waited[1]
    world.go_on(24, "act, record")
    assert [pod.phase for pod in world.pods.values()] == [PodPhase.RUNNING, PodPhase.RUNNING]


def test_a_seed_gives_the_same_run_again() -> None:
    sabotage = Sabotage(records_later=True)
    assert run_seed(0, sabotage=sabotage) == run_seed(0, sabotage=sabotage)


def test_an_end_that_was_recorded_while_the_clock_was_set_back_is_told_anew() -> None:
    """The clock is hours back when the job ends, and right again before its time to live is over."""
    world = OperatorWorld(Start(kind="PaddleJob", ps=1, workers=1, ttl=100))
    try:
        for name, *numbers in (
            ("go_on", 0), ("go_on", 0), ("set_clock", 1), ("go_on", 0), ("set_clock", 0), ("finish", 3, 0),
        ):  # fmt: skip
            world.act(name, *numbers)
        world.settle()
        assert world.job is None
    finally:
        world.close()


def test_a_job_that_was_read_live_seconds_ago_is_read_again_before_its_pods_are_made() -> None:
    """Whoever suspended it is not heard: its watch lags. A pod that was not placed is deleted, and would be made
    again."""
    world = OperatorWorld(Start(workers=2))
    try:
        world.act("wait", 2)
        assert len(world.store.all(PODS)) == 2
        world.act("edit_unheard", 0)
        world.act("wait", 2)
        world.act("delete_by_hand", 0)
        world.act("wait", 2)
        assert not world.store.all(PODS), "none is made of a suspended job"
    finally:
        world.close()


def begin(world: World, shape: str, workers: int) -> None:
    world.begin(
        shape, ps=0, workers=workers, restart=RestartPolicy.ON_FAILURE, limit=None, clean=CleanPods.RUNNING,
        deadline=None, pod_groups=None, shared=False,
    )  # fmt: skip


def delete_ended(world: OperatorWorld, pod: Manifest) -> Call[Any]:
    return Delete(PODS, *key_of(pod), uid=uid_of(pod))


def create_again(world: OperatorWorld, pod: Manifest) -> Call[Any]:
    world.store.remove(PODS, key_of(pod))
    world.rewrite(lambda _: {"phase": "Running"})
    return Create(PODS, manifest=pod)


@pytest.mark.parametrize(
    ("build", "broken"),
    [
        (delete_ended, "an ended pod stays where its clean-up policy keeps it"),
        (create_again, "a finished job never trains again"),
    ],
)
def test_what_an_operator_does_to_a_finished_job_is_judged(
    build: Callable[[OperatorWorld, Manifest], Call[Any]], broken: str
) -> None:
    """Also after somebody else has written its status."""
    world = build_world(clean="Never")
    try:
        for number in (0, 1):
            world.act("finish", number, 0)
        world.act("wait", 3)
        assert read_status(world.job or {}).phase is Phase.COMPLETED
        hear_nothing(world)
        send(world, build(world, world.store.all(PODS)[0]))
        assert world.sentences.broken == broken
    finally:
        world.close()


def test_a_pod_that_is_told_of_another_size_than_its_peers_is_judged() -> None:
    world = build_world()
    try:
        pod = world.store.all(PODS)[0]
        container = pod["spec"]["containers"][0]
        told = {**container, "env": [{"name": "PADDLE_TRAINERS_NUM", "value": "9"}]}
        other = {**pod["metadata"], "name": "demo-worker-2"}
        hear_nothing(world)
        manifest = {**pod, "metadata": other, "spec": {**pod["spec"], "containers": [told]}}
        send(world, Create(PODS, *key_of(manifest), manifest=manifest))
        assert world.sentences.broken == "the pods of a gang are told one size"
    finally:
        world.close()


def build_world(**start: Any) -> OperatorWorld:
    """A job of two workers that run."""
    world = OperatorWorld(Start(workers=2, **start), faults=frozenset(Fault))
    world.act("go_on", 4)
    return world


def hear_nothing(world: OperatorWorld) -> None:
    """The operators do nothing more; they would do what is right."""
    for process in world.processes:
        process.lead.leads = False


def send(world: OperatorWorld, call: Call[Any]) -> None:
    """Asked for by an operator that knows everything."""
    world.loop.create_task(world.processes[0].client.send(call))
    world.loop.advance(1)


def test_a_kubelet_keeps_a_config_map_while_a_pod_of_its_node_refers_to_the_name() -> None:
    world = build_world()
    try:
        store, (former, pod) = world.store, world.store.all(PODS)
        kubelet = Kubelet(store, keeps=True)
        kubelet.register(former)
        first = kubelet.read(former)
        assert first is not None
        store.remove(CONFIG_MAPS, key_of(first))
        theirs = {**first["metadata"], "ownerReferences": [{"controller": True, "uid": "of the next job"}]}
        second = store.create(CONFIG_MAPS, {**first, "metadata": theirs})
        kubelet.register(pod)
        assert kubelet.read(pod) == first, "though it is gone"
        for each in (former, pod):
            store.remove(PODS, key_of(each))
        kubelet.reap()
        assert kubelet.read(pod) == second
        world.sentences.judge_start(pod, second)
        assert world.sentences.broken == "a pod that starts reads the endpoints of its own attempt"
    finally:
        world.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(fault.name for fault in NOT_YET & {Fault.CLEARED, Fault.DROPPED}))
@pytest.mark.parametrize("world", [World, WorldWithRoom])
def test_a_plan_that_does_not_withstand_a_fault_yet_is_found(world: type[World], name: str) -> None:
    search = settings(QUICK, max_examples=160, derandomize=True, phases=[HypothesisPhase.generate])
    with pytest.raises(Violation):
        run_state_machine_as_test(type("Faulty", (world,), {"faults": frozenset({Fault[name]})}), settings=search)


def find_violation(
    steps: int, sabotage: Sabotage | None = None, first: int = 0, faults: frozenset[Fault] = FAULTS
) -> list[Run]:
    """Runs of one seed after the other, up to the first that breaks a sentence or until so many steps are done."""
    runs: list[Run] = []
    while sum(run.steps for run in runs) < steps:
        runs.append(run_seed(first + len(runs), sabotage=sabotage or Sabotage(), faults=faults))
        if runs[-1].broken:
            break
    return runs


def assert_clean(runs: list[Run]) -> None:
    last = runs[-1]
    assert not last.broken, f"seed {last.seed}: {last.broken}\n" + "\n".join(last.story)
