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

from jobs.simulated.planned import World, WorldWithData, WorldWithRoom
from jobs.simulated.sabotaged import ActsAtOnce, BelievesAbsences, DeletesByName
from jobs.simulated.sentences import Violation
from jobs.simulated.world import ACTIONS, CLEAN, Run, Sabotage, Start, run_seed
from jobs.simulated.world import World as OperatorWorld
from paddock.kube.meta import PODS

QUICK = settings(stateful_step_count=60, suppress_health_check=list(HealthCheck), database=None)
STARTS = st.builds(
    Start,
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
TestOperator = Machine.TestCase
TestOperator.settings = QUICK


@pytest.mark.slow
@pytest.mark.parametrize("sabotaged", [ActsAtOnce, DeletesByName, BelievesAbsences])
def test_a_plan_with_a_rule_taken_out_is_caught_within_10000_steps(sabotaged: type[World]) -> None:
    search = settings(QUICK, max_examples=160, derandomize=True, phases=[HypothesisPhase.generate])
    with pytest.raises(Violation):
        run_state_machine_as_test(sabotaged, settings=search)


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
    runs = find_violation(20_000, rule)
    steps, last = sum(run.steps for run in runs), runs[-1]
    print(f"{request.node.callspec.id}: {steps} steps, seed {last.seed}: {last.broken or 'not caught'}")
    assert last.broken


def test_no_sentence_breaks_in_3000_steps() -> None:
    assert_clean(find_violation(3_000))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_sentence_breaks_in_50000_steps() -> None:
    assert_clean(find_violation(50_000, first=1_000))


def test_a_seed_gives_the_same_run_again() -> None:
    sabotage = Sabotage(records_later=True)
    assert run_seed(0, sabotage=sabotage) == run_seed(0, sabotage=sabotage)


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


def find_violation(steps: int, sabotage: Sabotage | None = None, first: int = 0) -> list[Run]:
    """Runs of one seed after the other, up to the first that breaks a sentence or until so many steps are done."""
    runs: list[Run] = []
    while sum(run.steps for run in runs) < steps:
        runs.append(run_seed(first + len(runs), sabotage=sabotage or Sabotage()))
        if runs[-1].broken:
            break
    return runs


def assert_clean(runs: list[Run]) -> None:
    last = runs[-1]
    assert not last.broken, f"seed {last.seed}: {last.broken}\n" + "\n".join(last.story)
