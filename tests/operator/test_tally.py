"""That each transition of a job is counted once: by table, and by two operators in the simulated world."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from jobs.simulated.manifests import choose_start
from jobs.simulated.store import Write as StoreWrite
from jobs.simulated.world import ACTIONS, World
from paddock.jobs import causes
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Phase, Status
from paddock.kube.errors import ApiError, Conflict, InternalError, NotFound, Timeout, Unavailable
from paddock.kube.meta import Key, Resource
from paddock.operator.metrics import Measures
from paddock.operator.tally import Tally
from paddock.operator.transitions import Finished, Transition, read_begun, read_transitions

JOBS = PADDLEPADDLE.resource
REF = (JOBS, Key("team", "demo"))
JOB = {"metadata": {"name": "demo", "namespace": "team", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}
BEFORE = Status(Phase.RUNNING, started=100.0)
AFTER = BEFORE.with_(phase=Phase.FAILED, finished=110.0, cause=causes.RankFailed(("worker-0",)).record(110.0))
FAILED = Finished(Phase.FAILED, "RankFailed", 10.0)


class Counted(Measures):
    """Remembers what is counted."""

    def __init__(self) -> None:
        self.transitions: Counter[Transition] = Counter()

    def passed(self, resource: Resource, key: Key, transition: Transition) -> None:
        self.transitions[transition] += 1


class Writer:
    """Writes the status of one job, and reads it."""

    def __init__(self) -> None:
        self.counted, self.term = Counted(), 1
        self.tally = Tally(self.counted, lambda _: self.term)

    def write(self, error: ApiError | None = None, kept: bool = True) -> None:
        try:
            with self.tally.writing(REF, JOB, BEFORE, AFTER) as write:
                if error is not None:
                    raise error
                write.kept = kept
        except ApiError as raised:
            assert raised is error

    def read(self, status: Status, uid: str = "u") -> None:
        self.tally.settle(REF, {"metadata": {"uid": uid}}, status)

    @property
    def count(self) -> int:
        assert set(self.counted.transitions) <= {FAILED}
        return self.counted.transitions[FAILED]


def test_a_write_is_counted_once() -> None:
    writer = Writer()
    writer.write()
    writer.read(AFTER)
    assert writer.count == 1


@pytest.mark.parametrize("error", [Conflict("x"), NotFound("x")], ids=lambda error: error.reason)
def test_a_refused_write_is_not_counted_whoever_recorded_the_same(error: ApiError) -> None:
    writer = Writer()
    writer.write(error)
    writer.read(AFTER)
    assert writer.count == 0


def test_what_the_server_dropped_is_not_counted() -> None:
    writer = Writer()
    writer.write(kept=False)
    writer.read(AFTER)
    assert writer.count == 0


@pytest.mark.parametrize("error", [Unavailable("x"), Timeout("x"), InternalError("x")], ids=lambda error: error.reason)
def test_a_write_whose_answer_was_lost_is_counted_when_the_job_has_its_status(error: ApiError) -> None:
    writer = Writer()
    writer.write(error)
    assert writer.count == 0
    writer.read(AFTER)
    writer.read(AFTER)
    assert writer.count == 1


def test_a_write_that_did_not_happen_is_counted_when_it_is_made_again() -> None:
    writer = Writer()
    writer.write(Unavailable("x"))
    writer.read(BEFORE)
    writer.write()
    writer.read(AFTER)
    assert writer.count == 1


def test_a_lost_answer_is_not_counted_if_another_may_have_led_or_the_job_is_another() -> None:
    writer = Writer()
    writer.write(Unavailable("x"))
    writer.term = 2
    writer.read(AFTER)
    writer.write(Unavailable("x"))
    writer.read(AFTER, uid="of another job of this name")
    writer.write(Unavailable("x"))
    writer.tally.forget(REF)
    writer.read(AFTER)
    assert writer.count == 0


# Two operators in the simulated world.

CRASHES = ("crash", "begin", "deliver", "lose_requests")
FAULTY = ("refuse",)
ELECTIONS = ("elect",)
REMOVALS = ("remove", "submit_again")
RUNS = 5


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Operators that are killed and refused complain, as they should."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def run(seed: int, without: tuple[str, ...], lost: bool = False) -> tuple[Counter[Transition], Counter[Transition]]:
    """What two operators have counted, and what was recorded, in a run of this seed. `lost`: every second answer is
    lost, as long as no process is started anew."""
    random, counted, recorded = Random(seed), Counted(), Counter[Transition]()
    start = replace(choose_start(random), kind=JOBS.kind)
    world = World(start, measures=counted, faults=())  # what others write is counted by nobody
    judge = world.store.audit
    for process in world.processes:
        process.client.loses = lambda: lost and random.random() < 0.5

    def note(write: StoreWrite) -> None:
        judge(write)
        if write.resource == JOBS and write.before and write.after:
            before, after = (PADDLEPADDLE.read_status(each) for each in (write.before, write.after))
            recorded.update(read_transitions(before, after, read_begun(write.before)))

    world.store.audit = note
    names = [name for name in ACTIONS if name not in without]
    try:
        for name in random.choices(names, [ACTIONS[name].weight for name in names], k=100):
            world.act(name, *(random.randint(0, most) for most in ACTIONS[name].most))
        world.settle()
    finally:
        world.close()
    return counted.transitions, recorded


@pytest.mark.parametrize(
    ("without", "lost"),
    [
        pytest.param((*CRASHES, *FAULTY), False, id="leaders that change"),
        pytest.param((*CRASHES, *ELECTIONS, *REMOVALS), True, id="answers that are lost"),
    ],
)
def test_what_is_recorded_is_counted_once(without: tuple[str, ...], lost: bool) -> None:
    total: Counter[str] = Counter()
    for seed in range(RUNS):
        counted, recorded = run(seed, without, lost)
        assert counted == recorded, f"seed {seed}"
        total.update(type(each).__name__ for each in recorded.elements())
    assert min(total[name] for name in ("Ran", "Restarted", "Finished")) > 0, total


def test_nothing_is_counted_twice_whatever_happens() -> None:
    """A process that is killed between a write and its answer has not counted it."""
    for seed in range(RUNS):
        counted, recorded = run(seed, (), lost=True)
        assert counted <= recorded, f"seed {seed}"
